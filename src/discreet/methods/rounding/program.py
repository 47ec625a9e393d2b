"""The integer program of controlled rounding: multiples that add up, near to the truth."""

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
from discreet.solvers import Model, Outcome, lagrangian_bound, new_model

WHOLE = 1e-6  # a solver's whole numbers are this near to one


@dataclass(frozen=True)
class FoundRounding:
    """A rounding, if there is one: steps of every cell, and what no other one can cost less than."""

    outcome: Outcome
    steps: FloatArray | None
    bound: float


class RoundingProgram:
    """Each column is a run of steps of a cell between which the deviation grows evenly; those of a cell add up.

    For a cell that is no multiple and goes to the next one below or above that is one binary column. Costs grow from run to
    run, so that the cheaper ones are used up first. ``cells`` may be rounded, all others stay where they are: at ``start``.
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
        rounded = ~suppressed & (least < most)
        at = [np.flatnonzero(rounded & (length > 0)) for length, _ in runs]
        free = np.flatnonzero(suppressed & (least < most))
        self.cell: IntArray = np.concatenate([*at, free])
        self.unit = float(base[self.cell].max(initial=0.0)) or 1.0
        slopes = [slope[where] for (_, slope), where in zip(runs, at, strict=True)]
        self.cost = np.concatenate([*slopes, np.zeros(len(free))]) * base[self.cell] / self.unit
        lengths = [length[where] for (length, _), where in zip(runs, at, strict=True)]
        self.length = np.concatenate([*lengths, np.full(len(free), np.inf)])
        self.lower = np.r_[np.zeros(len(self.cell) - len(free)), np.full(len(free), -np.inf)]
        self.relations = table.relations
        each, factor = _units(grid)
        weights = sparse.csr_array(table.relations @ sparse.diags_array(factor, format="csr"))
        rhs = table.rhs / each - weights @ (grid.multiples.floor + self.origin)
        rhs = np.where(np.abs(rhs - np.rint(rhs)) < WHOLE, np.rint(rhs), rhs)
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
        """What the steps at the start of all columns cost, in units."""
        base, part, told = self.grid.multiples.base, self.grid.multiples.part, self.grid.told
        return float((np.abs(self.origin - part) * base)[told].sum()) / self.unit

    def _all(self) -> tuple[FloatArray, FloatArray, FloatArray, sparse.csr_array, FloatArray, FloatArray]:
        """The whole program: costs and bounds of columns, rows and their bounds."""
        cuts, required = as_rows(self.cuts, len(self.origin))
        rows = sparse.csr_array(sparse.vstack([self.rows, cuts[:, self.cell]]))
        least, most = np.r_[self.rhs, required - cuts @ self.origin], np.r_[self.rhs, np.full(len(required), np.inf)]
        return self.cost, self.lower, self.length, rows, least, most

    def _load(self, model: Model, integer: bool) -> None:
        model.load(*self._all(), np.full(len(self.cell), integer))

    def relaxed(self, budget: Budget, seed: int = 0) -> FoundRounding:
        """The linear program, by the simplex method; steps only if they are whole numbers."""
        model = new_model(seed=seed)
        self._load(model, integer=False)
        solution = model.solve(budget.left)
        bound = self._bound(solution.row_dual) if solution.optimal else -np.inf
        return FoundRounding(solution.outcome, self._steps(solution.primal) if solution.optimal else None, bound)

    def interior(self, budget: Budget) -> tuple[FloatArray, float]:
        """The linear program by interior points: where cells would like to go, and a bound."""
        model = new_model(tolerance=WHOLE, interior=True)
        self._load(model, integer=False)
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
        """The integer program; with ``first`` any rounding will do."""
        model = new_model(seed=seed, solutions=1 if first else None)
        self._load(model, integer=True)
        if start is not None:
            model.suggest(self._columns(start))
        solution = model.solve(budget.left, gap=budget.gap if gap is None else gap, nodes=nodes)
        steps = None
        if solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED) and len(solution.primal) == len(self.cell):
            steps = self._steps(solution.primal)
        bound = (solution.bound + self.constant) * self.unit if solution.outcome is not Outcome.FAILED else -np.inf
        return FoundRounding(solution.outcome, steps, bound)

    def _bound(self, dual: FloatArray) -> float:
        """What no rounding costs less than, from prices of the rows."""
        return (lagrangian_bound(*self._all(), dual) + self.constant) * self.unit

    def _sums(self, primal: FloatArray) -> FloatArray:
        return self.origin + np.bincount(self.cell, primal, minlength=len(self.origin))

    def _steps(self, primal: FloatArray) -> FloatArray | None:
        """The solution as a rounding; None if it is none."""
        whole = np.rint(primal)
        outside = (whole < self.lower) | (whole > self.length) | (np.abs(primal - whole) > 10 * WHOLE)
        if np.any(outside) or np.any(np.abs(self.rows @ whole - self.rhs) > WHOLE):
            return None
        return self._sums(whole)

    def _columns(self, steps: FloatArray) -> FloatArray:
        """The columns that add up to these steps: of each cell the cheaper ones first."""
        left = (steps - self.origin)[self.cell]
        found = np.zeros(len(self.cell))
        endless = np.isinf(self.length)
        found[endless] = left[endless]
        # Columns of a cell come in the order of their costs.
        used = np.zeros(len(steps))
        order = np.lexsort((self.cost, self.cell))
        for rank in range(3):
            nth = order[_rank_within(self.cell[order]) == rank]
            nth = nth[~endless[nth]]
            found[nth] = np.clip(left[nth] - used[self.cell[nth]], 0.0, self.length[nth])
            used[self.cell[nth]] += found[nth]
        return found


def _units(grid: RoundingGrid) -> tuple[float, FloatArray]:
    """Relations in a unit in which the bases are whole numbers, if there is one: the unit, and each base in it."""
    base, scale = grid.multiples.base, grid.multiples.scale
    if not len(base) or np.ptp(base) == 0:
        return float(base[0]) if len(base) else 1.0, np.ones(len(base))
    if scale is None:
        return 1.0, base
    whole = np.rint(base * scale).astype(np.int64)
    common = int(np.gcd.reduce(whole))
    return common / scale, whole / common


def _rank_within(sorted_groups: IntArray) -> IntArray:
    """0, 1, … within each run of equal numbers."""
    new = np.r_[True, sorted_groups[1:] != sorted_groups[:-1]][: len(sorted_groups)]
    begin = np.flatnonzero(new)
    return np.arange(len(sorted_groups)) - np.repeat(begin, np.diff(np.r_[begin, len(sorted_groups)]))
