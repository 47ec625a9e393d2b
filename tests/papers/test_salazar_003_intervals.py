"""Salazar-González (2002), section 4: interval publication of the investment table, figures 5 to 7."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.table import Table
from discreet.methods import protect
from discreet.methods.intervals.first_model import IntervalsFirstModel
from discreet.methods.intervals.intervals import Intervals
from discreet.problem import Problem
from discreet.protection import Protection, publish_intervals
from discreet.testing import cross_table, infer, pose

FIGURE_5 = {"I × A": (18, 24), "I × C": (6, 12), "II × A": (4, 10), "II × C": (20, 26)}
LEVELS = [(10, 12), (2, 4), (17, 8), (10, 12, 30), (0, 0, 40), (22, 60)]


@pytest.fixture
def investment() -> Table:
    printed = [[20, 50, 10, 80], [8, 19, 22, 49], [17, 32, 12, 61], [45, 101, 44, 190]]
    return cross_table(["I", "II", "III"], ["A", "B", "C"], printed)


def figure_5(problem: Problem) -> Protection:
    lower, upper = problem.table.value.copy(), problem.table.value.copy()
    for label, (low, high) in FIGURE_5.items():
        lower[problem.table.index(label)], upper[problem.table.index(label)] = low, high
    return publish_intervals(problem, np.where(lower < upper, np.nan, lower), lower, upper, cost=24.0)


def test_every_end_of_figure_5_is_attained(investment):
    """For each end there is a congruent table: readers infer what they are told, and no more."""
    problem = pose(investment, {"II × C": (2, 4)})
    told = figure_5(problem)
    cells = [investment.index(label) for label in FIGURE_5]
    seen = audit(problem, told, cells=cells)
    for label, (low, high) in FIGURE_5.items():
        assert seen.interval(label) == (low, high)
        assert infer(told, investment.index(label)) == pytest.approx((low, high))


def test_figure_5_protects_by_2_and_4_and_not_by_the_levels_of_the_text(investment):
    assert audit(pose(investment, {"II × C": (2, 4, 6)}), figure_5(pose(investment, {"II × C": (2, 4, 6)}))).passed
    problem = pose(investment, {"II × C": (10, 12)})
    assert not audit(problem, figure_5(problem)).passed


def test_figure_5_is_as_cheap_as_intervals_can_be_for_what_it_gives(investment):
    problem = pose(investment, {"II × C": (2, 4)})
    found = protect(problem, Intervals(exact=True))
    assert found.report.cost == pytest.approx(24.0)
    assert found.report.bound == pytest.approx(24.0)
    assert audit(problem, found).interval("II × C") == (20, 26)


def test_the_levels_of_the_text_take_four_cells_and_22_units_each(investment):
    """With weights of 1: a square in which every cell moves by 10 one way and by 12 the other."""
    problem = pose(investment, {"II × C": (10, 12)})
    found = protect(problem, Intervals(exact=True, at_most=4))
    assert found.report.cost == pytest.approx(88.0)
    assert audit(problem, found).interval("II × C") == (12, 34)
    assert protect(problem, Intervals(exact=True)).report.cost == pytest.approx(88.0)


@pytest.mark.parametrize(("levels", "weights", "insider"), [*product(LEVELS, ["ones", "others"], [False, True])])
def test_the_second_model_costs_what_the_first_does(investment, levels, weights, insider):
    problem = pose(investment, {"II × C": levels})
    if weights == "others":
        problem = problem.with_columns(cost=np.random.default_rng(3).integers(1, 90, len(problem)))
    if insider:  # who knows two cells to within a few units, and needs levels of his own
        value = investment.value
        near = np.where(
            np.isin(np.arange(len(problem)), [investment.index("I × A"), investment.index("II × A")]), 5, 1e3
        )
        own = np.where(np.arange(len(problem)) == investment.index("II × C"), [[3], [20], [0]], 0.0)
        problem = problem.with_columns(others=(Attacker("insider", value - near, value + near, own),))
    for up, down in ((1.0, 1.0), (3.0, 0.5)):
        second = protect(problem, Intervals(exact=True, up=up, down=down, rounded=False))
        first = protect(problem, IntervalsFirstModel(up=up, down=down, rounded=False))
        assert audit(problem, second).passed
        assert audit(problem, first).passed
        assert second.report.cost == pytest.approx(first.report.cost)
        assert second.report.bound == pytest.approx(first.report.cost)
