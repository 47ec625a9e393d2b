"""Exact methods against enumeration: on problems so small that all patterns can be tried."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from tests.helpers.brute import EXACT, Optimum, Program, cheapest, in_order_of_cost, is_safe
from tests.helpers.small import FREE, must_hide, small_problem

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.suppress import first_model
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.testing import cross_table, infer, pose, random_hierarchy, random_linked_table, random_table

SEEDS = range(40)

TABLES = {
    "2-D": lambda rng: random_table(rng, (3, 3)),
    "2-D, long": lambda rng: random_table(rng, (2, 5), values="integer"),
    "2-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2)),
    "2-D, negative": lambda rng: random_table(rng, (3, 3), negative=0.4),
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "3-D, negative": lambda rng: random_table(rng, (3, 2, 2), negative=0.3),
    "two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2))
    ),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2, trees=2), 2)),
    "linked": lambda rng: random_linked_table(rng, (2, 3, 3)),
}


@cache
def draw(kind: str, seed: int) -> tuple[Problem, Optimum | None]:
    """A problem with few free cells, and its answer. Mostly of twelve the first in which something must and can be suppressed."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    for _ in range(1 if seed % 7 == 0 else 12):
        problem = small_problem(rng, TABLES[kind](rng), seed)
        found = cheapest(problem)
        if found is not None and not any(
            np.array_equal(suppressed, must_hide(problem)) for suppressed in found.patterns
        ):
            break
    return problem, found


# -- the test -----------------------------------------------------------------------------------------------------


def solve(problem: Problem, method: str, **options: float) -> Protection | None:
    try:
        return protect(problem, method, **options)
    except NoSafePatternError:
        return None


def check(problem: Problem, found: Optimum | None, method: str) -> None:
    """Safe, of least cost and one of the cheapest patterns; or none where there is none."""
    protection = solve(problem, method)
    if found is None:
        assert protection is None
        return
    assert protection is not None
    report = protection.report
    assert report.status == "optimal"
    assert report.cost == pytest.approx(found.cost)
    assert report.bound == pytest.approx(found.cost)
    assert any(np.array_equal(protection.suppressed, suppressed) for suppressed in found.patterns)
    assert is_safe(problem, protection.suppressed)
    assert audit(problem, protection).passed


@pytest.mark.parametrize("seed", [*SEEDS[:7], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[7:])])
@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("method", EXACT)
def test_an_exact_method_finds_what_enumeration_finds(method, kind, seed):
    problem, found = draw(kind, seed)
    check(problem, found, method)


def test_the_problems_are_of_all_sorts():
    """Otherwise the test above might be about nothing."""
    drawn = [draw(kind, seed) for kind in TABLES for seed in SEEDS[:12]]
    some = len(drawn) / 20
    solvable = [(problem, found) for problem, found in drawn if found is not None]
    assert len(drawn) - len(solvable) >= some
    assert all(len(problem.free) <= FREE for problem, _ in drawn)
    suppresses = [(problem, found.patterns[0] & ~must_hide(problem)) for problem, found in solvable]
    assert sum(suppressed.any() for _, suppressed in suppresses) >= 10 * some
    assert sum(suppressed.sum() >= 3 for _, suppressed in suppresses) >= some
    assert sum(len(found.patterns) > 1 for _, found in solvable) >= some
    assert sum((problem.cost[suppressed] == 0).any() for problem, suppressed in suppresses) >= some
    conditional = [any((p.protected(who, h) & h).any() for who in p.attackers()) for p, h in suppresses]
    assert sum(conditional) >= some
    assert sum(len(problem.others) > 0 for problem, _ in solvable) >= some
    assert sum(any(who.levels is not None for who in problem.others) for problem, _ in solvable) >= some
    for status in Status:
        assert sum((problem.status == status).any() for problem, _ in solvable) >= some
    assert sum((problem.sliding > problem.lower + problem.upper).any() for problem, _ in solvable) >= some
    assert sum((problem.table.value < 0).any() for problem, _ in solvable) >= some
    endless = [np.isinf(problem.prior_upper) & np.isinf(problem.prior_lower) for problem, _ in solvable]
    assert sum(cells.all() for cells in endless) >= some
    assert sum(np.isfinite(problem.prior_upper).all() for problem, _ in solvable) >= some


@pytest.mark.parametrize("kind", TABLES)
def test_enumeration_agrees_with_another_solver(kind):
    """GLPK, which it uses, and HiGHS, by way of SciPy, on the whole system in values instead of differences."""
    for seed in range(6):
        problem, found = draw(kind, seed)
        for suppressed in [problem.status != Status.PUBLISHED, *(found.patterns[:2] if found else ())]:
            protection = suppress(problem, suppressed)
            for who in problem.attackers():
                program = Program(problem, who)
                for p in np.flatnonzero(problem.protected(who, suppressed)).tolist():
                    levels, value = problem.levels(who)[:, p], problem.table.value[p]
                    if levels.any():
                        low, high = infer(protection, p, who)
                        asked = np.maximum(levels[:2], levels[2])
                        expected = np.minimum([value - low, high - value], asked)
                        assert program.reach(p, levels, suppressed) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_enumeration_is_in_order_of_cost_and_complete():
    cost = np.random.default_rng(0).integers(0, 5, 8).astype(float)
    subsets = list(in_order_of_cost(cost))
    assert sorted(mask for _, mask in subsets) == list(range(256))
    assert all(before[0] <= after[0] for before, after in pairwise(subsets))
    assert all(total == sum(cost[k] for k in range(8) if mask >> k & 1) for total, mask in subsets)


