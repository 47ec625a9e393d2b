"""Conversions between parameters of the p-percent, the prior/posterior and the dominance rule.

A cell is a point: its largest contributor makes z₁ percent of it, the second largest z₂, with z₁ ≥ z₂ ≥ 0 and
z₁ + z₂ ≤ 100. The sensitive cells of a rule are a part of this triangle:

    P(p):      (1 + p/100) · z₁ + z₂ > 100
    NK(1,k):   z₁ > k
    NK(2,k):   z₁ + z₂ > k

One rule *covers* another if all cells that are sensitive by the other are sensitive by it, and lies *within* the other if the
other covers it. The boundaries of the regions touch where z₂ = 0 or where z₁ = z₂, which gives the formulas. They are for
coalitions of one and n of 1 or 2.

Source: FCSM Working Paper 22, chapter IV, technical notes.
"""

from __future__ import annotations

from math import inf

from discreet.errors import RuleError


def p_covering(n: int, k: float) -> float:
    """Smallest p for which P(p) covers NK(n,k): p/100 = 100/k − 1 for n = 1, 200/k − 2 for n = 2."""
    _check(n, k=k)
    return 100 * (100 / k - 1 if n == 1 else 200 / k - 2)


def p_within(n: int, k: float) -> float:
    """Largest p for which P(p) lies within NK(n,k): p/100 = 100/k − 2 for n = 1, 100/k − 1 for n = 2.

    Zero or less means that no p-percent rule lies within NK(n,k).
    """
    _check(n, k=k)
    return 100 * (100 / k - 2 if n == 1 else 100 / k - 1)


def k_covering(n: int, p: float) -> float:
    """Largest k for which NK(n,k) covers P(p), the inverse of p_within: k = 100/(p/100 + 2) or 100/(p/100 + 1)."""
    _check(n, p=p)
    return 100 / (p / 100 + 2) if n == 1 else 100 / (p / 100 + 1)


def k_within(n: int, p: float) -> float:
    """Smallest k for which NK(n,k) lies within P(p), the inverse of p_covering: 100/(p/100 + 1) or 200/(p/100 + 2).

    P(p) also covers the two rules together: a cell in which one contributor has more than k_within(1, p) or two have more than
    k_within(2, p) percent is sensitive by P(p).
    """
    _check(n, p=p)
    return 100 / (p / 100 + 1) if n == 1 else 200 / (p / 100 + 2)


def p_of_gain(gain: float) -> float:
    """The p of the p-percent rule that calls the same cells sensitive as a pq rule with information gain q/p = gain."""
    _check(gain=gain)
    return 100 / gain


def gain_of_p(p: float) -> float:
    """The information gain q/p of the pq rules that call the same cells sensitive as P(p)."""
    _check(p=p)
    return 100 / p


def _check(n: int = 1, *, k: float = 50, p: float = 1, gain: float = 1) -> None:
    if n not in (1, 2):
        raise RuleError("Dominance by 1 or 2 contributors can be compared with the p-percent rule, not by more.")
    if not 0 < k < 100:
        raise RuleError("k must be more than 0 and less than 100 percent.")
    if not (0 < p < inf and 0 < gain < inf):
        raise RuleError("p and the information gain q/p must be positive numbers.")
