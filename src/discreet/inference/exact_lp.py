"""The linear program of an attacker in exact rational arithmetic: nothing here depends on a solver or on rounding."""

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

DIRECTIONS = (-1, 1)  # down and up, as exact integers


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
    """Relations, each times a multiplier, that together bound the deviation of a cell in one direction.

    For every deviation ``d``, ``sign · d[cell] = Σ remaining[i] · d[i]``, because all relations are zero. That sum cannot
    exceed ``bound``, because every cell stays within its own bounds.
    """

    multipliers: Mapping[int, Fraction]
    remaining: Mapping[int, Fraction]  # uncertain cells only: others do not deviate
    bound: Bound


class ExactProgram:
    """The deviations ``d`` with ``relations @ d == 0`` and ``low <= d <= high``, where ``low <= 0 <= high``.

    Bounds are fractions, or floats, which are read as decimals. Weights of relations are read as simple fractions.
    """

    def __init__(self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound]) -> None:
        slacks = [
            [b if isinstance(b, Fraction) or math.isinf(b) else decimal_fraction(b) for b in side]
            for side in (low, high)
        ]
        # Bounds are stored as integer multiples of 1/unit, which is much faster than fractions; None: no bound.
        self.unit = math.lcm(*{bound.denominator for side in slacks for bound in side if isinstance(bound, Fraction)})
        self.low, self.high = (
            [b.numerator * (self.unit // b.denominator) if isinstance(b, Fraction) else None for b in side]
            for side in slacks
        )
        self._rows, self._columns = sparse.csr_array(relations), sparse.csc_array(relations)
        self._row_weights, self._column_weights = (_weights(matrix.data) for matrix in (self._rows, self._columns))
        self._relations_of: dict[int, list[tuple[int, Rational]]] = {}
        self._multiples: WeakKeyDictionary[ExactDeviation, dict[int, Bound]] = WeakKeyDictionary()

    def relation(self, row: int) -> list[tuple[int, Rational]]:
        """The cells of a relation and their weights."""
        return _entries(self._rows, self._row_weights, row)

    def relations_of(self, cell: int) -> list[tuple[int, Rational]]:
        """The relations of a cell and its weights in them."""
        if cell not in self._relations_of:
            self._relations_of[cell] = _entries(self._columns, self._column_weights, cell)
        return self._relations_of[cell]

    def slack(self, cell: int) -> tuple[Bound, Bound]:
        """The bounds of the deviation of a cell: the lower one is not positive, the upper one not negative."""
        low, high = self.low[cell], self.high[cell]
        return (
            -math.inf if low is None else Fraction(low, self.unit),
            math.inf if high is None else Fraction(high, self.unit),
        )

    def is_uncertain(self, cell: int) -> bool:
        return self.low[cell] != 0 or self.high[cell] != 0

    def violated(self, deviation: ExactDeviation) -> int | None:
        """The first relation that does not hold; None if all hold."""
        sums: defaultdict[int, Rational] = defaultdict(int)
        for cell, numerator in deviation.by_cell.items():
            for row, weight in self.relations_of(cell):
                sums[row] += weight * numerator
        return next((row for row, total in sums.items() if total), None)

    def multiple(self, deviation: ExactDeviation, direction: int = 1) -> Bound:
        """The largest multiple of a deviation, or (``direction`` −1) of its reverse, within all bounds."""
        multiples = self._multiples.setdefault(deviation, {})
        if direction not in multiples:
            slack, amount = -1, 1  # the pair with the least quotient so far; −1: no bound so far
            for cell, numerator in deviation.by_cell.items():
                bound = self.high[cell] if numerator * direction > 0 else self.low[cell]
                if bound is not None and (slack < 0 or abs(bound) * amount < slack * abs(numerator)):
                    slack, amount = abs(bound), abs(numerator)
            multiples[direction] = (
                math.inf if slack < 0 else Fraction(slack * deviation.denominator, amount * self.unit)
            )
        return multiples[direction]

    def reach(self, deviation: ExactDeviation, cell: int, direction: int = 1) -> Bound:
        """The deviation of a cell in the largest multiple: positive if upwards."""
        numerator = direction * deviation.by_cell.get(cell, 0)
        multiple = self.multiple(deviation, direction) if numerator else Fraction(0)
        if isinstance(multiple, float):
            return math.copysign(multiple, numerator)
        return multiple * numerator / deviation.denominator

    def combine(self, cell: int, sign: int, multipliers: Mapping[int, Fraction]) -> Combination:
        """The bound on a cell up (``sign`` 1) or down (−1) from relations times multipliers; any multipliers give a valid one."""
        denominator = math.lcm(*(y.denominator for y in multipliers.values()))
        left: defaultdict[int, Rational] = defaultdict(int, {cell: sign * denominator})
        for row, y in multipliers.items():
            numerator = y.numerator * (denominator // y.denominator)
            for i, weight in self.relation(row):
                left[i] -= numerator * weight
        remaining: dict[int, Fraction] = {}
        total: Rational | None = 0
        for i in sorted(i for i, weight in left.items() if weight and self.is_uncertain(i)):
            weight = left[i]
            # One division, not two, for integers, which most are.
            remaining[i] = Fraction(weight, denominator) if isinstance(weight, int) else weight / denominator
            slack = self.high[i] if left[i] > 0 else self.low[i]
            total = None if slack is None or total is None else total + left[i] * slack
        bound = math.inf if total is None else Fraction(total) / (denominator * self.unit)
        return Combination(dict(multipliers), remaining, bound)


def _weights(data: FloatArray) -> NDArray[np.object_]:
    """Weights as integers if they are integers, else as simple fractions."""
    different, which = np.unique(data, return_inverse=True)
    exact = np.empty(len(different), dtype=object)
    exact[:] = [int(weight) if weight.is_integer() else simple_fraction(weight) for weight in different.tolist()]
    return exact[which]


def _entries(matrix: sparse.sparray, weights: NDArray[np.object_], i: int) -> list[tuple[int, Rational]]:
    begin, end = matrix.indptr[i], matrix.indptr[i + 1]
    return list(zip(matrix.indices[begin:end].tolist(), weights[begin:end].tolist(), strict=True))
