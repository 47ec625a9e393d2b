"""The protocol of solvers: a model is loaded once, changed and solved repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray

ColumnIndices = NDArray[np.integer]


class Outcome(Enum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    STOPPED = "stopped"  # by a limit or an interrupt; primal is the best point found, if any
    FAILED = "failed"  # nothing in the solution is reliable


@dataclass(frozen=True, eq=False)
class Basis:
    """A simplex basis: the statuses of columns and rows in the codes of the solver."""

    columns: NDArray[np.int8]
    rows: NDArray[np.int8]


@dataclass(frozen=True)
class Solution:
    """The result of a solve. Its arrays are copies, which stay the same when the model changes.

    For both directions of the objective, the row dual is the change of the objective if both sides of the row increase by one.
    """

    outcome: Outcome
    objective: float
    primal: FloatArray
    row_dual: FloatArray
    bound: float  # on the objective; equal to it for solved linear programs
    ray: FloatArray | None  # an unbounded direction, if the program is unbounded
    iterations: int

    @property
    def optimal(self) -> bool:
        return self.outcome is Outcome.OPTIMAL


class Model(Protocol):
    """A linear or mixed-integer program: min or max cost·x, rows within bounds, columns within bounds."""

    name: str

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
        integer: BoolArray | None = None,
    ) -> None:
        """Replace the whole model."""

    def add_rows(self, rows: sparse.csr_array, lower: FloatArray, upper: FloatArray) -> None:
        """Append rows, keeping the basis."""

    def set_bounds(self, columns: ColumnIndices, lower: FloatArray, upper: FloatArray) -> None:
        """Change bounds of some columns, keeping the basis."""

    def set_cost(self, columns: ColumnIndices, cost: FloatArray) -> None:
        """Change the objective of some columns, keeping the basis."""

    def suggest(self, primal: FloatArray) -> None:
        """Give a solution of the integer program, from which the next solve starts."""

    def maximize(self, yes: bool) -> None:
        """Choose the direction of the objective."""

    def restart(self) -> None:
        """Discard the basis: the next solve starts from the slack basis."""

    def basis(self) -> Basis:
        """The basis at the end of the last solve."""

    def correction(self, residual: FloatArray) -> FloatArray | None:
        """The change of the basic columns of the last solve that produces this residual of the rows."""

    def start_from(self, basis: Basis) -> None:
        """Start the next solve from a basis of the same model."""

    def solve(
        self,
        time_limit: float | None = None,
        steps: int | None = None,
        gap: float = 0.0,
        nodes: int | None = None,
    ) -> Solution:
        """Solve from the last basis, within limits of seconds, simplex iterations (``steps``) and branches (``nodes``) if given.

        An integer program counts as solved if the relative difference between its best solution and its bound is at most
        ``gap``.
        """
