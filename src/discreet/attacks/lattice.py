"""Congruent tables of integers, in units of the last published digit: all of them, or those next to drawn tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ExactIntervals, ReducedSystem
from discreet.attacks.public import Public

SMALLEST_PIVOT = 1e-9  # entries of relations are integers or simple fractions; smaller numbers are rounding errors
INTEGRALITY_TOLERANCE = 1e-6  # distance from an integer up to which a computed number is taken to be that integer
MAX_ENUMERATED_NUMBERS = 5_000_000  # cells times tables in memory at once while tables are enumerated: 40 MB


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """The unknown cells, in units of the last digit, as affine functions of a few free cells: ``constant + slopes @ z``.

    Every congruent table of integers has integer free cells, so enumerating those finds all tables. With weights other than
    ±1 some combinations lead to fractions in other cells; these are dropped.
    """

    unit: float
    digits: int
    free: IntArray  # positions among the unknown cells, narrowest intervals first
    constant: FloatArray
    slopes: FloatArray  # (cell, free cell)
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, public: Public, intervals: ExactIntervals) -> Lattice | None:
        """None if values have no last digit, or if a cell is unbounded."""
        system = ReducedSystem.of(public)
        digits = 0 if public.is_integer else system.digits
        if digits is None or not np.all(np.isfinite(intervals.lower) & np.isfinite(intervals.upper)):
            return None
        unit = 10.0**-digits
        low = np.ceil(intervals.lower / unit - INTEGRALITY_TOLERANCE)
        high = np.floor(intervals.upper / unit + INTEGRALITY_TOLERANCE)
        # Cells with wide intervals are solved for, so that the free cells have few values to enumerate.
        order = np.argsort(low - high, kind="stable")
        pivots, constant, slopes = _echelon_form(system.rows.toarray()[:, order], system.rhs / unit)
        free = np.setdiff1d(np.arange(len(order)), pivots)[::-1]
        all_slopes = np.zeros((len(order), len(free)))
        all_slopes[order[free], np.arange(len(free))] = 1.0
        all_slopes[order[pivots]] = -slopes[:, free]
        start = np.zeros(len(order))
        start[order[pivots]] = constant
        return cls(unit, digits, order[free], start, all_slopes, low, high)

    def tables(self, maximum: int) -> FloatArray | None:
        """The unknown cells of all tables, one row per table; None if there may be more than ``maximum``."""
        found = self.constant[None, :]
        ends = np.stack([self.low[self.free], self.high[self.free]])
        steps = np.sort(self.slopes * ends[:, None, :], axis=0)  # smallest and largest addend of each free cell
        remaining = np.cumsum(steps[:, :, ::-1], axis=2)[:, :, ::-1]
        for k in range(len(self.free)):
            if len(found) * (ends[1, k] - ends[0, k] + 1) * len(self.low) > MAX_ENUMERATED_NUMBERS:
                return None
            values = np.arange(ends[0, k], ends[1, k] + 1)
            found = (found[:, None, :] + values[None, :, None] * self.slopes[:, k]).reshape(-1, len(self.low))
            least, greatest = remaining[:, :, k + 1] if k + 1 < len(self.free) else np.zeros((2, len(self.low)))
            possible = found + least <= self.high + INTEGRALITY_TOLERANCE
            possible &= found + greatest >= self.low - INTEGRALITY_TOLERANCE
            found = found[possible.all(axis=1)]
        found = found[self._is_valid(found)]
        return None if len(found) > maximum else self._in_original_unit(found)

    def rounded(self, drawn: FloatArray) -> tuple[FloatArray, IntArray]:
        """Tables of integers next to drawn ones, and the draws that have one."""
        found = self.constant + np.rint(drawn[:, self.free] / self.unit) @ self.slopes.T
        valid = np.flatnonzero(self._is_valid(found))
        return self._in_original_unit(found[valid]), valid

    def _is_valid(self, found: FloatArray) -> BoolArray:
        valid = np.abs(found - np.rint(found)) <= INTEGRALITY_TOLERANCE
        valid &= (found >= self.low - INTEGRALITY_TOLERANCE) & (found <= self.high + INTEGRALITY_TOLERANCE)
        return np.asarray(valid.all(axis=1))

    def _in_original_unit(self, found: FloatArray) -> FloatArray:
        return np.round(np.rint(found) * self.unit, self.digits)


def _echelon_form(rows: FloatArray, rhs: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Reduced row echelon form: pivot columns, and ``x[pivots] + slopes @ x == constant`` with zero slopes of pivots."""
    matrix = np.column_stack([rows, rhs]).astype(float)
    pivots: list[int] = []
    for column in range(rows.shape[1]):
        done = len(pivots)
        if done == len(matrix):
            break
        entries = np.abs(matrix[done:, column])
        # A pivot of 1 keeps integers integral.
        best = int(np.argmin(np.where(entries > SMALLEST_PIVOT, np.abs(entries - 1.0), np.inf)))
        if entries[best] <= SMALLEST_PIVOT:
            continue
        matrix[[done, done + best]] = matrix[[done + best, done]]
        matrix[done] /= matrix[done, column]
        others = np.flatnonzero(np.abs(matrix[:, column]) > SMALLEST_PIVOT)
        others = others[others != done]
        matrix[others] -= np.outer(matrix[others, column], matrix[done])
        pivots.append(column)
    at = np.array(pivots, dtype=np.int64)
    slopes = matrix[: len(at), :-1].copy()
    slopes[:, at] = 0.0
    slopes[np.abs(slopes) <= SMALLEST_PIVOT] = 0.0
    return at, matrix[: len(at), -1], slopes
