"""The cheapest widths that fulfil all cuts found so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.cuts import as_rows
from discreet.methods.intervals.publication import WidthCut
from discreet.methods.intervals.setting import IntervalSetting
from discreet.solvers import Outcome, new_model

VIOLATED = 1e-6  # bridges that are missed by less, in usual levels, are fulfilled
SMALL = 1e-9  # widths below are none


class WidthMaster:
    """A linear program over widths down and up, and how much each relation can take up, down and up.

    Bridges say that an interval is no wider than the others in each of its relations can make up for: true of some cheapest
    intervals, as a part of an interval that no congruent table reaches costs without protecting anything.
    """

    def __init__(self, setting: IntervalSetting, least: FloatArray, seed: int) -> None:
        self.s = setting
        self.entries = setting.relations.tocoo()
        self.c, self.m = len(setting.cells), setting.relations.shape[0]
        self.padded = np.flatnonzero(setting.floor > 0)
        self.width = 2 * self.c + 2 * self.m + len(self.padded)
        self.low = np.zeros(self.width)
        self.low[: 2 * self.c] = least.ravel()
        self.high = np.r_[setting.cap.ravel(), np.full(self.width - 2 * self.c, np.inf)]
        # Cells with no slack at all may still need an interval, of what everybody knows not to be so.
        pad = setting.weight.min(axis=0)[self.padded]
        self.cost = np.r_[setting.weight.ravel(), np.zeros(2 * self.m), pad]
        rows, low, high = self._frame()
        self.rows, self.row_low, self.row_high = [rows], [low], [high]  # frame and bridges, not cuts
        self.seen = np.zeros((2, len(self.entries.data)), dtype=bool)
        self.bound = setting.constant  # in true units
        self.model = new_model("dual", seed=seed)
        self.model.load(self.cost, self.low, self.high, rows, low, high)
        self.cuts: list[WidthCut] = []
        self.programs = 0

    def _frame(self) -> tuple[sparse.csr_array, FloatArray, FloatArray]:
        """How much relations can take up, and how wide padded intervals are."""
        e, c, m, q = self.entries, self.c, self.m, len(self.padded)
        row, column, weight = [], [], []
        for side in (DOWN, UP):
            goes_up = (e.data > 0) == (side == UP)
            row += [e.row + side * m, np.arange(m) + side * m]
            column += [np.where(goes_up, c, 0) + e.col, 2 * c + side * m + np.arange(m)]
            weight += [np.abs(e.data), -np.ones(m)]
        row += [2 * m + np.arange(q)] * 3
        column += [self.padded, c + self.padded, 2 * c + 2 * m + np.arange(q)]
        weight += [np.ones(q)] * 3
        place = np.concatenate(row), np.concatenate(column)
        rows = sparse.csr_array((np.concatenate(weight), place), shape=(2 * m + q, self.width))
        floor = self.s.floor[self.padded]
        return rows, np.r_[np.zeros(2 * m), floor], np.r_[np.zeros(2 * m), np.full(q, np.inf)]

    def raise_least(self, least: FloatArray) -> None:
        """More cells demand something."""
        columns = np.arange(2 * self.c)
        self.low[columns] = np.maximum(self.low[columns], least.ravel())
        self.model.set_bounds(columns, self.low[columns], self.high[columns])

    def solve(self, seconds: float | None) -> FloatArray | None:
        """The cheapest widths, by side and cell; None if time was up."""
        solution = self.model.solve(seconds)
        self.programs += 1
        if solution.outcome is Outcome.STOPPED:
            return None
        if solution.outcome is Outcome.INFEASIBLE:
            raise NoSafePatternError(
                "No intervals protect all cells at once. Let more cells have intervals, widen the bounds people are said to "
                "know, or lower protection levels, also of cells that need protection only if they get an interval.",
                self.s.problem.table.labels(self.s.problem.primaries),
            )
        if not solution.optimal:
            raise ArithmeticError(f"HiGHS could not solve the linear program over the cuts: {solution.outcome.value}.")
        self.bound = max(self.bound, solution.objective * self.s.price + self.s.constant)
        self.taken = solution.primal[2 * self.c : 2 * self.c + 2 * self.m].reshape(2, -1)
        z = solution.primal[: 2 * self.c].reshape(2, -1)
        return np.where(z < SMALL, 0.0, z)

    def bridge(self, z: FloatArray, share: float) -> int:
        """Add bridges that widths miss by a share of themselves; how many."""
        e = self.entries
        both = z.sum(axis=0)[e.col] * np.abs(e.data)
        up, down = z[UP, e.col], z[DOWN, e.col]
        moving = np.stack([np.where(e.data > 0, up, down), np.where(e.data > 0, down, up)])
        violated = (both - self.taken[:, e.row] > np.maximum(share * both, VIOLATED)) & (moving > SMALL)
        # What is missed in one relation is likely to be missed in the next one, once widths give way.
        cells = np.zeros(self.c, dtype=bool)
        cells[e.col[violated.any(axis=0)]] = True
        # What is suppressed anyway may be as wide as it likes.
        side, at = np.nonzero((cells & ~self.s.settled)[e.col] & ~self.seen)
        if not violated.any() or not len(at):
            return 0
        self.seen[side, at] = True
        k, weight = len(at), np.abs(e.data[at])
        column = np.concatenate([e.col[at], self.c + e.col[at], 2 * self.c + side * self.m + e.row[at]])
        place = np.tile(np.arange(k), 3), column
        rows = sparse.csr_array((np.concatenate([weight, weight, -np.ones(k)]), place), shape=(k, self.width))
        self.rows.append(rows)
        self.row_low.append(np.full(k, -np.inf))
        self.row_high.append(np.zeros(k))
        self.model.add_rows(rows, self.row_low[-1], self.row_high[-1])
        return k

    def add(self, cuts: Sequence[WidthCut]) -> None:
        if cuts:
            rows, least = as_rows(cuts, self.width)
            contributed = np.array([cut.amount.sum() for cut in cuts])
            self.model.add_rows(rows, least - contributed, np.full(len(cuts), np.inf))
            self.cuts += cuts
