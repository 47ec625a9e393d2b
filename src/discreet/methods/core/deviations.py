"""How far a cell can deviate within the slack of all cells, and which slack limits it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray, IntArray
from discreet.inference.cut_proofs import DENOMINATOR, FRACTION_TOLERANCE
from discreet.solvers import Solution, new_model

NEGLIGIBLE = 1e-9  # multipliers below this are rounding errors


class Pulls(NamedTuple):
    """The reduced costs of cells in the program of a deviation: weights of their slack in an upper limit of the deviation.

    A positive one is the weight of the cell's slack up, a negative one of its slack down.
    """

    cells: IntArray
    weight: FloatArray

    def limits(self, slack: FloatArray) -> FloatArray:
        """What each cell contributes to the limit: the size of its pull times its slack in the direction of the pull."""
        side = np.where(self.weight > 0, UP, DOWN)
        return np.asarray(np.abs(self.weight) * slack[side, self.cells])


class ReachProgram:
    """The linear program of an attacker: the largest deviation of one cell at a time (Salazar-González 2002, figure 4).

    Its columns are ``cells``, in ascending order; no other cell deviates.
    """

    def __init__(self, relations: sparse.csr_array, cells: IntArray, rows: IntArray | None = None) -> None:
        within = sparse.csr_array((relations if rows is None else relations[rows])[:, cells])
        if rows is None:
            rows = np.flatnonzero(np.diff(within.indptr))
            within = sparse.csr_array(within[rows])
        self.cells, self.rows = cells, rows
        n, zero = len(cells), np.zeros(len(rows))
        self._columns, self._goal = np.arange(n), np.zeros(1, dtype=np.int64)
        self._model = new_model("primal")
        self._model.load(np.zeros(n), np.zeros(n), np.zeros(n), within, zero, zero)
        self._model.maximize(True)

    def limit(self, slack: FloatArray, at: IntArray | None = None) -> None:
        """Set the slack of all columns, or of those ``at`` these places: rows down and up."""
        self._model.set_bounds(self._columns if at is None else at, -slack[DOWN], slack[UP])

    def push(self, cell: int, side: int) -> Solution:
        """The largest deviation of a cell to one side: its size is the objective, the row duals are multipliers of ``rows``."""
        self._model.set_cost(self._goal, np.zeros(1))
        self._goal = np.searchsorted(self.cells, [cell])
        self._model.set_cost(self._goal, np.array([SIGN[side]]))
        solution = self._model.solve()
        if (
            not solution.optimal
        ):  # a deviation of zero is always feasible, so the basis, left by other bounds, misled the solver
            self._model.restart()
            solution = self._model.solve()
        return solution


class PullsOf:
    """Computes pulls from multipliers of relations, ``± e − Aᵀ multipliers``, without the rounding errors of the solver."""

    def __init__(self, relations: sparse.csr_array) -> None:
        self._relations = relations
        self._integral = bool(np.all(relations.data == np.rint(relations.data)))

    def __call__(self, rows: IntArray, multipliers: FloatArray, cell: int, side: int) -> Pulls:
        """The pulls on a deviation of a cell to one side; any multipliers of the ``rows`` give a valid limit."""
        scaled = np.rint(multipliers * DENOMINATOR)
        exact = self._integral and bool(np.all(np.abs(multipliers - scaled / DENOMINATOR) < FRACTION_TOLERANCE))
        weight = scaled if exact else multipliers
        used = np.flatnonzero(weight)
        terms = sparse.csr_array(self._relations[rows[used]])
        cells = np.unique(np.append(terms.indices, cell))
        pull = np.zeros(len(cells))
        np.add.at(
            pull, np.searchsorted(cells, terms.indices), -terms.data * np.repeat(weight[used], np.diff(terms.indptr))
        )
        pull[np.searchsorted(cells, cell)] += SIGN[side] * (DENOMINATOR if exact else 1.0)
        if exact:
            pull = np.rint(pull) / DENOMINATOR
        return Pulls(cells[pull != 0], pull[pull != 0])


def without_noise(pulls: Pulls) -> Pulls:
    """Pulls that are more than rounding errors."""
    kept = np.abs(pulls.weight) >= NEGLIGIBLE
    return Pulls(pulls.cells[kept], pulls.weight[kept])


def limits_by_cell(pulls: Sequence[Pulls], slack: FloatArray) -> tuple[IntArray, FloatArray]:
    """What each cell contributes to the sum of the limits of several deviations."""
    cells = np.unique(np.concatenate([each.cells for each in pulls]))
    total = np.zeros(len(cells))
    for each in pulls:
        total[np.searchsorted(cells, each.cells)] += each.limits(slack)
    return cells, total
