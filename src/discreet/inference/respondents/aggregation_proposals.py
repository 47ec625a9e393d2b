"""Sums of suppressed cells that disclose most about one of them, proposed by a solver and checked exactly elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.solvers import new_model

MAX_MULTIPLIER_DENOMINATOR = 64  # multipliers are simple fractions
MULTIPLIER_ZERO_TOLERANCE = 1e-9  # smaller multipliers are rounding error


class AggregationProgram:
    """A linear program for one component of suppressed cells; its dual values are multipliers of relations."""

    def __init__(self, relations: sparse.csr_array, cells: IntArray) -> None:
        self.cells = cells
        rows = sparse.csr_array(relations[:, cells])
        self.rows = np.flatnonzero(np.diff(rows.indptr) > 0)
        zero = np.zeros(len(self.rows))
        self._model = new_model("dual")
        bound = np.full(len(cells), np.inf)
        self._model.load(np.zeros(len(cells)), -bound, bound, sparse.csr_array(rows[self.rows]), zero, zero)
        self._objective_cell = np.zeros(1, dtype=np.int64)

    def multipliers(self, cell: int, level: float, slack: FloatArray) -> dict[int, Fraction]:
        """The multiplier of each relation in the sum that bounds a cell most; empty if the cell can deviate by its level."""
        slack, at = slack / level, np.searchsorted(self.cells, [cell])
        slack[at] = 2.0
        self._model.set_bounds(np.arange(len(slack)), -slack, slack)
        self._model.set_cost(self._objective_cell, np.zeros(1))
        self._model.set_cost(at, -np.ones(1))
        self._objective_cell = at
        solution = self._model.solve(5.0)
        if not solution.optimal or solution.objective <= -1.0:
            return {}
        used = np.flatnonzero(np.abs(solution.row_dual) > MULTIPLIER_ZERO_TOLERANCE)
        return {
            int(self.rows[k]): Fraction(float(solution.row_dual[k])).limit_denominator(MAX_MULTIPLIER_DENOMINATOR)
            for k in used
        }
