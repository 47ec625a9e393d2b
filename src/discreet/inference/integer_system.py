"""Relations and slacks in integers, whose sums prove that a table is congruent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.inference import tolerances
from discreet.inference.exact_numbers import simple_fraction

MAX_INTEGER_WEIGHT = 2.0**31  # largest integer weight; it leaves 31 bits for deviations below MAX_INTEGER_SUM
INTEGER_NOISE_SHARES = (2.0**-30, 2.0**-36, 2.0**-42, 2.0**-47)  # numerical error as a share of the largest deviation
# Relative rounding error of a slack: less than the margin within which verdicts are decided again exactly.
SLACK_ROUNDING_TOLERANCE = 0.1 * tolerances.EXACT_DECISION_MARGIN
MAX_ROUNDING_IN_UNITS = 1e-3  # a slack farther than this from a multiple of the unit is not a rounded multiple
MAX_SLACK_DECIMALS = 15  # floats have no more decimal digits
UNIT_SHARE_OF_SMALLEST_SLACK = 2.0**-34  # unit, as a share of the smallest slack, so that rounding takes off little
MAX_EXACT_FLOAT_SUM = 2.0**52  # sum of all slacks in units below which floats add integers exactly
MAX_SLACK_SUM = 1e300  # larger sums count as this one, so that units stay representable
MAX_INTEGER_SUM = 2**62  # sums below it cannot overflow 64 bits

Correction = Callable[[FloatArray], FloatArray | None]


@dataclass(frozen=True, eq=False, repr=False)
class IntegerSystem:
    """Relations with integer weights, and slacks that are integer multiples of a unit.

    Slacks are rounded inwards, unless they are within rounding error of a multiple. So a table that satisfies relations and
    slacks exactly is congruent up to that rounding error, whatever the tolerance of the solver that found it.
    """

    relations: sparse.csr_array
    is_integral: bool  # whether all weights are integers; else nothing can be proven
    low: FloatArray  # integers or −∞
    high: FloatArray
    scale: float  # number of units in 1

    @classmethod
    def of(
        cls, relations: sparse.csr_array, low: FloatArray, high: FloatArray, max_unit: float | None = None
    ) -> IntegerSystem:
        rows = integer_weights(relations)
        is_integral = not nonintegral_relations(rows).any()
        rounded, scale = slacks_in_units(np.stack([-low, high]), max_unit)
        return cls(rows.astype(np.int64) if is_integral else rows, is_integral, -rounded[0], rounded[1], scale)

    def congruent(self, near: FloatArray, correction: Correction | None = None) -> FloatArray | None:
        """The difference next to one that a solver found that satisfies all relations, in units; None if none is found.

        Cells without slack do not deviate. Others may exceed their slack; then only a multiple of the table is congruent.

        ``correction`` maps the residuals of the relations to corrections of the columns. It is computed in floats, but
        from small numbers only, and its result is checked: the relations must hold exactly.
        """
        largest = float(np.abs(near).max(initial=0.0))
        if not (
            self.is_integral and largest * self._largest_row_sum < MAX_INTEGER_SUM and largest < MAX_EXACT_FLOAT_SUM
        ):
            return None
        rounded = np.clip(np.rint(near), self.low, self.high)
        residual = self.relations @ rounded.astype(np.int64)
        if not residual.any():
            return np.asarray(rounded)
        found = self._corrected(rounded, residual, rounded - near)
        if found is None and correction is not None:
            guess = correction(residual.astype(float))
            found = None if guess is None else self._corrected(rounded, residual, guess)
        return found

    def _corrected(self, rounded: FloatArray, residual: IntArray, correction: FloatArray) -> FloatArray | None:
        """The difference minus fractions near the correction, if all relations then hold."""
        largest = float(np.abs(correction).max(initial=0.0))
        small = np.flatnonzero(np.abs(rounded) <= 2 * largest + 1)
        largest_sum = max(self._largest_row_sum, float(np.abs(residual).max()))
        for denominator in _common_denominators(correction):
            if not 4 * (largest + 1) * denominator * largest_sum < MAX_INTEGER_SUM:
                return None
            numerator = np.rint(correction * denominator).astype(np.int64)
            if np.array_equal(self.relations @ numerator, residual * denominator):
                difference = rounded - numerator / denominator
                # Floats lose digits if the result is small.
                difference[small] = (rounded[small].astype(np.int64) * denominator - numerator[small]) / denominator
                no_slack = np.where(difference > 0, self.high == 0, self.low == 0)
                return None if np.any(no_slack & (difference != 0)) else difference
        return None

    @cached_property
    def _largest_row_sum(self) -> float:
        """The largest sum of absolute weights in a relation."""
        return float(abs(self.relations).sum(axis=1).max(initial=1))

    @cached_property
    def largest_column_sum(self) -> float:
        """The largest sum of absolute weights of a column."""
        return float(abs(self.relations).sum(axis=0).max(initial=1))


def _common_denominators(near: FloatArray) -> Iterator[int]:
    """Denominators that all these numbers may have in common, mostly simple ones, for each assumed numerical error."""
    tried = [1]
    yield 1
    largest = max(1.0, float(np.abs(near).max(initial=0.0)))
    for noise in INTEGER_NOISE_SHARES:
        denominator = 1
        while largest * denominator < MAX_EXACT_FLOAT_SUM:
            error = np.abs(near * denominator - np.rint(near * denominator))
            at = int(error.argmax())
            if error[at] <= 2 * noise * largest * denominator:
                if denominator not in tried:
                    tried.append(denominator)
                    yield denominator
                break
            denominator *= _simplest_denominator(float(near[at] * denominator), noise * largest * denominator)


def _simplest_denominator(number: float, noise: float) -> int:
    """The denominator of the first continued-fraction approximation of a number that is within ``noise``."""
    # In integers, which are much faster than fractions: above/below is the number, noise_above/noise_below the noise.
    (above, below), (noise_above, noise_below) = number.as_integer_ratio(), noise.as_integer_ratio()
    (p, q), (before_p, before_q) = (1, 0), (0, 1)
    dividend, divisor = above, below
    while True:
        integer, remainder = divmod(dividend, divisor)
        (p, q), (before_p, before_q) = (integer * p + before_p, integer * q + before_q), (p, q)
        if not remainder or abs(above * q - p * below) * noise_below <= noise_above * below * q:
            return q
        dividend, divisor = divisor, remainder


def slacks_in_units(slack: FloatArray, max_unit: float | None = None) -> tuple[FloatArray, float]:
    """Slacks in integer units, and the number of units in 1: a power of ten if the slacks are round, else of two.

    A slack within rounding error of a round number counts as that number. The deviation of a cell is a sum of slacks, so its
    relative error is no larger. Slacks that are not round are rounded down; the unit is then at most ``max_unit``, by default
    a small share of the smallest slack, unless sums would exceed what floats add exactly.
    """
    finite = np.isfinite(slack)
    sizes = slack[finite & (slack > 0)]
    if not len(sizes):
        return slack, 1.0
    with np.errstate(over="ignore"):
        total = min(float(sizes.sum()), MAX_SLACK_SUM)
    for places in range(MAX_SLACK_DECIMALS + 1):
        scale = 10.0**places
        if total * scale >= MAX_EXACT_FLOAT_SUM:
            break
        near = np.rint(sizes * scale)
        if np.all(np.abs(sizes * scale - near) <= np.minimum(SLACK_ROUNDING_TOLERANCE * near, MAX_ROUNDING_IN_UNITS)):
            return np.where(finite, np.rint(slack * scale), slack), scale
    max_unit = max_unit or float(sizes.min()) * UNIT_SHARE_OF_SMALLEST_SLACK
    scale = 2.0 ** -math.ceil(math.log2(max(max_unit, total / MAX_EXACT_FLOAT_SUM, 1e-300)))
    return np.where(finite, np.floor(slack * scale), slack), scale


def integer_weights(relations: sparse.csr_array) -> sparse.csr_array:
    """The same relations with integer weights in lowest terms, exactly; those whose weights would be too large are unchanged."""
    if np.all(np.abs(relations.data) == 1):
        return relations
    rows = sparse.csr_array(relations, copy=True)
    rows.data = rows.data.astype(float)
    for row in np.flatnonzero(nonintegral_relations(rows)).tolist():
        entries = slice(rows.indptr[row], rows.indptr[row + 1])
        weights = [simple_fraction(weight) for weight in rows.data[entries].tolist()]
        common = math.lcm(*(weight.denominator for weight in weights))
        numbers = [weight.numerator * (common // weight.denominator) for weight in weights]
        if max(map(abs, numbers)) <= MAX_INTEGER_WEIGHT * math.gcd(*numbers):
            rows.data[entries] = [number // math.gcd(*numbers) for number in numbers]
    integral = np.flatnonzero(~nonintegral_relations(rows)[_row_of(rows)])
    row_of = _row_of(rows)[integral]
    starts = np.flatnonzero(np.diff(row_of, prepend=-1))
    divisor = np.gcd.reduceat(rows.data[integral].astype(np.int64), starts) if len(starts) else np.ones(0)
    rows.data[integral] /= np.repeat(divisor, np.diff(np.append(starts, len(row_of))))
    return rows


def nonintegral_relations(rows: sparse.csr_array) -> BoolArray:
    """The relations with a weight that is not an integer, or is too large."""
    nonintegral = (rows.data != np.rint(rows.data)) | (np.abs(rows.data) > MAX_INTEGER_WEIGHT)
    return np.asarray(np.bincount(_row_of(rows)[nonintegral], minlength=rows.shape[0]) > 0)


def _row_of(rows: sparse.csr_array) -> IntArray:
    """The relation of each weight."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
