"""How far a cell goes, decided in exact arithmetic: for certificates, and for verdicts that hinge on numerical error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.exact_lp import Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import Bound
from discreet.inference.exact_simplex import maximize_exactly
from discreet.inference.extreme_points import ExtremePoints
from discreet.inference.rational_reconstruction import reach_of, reconstruct_extreme, single_relation_bound
from discreet.inference.requirements import exact_slacks, required_levels
from discreet.problem import Problem
from discreet.protection import Protection

SIGNS = (-1, 1)  # down and up


class ExactReach:
    """What somebody can infer, exactly, who holds cells possible so far below and above their true values.

    ``stake`` is the protection that each cell needs.
    """

    def __init__(
        self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound], stake: FloatArray
    ) -> None:
        self.program = ExactProgram(relations, low, high)
        self._pushes = ExtremePoints(relations, low, high, stake)

    @classmethod
    def against(cls, problem: Problem, protection: Protection, attacker: Attacker) -> ExactReach:
        stake = required_levels(problem, protection, attacker).max(axis=0)
        return cls(problem.table.relations, *exact_slacks(problem, protection, attacker), stake)

    def settle(
        self, cell: int, sign: int, shown: ExactDeviation | None = None
    ) -> tuple[ExactDeviation | None, Combination]:
        """From both sides: a table that goes as far as is shown, and why nothing goes farther. ``shown`` is a start.

        A solver's last basis is made exact; where that does not close the gap, the simplex method goes on in rationals.
        """
        best = single_relation_bound(self.program, cell, sign)
        if reach_of(self.program, shown, cell, sign) < best.bound:
            for primal, dual in self._pushes.push(cell, sign):
                shown, limit = reconstruct_extreme(self.program, cell, sign, primal, dual, shown)
                best = min(best, limit, key=lambda one: one.bound)
                if reach_of(self.program, shown, cell, sign) >= best.bound:
                    break
            else:
                shown, limit = maximize_exactly(self.program, cell, sign, shown)
                best = min(best, limit, key=lambda one: one.bound)
        return shown, best

    def reach(self, cells: IntArray) -> tuple[FloatArray, list[Deviation]]:
        """How far each cell goes down and up, shape (2, cells), and the tables that show it: down, up, down, up …"""
        reach = np.zeros((2, len(cells)))
        tables = []
        for k, cell in enumerate(cells.tolist()):
            for side, sign in enumerate(SIGNS):
                shown, _ = self.settle(cell, sign)
                reach[side, k] = float(reach_of(self.program, shown, cell, sign))
                moves = {} if shown is None else {i: move / shown.denominator for i, move in shown.by_cell.items()}
                tables.append(Deviation(np.array(list(moves), dtype=np.int64), np.array(list(moves.values()))))
        return reach, tables
