"""The additive relations of a table, as one sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.hierarchy import Hierarchy
from discreet.errors import TableError, some


def additive(
    hierarchies: Sequence[Hierarchy], codes: NDArray[np.int32]
) -> tuple[sparse.csr_array, list[tuple[int, ...]]]:
    """All relations "sum of the parts − total = 0" among stored cells, and the totals that are not stored.

    ``codes[d, i]`` is the code of cell ``i`` in dimension ``d``. Cells that are not stored are zero and drop out;
    where a *total* is not stored its relation cannot be written, so it is returned as a tuple of codes.
    """
    cells = codes.shape[1]
    columns: list[NDArray[np.int32]] = []
    signs: list[NDArray[np.int8]] = []
    lengths: list[IntArray] = []
    missing: list[tuple[int, ...]] = []
    for d, hierarchy in enumerate(hierarchies):
        rest = _rank_of_other_dimensions(hierarchies, codes, d)
        size = np.int64(len(hierarchy))
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
            parts = np.diff(np.r_[starts, len(child)])
            keep = np.repeat(found, parts)
            child, starts, parts = child[keep], starts[found], parts[found]
            # Each relation is its parts followed by its total.
            row_ends = np.cumsum(parts + 1)
            is_total = np.zeros(len(child) + len(parts), dtype=bool)
            is_total[row_ends - 1] = True
            column = np.empty(len(is_total), dtype=np.int32)
            column[~is_total] = child
            column[is_total] = order[at[found]]
            columns.append(column)
            signs.append(np.where(is_total, -1, 1).astype(np.int8))
            lengths.append(parts + 1)
    pointer = np.r_[0, np.cumsum(np.concatenate(lengths))] if lengths else np.zeros(1, np.int64)
    data = np.concatenate(signs).astype(np.float64) if signs else np.zeros(0)
    index = np.concatenate(columns) if columns else np.zeros(0, np.int32)
    matrix = sparse.csr_array((data, index, pointer.astype(np.int32)), shape=(len(pointer) - 1, cells))
    return matrix, list(dict.fromkeys(missing))


def _refuse_duplicates(hierarchies: Sequence[Hierarchy], codes: NDArray[np.int32], cells: IntArray) -> None:
    if len(cells):
        twice = dict.fromkeys(map(tuple, codes[:, cells].T.tolist()))
        labels = [" × ".join(h.codes[c] for h, c in zip(hierarchies, where, strict=True)) for where in twice]
        raise TableError(f"{len(labels)} cells occur more than once, e.g. {some(labels)}.", labels)


def _rank_of_other_dimensions(hierarchies: Sequence[Hierarchy], codes: NDArray[np.int32], d: int) -> NDArray[np.int64]:
    """A number for each combination of codes in all dimensions but ``d``."""
    rank = np.zeros(codes.shape[1], dtype=np.int64)
    slack = 1
    for other, hierarchy in enumerate(hierarchies):
        if other == d:
            continue
        slack *= len(hierarchy)
        if slack * len(hierarchies[d]) >= 2**62:  # renumber before the product overflows
            rank = np.unique(rank, return_inverse=True)[1].astype(np.int64)
            slack = max(codes.shape[1], 1) * len(hierarchy)
        rank = rank * len(hierarchy) + codes[other]
    return rank


def _distinct_trees(hierarchy: Hierarchy) -> list[IntArray]:
    """Parent vectors in which a group that an earlier tree has already is left out."""
    trees = [np.full(len(hierarchy), -1) for _ in hierarchy.parents]
    for tree, group, children in hierarchy.equations():
        trees[tree][children] = group
    return trees


def from_equations(equations: Sequence[tuple[Sequence[int], Sequence[float]]], cells: int) -> sparse.csr_array:
    """Relations given one by one as columns and coefficients."""
    pointer = np.r_[0, np.cumsum([len(columns) for columns, _ in equations])].astype(np.int32)
    index = np.fromiter((c for columns, _ in equations for c in columns), dtype=np.int32, count=int(pointer[-1]))
    data = np.fromiter((v for _, values in equations for v in values), dtype=np.float64, count=int(pointer[-1]))
    return sparse.csr_array((data, index, pointer), shape=(len(equations), cells))


def without(relations: sparse.csr_array, cells: int) -> sparse.csr_array:
    """What the relations say about the first ``cells`` cells once each further one is replaced by its parts."""
    rows = [
        dict(zip(relations.indices[begin:end].tolist(), relations.data[begin:end].tolist(), strict=True))
        for begin, end in pairwise(relations.indptr)
    ]
    holding: dict[int, set[int]] = {column: set() for column in range(cells, relations.shape[1])}
    for row, terms in enumerate(rows):
        for column in terms.keys() & holding.keys():
            holding[column].add(row)
    for column, candidates in holding.items():
        # The shortest relation that holds the cell defines it, and is used up.
        found = sorted((row for row in candidates if column in rows[row]), key=lambda row: (len(rows[row]), row))
        terms, rows[found[0]] = rows[found[0]], {}
        for row in found[1:]:
            factor = -rows[row][column] / terms[column]
            for c, weight in terms.items():
                rows[row][c] = rows[row].get(c, 0.0) + factor * weight
            rows[row] = {c: weight for c, weight in rows[row].items() if weight}
            for c in terms.keys() & holding.keys():
                holding[c].add(row)
    return stack([from_equations([(list(terms), list(terms.values())) for terms in rows], cells)])


def stack(matrices: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Relations of several tables over the same cells, each different one once."""
    merged = sparse.csr_array(sparse.vstack(matrices, format="csr"))
    merged.sum_duplicates()
    merged.eliminate_zeros()
    seen: set[tuple[bytes, bytes]] = set()
    keep = []
    for row in range(merged.shape[0]):
        begin, end = merged.indptr[row], merged.indptr[row + 1]
        key = (merged.indices[begin:end].tobytes(), merged.data[begin:end].tobytes())
        if begin < end and key not in seen:
            seen.add(key)
            keep.append(row)
    return merged[keep]
