"""The program that chooses the published table: changes that add up, within windows, at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.inference.integer_system import integer_weights
from discreet.methods.core.blocks import BlockProgram, side_by_side
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.perturbation.windows import Senses, Windows
from discreet.problem import Status
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution, lagrangian_bound

MAX_INTEGRAL_CELLS = 60  # cells of a program that is solved in integers at once: larger ones take too long
MAX_INTEGRAL_CHANGE = 1e6  # units: with larger integers the solver does not end
ROUNDING_DISTANCES = (1.0, 3.0, np.inf)  # units around a fractional solution, searched in turn for integral tables
CHANGE_TOLERANCE = 1e-6  # of a unit: solvers are not more exact
MAX_CUT_SHORTFALL = 5e-8  # share of a level: less than the tolerance of audits
ROUNDED_SHARE = 0.3  # share of the fractional cells that are rounded at a time: few enough that the others can follow
ROUNDING_GAP = 1e-4  # share of the cost that may be left open by rounding: a smaller gap is not worth the time


@dataclass(frozen=True, eq=False)
class FoundTable:
    """Changes in units, their cost, and a lower bound on the cost of all tables."""

    change: IntArray
    cost: float
    bound: float
    finished: bool  # not stopped by a limit


class TableMaster(BlockProgram):
    """Columns ``up`` and ``down``: changes from a reference, of cells that can change; then binaries of senses and of changes."""

    def __init__(
        self,
        windows: Windows,
        weight: FloatArray,
        *,
        reference: FloatArray | None = None,
        senses: Senses | None = None,
        at_most: int | None = None,
        seed: int = 0,
        anything: bool = False,  # costs are ignored: any table is accepted
        plain: bool = False,  # fractions are allowed
        squares: bool = False,  # costs are on one further column per cell, for its squared change
        interior: bool = False,  # large programs: a solution near the optimum that need not be a vertex
    ) -> None:
        super().__init__()
        self.windows = windows
        self.cells = np.flatnonzero(windows.low < windows.high)
        self.n = len(self.cells)
        self.reference = np.zeros(len(weight)) if reference is None else reference
        self.fixed = np.where(windows.low == windows.high, windows.low, 0.0)
        self._origin = self.fixed.copy()  # the changes if all columns are 0
        self._origin[self.cells] = self.reference[self.cells]
        self.weight = weight
        self.relations = integer_weights(windows.problem.table.relations)
        self._exact = sparse.csr_array(self.relations, dtype=np.int64)
        nothing = np.zeros(0)
        self.senses = Senses(nothing.astype(np.int64), nothing, nothing) if senses is None else senses
        self.at_most, self.seed = at_most, seed
        self.cuts: list[Cut] = []
        sizes = np.concatenate([-windows.low, windows.high])
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        usual = np.median(sizes) if len(sizes) else 1.0
        small = self.n <= MAX_INTEGRAL_CELLS and sizes.max(initial=0.0) <= MAX_INTEGRAL_CHANGE
        self._integral = small and not squares and not plain
        self.scale = 1.0 if self._integral else 10.0 ** max(0.0, np.floor(np.log10(usual)) - 1)
        costly = weight[self.cells]
        self.money = float(np.median(costly[costly > 0])) if np.any(costly > 0) else 1.0
        cost = costly / self.money * (not anything)
        lower, upper = self.model_bounds()
        self.columns(lower, upper, np.tile(cost * self.scale * (not squares), 2), self._integral)
        self._add_relations()
        self._add_senses()
        if at_most is not None:
            self._add_count(at_most)
        if squares:
            self.columns(np.zeros(self.n), np.full(self.n, np.inf), cost)
        self.load(seed, interior=interior)

    def _add_relations(self) -> None:
        """Changes satisfy the relations."""
        keep = sparse.csr_array(self.relations[:, self.cells])
        start = -(self.relations @ self._origin) / self.scale
        used = np.diff(keep.indptr) > 0
        if np.any(start[~used] != 0):
            raise Infeasible
        self._balance, self._start = side_by_side([(0, keep[used]), (self.n, -keep[used])], 2 * self.n), start[used]
        self.rows([(0, self._balance)], self._start, self._start)

    def _add_senses(self) -> None:
        """One binary b per sense: ``U b ≤ up ≤ high b`` and ``L (1 − b) ≤ down ≤ −low (1 − b)``."""
        senses, n, k = self.senses, self.n, len(self.senses.cells)
        if not k:
            return
        pick = sparse.eye_array(n, format="csr")[np.searchsorted(self.cells, senses.cells)]
        binary = self.columns(np.zeros(k), np.ones(k), integral=True)
        largest = (-self.windows.low[senses.cells], self.windows.high[senses.cells])
        up, down, bottom, top = (length / self.scale for length in (senses.up, senses.down, *largest))
        self.rows([(0, pick), (binary, sparse.diags_array(-up))], 0.0)
        self.rows([(0, pick), (binary, sparse.diags_array(-top))], most=0.0)
        self.rows([(n, pick), (binary, sparse.diags_array(down))], down)
        self.rows([(n, pick), (binary, sparse.diags_array(bottom))], most=bottom)

    def _add_count(self, at_most: int) -> None:
        """One binary x per cell: ``low x ≤ change ≤ high x`` for cells that count, and a limit on the sum of ``x``."""
        n, counts = self.n, self.weight[self.cells] > 0
        each, start = sparse.eye_array(n, format="csr")[counts], -self.reference[self.cells][counts] / self.scale
        low, high = (
            sparse.diags_array(-end[self.cells] / self.scale, format="csr")[counts]
            for end in (self.windows.low, self.windows.high)
        )
        binary = self.columns(np.zeros(n), np.ones(n), integral=True)
        self.rows([(0, each), (n, -each), (binary, high)], most=start)
        self.rows([(0, each), (n, -each), (binary, low)], start)
        changed = int(np.count_nonzero(self.fixed[self.windows.problem.status != Status.SUPPRESSED]))
        self.rows([(binary, counts[np.newaxis].astype(float))], most=at_most - changed)

    # -- solving ---------------------------------------------------------------------------------------------

    def add(self, cuts: Sequence[Cut]) -> None:
        self.cuts += cuts
        if cuts:
            rows, least = as_rows(cuts, len(self.weight))
            changes = rows[:, self.cells] * self.scale
            self.rows([(0, changes), (self.n, -changes)], least - rows @ self._origin)

    def relaxed_senses(self) -> BoolArray:
        """Whether each sense is nearer to up in the linear relaxation; raises :class:`Infeasible`."""
        self.load(self.seed, relaxed=True)
        solution = self.model.solve()
        if not solution.optimal:
            raise Infeasible
        return np.asarray(solution.primal[2 * self.n : 2 * self.n + len(self.senses.cells)] > 0.5)

    def interior(self, budget: Budget) -> tuple[FloatArray | None, float]:
        """Fractional changes at about the least cost, if there is time, and a lower bound on the cost of all tables."""
        solution = self.model.solve(budget.left)
        if not solution.optimal:
            return None, self._certain
        cost = np.tile(self.weight[self.cells] / self.money * self.scale, 2)
        bound = lagrangian_bound(cost, *self.model_bounds(), self._balance, self._start, self._start, solution.row_dual)
        return self._change(solution), max(bound, 0.0) * self.money + self._certain

    @property
    def _certain(self) -> float:
        """The cost of the changes that are given."""
        return float(self.weight @ np.abs(self._origin - self.reference))

    def _change(self, solution: Solution) -> FloatArray:
        """The change of each cell in a solution."""
        change = self._origin.copy()
        change[self.cells] += (solution.primal[: self.n] - solution.primal[self.n : 2 * self.n]) * self.scale
        return change

    def solve(self, budget: Budget, start: IntArray | None = None) -> FoundTable:
        """The cheapest integral table, or one near the cheapest fractional one; raises :class:`Infeasible`."""
        is_mip = self._integral or self.width > 2 * self.n
        if start is not None and is_mip:
            self.model.suggest(self._solution_of(start))
        solution = self.model.solve(budget.left, gap=budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        if solution.outcome is Outcome.FAILED:
            raise ArithmeticError("The solver failed.")
        found = len(solution.primal) == self.width and solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED)
        if not found or not np.isfinite(solution.objective):
            raise NoSafePatternError("The time limit ended before there was a table to publish. Allow more time.")
        change = self._rounded(solution, budget)
        cost = float(self.weight @ np.abs(change - self.reference))
        finished = solution.outcome is Outcome.OPTIMAL
        proven = solution.bound if (finished or is_mip) and np.isfinite(solution.bound) else 0.0
        return FoundTable(change, cost, min(max(proven, 0.0) * self.money + self._certain, cost), finished)

    def _solution_of(self, change: IntArray) -> FloatArray:
        difference = (change - self.reference)[self.cells] / self.scale
        columns = [np.maximum(difference, 0.0), np.maximum(-difference, 0.0), change[self.senses.cells] > 0]
        if self.at_most is not None:
            columns.append((change[self.cells] != 0) & (self.weight[self.cells] > 0))
        return np.concatenate(columns, dtype=float)

    def _rounded(self, solution: Solution, budget: Budget) -> IntArray:
        """The solution if it is integral; else a cheap integral table near it."""
        change = self._change(solution)
        near = np.rint(change)
        adds_up = not np.any(self._exact @ near.astype(np.int64))
        if adds_up and all(cut.shortfall(near) <= MAX_CUT_SHORTFALL for cut in self.cuts):
            return near.astype(np.int64)
        chosen = self._chosen(solution)
        fractional = np.abs(change - near) > CHANGE_TOLERANCE * np.maximum(self.scale, 1.0)
        found = self._nearest(near, np.flatnonzero(fractional), 1.0, chosen, budget)
        if found is None:
            found = self._dive(chosen, budget)
        for distance in ROUNDING_DISTANCES:
            if found is None:
                found = self._nearest(near, self.cells, distance, chosen, budget)
        if found is None:
            raise NoSafePatternError("The time limit ended before there was a table of round numbers. Allow more time.")
        return found

    def _nearest(
        self, near: FloatArray, cells: IntArray, distance: float, windows: Windows, budget: Budget
    ) -> IntArray | None:
        """The cheapest integral table that differs from ``near`` in some cells, by a distance; None if none is found."""
        start, k, at = near.astype(np.int64), len(cells), near[cells]
        low = np.maximum(windows.low[cells], at - distance) - at
        high = np.minimum(windows.high[cells], at + distance) - at
        keep = sparse.csr_array(self.relations[:, cells])
        residual = -(self._exact @ start).astype(float)
        used = np.diff(keep.indptr) > 0
        if not k or np.any(low > high) or np.any(residual[~used] != 0):
            return None
        # The cost of one unit as long as the difference to the reference keeps its sign, which one unit hardly ever turns.
        weight = self.weight / self.money
        difference, slope = at - self.reference[cells], weight[cells]
        program, cuts = BlockProgram(), as_rows(self.cuts, len(near))
        up = np.where(difference >= 0, slope, -slope)
        program.columns(np.maximum(low, 0.0), np.maximum(high, 0.0), up, integral=True)
        down = np.where(difference <= 0, slope, -slope)
        program.columns(np.maximum(-high, 0.0), np.maximum(-low, 0.0), down, integral=True)
        # The last column is the cost of the table so far, so that gaps are shares of the total cost.
        program.columns(np.ones(1), np.ones(1), float(weight @ np.abs(near - self.reference)))
        program.rows([(0, keep[used]), (k, -keep[used])], residual[used], residual[used])
        program.rows([(0, cuts[0][:, cells]), (k, -cuts[0][:, cells])], cuts[1] - cuts[0] @ near)
        program.load(self.seed)
        left = None if budget.left is None else max(budget.left, 1.0)
        found = program.model.solve(left, gap=max(budget.gap, ROUNDING_GAP))
        if len(found.primal) != program.width or found.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED):
            return None
        change = start.copy()
        change[cells] += np.rint(found.primal[:k] - found.primal[k : 2 * k]).astype(np.int64)
        return None if np.any(self._exact @ change) else change

    def _dive(self, windows: Windows, budget: Budget) -> IntArray | None:
        """Fractional changes of the finest cells are rounded and fixed, some at a time; all others follow."""
        lp = TableMaster(windows, self.weight, reference=self.reference, seed=self.seed, plain=True)
        lp.add(self.cuts)
        base = windows.problem.table.is_base[lp.cells]
        share, fixed = ROUNDED_SHARE, list[IntArray]()
        bounds = lp.model_bounds()
        while share > ROUNDED_SHARE / 100 and not budget.over:
            solution = lp.model.solve()
            if not solution.optimal:
                if not fixed:
                    return None
                last, share = fixed.pop(), share / 4
                for column in (last, last + lp.n):
                    lp.model.set_bounds(column, bounds[0][column], bounds[1][column])
                continue
            change = lp._change(solution)
            rounded = np.rint(change)
            off = np.abs(change - rounded)[lp.cells]
            fractional = np.flatnonzero(off > CHANGE_TOLERANCE * lp.scale)
            if not len(fractional):
                done = rounded.astype(np.int64)
                return None if np.any(self._exact @ done) else done
            finest = fractional[base[fractional]] if base[fractional].any() else fractional
            last = finest[np.argsort(off[finest], kind="stable")[: max(1, int(share * len(finest)))]]
            difference = (rounded - self.reference)[lp.cells[last]] / lp.scale
            for column, value in ((last, np.maximum(difference, 0.0)), (last + lp.n, np.maximum(-difference, 0.0))):
                lp.model.set_bounds(column, value, value)
            fixed.append(last)
        return None

    def model_bounds(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of the columns ``up`` and ``down``, in the scale of the program."""
        reference = self.reference[self.cells]
        low, high = self.windows.low[self.cells] - reference, self.windows.high[self.cells] - reference
        lower, upper = np.r_[low, -high], np.r_[high, -low]
        return np.maximum(lower, 0.0) / self.scale, np.maximum(upper, 0.0) / self.scale

    def _chosen(self, solution: Solution) -> Windows:
        """The windows with the senses of a solution, and without change for the cells that do not change in it."""
        chosen, senses = solution.primal[2 * self.n :] > 0.5, len(self.senses.cells)
        windows = self.windows.directed(self.senses, chosen[:senses])
        if self.at_most is None:
            return windows
        return windows.pinned(self.cells[~chosen[senses:] & (self.weight[self.cells] > 0)], 0.0)
