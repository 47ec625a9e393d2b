"""Which primaries a pattern leaves under-protected, by plain ``scipy.optimize.linprog``: nothing of the auditor is used.

Only suppressed cells are columns, and a program asks no more than whether a cell can move by its level: a table of 5,000 cells
takes seconds, not minutes.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from discreet.arrays import BoolArray
from discreet.problem import Problem

NEAR = 1e-6  # share of a level, or of one, by which a solver may miss it


def under_protected(problem: Problem, suppressed: BoolArray) -> list[int]:
    """Primaries that everybody can work out more closely than their levels allow; published ones among them."""
    reader = _Reader(problem, suppressed)
    needs = np.stack([problem.lower, problem.upper, problem.sliding])
    return [int(p) for p in problem.primaries if not reader.leaves(int(p), *needs[:, p])]


class _Reader:
    """What everybody knows about the suppressed cells: how far each can move from its value while all relations hold."""

    def __init__(self, problem: Problem, suppressed: BoolArray) -> None:
        cells = np.flatnonzero(suppressed)
        self.column = {int(cell): k for k, cell in enumerate(cells)}
        relations = sparse.csr_array(sparse.csc_array(problem.table.relations)[:, cells])
        self.relations = relations[np.diff(relations.indptr) > 0]
        value = problem.table.value[cells]
        self.slack = np.stack([problem.prior_lower[cells] - value, problem.prior_upper[cells] - value], axis=1)

    def leaves(self, cell: int, lower: float, upper: float, sliding: float) -> bool:
        """Whether a cell can go as far down and up as it must, and as far in all."""
        down, up = self._reach(cell, -1.0, max(lower, sliding)), self._reach(cell, 1.0, max(upper, sliding))
        pairs = ((down, lower), (up, upper), (down + up, sliding))
        return all(reach >= need - NEAR * max(1.0, need) for reach, need in pairs)

    def _reach(self, cell: int, sign: float, far: float) -> float:
        """How far a cell can move one way, up to ``far``."""
        if far <= 0 or cell not in self.column:
            return 0.0
        k = self.column[cell]
        goal, slack = np.zeros(len(self.slack)), self.slack.copy()
        goal[k] = -sign
        slack[k] = np.clip(slack[k], -far, far)
        nothing = np.zeros(self.relations.shape[0])
        solved = linprog(goal, A_eq=self.relations, b_eq=nothing, bounds=slack, method="highs-ds")
        if solved.status != 0:
            raise ArithmeticError(f"linprog did not solve the program of cell {cell}: {solved.message}")
        return float(sign * solved.x[k])
