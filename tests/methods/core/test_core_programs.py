"""Cuts, the loop, the incumbent and the compact model of all methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.arrays import DOWN, UP
from discreet.errors import NoSafePatternError
from discreet.methods.core.compact_model import CompactModel, Limits
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.core.cutting_planes import Incumbent, Infeasible, cutting_planes, gap_of, status_of
from discreet.methods.core.requirements import Requirement, requirements
from discreet.progress import Budget


def test_a_sliding_level_that_the_others_imply_makes_no_requirement():
    levels = np.array([[1.0, 0.0, 2.0], [2.0, 0.0, 0.0], [3.0, 0.0, 5.0]])
    assert requirements(levels, [7, 8, 9]) == [
        Requirement(7, (DOWN,), 1.0),
        Requirement(7, (UP,), 2.0),
        Requirement(9, (DOWN,), 2.0),
        Requirement(9, (DOWN, UP), 5.0),
    ]


def test_the_shortfall_of_a_cut_and_a_cut_that_is_surely_violated():
    cut = Cut(np.array([0, 2]), np.array([1.0, 2.0]), 5.0)
    point = np.array([1.0, 9.0, 2.0])
    assert cut.shortfall(point) == 0.0
    assert cut.violated_by(point, 0.5).shortfall(point) == pytest.approx(0.5)
    assert cut.violated_by(np.zeros(3), 0.5) is cut


def test_cuts_as_rows_of_a_program_with_other_columns():
    cuts = [Cut(np.array([0, 2]), np.array([1.0, 2.0]), 5.0), Cut(np.array([1]), np.array([-1.0]), 0.0)]
    rows, least = as_rows(cuts, 4, place=np.array([3, 0, 1]))
    assert rows.toarray().tolist() == [[0, 2, 0, 1], [-1, 0, 0, 0]]
    assert least.tolist() == [5.0, 0.0]
    assert as_rows([], 4)[0].shape == (0, 4)


def test_the_loop_ends_when_nothing_is_violated_or_time_is_up():
    """Cuts raise a number from 0 until it is at least 3."""
    least = [0]

    def solve() -> int:
        return least[0]

    def violated(found: int) -> list[int]:
        return [found + 1] if found < 3 else []

    def add(cuts: list[int]) -> None:
        least[0] = max(cuts)

    assert cutting_planes(solve, violated, add, Budget(), "number") == 3
    least[0] = 0
    with pytest.raises(NoSafePatternError, match="before there was a safe number"):
        cutting_planes(solve, violated, add, Budget(0.0), "number")


def test_the_incumbent_keeps_the_cheapest_and_knows_how_good_it_is():
    best: Incumbent[str] = Incumbent(solver_gap=1e-6)
    budget = Budget(None, gap=0.25)
    assert not best.within(budget)
    assert best.offer("first", 10.0)
    assert not best.offer("costlier", 11.0)
    best.raise_bound(6.0)
    best.raise_bound(5.0)
    assert (best.solution, best.gap, best.within(budget)) == ("first", 0.4, False)
    assert best.status(budget, finished=True) == "heuristic"
    assert best.offer("cheap", 8.0)
    assert (best.status(budget), best.reported_bound) == ("within_gap", 6.0)
    best.raise_bound(9.0)  # never above the cost
    assert (best.status(budget), best.bound, best.reported_bound) == ("optimal", 8.0, 8.0)


def test_the_status_says_why_a_search_ended():
    stopped = Budget(0.0)
    assert status_of(10.0, 9.0, stopped, finished=False, solver_gap=1e-6) == "time_limit"
    stopped.cancel()
    assert status_of(10.0, None, stopped, finished=False, solver_gap=1e-6) == "interrupted"
    assert status_of(10.0, 10.0, stopped, finished=False, solver_gap=1e-6) == "optimal"
    assert gap_of(0.0, 0.0) == 0.0
    assert gap_of(np.inf, 5.0) == 1.0


# -- the compact model: a + b = c, one column per cell that says how wide its interval is -------------------------

RELATIONS = sparse.csr_array(np.array([[1.0, 1.0, -1.0]]))


def widths(level: float, prior: float, cost=(1.0, 2.0, 3.0)) -> np.ndarray:
    """The cheapest symmetric widths for which the first cell can go up by a level."""
    model = CompactModel()
    model.columns(np.zeros(3), np.full(3, 100.0), np.array(cost))
    model.rows([(0, sparse.csr_array(np.ones((1, 3))))], np.zeros(1), np.array([1000.0]))
    each = [(0, sparse.csr_array(sparse.eye_array(3, format="csr")))]
    limits = Limits(np.arange(3), (np.zeros(3), np.zeros(3)), (each, each))
    model.require([Requirement(0, (UP,), level)], RELATIONS, np.full((2, 3), prior), limits)
    model.load(seed=0)
    return model.solve(Budget()).primal[:3]


def test_a_deviation_needs_slack_in_its_relation():
    assert widths(4.0, 50.0).tolist() == [4.0, 4.0, 0.0]
    assert widths(4.0, 50.0, cost=(1.0, 3.0, 2.0)).tolist() == [4.0, 0.0, 4.0]


def test_what_attackers_know_limits_deviations():
    with pytest.raises(Infeasible):
        widths(4.0, 3.0)


def test_a_conditional_requirement_and_rows_that_come_later():
    """It costs 1 not to have the condition, and 4 to fulfil it; a later row demands it."""
    model = CompactModel()
    width = model.columns(np.zeros(3), np.full(3, 100.0), 0.5)
    chosen = model.columns(np.zeros(1), np.ones(1), -1.0, integral=True)
    each = [(width, sparse.csr_array(sparse.eye_array(3, format="csr")))]
    limits = Limits(np.arange(3), (np.zeros(3), np.zeros(3)), (each, each))
    model.require([Requirement(0, (DOWN, UP), 8.0)], RELATIONS, np.full((2, 3), 50.0), limits, {0: chosen})
    model.load(seed=0)
    assert model.solve(Budget()).objective == pytest.approx(0.0)
    model.rows([(chosen, sparse.csr_array([[1.0]]))], np.ones(1), np.ones(1))
    assert model.solve(Budget()).objective == pytest.approx(3.0)


def test_a_program_that_is_not_solved_in_time_says_so():
    rng = np.random.default_rng(0)
    model = CompactModel()
    model.columns(np.zeros(400), np.ones(400), rng.random(400), integral=True)
    model.rows([(0, sparse.csr_array(rng.random((200, 400))))], np.full(200, 37.123), np.full(200, np.inf))
    model.load(seed=0)
    with pytest.raises(NoSafePatternError, match="The time limit ended before all cells were protected"):
        model.solve(Budget(0.0))
