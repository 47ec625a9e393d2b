"""A whole problem as one program, with the deviations of all requirements; for small problems."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.blocks import Block, BlockProgram
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.core.requirements import Requirement
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits that the publication sets to deviations of some cells, down and up: constants plus blocks times columns."""

    cells: IntArray
    constant: tuple[FloatArray, FloatArray]
    blocks: tuple[Sequence[Block], Sequence[Block]]

    def rows(self) -> Iterator[tuple[list[Block], FloatArray, FloatArray]]:
        """Blocks to add to the deviations, and the bounds of the sums: one row per cell if that is possible, else two."""
        (low, high), (down, up) = self.constant, self.blocks
        minus_up = [(column, -block) for column, block in up]
        if len(down) == len(up) and all(
            first == second and not sparse.csr_array(one - other).count_nonzero()
            for (first, one), (second, other) in zip(down, minus_up, strict=True)
        ):
            yield minus_up, -low, high
        else:
            endless = np.full(len(self.cells), np.inf)
            yield list(down), -low, endless
            yield minus_up, -endless, high


class CompactModel(BlockProgram):
    """The columns of a publication, and a deviation for each side of each protection requirement.

    The "first models" of Salazar-González (2002), figures 3, 6, 9 and 12: a deviation ``f`` satisfies the relations, stays within
    what the attacker knows and within the slack that the publication leaves, and reaches the protection level.
    """

    def require(
        self,
        requirements: Sequence[Requirement],
        relations: sparse.csr_array,
        prior: FloatArray,
        limits: Limits,
        condition: int | None = None,
        unit: float = 1.0,
    ) -> None:
        """Append deviations of a cell, as one attacker sees them, that meet its ``requirements``, all of one cell.

        ``prior`` are the deviations down and up that the attacker holds possible. The requirements count only if the column
        ``condition`` is 1. The columns of the deviations are in terms of a ``unit``.
        """
        n, zero = relations.shape[1], np.zeros(relations.shape[0])
        each = sparse.eye_array(n, format="csr")
        limited_cells = sparse.csr_array(each[limits.cells])
        first = {}
        for side in sorted({side for requirement in requirements for side in requirement.sides}):
            at = first[side] = self.columns(-prior[DOWN] / unit, prior[UP] / unit)
            self.rows([(at, relations)], zero, zero)
            for blocks, least, most in limits.rows():
                within = [(column, block / unit) for column, block in blocks]
                self.rows([(at, limited_cells), *within], least / unit, most / unit)
        for requirement in requirements:
            level = requirement.level / unit
            cell = sparse.csr_array(each[[requirement.cell]])
            reach: list[Block] = [(first[side], SIGN[side] * cell) for side in requirement.sides]
            if condition is None:
                self.rows(reach, np.array([level]), np.array([np.inf]))
            else:
                self.rows([*reach, (condition, np.array([[-level]]))], np.zeros(1), np.array([np.inf]))

    def solve(self, budget: Budget) -> Solution:
        """A solution, the cheapest unless the time limit ends the search; raises :class:`Infeasible`."""
        solution = self.solution(budget.left, budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        if len(solution.primal) != self.width or not np.isfinite(solution.objective):
            raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.")
        return solution
