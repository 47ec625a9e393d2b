"""Changes of sensitive cells, drawn from the secret so that published values do not give true ones away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.guesses import CENTRAL_HALF_WIDTH, HIT_RELATIVE_ERROR
from discreet.methods.core.cuts import Cut
from discreet.methods.intervals.positions import drawn_place
from discreet.methods.perturbation.announcement import strictest
from discreet.methods.perturbation.master import TableMaster
from discreet.methods.perturbation.windows import Windows
from discreet.progress import Budget

MOST_DRAWN_AGAIN = 500  # cells for which two programs each are solved
TRIES = 20  # to draw a change that is not close to 0
TOLERANCE = 1e-6  # of a unit, in ranges that a solver finds


@dataclass(frozen=True, eq=False)
class Draws:
    """Random changes of the sensitive cells, in units.

    Readers are told that a value is at most so far from the published one. The published one is drawn like the position of an
    interval: the true value is near the middle no oftener than anywhere else in it. The same holds for values at value ± level,
    which are kept as often as if all values within reach were equally likely. As sums leave some cells no choice, those that
    have one are never drawn within 1 % of the true value.
    """

    windows: Windows
    rng: np.random.Generator

    @property
    def cells(self) -> IntArray:
        return self.windows.problem.primaries

    def all(self) -> FloatArray:
        """A change of each sensitive cell within its window; they need not add up."""
        return self.within(self.cells, self.windows.low[self.cells], self.windows.high[self.cells])

    def in_the_middle(self, change: FloatArray | IntArray) -> BoolArray:
        """Sensitive cells that are published next to their values."""
        return np.asarray(np.abs(change[self.cells]) < self._middle(self.cells))

    def again(self, wanted: FloatArray, found: IntArray, cuts: list[Cut], budget: Budget) -> FloatArray:
        """Where changes that add up are not those wanted, new ones, each from what all others leave it."""
        chosen = found[self.cells].astype(float)
        moved = np.flatnonzero(chosen != wanted[self.cells])
        low, high = self.windows.low.copy(), self.windows.high.copy()
        kept = np.delete(self.cells, moved)
        low[kept] = high[kept] = found[kept]
        ranges = _Ranges(self.windows.within(low, high), cuts)
        middle = self.in_the_middle(found)[moved]
        order = self.rng.permutation(len(moved))
        order = order[np.argsort(~middle[order], kind="stable")]
        for i in moved[order[:MOST_DRAWN_AGAIN]].tolist():
            cell = self.cells[i]
            left = None if budget.over else ranges.of(cell)
            if left is None:
                break
            chosen[i] = self.within(np.array([cell]), np.array([left[0]]), np.array([left[1]]))[0]
            ranges.fix(cell, chosen[i])
        return chosen

    def within(self, cells: IntArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """A change of each of these cells, from ``low`` to ``high``."""
        far, middle = self._far(cells), self._middle(cells)
        close = HIT_RELATIVE_ERROR * np.abs(self.windows.problem.table.value[cells]) / self.windows.unit
        down, up = (level[cells] / self.windows.unit for level in strictest(self.windows.problem))
        uniform = (high - low + 1) / (2 * far + 1)
        change = np.zeros(len(cells))
        again = np.arange(len(cells))
        for _ in range(TRIES):
            chance, other, kept = self.rng.random((3, len(again)))
            levels = (far - high)[again], (far + low)[again]
            change[again] = far[again] - drawn_place(chance, other, 2 * far[again], levels, middle[again], 1.0)
            at_level = np.minimum(np.abs(change - up), np.abs(change + down))[again] <= close[again]
            again = again[(np.abs(change[again]) <= close[again]) | (at_level & (kept > uniform[again]))]
        return change

    def _far(self, cells: IntArray) -> FloatArray:
        """How far from the true value one may be published, levels aside."""
        reach = np.floor(self.windows.half_width(self.windows.problem.table.value)[cells] / self.windows.unit)
        return np.asarray(np.maximum.reduce([reach, self.windows.high[cells], -self.windows.low[cells]]))

    def _middle(self, cells: IntArray) -> FloatArray:
        size = np.abs(self.windows.problem.table.value[cells]) / self.windows.unit
        return np.asarray(np.maximum(CENTRAL_HALF_WIDTH * 2 * self._far(cells), HIT_RELATIVE_ERROR * size))


class _Ranges:
    """How far each cell can change while tables add up."""

    def __init__(self, windows: Windows, cuts: list[Cut]) -> None:
        self.master = TableMaster(windows, np.zeros(len(windows.low)), plain=True)
        self.master.add(cuts)
        self.place = {int(cell): k for k, cell in enumerate(self.master.cells)}

    def of(self, cell: int) -> tuple[float, float] | None:
        """The least and the largest change in whole units; None if a solver finds none."""
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
        low, high = np.ceil(ends[0] - TOLERANCE), np.floor(ends[1] + TOLERANCE)
        return (low, high) if low <= high else None

    def fix(self, cell: int, change: float) -> None:
        k, n = self.place[cell], self.master.n
        at = np.array([max(change, 0.0), max(-change, 0.0)]) / self.master.scale
        self.master.model.set_bounds(np.array([k, k + n]), at, at)
