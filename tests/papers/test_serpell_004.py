"""Serpell et al. (2013): which primaries are exposed when only the primaries are suppressed, figures 1 and 3."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.audit import Audit, audit
from discreet.methods import protect
from discreet.problem import Problem
from discreet.testing import cross_table, hide, pose


def name(cell: str) -> str:
    return " × ".join(cell)


def names(cells: str) -> list[str]:
    return sorted(name(cell) for cell in cells.split())


def within_10_percent(table, primaries: str) -> Problem:
    labels = names(primaries)
    return pose(table, {label: 0.1 * float(table.value[table.index(label)]) for label in labels})


@pytest.fixture
def figure_1() -> Problem:
    printed = [
        [9, 51, 41, 47, 3, 48, 199],
        [8, 1, 54, 44, 45, 12, 164],
        [8, 70, 6, 76, 64, 21, 245],
        [33, 46, 45, 27, 37, 60, 248],
        [87, 51, 18, 35, 49, 72, 312],
        [48, 59, 39, 65, 35, 58, 304],
        [193, 278, 203, 294, 233, 271, 1472],
    ]
    return within_10_percent(cross_table("ABCDEF", "123456", printed), "A1 A5 B1 B2 B5 B6 C3 C6")


@pytest.fixture
def figure_3() -> Problem:
    return within_10_percent(cross_table("ABCD", "1234", np.full((4, 4), 100)), "A1 A2 A3 B2 B3 C1 C4 D1 D4")


def fully_exposed(verdict: Audit) -> list[str]:
    labels = verdict.problem.table.labels(verdict.cell)
    exactly = np.isclose(verdict.lower, verdict.upper, rtol=1e-9)
    return sorted(label for label, known in zip(labels, exactly, strict=True) if known)


def test_figure_1_exposed_primaries(figure_1):
    verdict = audit(figure_1, hide(figure_1))
    assert sorted(verdict.exposed) == names("B2 B5 B6 C3 C6")  # and A1, A5, B1 are not
    assert sorted(audit(figure_1, hide(figure_1), intervals=False).exposed) == names("B2 B5 B6 C3 C6")


def test_figure_1_fully_and_partially_exposed(figure_1):
    verdict = audit(figure_1, hide(figure_1))
    assert fully_exposed(verdict) == names("B2 B6 C3 C6")
    lower, upper = verdict.interval(name("B5"))
    assert upper == pytest.approx(48)  # short of 49.5, which it should reach
    assert lower < 45 * 0.9


def test_figure_1_chain_of_exact_values(figure_1):
    """C3 by its column, then C6 by its row, then B6 by its column: the audit needs no such order."""
    verdict = audit(figure_1, hide(figure_1))
    for cell, value in {"B2": 1, "C3": 6, "C6": 21, "B6": 12}.items():
        assert verdict.interval(name(cell)) == pytest.approx((value, value))


def test_figure_3_only_the_first_cell_is_exposed_and_exactly(figure_3):
    """It cannot be unpicked equation by equation: every row and column has two or three cells hidden."""
    verdict = audit(figure_3, hide(figure_3))
    assert verdict.exposed == [name("A1")]
    assert verdict.interval(name("A1")) == pytest.approx((100, 100))
    assert fully_exposed(verdict) == [name("A1")]


@pytest.mark.parametrize("figure", ["figure_1", "figure_3"])
def test_both_figures_can_be_protected(figure, request):
    problem = request.getfixturevalue(figure)
    assert audit(problem, protect(problem)).passed
