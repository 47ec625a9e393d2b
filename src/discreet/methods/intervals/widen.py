"""The least that intervals must be widened by to meet one more demand."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.methods.core.requirements import Requirement
from discreet.methods.intervals.setting import IntervalSetting
from discreet.solvers import new_model

NEAR = 800  # cells around the demanding one that are tried first
ROAM = 1e-3  # of its weight a cell is charged where it moves within its interval, so that moves stay short
STILL = 1e-10  # moves below this share of the level are numerical noise
AMPLE = 1e6  # this many levels of slack are as good as endless


class Widener:
    """Against one attacker: moves within intervals are nearly free, beyond them they cost what widening costs."""

    def __init__(self, setting: IntervalSetting, number: int, seed: int) -> None:
        self.settled, self.weight, self.seed = setting.settled, setting.weight, seed
        self.slack = setting.slacks[number]
        self.relations = setting.relations
        self.by_column = self.relations.tocsc()

    def reach(self, z: FloatArray, requirement: Requirement) -> FloatArray | None:
        """How far cells go, by side, where the demand is met at the least cost beyond these widths; None if it cannot be met."""
        for cells in self._circles(requirement.cell):
            found = self._reach(z, requirement, cells)
            if found is not None:
                return found
        return None

    def _circles(self, cell: int) -> list[IntArray]:
        """The cells around the demanding one, and then all."""
        everything = np.arange(self.relations.shape[1])
        if len(everything) <= NEAR:
            return [everything]
        near = np.array([cell])
        while len(near) <= NEAR:
            rows = np.unique(np.concatenate([self._rows(i) for i in near.tolist()]))
            wider = np.unique(self.relations[rows].indices) if len(rows) else near
            if len(wider) == len(near):
                break
            near = wider
        return [near, everything] if len(near) < len(everything) else [everything]

    def _rows(self, cell: int) -> IntArray:
        return np.asarray(self.by_column.indices[self.by_column.indptr[cell] : self.by_column.indptr[cell + 1]])

    def _reach(self, z: FloatArray, requirement: Requirement, cells: IntArray) -> FloatArray | None:
        n, at, sides = len(cells), int(np.searchsorted(cells, requirement.cell)), len(requirement.sides)
        slack = np.minimum(self.slack[:, cells] / requirement.level, AMPLE)
        inside = np.where(self.settled[cells], slack, np.minimum(z[:, cells] / requirement.level, slack))
        rows = sparse.csr_array(self.relations[:, cells])
        rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
        # For each side four blocks of columns: up within the interval and beyond, then down.
        both = sparse.csr_array(sparse.hstack([rows, rows, -rows, -rows]))
        most = np.concatenate([inside[UP], (slack - inside)[UP], inside[DOWN], (slack - inside)[DOWN]])
        weight = self.weight[:, cells]
        cost = np.concatenate([ROAM * weight[UP], weight[UP], ROAM * weight[DOWN], weight[DOWN]])
        own = np.zeros((1, 4 * n * sides))
        for k, side in enumerate(requirement.sides):
            first = 4 * n * k + (0 if side == UP else 2 * n)
            own[0, [first + at, first + n + at]] = 1.0
        blocks = sparse.block_diag([both] * sides) if rows.shape[0] else sparse.csr_array((0, 4 * n * sides))
        program = sparse.csr_array(sparse.vstack([blocks, sparse.csr_array(own)]))
        most = np.tile(most, sides)
        for k, side in enumerate(requirement.sides):  # the cell itself goes its way and not back
            back = 4 * n * k + (2 * n if side == UP else 0)
            most[[back + at, back + n + at]] = 0.0
        model = new_model("dual", seed=self.seed)
        zero = np.zeros(program.shape[0] - 1)
        model.load(np.tile(cost, sides), np.zeros(len(most)), most, program, np.r_[zero, 1.0], np.r_[zero, np.inf])
        solution = model.solve()
        if not solution.optimal:
            return None
        far = np.zeros(z.shape)
        for primal in solution.primal.reshape(sides, 4, n):
            move = primal[0] + primal[1] - primal[2] - primal[3]
            move[np.abs(move) < STILL] = 0.0
            for side, way in ((UP, move), (DOWN, -move)):
                far[side, cells] = np.maximum(far[side, cells], way * requirement.level)
        return far
