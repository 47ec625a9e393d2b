"""The cheapest widths that satisfy all cuts found so far."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray
from discreet.methods.core.blocks import BlockProgram
from discreet.methods.core.cuts import as_rows
from discreet.methods.intervals.publication import WidthCut
from discreet.methods.intervals.setting import IntervalSetting, no_safe_intervals
from discreet.solvers import Outcome

BRIDGELESS_TOLERANCE = 1e-6  # in median levels: inequalities violated by less are satisfied, solvers are not more exact
LEAST_WIDTH = 1e-9  # in median levels: smaller widths are rounding errors of the solver


class WidthMaster(BlockProgram):
    """A linear program whose columns are widths down and up, and how much each relation can deviate down and up.

    A bridgeless inequality says that an interval is no wider than the others in one of its relations can compensate. Some
    cheapest intervals satisfy all of them: a part of an interval that no congruent table reaches costs something and protects
    nothing.
    """

    def __init__(self, setting: IntervalSetting, least: FloatArray, seed: int) -> None:
        super().__init__()
        self.s, relations = setting, setting.relations
        self.entries = relations.tocoo()
        self.c, self.m = c, m = len(setting.cells), relations.shape[0]
        # Cells without slack may still need an interval: it contains values that all readers know to be impossible.
        padded = np.flatnonzero(setting.floor > 0)
        q = len(padded)
        self.lower = np.r_[least.ravel(), np.zeros(2 * m + q)]
        self.upper = np.r_[setting.cap.ravel(), np.full(2 * m + q, np.inf)]
        self.cost = np.r_[setting.weight.ravel(), np.zeros(2 * m), setting.weight.min(axis=0)[padded]]
        self.columns(self.lower, self.upper, self.cost)
        for side in (DOWN, UP):
            total = (2 * c + side * m, -sparse.eye_array(m, format="csr"))
            self.rows([(side * c, relations.maximum(0)), ((1 - side) * c, (-relations).maximum(0)), total], 0.0, 0.0)
        pads = sparse.eye_array(c, format="csr")[padded]
        self.rows([(0, pads), (c, pads), (2 * c + 2 * m, sparse.eye_array(q))], setting.floor[padded])
        self.load(seed)
        self.cuts: list[WidthCut] = []
        self.has_inequality = np.zeros((2, len(self.entries.data)), dtype=bool)  # by side and entry
        self.bound = setting.constant  # in true units
        self.programs = 0

    def raise_least(self, least: FloatArray) -> None:
        """Further requirements make some intervals wider."""
        columns = np.arange(2 * self.c)
        self.lower[columns] = np.maximum(self.lower[columns], least.ravel())
        self.model.set_bounds(columns, self.lower[columns], self.upper[columns])

    def solve(self, seconds: float | None) -> FloatArray | None:
        """The cheapest widths, down and up per cell; None if the time limit ended the search."""
        solution = self.model.solve(seconds)
        self.programs += 1
        if solution.outcome is Outcome.STOPPED:
            return None
        if solution.outcome is Outcome.INFEASIBLE:
            raise no_safe_intervals(self.s)
        if not solution.optimal:
            raise ArithmeticError(f"The program over the cuts of widths could not be solved: {solution.outcome.value}.")
        self.bound = max(self.bound, solution.objective * self.s.price + self.s.constant)
        self.total = solution.primal[2 * self.c : 2 * self.c + 2 * self.m].reshape(2, -1)
        z = solution.primal[: 2 * self.c].reshape(2, -1)
        return np.where(z < LEAST_WIDTH, 0.0, z)

    def add_bridgeless(self, z: FloatArray, share: float) -> int:
        """Add bridgeless inequalities that widths violate by more than a share of the width. Returns their number."""
        e = self.entries
        both = z.sum(axis=0)[e.col] * np.abs(e.data)
        up, down = z[UP, e.col], z[DOWN, e.col]
        wide = np.stack([np.where(e.data > 0, up, down), np.where(e.data > 0, down, up)])
        tolerance = np.maximum(share * both, BRIDGELESS_TOLERANCE)
        violated = (both - self.total[:, e.row] > tolerance) & (wide > LEAST_WIDTH)
        # A cell that violates the inequality of one relation is likely to violate that of another once widths change.
        cells = np.zeros(self.c, dtype=bool)
        cells[e.col[violated.any(axis=0)]] = True
        # Widths of settled cells cost nothing.
        side, at = np.nonzero((cells & ~self.s.settled)[e.col] & ~self.has_inequality)
        if not violated.any() or not len(at):
            return 0
        self.has_inequality[side, at] = True
        k, row = len(at), np.arange(len(at))
        width = sparse.csr_array((np.abs(e.data[at]), (row, e.col[at])), shape=(k, self.c))
        total = sparse.csr_array((-np.ones(k), (row, side * self.m + e.row[at])), shape=(k, 2 * self.m))
        self.rows([(0, width), (self.c, width), (2 * self.c, total)], most=0.0)
        return k

    def add(self, cuts: Sequence[WidthCut]) -> None:
        if cuts:
            rows, least = as_rows(cuts, self.width)
            contributed = np.array([cut.amount.sum() for cut in cuts])
            self.model.add_rows(rows, least - contributed, np.full(len(cuts), np.inf))
            self.cuts += cuts
