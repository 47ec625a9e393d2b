"""Salazar-González (2002): investment of enterprises by activity and region, figures 1 and 2."""

from __future__ import annotations

import pytest
from tests.helpers.brute import EXACT, cheapest

from discreet.audit import audit
from discreet.data.table import Table
from discreet.methods import protect
from discreet.testing import cross_table, pose, suppressing

FIGURE_2 = ("II × A", "II × C", "III × A", "III × C")


@pytest.fixture
def investment() -> Table:
    printed = [[20, 50, 10, 80], [8, 19, 22, 49], [17, 32, 12, 61], [45, 101, 44, 190]]
    return cross_table(["I", "II", "III"], ["A", "B", "C"], printed)


def test_suppressing_one_square_leaves_the_interval_5_to_30(investment):
    problem = pose(investment, {"II × C": 0.0})
    assert audit(problem, suppressing(problem, *FIGURE_2)).interval("II × C") == pytest.approx((5, 30))


@pytest.mark.parametrize(
    ("levels", "safe"),
    [
        ((10, 8), True),
        ((17, 8, 25), True),  # exactly what there is
        ((17.001, 0), False),
        ((0, 8.001), False),
        ((0, 9), False),
        ((0, 0, 25.001), False),
        ((10, 12), False),  # the levels the text suggests for figure 1 ask for more than figure 2 gives
    ],
)
def test_levels_that_figure_2_reaches(investment, levels, safe):
    """22 may lie between 5 and 30: 17 down, 8 up, 25 wide."""
    problem = pose(investment, {"II × C": levels})
    for intervals in (True, False):
        assert audit(problem, suppressing(problem, *FIGURE_2), intervals=intervals).passed is safe


@pytest.mark.parametrize(("levels", "cost"), [((10, 8), 59), ((10, 12), 85), ((17, 20), 123)])
def test_kelly_protects_figure_1_at_the_least_cost(investment, levels, cost):
    """Costs are the values. With (10, 8) figure 2 is the cheapest pattern; the text's levels take another square."""
    problem = pose(investment, {"II × C": levels})
    protection = protect(problem, "kelly")
    assert audit(problem, protection).passed
    assert protection.report.cost == pytest.approx(cost)
    assert cheapest(problem).cost == pytest.approx(cost)


def test_kelly_is_no_exact_method(investment):
    """For (22, 25) it pays 208 where 187 would do: a heuristic says so in its report, and claims no bound."""
    problem = pose(investment, {"II × C": (22, 25)})
    protection = protect(problem, "kelly")
    assert audit(problem, protection).passed
    assert protection.report.cost >= cheapest(problem).cost == pytest.approx(187)
    assert protection.report.status == "heuristic"
    assert protection.report.bound is None


LEVELS = [(10, 8), (10, 12), (17, 20), (22, 25), (10, 12, 30), (0, 0, 40), (22, 60)]


@pytest.mark.parametrize("levels", LEVELS)
@pytest.mark.parametrize("method", EXACT)
def test_an_exact_method_finds_the_cheapest_pattern_for_figure_1(investment, method, levels):
    problem = pose(investment, {"II × C": levels})
    protection, best = protect(problem, method), cheapest(problem)
    assert audit(problem, protection).passed
    assert protection.report.cost == protection.report.bound == pytest.approx(best.cost)
    assert protection.report.status == "optimal"
    assert protection.suppressed.tolist() in [suppressed.tolist() for suppressed in best.patterns]


def test_figure_2_is_the_one_cheapest_pattern_for_what_it_gives(investment):
    problem = pose(investment, {"II × C": (17, 8, 25)})
    (suppressed,) = cheapest(problem).patterns
    assert suppressed.tolist() == suppressing(problem, *FIGURE_2).suppressed.tolist()
