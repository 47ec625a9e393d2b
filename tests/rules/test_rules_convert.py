"""The conversions between p-percent and dominance rules, tried on a grid of cells."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rules.rule_tables import table_of

from discreet.errors import RuleError
from discreet.rules import Dominance, Percent
from discreet.rules.convert import gain_of_p, k_covering, k_within, p_covering, p_of_gain, p_within

# Cells of 1000 all over the triangle z1 ≥ z2, z1 + z2 ≤ 100 %, with a fine remainder.
TRIANGLE = [(z1, z2) for z1 in range(1, 1001, 9) for z2 in range(0, min(z1, 1000 - z1) + 1, 9)]
NUDGE = 1e-6


def cells_at(points):
    """Cells with these two largest contributions and many tiny ones, 1000 in all."""
    n = len(points)
    return table_of([[]] * n, top=2).with_columns(
        top=np.array(points, dtype=float), magnitude=np.full(n, 1000.0), count=np.full(n, 5000)
    )


GRID = cells_at(TRIANGLE)


def covers(one, other):
    return bool((one(GRID).sensitive >= other(GRID).sensitive).all())


@given(st.sampled_from([1, 2]), st.floats(5, 95))
def test_from_dominance_to_percent(n, k):
    p = p_covering(n, k)
    if p < 100:
        assert covers(Percent(p + NUDGE), Dominance(n, k))
    p = p_within(n, k)
    if NUDGE < p < 100:
        assert covers(Dominance(n, k), Percent(p - NUDGE))


@given(st.sampled_from([1, 2]), st.floats(1, 99))
def test_from_percent_to_dominance(n, p):
    assert covers(Percent(p), Dominance(n, k_within(n, p) + NUDGE))
    assert covers(Dominance(n, k_covering(n, p) - NUDGE), Percent(p))
    assert p_covering(n, k_within(n, p)) == pytest.approx(p)
    assert p_within(n, k_covering(n, p)) == pytest.approx(p)
    assert p_of_gain(gain_of_p(p)) == pytest.approx(p)


@pytest.mark.parametrize("n", [1, 2])
def test_the_conversions_are_the_tightest(n):
    """A little less and there is a cell on the edge that tells the rules apart: z₂ = 0 or z₁ = z₂."""
    p = 20.0

    def verdict(rule, z1, z2):
        return bool(rule(cells_at([(10 * z1, 10 * z2)])).sensitive[0])

    k = k_within(n, p)
    edge = (k - 0.005, 0) if n == 1 else (k / 2 - 0.0025, k / 2 - 0.0025)
    assert verdict(Dominance(n, k - 0.01), *edge)
    assert not verdict(Percent(p), *edge)
    k = k_covering(n, p)
    edge = (k + 0.005, k + 0.005) if n == 1 else (k + 0.005, 0)
    assert verdict(Percent(p), *edge)
    assert not verdict(Dominance(n, k + 0.01), *edge)


BY_MANY = "Dominance by 1 or 2 contributors can be compared"
NO_NUMBERS = "p and the information gain q/p must be positive numbers"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: p_covering(3, 80), BY_MANY),
        (lambda: p_within(0, 80), BY_MANY),
        (lambda: p_covering(1, 0), "k must be more than 0 and less than 100 percent"),
        (lambda: p_within(2, 100), "k must be more than 0 and less than 100 percent"),
        (lambda: k_within(1, 0), NO_NUMBERS),
        (lambda: k_covering(1, float("nan")), NO_NUMBERS),
        (lambda: k_covering(5, 10), BY_MANY),
        (lambda: p_of_gain(0), NO_NUMBERS),
        (lambda: gain_of_p(-1), NO_NUMBERS),
    ],
)
def test_parameters_out_of_range_are_refused(call, message):
    with pytest.raises(RuleError, match=message):
        call()
