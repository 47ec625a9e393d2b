"""The integer program of controlled rounding: additive multiples near to the true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.inference.max_flow import network
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.rounding.grid import RoundingGrid
from discreet.problem import Status
from discreet.progress import Budget
from discreet.solvers import Outcome, lagrangian_bound, new_model

ROUNDING_TOLERANCE = 1e-6  # a solution of a solver is integral if it is this near to integers


@dataclass(frozen=True)
class FoundRounding:
    """The steps of each cell, None if no rounding is found, and a lower bound on the deviation of all roundings."""

    outcome: Outcome
    steps: FloatArray | None
    bound: float


class RoundingProgram:
    """Each column is a run of steps of a cell along which the deviation is linear; the columns of a cell add up.

    A cell that is no multiple and is rounded to the multiple below or above has one binary column. The deviation is convex, so
    that cheaper runs are used first. Only ``cells`` are rounded; all others stay at ``start``.
    """

    def __init__(self, grid: RoundingGrid, cells: BoolArray | None = None, start: FloatArray | None = None) -> None:
        self.grid, table, base, part = grid, grid.problem.table, grid.multiples.base, grid.multiples.part
        suppressed = grid.problem.status == Status.SUPPRESSED
        least, most = grid.least, grid.most
        self.origin = np.where(suppressed, 0.0, least)
        if cells is not None and start is not None:
            self.origin = np.where(cells, self.origin, start)
            least, most = (np.where(cells, end, start) for end in (least, most))
        runs = [
            (np.minimum(most, 0.0) - np.minimum(least, 0.0), np.full(len(part), -1.0)),
            (np.clip(most, 0.0, 1.0) - np.clip(least, 0.0, 1.0), np.where(part > 0, 1 - 2 * part, 1.0)),
            (np.maximum(most, 1.0) - np.maximum(least, 1.0), np.ones(len(part))),
        ]
        rounded, free = ~suppressed & (least < most), np.flatnonzero(suppressed & (least < most))
        at = [np.flatnonzero(rounded & (length > 0)) for length, _ in runs]
        self.cell: IntArray = np.concatenate([*at, free])
        sizes = [len(cells_of_run) for cells_of_run in at]
        self._runs = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])  # columns, the cheaper ones of a cell first
        self.unit = float(base[self.cell].max(initial=0.0)) or 1.0
        length, slope = (np.concatenate([run[k][where] for run, where in zip(runs, at, strict=True)]) for k in (0, 1))
        self.cost = np.r_[slope, np.zeros(len(free))] * base[self.cell] / self.unit
        self.length = np.r_[length, np.full(len(free), np.inf)]
        self.lower = np.r_[np.zeros(len(length)), np.full(len(free), -np.inf)]
        self.relations = table.relations
        each, factor = _units(grid)
        weights = sparse.csr_array(table.relations @ sparse.diags_array(factor, format="csr"))
        rhs = table.rhs / each - weights @ (grid.multiples.floor + self.origin)
        rhs = np.where(np.abs(rhs - np.rint(rhs)) < ROUNDING_TOLERANCE, np.rint(rhs), rhs)
        self.rows = sparse.csr_array(weights[:, self.cell])
        needed = (np.diff(self.rows.indptr) > 0) | (rhs != 0)
        self.rows, self.rhs = sparse.csr_array(self.rows[needed]), rhs[needed]
        self.cuts: list[Cut] = []

    def is_network(self) -> bool:
        """Whether all vertices of the linear program are roundings: relations of a network, and one base."""
        base = self.grid.multiples.base
        return not len(base) or bool(np.ptp(base) == 0 and network(self.relations) is not None)

    def add(self, cuts: Sequence[Cut]) -> None:
        self.cuts += cuts

    @property
    def constant(self) -> float:
        """The deviation at the origin of all columns, in units."""
        base, part, rounded = self.grid.multiples.base, self.grid.multiples.part, self.grid.rounded
        return float((np.abs(self.origin - part) * base)[rounded].sum()) / self.unit

    def _all(self) -> tuple[FloatArray, FloatArray, FloatArray, sparse.csr_array, FloatArray, FloatArray]:
        """Costs and bounds of the columns, the rows and their bounds."""
        cuts, required = as_rows(self.cuts, len(self.origin))
        rows = sparse.csr_array(sparse.vstack([self.rows, cuts[:, self.cell]]))
        least, most = np.r_[self.rhs, required - cuts @ self.origin], np.r_[self.rhs, np.full(len(required), np.inf)]
        return self.cost, self.lower, self.length, rows, least, most

    def relaxed(self, budget: Budget, seed: int = 0) -> FoundRounding:
        """The linear program, by the simplex method; steps only if the solution is integral."""
        model = new_model(seed=seed)
        model.load(*self._all())
        solution = model.solve(budget.left)
        if not solution.optimal:
            return FoundRounding(solution.outcome, None, -np.inf)
        return FoundRounding(solution.outcome, self._steps(solution.primal), self._bound(solution.row_dual))

    def interior(self, budget: Budget) -> tuple[FloatArray, float]:
        """The steps of the linear program, by interior points, and a lower bound."""
        model = new_model(tolerance=ROUNDING_TOLERANCE, interior=True)
        model.load(*self._all())
        solution = model.solve(budget.left)
        if not solution.optimal:
            return self.grid.multiples.part, -np.inf
        return self._sums(solution.primal), self._bound(solution.row_dual)

    def solve(
        self,
        budget: Budget,
        seed: int = 0,
        *,
        gap: float | None = None,
        nodes: int | None = None,
        first: bool = False,
        start: FloatArray | None = None,
    ) -> FoundRounding:
        """The integer program; the ``first`` rounding found, or the cheapest."""
        model = new_model(seed=seed, solutions=1 if first else None)
        model.load(*self._all(), np.full(len(self.cell), True))
        if start is not None:
            model.suggest(self._columns(start))
        solution = model.solve(budget.left, gap=budget.gap if gap is None else gap, nodes=nodes)
        steps = None
        if solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED) and len(solution.primal) == len(self.cell):
            steps = self._steps(solution.primal)
        bound = (solution.bound + self.constant) * self.unit if solution.outcome is not Outcome.FAILED else -np.inf
        return FoundRounding(solution.outcome, steps, bound)

    def _bound(self, dual: FloatArray) -> float:
        """A lower bound on the deviation of all roundings, from multipliers of the rows."""
        return (lagrangian_bound(*self._all(), dual) + self.constant) * self.unit

    def _sums(self, primal: FloatArray) -> FloatArray:
        """The steps of each cell."""
        return self.origin + np.bincount(self.cell, primal, minlength=len(self.origin))

    def _steps(self, primal: FloatArray) -> FloatArray | None:
        """The solution as a rounding; None if it is not integral."""
        nearest = np.rint(primal)
        wrong = (nearest < self.lower) | (nearest > self.length)
        wrong |= np.abs(primal - nearest) > 10 * ROUNDING_TOLERANCE
        if np.any(wrong) or np.any(np.abs(self.rows @ nearest - self.rhs) > ROUNDING_TOLERANCE):
            return None
        return self._sums(nearest)

    def _columns(self, steps: FloatArray) -> FloatArray:
        """The columns that add up to these steps: of each cell the cheaper ones first."""
        left = steps - self.origin
        primal = left[self.cell]
        for run in self._runs:
            primal[run] = np.clip(left[self.cell[run]], 0.0, self.length[run])
            left[self.cell[run]] -= primal[run]
        return primal


def _units(grid: RoundingGrid) -> tuple[float, FloatArray]:
    """A unit in which all bases are integers, if there is one, and the bases in this unit."""
    base, scale = grid.multiples.base, grid.multiples.scale
    if not len(base) or np.ptp(base) == 0:
        return float(base[0]) if len(base) else 1.0, np.ones(len(base))
    if scale is None:
        return 1.0, base
    integers = np.rint(base * scale).astype(np.int64)
    unit = int(np.gcd.reduce(integers))
    return unit / scale, integers / unit
