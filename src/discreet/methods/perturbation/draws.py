"""Changes of sensitive cells, drawn from the secret so that readers cannot infer true values from published ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.guesses import CENTRAL_HALF_WIDTH, HIT_RELATIVE_ERROR
from discreet.methods.core.cuts import Cut
from discreet.methods.intervals.positions import drawn_place
from discreet.methods.perturbation.master import TableMaster
from discreet.methods.perturbation.windows import Windows
from discreet.progress import Budget

MAX_CELLS_DRAWN_AGAIN = 500  # because two linear programs are solved for each of them
MAX_DRAWS_PER_CELL = 20  # to find a change that is not close to 0
RANGE_TOLERANCE = 1e-6  # of a unit: error of the ranges that a solver finds


@dataclass(frozen=True, eq=False)
class Draws:
    """Random changes of the sensitive cells, in units.

    Readers know the largest distance of a value from the published one. The published value is drawn like the position of an
    interval: the true value is near the middle no more often than elsewhere. Changes by exactly a level are as likely as if all
    changes within reach were equally likely. Relations leave some cells no choice; the others are never drawn within 1 % of the
    true value.
    """

    windows: Windows
    rng: np.random.Generator

    @property
    def cells(self) -> IntArray:
        return self.windows.problem.primaries

    def all(self) -> FloatArray:
        """A change of each sensitive cell within its window; the changes need not be congruent."""
        return self.within(self.cells, self.windows.low[self.cells], self.windows.high[self.cells])

    def in_the_middle(self, change: FloatArray | IntArray) -> BoolArray:
        """Which sensitive cells are published close to their values."""
        return np.asarray(np.abs(change[self.cells]) < self._middle(self.cells))

    def again(self, wanted: FloatArray, found: IntArray, cuts: list[Cut], budget: Budget) -> FloatArray:
        """New changes of cells whose congruent change is not the wanted one, drawn from the range that all others leave."""
        chosen = found[self.cells].astype(float)
        differing = np.flatnonzero(chosen != wanted[self.cells])
        low, high = self.windows.low.copy(), self.windows.high.copy()
        kept = np.delete(self.cells, differing)
        low[kept] = high[kept] = found[kept]
        ranges = _Ranges(self.windows.within(low, high), cuts)
        middle = self.in_the_middle(found)[differing]
        order = self.rng.permutation(len(differing))
        order = order[np.argsort(~middle[order], kind="stable")]
        for i in differing[order[:MAX_CELLS_DRAWN_AGAIN]].tolist():
            cell = self.cells[i]
            ends = None if budget.over else ranges.of(cell)
            if ends is None:
                break
            chosen[i] = self.within(np.array([cell]), np.array([ends[0]]), np.array([ends[1]]))[0]
            ranges.fix(cell, chosen[i])
        return chosen

    def within(self, cells: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """A change of each of these cells, from ``low`` to ``high``."""
        reach, middle = self._reach(cells), self._middle(cells)
        close = HIT_RELATIVE_ERROR * np.abs(self.windows.problem.table.value[cells]) / self.windows.unit
        down, up = (level[cells] / self.windows.unit for level in self.windows.problem.strictest[:2])
        uniform = (high - low + 1) / (2 * reach + 1)
        change = np.zeros(len(cells))
        again = np.arange(len(cells))
        for _ in range(MAX_DRAWS_PER_CELL):
            chance, other, kept = self.rng.random((3, len(again)))
            levels = (reach - high)[again], (reach + low)[again]
            change[again] = reach[again] - drawn_place(chance, other, 2 * reach[again], levels, middle[again], 1.0)
            at_level = np.minimum(np.abs(change - up), np.abs(change + down))[again] <= close[again]
            again = again[(np.abs(change[again]) <= close[again]) | (at_level & (kept > uniform[again]))]
        return change

    def _reach(self, cells: IntArray) -> FloatArray:
        """The largest change of a published value, regardless of levels."""
        reach = np.floor(self.windows.half_width(self.windows.problem.table.value)[cells] / self.windows.unit)
        return np.asarray(np.maximum.reduce([reach, self.windows.high[cells], -self.windows.low[cells]]))

    def _middle(self, cells: IntArray) -> FloatArray:
        """The largest change that counts as close to the true value."""
        size = np.abs(self.windows.problem.table.value[cells]) / self.windows.unit
        return np.asarray(np.maximum(CENTRAL_HALF_WIDTH * 2 * self._reach(cells), HIT_RELATIVE_ERROR * size))


class _Ranges:
    """The range of changes of each cell in congruent tables."""

    def __init__(self, windows: Windows, cuts: list[Cut]) -> None:
        self.master = TableMaster(windows, np.zeros(len(windows.low)), plain=True)
        self.master.add(cuts)
        self.place = {int(cell): k for k, cell in enumerate(self.master.cells)}

    def of(self, cell: int) -> tuple[float, float] | None:
        """The least and the largest change in integer units; None if the solver finds none."""
        k, n = self.place[cell], self.master.n
        columns = np.array([k, k + n])
        ends = []
        for sign in (1.0, -1.0):
            self.master.model.set_cost(columns, np.array([sign, -sign]))
            solution = self.master.model.solve()
            if not solution.optimal:
                return None
            ends.append((solution.primal[k] - solution.primal[k + n]) * self.master.scale)
        self.master.model.set_cost(columns, np.zeros(2))
        low, high = np.ceil(ends[0] - RANGE_TOLERANCE), np.floor(ends[1] + RANGE_TOLERANCE)
        return (low, high) if low <= high else None

    def fix(self, cell: int, change: float) -> None:
        """Fix the change of a cell."""
        k, n = self.place[cell], self.master.n
        at = np.array([max(change, 0.0), max(-change, 0.0)]) / self.master.scale
        self.master.model.set_bounds(np.array([k, k + n]), at, at)
