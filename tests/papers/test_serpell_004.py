"""Serpell et al. (2013): which primaries are exposed when only the primaries are suppressed, and how; figures 1 to 4."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import EXACT, cheapest

from discreet.audit import Audit, audit, exposure
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.testing import cross_table, pose, suppressing


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
    verdict = audit(figure_1, suppressing(figure_1))
    assert sorted(verdict.exposed) == names("B2 B5 B6 C3 C6")  # and A1, A5, B1 are not
    assert sorted(audit(figure_1, suppressing(figure_1), intervals=False).exposed) == names("B2 B5 B6 C3 C6")


def test_figure_1_fully_and_partially_exposed(figure_1):
    verdict = audit(figure_1, suppressing(figure_1))
    assert fully_exposed(verdict) == names("B2 B6 C3 C6")
    lower, upper = verdict.interval(name("B5"))
    assert upper == pytest.approx(48)  # short of 49.5, which it should reach
    assert lower < 45 * 0.9


def test_figure_1_chain_of_exact_values(figure_1):
    """C3 by its column, then C6 by its row, then B6 by its column: the audit needs no such order."""
    verdict = audit(figure_1, suppressing(figure_1))
    for cell, value in {"B2": 1, "C3": 6, "C6": 21, "B6": 12}.items():
        assert verdict.interval(name(cell)) == pytest.approx((value, value))


def test_figure_3_only_the_first_cell_is_exposed_and_exactly(figure_3):
    """It cannot be unpicked equation by equation: every row and column has two or three cells suppressed."""
    verdict = audit(figure_3, suppressing(figure_3))
    assert verdict.exposed == [name("A1")]
    assert verdict.interval(name("A1")) == pytest.approx((100, 100))
    assert fully_exposed(verdict) == [name("A1")]


@pytest.mark.parametrize("figure", ["figure_1", "figure_3"])
def test_both_figures_can_be_protected(figure, request):
    problem = request.getfixturevalue(figure)
    assert audit(problem, protect(problem)).passed


# -- the words of sections 2 and 3 ------------------------------------------------------------------------------


def test_figure_1_sets(figure_1):
    """Section 2.1: E = E_u, so that nothing is left for K_n."""
    found = exposure(figure_1)
    assert sorted(found.labels("exposed")) == names("B2 B5 B6 C3 C6")
    assert sorted(found.labels("fully")) == names("B2 B6 C3 C6")
    assert sorted(found.labels("partially")) == names("B5")
    assert sorted(found.labels("unpicked")) == names("B2 B5 B6 C3 C6")
    assert found.labels("together") == []


def test_figure_2_order_of_unpicking(figure_1):
    """B2, B5 and C3 at once, then C6, which needs C3, then B6, which needs C6."""
    found = exposure(figure_1)
    assert sorted(found.labels("initially")) == names("B2 B5 C3")
    assert sorted(found.labels("consequently")) == names("B6 C6")
    turn = found.frame().set_index("cell")["round"].dropna().to_dict()
    assert turn == {name(cell): k for cell, k in {"B2": 1, "B5": 1, "C3": 1, "C6": 2, "B6": 3}.items()}


def test_figure_3_cannot_be_unpicked(figure_3):
    """E_n = K_n = {A1}; where a single cell is exposed it is initially exposed, so that I_n = {A1}, too."""
    found = exposure(figure_3)
    assert found.labels("unpicked") == found.labels("initially") == []
    assert found.labels("exposed") == found.labels("fully") == found.labels("together") == [name("A1")]
    assert found.labels("k3") == found.labels("k5") == [name("A1")]


@pytest.fixture
def table_1(figure_1) -> Problem:
    """The printed protection ranges: ten percent, but at least 1 (8–10 for 9, 2–4 for 3, 0–2 for 1)."""
    at_least = np.maximum(figure_1.lower, 1.0) * (figure_1.status == Status.PRIMARY)
    return figure_1.with_columns(lower=at_least, upper=at_least)


def test_table_1_candidates(table_1):
    """Formulas (6) and (7): in the relation where they give least, the others keep to their protection levels."""
    found = exposure(table_1)
    assert sorted(found.labels("k_pl")) == names("B2 B5 C3 C6")
    printed = {
        "A1": (8, 10),
        "A5": (2, 4),
        "B1": (7, 9),
        "B2": (1, 1),
        "B5": (44, 46),
        "B6": (9.9, 14.1),
        "C3": (6, 6),
        # Printed is 19.8 to 22.2, what B6 gives in column 6. In row C, C3 gives less; the verdict is the same.
        "C6": (20, 22),
    }
    bounds = dict(
        zip(table_1.table.labels(found.cell), zip(found.assured_lower, found.assured_upper, strict=True), strict=True)
    )
    assert bounds == {name(cell): pytest.approx(interval) for cell, interval in printed.items()}


def test_figure_4_candidates(table_1):
    """K_1 and the sets of figure 4 by hand: C6 is 21 and its neighbour C3 only 6; B5 is 45 and A5 only 3."""
    found = exposure(table_1)
    assert sorted(found.labels("alone")) == names("B2 C3")
    assert sorted(found.labels("k_nv")) == names("A1 B2 B5 C3 C6")  # A1: 9 + 1 > 8 and 3
    assert sorted(found.labels("k_s")) == names("B2 B5 C3 C6")
    assert sorted(found.labels("k1")) == names("B2 B5 C3 C6")
    assert sorted(found.labels("k3")) == names("B2 B5 C3")
    assert sorted(found.labels("k5")) == names("B2 B5 C3 C6")


def test_protecting_the_initially_exposed_is_not_always_enough():
    """Section 2.4 says it is. A1 is exposed only through A2 and B1, but stays so when each of them gets a square of its own.

    A1 is then the only bridge between two squares, and what crosses a bridge must come back over it: A1 cannot move.
    """
    values = [[5, 40, 60, 70], [30, 80, 90, 35], [55, 45, 50, 95], [25, 85, 75, 65]]
    problem = pose(cross_table("ABCD", "1234", values), {name("A1"): 1.0, name("A2"): 4.0, name("B1"): 3.0})
    found = exposure(problem)
    assert sorted(found.labels("initially")) == sorted(found.labels("k5")) == names("A2 B1")
    assert found.labels("consequently") == [name("A1")]
    squares = suppressing(problem, *names("A3 C2 C3 B4 D1 D4"))
    verdict = audit(problem, squares)
    assert verdict.exposed == [name("A1")]
    assert verdict.interval(name("A1")) == (5, 5)
    again = exposure(problem, squares)
    assert again.labels("together") == again.labels("fully") == [name("A1")]


# -- the cheapest patterns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "cost", "secondaries"), [("figure_1", 223, 3), ("table_1", 223, 3), ("figure_3", 1000, 1)]
)
@pytest.mark.parametrize("method", EXACT)
def test_an_exact_method_finds_the_cheapest_pattern_for_each_figure(method, figure, cost, secondaries, request):
    """Costs are the values. Figure 3 needs one more cell; seven cells would do."""
    problem = request.getfixturevalue(figure)
    protection, best = protect(problem, method), cheapest(problem)
    assert best.cost == pytest.approx(cost)
    assert len(best.patterns) == {"figure_3": 7}.get(figure, 2)
    assert protection.report.cost == protection.report.bound == pytest.approx(cost)
    assert protection.report.n_secondary == secondaries
    assert protection.suppressed.tolist() in [suppressed.tolist() for suppressed in best.patterns]
    assert audit(problem, protection).passed
