"""Whole tables that agree with a public view: all of them, or those next to drawn ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attacks.exact import ExactIntervals, ReducedSystem
from discreet.attacks.public import Public

NOTHING = 1e-9  # entries below this are float noise of the elimination
WHOLE = 1e-6  # how far from a whole number a number may be and still be meant as one
LARGEST = 5_000_000  # numbers held at once while tables are listed: 40 MB


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """The unknown cells, in units of the last digit, as affine functions of a few free ones: ``constant + slopes @ z``.

    Every whole table that agrees has whole free cells, so all of them are found by going through those; where weights are
    not ±1, some combinations lead to cells that are not whole, and are dropped.
    """

    unit: float
    digits: int
    free: IntArray  # places among the unknown cells, narrowest ranges first
    constant: FloatArray
    slopes: FloatArray  # (cell, free cell)
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, public: Public, seen: ExactIntervals) -> Lattice | None:
        """None where values have no last digit, or cells may be without end."""
        system = ReducedSystem.of(public)
        digits = 0 if public.whole else system.digits
        if digits is None or not np.all(np.isfinite(seen.lower) & np.isfinite(seen.upper)):
            return None
        unit = 10.0**-digits
        low, high = np.ceil(seen.lower / unit - WHOLE), np.floor(seen.upper / unit + WHOLE)
        # Wide cells follow from narrow ones, so that few values of each are to be gone through.
        order = np.argsort(low - high, kind="stable")
        pivots, constant, slopes = _solved(system.rows.toarray()[:, order], system.rhs / unit)
        free = np.setdiff1d(np.arange(len(order)), pivots)[::-1]
        every = np.zeros((len(order), len(free)))
        every[order[free], np.arange(len(free))] = 1.0
        every[order[pivots]] = -slopes[:, free]
        start = np.zeros(len(order))
        start[order[pivots]] = constant
        return cls(unit, digits, order[free], start, every, low, high)

    def tables(self, most: int) -> FloatArray | None:
        """All whole tables, one row each with the unknown cells; None if there may be more than ``most``."""
        found = self.constant[None, :]
        ends = np.stack([self.low[self.free], self.high[self.free]])
        steps = np.sort(self.slopes * ends[:, None, :], axis=0)  # least and most that each free cell adds
        left = np.cumsum(steps[:, :, ::-1], axis=2)[:, :, ::-1]
        for k in range(len(self.free)):
            if len(found) * (ends[1, k] - ends[0, k] + 1) * len(self.low) > LARGEST:
                return None
            values = np.arange(ends[0, k], ends[1, k] + 1)
            found = (found[:, None, :] + values[None, :, None] * self.slopes[:, k]).reshape(-1, len(self.low))
            least, greatest = (left[:, :, k + 1] if k + 1 < len(self.free) else np.zeros((2, len(self.low)))) + 0.0
            possible = (found + least <= self.high + WHOLE) & (found + greatest >= self.low - WHOLE)
            found = found[possible.all(axis=1)]
        found = found[self._fits(found)]
        return None if len(found) > most else self._written(found)

    def near(self, drawn: FloatArray) -> tuple[FloatArray, IntArray]:
        """Whole tables next to drawn ones, and which draws have one."""
        whole = np.rint(drawn[:, self.free] / self.unit)
        found = self.constant + whole @ self.slopes.T
        fits = np.flatnonzero(self._fits(found))
        return self._written(found[fits]), fits

    def _fits(self, found: FloatArray) -> BoolArray:
        whole = np.abs(found - np.rint(found)) <= WHOLE
        return np.asarray((whole & (found >= self.low - WHOLE) & (found <= self.high + WHOLE)).all(axis=1))

    def _written(self, found: FloatArray) -> FloatArray:
        return np.round(np.rint(found) * self.unit, self.digits)


def _solved(rows: FloatArray, rhs: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Reduced echelon form: which columns follow from the others, and ``x[pivots] + slopes @ x == constant`` without those."""
    matrix = np.column_stack([rows, rhs]).astype(float)
    pivots: list[int] = []
    for column in range(rows.shape[1]):
        done = len(pivots)
        if done == len(matrix):
            break
        entries = np.abs(matrix[done:, column])
        # A weight of 1 keeps whole numbers whole.
        best = int(np.argmin(np.where(entries > NOTHING, np.abs(entries - 1.0), np.inf)))
        if entries[best] <= NOTHING:
            continue
        matrix[[done, done + best]] = matrix[[done + best, done]]
        matrix[done] /= matrix[done, column]
        others = np.flatnonzero(np.abs(matrix[:, column]) > NOTHING)
        others = others[others != done]
        matrix[others] -= np.outer(matrix[others, column], matrix[done])
        pivots.append(column)
    at = np.array(pivots, dtype=np.int64)
    slopes = matrix[: len(at), :-1].copy()
    slopes[:, at] = 0.0
    slopes[np.abs(slopes) <= NOTHING] = 0.0
    return at, matrix[: len(at), -1], slopes
