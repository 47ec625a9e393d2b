"""The tables a reader cannot rule out: how far can a cell move when all published relations must hold?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.relations import FloatArray
from discreet.solvers import HighsModel

IntArray = NDArray[np.int64]


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
    _, label = csgraph.connected_components(graph, directed=False)
    row_label, cell_label = label[:m], label[m : m + n]
    by_cell = np.argsort(cell_label, kind="stable")
    by_row = np.argsort(row_label, kind="stable")
    row_starts = np.searchsorted(row_label[by_row], np.arange(label.max() + 2))
    boundaries = np.flatnonzero(np.diff(cell_label[by_cell])) + 1
    for members in np.split(by_cell, boundaries):
        k = cell_label[members[0]]
        mine = by_row[row_starts[k] : row_starts[k + 1]]
        yield cells[members], sparse.csr_array(rows[mine][:, members])


@dataclass(frozen=True)
class Push:
    """The farthest a cell goes in one direction, and the congruent table that shows it.

    ``difference`` is that table minus the true one; the relations hold in it up to ``residual``. Where the solver gave up
    nothing is claimed: the difference is zero and the residual infinite.
    """

    difference: FloatArray
    residual: float


class CongruentTables:
    """One connected component as one persistent linear program, pushed by primal simplex in changing directions."""

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray, scale: float = 1.0) -> None:
        self.relations = relations
        self.low, self.high = low, high  # differences from the true table, low <= 0 <= high
        self.scale = scale
        self._model = HighsModel("primal")
        zero = np.zeros(relations.shape[0])
        self._model.load(np.zeros(len(low)), _modest(low / scale), _modest(high / scale), relations, zero, zero)
        self._model.maximize(True)
        self._aim = 0

    def push(self, cell: int, sign: int) -> Push:
        """Move ``cell`` as far as it goes, up (``sign`` 1) or down (−1). It must not be endless."""
        self._model.set_cost(np.array([self._aim]), np.zeros(1))
        self._model.set_cost(np.array([cell]), np.array([float(sign)]))
        self._aim = cell
        solution = self._model.solve()
        if not solution.optimal:
            return Push(np.zeros(len(self.low)), np.inf)
        difference = np.clip(solution.primal * self.scale, self.low, self.high)
        return Push(difference, float(np.abs(self.relations @ difference).max(initial=0.0)))


def endless(relations: sparse.csr_array, low: FloatArray, high: FloatArray, cells: IntArray) -> NDArray[np.bool_]:
    """Whether each of ``cells`` can move without end, down and up: shape (2, cells).

    A direction without end keeps all relations and only uses cells without a bound on that side. Asking for one of length
    at most one makes a small program whose numbers are all of the same size, whatever the sizes in the table.
    """
    found = np.zeros((2, len(low)), dtype=bool)
    room = np.stack([np.where(np.isinf(low), -1.0, 0.0), np.where(np.isinf(high), 1.0, 0.0)])
    if not room.any():
        return found[:, cells]
    model = HighsModel("primal")
    zero = np.zeros(relations.shape[0])
    model.load(np.zeros(len(low)), room[0], room[1], relations, zero, zero)
    model.maximize(True)

    def ask(aim: FloatArray) -> bool:
        """Look for a direction; True if there is one along ``aim``."""
        model.set_cost(np.arange(len(low)), aim)
        solution = model.solve()
        if not solution.optimal or np.abs(relations @ solution.primal).max(initial=0.0) > 1e-8:
            return False
        found[0] |= solution.primal < -_STEP
        found[1] |= solution.primal > _STEP
        return solution.objective > _STEP

    for side, sign in enumerate((-1.0, 1.0)):
        open_cells = cells[room[side, cells] != 0]
        while True:  # many cells at once, as long as that finds any
            aim = np.zeros(len(low))
            aim[open_cells[~found[side, open_cells]]] = sign
            if not aim.any() or not ask(aim):
                break
        if room[1 - side, open_cells].any():  # cells free to both sides may cancel out in a sum: ask one by one
            for i in open_cells:
                if not found[side, i]:
                    aim = np.zeros(len(low))
                    aim[i] = sign
                    ask(aim)
    return found[:, cells]


_STEP = 1e-5  # of a direction of length one: what moves less is asked again or left out, never credited


def _modest(bound: FloatArray) -> FloatArray:
    """Finite bounds that the solver would take for infinite are cut: that only makes the room smaller."""
    return np.where(np.isfinite(bound), np.clip(bound, -1e15, 1e15), bound)
