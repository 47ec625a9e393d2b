"""What an attacker can infer, in exact rational arithmetic: nothing here rests on a solver or on rounding."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.inference.exact_numbers import Bound, Rational, decimal_fraction, simple_fraction


@dataclass(frozen=True, eq=False, repr=False)
class ExactDeviation:
    """A congruent table minus the true one: cell ``cells[k]`` deviates by exactly ``numerators[k] / denominator``."""

    cells: tuple[int, ...]
    numerators: tuple[int, ...]
    denominator: int

    @classmethod
    def of(cls, amounts: Mapping[int, Rational], denominator: int = 1) -> ExactDeviation:
        """The deviation with these amounts by cell, in units of 1/denominator; cells in order, fractions in lowest terms."""
        amounts = {cell: amounts[cell] for cell in sorted(amounts) if amounts[cell]}
        finer = math.lcm(*(amount.denominator for amount in amounts.values()))
        integers = [amount.numerator * (finer // amount.denominator) for amount in amounts.values()]
        common = math.gcd(denominator * finer, *integers)
        return cls(tuple(amounts), tuple(integer // common for integer in integers), denominator * finer // common)

    @cached_property
    def by_cell(self) -> dict[int, int]:
        """The numerator of each cell that deviates."""
        return dict(zip(self.cells, self.numerators, strict=True))


@dataclass(frozen=True, repr=False)
class Combination:
    """Relations, each times a multiplier, which together bound how far a cell goes in one direction.

    For every congruent difference ``d``, ``sign · d[cell] = Σ remaining[i] · d[i]``, because relations add up to nothing,
    and that sum cannot exceed ``bound``, because every cell keeps its own bounds.
    """

    multipliers: Mapping[int, Fraction]
    remaining: Mapping[int, Fraction]  # uncertain cells only: the others do not move
    bound: Bound


class ExactProgram:
    """The differences from the true table that an attacker cannot rule out.

    ``relations @ d == 0`` and ``low <= d <= high``, with ``low <= 0 <= high``. Bounds are fractions, or floats, which are
    read as decimals; weights in relations are read as simple fractions.
    """

    def __init__(self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound]) -> None:
        slacks = [
            [b if isinstance(b, Fraction) or math.isinf(b) else decimal_fraction(b) for b in side]
            for side in (low, high)
        ]
        # Bounds are held as whole multiples of 1/unit, which is much faster than fractions; None: no bound.
        self.unit = math.lcm(*{bound.denominator for side in slacks for bound in side if isinstance(bound, Fraction)})
        self.low, self.high = ([_whole(bound, self.unit) for bound in side] for side in slacks)
        self._rows, self._columns = sparse.csr_array(relations), sparse.csc_array(relations)
        self._row_weights, self._column_weights = (_weights(part.data) for part in (self._rows, self._columns))
        self._seen: dict[int, list[tuple[int, Rational]]] = {}
        self._fits: WeakKeyDictionary[ExactDeviation, dict[int, Bound]] = WeakKeyDictionary()

    def relation(self, row: int) -> list[tuple[int, Rational]]:
        """The cells of a relation and their weights."""
        return _entries(self._rows, self._row_weights, row)

    def relations_of(self, cell: int) -> list[tuple[int, Rational]]:
        """The relations a cell is in and its weights in them."""
        if cell not in self._seen:
            self._seen[cell] = _entries(self._columns, self._column_weights, cell)
        return self._seen[cell]

    def slack(self, cell: int) -> tuple[Bound, Bound]:
        """How far a cell may move down (a negative number) and up."""
        low, high = self.low[cell], self.high[cell]
        return (
            -math.inf if low is None else Fraction(low, self.unit),
            math.inf if high is None else Fraction(high, self.unit),
        )

    def is_uncertain(self, cell: int) -> bool:
        return self.low[cell] != 0 or self.high[cell] != 0

    def violated(self, difference: ExactDeviation) -> int | None:
        """A relation that does not hold; None if all do."""
        sums: defaultdict[int, Rational] = defaultdict(int)
        for cell, move in difference.by_cell.items():
            for row, weight in self.relations_of(cell):
                sums[row] += weight * move
        return next((row for row, total in sums.items() if total), None)

    def multiple(self, difference: ExactDeviation, way: int = 1) -> Bound:
        """The largest multiple of the difference, or (``way`` −1) of its reverse, that keeps all bounds."""
        fits = self._fits.setdefault(difference, {})
        if way not in fits:
            least, share = -1, 1  # the least slack for its move so far, as least/unit for share/over; −1: no bound yet
            for cell, move in difference.by_cell.items():
                slack = self.high[cell] if move * way > 0 else self.low[cell]
                if slack is not None and (least < 0 or abs(slack) * share < least * abs(move)):
                    least, share = abs(slack), abs(move)
            fits[way] = math.inf if least < 0 else Fraction(least * difference.denominator, share * self.unit)
        return fits[way]

    def reach(self, difference: ExactDeviation, cell: int, way: int = 1) -> Bound:
        """How far the largest multiple moves a cell: up if positive."""
        move = way * difference.by_cell.get(cell, 0)
        multiple = self.multiple(difference, way) if move else Fraction(0)
        return (
            math.copysign(multiple, move) if isinstance(multiple, float) else multiple * move / difference.denominator
        )

    def combine(self, cell: int, sign: int, multipliers: Mapping[int, Fraction]) -> Combination:
        """What relations times multipliers say about a cell's way up (``sign`` 1) or down (−1).

        Whatever the multipliers, the bound holds; good ones give a good one.
        """
        over = math.lcm(*(y.denominator for y in multipliers.values()))
        left: defaultdict[int, Rational] = defaultdict(int, {cell: sign * over})
        for row, y in multipliers.items():
            times = y.numerator * (over // y.denominator)
            for i, weight in self.relation(row):
                left[i] -= times * weight
        remaining: dict[int, Fraction] = {}
        most: Rational | None = 0
        for i in sorted(i for i, weight in left.items() if weight and self.is_uncertain(i)):
            remaining[i] = Fraction(left[i]) / over
            slack = self.high[i] if left[i] > 0 else self.low[i]
            most = None if slack is None or most is None else most + left[i] * slack
        bound = math.inf if most is None else Fraction(most) / (over * self.unit)
        return Combination(dict(multipliers), remaining, bound)


def _whole(bound: Bound, unit: int) -> int | None:
    return bound.numerator * (unit // bound.denominator) if isinstance(bound, Fraction) else None


def _weights(data: FloatArray) -> NDArray[np.object_]:
    """Weights as whole numbers where they are, else as fractions."""
    different, which = np.unique(data, return_inverse=True)
    exact = np.empty(len(different), dtype=object)
    exact[:] = [int(weight) if weight.is_integer() else simple_fraction(weight) for weight in different.tolist()]
    return exact[which]


def _entries(matrix: sparse.sparray, weights: NDArray[np.object_], i: int) -> list[tuple[int, Rational]]:
    begin, end = matrix.indptr[i], matrix.indptr[i + 1]
    return list(zip(matrix.indices[begin:end].tolist(), weights[begin:end].tolist(), strict=True))
