"""Parts of a system of relations around one of its columns.

A deviation of some columns that satisfies all their relations, with all other columns fixed, is a deviation of the complete
system. So a deviation found in a part is feasible; if none is found, there may be one in a larger part.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled


class Incidence(NamedTuple):
    """The columns of each relation, and the relations of each column."""

    row_start: SmallIntArray
    in_row: SmallIntArray
    column_start: SmallIntArray
    in_column: SmallIntArray


class NearestColumns:
    """The columns nearest to a column of one system."""

    def __init__(self, relations: sparse.csr_array) -> None:
        self._by_column = by_column = relations.tocsc()
        pointers = relations.indptr, relations.indices, by_column.indptr, by_column.indices
        self._system = Incidence(*(np.asarray(each, dtype=np.int32) for each in pointers))

    def nearest(self, column: int, length: FloatArray, size: int) -> IntArray:
        """At most ``size`` columns, the nearest first; a step to a column adds its ``length`` to the distance."""
        return _nearest(self._system, length, column, size)

    def around(self, column: int, length: FloatArray, size: int) -> IntArray:
        """Those of the nearest columns that can deviate while all others are fixed; none if ``column`` itself cannot."""
        found = _movable(self._system, self.nearest(column, length, size))
        return found if len(found) and found[0] == column else found[:0]

    def part(self, columns: IntArray) -> sparse.csr_array:
        """The relations of some columns, restricted to these columns."""
        chosen = self._by_column[:, columns].tocsr()
        return sparse.csr_array(chosen[np.diff(chosen.indptr) > 0])


# -- compiled from here on ------------------------------------------------------------------------------------


@compiled
def _nearest(incidence: Incidence, length: FloatArray, at: int, size: int) -> IntArray:
    """At most ``size`` columns, the nearest first, by Dijkstra's algorithm; steps lead to columns in the same relation."""
    is_in = np.zeros(len(incidence.column_start) - 1, dtype=np.uint8)
    is_scanned = np.zeros(len(incidence.row_start) - 1, dtype=np.uint8)
    found = np.empty(size, dtype=np.int64)
    count = 0
    heap = [(0.0, np.int64(at))]
    while len(heap) > 0 and count < size:
        distance, column = heappop(heap)
        if is_in[column]:
            continue
        is_in[column] = 1
        found[count] = column
        count += 1
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            row = incidence.in_column[k]
            if is_scanned[row]:  # from a nearer column
                continue
            is_scanned[row] = 1
            for j in range(incidence.row_start[row], incidence.row_start[row + 1]):
                other = np.int64(incidence.in_row[j])
                if not is_in[other] and length[other] < np.inf:
                    heappush(heap, (distance + length[other], other))
    return found[:count]


@compiled
def _movable(incidence: Incidence, columns: IntArray) -> IntArray:
    """The columns that remain after removing, again and again, each that is the only one left in a relation."""
    is_in = np.zeros(len(incidence.column_start) - 1, dtype=np.uint8)
    left = np.zeros(len(incidence.row_start) - 1, dtype=np.int32)
    for column in columns:
        is_in[column] = 1
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            left[incidence.in_column[k]] += 1
    queue = [np.int64(column) for column in columns]
    while len(queue) > 0:
        column = queue.pop()
        pinned = False
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            pinned |= left[incidence.in_column[k]] == 1
        if not is_in[column] or not pinned:
            continue
        is_in[column] = 0
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            row = incidence.in_column[k]
            left[row] -= 1
            if left[row] == 1:
                for j in range(incidence.row_start[row], incidence.row_start[row + 1]):
                    if is_in[incidence.in_row[j]]:
                        queue.append(np.int64(incidence.in_row[j]))
    kept = np.empty(len(columns), dtype=np.int64)
    count = 0
    for column in columns:
        if is_in[column]:
            kept[count] = column
            count += 1
    return kept[:count]
