"""Bridgeless inequalities (Fischetti & Salazar-González 2000): the cheapest patterns satisfy them, whatever the levels."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal.separator import MIN_VIOLATION


class Bridges:
    """In each relation of a suppressed cell another one must be suppressed, too; else its suppression has no effect.

    Relations with a cell that must be suppressed anyway need no inequality.
    """

    def __init__(self, relations: sparse.csr_array, free: BoolArray, forced: BoolArray) -> None:
        self.cells = np.flatnonzero(free)
        with_forced = np.zeros(relations.shape[0], dtype=bool)
        with_forced[sparse.csr_array(relations[:, np.flatnonzero(forced)]).nonzero()[0]] = True
        rows = sparse.csr_array(relations[np.flatnonzero(~with_forced)][:, self.cells])
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
            found.append(Cut(cells, np.where(np.arange(len(cells)) == np.argmax(x[cells]), -1.0, 1.0), 0.0))
        return found
