"""What is near one column of a system of relations: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled


class Incidence(NamedTuple):
    """Which columns are in a relation, and which relations a column is in."""

    row_start: SmallIntArray
    in_row: SmallIntArray
    column_start: SmallIntArray
    in_column: SmallIntArray


def incidence(relations: sparse.csr_array) -> Incidence:
    by_column = relations.tocsc()
    pointers = relations.indptr, relations.indices, by_column.indptr, by_column.indices
    return Incidence(*(np.asarray(each, dtype=np.int32) for each in pointers))


# -- compiled from here on ------------------------------------------------------------------------------------


@compiled
def nearest(incidence: Incidence, length: FloatArray, at: int, size: int) -> IntArray:
    """Columns from the nearest on, so many at most.

    To go on from a column to another one in the same relation is as far as the ``length`` of the latter.
    """
    is_in = np.zeros(len(incidence.column_start) - 1, dtype=np.uint8)
    is_open = np.zeros(len(incidence.row_start) - 1, dtype=np.uint8)
    found = np.empty(size, dtype=np.int64)
    many = 0
    heap = [(0.0, np.int64(at))]
    while len(heap) > 0 and many < size:
        far, column = heappop(heap)
        if is_in[column]:
            continue
        is_in[column] = 1
        found[many] = column
        many += 1
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            row = incidence.in_column[k]
            if is_open[row]:  # from a nearer column
                continue
            is_open[row] = 1
            for j in range(incidence.row_start[row], incidence.row_start[row + 1]):
                other = np.int64(incidence.in_row[j])
                if not is_in[other] and length[other] < np.inf:
                    heappush(heap, (far + length[other], other))
    return found[:many]


@compiled
def movable(incidence: Incidence, columns: IntArray) -> IntArray:
    """Those of some columns that are left when a relation with only one of them pins it, again and again."""
    is_in = np.zeros(len(incidence.column_start) - 1, dtype=np.uint8)
    left = np.zeros(len(incidence.row_start) - 1, dtype=np.int32)
    for column in columns:
        is_in[column] = 1
        for k in range(incidence.column_start[column], incidence.column_start[column + 1]):
            left[incidence.in_column[k]] += 1
    doubtful = [np.int64(column) for column in columns]
    while len(doubtful) > 0:
        column = doubtful.pop()
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
                        doubtful.append(np.int64(incidence.in_row[j]))
    kept = np.empty(len(columns), dtype=np.int64)
    many = 0
    for column in columns:
        if is_in[column]:
            kept[many] = column
            many += 1
    return kept[:many]
