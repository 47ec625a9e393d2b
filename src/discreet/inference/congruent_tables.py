"""The tables a reader cannot rule out: how far can a cell move when all published relations must hold?"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import FloatArray, IntArray
from discreet.inference.deviations import StartingVertex
from discreet.inference.integer_system import Correction, IntegerSystem
from discreet.solvers import Model, Outcome, Solution, new_model


def components(
    relations: sparse.csr_array, uncertain: NDArray[np.bool_]
) -> Iterator[tuple[IntArray, sparse.csr_array]]:
    """Uncertain cells that can only move together with each other, and the relations that join them."""
    cells = np.flatnonzero(uncertain)
    if not len(cells):
        return
    rows = relations if len(cells) == len(uncertain) else sparse.csr_array(relations[:, cells])
    held = np.diff(rows.indptr) > 0
    rows = rows if held.all() else sparse.csr_array(rows[held])
    m, n = rows.shape
    # Relations are joined with their cells, each by an edge; put together by hand, as this is asked for very often.
    ends = np.append(rows.indptr, np.full(n, rows.indptr[-1]))
    graph = sparse.csr_array((np.ones(len(rows.indices)), rows.indices + m, ends), shape=(m + n, m + n))
    count, label = csgraph.connected_components(graph, directed=False)
    if count == 1:
        yield cells, rows
        return
    by_row, by_cell = np.argsort(label[:m], kind="stable"), np.argsort(label[m : m + n], kind="stable")
    # With rows and columns in the order of their components, each one is a block that is cut out without a search.
    rows = sparse.csr_array(sparse.csr_array(rows[by_row])[:, by_cell])
    row_at = np.searchsorted(label[:m][by_row], np.arange(count + 1))
    cell_at = np.searchsorted(label[m : m + n][by_cell], np.arange(count + 1))
    for k in np.argsort(by_cell[cell_at[:-1]], kind="stable").tolist():
        entries = slice(rows.indptr[row_at[k]], rows.indptr[row_at[k + 1]])
        block = (
            rows.data[entries],
            rows.indices[entries] - cell_at[k],
            rows.indptr[row_at[k] : row_at[k + 1] + 1] - rows.indptr[row_at[k]],
        )
        shape = (row_at[k + 1] - row_at[k], cell_at[k + 1] - cell_at[k])
        yield cells[by_cell[cell_at[k] : cell_at[k + 1]]], sparse.csr_array(block, shape=shape)


@dataclass(frozen=True, eq=False, repr=False)
class CandidateDeviation:
    """A table met on the way, as its difference from the true one.

    ``proven`` says that it is congruent; otherwise it is what the solver took for one. ``optimal`` says that nothing goes
    farther in the direction asked for; ``dual`` then holds the multiplier of each relation that shows it.
    """

    difference: FloatArray
    proven: bool
    optimal: bool
    dual: FloatArray


class CongruentTables:
    """One connected component as one persistent linear program, pushed by primal simplex in changing directions.

    Solvers keep relations and bounds up to a tolerance, and relations may amplify it beyond measure. So nothing is measured:
    bounds are put on a grid, where corners are simple fractions, and a table is proven by adding up in whole numbers.
    """

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray, scale: float = 1.0) -> None:
        self.low, self.high = (_representable(bound, scale) for bound in (low, high))  # differences: low <= 0 <= high
        # Where slacks are not round, ties between them are not either: units are large enough for the solver to tell.
        self.grid = IntegerSystem.of(relations, self.low, self.high, scale * UNIT_SHARE)
        # In a unit of about this size, and a power of two times that of the grid, so that nothing is lost in between.
        self._unit = 2.0 ** np.rint(np.log2(scale * self.grid.scale))
        self._lower, self._upper = self.grid.low / self._unit, self.grid.high / self._unit
        rows = sparse.csr_array(self.grid.relations, dtype=float)
        self._model = new_model("primal")
        zero = np.zeros(rows.shape[0])
        self._model.load(np.zeros(len(low)), self._lower, self._upper, rows, zero, zero)
        self._model.maximize(True)
        self._patience = solver_time_limit(rows)
        self._aim = np.zeros(0, dtype=np.int64)

    @contextmanager
    def narrowed(self, cells: IntArray, low: FloatArray, high: FloatArray) -> Iterator[None]:
        """For a while, less slack for some cells. What is congruent then is so anyway."""
        before = [bound[cells] for bound in (self.low, self.high, self._lower, self._upper)]
        self.low[cells], self.high[cells] = np.maximum(before[0], low), np.minimum(before[1], high)
        on_grid = np.ceil(self.low[cells] * self.grid.scale), np.floor(self.high[cells] * self.grid.scale)
        self._lower[cells] = np.maximum(before[2], on_grid[0] / self._unit)
        self._upper[cells] = np.minimum(before[3], on_grid[1] / self._unit)
        self._model.set_bounds(cells, self._lower[cells], self._upper[cells])
        try:
            yield
        finally:
            self.low[cells], self.high[cells], self._lower[cells], self._upper[cells] = before
            self._model.set_bounds(cells, self._lower[cells], self._upper[cells])

    def push(
        self,
        cell: int,
        sign: float,
        goal: float = np.inf,
        starts: Sequence[StartingVertex] = (),
        steps: int | None = None,
    ) -> CandidateDeviation:
        """Move ``cell`` as far as it goes, but not beyond ``goal``, up (``sign`` 1) or down (−1). It must not be endless.

        The search goes on from the one of ``starts`` that has the cell farthest already, or else from where it is. Where the
        solver gave up, or was stopped after so many ``steps``, and left nothing that can be proven, nothing moves.
        """
        if starts:
            self._model.start_from(max(starts, key=lambda start: sign * float(start.difference[cell])).basis)
        pushes = self.burst(np.array([cell]), sign, np.array([goal]), np.ones(1), steps)
        last = next(pushes)
        pushes.close()
        return (
            last if last.optimal or last.proven else CandidateDeviation(np.zeros(len(self.low)), True, False, last.dual)
        )

    def shortest(self, cell: int, sign: float, goal: float) -> CandidateDeviation:
        """Move ``cell`` as far as ``goal`` while all others move as little as possible; nothing moves if it does not go so far.

        Few cells move, and by simple fractions: where corners of many cells are too intricate to be proven, these are not.
        """
        n, at = len(self.low), cell if sign > 0 else len(self.low) + cell
        slack, least = self._slack[at], np.ceil(goal * self.grid.scale) / self._unit
        still = CandidateDeviation(np.zeros(n), True, False, np.zeros(0))
        if least > slack:
            return still
        back = cell if sign < 0 else n + cell
        self._short.restart()
        self._short.set_bounds(np.array([at, back]), np.array([least, 0.0]), np.array([slack, 0.0]))
        solution = self._short.solve(self._patience)
        self._short.set_bounds(np.array([at, back]), np.zeros(2), self._slack[[at, back]])
        if not solution.optimal:
            return still
        primal, both = solution.primal.reshape(2, n), self._short.correction
        difference = self._proven(
            primal[0] - primal[1], lambda off: None if (c := both(off)) is None else c[:n] - c[n:]
        )
        return still if difference is None else CandidateDeviation(difference, True, False, np.zeros(0))

    @cached_property
    def _slack(self) -> FloatArray:
        """How far each cell may go up, then how far down."""
        return np.concatenate([self._upper, -self._lower])

    @cached_property
    def _short(self) -> Model:
        """All cells twice, up and down, at the same cost."""
        rows = sparse.csr_array(self.grid.relations, dtype=float)
        model = new_model("dual")
        zero, slack = np.zeros(rows.shape[0]), self._slack
        both = sparse.csr_array(sparse.hstack([rows, -rows], format="csr"))
        model.load(np.ones(len(slack)), np.zeros(len(slack)), slack, both, zero, zero)
        return model

    def here(self, push: CandidateDeviation) -> StartingVertex:
        """The corner where the last search ended, with this push."""
        return StartingVertex(push.difference, self._model.basis())

    def together(self, cells: IntArray, signs: FloatArray, goals: FloatArray) -> CandidateDeviation:
        """Move some cells at once, each in its direction and none beyond its goal, as far as they go in all."""
        *_, last = self.burst(cells, signs, goals, np.ones(len(cells)))
        return last

    def burst(
        self, cells: IntArray, sign: float | FloatArray, goal: FloatArray, weight: FloatArray, steps: int | None = None
    ) -> Generator[CandidateDeviation]:
        """Move many cells at once, none beyond its goal; a table every so many steps, the last one best."""
        self._model.set_cost(self._aim, np.zeros(len(self._aim)))
        self._model.set_cost(cells, sign * weight)
        self._aim = cells
        lower, upper = self._lower[cells], self._upper[cells]
        goal = np.ceil(goal * self.grid.scale) / self._unit  # corners stay on the grid
        down = np.less(sign, 0)
        self._model.set_bounds(
            cells, np.where(down, np.maximum(lower, -goal), lower), np.where(down, upper, np.minimum(upper, goal))
        )
        best, idle = -np.inf, 0
        try:
            while True:
                solution = self._model.solve(self._patience, steps)
                yield self._pushed(solution)
                idle = 0 if solution.objective > best else idle + 1
                best = max(best, solution.objective)
                out_of_time = steps is None or solution.iterations < steps
                if solution.outcome is not Outcome.STOPPED or out_of_time or idle == MAX_ROUNDS_WITHOUT_GAIN:
                    return
        finally:
            self._model.set_bounds(cells, lower, upper)

    def _pushed(self, solution: Solution) -> CandidateDeviation:
        proven = self._proven(solution.primal, self._model.correction)
        near = np.clip(solution.primal * (self._unit / self.grid.scale), self.low, self.high)
        return CandidateDeviation(
            near if proven is None else proven, proven is not None, solution.optimal, solution.row_dual
        )

    def _proven(self, primal: FloatArray, correction: Correction) -> FloatArray | None:
        """The congruent table next to what a solver found, if there is one."""
        proven = self.grid.congruent(primal * self._unit, correction)
        if proven is None:
            return None
        difference = proven / self.grid.scale
        return np.asarray(difference * min(1.0, largest_multiple(difference, self.low, self.high)))


def largest_multiple(move: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The largest multiple of some moves that fits between bounds."""
    at = np.flatnonzero(move)
    with np.errstate(over="ignore"):  # slack without end for a tiny move
        multiples = np.where(move[at] > 0, high[at], -low[at]) / np.abs(move[at])
    return float(multiples.min(initial=np.inf))


