"""Salazar-González (2002), section 6: cell perturbation of the investment table."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit import audit
from discreet.methods import protect
from discreet.methods.perturbation.first_model import PerturbationFirstModel
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.protection import publish_intervals
from discreet.testing import cross_table, pose

FIGURE_1 = [[20, 50, 10, 80], [8, 19, 22, 49], [17, 32, 12, 61], [45, 101, 44, 190]]
FIGURE_11 = [[20, 50, 10, 80], [7, 16, 26, 49], [18, 35, 8, 61], [45, 101, 44, 190]]


def table(values):
    return cross_table(["I", "II", "III"], ["A", "B", "C"], values)


@pytest.fixture
def problem():
    """The levels of section 2: 10 down and 12 up."""
    return pose(table(FIGURE_1), {"II × C": (10, 12)})


def figure_11(problem, width):
    """Readers know that windows are so wide, the ceiling of II × C being 26."""
    published = table(FIGURE_11).value
    return publish_intervals(problem, published, published - width, published + width, cost=0.0)


@pytest.mark.parametrize(("width", "interval"), [(4, (22, 30)), (14, (12, 40)), (15, (11, 41))])
def test_what_figure_11_tells_about_the_cell(problem, width, interval):
    """The text gives no widths. Where all are the same, the cell itself moves as far as its own."""
    assert audit(problem, figure_11(problem, width)).interval("II × C") == pytest.approx(interval)


def test_figure_11_protects_from_width_14_on(problem):
    """26 − r must get down to 22 − 10; that 26 + r gets up to 22 + 12 takes less."""
    assert audit(problem, figure_11(problem, 14)).passed
    assert not audit(problem, figure_11(problem, 13.99)).passed


def test_the_method_beats_figure_11_and_equals_the_first_model(problem):
    """II × C at its ceiling of 26, and all windows 14 wide."""
    value = problem.table.value
    ceiling = value + 4
    costs = []
    for method in (Perturbation, PerturbationFirstModel):
        found = protect(problem, method(floor=ceiling - 14, ceiling=ceiling))
        assert found.published[problem.table.index("II × C")] == 26
        assert not np.any(problem.table.relations @ found.published)
        assert found.report.status == "optimal"
        assert audit(problem, found).passed
        costs.append(found.report.cost)
    printed = float(np.abs(table(FIGURE_11).value - value).sum())
    assert printed == 16
    assert costs == [16, 16]
