"""Perturbation tables: how likely each change of a count is.

For a count of i the change v is between −min(i, D) and D, so that nothing becomes negative, has mean 0 and the variance V, and is
otherwise as random as can be: of all such distributions the one with the largest entropy (Marley & Leaver 2011; Giessing 2016).
That is p(v) ∝ exp(λ·v + μ·v²), with λ and μ found by Newton's method. Unless ``mono`` is switched off, the variance is V at most
and small decreases of a count are no less likely than larger ones, as the R package ptable has it by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import FloatArray, IntArray
from discreet.data.record_keys import N_KEYS
from discreet.errors import RuleError

LARGEST = 100  # deviation: rows are worked out one by one
TOO_NEAR = "The variance is too near the edge of what is possible. Choose one further from it."
EXACT = 1e-11  # by which mean and variance may be off
ROUNDS = 500
NEAR = 1e-12  # of a variance: at the edge of what is possible


@dataclass(frozen=True, eq=False)
class PTable:
    """Probabilities of changes from −D to D, one row a count; the last row holds for all larger ones."""

    deviation: int
    probability: FloatArray  # (count, change + D)

    @cached_property
    def _cuts(self) -> IntArray:
        """Up to which key, exclusively, each change or a smaller one is made."""
        cuts = np.rint(np.cumsum(self.probability, axis=1) * N_KEYS).astype(np.int64)
        cuts[:, -1] = N_KEYS
        return cuts

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """Which changes happen at all: not those with a chance below 2⁻²⁴."""
        return np.asarray(np.diff(self._cuts, axis=1, prepend=0) > 0)

    def change(self, count: IntArray, key: IntArray) -> IntArray:
        """How much each count changes, given the cell's key from 0 to 2²⁴ − 1."""
        row, change = np.minimum(count, len(self.probability) - 1), np.zeros(len(count), dtype=np.int64)
        for i, cuts in enumerate(self._cuts):
            at = np.flatnonzero(row == i)
            change[at] = np.searchsorted(cuts, key[at], side="right") - self.deviation
        return change

    def counts_behind(self, shown: IntArray) -> tuple[IntArray, IntArray]:
        """The smallest and the largest count that each published number can stand for."""
        possible, last = self.possible, len(self.probability) - 1
        few = np.arange(last + self.deviation + 1)  # beyond, the last row alone decides
        changes = np.arange(-self.deviation, self.deviation + 1)
        count = np.arange(last + 2 * self.deviation + 1)
        row, at = np.nonzero(possible[np.minimum(count, last)])
        number = count[row] + changes[at]
        low, high = np.full(number.max() + 1, count[-1]), np.full(number.max() + 1, -1)
        np.minimum.at(low, number, count[row])
        np.maximum.at(high, number, count[row])
        usual = changes[possible[last]]
        small, place = shown <= few[-1], np.minimum(shown, few[-1])
        return (
            np.where(small, low[place], shown - usual.max()),
            np.where(small, high[place], shown - usual.min()),
        )


def possible_variances(deviation: int, skip: int = 0) -> tuple[int, int]:
    """From which variance on, and below which, there is a distribution for every count that may leave it as it is.

    A count of 1 goes down by 1 at most: at V = D it would be 0 or 1 + D, and what is published as 1 never 1. Where 1 to s are
    never published, a count i of those becomes 0 or at least s + 1, which takes V ≥ i·(s + 1 − i).
    """
    return (skip + 1) ** 2 // 4 if skip else 0, deviation


