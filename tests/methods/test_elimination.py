"""From a large pattern down: nothing is left that is suppressed without need."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import is_safe
from tests.helpers.small import must_hide, small_problem

from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.suppress.elimination import largest_pattern
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (3, 4)),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 3)),
    "2-D, negative": lambda rng: random_table(rng, (3, 3), negative=0.4),
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2))
    ),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2, trees=2), 2)),
    "linked": lambda rng: random_linked_table(rng, (2, 3, 3)),
}
MANY = 40  # free cells


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many: the pattern itself is shown to GLPK."""


def draw(kind: str, seed: int) -> Problem:
    """All kinds of levels, also of cells that need protection only if suppressed, and several attackers."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    return small_problem(rng, TABLES[kind](rng), seed, free=MANY)


def solve(problem: Problem, **options) -> Protection | None:
    try:
        return protect(problem, "eliminate", **options)
    except NoSafePatternError:
        return None


def superfluous(problem: Problem, suppressed: np.ndarray) -> list[str]:
    """Secondaries that could be published again, one at a time, without exposing anything."""
    found = []
    for cell in np.flatnonzero(suppressed & (problem.status == Status.FREE)).tolist():
        fewer = suppressed.copy()
        fewer[cell] = False
        if audit(problem, suppress(problem, fewer), intervals=False).passed:
            found.append(problem.table.label(cell))
    return found


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seeds", [range(5), pytest.param(range(5, 40), marks=pytest.mark.slow)], ids=["few", "many"])
def test_without_any_one_secondary_the_audit_fails(kind, seeds):
    for seed in seeds:
        problem = draw(kind, seed)
        protection = solve(problem)
        if protection is None:
            largest = largest_pattern(problem)
            assert not is_safe(problem, largest), "the largest pattern is safe, and others are like it"
            continue
        assert audit(problem, protection).passed
        assert is_safe(problem, protection.suppressed), "GLPK says otherwise"
        assert superfluous(problem, protection.suppressed) == []


def test_most_of_these_problems_have_secondaries():
    """Otherwise that test is about nothing."""
    suppresses = []
    for kind in TABLES:
        for seed in range(5):
            problem = draw(kind, seed)
            found = solve(problem)
            suppresses.append(found is not None and (found.suppressed & (problem.status == Status.FREE)).any())
    assert np.mean(suppresses) > 0.5


@pytest.mark.parametrize("kind", TABLES)
def test_the_largest_safe_pattern_holds_all_others(kind):
    """All that is suppressed by any pattern of another method; what is left out cannot be protected."""
    for seed in (1, 4, 7, 13):  # levels of cells that need protection only if suppressed
        problem = draw(kind, seed)
        largest = largest_pattern(problem)
        assert largest[must_hide(problem)].all()
        assert not largest[problem.status == Status.PUBLISHED].any()
        try:
            other = protect(problem, "kelly").suppressed
        except NoSafePatternError:
            assert not is_safe(problem, largest)
            continue
        assert is_safe(problem, largest)
        assert not np.any(other & ~largest)


def test_a_cell_that_nothing_protects_is_not_hidden():
    """b × d must move by 20 if it is suppressed, and cannot; the four cells of a box around a × c can do without it."""
    table = cross_table("abe", "cdf", [[5, 6, 5], [8, 7, 8], [9, 6, 7]])
    problem = pose(table, {"a × c": 2.0})
    lower = problem.lower.copy()
    lower[table.index("b × d")] = 20.0
    problem = problem.with_columns(lower=lower)
    largest = largest_pattern(problem)
    assert table.labels(np.flatnonzero(~largest)) == ["b × d"]
    protection = protect(problem, "eliminate")
    assert audit(problem, protection).passed
    assert superfluous(problem, protection.suppressed) == []


def test_the_dearest_go_first():
    """Of two boxes around a × c the cheaper one is left."""
    table = cross_table("ab", "cdf", [[5, 6, 6], [8, 7, 7]])
    totals = [label for label in table.labels(np.arange(len(table))) if "Total" in label]
    problem = pose(table, {"a × c": 1.0}, published=totals)
    cost = problem.cost.copy()
    cost[[table.index("a × d"), table.index("b × d")]] = 100.0
    cost[[table.index("a × f"), table.index("b × f")]] = 10.0
    protection = protect(problem.with_columns(cost=cost), "eliminate")
    assert table.labels(np.flatnonzero(protection.suppressed)) == ["a × c", "a × f", "b × c", "b × f"]


def test_it_begins_with_a_pattern_that_is_given():
    problem = draw("3-D", 1)
    start = protect(problem, "kelly").suppressed
    protection = protect(problem, "eliminate", start=start)
    assert not np.any(protection.suppressed & ~start)


def test_stopped_at_once_it_returns_the_pattern_it_began_with():
    problem = draw("2-D", 5)
    protection = protect(problem, "eliminate", time_limit=0.0)
    assert protection.report.status == "time_limit"
    assert np.array_equal(protection.suppressed, largest_pattern(problem))
    assert is_safe(problem, protection.suppressed)
