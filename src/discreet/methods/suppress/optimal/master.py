"""The cheapest pattern that satisfies all cuts found so far: as a linear program and as an integer one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.core.separator import components
from discreet.solvers import DEFAULT_SOLVER, Outcome, new_model

COSTLIEST_CELL = 1e6  # cost of the costliest cell in programs: their tolerances are absolute
MAX_ACTIVE_ROW_SLACK = 0.3  # rows with more slack are deactivated: it is a good part of the 1 that most cuts require
MIN_ROWS_TO_DEACTIVATE = 1000  # programs with fewer rows are quick anyway
MIN_ACTIVE_COLUMNS = 1000  # programs with fewer columns are quick anyway


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The cheapest fractional pattern."""

    cost: float
    x: FloatArray  # one entry per cell
    reduced: FloatArray  # reduced cost, one per column
    multipliers: FloatArray  # one per cut of the pool, 0 or more


@dataclass(frozen=True, eq=False)
class FoundPattern:
    """The cheapest pattern found, and a lower bound on the cost."""

    bound: float
    x: FloatArray | None


class PatternMaster:
    """All cuts found so far, over the cells that may be suppressed.

    Rows with much slack are inactive until a pattern violates them, and costly columns until their reduced cost is negative.
    """

    def __init__(
        self, cost: FloatArray, free: BoolArray, forced: BoolArray, seed: int, solver: str = DEFAULT_SOLVER
    ) -> None:
        self.columns = np.flatnonzero(free)
        self.cost = cost[self.columns]
        self.forced = forced.astype(float)
        n = len(self.columns)
        self.low, self.high = np.zeros(n), np.ones(n)
        self._place = np.full(len(cost), -1)
        self._place[self.columns] = np.arange(n)
        self.cuts: list[Cut] = []  # of the pool
        self._pool = sparse.csr_array((0, n))
        self._least = np.zeros(0)
        self._seen: set[bytes] = set()
        self._rows = np.zeros(0, dtype=np.int64)  # active rows of the pool
        self._active = np.zeros(n, dtype=bool)  # columns
        self._active[np.argsort(self.cost, kind="stable")[: max(MIN_ACTIVE_COLUMNS, n // 10)]] = True
        self._seed, self._solver = seed, solver
        self._model = new_model("dual", seed=seed)
        self._load()

    def add(self, cuts: Sequence[Cut]) -> int:
        """Add the cuts that are new; their number."""
        new = []
        for cut in cuts:
            key = cut.columns.tobytes() + np.round(np.append(cut.weight, cut.least), 6).tobytes()
            if key not in self._seen:
                self._seen.add(key)
                new.append(cut)
        if new:
            self.cuts += new
            rows, least = as_rows(new, len(self.columns), self._place)
            self._pool = sparse.csr_array(sparse.vstack([self._pool, rows], format="csr"))
            self._least = np.r_[self._least, least]
            self._activate(np.arange(len(self._least) - len(new), len(self._least)))
        return len(new)

    def activate_violated(self, x: FloatArray) -> int:
        """Activate the inactive rows that a pattern violates; their number."""
        violated = self._pool @ x[self.columns] < self._least - 1e-6
        violated[self._rows] = False
        self._activate(np.flatnonzero(violated))
        return int(violated.sum())

    def deactivate_slack(self, x: FloatArray) -> None:
        """Deactivate rows in which a pattern leaves much slack, if there are many."""
        tight = (self._pool @ x[self.columns] <= self._least + MAX_ACTIVE_ROW_SLACK)[self._rows]
        if len(tight) > max(MIN_ROWS_TO_DEACTIVATE, 2 * tight.sum()):
            self._rows = self._rows[tight]
            self._load()

    def set_cost(self, cost: FloatArray) -> None:
        """Other costs of the columns."""
        self.cost = cost
        at = np.flatnonzero(self._active)
        self._model.set_cost(np.arange(len(at)), cost[at])

    def used(self, multipliers: FloatArray) -> FloatArray:
        """What multipliers of the first cuts use of the cost of each column."""
        return np.asarray(self._pool[: len(multipliers)].T @ multipliers)

    def required(self, multipliers: FloatArray) -> float:
        """What multipliers of the first cuts require in all."""
        return float(self._least[: len(multipliers)] @ multipliers)

    def relax(self) -> Relaxed | None:
        """The solution of the linear program; None if no pattern satisfies the cuts."""
        while True:
            solution, inactive = self._model.solve(), ~self._active & (self.high > 0)
            if solution.optimal:
                dual = np.zeros(len(self._least))
                dual[self._rows] = solution.row_dual
                reduced = self.cost - self._pool.T @ dual
                inactive &= reduced < 0
            elif solution.outcome is not Outcome.INFEASIBLE:
                raise ArithmeticError(
                    f"The program over the cuts of patterns could not be solved: {solution.outcome.value}."
                )
            if not inactive.any():
                break
            self._active |= inactive
            self._load()
        if not solution.optimal:
            return None
        columns = np.zeros(len(self.columns))
        columns[self._active] = np.clip(solution.primal, 0.0, 1.0) + 0.0  # not −0.0
        return Relaxed(float(solution.objective), self._pattern(columns), reduced, np.maximum(dual, 0.0))

    def fix(self, relaxed: Relaxed, upper: float) -> None:
        """Fix columns that have the same value in all patterns cheaper than ``upper``, by their reduced costs."""
        is_open = self.low < self.high
        low = np.where(is_open & (relaxed.cost - relaxed.reduced >= upper), 1.0, self.low)
        high = np.where(is_open & (relaxed.cost + relaxed.reduced >= upper), 0.0, self.high)
        changed = self._active & ((low != self.low) | (high != self.high))
        self.low, self.high = low, high
        self._model.set_bounds(np.flatnonzero(changed[self._active]), low[changed], high[changed])

    def cheapest(self, relaxed: Relaxed, number: int) -> BoolArray:
        """The cells with the least reduced costs that are not fixed, so many of them."""
        reduced = np.where(self.low < self.high, relaxed.reduced, np.inf)
        cells = np.zeros(len(self.forced), dtype=bool)
        cells[self.columns[np.argsort(reduced, kind="stable")[:number]]] = True
        return cells

    def solve(
        self,
        time_limit: float,
        gap: float,
        start: FloatArray | None,
        open_cells: BoolArray | None = None,
        nodes: int | None = None,
    ) -> FoundPattern:
        """The integer program; if columns are fixed, only patterns cheaper than the incumbent are valid.

        If only some cells are open, the others have the values of the ``start``, and the bound is one for such patterns. The
        solver stops after so many ``nodes``.
        """
        low, high = self.low, self.high
        known = None if start is None else start[self.columns]
        if open_cells is not None and known is not None:
            low, high = (np.where(open_cells[self.columns], bound, known) for bound in (low, high))
        columns = low.copy()
        rows = sparse.csr_array(self._pool[self._rows])
        least = self._least[self._rows] - rows @ columns
        if known is not None and not np.all((known >= low) & (known <= high)):
            known = None
        bound, until, complete = float(self.cost @ columns), monotonic() + time_limit, True
        for piece, at in _pieces(rows, np.flatnonzero(low < high)):
            terms, required, n = sparse.csr_array(rows[piece][:, at]), least[piece], len(at)
            model = new_model("dual", solver=self._solver, tolerance=1e-7, seed=self._seed)
            no_limit = np.full(len(piece), np.inf)
            model.load(self.cost[at], np.zeros(n), np.ones(n), terms, required, no_limit, np.ones(n, dtype=bool))
            if known is not None:
                model.suggest(known[at])
            solution = model.solve(max(until - monotonic(), 0.01), gap=gap, nodes=nodes)
            if solution.outcome is Outcome.INFEASIBLE:
                return FoundPattern(np.inf, None)
            bound += solution.bound
            best = np.rint(solution.primal)
            if len(best) == n and np.all(np.isfinite(best)) and np.all(terms @ best >= required - 1e-6):
                columns[at] = best
            else:
                complete = False
        return FoundPattern(bound, self._pattern(columns) if complete else None)

    def _pattern(self, columns: FloatArray) -> FloatArray:
        """The suppressed share of each cell."""
        x = self.forced.copy()
        x[self.columns] = columns
        return x

    def _activate(self, rows: IntArray) -> None:
        if len(rows):
            self._rows = np.r_[self._rows, rows]
            new = sparse.csr_array(self._pool[rows][:, np.flatnonzero(self._active)])
            self._model.add_rows(new, self._least[rows], np.full(len(rows), np.inf))

    def _load(self) -> None:
        at = np.flatnonzero(self._active)
        rows = sparse.csr_array(self._pool[self._rows][:, at])
        no_limit = np.full(len(self._rows), np.inf)
        self._model.load(self.cost[at], self.low[at], self.high[at], rows, self._least[self._rows], no_limit)


def _pieces(rows: sparse.csr_array, columns: IntArray) -> Iterable[tuple[IntArray, IntArray]]:
    """Independent sets of rows, each with its columns; columns without rows are in none."""
    every = np.ones(rows.shape[0], dtype=bool)
    if not len(columns):
        return [(np.flatnonzero(every), columns)] if len(every) else []
    return ((piece, columns[at]) for piece, at in components(sparse.csr_array(rows[:, columns].T), every, every))
