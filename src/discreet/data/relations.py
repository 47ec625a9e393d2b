"""The relations of a table as a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import IntArray, SmallIntArray
from discreet.data.hierarchy import Hierarchy, cell_label
from discreet.errors import TableError, some


def additive(hierarchies: Sequence[Hierarchy], codes: SmallIntArray) -> tuple[sparse.csr_array, list[tuple[int, ...]]]:
    """All relations "sum of the addends − total = 0" between stored cells, and the codes of the totals that are not stored.

    ``codes[d, i]`` is the code of cell ``i`` in dimension ``d``. Addends that are not stored are zero and left out. A total
    that is not stored has no relation.
    """
    cells = codes.shape[1]
    columns: list[SmallIntArray] = []
    signs: list[NDArray[np.int8]] = []
    lengths: list[IntArray] = []
    missing: list[tuple[int, ...]] = []
    for d, hierarchy in enumerate(hierarchies):
        size = np.int64(len(hierarchy))
        others = [other for other in range(len(hierarchies)) if other != d]
        sizes = [len(hierarchies[other]) for other in others]
        rest = numbers_of_combinations(codes[others], sizes, cells, len(hierarchy))
        key = rest * size + codes[d]
        order = np.argsort(key, kind="stable")
        sorted_key = key[order]
        if d == 0:
            _refuse_duplicates(hierarchies, codes, order[1:][sorted_key[1:] == sorted_key[:-1]])
        for parent in _distinct_trees(hierarchy):
            above = parent[codes[d]]
            child = np.flatnonzero(above >= 0)
            total_key = rest[child] * size + above[child]
            by_total = np.argsort(total_key, kind="stable")
            child, total_key = child[by_total], total_key[by_total]
            starts = (
                np.flatnonzero(np.r_[True, total_key[1:] != total_key[:-1]]) if len(child) else np.zeros(0, np.int64)
            )
            wanted = total_key[starts]
            at = np.searchsorted(sorted_key, wanted)
            found = (at < cells) & (sorted_key[np.minimum(at, cells - 1)] == wanted) if cells else np.zeros(0, bool)
            for s in starts[~found]:
                where = codes[:, child[s]].copy()
                where[d] = above[child[s]]
                missing.append(tuple(int(c) for c in where))
            addends = np.diff(np.r_[starts, len(child)])
            child, addends = child[np.repeat(found, addends)], addends[found]
            # A relation lists its addends, then its total.
            is_total = np.zeros(len(child) + len(addends), dtype=bool)
            is_total[np.cumsum(addends + 1) - 1] = True
            column = np.empty(len(is_total), dtype=np.int32)
            column[~is_total] = child
            column[is_total] = order[at[found]]
            columns.append(column)
            signs.append(np.where(is_total, -1, 1).astype(np.int8))
            lengths.append(addends + 1)
    pointer = np.r_[0, np.cumsum(np.concatenate(lengths))] if lengths else np.zeros(1, np.int64)
    data = np.concatenate(signs).astype(np.float64) if signs else np.zeros(0)
    index = np.concatenate(columns) if columns else np.zeros(0, np.int32)
    matrix = sparse.csr_array((data, index, pointer.astype(np.int32)), shape=(len(pointer) - 1, cells))
    return matrix, list(dict.fromkeys(missing))


def _refuse_duplicates(hierarchies: Sequence[Hierarchy], codes: SmallIntArray, cells: IntArray) -> None:
    if len(cells):
        twice = dict.fromkeys(map(tuple, codes[:, cells].T.tolist()))
        labels = [cell_label(hierarchies, where) for where in twice]
        raise TableError(f"{len(labels)} cells occur more than once, e.g. {some(labels)}.", labels)


def numbers_of_combinations(
    codes: Iterable[NDArray[Any]], sizes: Sequence[int], length: int, spare: int = 1
) -> IntArray:
    """A number for each combination of codes below ``sizes``, in lexicographic order; ``spare`` times it does not overflow."""
    number = np.zeros(length, dtype=np.int64)
    combinations = 1
    for code, size in zip(codes, sizes, strict=True):
        combinations *= size
        if combinations * spare >= 2**62:  # renumber before the product overflows
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            combinations = max(length, 1) * size
        number = number * size + code
    return number


def _distinct_trees(hierarchy: Hierarchy) -> list[IntArray]:
    """Parent vectors without the groups that an earlier tree has."""
    trees = [np.full(len(hierarchy), -1) for _ in hierarchy.parents]
    for tree, group, children in hierarchy.equations():
        trees[tree][children] = group
    return trees


def from_equations(equations: Sequence[tuple[Sequence[int], Sequence[float]]], cells: int) -> sparse.csr_array:
    """Relations from the cells and coefficients of each equation."""
    pointer = np.r_[0, np.cumsum([len(columns) for columns, _ in equations])].astype(np.int32)
    index = np.fromiter((c for columns, _ in equations for c in columns), dtype=np.int32, count=int(pointer[-1]))
    data = np.fromiter((v for _, values in equations for v in values), dtype=np.float64, count=int(pointer[-1]))
    return sparse.csr_array((data, index, pointer), shape=(len(equations), cells))


def after_elimination(relations: sparse.csr_array, cells: int) -> sparse.csr_array:
    """The relations between the first ``cells`` cells after elimination of all other cells."""
    rows = [
        dict(zip(relations.indices[start:end].tolist(), relations.data[start:end].tolist(), strict=True))
        for start, end in pairwise(relations.indptr)
    ]
    rows_of: dict[int, set[int]] = {column: set() for column in range(cells, relations.shape[1])}
    for row, terms in enumerate(rows):
        for column in terms.keys() & rows_of.keys():
            rows_of[column].add(row)
    for column, candidates in rows_of.items():
        # The shortest relation with the cell is solved for it and removed.
        found = sorted((row for row in candidates if column in rows[row]), key=lambda row: (len(rows[row]), row))
        terms, rows[found[0]] = rows[found[0]], {}
        for row in found[1:]:
            factor = -rows[row][column] / terms[column]
            for c, weight in terms.items():
                rows[row][c] = rows[row].get(c, 0.0) + factor * weight
            rows[row] = {c: weight for c, weight in rows[row].items() if weight}
            for c in terms.keys() & rows_of.keys():
                rows_of[c].add(row)
    return stack([from_equations([(list(terms), list(terms.values())) for terms in rows], cells)])


def stack(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """The relations of several tables over the same cells, without duplicates and empty ones."""
    merged = sparse.csr_array(sparse.vstack(matrices, format="csr"))
    merged.sum_duplicates()
    merged.eliminate_zeros()
    seen: set[tuple[bytes, bytes]] = set()
    keep = []
    for row, (start, end) in enumerate(pairwise(merged.indptr)):
        key = (merged.indices[start:end].tobytes(), merged.data[start:end].tobytes())
        if start < end and key not in seen:
            seen.add(key)
            keep.append(row)
    return merged[keep]
