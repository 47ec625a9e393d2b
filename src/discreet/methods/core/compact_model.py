"""A whole problem as one program, with the deviations of all requirements; for small problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.blocks import Block, BlockProgram
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.core.requirements import Requirement
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution

NO_CONDITIONS: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Limits:
    """How far the publication lets some cells deviate down and up: constants plus blocks times the columns of the program."""

    cells: IntArray
    constant: tuple[FloatArray, FloatArray]
    blocks: tuple[Sequence[Block], Sequence[Block]]

    def rows(self) -> Iterator[tuple[list[Block], FloatArray, FloatArray]]:
        """Blocks to add to the deviations, and bounds of the sums. One row per cell if the blocks down and up agree, else two."""
        (low, high), (down, up) = self.constant, self.blocks
        minus_up = [(column, -block) for column, block in up]
        if len(down) == len(up) and all(
            first == second and not sparse.csr_array(one - other).count_nonzero()
            for (first, one), (second, other) in zip(down, minus_up, strict=True)
        ):
            yield minus_up, -low, high
        else:
            unlimited = np.full(len(self.cells), np.inf)
            yield list(down), -low, unlimited
            yield minus_up, -unlimited, high


class CompactModel(BlockProgram):
    """A program with the columns of a publication and, for each protection requirement, the columns of a deviation on each side.

    These are the "first models" of Salazar-González (2002), figures 3, 6, 9 and 12. Deviations satisfy the relations, stay within
    the prior bounds of the attacker and within the limits that the publication sets, and reach the protection level.
    """

    def require(
        self,
        requirements: Sequence[Requirement],
        relations: sparse.csr_array,
        prior: FloatArray,
        limits: Limits,
        conditions: Mapping[int, int] = NO_CONDITIONS,
        unit: float = 1.0,
    ) -> None:
        """Append the deviations that the ``requirements`` against one attacker need; those of the same cell must be adjacent.

        ``prior`` limits how far each cell can deviate down and up by the knowledge of the attacker. ``conditions`` are columns by
        cell: requirements of these cells apply only if the column is 1. Deviations are multiples of the ``unit``.
        """
        each = sparse.eye_array(relations.shape[1], format="csr")
        limited_cells = sparse.csr_array(each[limits.cells])
        for place, group in groupby(requirements, key=lambda one: one.cell):
            required, first = list(group), dict[int, int]()
            for side in sorted({side for requirement in required for side in requirement.sides}):
                at = first[side] = self.columns(-prior[DOWN] / unit, prior[UP] / unit)
                self.rows([(at, relations)], 0.0, 0.0)
                for blocks, least, most in limits.rows():
                    within = [(column, block / unit) for column, block in blocks]
                    self.rows([(at, limited_cells), *within], least / unit, most / unit)
            cell = sparse.csr_array(each[[place]])
            for requirement in required:
                level = requirement.level / unit
                reach: list[Block] = [(first[side], SIGN[side] * cell) for side in requirement.sides]
                if place in conditions:
                    self.rows([*reach, (conditions[place], np.array([[-level]]))], 0.0)
                else:
                    self.rows(reach, level)

    def solve(self, budget: Budget) -> Solution:
        """A solution, the cheapest unless the time limit ends the search; raises :class:`Infeasible`."""
        solution = self.solution(budget.left, budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        if len(solution.primal) != self.width or not np.isfinite(solution.objective):
            raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.")
        return solution
