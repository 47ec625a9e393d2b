"""How far a cell can deviate, in exact arithmetic: for certificates, and for verdicts that depend on rounding error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import Bound
from discreet.inference.exact_simplex import maximize_exactly
from discreet.inference.extreme_points import ExtremePoints
from discreet.inference.rational_reconstruction import reach_of, reconstruct_extreme, single_relation_bound
from discreet.inference.requirements import exact_slacks, required_levels
from discreet.problem import Problem
from discreet.protection import Protection


class ExactReach:
    """The farthest deviations within bounds. ``stake`` is the largest protection level of each cell."""

    def __init__(
        self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound], stake: FloatArray
    ) -> None:
        self.program = ExactProgram(relations, low, high)
        self._extreme_points = ExtremePoints(relations, low, high, stake)

    @classmethod
    def against(cls, problem: Problem, protection: Protection, attacker: Attacker) -> ExactReach:
        """The farthest deviations that an attacker cannot exclude."""
        stake = required_levels(problem, protection, attacker).max(axis=0)
        return cls(problem.table.relations, *exact_slacks(problem, protection, attacker), stake)

    def settle(
        self, cell: int, sign: int, shown: ExactDeviation | None = None
    ) -> tuple[ExactDeviation | None, Combination]:
        """A deviation that takes a cell as far as is proven possible, and a combination that bounds it; the two mostly meet.

        The search starts from ``shown``. The last basis of a solver is reconstructed exactly; if a gap is left, the simplex
        method continues in rational numbers.
        """
        best = single_relation_bound(self.program, cell, sign)
        if reach_of(self.program, shown, cell, sign) < best.bound:
            for primal, dual in self._extreme_points.solutions(cell, sign):
                shown, limit = reconstruct_extreme(self.program, cell, sign, primal, dual, shown)
                best = min(best, limit, key=lambda one: one.bound)
                if reach_of(self.program, shown, cell, sign) >= best.bound:
                    break
            else:
                shown, limit = maximize_exactly(self.program, cell, sign, shown)
                best = min(best, limit, key=lambda one: one.bound)
        return shown, best

    def reach(self, cells: IntArray) -> tuple[FloatArray, list[Deviation]]:
        """The farthest deviation of each cell down and up, shape (2, cells), and the tables that prove it: down, up, down …"""
        reach = np.zeros((2, len(cells)))
        tables = []
        for k, cell in enumerate(cells.tolist()):
            for side, sign in enumerate(DIRECTIONS):
                shown, _ = self.settle(cell, sign)
                reach[side, k] = float(reach_of(self.program, shown, cell, sign))
                amounts = {} if shown is None else {i: part / shown.denominator for i, part in shown.by_cell.items()}
                tables.append(Deviation(np.array(list(amounts), dtype=np.int64), np.array(list(amounts.values()))))
        return reach, tables
