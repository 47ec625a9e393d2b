"""Components in whole numbers, where adding up proves that a table is congruent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference import tolerances
from discreet.inference.exact_numbers import simple_fraction

MAX_INTEGER_WEIGHT = 2.0**31  # of the whole numbers that weights are made
INTEGER_NOISE_SHARES = (
    2.0**-30,
    2.0**-36,
    2.0**-42,
    2.0**-47,
)  # shares of the largest move that may be numerical error
SLACK_ROUNDING_TOLERANCE = (
    0.1 * tolerances.EXACT_DECISION_MARGIN
)  # share of a slack that may be rounding error: less than what is decided again exactly
MAX_ROUNDING_IN_UNITS = 1e-3  # of a unit; more than that is no rounding error
MAX_SLACK_DECIMALS = 15  # of decimals in slacks that are taken for round
UNIT_SHARE_OF_SMALLEST_SLACK = 2.0**-34  # share of the smallest slack that rounding may take
MAX_EXACT_FLOAT_SUM = 2.0**52  # of all slacks in units: floats still add up without loss
MAX_SLACK_SUM = 1e300  # what slacks add up to at most: beyond that units only get finer than they need be
MAX_INTEGER_SUM = 2**62  # what sums in whole numbers must stay below

Correction = Callable[[FloatArray], FloatArray | None]


@dataclass(frozen=True, eq=False, repr=False)
class IntegerSystem:
    """Relations with whole weights and slacks that are whole multiples of a unit.

    Slacks were rounded inwards, except where they are within rounding error of a multiple. So of a table that keeps both to the
    letter at least all but a rounding error is exactly congruent, whatever a solver's tolerance.
    """

    relations: sparse.csr_array
    is_whole: bool  # whether all weights are; else nothing can be proven
    low: FloatArray  # whole numbers, or without end
    high: FloatArray
    scale: float  # how many units make one

    @classmethod
    def of(
        cls, relations: sparse.csr_array, low: FloatArray, high: FloatArray, fine: float | None = None
    ) -> IntegerSystem:
        rows = integer_weights(relations)
        is_whole = not nonintegral_relations(rows).any()
        rounded, scale = slacks_in_units(np.stack([-low, high]), fine)
        return cls(rows.astype(np.int64) if is_whole else rows, is_whole, -rounded[0], rounded[1], scale)

    def congruent(self, near: FloatArray, correction: Correction | None = None) -> FloatArray | None:
        """The table next to one that a solver found that keeps all relations, in units; None if there it does not.

        Cells without slack stay. Others may stick out, so that only a multiple of the table is congruent.

        ``correction`` tells by how much columns should move to take up what relations are off: a guess, and made with floats,
        but of small numbers only, however large the table's are. What counts is that relations add up in the end.
        """
        far = float(np.abs(near).max(initial=0.0))
        if not self.is_whole or not far * self._heaviest < MAX_INTEGER_SUM or far >= MAX_EXACT_FLOAT_SUM:
            return None
        integer_weights = np.clip(np.rint(near), self.low, self.high)
        off = self.relations @ integer_weights.astype(np.int64)
        if not off.any():
            return np.asarray(integer_weights)
        found = self._without(integer_weights, off, integer_weights - near)
        if found is None and correction is not None:
            guess = correction(off.astype(float))
            found = None if guess is None else self._without(integer_weights, off, guess)
        return found

    def _without(self, integer_weights: FloatArray, off: IntArray, near: FloatArray) -> FloatArray | None:
        """A table less fractions next to these, by which its relations add up to nothing."""
        far = float(np.abs(near).max(initial=0.0))
        small = np.flatnonzero(np.abs(integer_weights) <= 2 * far + 1)
        for parts in _parts(near):
            if not 4 * (far + 1) * parts * max(self._heaviest, float(np.abs(off).max())) < MAX_INTEGER_SUM:
                return None
            less = np.rint(near * parts).astype(np.int64)
            if np.array_equal(self.relations @ less, off * parts):
                table = integer_weights - less / parts
                # Where hardly anything is left, floats would lose digits.
                table[small] = (integer_weights[small].astype(np.int64) * parts - less[small]) / parts
                stuck = np.where(table > 0, self.high == 0, self.low == 0)
                return None if np.any(stuck & (table != 0)) else table
        return None

    @cached_property
    def _heaviest(self) -> float:
        """The most that moves of one can add up to in a relation."""
        return self._sum(1)

    @cached_property
    def tallest(self) -> float:
        """The most that multipliers of one can add up to for a column."""
        return self._sum(0)

    def _sum(self, axis: int) -> float:
        return float(abs(self.relations).sum(axis=axis).max(initial=1))


def _parts(near: FloatArray) -> Iterator[int]:
    """Denominators that all numbers may have in common, if there is so much noise in them, or less, or less.

    Corners of tables are fractions of the bounds they touch, most often simple ones.
    """
    tried = [1]
    yield 1
    far = max(1.0, float(np.abs(near).max(initial=0.0)))
    for noise in INTEGER_NOISE_SHARES:
        parts = 1
        while far * parts < MAX_EXACT_FLOAT_SUM:
            off = np.abs(near * parts - np.rint(near * parts))
            at = int(off.argmax())
            if off[at] <= 2 * noise * far * parts:
                if parts not in tried:
                    tried.append(parts)
                    yield parts
                break
            parts *= _simplest(float(near[at] * parts), noise * far * parts)


def _simplest(number: float, noise: float) -> int:
    """The denominator of the simplest fraction that a number may be but for noise."""
    exact = rest = Fraction(number)
    (p, q), (before_p, before_q) = (1, 0), (0, 1)
    while True:
        integer_weights = math.floor(rest)
        (p, q), (before_p, before_q) = (integer_weights * p + before_p, integer_weights * q + before_q), (p, q)
        if rest == integer_weights or abs(exact - Fraction(p, q)) <= noise:
            return q
        rest = 1 / (rest - integer_weights)


def slacks_in_units(slack: FloatArray, fine: float | None = None) -> tuple[FloatArray, float]:
    """Slacks in whole units, and how many units make one: a power of ten if slacks are round, else of two.

    Computed slacks may miss a round number by rounding error. The deviation of a cell is a sum of slacks, so that a share of
    each makes no larger share of it. Slacks that are not round are cut, never widened; units are then no larger than ``fine``, or
    a tiny share of the smallest slack, if that is possible.
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
    scale = 2.0 ** -math.ceil(
        math.log2(max(fine or float(sizes.min()) * UNIT_SHARE_OF_SMALLEST_SLACK, total / MAX_EXACT_FLOAT_SUM, 1e-300))
    )
    return np.where(finite, np.floor(slack * scale), slack), scale


def integer_weights(relations: sparse.csr_array) -> sparse.csr_array:
    """The same relations with whole weights in lowest terms, where these are not too large; else as they are.

    Weights are read as the simple fractions they were meant as, so that nothing is lost.
    """
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
    smooth = np.flatnonzero(~nonintegral_relations(rows)[_row_of(rows)])
    row_of = _row_of(rows)[smooth]
    starts = np.flatnonzero(np.diff(row_of, prepend=-1))
    divisor = np.gcd.reduceat(rows.data[smooth].astype(np.int64), starts) if len(starts) else np.ones(0)
    rows.data[smooth] /= np.repeat(divisor, np.diff(np.append(starts, len(row_of))))
    return rows


def nonintegral_relations(rows: sparse.csr_array) -> NDArray[np.bool_]:
    """Which relations have weights that are not whole numbers, or large ones."""
    is_rough = (rows.data != np.rint(rows.data)) | (np.abs(rows.data) > MAX_INTEGER_WEIGHT)
    return np.asarray(np.bincount(_row_of(rows)[is_rough], minlength=rows.shape[0]) > 0)


def _row_of(rows: sparse.csr_array) -> IntArray:
    """The relation each weight is in."""
    return np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
