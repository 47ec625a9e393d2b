"""How far a cell can deviate, in exact arithmetic: for certificates, and for verdicts that depend on rounding error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.congruent_tables import components, deviation_model, solver_time_limit, typical_size
from discreet.inference.deviations import Deviation
from discreet.inference.exact_lp import DIRECTIONS, Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import Bound
from discreet.inference.exact_simplex import maximize_exactly
from discreet.inference.rational_reconstruction import (
    Dual,
    Primal,
    reach_of,
    reconstruct_extreme,
    single_relation_bound,
)
from discreet.inference.requirements import exact_slacks, required_levels
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.solvers import Model


class ExactReach:
    """The farthest deviations within bounds. ``stake`` is the largest protection level of each cell."""

    def __init__(
        self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound], stake: FloatArray
    ) -> None:
        self.program = ExactProgram(relations, low, high)
        self.relations, self.stake = relations, stake
        self.low, self.high = (np.array([float(bound) for bound in side]) for side in (low, high))

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
            for primal, dual in self.solutions(cell, sign):
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

    @cached_property
    def _components(self) -> dict[int, _Component]:
        """The component of each cell."""
        relations = sparse.csc_array(self.relations)
        found = {}
        for cells, _ in components(self.relations, self.low < self.high):
            component = _Component(relations, cells, self.low[cells], self.high[cells])
            found.update(dict.fromkeys(cells.tolist(), component))
        return found

    def solutions(self, cell: int, sign: int) -> Iterator[tuple[Primal, Dual]]:
        """Solutions that maximize ``sign · d[cell]``; further ones only help if the earlier ones are inaccurate."""
        component = self._components.get(cell)
        if component is not None:
            yield from component.solutions(cell, sign, float(self.stake[cell]))


class _Component:
    """Linear programs that maximize the deviation of one cell of a component, with the multipliers that bound it."""

    def __init__(self, relations: sparse.csc_array, cells: IntArray, low: FloatArray, high: FloatArray) -> None:
        columns = sparse.csc_array(relations[:, cells])
        self.cells, self.low, self.high = cells, low, high
        self.rows, index = np.unique(columns.indices, return_inverse=True)
        shape = (len(self.rows), len(cells))
        self.relations = sparse.csr_array(sparse.csc_array((columns.data, index, columns.indptr), shape=shape))
        self.unit = typical_size(np.concatenate([-low, high]))

    @cached_property
    def _model(self) -> Model:
        """One model for all cells, because the last solution is a good start for the next one."""
        return deviation_model("primal", self.relations, self.low / self.unit, self.high / self.unit)

    def solutions(self, cell: int, sign: int, stake: float) -> Iterator[tuple[Primal, Dual]]:
        column = int(np.searchsorted(self.cells, cell))
        yield from self._solve(self._model, column, sign, self.unit)
        # If slacks are of very different size, a program in units of the protection level may be more accurate.
        if stake > 0:
            model = deviation_model("dual", self.relations, self.low / stake, self.high / stake)
            yield from self._solve(model, column, sign, stake)

    def _solve(self, model: Model, column: int, sign: int, unit: float) -> Iterator[tuple[Primal, Dual]]:
        model.set_cost(np.array([column]), np.array([float(sign)]))
        solution = model.solve(solver_time_limit(self.relations))
        model.set_cost(np.array([column]), np.zeros(1))
        deviation = solution.primal * unit if solution.optimal else solution.ray
        if deviation is not None:
            support = np.flatnonzero(deviation)
            dual = solution.row_dual if solution.optimal else np.zeros(len(self.rows))
            yield (self.cells[support].tolist(), deviation[support]), (self.rows.tolist(), dual)
