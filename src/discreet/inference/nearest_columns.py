"""Parts of a system of relations around one of its columns.

A move of some columns that keeps every relation they are in, while all others stay, is a move of the whole system. So what a
part shows to be possible is possible; only what it does not show may still be so in a larger one.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray


class NearestColumns:
    """Finds neighbours in one system."""

    def __init__(self, relations: sparse.csr_array) -> None:
        from discreet.inference.nearest_columns_kernel import incidence  # takes half a second

        self._by_column = relations.tocsc()
        self._system = incidence(relations)

    def nearest(self, column: int, length: FloatArray, size: int) -> IntArray:
        """Columns from the nearest on, so many at most. To step on one is as far as its ``length``."""
        from discreet.inference.nearest_columns_kernel import nearest

        return nearest(self._system, length, column, size)

    def around(self, column: int, length: FloatArray, size: int) -> IntArray:
        """Those of the nearest that can move without others; none if ``column`` itself cannot."""
        from discreet.inference.nearest_columns_kernel import movable

        found = movable(self._system, self.nearest(column, length, size))
        return found if len(found) and found[0] == column else found[:0]

    def part(self, columns: IntArray) -> sparse.csr_array:
        """All relations that some columns are in, as far as these go."""
        chosen = self._by_column[:, columns].tocsr()
        return sparse.csr_array(chosen[np.diff(chosen.indptr) > 0])
