"""The cheapest pattern by cuts: what enumeration of small problems does not show."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from tests.helpers.brute import cheapest

from discreet.audit import audit
from discreet.errors import NoSafePatternError, RuleError
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal import master as master_module
from discreet.methods.suppress.optimal import search
from discreet.methods.suppress.optimal.cuts import BridgelessInequalities, capacity_cut, cover_cut
from discreet.methods.suppress.optimal.master import PatternMaster
from discreet.methods.suppress.optimal.network_kernel import largest_flows
from discreet.methods.suppress.optimal.optimal import Optimal
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.methods.suppress.optimal.separator import PatternSeparator
from discreet.problem import Problem, Status
from discreet.progress import SAFE_ALREADY, Silent
from discreet.protection import suppress
from discreet.testing import cross_table, pose, random_problem, random_table


def table_2d(seed: int, size: int = 12, share: float = 0.05) -> Problem:
    rng = np.random.default_rng(seed)
    return random_problem(rng, random_table(rng, (size, size)), primaries=share, must_publish=0.0)


def secondary_cost(problem: Problem, suppressed: np.ndarray) -> float:
    return float(problem.cost[suppressed & (problem.status == Status.FREE)].sum())


# -- cuts ---------------------------------------------------------------------------------------------------------


def test_a_capacity_cut_requires_the_missing_share():
    free, forced = np.array([True, True, True, False, False]), np.array([False, False, False, True, True])
    cut = capacity_cut(np.arange(5), np.array([0.1, 0.6, 9.0, 0.4, 0.0]), free, forced, target=4)
    assert cut is not None
    assert cut.columns.tolist() == [0, 1, 2]
    assert cut.weight == pytest.approx([0.1 / 0.6, 1.0, 1.0])
    assert cut.shortfall(np.array([0.0, 0.5, 0.0, 1.0, 1.0])) == pytest.approx(0.5)
    assert capacity_cut(np.arange(5), np.array([0.1, 0.6, 9.0, 1.0, 0.0]), free, forced, target=4) is None


def test_a_capacity_cut_of_a_free_cell_counts_only_if_it_is_suppressed():
    free, forced = np.array([True, True, True]), np.zeros(3, dtype=bool)
    cut = capacity_cut(np.arange(3), np.array([0.5, 0.2, 3.0]), free, forced, target=0)
    assert cut is not None
    assert cut.weight == pytest.approx([-1.0, 0.4, 1.0])
    assert cut.least == 0.0


@given(st.lists(st.sampled_from([0.15, 0.3, 0.4, 0.7, 1.0]), min_size=2, max_size=8), st.integers(0, 2**32))
def test_a_cover_cut_holds_wherever_its_cut_does(weights, seed):
    weight = np.array(weights)
    cut, x = Cut(np.arange(len(weight)), weight, 1.0), np.random.default_rng(seed).random(len(weight))
    cover = cover_cut(cut, x)
    for mask in range(1 << len(weight)):
        pattern = np.array([(mask >> i) & 1 for i in range(len(weight))], dtype=float)
        if cover is not None and cut.shortfall(pattern) <= 1e-9:
            assert cover.shortfall(pattern) <= 1e-9


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.sampled_from([(3, 3), (2, 2, 2)]))
def test_no_cut_cuts_off_a_cheapest_pattern(seed, shape):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, shape), primaries=0.3, sliding=True, prior="percent")
    keep = np.flatnonzero(problem.status == Status.FREE)[11:]
    status = problem.status.copy()
    status[keep] = Status.PUBLISHED
    problem = problem.with_columns(status=status)
    found = cheapest(problem)
    if found is None:
        return
    suppressed = found.patterns[0].astype(float)
    attack = PatternSeparator(problem, problem.attackers()[0])
    for cut in attack.plain_cuts():
        assert cut.shortfall(suppressed) <= 1e-6
    for _ in range(5):
        x = np.where(attack.forced, 1.0, np.where(attack.free, rng.random(len(problem)).round(1), 0.0))
        for cut in attack.cuts(x, attack.requirements)[0]:
            assert cut.shortfall(suppressed) <= 1e-6
            assert cut.shortfall(x) > 0


def test_a_bridge_requires_another_cell_in_each_relation_without_forced_ones():
    relations = sparse.csr_array(np.array([[1, 1, -1, 0.0], [0, 1, 1, -1.0]]))
    free, forced = np.array([True, True, True, False]), np.array([False, False, False, True])
    (cut,) = BridgelessInequalities(relations, free, forced).cuts(np.array([0.0, 1.0, 0.4, 1.0]))
    assert cut.columns.tolist() == [0, 1, 2]
    assert cut.weight.tolist() == [1, -1, 1]
    assert cut.shortfall(np.array([0.0, 1.0, 0.4, 1.0])) == pytest.approx(0.6)
    assert not BridgelessInequalities(relations, free, forced).cuts(np.array([0.5, 0.5, 0.0, 1.0]))


# -- the master problem -------------------------------------------------------------------------------------------


def master(cost: list[float]) -> PatternMaster:
    n = len(cost)
    return PatternMaster(np.array([*cost, 0.0]), np.arange(n + 1) < n, np.arange(n + 1) == n, seed=0)


def test_the_master_bounds_solves_and_settles():
    """Of any two of three cells one at least: half of each is cheapest as a fractional pattern, two cells as an integral one."""
    problem = master([2.0, 2.0, 3.0])
    pairs = [Cut(np.array(pair), np.ones(2), 1.0) for pair in ((0, 1), (1, 2), (0, 2))]
    assert problem.add(pairs) == 3
    assert problem.add(pairs) == 0, "no cut twice"
    relaxed = problem.relax()
    assert relaxed is not None
    assert relaxed.cost == pytest.approx(3.5)
    found = problem.solve(10.0, 0.0, None)
    assert found.bound == pytest.approx(4.0)
    assert found.x is not None
    assert found.x.tolist() == [1, 1, 0, 1]
    only = problem.solve(10.0, 0.0, np.array([1.0, 0.0, 1.0, 1.0]), np.array([True, True, False, False]))
    assert only.x is not None
    assert only.x[2] == 1, "cells that are not open stay as they are"
    problem.add([Cut(np.array([0]), np.ones(1), 2.0)])
    assert problem.relax() is None
    assert problem.solve(10.0, 0.0, None).x is None


def test_inactive_rows_that_are_violated_are_activated(monkeypatch):
    monkeypatch.setattr(master_module, "MIN_ROWS_TO_DEACTIVATE", 0)
    problem = master([1.0] * 6)
    cuts = [Cut(np.array([i]), np.ones(1), 1.0) for i in range(6)]
    problem.add(cuts)
    problem.deactivate_slack(np.array([3.0, 3.0, 3.0, 3.0, 1.0, 1.0, 1.0]))
    relaxed = problem.relax()
    assert relaxed is not None
    assert relaxed.cost == pytest.approx(2.0)
    assert problem.activate_violated(relaxed.x) == 4
    again = problem.relax()
    assert again is not None
    assert again.cost == pytest.approx(6.0)


def test_costly_columns_are_activated_if_their_reduced_cost_is_negative(monkeypatch):
    monkeypatch.setattr(master_module, "MIN_ACTIVE_COLUMNS", 1)
    problem = master([1.0, 5.0, 6.0, 7.0])
    problem.add([Cut(np.array([1, 3]), np.ones(2), 1.0), Cut(np.array([0, 2]), np.ones(2), 1.0)])
    relaxed = problem.relax()
    assert relaxed is not None
    assert relaxed.cost == pytest.approx(6.0)
    assert np.all(relaxed.reduced >= -1e-9)


# -- networks -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_flows_go_as_far_as_linear_programs_let_them(seed):
    rng = np.random.default_rng(seed)
    nodes, n = 5, 12
    tail = rng.integers(0, nodes, n)
    head = (tail + rng.integers(1, nodes, n)) % nodes
    slack, share = rng.integers(0, 9, (2, n)).astype(float), rng.choice([0.3, 0.5, 1.0], n)
    arcs, side, level = np.repeat(np.arange(n), 2), np.tile([0, 1], n), np.repeat(rng.uniform(1, 9, n), 2)
    far, reached = largest_flows(tail, head, nodes, slack, share, arcs, side, level)
    balance = np.zeros((nodes, n))
    balance[tail, np.arange(n)] -= 1
    balance[head, np.arange(n)] += 1
    for i, (arc, up, one) in enumerate(zip(arcs, side, level, strict=True)):
        bound = np.minimum(slack / one, 1.0) * share
        goal = np.where(np.arange(n) == arc, -1.0 if up else 1.0, 0.0)
        solved = linprog(goal, A_eq=balance, b_eq=np.zeros(nodes), bounds=np.stack([-bound[0], bound[1]], axis=1))
        assert far[i] == pytest.approx(-solved.fun, abs=1e-7)
        if far[i] < share[arc] - 1e-6 and not reached[i].all():
            out, into = reached[i][tail] & ~reached[i][head], reached[i][head] & ~reached[i][tail]
            through = bound[1][out & (np.arange(n) != arc)].sum() + bound[0][into & (np.arange(n) != arc)].sum()
            assert through == pytest.approx(far[i], abs=1e-7), "nothing more leads out of the nodes reached"


@pytest.mark.parametrize("seed", range(1, 7))
def test_flows_and_linear_programs_find_the_same_optimum(seed, monkeypatch):
    problem = table_2d(seed, size=8, share=0.08)
    assert PatternSeparator(problem, problem.attackers()[0]).net is not None
    by_flow = protect(problem, "optimal")
    monkeypatch.setattr("discreet.methods.suppress.optimal.separator.network", lambda relations: None)
    by_program = protect(problem, "optimal")
    assert by_flow.report.status == by_program.report.status == "optimal"
    assert by_flow.report.cost == pytest.approx(by_program.report.cost)
    assert audit(problem, by_flow).passed
    assert audit(problem, by_program).passed


def test_large_tables_do_without_a_first_pattern(monkeypatch):
    problem = table_2d(1)
    usual = protect(problem, "optimal")
    monkeypatch.setattr(search, "MAX_CELLS_FOR_PATTERNS", 10)
    assert protect(problem, "optimal").report.cost == pytest.approx(usual.report.cost)


# -- options ------------------------------------------------------------------------------------------------------


def test_at_most_so_many_cells():
    """One costly cell protects as much as two cheap ones."""
    table = cross_table("abc", "de", [[10, 30], [6, 30], [6, 30]])
    problem = pose(table, {"a × d": (10.0, 10.0)}, lower=0.0)
    free = protect(problem, "optimal")
    n = int(free.suppressed.sum())
    assert protect(problem, Optimal(at_most=n)).report.cost == free.report.cost
    tighter = protect(problem, Optimal(at_most=n - 1)) if n > 4 else None
    if tighter is not None:
        assert tighter.suppressed.sum() < n
        assert tighter.report.cost >= free.report.cost
        assert tighter.report.status == "optimal"
        assert audit(problem, tighter).passed
    with pytest.raises(
        NoSafePatternError, match=r"No safe pattern suppresses 3 cells or fewer .1 must be.. Allow more"
    ):
        protect(problem, Optimal(at_most=3))
    with pytest.raises(RuleError, match="At most -1 cells cannot be suppressed"):
        Optimal(at_most=-1)


def test_the_fewest_cells_among_the_cheapest_patterns():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (3, 3)), primaries=0.2, must_publish=0.0)
        cost = rng.integers(0, 3, len(problem)).astype(float)
        keep = np.flatnonzero(problem.status == Status.FREE)[12:]
        status = problem.status.copy()
        status[keep] = Status.PUBLISHED
        problem = problem.with_columns(cost=cost, status=status)
        found = cheapest(problem)
        if found is None:
            continue
        fewest = protect(problem, Optimal(fewest=True))
        assert fewest.report.cost == pytest.approx(found.cost)
        assert fewest.suppressed.sum() == min(pattern.sum() for pattern in found.patterns)


def test_cells_that_cost_nothing_are_not_suppressed_without_need():
    problem = table_2d(3).with_columns(cost=np.zeros(169))
    found = protect(problem, "optimal")
    assert found.report.cost == 0
    suppressed = found.suppressed.copy()
    for cell in np.flatnonzero(suppressed & (problem.status == Status.FREE)):
        suppressed[cell] = False
        assert not audit(problem, suppress(problem, suppressed), intervals=False).passed
        suppressed[cell] = True


@pytest.mark.parametrize("unit", [1e-10, 1e-7, 1e9, 1e25])
@pytest.mark.parametrize("fewest", [False, True])
def test_costs_of_any_size(unit, fewest):
    """Solvers have tolerances of their own; what is cheapest does not depend on the currency."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (2, 3)), primaries=0.3, must_publish=0.0)
        problem = problem.with_columns(cost=rng.integers(1, 10, len(problem)) * unit)
        found = cheapest(problem.with_columns(cost=problem.cost / unit))
        if found is None:
            continue
        report = protect(problem, Optimal(fewest=fewest)).report
        assert report.status == "optimal"
        assert report.cost == pytest.approx(found.cost * unit)
        assert report.bound == pytest.approx(found.cost * unit)


