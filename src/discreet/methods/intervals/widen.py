"""The cheapest way to widen intervals so that they meet one more requirement, and widths made of such ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.methods.core.requirements import Requirement
from discreet.methods.core.separator import UNLIMITED_SLACK
from discreet.methods.intervals.setting import IntervalSetting
from discreet.progress import Budget
from discreet.solvers import new_model

MAX_NEIGHBOURS = 800  # cells around that of the requirement that are tried before all cells: quicker, mostly as cheap
INSIDE_COST = 1e-3  # of its weight, what the deviation of a cell within its interval costs: keeps deviations short
RENEWAL_SHARE = 0.5  # of the time left, for choosing deviations again: the rest is for the cutting planes
NEGLIGIBLE_DEVIATION = 1e-10  # levels: smaller deviations are rounding errors of the solver


class Widener:
    """Against one attacker: deviations within intervals are nearly free, beyond them they cost what widening costs."""

    def __init__(self, setting: IntervalSetting, attacker: int, seed: int) -> None:
        self.settled, self.weight, self.seed = setting.settled, setting.weight, seed
        self.slack = setting.slacks[attacker]
        self.relations = setting.relations
        self.by_column = self.relations.tocsc()

    def reach(self, z: FloatArray, requirement: Requirement) -> FloatArray | None:
        """How far each cell deviates, down and up, if the requirement is met at the least cost; None if that is impossible."""
        for cells in self._neighbourhoods(requirement.cell):
            found = self._reach(z, requirement, cells)
            if found is not None:
                return found
        return None

    def _neighbourhoods(self, cell: int) -> list[IntArray]:
        """The cells around a cell, then all cells."""
        everything = np.arange(self.relations.shape[1])
        if len(everything) <= MAX_NEIGHBOURS:
            return [everything]
        cells = np.array([cell])
        while len(cells) <= MAX_NEIGHBOURS:
            rows = np.unique(self.by_column[:, cells].indices)
            wider = np.union1d(cells, self.relations[rows].indices)
            if len(wider) == len(cells):
                break
            cells = wider
        return [cells, everything] if len(cells) < len(everything) else [everything]

    def _reach(self, z: FloatArray, requirement: Requirement, cells: IntArray) -> FloatArray | None:
        n, at, sides = len(cells), int(np.searchsorted(cells, requirement.cell)), len(requirement.sides)
        slack = np.minimum(self.slack[:, cells] / requirement.level, UNLIMITED_SLACK)
        inside = np.where(self.settled[cells], slack, np.minimum(z[:, cells] / requirement.level, slack))
        rows = sparse.csr_array(self.relations[:, cells])
        rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
        # Four blocks of columns for each side of the requirement: up within intervals and beyond, then down.
        signed = sparse.hstack([rows, rows, -rows, -rows])
        limit = np.stack([inside[UP], (slack - inside)[UP], inside[DOWN], (slack - inside)[DOWN]])
        limit, reach = np.tile(limit, (sides, 1, 1)), np.zeros((sides, 4, n))
        for k, side in enumerate(requirement.sides):  # the cell itself does not deviate back
            forth, back = (slice(0, 2), slice(2, 4)) if side == UP else (slice(2, 4), slice(0, 2))
            reach[k, forth, at], limit[k, back, at] = 1.0, 0.0
        weight = self.weight[:, cells]
        cost = np.concatenate([INSIDE_COST * weight[UP], weight[UP], INSIDE_COST * weight[DOWN], weight[DOWN]])
        balanced = sparse.kron(sparse.eye_array(sides), signed, format="csr")
        program = sparse.csr_array(sparse.vstack([balanced, sparse.csr_array(reach.reshape(1, -1))]))
        most, zero = limit.ravel(), np.zeros(balanced.shape[0])
        model = new_model("dual", seed=self.seed)
        model.load(np.tile(cost, sides), np.zeros(len(most)), most, program, np.r_[zero, 1.0], np.r_[zero, np.inf])
        solution = model.solve()
        if not solution.optimal:
            return None
        far = np.zeros(z.shape)
        for primal in solution.primal.reshape(sides, 4, n):
            deviation = primal[0] + primal[1] - primal[2] - primal[3]
            deviation[np.abs(deviation) < NEGLIGIBLE_DEVIATION] = 0.0
            far[:, cells] = np.maximum(far[:, cells], np.stack([-deviation, deviation]) * requirement.level)
        return far


class Renewal:
    """One deviation for each requirement and attacker, chosen again as long as their maximum, the widths, gets cheaper."""

    def __init__(
        self,
        setting: IntervalSetting,
        least: FloatArray,
        wideners: Sequence[Widener],
        requirements: Sequence[Sequence[Requirement]],
    ) -> None:
        self.s, self.least, self._wideners = setting, least, wideners
        required = [(each, attacker) for attacker, by_attacker in enumerate(requirements) for each in by_attacker]
        self._required = sorted(required, key=lambda pair: -pair[0].level)
        # Columns of widths and how far cells deviate; empty if the deviation for another requirement meets this one, too.
        self._deviations = [_nonzero(np.zeros(least.shape))] * len(required)

    def renewed(self, budget: Budget) -> FloatArray | None:
        """Widths that meet all requirements, made cheaper for some time; None if none are found in time."""
        z, met = self.least, []
        farthest = [np.zeros(z.shape) for _ in self._wideners]  # of all deviations, by attacker
        for k, (requirement, attacker) in enumerate(self._required):
            if float(farthest[attacker][list(requirement.sides), requirement.cell].sum()) >= requirement.level:
                met.append(k)
                continue
            far = self._reach(k, z, budget)
            if far is None:
                return None
            z, farthest[attacker] = np.maximum(z, far), np.maximum(farthest[attacker], far)
            self._deviations[k] = _nonzero(far)
        budget = budget.share(RENEWAL_SHARE)
        for k in met:  # a deviation for each requirement, so that the others may be chosen again
            far = self._reach(k, z, budget)
            if far is None:
                return z
            z = np.maximum(z, far)
            self._deviations[k] = _nonzero(far)
        for k in range(len(self._required)):
            others = self._widths(without=k)
            far = self._reach(k, others, budget)
            if far is None:
                break
            before = others.copy()
            np.maximum.at(before.ravel(), *self._deviations[k])
            if self.s.cost(np.maximum(others, far)) < self.s.cost(before):
                self._deviations[k] = _nonzero(far)
        return self._widths()

    def _reach(self, k: int, z: FloatArray, budget: Budget) -> FloatArray | None:
        requirement, attacker = self._required[k]
        return None if budget.over else self._wideners[attacker].reach(z, requirement)

    def _widths(self, without: int | None = None) -> FloatArray:
        """The widths that all deviations, or all but one, need."""
        z = self.least.copy()
        deviations = [each for k, each in enumerate(self._deviations) if k != without]
        if deviations:
            np.maximum.at(z.ravel(), *(np.concatenate(parts) for parts in zip(*deviations, strict=True)))
        return z


def _nonzero(far: FloatArray) -> tuple[IntArray, FloatArray]:
    columns = np.flatnonzero(far)
    return columns, far.ravel()[columns]