def solver_time_limit(rows: sparse.csr_array) -> float:
    """Seconds after which a solver that has not come back never will: it has been seen to go in circles.

    What it was to find is then found in exact arithmetic, so that answers do not depend on the clock.
    """
    return MIN_SOLVER_SECONDS + 0.005 * float(sum(rows.shape))


def unbounded_directions(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, cells: IntArray
) -> Iterator[FloatArray]:
    """Directions in which ``cells`` can move without end, all proven: between them they show every such cell and side.

    A direction without end keeps all relations and only uses cells without a bound on that side. Asking for one of length
    at most one makes a small program whose numbers are all of the same size, whatever the sizes in the table.
    """
    slack = np.stack([np.where(np.isinf(low), -1.0, 0.0), np.where(np.isinf(high), 1.0, 0.0)])
    if not slack[:, cells].any():
        return
    grid = IntegerSystem.of(relations, *slack)
    if not grid.is_whole:
        return
    found = np.zeros((2, len(low)), dtype=bool)
    model = new_model("primal")
    zero = np.zeros(relations.shape[0])
    model.load(np.zeros(len(low)), slack[0], slack[1], sparse.csr_array(grid.relations, dtype=float), zero, zero)
    model.maximize(True)

    def ask(aim: FloatArray) -> FloatArray | None:
        """A direction along ``aim`` that shows something new, if there is one."""
        model.set_cost(np.arange(len(low)), aim)
        solution = model.solve(solver_time_limit(relations))
        direction = grid.congruent(solution.primal) if solution.optimal else None
        if direction is None:
            return None
        before = int(found.sum())
        found[0] |= direction < 0
        found[1] |= direction > 0
        return direction if found.sum() > before else None

    for side, sign in enumerate((-1.0, 1.0)):
        open_cells = cells[slack[side, cells] != 0]
        while True:  # many cells at once, as long as that finds any
            aim = np.zeros(len(low))
            aim[open_cells[~found[side, open_cells]]] = sign
            direction = ask(aim) if aim.any() else None
            if direction is None:
                break
            yield direction
        if slack[1 - side, open_cells].any():  # cells free to both sides may cancel out in a sum: ask one by one
            for i in open_cells:
                if not found[side, i]:
                    aim = np.zeros(len(low))
                    aim[i] = sign
                    direction = ask(aim)
                    if direction is not None:
                        yield direction


UNIT_SHARE = 2.0**-27  # of the grid, as a share of the typical move
MIN_SOLVER_SECONDS = 2.0  # seconds that even the smallest program is given
MAX_ROUNDS_WITHOUT_GAIN = 20  # looks at a burst without any gain after which it ends


def _representable(bound: FloatArray, scale: float) -> FloatArray:
    """Finite bounds that the solver would take for infinite are cut: that only makes the slack smaller."""
    most = min(1e15 * float(scale), np.finfo(float).max)
    return np.where(np.isfinite(bound), np.clip(bound, -most, most), bound)
