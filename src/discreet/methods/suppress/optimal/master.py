"""The cheapest pattern that fulfils all cuts found so far: as a linear program and as an integer one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut, as_rows
from discreet.solvers import DEFAULT_SOLVER, Outcome, Solution, new_model

SLACK = 0.3  # rows that are fulfilled by more than this sit out
CROWD = 1000  # rows before any sit out
ALL = 1000  # columns before any sit out


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The cheapest fractional pattern."""

    cost: float
    x: FloatArray  # by cell
    reduced: FloatArray  # by column: what it costs at least to suppress a cell that is not, or to publish one that is suppressed


@dataclass(frozen=True, eq=False)
class FoundPattern:
    """The cheapest pattern found, and a bound on what it might have cost."""

    bound: float
    x: FloatArray | None


class PatternMaster:
    """All cuts found so far, over the cells that may be suppressed.

    Rows that are fulfilled by far sit out until a pattern misses them, and costly columns until one might pay.
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
        self._pool = sparse.csr_array((0, n))
        self._least = np.zeros(0)
        self._seen: set[bytes] = set()
        self._rows = np.zeros(0, dtype=np.int64)  # of the pool, in the linear program
        cheap = np.argsort(self.cost, kind="stable")[: max(ALL, n // 10)]
        self._awake = np.zeros(n, dtype=bool)  # columns in the linear program
        self._awake[cheap] = True
        self._seed, self._solver = seed, solver
        self._model = new_model("dual", seed=seed)
        self._load()

    def __len__(self) -> int:
        return len(self._least)

    def add(self, cuts: Sequence[Cut]) -> int:
        """Take in cuts that are not there yet; how many."""
        new = []
        for cut in cuts:
            key = cut.columns.tobytes() + np.round(np.append(cut.weight, cut.least), 6).tobytes()
            if key not in self._seen:
                self._seen.add(key)
                new.append(cut)
        if new:
            rows, least = as_rows(new, len(self.columns), self._place)
            self._pool = sparse.csr_array(sparse.vstack([self._pool, rows], format="csr"))
            self._least = np.r_[self._least, least]
            self._bring_in(np.arange(len(self._least) - len(new), len(self._least)))
        return len(new)

    def recall(self, x: FloatArray) -> int:
        """Bring back rows that sat out but that this pattern misses; how many."""
        violated = self._pool @ x[self.columns] < self._least - 1e-6
        violated[self._rows] = False
        self._bring_in(np.flatnonzero(violated))
        return int(violated.sum())

    def tidy(self, x: FloatArray) -> None:
        """Let rows sit out that this pattern fulfils by far, if there are many."""
        tight = (self._pool @ x[self.columns] <= self._least + SLACK)[self._rows]
        if len(tight) > max(CROWD, 2 * tight.sum()):
            self._rows = self._rows[tight]
            self._load()

    def relax(self) -> Relaxed | None:
        """The linear program; None if no pattern fulfils the cuts."""
        while True:
            solution = self._model.solve()
            if solution.outcome is Outcome.INFEASIBLE:
                wake = ~self._awake & (self.high > 0)
                if not wake.any():
                    return None
            elif solution.optimal:
                dual = np.zeros(len(self._least))
                dual[self._rows] = solution.row_dual
                reduced = self.cost - self._pool.T @ dual
                wake = ~self._awake & (reduced < 0) & (self.high > 0)
                if not wake.any():
                    break
            else:
                raise ArithmeticError("HiGHS could not solve the linear program over the cuts.")
            self._awake |= wake
            self._load()
        columns = np.zeros(len(self.columns))
        columns[self._awake] = np.clip(solution.primal, 0.0, 1.0) + 0.0  # not −0.0
        return Relaxed(float(solution.objective), self.pattern(columns), reduced)

    def fix(self, relaxed: Relaxed, upper: float) -> None:
        """Settle cells that no pattern cheaper than ``upper`` can decide otherwise."""
        is_open = self.low < self.high
        low = np.where(is_open & (relaxed.cost - relaxed.reduced >= upper), 1.0, self.low)
        high = np.where(is_open & (relaxed.cost + relaxed.reduced >= upper), 0.0, self.high)
        changed = self._awake & ((low != self.low) | (high != self.high))
        self.low, self.high = low, high
        at = np.flatnonzero(changed[self._awake])
        self._model.set_bounds(at, low[changed], high[changed])

    def cheapest(self, relaxed: Relaxed, many: int) -> BoolArray:
        """So many open cells that cost the least beside the linear program."""
        beside = np.where(self.low < self.high, relaxed.reduced, np.inf)
        cells = np.zeros(len(self.forced), dtype=bool)
        cells[self.columns[np.argsort(beside, kind="stable")[:many]]] = True
        return cells

    def solve(
        self,
        time_limit: float,
        gap: float,
        start: FloatArray | None,
        open_cells: BoolArray | None = None,
        nodes: int | None = None,
    ) -> FoundPattern:
        """The integer program, among patterns cheaper than the best known if columns were settled.

        If only some cells are open, the others stay as they are at the ``start``; the bound is one for such patterns. After
        so many ``nodes`` the best found is taken.
        """
        low, high = self.low, self.high
        known = None if start is None else start[self.columns]
        if open_cells is not None and known is not None:
            low, high = (np.where(open_cells[self.columns], bound, known) for bound in (low, high))
        columns, is_open = low.copy(), low < high
        rows = sparse.csr_array(self._pool[self._rows])
        least = self._least[self._rows] - rows @ columns
        if known is not None and not np.all((known >= low) & (known <= high)):
            known = None
        bound, until, complete = float(self.cost @ columns), monotonic() + time_limit, True
        for piece, at in _pieces(rows, is_open):
            terms = sparse.csr_array(rows[piece][:, at])
            left = max(until - monotonic(), 0.01)
            begin = None if known is None else known[at]
            solution = self._solve_piece(at, terms, least[piece], left, gap, begin, nodes)
            if solution.outcome is Outcome.INFEASIBLE:
                return FoundPattern(np.inf, None)
            bound += solution.bound
            best = np.rint(solution.primal)
            if len(best) == len(at) and np.all(np.isfinite(best)) and np.all(terms @ best >= least[piece] - 1e-6):
                columns[at] = best
            else:
                complete = False
        return FoundPattern(bound, self.pattern(columns) if complete else None)

    def _solve_piece(
        self,
        at: IntArray,
        rows: sparse.csr_array,
        least: FloatArray,
        time_limit: float,
        gap: float,
        known: FloatArray | None,
        nodes: int | None,
    ) -> Solution:
        model = new_model("dual", solver=self._solver, tolerance=1e-7, seed=self._seed)
        n, no_limit = len(at), np.full(len(least), np.inf)
        model.load(self.cost[at], np.zeros(n), np.ones(n), rows, least, no_limit, np.ones(n, dtype=bool))
        if known is not None:
            model.suggest(known)
        return model.solve(time_limit, gap=gap, nodes=nodes)

    def pattern(self, columns: FloatArray) -> FloatArray:
        """By cell: which share of it is suppressed."""
        x = self.forced.copy()
        x[self.columns] = columns
        return x

    def _bring_in(self, rows: IntArray) -> None:
        if len(rows):
            self._rows = np.r_[self._rows, rows]
            new = sparse.csr_array(self._pool[rows][:, np.flatnonzero(self._awake)])
            self._model.add_rows(new, self._least[rows], np.full(len(rows), np.inf))

    def _load(self) -> None:
        at = np.flatnonzero(self._awake)
        rows = sparse.csr_array(self._pool[self._rows][:, at])
        no_limit = np.full(len(self._rows), np.inf)
        self._model.load(self.cost[at], self.low[at], self.high[at], rows, self._least[self._rows], no_limit)


def _pieces(rows: sparse.csr_array, is_open: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows, and the open columns in them, that have nothing to do with any others."""
    open_columns = np.flatnonzero(is_open)
    terms = sparse.csr_array(rows[:, open_columns])
    number = len(open_columns)
    joined = sparse.coo_array(terms)
    graph = sparse.coo_array(
        (np.ones(joined.nnz), (joined.row + number, joined.col)), shape=(number + rows.shape[0],) * 2
    )
    count, label = csgraph.connected_components(graph, directed=False)
    of_column, of_row = label[:number], label[number:]
    order, order_rows = np.argsort(of_column, kind="stable"), np.argsort(of_row, kind="stable")
    first = np.searchsorted(of_column[order], np.arange(count + 1))
    first_row = np.searchsorted(of_row[order_rows], np.arange(count + 1))
    for k in np.unique(of_row).tolist():  # columns without rows stay as they are: nothing asks for them
        yield order_rows[first_row[k] : first_row[k + 1]], open_columns[order[first[k] : first[k + 1]]]
