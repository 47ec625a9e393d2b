"""FCSM Working Paper 22, chapter IV: Table 1, the technical notes and their example; three cells of Daalmans & de Waal.

The paper prints rounded parameters and rounded coefficients; each test says which rounding it allows.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.data.table import Table
from discreet.rules import Dominance, Percent, PriorPosterior
from discreet.rules.convert import gain_of_p, k_covering, k_within, p_covering, p_of_gain, p_within


def cells(*contributions: list[float]) -> Table:
    n = len(contributions)
    total = np.array([sum(c) for c in contributions], dtype=float)
    top = np.array([[*sorted(c, reverse=True), 0, 0][:2] for c in contributions], dtype=float)
    names = tuple(f"cell {i + 1}" for i in range(n))
    count = np.array([len(c) for c in contributions])
    return Table(
        {}, np.zeros((0, n)), total, sparse.csr_array((0, n)), names=names, top=top, count=count, magnitude=total
    )


# -- Table 1 ------------------------------------------------------------------------------------------------

TABLE_1 = [(50.0, 2, 66.7, 80.0), (33.3, 3, 75.0, 85.7), (16.7, 6, 85.7, 92.3), (11.1, 9, 90.0, 94.7)]


@pytest.mark.parametrize(("p", "gain", "one", "two"), TABLE_1)
def test_table_1_limits(p, gain, one, two):
    """All figures are printed to one decimal, p included."""
    assert p_of_gain(gain) == pytest.approx(p, abs=0.05)
    assert gain_of_p(p) == pytest.approx(gain, abs=0.05)
    for exact in (p, p_of_gain(gain)):
        assert k_within(1, exact) == pytest.approx(one, abs=0.05)
        assert k_within(2, exact) == pytest.approx(two, abs=0.05)


@pytest.mark.parametrize(("p", "gain", "one", "two"), TABLE_1)
def test_table_1_cells_above_the_limits_are_sensitive(p, gain, one, two):
    """Just above a limit S > 0 whatever the rest; just below there are cells with S < 0: alone, or two alike."""
    small = 0.1  # the limits are printed to one decimal

    def cell(z1: float, z2: float) -> list[float]:
        return [z1, z2] + [(100 - z1 - z2) / 1000] * 1000

    above = cells(cell(one + small, 0), cell((two + small) / 2, (two + small) / 2))
    below = cells(cell(one - small, 0), cell((two - small) / 2, (two - small) / 2))
    for rule in (Percent(p_of_gain(gain)), PriorPosterior(100 / gain / 2, 50)):
        assert (rule(above).score > 0).all()
        assert rule(above).sensitive.all()
        assert (rule(below).score < 0).all()
        assert not rule(below).sensitive.any()


# -- conversions --------------------------------------------------------------------------------------------


def test_p_percent_rules_around_the_2_85_rule():
    """The example's closing labels on 17.65 and 35.29 are swapped: 35.29 is the more conservative, as in Figure 1D."""
    assert round(p_within(2, 85), 2) == 17.65
    assert round(p_covering(2, 85), 2) == 35.29
    assert k_covering(2, p_within(2, 85)) == pytest.approx(85)
    assert k_within(2, p_covering(2, 85)) == pytest.approx(85)
    less, more = Percent(p_within(2, 85)), Percent(p_covering(2, 85))
    shares = np.array([(a, b) for a in range(2, 200) for b in range(1, min(a, 200 - a))], dtype=float) / 2
    n = len(shares)
    grid = cells(*[[100.0]] * n).with_columns(top=shares, count=np.full(n, 1000))
    by_less, by_more, by_nk = (rule(grid).sensitive for rule in (less, more, Dominance(2, 85)))
    assert (by_less <= by_nk).all()
    assert (by_nk <= by_more).all()
    assert by_less.sum() < by_nk.sum() < by_more.sum()


def test_p_percent_rules_around_the_1_75_rule():
    assert round(p_within(1, 75), 1) == -66.7  # no p-percent rule is within it
    assert round(p_covering(1, 75), 2) == 33.33


def test_dominance_rules_around_p_percent_rules():
    # Printed 45.94: 45.945… cut off rather than rounded.
    assert k_covering(1, 17.65) == pytest.approx(45.94, abs=0.01)
    # 73.91 is for p = 35.294…; the rounded 35.29 would give 73.92.
    assert round(k_within(1, p_covering(2, 85)), 2) == 73.91


def test_the_pq_rule_with_the_same_regions():
    """ "A pq-rule with q/p = 2.83"."""
    assert round(gain_of_p(p_covering(2, 85)), 2) == 2.83


# -- the example --------------------------------------------------------------------------------------------

