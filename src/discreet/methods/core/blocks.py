"""Linear and integer programs put together from blocks of columns and rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.solvers import DEFAULT_SOLVER, Model, Outcome, Solution, new_model

Block = tuple[int, sparse.sparray | FloatArray]  # the number of its first column, and a matrix


def side_by_side(blocks: Sequence[Block], width: int) -> sparse.csr_array:
    """The rows of a program with so many columns; blocks may overlap."""
    matrices = [(first, sparse.coo_array(block)) for first, block in blocks]
    data = np.concatenate([matrix.data for _, matrix in matrices])
    row = np.concatenate([matrix.row for _, matrix in matrices])
    column = np.concatenate([first + matrix.col for first, matrix in matrices])
    return sparse.csr_array((data, (row, column)), shape=(matrices[0][1].shape[0], width))


class BlockProgram:
    """A program to which columns are appended before it is loaded, and rows at any time."""

    model: Model  # as soon as it is loaded

    def __init__(self) -> None:
        self._columns: list[tuple[FloatArray, FloatArray, FloatArray, BoolArray]] = []
        self.added_rows: list[tuple[Sequence[Block], FloatArray, FloatArray]] = []
        self.width = 0
        self._is_loaded = False

    def columns(
        self, lower: FloatArray, upper: FloatArray, cost: FloatArray | float = 0.0, integral: BoolArray | bool = False
    ) -> int:
        """Append columns; the number of the first."""
        first, n = self.width, len(lower)
        self._columns.append((np.broadcast_to(cost, n), lower, upper, np.broadcast_to(integral, n)))
        self.width += n
        return first

    def rows(
        self, blocks: Sequence[Block], least: FloatArray | float = -np.inf, most: FloatArray | float = np.inf
    ) -> None:
        """Append rows: the blocks side by side, between two bounds."""
        m = blocks[0][1].shape[0]
        self.added_rows.append((blocks, np.full(m, least, dtype=float), np.full(m, most, dtype=float)))
        if self._is_loaded:
            self.model.add_rows(side_by_side(blocks, self.width), *self.added_rows[-1][1:])

    def load(self, seed: int, solver: str = DEFAULT_SOLVER, *, relaxed: bool = False, interior: bool = False) -> None:
        """Hand the program to a solver; no column is integral if it is ``relaxed``."""
        cost, lower, upper, integral = (np.concatenate(parts) for parts in zip(*self._columns, strict=True))
        blocks = [side_by_side(blocks, self.width) for blocks, _, _ in self.added_rows]
        rows = sparse.vstack([sparse.csr_array((0, self.width)), *blocks], format="csr")
        least, most = (np.concatenate([np.zeros(0), *(each[k] for each in self.added_rows)]) for k in (1, 2))
        self.model, self._is_loaded = new_model(seed=seed, solver=solver, interior=interior), True
        self.model.load(cost, lower, upper, sparse.csr_array(rows), least, most, integral & (not relaxed))

    def solution(self, seconds: float | None, gap: float = 0.0) -> Solution:
        """The best solution found within a time and a gap, if there is one."""
        solution = self.model.solve(seconds, gap=gap)
        if solution.outcome in (Outcome.FAILED, Outcome.UNBOUNDED):
            raise ArithmeticError(f"The solver could not solve the program: {solution.outcome.value}.")
        return solution
