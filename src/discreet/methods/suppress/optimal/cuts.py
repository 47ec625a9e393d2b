"""Linear inequalities that the cheapest safe patterns satisfy: least numbers of suppressed cells, weighted by their slack."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.inference.cut_proofs import BridgelessProof
from discreet.methods.core.cuts import Cut

MIN_VIOLATION = 1e-3  # cuts that are violated by less are not worth a row
MIN_SHARE = 1e-6  # smaller shares of a level are below the tolerance of solvers
FULL_WEIGHT = 1 - 1e-9  # weights above this are set to 1: they differ from it by rounding errors


def capacity_cut(cells: IntArray, weight: FloatArray, free: BoolArray, forced: BoolArray, target: int) -> Cut | None:
    """The free cells contribute what the level of the target cell requires beyond all cells that are suppressed anyway.

    ``weight`` is what each cell contributes if suppressed, as a share of the level. Weights are cut down to the missing share
    (Fischetti & Salazar-González 2000). None if nothing is missing. A free target must be protected only if it is suppressed.
    """
    conditional = bool(free[target])
    anyway = forced[cells] | ((cells == target) & conditional)
    missing = 1.0 - float(weight[anyway].sum())
    if not missing > MIN_SHARE:
        return None
    helping = free[cells] & ~anyway & (weight > 0)
    cells, share = cells[helping], np.minimum(weight[helping] / missing, 1.0)
    if conditional:
        cells, share = np.append(cells, target), np.append(share, -1.0)
    order = np.argsort(cells)
    return Cut(cells[order], np.where(share > FULL_WEIGHT, 1.0, share)[order], 0.0 if conditional else 1.0)


def cover_cut(cut: Cut, x: FloatArray) -> Cut | None:
    """Cells that do not suffice even together are left out: a least number of the others is required.

    Cells are left out in the order of their share at ``x``, and in the order of that share by weight; the more violated cut is
    returned, None if none is violated.
    """
    weight, at = cut.weight, x[cut.columns]
    if cut.least != 1.0 or np.all(weight == 1.0):
        return None
    best, worst = None, 0.0
    for key in (at, at / weight):
        order = np.argsort(-key, kind="stable")
        added = np.cumsum(weight[order])
        first = int(np.searchsorted(added, 1 - MIN_SHARE))
        rest = order[first:]
        largest = np.cumsum(np.sort(weight[rest])[::-1])
        missing = 1 - (float(added[first - 1]) if first else 0.0) - MIN_SHARE
        needed = 1 + int(np.searchsorted(largest, missing))
        shortfall = 1 - float(at[rest].sum()) / needed
        if shortfall > worst:
            best, worst = Cut(np.sort(cut.columns[rest]), np.full(len(rest), 1.0 / needed), 1.0), shortfall
    return best


class BridgelessInequalities:
    """Bridgeless inequalities (Fischetti & Salazar-González 2000): some cheapest patterns satisfy them, whatever the levels.

    In each relation of a suppressed cell another one must be suppressed, too; else its suppression has no effect. Relations
    with a cell that must be suppressed anyway need no inequality.
    """

    def __init__(self, relations: sparse.csr_array, free: BoolArray, forced: BoolArray) -> None:
        self.cells = np.flatnonzero(free)
        with_forced = np.zeros(relations.shape[0], dtype=bool)
        with_forced[sparse.csr_array(relations[:, np.flatnonzero(forced)]).nonzero()[0]] = True
        rows = sparse.csr_array(relations[np.flatnonzero(~with_forced)][:, self.cells])
        self.relation = np.flatnonzero(~with_forced)[np.diff(rows.indptr) > 0]
        self.rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
        self.row = np.repeat(np.arange(self.rows.shape[0]), np.diff(self.rows.indptr))

    def cuts(self, x: FloatArray) -> list[Cut]:
        begin, share = self.rows.indptr, x[self.cells][self.rows.indices]
        total = np.bincount(self.row, share, self.rows.shape[0])
        largest = np.zeros(len(total))
        np.maximum.at(largest, self.row, share)
        found = []
        for r in np.flatnonzero(2 * largest > total + MIN_VIOLATION).tolist():
            cells = np.sort(self.cells[self.rows.indices[begin[r] : begin[r + 1]]])
            weight = np.where(np.arange(len(cells)) == np.argmax(x[cells]), -1.0, 1.0)
            proof = BridgelessProof(int(cells[np.argmax(x[cells])]), int(self.relation[r]))
            found.append(Cut(cells, weight, 0.0, proof=proof))
        return found
