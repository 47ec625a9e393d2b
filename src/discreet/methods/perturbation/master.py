"""The program that chooses the published table: changes that add up, within windows, at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.inference.integer_system import integer_weights
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.perturbation.rounding import nearest
from discreet.methods.perturbation.rows import Senses, count_rows, sense_rows
from discreet.methods.perturbation.windows import Windows
from discreet.problem import Status
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution, lagrangian_bound, new_model

SMALL = 60  # cells up to which whole numbers are asked for at once, so that the optimum is exact
FAR = 1e6  # units that a cell may change by, beyond which solvers lose themselves in whole numbers
AROUND = (1.0, 3.0, np.inf)  # units that cells may be off the solution with fractions, one after the other
NEAR = 1e-6  # of a unit: solvers mean whole numbers
VIOLATED = 5e-8  # share of a level: less than what audits let pass
BATCH = 0.3  # share of the fractions that are rounded at a time
PROVEN = 1e-6  # share of the cost that a solver may leave open


@dataclass(frozen=True, eq=False)
class FoundTable:
    """Changes in units, and what no others can cost less than."""

    change: IntArray
    cost: float
    bound: float
    finished: bool  # not stopped by a limit


class TableMaster:
    """Columns ``up`` and ``down`` for each cell that can change, from a reference; then binaries of senses and of changes."""

    def __init__(
        self,
        windows: Windows,
        weight: FloatArray,
        *,
        reference: FloatArray | None = None,
        senses: Senses | None = None,
        at_most: int | None = None,
        seed: int = 0,
        anything: bool = False,  # the first table will do
        plain: bool = False,  # whole numbers are not asked for
        squares: bool = False,  # slack for a column more a cell, which alone costs something
        interior: bool = False,  # large programs: values near the best, not a corner
    ) -> None:
        self.windows = windows
        self.cells = np.flatnonzero(windows.low < windows.high)
        self.fixed = np.where(windows.low == windows.high, windows.low, 0.0)
        self.reference = np.zeros(len(weight)) if reference is None else reference
        self.weight = weight
        self.relations = integer_weights(windows.problem.table.relations)
        self.senses, self.at_most, self.seed = senses, at_most, seed
        self.cuts: list[Cut] = []
        self.n = len(self.cells)
        self._squares = squares
        self._anything = anything
        self._interior = interior
        sizes = np.concatenate([-windows.low, windows.high])
        sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
        usual = np.median(sizes) if len(sizes) else 1.0
        self.whole = self.n <= SMALL and sizes.max(initial=0.0) <= FAR and not squares and not plain
        self.scale = 1.0 if self.whole else 10.0 ** max(0.0, np.floor(np.log10(usual)) - 1)
        costly = weight[self.cells]
        self.money = float(np.median(costly[costly > 0])) if np.any(costly > 0) else 1.0
        self._load()

    def _load(self, relaxed: bool = False) -> None:
        low, high = (bound[self.cells] for bound in (self.windows.low, self.windows.high))
        ref, n = self.reference[self.cells], self.n
        cost = self.weight[self.cells] / self.money * (not self._anything)
        lower, upper = self.model_bounds()
        keep = sparse.csr_array(self.relations[:, self.cells])
        start = -(self.relations @ (self.fixed + np.where(self._moves(), self.reference, 0.0)))
        used = np.diff(keep.indptr) > 0
        if np.any(start[~used] != 0):
            raise Infeasible
        keep, start = sparse.csr_array(keep[used]), start[used]
        rows, least, most = [sparse.hstack([keep, -keep])], [start / self.scale], [start / self.scale]
        binaries = 0
        blocks: list[sparse.csr_array] = []
        if self.senses is not None and len(self.senses.cells):
            block, sense_least, sense_most = sense_rows(
                self.senses, self.cells, low / self.scale, high / self.scale, self.scale
            )
            rows.append(block[:, : 2 * n])
            blocks.append(sparse.csr_array(block[:, 2 * n :]))
            least.append(sense_least)
            most.append(sense_most)
            binaries += len(self.senses.cells)
        self.first_change = 2 * n + binaries
        if self.at_most is not None:
            left = self.at_most - int(np.count_nonzero(self.fixed[self.windows.problem.status != Status.SUPPRESSED]))
            block, count_least, count_most = count_rows(
                low / self.scale, high / self.scale, ref / self.scale, self.weight[self.cells] > 0, left
            )
            rows.append(block[:, : 2 * n])
            blocks.append(sparse.csr_array(block[:, 2 * n :]))
            least.append(count_least)
            most.append(count_most)
            binaries += n
        moves = sparse.vstack(rows)
        chosen = (
            sparse.vstack([sparse.csr_array((keep.shape[0], binaries)), sparse.block_diag(blocks)]) if blocks else None
        )
        matrix = sparse.csr_array(moves if chosen is None else sparse.hstack([moves, chosen]))
        extra = np.zeros(0)
        if self._squares:
            cost, extra = np.zeros(n), cost
            matrix = sparse.csr_array(sparse.hstack([matrix, sparse.csr_array((matrix.shape[0], n))]))
        self.total = matrix.shape[1]
        integer = np.arange(self.total) >= (0 if self.whole else self.total if self._squares else 2 * n)
        self._matrix, self._rhs = matrix, np.concatenate(least)
        self.model = new_model(seed=self.seed, interior=self._interior)
        self.model.load(
            np.r_[cost * self.scale, cost * self.scale, np.zeros(binaries), extra],
            np.r_[lower, np.zeros(binaries + len(extra))],
            np.r_[upper, np.ones(binaries), np.full(len(extra), np.inf)],
            matrix,
            np.concatenate(least),
            np.concatenate(most),
            integer & (not relaxed),
        )

    def _moves(self) -> BoolArray:
        moves = np.zeros(len(self.weight), dtype=bool)
        moves[self.cells] = True
        return moves

    # -- solving ---------------------------------------------------------------------------------------------

    def add(self, cuts: Sequence[Cut]) -> None:
        self.cuts = [*self.cuts, *cuts]
        if cuts:
            rows, least = as_rows(cuts, len(self.weight))
            start = self.fixed + np.where(self._moves(), self.reference, 0.0)
            moving = rows[:, self.cells] * self.scale
            rest = sparse.csr_array((len(cuts), self.total - 2 * self.n))
            wide = sparse.csr_array(sparse.hstack([moving, -moving, rest]))
            self.model.add_rows(wide, least - rows @ start, np.full(len(cuts), np.inf))

    def lean(self) -> BoolArray:
        """Which senses are for up where they may be fractions; raises :class:`Infeasible`."""
        assert self.senses is not None
        self._load(relaxed=True)
        known, self.cuts = self.cuts, []
        self.add(known)
        solution = self.model.solve()
        if not solution.optimal:
            raise Infeasible
        return np.asarray(solution.primal[2 * self.n : 2 * self.n + len(self.senses.cells)] > 0.5)

    def interior(self, budget: Budget) -> tuple[FloatArray | None, float]:
        """Changes, with fractions, that cost about the least, if there is time; and what none can cost less than."""
        solution = self.model.solve(budget.left)
        if not solution.optimal:
            return None, self._certain
        cost = np.tile(self.weight[self.cells] / self.money * self.scale, 2)
        bound = lagrangian_bound(cost, *self.model_bounds(), self._matrix, self._rhs, self._rhs, solution.row_dual)
        return self._change(solution), max(bound, 0.0) * self.money + self._certain

    @property
    def _certain(self) -> float:
        """What cells cost that cannot move."""
        return float(self.weight @ np.abs(np.where(self._moves(), 0.0, self.fixed - self.reference)))

    def _change(self, solution: Solution) -> FloatArray:
        """The change of each cell in a solution."""
        change = self.fixed.copy()
        moved = (solution.primal[: self.n] - solution.primal[self.n : 2 * self.n]) * self.scale
        change[self.cells] = self.reference[self.cells] + moved
        return change

    def solve(self, budget: Budget, start: IntArray | None = None) -> FoundTable:
        """The cheapest table in whole units, or near it where fractions are cheaper; raises :class:`Infeasible`."""
        if start is not None and self._is_mip:
            self.model.suggest(self._columns(start))
        solution = self.model.solve(budget.left, gap=budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        there = len(solution.primal) == self.total and solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED)
        if not there or not np.isfinite(solution.objective):
            raise NoSafePatternError("The time limit ended before there was a table to publish. Allow more time.")
        change = self._whole(solution, budget)
        cost = float(self.weight @ np.abs(change - self.reference))
        finished = solution.outcome is Outcome.OPTIMAL
        proven = solution.bound if (finished or self._is_mip) and np.isfinite(solution.bound) else 0.0
        return FoundTable(change, cost, min(max(proven, 0.0) * self.money + self._certain, cost), finished)

    @property
    def _is_mip(self) -> bool:
        return self.whole or self.total > 2 * self.n

    def _columns(self, change: IntArray) -> FloatArray:
        moved = (change - self.reference)[self.cells]
        columns = [np.maximum(moved, 0.0) / self.scale, np.maximum(-moved, 0.0) / self.scale]
        if self.senses is not None and len(self.senses.cells):
            columns.append((change[self.senses.cells] > 0).astype(float))
        if self.at_most is not None:
            columns.append(((change[self.cells] != 0) & (self.weight[self.cells] > 0)).astype(float))
        return np.concatenate(columns)

    def _whole(self, solution: Solution, budget: Budget) -> IntArray:
        """The solution in whole units: as it is, or the nearest table that is and costs the least."""
        change = self._change(solution)
        near = np.rint(change)
        off = np.abs(change - near) > NEAR * np.maximum(self.scale, 1.0)
        done = near.astype(np.int64)
        relations = sparse.csr_array(self.relations, dtype=np.int64)
        if not np.any(relations @ done) and not any(cut.shortfall(near) > VIOLATED for cut in self.cuts):
            return done
        limits = self._limits(solution)
        found = self._round(near, np.flatnonzero(off), 1.0, limits, budget)
        found = self._dive(limits, budget) if found is None else found
        for around in AROUND if found is None else ():
            found = self._round(near, self.cells, around, limits, budget)
            if found is not None:
                break
        if found is None:
            raise NoSafePatternError("The time limit ended before there was a table of round numbers. Allow more time.")
        return found

    def _dive(self, limits: tuple[FloatArray, FloatArray], budget: Budget) -> IntArray | None:
        """Fractions of the finest cells are rounded, some at a time, and all others follow."""
        lp = TableMaster(
            self.windows.within(*limits), self.weight, reference=self.reference, seed=self.seed, plain=True
        )
        lp.add(self.cuts)
        base = self.windows.problem.table.is_base[lp.cells]
        ref, share = self.reference[lp.cells], BATCH
        fixed: list[IntArray] = []
        bounds = lp.model_bounds()
        while share > BATCH / 100 and not budget.over:
            solution = lp.model.solve()
            if not solution.optimal:
                if not fixed:
                    return None
                last, share = fixed.pop(), share / 4
                for column in (last, last + lp.n):
                    lp.model.set_bounds(column, bounds[0][column], bounds[1][column])
                continue
            at = ref + (solution.primal[: lp.n] - solution.primal[lp.n : 2 * lp.n]) * lp.scale
            off = np.abs(at - np.rint(at))
            open_cells = np.flatnonzero(off > NEAR * lp.scale)
            if not len(open_cells):
                change = lp.fixed.copy()
                change[lp.cells] = np.rint(at)
                done = change.astype(np.int64)
                return None if np.any(sparse.csr_array(self.relations, dtype=np.int64) @ done) else done
            finest = open_cells[base[open_cells]] if base[open_cells].any() else open_cells
            some = finest[np.argsort(off[finest], kind="stable")[: max(1, int(share * len(finest)))]]
            moved = (np.rint(at[some]) - ref[some]) / lp.scale
            lp.model.set_bounds(some, np.maximum(moved, 0.0), np.maximum(moved, 0.0))
            lp.model.set_bounds(some + lp.n, np.maximum(-moved, 0.0), np.maximum(-moved, 0.0))
            fixed.append(some)
        return None

    def model_bounds(self) -> tuple[FloatArray, FloatArray]:
        """How far up and down may go, in the scale of the program."""
        low, high = (bound[self.cells] for bound in (self.windows.low, self.windows.high))
        ref = self.reference[self.cells]
        lower = np.r_[np.maximum(low - ref, 0.0), np.maximum(ref - high, 0.0)]
        upper = np.r_[np.maximum(high - ref, 0.0), np.maximum(ref - low, 0.0)]
        return lower / self.scale, upper / self.scale

    def _round(
        self,
        near: FloatArray,
        cells: IntArray,
        around: float,
        limits: tuple[FloatArray, FloatArray],
        budget: Budget,
    ) -> IntArray | None:
        low, high = np.maximum(limits[0], near - around), np.minimum(limits[1], near + around)
        weight = self.weight / self.money
        return nearest(self.relations, near, cells, low, high, self.reference, weight, self.cuts, budget, self.seed)

    def _limits(self, solution: Solution) -> tuple[FloatArray, FloatArray]:
        """Windows, narrowed by the senses and the cells to change that were chosen."""
        low, high = self.windows.low.copy(), self.windows.high.copy()
        chosen = solution.primal[2 * self.n :] > 0.5
        if self.senses is not None and len(self.senses.cells):
            up, cells = chosen[: len(self.senses.cells)], self.senses.cells
            low[cells] = np.where(up, np.maximum(low[cells], self.senses.up), low[cells])
            high[cells] = np.where(up, high[cells], np.minimum(high[cells], -self.senses.down))
        if self.at_most is not None:
            still = self.cells[~chosen[self.first_change - 2 * self.n :] & (self.weight[self.cells] > 0)]
            low[still] = high[still] = 0.0
        return low, high