def test_the_same_seed_gives_the_same_pattern():
    problem = table_2d(4, size=8)
    first, again = protect(problem, "optimal", seed=3), protect(problem, "optimal", seed=3)
    assert np.array_equal(first.suppressed, again.suppressed)


# -- how it ends --------------------------------------------------------------------------------------------------


def test_cells_that_can_be_protected_one_by_one_only_are_explained():
    error = Optimal()._infeasible(table_2d(1), 0)
    assert "No pattern protects all cells at once. Let more cells be suppressed" in str(error)
    assert error.offenders


def test_if_nothing_protects_a_cell_the_cheapest_remedy_is_named():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    totals = [label for label in table.labels(np.arange(len(table))) if "Total" in label]
    problem = pose(table, {"a × c": 2.0}, published=[*totals, "b × c"])
    with pytest.raises(NoSafePatternError, match=r"The cheapest way out is to let 'b × c' be suppressed"):
        protect(problem, "optimal")
    alone = pose(table, {"a × c": 6.0}, published=totals)  # it cannot be below 0
    with pytest.raises(NoSafePatternError, match="published would not help"):
        protect(alone, "optimal")


def test_problems_with_nothing_to_do():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    nothing = protect(pose(table, {}), "optimal")
    assert nothing.report.status == "optimal"
    assert nothing.report.cost == nothing.report.bound == 0
    assert not nothing.suppressed.any()


