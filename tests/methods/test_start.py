"""Methods that begin with a pattern: never trusted, never made dearer, and what cannot be used is said."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from discreet.audit import audit
from discreet.errors import InputError, NoSafePatternError
from discreet.methods import SUPPRESSION, protect
from discreet.methods.context import Run
from discreet.methods.suppress.top_down import TopDown
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection
from discreet.testing import cross_table, pose, random_hierarchy, random_problem, random_table

BEGINNERS = [name for name in SUPPRESSION if name != "first-model"]  # which is exact, and ignores where to begin


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many."""


def draw(seed: int, **options) -> Problem:
    rng = np.random.default_rng(seed)
    shape = (random_hierarchy(rng, 4, levels=2), random_hierarchy(rng, 3, levels=2)) if seed % 2 else (2, 2, 2)
    return random_problem(rng, random_table(rng, shape), **{"primaries": 0.3, "must_publish": 0.0, **options})


@cache
def found_by(first: str, seed: int) -> Protection:
    return protect(draw(seed), first)


def with_published(problem: Problem) -> Problem:
    """Half of what need not be suppressed must be published."""
    shown = np.flatnonzero(~protect(problem, "kelly").suppressed)[::2]
    status = problem.status.copy()
    status[shown] = Status.PUBLISHED
    return problem.with_columns(status=status)


@pytest.mark.parametrize(
    ("start", "has"),
    [
        (np.zeros(8, dtype=bool), r"shape \(8,\) and holds bool"),
        (np.zeros((3, 3), dtype=bool), r"shape \(3, 3\)"),
        (np.zeros(9), "holds float64"),
        (np.zeros(9, dtype=np.int8), "holds int8"),
        (np.array(["yes"] * 9), "holds <U3"),
        (True, r"shape \(\)"),
    ],
    ids=["too short", "a matrix", "numbers", "decisions", "words", "one for all"],
)
def test_a_pattern_of_another_kind_is_refused(start, has):
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 1.0})
    with pytest.raises(InputError, match=f"true or false for each of the 9 cells; .*{has}"):
        protect(problem, start=start)


@pytest.mark.parametrize("method", SUPPRESSION)
@pytest.mark.parametrize("kind", ["nothing", "everything", "half", "what must be published"])
def test_any_pattern_to_begin_with_leads_to_a_safe_one(method, kind):
    for seed in (1,) if kind in ("nothing", "everything") else (2,):
        problem = with_published(draw(seed, already_suppressed=0.05))
        status, n = problem.status, len(problem)
        start = {
            "nothing": np.zeros(n, dtype=bool),
            "everything": np.ones(n, dtype=bool),
            "half": np.random.default_rng(seed).random(n) < 0.5,
            "what must be published": status == Status.PUBLISHED,
        }[kind]
        before = start.copy()
        found = protect(problem, method, start=start)
        assert audit(problem, found).passed
        assert not found.suppressed[status == Status.PUBLISHED].any()
        assert np.array_equal(start, before)


@pytest.mark.parametrize("method", SUPPRESSION)
def test_where_there_is_nothing_to_begin_with_it_is_as_without(method):
    problem = draw(1)
    start = problem.status != Status.FREE
    assert np.array_equal(protect(problem, method, start=start).suppressed, protect(problem, method).suppressed)


@pytest.mark.parametrize("method", BEGINNERS)
@pytest.mark.parametrize("first", ["kelly", "optimal"])
def test_a_safe_pattern_is_never_made_dearer(method, first):
    for seed in (1, 2):
        problem = draw(seed)
        start = found_by(first, seed)
        again = protect(problem, method, start=start.suppressed)
        assert audit(problem, again).passed
        assert again.report.cost <= start.report.cost * (1 + 1e-9)


@pytest.mark.parametrize("method", BEGINNERS)
def test_without_time_a_safe_pattern_is_returned_as_it_is(method):
    problem = draw(1)
    start = found_by("kelly", 1).suppressed
    found = protect(problem, method, start=start, time_limit=0.0)
    assert np.array_equal(found.suppressed, start)
    assert found.report.status in ("time_limit", "optimal")


@pytest.mark.parametrize("method", BEGINNERS)
def test_what_is_kept_on_the_way_is_not_dearer_than_a_safe_pattern_to_begin_with(method):
    """Otherwise a run that is killed early would leave less than it was given."""
    problem, start = draw(1), found_by("optimal", 1)
    kept: list[float] = []
    protect(
        problem, method, start=start.suppressed, keep=lambda suppressed: kept.append(problem.cost[suppressed].sum())
    )
    assert max(kept) <= start.report.cost * (1 + 1e-9)


def test_a_safe_pattern_needs_no_look_at_single_tables():
    problem = draw(1)
    parts = TopDown(problem, Run(start=found_by("kelly", 1).suppressed))
    parts.protect(None, Budget())
    assert not parts.visits.any()


@pytest.mark.parametrize("method", ["kelly", "eliminate"])
def test_cells_to_begin_with_that_nothing_protects_are_published(method):
    """What was found with their help does not hold without them."""
    safe = 0
    for seed in range(0, 16, 2):
        rng = np.random.default_rng(seed)
        shape = (random_hierarchy(rng, 6, levels=2), random_hierarchy(rng, 6, levels=2))
        problem = random_problem(rng, random_table(rng, shape, zeros=0), prior="sign", primaries=0.15, must_publish=0)
        is_primary = problem.status == Status.PRIMARY
        hopeless = (problem.status == Status.FREE) & (rng.random(len(problem)) < 0.1)
        problem = problem.with_columns(
            lower=np.where(hopeless, 2 * problem.table.value, problem.lower * is_primary),
            upper=problem.upper * is_primary,
            sliding=np.zeros(len(problem)),
        )
        start = (rng.random(len(problem)) < 0.15) | (hopeless & (rng.random(len(problem)) < 0.7))
        try:
            found = protect(problem, method, start=start)
        except NoSafePatternError:
            continue
        assert not found.suppressed[hopeless].any()
        assert audit(problem, found).passed
        safe += 1
    assert safe >= 2
