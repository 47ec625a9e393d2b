"""The base class of solvers: a model is loaded once, changed and solved repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray

ColumnIndices = NDArray[np.integer]

NEGLIGIBLE_REDUCED_COST = 1e-7  # smaller reduced costs of unbounded columns are rounding errors


class Outcome(Enum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    STOPPED = "stopped"  # by a limit or an interrupt; primal is the best point found, if any
    FAILED = "failed"  # nothing in the solution is reliable


@dataclass(frozen=True)
class SolverSettings:
    """The settings of a model, see :func:`discreet.solvers.new_model`."""

    simplex: Literal["primal", "dual"]
    tolerance: float
    seed: int
    interior: bool
    solutions: int | None


@dataclass(frozen=True, eq=False)
class Basis:
    """A simplex basis: the statuses of columns and rows in the codes of the solver."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


@dataclass(frozen=True)
class Solution:
    """The result of a solve. Its arrays are copies, which stay the same when the model changes."""

    outcome: Outcome
    objective: float
    primal: FloatArray
    row_dual: FloatArray  # for each row the change of the objective if both bounds of the row rise by one
    bound: float  # on the objective; equal to it for solved linear programs
    ray: FloatArray | None  # an unbounded direction, if the program is unbounded
    iterations: int

    @property
    def optimal(self) -> bool:
        return self.outcome is Outcome.OPTIMAL


class Model(Protocol):
    """A linear or mixed-integer program: minimize or maximize cost·x, with all columns x and all rows within bounds."""

    name: str
    _cost: FloatArray
    _lower: FloatArray
    _upper: FloatArray
    _integer: BoolArray
    _sense: float  # 1 to minimize, −1 to maximize

    def __init__(self, settings: SolverSettings) -> None:
        """An empty model."""

    def load(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        rows: sparse.csr_array,
        row_lower: FloatArray,
        row_upper: FloatArray,
        integer: BoolArray | None = None,
    ) -> None:
        """Replace the whole model by a program that is minimized."""
        self._cost, self._lower, self._upper = (np.array(column, dtype=float) for column in (cost, lower, upper))
        self._integer = np.zeros(len(cost), dtype=bool) if integer is None else np.array(integer, dtype=bool)
        self._sense = 1.0
        self._load(rows, row_lower, row_upper)

    def _load(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Load a program into the solver: these rows, and the columns that this object has stored."""

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Append rows, keeping the basis."""

    def set_bounds(self, columns: ColumnIndices, lower: FloatArray, upper: FloatArray) -> None:
        """Change bounds of some columns, keeping the basis."""
        self._lower[columns], self._upper[columns] = lower, upper

    def set_cost(self, columns: ColumnIndices, cost: FloatArray) -> None:
        """Change the objective of some columns, keeping the basis."""
        self._cost[columns] = cost

    def suggest(self, primal: FloatArray) -> None:
        """Give a solution of the integer program, from which the next solve starts."""

    def maximize(self, yes: bool) -> None:
        """Choose the direction of the objective."""
        self._sense = -1.0 if yes else 1.0

    def restart(self) -> None:
        """Discard the basis: the next solve starts from the slack basis."""

    def basis(self) -> Basis:
        """The basis at the end of the last solve."""

    def correction(self, residual: FloatArray) -> FloatArray | None:
        """The change of the last solve's basic columns that changes the rows by ``residual``; None if it is not known."""

    def start_from(self, basis: Basis) -> None:
        """Start the next solve from a basis of the same model."""

    def solve(
        self, time_limit: float | None = None, steps: int | None = None, gap: float = 0.0, nodes: int | None = None
    ) -> Solution:
        """Solve from the last basis, within limits of seconds, simplex iterations (``steps``) and branching ``nodes`` if given.

        An integer program is solved if its best solution differs from its bound by at most ``gap``, as a share.
        """


def lagrangian_bound(
    cost: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rows: sparse.csr_array,
    row_lower: FloatArray,
    row_upper: FloatArray,
    dual: FloatArray,
) -> float:
    """A lower bound on the objective that no error of a solver invalidates: the minimum of the Lagrangian over the columns.

    The multipliers are ``dual`` or ``−dual``, whichever gives the larger minimum; −∞ if both minima are.
    """
    best = -np.inf
    for multiplier in (dual, -dual):
        least, most = np.where(np.isinf(row_upper), 0.0, -np.inf), np.where(np.isinf(row_lower), 0.0, np.inf)
        multiplier = np.clip(multiplier, least, most)
        reduced = cost - rows.T @ multiplier
        end = np.where(reduced > 0, lower, upper)
        unbounded = np.isinf(end)
        if np.any(np.abs(reduced[unbounded]) > NEGLIGIBLE_REDUCED_COST):
            continue
        used = multiplier != 0
        side = np.where(multiplier > 0, row_lower, row_upper)[used]
        best = max(best, float(reduced[~unbounded] @ end[~unbounded]) + float(multiplier[used] @ side))
    return best
