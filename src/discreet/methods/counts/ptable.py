"""Perturbation tables: the probability of each change of a count.

For a count of i the change v is between −min(i, D) and D, so that no count becomes negative, and has mean 0 and variance V. Of
all such distributions it is the one with the largest entropy (Marley & Leaver 2011; Giessing 2016): p(v) ∝ exp(λ·v + μ·v²), with
λ and μ found by Newton's method. Unless ``mono`` is false, the variance is at most V and small decreases of a count are no less
likely than larger ones, as by default in the R package ptable.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.record_keys import N_KEYS
from discreet.errors import RuleError

MAX_DEVIATION = 100  # the rows of the table are computed one by one
TOO_CLOSE_TO_LIMIT = "The variance is too close to the limit of what is possible. Choose one farther from it."
MOMENT_TOLERANCE = 1e-11  # error of mean and variance
MAX_NEWTON_STEPS = 500  # so that the loop ends in any case
VARIANCE_TOLERANCE = 1e-12  # share of a variance by which it may exceed the least possible one and count as equal


@dataclass(frozen=True, eq=False)
class PTable:
    """Probabilities of changes from −D to D, one row per count; the last row applies to all larger counts."""

    deviation: int
    probability: FloatArray  # (count, change + D)

    @cached_property
    def _cuts(self) -> IntArray:
        """Per change the first key that leads to a larger one."""
        cuts = np.rint(np.cumsum(self.probability, axis=1) * N_KEYS).astype(np.int64)
        cuts[:, -1] = N_KEYS
        return cuts

    @cached_property
    def possible(self) -> BoolArray:
        """Which changes are possible with integer keys: not those with a probability below about 2⁻²⁴."""
        return np.asarray(np.diff(self._cuts, axis=1, prepend=0) > 0)

    def change(self, count: IntArray, key: IntArray) -> IntArray:
        """The change of each count, given the key of its cell, from 0 to 2²⁴ − 1."""
        row, change = np.minimum(count, len(self.probability) - 1), np.zeros(len(count), dtype=np.int64)
        for i, cuts in enumerate(self._cuts):
            at = np.flatnonzero(row == i)
            change[at] = np.searchsorted(cuts, key[at], side="right") - self.deviation
        return change

    def counts_behind(self, shown: IntArray) -> tuple[IntArray, IntArray]:
        """The smallest and the largest count that each published number can stand for."""
        possible, last = self.possible, len(self.probability) - 1
        largest_small = last + self.deviation  # larger numbers depend on the last row only
        changes = np.arange(-self.deviation, self.deviation + 1)
        count = np.arange(last + 2 * self.deviation + 1)
        row, at = np.nonzero(possible[np.minimum(count, last)])
        number = count[row] + changes[at]
        low, high = np.full(number.max() + 1, count[-1]), np.full(number.max() + 1, -1)
        np.minimum.at(low, number, count[row])
        np.maximum.at(high, number, count[row])
        usual = changes[possible[last]]
        small, place = shown <= largest_small, np.minimum(shown, largest_small)
        return np.where(small, low[place], shown - usual.max()), np.where(small, high[place], shown - usual.min())


def possible_variances(deviation: int, skip: int = 0) -> tuple[int, int]:
    """The least variance, and the limit it must stay below, so that every count has a distribution and may stay unchanged.

    A count of 1 decreases by 1 at most: at V = D it would become 0 or 1 + D, and a published 1 would never be a true 1. If 1 to
    s are never published, a count i among them becomes 0 or at least s + 1, which requires V ≥ i·(s + 1 − i).
    """
    return (skip + 1) ** 2 // 4 if skip else 0, deviation


def perturbation_table(deviation: int, variance: float, skip: int = 0, mono: bool = True) -> PTable:
    """The table for changes up to ``deviation`` with this variance; counts from 1 to ``skip`` are never published.

    With ``mono`` no decrease of a count is more likely than a smaller one or none, and the variance is smaller where the
    distribution of largest entropy has a smaller one. Without ``mono`` the variance is exact.
    """
    if isinstance(deviation, bool) or not isinstance(deviation, int) or not 1 <= deviation <= MAX_DEVIATION:
        raise RuleError(f"deviation is the largest change of a count: an integer from 1 to {MAX_DEVIATION}.")
    if isinstance(skip, bool) or not isinstance(skip, int) or not 0 <= skip < deviation:
        raise RuleError(f"skip is an integer from 0 to {deviation - 1}, less than the deviation.")
    low, high = possible_variances(deviation, skip)
    if low >= high:
        raise RuleError(f"With skip={skip} the deviation must be at least {low + 1}.")
    if not (isinstance(variance, int | float) and variance > 0 and low <= variance < high):
        least = f"at least {low}" if low else "above 0"
        options = f" and skip={skip}" if skip else ""
        raise RuleError(f"With deviation={deviation}{options} the variance must be {least} and below {high}.")
    rows = np.zeros((deviation + skip + 2 if skip else deviation + 1, 2 * deviation + 1))
    rows[0, deviation] = 1.0  # zeros never change
    changes = np.arange(-deviation, deviation + 1)
    for count in range(1, len(rows)):
        number = count + changes
        allowed = (number == 0) | (number > skip)
        distribution = monotonous if mono else largest_entropy
        rows[count, allowed] = distribution(changes[allowed].astype(float), variance)
    table = PTable(deviation, rows)
    shown = np.arange(skip + 1, len(rows))
    if not table.possible[shown, deviation].all():
        raise RuleError(TOO_CLOSE_TO_LIMIT)
    return table


def largest_entropy(values: FloatArray, variance: float) -> FloatArray:
    """The probabilities of largest entropy with mean 0 and this variance."""
    below, above = values[values < 0][-1], values[values > 0][0]
    # With the least possible variance only the two values next to 0 have a positive probability.
    if 0 not in values and variance + below * above <= VARIANCE_TOLERANCE * variance:
        return np.asarray(np.where(values == below, above, np.where(values == above, -below, 0.0)) / (above - below))
    return _largest_entropy(np.stack([values, values**2 - variance]))


def monotonous(values: FloatArray, variance: float) -> FloatArray:
    """The probabilities of largest entropy with mean 0, at most this variance, and no decrease from the lowest value up to 0.

    Without the last condition they are p(v) ∝ exp(λ·v + μ·v²) with μ ≤ 0, which increases up to its mode and decreases from
    there on. If the mode is below 0, as many values below 0 as necessary get the same probability as 0.
    """
    if 0 not in values:
        p = _largest_entropy(values[None])
        return largest_entropy(values, variance) if values**2 @ p > variance else p
    middle = int(np.flatnonzero(values == 0)[0])
    for first in range(middle, -1, -1):
        equal = slice(first, middle + 1)
        moments = np.stack([values, values**2 - variance])
        moments[:, equal] = moments[:, equal].mean(axis=1, keepdims=True)
        p = _largest_entropy(moments[:1])
        if values**2 @ p > variance:
            p = _largest_entropy(moments)
        if np.all(np.diff(p[: middle + 1]) >= -MOMENT_TOLERANCE):
            break
    return p


def _largest_entropy(moments: FloatArray) -> FloatArray:
    """The probabilities of largest entropy for which these moments, one per row, are 0; by Newton's method on the dual."""
    unit = np.abs(moments).max(axis=1)
    scaled = moments / unit[:, None]
    dual = np.zeros(len(moments))
    p, level = _tilted(dual, scaled)
    for _ in range(MAX_NEWTON_STEPS):
        error = scaled @ p
        if np.abs(error * unit).max() <= MOMENT_TOLERANCE:
            break
        spread = (scaled * p) @ scaled.T - np.outer(error, error)
        step = np.linalg.solve(spread + 1e-15 * np.trace(spread) * np.eye(len(dual)), error)
        size = 1.0
        while size > 1e-12:
            candidate, lower = _tilted(dual - size * step, scaled)
            if lower <= level - 1e-4 * size * float(error @ step) or size * np.abs(step).max() < 1e-9:
                break
            size /= 2
        dual, p, level = dual - size * step, candidate, lower
    if np.abs(moments @ p).max() > 10 * MOMENT_TOLERANCE * unit.max():
        raise RuleError(TOO_CLOSE_TO_LIMIT)
    return p


def _tilted(dual: FloatArray, moments: FloatArray) -> tuple[FloatArray, float]:
    """The distribution for these multipliers, and the logarithm of its normalizing constant."""
    exponent = dual @ moments
    top = exponent.max()
    weight = np.exp(exponent - top)
    return weight / weight.sum(), float(top + np.log(weight.sum()))