# -- corners ------------------------------------------------------------------------------------------------------


@pytest.fixture(params=EXACT)
def method(request) -> str:
    return request.param


def square(level: float | tuple[float, ...] = 2.0, **options) -> Problem:
    return pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": level}, **options)


def test_a_level_that_counts_only_if_hidden_is_worth_a_detour(method):
    """Of two squares the cheaper has a corner that would need more protection than it can have."""
    table = cross_table("ab", "cde", [[20, 10, 11], [20, 10, 11]])
    totals = [label for label in table.labels(np.arange(len(table))) if "Total" in label]
    problem = pose(table, {"a × c": 4.0}, published=totals)
    lower = problem.lower.copy()
    assert protect(problem, method).report.cost == pytest.approx(20 + 20 + 10 + 10)
    lower[table.index("b × d")] = 10.5
    detour = problem.with_columns(lower=lower)
    assert protect(detour, method).report.cost == pytest.approx(20 + 20 + 11 + 11)
    lower[table.index("b × e")] = 11.5
    neither = problem.with_columns(lower=lower)
    reason = "it needs cells that cannot be protected themselves|'a × c' and all cells that would have to be suppressed"
    with pytest.raises(NoSafePatternError, match=reason):
        protect(neither, method)
    for posed in (problem, detour, neither):
        check(posed, cheapest(posed), method)


def test_an_insider_with_levels_of_his_own_needs_more(method):
    """He knows b × c to within 1, so that a × d must not be a partner of it; and he is to be kept 4 away, not 2."""
    problem = square()
    value = problem.table.value
    known = np.where(np.arange(len(value)) == problem.table.index("b × c"), 1.0, np.inf)
    levels = np.zeros((3, len(value)))
    levels[:2, problem.table.index("a × c")] = 4.0
    insider = problem.with_columns(others=(Attacker("insider", value - known, value + known, levels),))
    assert protect(insider, method).report.cost > protect(problem, method).report.cost
    check(insider, cheapest(insider), method)


@pytest.mark.parametrize("levels", [(5.0, 7.0), (0.0, 0.0, 12.0), (0.0, 6.9, 12.0)])
def test_levels_to_the_last_drop(method, levels):
    """In the square of four cells a × c can go down by 5 and up by 6 or, if its row total is suppressed too, by more."""
    problem = square(levels)
    check(problem, cheapest(problem), method)


def test_a_gap_is_kept_and_a_bound_is_a_bound(method):
    for kind in TABLES:
        for seed in range(3):
            problem, found = draw(kind, seed)
            protection = solve(problem, method, gap=0.2)
            if protection is not None:
                report = protection.report
                assert report.status in ("optimal", "within_gap")
                assert report.bound <= found.cost * (1 + 1e-9) + 1e-9
                assert found.cost <= report.cost * (1 + 1e-9) + 1e-9
                assert report.gap <= 0.2 + 1e-9
                assert is_safe(problem, protection.suppressed)


# -- the first model ----------------------------------------------------------------------------------------------


def test_cells_may_have_to_move_by_more_than_the_level(monkeypatch):
    """In three dimensions; with slack for one level only, the model does not see the cheapest pattern."""
    problem, found = draw("3-D", 15)
    monkeypatch.setattr(first_model, "MAX_RATIO_OF_DEVIATIONS", 1.0)
    assert protect(problem, "first-model").report.cost > found.cost


def test_what_leaks_through_nearly_hidden_cells_is_seen(monkeypatch):
    """Too much slack, and a solver that takes a millionth for nothing: patterns come out that are too small."""
    monkeypatch.setattr(first_model, "MAX_RATIO_OF_DEVIATIONS", 1e7)
    enlarge, repaired = first_model._PatternModel.enlarge, []

    def counting(model, violated):
        repaired.append(len(violated))
        enlarge(model, violated)

    monkeypatch.setattr(first_model._PatternModel, "enlarge", counting)
    for seed in (4, 15, 16, 19, 28):
        problem, found = draw("3-D", seed)
        check(problem, found, "first-model")
    assert repaired


def test_no_time_leaves_a_safe_pattern_maybe_with_a_bound():
    for seed in range(5):
        problem, found = draw("3-D", seed)
        protection = solve(problem, "first-model", time_limit=0.02)
        if found is not None:
            assert protection is not None
            assert is_safe(problem, protection.suppressed)
            assert (protection.report.bound or 0.0) <= found.cost + 1e-9 <= protection.report.cost + 2e-9
