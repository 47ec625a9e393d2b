"""A whole problem as one program, with the deviations of all requirements; for small problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, BoolArray, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.core.requirements import Requirement
from discreet.progress import Budget
from discreet.solvers import DEFAULT_SOLVER, Model, Outcome, Solution, new_model

Block = tuple[int, sparse.csr_array]  # the column of the program at which a matrix begins, and the matrix


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits that the publication sets to deviations of some cells, down and up: constants plus blocks times columns."""

    cells: IntArray
    constant: tuple[FloatArray, FloatArray]
    blocks: tuple[Sequence[Block], Sequence[Block]]


class CompactModel:
    """A program with the columns of a publication, and a deviation for each cell and side with a protection requirement.

    The "first models" of Salazar-González (2002), figures 3, 6, 9 and 12: a deviation ``f`` satisfies the relations, stays within
    what the attacker knows and within the slack that the publication leaves, and reaches the protection level.
    """

    def __init__(self) -> None:
        self._columns: list[tuple[FloatArray, FloatArray, FloatArray, BoolArray]] = []
        self._rows: list[tuple[Sequence[Block], FloatArray, FloatArray]] = []
        self.width = 0
        self._model: Model | None = None

    def columns(
        self, lower: FloatArray, upper: FloatArray, cost: FloatArray | float = 0.0, integral: BoolArray | bool = False
    ) -> int:
        """Append columns. Returns the number of the first."""
        first, n = self.width, len(lower)
        self._columns.append((np.broadcast_to(cost, n), lower, upper, np.broadcast_to(integral, n)))
        self.width += n
        return first

    def rows(self, blocks: Sequence[Block], least: FloatArray, most: FloatArray) -> None:
        """Append rows: the sum of the blocks times their columns must lie between two bounds."""
        if self._model is None:
            self._rows.append((blocks, least, most))
        else:
            self._model.add_rows(self._wide(blocks, len(least)), least, most)

    def require(
        self,
        requirements: Sequence[Requirement],
        relations: sparse.csr_array,
        prior: FloatArray,
        limits: Limits,
        condition: int | None = None,
    ) -> None:
        """Append deviations of a cell, as one attacker sees them, that meet its ``requirements``, all of one cell.

        ``prior`` are the deviations down and up that the attacker holds possible. The requirements count only if the column
        ``condition`` is 1.
        """
        n, zero = relations.shape[1], np.zeros(relations.shape[0])
        unit = max(requirement.level for requirement in requirements)
        chosen = sparse.csr_array(sparse.eye_array(n, format="csr")[limits.cells])
        first = {}
        for side in sorted({side for requirement in requirements for side in requirement.sides}):
            at = first[side] = self.columns(-prior[DOWN] / unit, prior[UP] / unit)
            self.rows([(at, relations)], zero, zero)
            for limited in (DOWN, UP):
                within = [(column, -block / unit) for column, block in limits.blocks[limited]]
                constant = limits.constant[limited] / unit
                self.rows([(at, SIGN[limited] * chosen), *within], np.full(len(constant), -np.inf), constant)
        for requirement in requirements:
            level = requirement.level / unit
            reach = [(first[side], _entry(n, requirement.cell, SIGN[side])) for side in requirement.sides]
            if condition is None:
                self.rows(reach, np.array([level]), np.array([np.inf]))
            else:
                self.rows([*reach, (condition, _entry(1, 0, -level))], np.zeros(1), np.array([np.inf]))

    def load(self, seed: int, solver: str = DEFAULT_SOLVER) -> None:
        """Hand the program to a solver; rows can still be appended."""
        cost, lower, upper = (np.concatenate([each[k] for each in self._columns]) for k in range(3))
        integral = np.concatenate([each[3] for each in self._columns])
        blocks = [self._wide(blocks, len(least)) for blocks, least, _ in self._rows]
        rows = sparse.vstack([sparse.csr_array((0, self.width)), *blocks], format="csr")
        least, most = (np.concatenate([np.zeros(0), *(each[k] for each in self._rows)]) for k in (1, 2))
        self._model = new_model(seed=seed, solver=solver)
        self._model.load(cost, lower, upper, sparse.csr_array(rows), least, most, integral)

    def solve(self, budget: Budget) -> Solution:
        """The best solution, or the best one found in time; raises :class:`Infeasible`."""
        assert self._model is not None
        solution = self._model.solve(budget.left, gap=budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        if solution.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED):
            raise ArithmeticError(f"The solver could not solve the program: {solution.outcome.value}.")
        if len(solution.primal) != self.width or not np.isfinite(solution.objective):
            raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.")
        return solution

    def _wide(self, blocks: Sequence[Block], size: int) -> sparse.csr_array:
        each = [(first, sparse.coo_array(block)) for first, block in blocks]
        data = np.concatenate([block.data for _, block in each])
        row = np.concatenate([block.row for _, block in each])
        column = np.concatenate([first + block.col for first, block in each])
        return sparse.csr_array((data, (row, column)), shape=(size, self.width))


def _entry(width: int, column: int, weight: float) -> sparse.csr_array:
    return sparse.csr_array(([weight], ([0], [column])), shape=(1, width))
