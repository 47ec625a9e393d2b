"""What every solver offers: load once, change a little, solve again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray

ColumnIndices = NDArray[np.integer]


class Outcome(Enum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    STOPPED = "stopped"  # a limit or an interrupt; primal holds the best point if there is one
    FAILED = "failed"  # the solver gave up; nothing in the solution can be relied on


@dataclass(frozen=True, eq=False)
class Basis:
    """Where a simplex method stands, to go back to: the solver's own codes for columns and rows."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


@dataclass(frozen=True)
class Solution:
    """Copies, never views: the model may change after it was read.

    Signs of duals, whatever the direction of the objective: reduced cost = cost − rowsᵀ · row dual, and the row dual is by how
    much the objective changes if both sides of the row grow by one.
    """

    outcome: Outcome
    objective: float
    primal: FloatArray
    row_dual: FloatArray
    reduced_cost: FloatArray
    bound: float  # on the objective; equals it for solved linear programs
    ray: FloatArray | None  # a direction without end, when unbounded
    iterations: int

    @property
    def optimal(self) -> bool:
        return self.outcome is Outcome.OPTIMAL


class Model(Protocol):
    """A linear or mixed-integer program: min or max cost·x, rows within bounds, columns within bounds."""

    name: str
    keeps_basis: (
        bool  # whether a simplex basis can be read, started from and solved with, as series of linear programs need
    )

    def __init__(
        self,
        simplex: Literal["primal", "dual"],
        *,
        tolerance: float,
        seed: int,
        interior: bool,
        solutions: int | None,
    ) -> None:
        """An empty model; see :func:`discreet.solvers.new_model`."""

    def load(
        self,
        cost: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        rows: sparse.csr_array,
        row_lower: FloatArray,
        row_upper: FloatArray,
        integer: NDArray[np.bool_] | None = None,
    ) -> None:
        """Replace the whole model."""

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Append constraints, keeping the basis."""

    def set_bounds(self, columns: ColumnIndices, lower: FloatArray, upper: FloatArray) -> None:
        """Change bounds of some columns, keeping the basis."""

    def set_cost(self, columns: ColumnIndices, cost: FloatArray) -> None:
        """Change the objective of some columns, keeping the basis."""

    def suggest(self, primal: FloatArray) -> None:
        """A solution of the integer program to start from."""

    def maximize(self, yes: bool) -> None:
        """Choose the direction of the objective."""

    def restart(self) -> None:
        """Forget the basis: start the next solve from all slacks."""

    def basis(self) -> Basis:
        """Where the last solve ended."""

    def correction(self, residual: FloatArray) -> FloatArray | None:
        """By how much the columns of the last basis would have to move to take up a residual of the rows."""

    def start_from(self, basis: Basis) -> None:
        """Start the next solve from a basis of the same model."""

    def solve(
        self,
        time_limit: float | None = None,
        steps: int | None = None,
        gap: float = 0.0,
        nodes: int | None = None,
    ) -> Solution:
        """Solve from where the last solve ended, within seconds, simplex iterations or branches (``nodes``) if given.

        An integer program is solved once the best solution is known to be within this share of the best possible.
        """