@pytest.mark.parametrize("large", [False, True])
def test_a_cell_that_cannot_deviate_has_no_safe_pattern(large, monkeypatch):
    """Prior bounds determine it, or only it may be suppressed in a relation; also in tables too large for a first pattern."""
    if large:
        monkeypatch.setattr(search, "MAX_CELLS_FOR_PATTERNS", 0)
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 2.0})
    known = problem.prior_lower.copy(), problem.prior_upper.copy()
    for bound in known:
        bound[problem.primaries] = 5.0
    with pytest.raises(NoSafePatternError):
        protect(problem.with_columns(prior_lower=known[0], prior_upper=known[1]), "optimal")
    alone = np.where(np.arange(len(problem)) == problem.primaries[0], Status.PRIMARY, Status.PUBLISHED)
    with pytest.raises(NoSafePatternError):
        protect(problem.with_columns(status=alone.astype(np.int8)), "optimal")


def test_an_interrupt_keeps_the_best_pattern(monkeypatch):
    problem = table_2d(5, size=10, share=0.04)

    def interrupted(self: PatternSearch, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(PatternSearch, "converge", interrupted)
    found = protect(problem, "optimal")
    assert found.report.status == "interrupted"
    assert found.report.bound is not None
    assert audit(problem, found).passed


def test_time_is_up_at_once():
    with pytest.raises(NoSafePatternError, match="The time limit ended without a safe pattern"):
        protect(table_2d(6), "optimal", time_limit=0.0)


def test_patterns_that_the_audit_refuses_are_cut_off(monkeypatch):
    """The audit has the last word, whatever the programs say."""
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 2.0})
    best = protect(problem, "optimal")
    plain = search.is_safe

    def strict(given, protection, **options):
        return not np.array_equal(protection.suppressed, best.suppressed) and plain(given, protection, **options)

    monkeypatch.setattr(search, "is_safe", strict)
    other = protect(problem, "optimal")
    assert other.report.cost > best.report.cost
    assert other.report.status == "optimal"


def test_the_search_reports_the_gap_and_no_cost():
    """A log keeps these lines, and the cost is confidential if it is the suppressed value."""
    said = []

    class Listening(Silent):
        def update(self, done: int, note: str = "") -> None:
            said.append(note)

    PatternSearch(table_2d(7), Run(progress=Listening())).run()
    assert re.fullmatch(rf"\d+ suppressed, gap \d+\.\d\d%\n{re.escape(SAFE_ALREADY)}", said[-1])
