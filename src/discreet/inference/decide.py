"""How far a cell goes, decided in exact arithmetic: for certificates, and for verdicts that hinge on numerical error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.evidence import Difference
from discreet.inference.exact_lp import Combination, ExactDifference, ExactProgram
from discreet.inference.extreme_points import Pushes
from discreet.inference.numbers import Bound
from discreet.inference.rationalize import at_once, redecide, toward
from discreet.inference.requirements import known, required
from discreet.inference.simplex import farthest
from discreet.problem import Problem
from discreet.protection import Protection

SIGNS = (-1, 1)  # down and up


class Decider:
    """What somebody can infer, exactly, who holds cells possible so far below and above their true values.

    ``stake`` is the protection that each cell needs.
    """

    def __init__(
        self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound], stake: FloatArray
    ) -> None:
        self.program = ExactProgram(relations, low, high)
        self._pushes = Pushes(relations, low, high, stake)

    @classmethod
    def against(cls, problem: Problem, protection: Protection, attacker: Attacker) -> Decider:
        stake = required(problem, protection, attacker).max(axis=0)
        return cls(problem.table.relations, *known(problem, protection, attacker), stake)

    def settle(
        self, cell: int, sign: int, shown: ExactDifference | None = None
    ) -> tuple[ExactDifference | None, Combination]:
        """From both sides: a table that goes as far as is shown, and why nothing goes farther. ``shown`` is a start.

        A solver's last basis is made exact; where that does not close the gap, the simplex method goes on in rationals.
        """
        best = at_once(self.program, cell, sign)
        if toward(self.program, shown, cell, sign) < best.bound:
            for primal, dual in self._pushes.push(cell, sign):
                shown, limit = redecide(self.program, cell, sign, primal, dual, shown)
                best = min(best, limit, key=lambda one: one.bound)
                if toward(self.program, shown, cell, sign) >= best.bound:
                    break
            else:
                shown, limit = farthest(self.program, cell, sign, shown)
                best = min(best, limit, key=lambda one: one.bound)
        return shown, best

    def reach(self, cells: IntArray) -> tuple[FloatArray, list[Difference]]:
        """How far each cell goes down and up, shape (2, cells), and the tables that show it: down, up, down, up …"""
        reach = np.zeros((2, len(cells)))
        tables = []
        for k, cell in enumerate(cells.tolist()):
            for side, sign in enumerate(SIGNS):
                shown, _ = self.settle(cell, sign)
                reach[side, k] = float(toward(self.program, shown, cell, sign))
                moves = {} if shown is None else {i: move / shown.over for i, move in shown.moves.items()}
                tables.append(Difference(np.array(list(moves), dtype=np.int64), np.array(list(moves.values()))))
        return reach, tables