CELL_1, CELL_2, CELL_3 = [100.0], [1.0] * 20, [100.0]
RULES_OF_THE_EXAMPLE = {
    "(2,85)": Dominance(2, 85),
    "17.65%": Percent(100 * 15 / 85),  # the paper's 5.667 is 85/15; 100/17.65 would be 5.666
    "(1,73.91)": Dominance(1, 73.91),
    "35.29%": Percent(35.29),  # the paper's 2.834 is 100/35.29; 85/30 would be 2.833
}
PRINTED = [
    # rule, coefficient, then for cell 1 ∪ cell 2 and for the total: S = exposed − coefficient · remainder
    ("(2,85)", 5.667, (101, 19, -6.67), (200, 20, 86.66)),
    ("17.65%", 5.667, (100, 19, -7.67), (100, 20, -13.34)),
    ("(1,73.91)", 2.833, (100, 20, 43.34), (100, 120, -239.96)),
    ("35.29%", 2.834, (100, 19, 46.16), (100, 20, 43.32)),
]


@pytest.mark.parametrize(("name", "coefficient", "union", "total"), PRINTED)
def test_every_printed_sensitivity(name, coefficient, union, total):
    """Coefficients are printed to three decimals and multiplied as printed; S is printed to two."""
    verdict = RULES_OF_THE_EXAMPLE[name](cells(CELL_1 + CELL_2, CELL_1 + CELL_2 + CELL_3))
    for score, (exposed, remainder, printed) in zip(verdict.score, (union, total), strict=True):
        assert round((exposed - score) / remainder, 3) == coefficient
        assert score == pytest.approx(printed, abs=0.0005 * remainder + 0.005)
    assert verdict.sensitive.tolist() == [union[-1] > 0, total[-1] > 0]


@pytest.mark.parametrize("rule", RULES_OF_THE_EXAMPLE.values(), ids=RULES_OF_THE_EXAMPLE)
def test_cells_1_and_3_are_sensitive_and_cell_2_is_not(rule):
    verdict = rule(cells(CELL_1, CELL_2, CELL_3))
    assert verdict.sensitive.tolist() == [True, False, True]
    assert verdict.score[0] == verdict.score[2] == 100  # a single respondent: S is its contribution


def test_the_union_of_cells_1_and_2_is_sensitive_by_the_1_75_and_the_33_percent_rule():
    both = cells(CELL_1 + CELL_2)
    assert Dominance(1, 75)(both).sensitive.all()
    assert Percent(33.3)(both).sensitive.all()
    assert both.top[0, 0] / both.value[0] == pytest.approx(0.833, abs=0.0005)


def test_the_combination_of_two_dominance_rules_is_consistent():
    """(1,73.91) with (2,85) finds what the 35.29 % rule finds in the example."""
    table = cells(CELL_1, CELL_2, CELL_3, CELL_1 + CELL_2, CELL_1 + CELL_2 + CELL_3)
    together = Dominance(1, 73.91)(table).sensitive | Dominance(2, 85)(table).sensitive
    assert np.array_equal(together, Percent(35.29)(table).sensitive)
    assert np.array_equal(together, PriorPosterior(35.29, 100)(table).sensitive)


# -- Daalmans & de Waal (2010), example 2 -------------------------------------------------------------------


def test_critical_value_of_example_2_is_190():
    """Largest 155, second 4, total 160, p = 20: up to 190 − 4 = 186 is within 20 % of 155."""
    cell = cells([155.0, 4.0, 1.0])
    verdict = Percent(20)(cell)
    assert verdict.sensitive.all()
    assert verdict.upper.tolist() == verdict.lower.tolist() == pytest.approx([30])
    assert cell.value[0] + verdict.upper[0] == pytest.approx(190)


def test_critical_value_of_example_5_is_1700():
    """Contributions 1000, 500, 100."""
    assert (1600 + Percent(20)(cells([1000.0, 500.0, 100.0])).upper).tolist() == pytest.approx([1700])


def test_the_cell_that_example_4_merges_is_sensitive():
    """155 and 4 of 160, 28 and 10 of 40: the one who gave 28 knows that the largest is at most 200 − 28 = 172.

    The paper calls the second cell not sensitive, but its remainder 2 is less than 20 % of 28.
    """
    table = cells([155.0, 4.0, 1.0], [28.0, 10.0, 2.0], [155.0, 28.0, 10.0, 4.0, 2.0, 1.0])
    verdict = Percent(20)(table)
    assert verdict.sensitive.tolist() == [True, True, True]
    assert verdict.upper[2] == pytest.approx(1.2 * 155 - 172)
