"""One neighbourhood after the other: never dearer, always safe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.brute import cheapest, is_safe
from tests.helpers.small import must_hide, small_problem

from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.suppress import improve
from discreet.methods.suppress.elimination import largest_pattern
from discreet.methods.suppress.improve import Neighbourhoods
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.testing import random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (3, 4)),
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "3-D, negative": lambda rng: random_table(rng, (3, 2, 2), negative=0.3),
    "two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2))
    ),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2, trees=2), 2)),
    "linked": lambda rng: random_linked_table(rng, (2, 3, 3)),
}
FEW = 10  # free cells of a neighbourhood, so that small tables have several


@pytest.fixture(autouse=True)
def every_audit_is_proven(monkeypatch) -> None:
    """Not those on the way to a pattern, of which there are many: the pattern itself is shown to GLPK."""
    monkeypatch.setattr(improve, "MAX_FREE_CELLS", FEW)


def draw(kind: str, seed: int, free: int) -> Problem:
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    return small_problem(rng, TABLES[kind](rng), seed, free)


def solve(problem: Problem, **options) -> Protection | None:
    try:
        return protect(problem, "improve", **options)
    except NoSafePatternError:
        return None


@pytest.mark.parametrize("kind", TABLES)
@settings(max_examples=3, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_a_safe_pattern_gets_no_dearer_and_stays_safe(kind, seed, share):
    """It begins with all that a safe pattern can suppress, and with some of it, which is not safe perhaps."""
    problem = draw(kind, seed, free=25)
    largest = largest_pattern(problem)
    if not audit(problem, suppress(problem, largest), intervals=False).passed:
        assert solve(problem) is None
        return
    some = largest & (np.random.default_rng(seed).random(len(problem)) < share) | must_hide(problem)
    for start in (largest, some):
        before = audit(problem, suppress(problem, start), intervals=False).passed
        protection = protect(problem, "improve", start=start, seed=seed)
        assert audit(problem, protection).passed
        assert is_safe(problem, protection.suppressed), "GLPK says otherwise"
        if before:
            assert protection.report.cost <= problem.cost[start].sum() * (1 + 1e-9)


@pytest.mark.parametrize("kind", TABLES)
def test_it_ends_at_or_above_the_cheapest_pattern_with_a_bound_below(kind):
    nearest = []
    for seed in range(5):
        problem = draw(kind, seed, free=12)
        best, protection = cheapest(problem), solve(problem)
        assert (best is None) == (protection is None)
        if best is not None and protection is not None:
            assert is_safe(problem, protection.suppressed)
            assert protection.report.bound <= best.cost * (1 + 1e-9) + 1e-9
            assert protection.report.cost >= best.cost * (1 - 1e-9) - 1e-9
            nearest.append(protection.report.cost <= best.cost * (1 + 1e-9) + 1e-9)
    assert sum(nearest) >= 0.6 * len(nearest)


def larger(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    table = random_table(rng, (random_hierarchy(rng, 8, levels=2), random_hierarchy(rng, 6, levels=2)))
    return random_problem(rng, table, primaries=0.1, must_publish=0.0)


def test_the_dearest_of_all_patterns_is_much_improved():
    problem = larger(0)
    start = largest_pattern(problem)
    report = protect(problem, "improve", start=start).report
    assert report.cost <= protect(problem, "kelly").report.cost * (1 + 1e-9)
    assert report.status in ("heuristic", "optimal")


def test_without_time_a_safe_pattern_comes_back_as_it_was():
    problem = larger(1)
    start = largest_pattern(problem)
    protection = protect(problem, "improve", start=start, time_limit=0.0)
    assert protection.report.status == "time_limit"
    assert audit(problem, protection).passed
    assert not np.any(protection.suppressed & ~start)


# -- where it looks -------------------------------------------------------------------------------------------------


def begun(problem: Problem) -> Neighbourhoods:
    search = PatternSearch(problem, Run())
    search.begin()
    search.converge(np.inf)
    return Neighbourhoods(search)


def test_a_neighbourhood_is_a_few_cells_in_relations_with_each_other():
    problem = larger(2)
    around = begun(problem)
    relations = problem.table.relations
    for cell in np.flatnonzero(around.search.suppressed & around.search.free).tolist():
        region = around.around(cell)
        assert region[cell]
        assert FEW <= (region & around.search.free).sum() <= FEW + np.diff(relations.indptr).max()
        inside = np.abs(relations[:, np.flatnonzero(region)]).sum(axis=1)
        assert np.any(inside == np.abs(relations).sum(axis=1)), "a relation with all its cells"


def test_all_secondaries_are_looked_at_and_none_twice():
    problem = larger(2)
    around = begun(problem)
    costliest, seen = [], np.zeros(len(problem), dtype=bool)
    for region in around.regions():  # in which nothing changes
        new = np.flatnonzero(around.search.suppressed & around.search.free & ~seen)
        costliest.append(problem.cost[new].max())
        seen |= region
    assert seen[around.search.suppressed & around.search.free].all()
    assert costliest == sorted(costliest, reverse=True)
    assert list(around.regions()) == []


def test_where_something_changed_it_looks_again():
    problem = larger(2)
    around = begun(problem)
    looked = list(around.regions())
    cell = int(np.flatnonzero(problem.status == Status.PRIMARY)[0])
    around.changed(np.array([cell]))
    again = list(around.regions())
    assert 0 < len(again) < len(looked)
    rows = problem.table.relations.tocsc()[:, [cell]].indices
    beside = np.unique(problem.table.relations[rows].indices)
    assert any(region[beside].any() for region in again)
