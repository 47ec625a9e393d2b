"""Parts of a system of relations around one of its columns.

A deviation of some columns that satisfies all their relations, with all other columns fixed, is a deviation of the complete
system. So a deviation found in a part is feasible; if none is found, there may be one in a larger part.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray


class NearestColumns:
    """The columns nearest to a column of one system. The kernel is imported when needed, because loading takes half a second."""

    def __init__(self, relations: sparse.csr_array) -> None:
        from discreet.inference.nearest_columns_kernel import incidence

        self._by_column = relations.tocsc()
        self._system = incidence(relations)

    def nearest(self, column: int, length: FloatArray, size: int) -> IntArray:
        """At most ``size`` columns, the nearest first; a step to a column adds its ``length`` to the distance."""
        from discreet.inference.nearest_columns_kernel import nearest

        return nearest(self._system, length, column, size)

    def around(self, column: int, length: FloatArray, size: int) -> IntArray:
        """Those of the nearest columns that can deviate while all others are fixed; none if ``column`` itself cannot."""
        from discreet.inference.nearest_columns_kernel import movable

        found = movable(self._system, self.nearest(column, length, size))
        return found if len(found) and found[0] == column else found[:0]

    def part(self, columns: IntArray) -> sparse.csr_array:
        """The relations of some columns, restricted to these columns."""
        chosen = self._by_column[:, columns].tocsr()
        return sparse.csr_array(chosen[np.diff(chosen.indptr) > 0])
