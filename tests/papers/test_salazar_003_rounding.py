"""Salazar-González (2002), section 5: the investment table of figure 1, rounded as in figure 8 and as well as can be."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.rounding_brute import best, roundings

from discreet.audit import audit
from discreet.data.table import Table
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.rounding.controlled import ControlledRounding
from discreet.methods.rounding.first_model import RoundingFirstModel
from discreet.protection import publish_intervals
from discreet.testing import cross_table, pose

FIGURE_8 = [[20, 50, 10, 80], [10, 20, 20, 50], [20, 30, 10, 60], [50, 100, 40, 190]]


@pytest.fixture
def investment() -> Table:
    printed = [[20, 50, 10, 80], [8, 19, 22, 49], [17, 32, 12, 61], [45, 101, 44, 190]]
    return cross_table(["I", "II", "III"], ["A", "B", "C"], printed)


def figure_8() -> np.ndarray:
    return cross_table(["I", "II", "III"], ["A", "B", "C"], FIGURE_8).value


def test_figure_8_is_a_rounding_and_the_audit_judges_it(investment):
    """As printed: II, C is 20, so that readers know it to be between 10 and 30: 12 down and 8 up from the true 22."""
    told = figure_8()
    assert not np.any(investment.relations @ told)
    assert not np.any(told % 10)
    assert np.all(np.abs(told - investment.value) < 10)
    for levels, safe in (
        ((12, 8, 20), True),
        ((10, 8), True),
        ((10, 12), False),
        ((12.1, 0), False),
        ((0, 8.1), False),
    ):
        problem = pose(investment, {"II × C": levels})
        published = publish_intervals(
            problem, told, told - 10, told + 10, cost=float(np.abs(told - investment.value).sum())
        )
        checked = audit(problem, published)
        assert checked.interval("II × C") == (10, 30)
        assert checked.passed is safe


def test_figure_8_is_one_of_the_best(investment):
    """Its deviation is 24, over all 16 cells; no rounding to base 10 has less."""
    problem = pose(investment, {})
    assert np.abs(figure_8() - investment.value).sum() == 24
    assert protect(problem, ControlledRounding(base=10)).report.cost == best(problem, 10) == 24
    assert figure_8().tolist() in [[float(x) for x in v] for v in roundings(problem, 10)]


@pytest.mark.parametrize("base", [5, 10, 15, 20])
@pytest.mark.parametrize("levels", [(10, 12), (10, 8), (5, 6), (0, 0, 18), (0, 0)])
def test_method_first_model_and_brute_force_agree(investment, base, levels):
    problem = pose(investment, {"II × C": levels})
    least = best(problem, base)
    for method in (ControlledRounding(base=base), RoundingFirstModel(base=base)):
        if least is None:
            with pytest.raises(NoSafePatternError):
                protect(problem, method)
            continue
        found = protect(problem, method)
        assert audit(problem, found).passed
        assert found.report.cost == found.report.bound == pytest.approx(least)
        assert found.report.status == "optimal"


@pytest.mark.parametrize(("base", "least"), [(5, None), (10, None), (15, None), (20, 84)])
def test_the_levels_of_figure_1_need_a_base_of_20(investment, base, least):
    """10 down and 12 up is more than an interval of two bases of 10 leaves, wherever it lies; with 15 it lies wrong."""
    assert best(pose(investment, {"II × C": (10, 12)}), base) == least