def perturbation_table(deviation: int, variance: float, skip: int = 0, mono: bool = True) -> PTable:
    """The table for changes up to ``deviation`` with this variance; counts from 1 to ``skip`` are never published.

    With ``mono`` no count is less likely to stay than to go down by one, nor that than to go down by two, and so on; where the
    most even probabilities vary less, the variance is smaller. Without it the variance is exact.
    """
    if isinstance(deviation, bool) or not isinstance(deviation, int) or not 1 <= deviation <= LARGEST:
        raise RuleError(f"deviation is the largest change of a count: a whole number from 1 to {LARGEST}.")
    if isinstance(skip, bool) or not isinstance(skip, int) or not 0 <= skip < deviation:
        raise RuleError(f"skip is a whole number from 0 to less than the deviation, that is to {deviation - 1}.")
    low, high = possible_variances(deviation, skip)
    if low >= high:
        raise RuleError(f"With skip={skip} the deviation must be at least {low + 1}.")
    if not (isinstance(variance, int | float) and variance > 0 and low <= variance < high):
        least = f"from {low} to" if low else "above 0 and"
        what = f" and skip={skip}" if skip else ""
        raise RuleError(f"With deviation={deviation}{what} the variance can be {least} less than {high}.")
    rows = np.zeros((deviation + skip + 2 if skip else deviation + 1, 2 * deviation + 1))
    rows[0, deviation] = 1.0  # zeros never change
    changes = np.arange(-deviation, deviation + 1)
    for count in range(1, len(rows)):
        number = count + changes
        allowed = (number == 0) | (number > skip)
        row = monotonous if mono else largest_entropy
        rows[count, allowed] = row(changes[allowed].astype(float), variance)
    table = PTable(deviation, rows)
    shown = np.arange(skip + 1, len(rows))
    if not table.possible[shown, deviation].all():
        raise RuleError(TOO_NEAR)
    return table


def largest_entropy(values: FloatArray, variance: float) -> FloatArray:
    """Probabilities with mean 0 and this variance that are otherwise as even as can be."""
    below, above = values[values < 0], values[values > 0]
    one, other = below[-1], above[0]
    if 0 not in values and variance + one * other <= NEAR * variance:  # only the two values next to 0 are left
        return np.asarray(np.where(values == one, other, np.where(values == other, -one, 0.0)) / (other - one))
    return _most_even(np.stack([values, values**2 - variance]))


def monotonous(values: FloatArray, variance: float) -> FloatArray:
    """Probabilities with mean 0 and at most this variance, as even as can be, that do not fall from the lowest value up to 0.

    Without the last condition they are p(v) ∝ exp(λ·v + μ·v²) with μ ≤ 0, which rises up to some value and falls from there on.
    If that is below 0, the values from it up to 0 get equal probabilities; as many as it takes.
    """
    if 0 not in values:
        return (
            largest_entropy(values, variance)
            if _variance(values, even := _most_even(values[None])) > variance
            else even
        )
    middle = int(np.flatnonzero(values == 0)[0])
    for first in range(middle, -1, -1):
        alike = slice(first, middle + 1)
        moments = np.stack([values, values**2 - variance])
        moments[:, alike] = moments[:, alike].mean(axis=1, keepdims=True)
        p = _most_even(moments[:1])
        if _variance(values, p) > variance:
            p = _most_even(moments)
        if np.all(np.diff(p[: middle + 1]) >= -EXACT):
            break
    return p


def _variance(values: FloatArray, p: FloatArray) -> float:
    return float(values**2 @ p)


def _most_even(moments: FloatArray) -> FloatArray:
    """The probabilities of largest entropy under which these moments, one a row, are 0; by Newton's method on their dual."""
    unit = np.abs(moments).max(axis=1)
    scaled = moments / unit[:, None]
    dual = np.zeros(len(moments))
    p, level = _tilted(dual, scaled)
    for _ in range(ROUNDS):
        off = scaled @ p
        if np.abs(off * unit).max() <= EXACT:
            break
        spread = (scaled * p) @ scaled.T - np.outer(off, off)
        step = np.linalg.solve(spread + 1e-15 * np.trace(spread) * np.eye(len(dual)), off)
        size = 1.0
        while size > 1e-12:
            candidate, lower = _tilted(dual - size * step, scaled)
            if lower <= level - 1e-4 * size * float(off @ step) or size * np.abs(step).max() < 1e-9:
                break
            size /= 2
        dual, p, level = dual - size * step, candidate, lower
    if np.abs(moments @ p).max() > 10 * EXACT * unit.max():
        raise RuleError(TOO_NEAR)
    return p


def _tilted(dual: FloatArray, moments: FloatArray) -> tuple[FloatArray, float]:
    """The distribution that belongs to two multipliers, and the logarithm of its sum."""
    exponent = dual @ moments
    top = exponent.max()
    weight = np.exp(exponent - top)
    return weight / weight.sum(), float(top + np.log(weight.sum()))
