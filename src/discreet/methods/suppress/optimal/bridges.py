"""Cuts that hold for the cheapest patterns without regard to any level: a suppressed cell must be able to move."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal.separator import VIOLATED


class Bridges:
    """In each relation of a suppressed cell another one must be suppressed, too; else suppressing it is of no use.

    That is known before for relations with a cell that is suppressed anyway.
    """

    def __init__(self, relations: sparse.csr_array, free: BoolArray, forced: BoolArray) -> None:
        self.cells = np.flatnonzero(free)
        with_forced = np.zeros(relations.shape[0], dtype=bool)
        with_forced[sparse.csr_array(relations[:, np.flatnonzero(forced)]).nonzero()[0]] = True
        rows = sparse.csr_array(relations[np.flatnonzero(~with_forced)][:, self.cells])
        self.rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
        self.row = np.repeat(np.arange(self.rows.shape[0]), np.diff(self.rows.indptr))

    def cuts(self, x: FloatArray) -> list[Cut]:
        begin, of = self.rows.indptr, x[self.cells][self.rows.indices]
        largest = np.zeros(self.rows.shape[0])
        np.maximum.at(largest, self.row, of)
        total = np.bincount(self.row, of, len(largest))
        found = []
        for r in np.flatnonzero(2 * largest > total + VIOLATED).tolist():
            cells = np.sort(self.cells[self.rows.indices[begin[r] : begin[r + 1]]])
            own = cells[np.argmax(x[cells])]
            found.append(Cut(cells, np.where(cells == own, -1.0, 1.0), 0.0))
        return found
