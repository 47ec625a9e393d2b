"""The tables a reader cannot rule out: how far can a cell move when all published relations must hold?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.audit.evidence import IntArray, Start
from discreet.relations import FloatArray
from discreet.solvers import HighsModel, Outcome


def components(
    relations: sparse.csr_array, uncertain: NDArray[np.bool_]
) -> Iterator[tuple[IntArray, sparse.csr_array]]:
    """Uncertain cells that can only move together with each other, and the relations that join them."""
    cells = np.flatnonzero(uncertain)
    if not len(cells):
        return
    rows = sparse.csr_array(relations[:, cells])
    rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
    m, n = rows.shape
    graph = sparse.block_array([[None, rows], [rows.T, None]], format="csr")
    count, label = csgraph.connected_components(graph, directed=False)
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


@dataclass(frozen=True, eq=False)
class Push:
    """A congruent table met on the way, as its difference from the true one.

    There is an exactly congruent one of which no cell is farther away than ``error``. ``optimal`` says that nothing goes farther
    in the direction asked for; ``dual`` then holds the multiplier of each relation that proves it. Where the solver gave up
    nothing is claimed: the difference is zero and the error infinite.
    """

    difference: FloatArray
    error: FloatArray
    optimal: bool
    dual: FloatArray


class CongruentTables:
    """One connected component as one persistent linear program, pushed by primal simplex in changing directions."""

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray, scale: float = 1.0) -> None:
        self.relations = relations
        self.low, self.high = low, high  # differences from the true table, low <= 0 <= high
        self.scale = scale
        self._model = HighsModel("primal")
        self._lower, self._upper = _modest(low / scale), _modest(high / scale)
        zero = np.zeros(relations.shape[0])
        self._model.load(np.zeros(len(low)), self._lower, self._upper, relations, zero, zero)
        self._model.maximize(True)
        self._aim = np.zeros(0, dtype=np.int64)
        self._weights = sparse.csr_array(abs(relations))
        weights = self._weights.data
        self._plain = not len(weights) or bool(weights.max() <= EVEN * weights.min())
        entries = self._weights.tocsc().tocoo()  # by column
        self._entry_row, self._entry_weight = entries.row, entries.data
        self._column_starts = np.flatnonzero(np.r_[True, entries.col[1:] != entries.col[:-1]])
        self._columns = entries.col[self._column_starts] if len(entries.col) else entries.col

    def push(self, cell: int, sign: float, goal: float = np.inf, starts: Sequence[Start] = ()) -> Push:
        """Move ``cell`` as far as it goes, but not beyond ``goal``, up (``sign`` 1) or down (−1). It must not be endless.

        The search goes on from the one of ``starts`` that has the cell farthest already, or else from where it is.
        """
        if starts:
            self._model.start_from(max(starts, key=lambda start: sign * float(start.difference[cell])).basis)
        *_, last = self.burst(np.array([cell]), sign, np.array([goal]), np.ones(1))
        n = len(self.low)
        return last if last.optimal else Push(np.zeros(n), np.full(n, np.inf), False, last.dual)

    def _error(self, difference: FloatArray) -> FloatArray:
        """How far each column may be from its place in an exactly congruent table.

        Solvers keep relations and bounds up to a tolerance, and relations may amplify it, by far more than a guess would
        cover. So the basis is asked how its columns would have to move for the relations to hold to the last digit, and the
        table is scaled down to have them within bounds again. Where that does not work out, or where weights of very
        different size may amplify without limit, nothing is known.
        """
        nothing = np.full(len(difference), np.inf)
        if not self._plain:
            return nothing
        better = self._significant(difference)
        for _ in range(3):
            sizes = self._weights @ np.abs(better)
            noise = NOISE * sizes
            residual = self.relations @ better
            if np.all(np.abs(residual) <= noise):
                break
            correction = self._model.correction(residual / self.scale)
            if correction is None:
                return nothing
            better = self._significant(better - correction * self.scale)
        else:
            return nothing
        # Rounding errors are amplified, too.
        rounding = self._model.correction(np.where(np.arange(len(noise)) % 2, noise, -noise) / self.scale)
        if rounding is None:
            return nothing
        error = 2 * (np.abs(better - difference) + np.abs(rounding) * self.scale)
        out = np.maximum(np.maximum(better - self.high, self.low - better), 0.0)
        bound = np.where(better > 0, self.high, -self.low)
        at = np.flatnonzero((out > 0) & ((bound > 0) | (out > 64 * ROUNDING * (self._weights.T @ sizes))))
        with np.errstate(divide="ignore"):
            shrink = float((out[at] / bound[at]).max(initial=0.0))
        return error + shrink * np.abs(difference) if shrink < np.inf else nothing

    def _significant(self, difference: FloatArray) -> FloatArray:
        """Without moves that drown in the rounding errors of a relation: nothing would hold them to it."""
        if not len(self._entry_row):
            return difference
        sizes = self._weights @ np.abs(difference)
        drowned = np.maximum.reduceat(sizes[self._entry_row] / self._entry_weight, self._column_starts)
        limit = np.zeros(len(difference))
        limit[self._columns] = 64 * ROUNDING * drowned
        return np.where(np.abs(difference) <= limit, 0.0, difference)

    def here(self, push: Push) -> Start:
        """The corner where the last search ended, with this push."""
        return Start(push.difference, self._model.basis())

    def burst(
        self, cells: IntArray, sign: float, goal: FloatArray, weight: FloatArray, steps: int | None = None
    ) -> Iterator[Push]:
        """Move many cells at once in one direction, none beyond its goal; a table every so many steps, the last one best."""
        self._model.set_cost(self._aim, np.zeros(len(self._aim)))
        self._model.set_cost(cells, sign * weight)
        self._aim = cells
        goal = goal / self.scale
        lower, upper = self._lower[cells], self._upper[cells]
        capped = (np.maximum(lower, -goal), upper) if sign < 0 else (lower, np.minimum(upper, goal))
        self._model.set_bounds(cells, *capped)
        try:
            while True:
                solution = self._model.solve(steps=steps)
                difference = np.clip(solution.primal * self.scale, self.low, self.high)
                yield Push(difference, self._error(difference), solution.optimal, solution.row_dual)
                if solution.outcome is not Outcome.STOPPED:
                    return
        finally:
            self._model.set_bounds(cells, lower, upper)


def endless(relations: sparse.csr_array, low: FloatArray, high: FloatArray, cells: IntArray) -> Iterator[FloatArray]:
    """Directions in which ``cells`` can move without end: between them they show every such cell and side.

    A direction without end keeps all relations and only uses cells without a bound on that side. Asking for one of length
    at most one makes a small program whose numbers are all of the same size, whatever the sizes in the table.
    """
    room = np.stack([np.where(np.isinf(low), -1.0, 0.0), np.where(np.isinf(high), 1.0, 0.0)])
    if not room[:, cells].any():
        return
    found = np.zeros((2, len(low)), dtype=bool)
    model = HighsModel("primal")
    zero = np.zeros(relations.shape[0])
    model.load(np.zeros(len(low)), room[0], room[1], relations, zero, zero)
    model.maximize(True)

    def ask(aim: FloatArray) -> FloatArray | None:
        """A direction along ``aim`` that shows something new, if there is one."""
        model.set_cost(np.arange(len(low)), aim)
        solution = model.solve()
        if not solution.optimal or solution.objective <= FAR:
            return None
        direction = np.where(np.abs(solution.primal) > 1e-9, solution.primal, 0.0)
        before = int(found.sum())
        found[0] |= direction < -FAR
        found[1] |= direction > FAR
        new = found.sum() > before and np.abs(relations @ direction).max(initial=0.0) <= 1e-8
        return direction if new else None

    for side, sign in enumerate((-1.0, 1.0)):
        open_cells = cells[room[side, cells] != 0]
        while True:  # many cells at once, as long as that finds any
            aim = np.zeros(len(low))
            aim[open_cells[~found[side, open_cells]]] = sign
            direction = ask(aim) if aim.any() else None
            if direction is None:
                break
            yield direction
        if room[1 - side, open_cells].any():  # cells free to both sides may cancel out in a sum: ask one by one
            for i in open_cells:
                if not found[side, i]:
                    aim = np.zeros(len(low))
                    aim[i] = sign
                    direction = ask(aim)
                    if direction is not None:
                        yield direction


EVEN = 10  # weights in relations are of the same size up to this factor
ROUNDING = 2.0**-52  # of a float, as a share of it
NOISE = 2.0**-38  # of a relation, as a share of its terms: rounding errors of many steps
FAR = 1e-5  # of a direction of length one: what moves less is asked again or left out, never credited


def _modest(bound: FloatArray) -> FloatArray:
    """Finite bounds that the solver would take for infinite are cut: that only makes the room smaller."""
    return np.where(np.isfinite(bound), np.clip(bound, -1e15, 1e15), bound)
