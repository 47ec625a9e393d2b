"""Presolving: leave out certain cells, merge cells with equal deviations, tighten bounds relation by relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.inference.bound_propagation import propagate
from discreet.inference.integer_system import integer_weights, nonintegral_relations
from discreet.inference.max_flow import joined


@dataclass(frozen=True, eq=False, repr=False)
class PresolvedSystem:
    """An equivalent smaller system: cell ``i`` deviates by ``sign[i]`` times column ``column[i]``, or not at all (−1)."""

    column: IntArray
    sign: FloatArray
    relations: sparse.csr_array
    low: FloatArray
    high: FloatArray


def presolve(relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> PresolvedSystem:
    """Reduce ``low <= d <= high, relations @ d == 0`` by single relations.

    A relation with one uncertain cell fixes it; one with two cells of equal absolute weight merges them. Both shorten other
    relations, so this is repeated until nothing changes. Weights are integers, so that sums are exact; columns with weights
    that cannot be integers are not merged.
    """
    uncertain = low < high
    column = np.where(uncertain, np.cumsum(uncertain) - 1, -1)
    sign = np.ones(len(low))
    low, high = low[uncertain], high[uncertain]
    rows = integer_weights(_nonempty(relations[:, np.flatnonzero(uncertain)]))
    bounds = np.concatenate([low, high])
    # Rounding must not turn a small slack into zero.
    digits = digits_of(bounds[np.isfinite(bounds)], absolute_tolerance=0.0) if np.all(np.abs(rows.data) == 1) else None
    while True:
        low, high = propagate(rows, low, high)
        # Sums of round numbers are round: this removes the widening by propagation. Merging may have changed the weights.
        if digits is not None and np.all(np.abs(rows.data) == 1):
            low, high = np.round(low, digits), np.round(high, digits)
        group, factor, is_zero = _merged(rows)
        down, up = np.where(factor > 0, low, -high), np.where(factor > 0, high, -low)
        by_group = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[by_group], np.arange(group.max(initial=-1) + 1))
        if len(starts):
            down, up = np.maximum.reduceat(down[by_group], starts), np.minimum.reduceat(up[by_group], starts)
        uncertain_groups = ~is_zero & ((down < 0) | (up > 0))
        if uncertain_groups.all() and len(starts) == len(low):
            return PresolvedSystem(column, sign, _distinct(rows), low, high)
        new_column = np.where(uncertain_groups, np.cumsum(uncertain_groups) - 1, -1)[group]
        at = np.flatnonzero(new_column >= 0)
        members = sparse.csr_array((factor[at], (at, new_column[at])), shape=(len(low), int(uncertain_groups.sum())))
        rows = rows @ members
        rows.eliminate_zeros()
        rows = integer_weights(_nonempty(rows))
        low, high = down[uncertain_groups], up[uncertain_groups]
        kept = np.flatnonzero(column >= 0)
        sign[kept] *= factor[column[kept]]
        column[kept] = new_column[column[kept]]


def _nonempty(rows: sparse.csr_array) -> sparse.csr_array:
    nonempty = np.diff(rows.indptr) > 0
    return rows if nonempty.all() else rows[nonempty]


def _merged(rows: sparse.csr_array) -> tuple[IntArray, FloatArray, BoolArray]:
    """The group of each column, its sign within the group, and whether the group must be zero.

    Relations with two entries of equal size, x = y or x = −y, merge columns. In a graph with two nodes per column, itself and
    its negative, connected nodes are equal; a column that is connected with its own negative is zero.
    """
    n = rows.shape[1]
    first = rows.indptr[:-1][np.diff(rows.indptr) == 2]
    first = first[np.abs(rows.data[first]) == np.abs(rows.data[first + 1])]
    nonintegral = nonintegral_relations(rows)
    if nonintegral.any():
        unmerged = np.zeros(n, dtype=bool)
        unmerged[rows[nonintegral].indices] = True
        first = first[~unmerged[rows.indices[first]] & ~unmerged[rows.indices[first + 1]]]
    if not len(first):
        return np.arange(n), np.ones(n), np.zeros(n, dtype=bool)
    a, b = rows.indices[first].astype(np.int64), rows.indices[first + 1].astype(np.int64)
    opposite = (rows.data[first] * rows.data[first + 1] > 0) * n  # x + y = 0: x is the negative of y
    ends = np.concatenate([a, a + n]), np.concatenate([b + opposite, b + n - opposite])
    _, label = joined(*ends, 2 * n)
    itself, negative = label[:n], label[n:]
    _, group = np.unique(np.minimum(itself, negative), return_inverse=True)
    is_zero = np.zeros(group.max() + 1, dtype=bool)
    is_zero[group[itself == negative]] = True
    return group, np.where(itself <= negative, 1.0, -1.0), is_zero


def _distinct(rows: sparse.csr_array) -> sparse.csr_array:
    """The relations without duplicates, which merging creates, also with all signs reversed; they are in lowest terms."""
    if not rows.shape[0]:
        return rows
    rows = rows.copy()
    rows.sort_indices()
    lead = np.sign(rows.data[rows.indptr[:-1]])
    rows.data = rows.data * np.repeat(lead, np.diff(rows.indptr))
    # Only relations with equal random sums are compared.
    key = rows @ np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1])
    order = np.lexsort((key, np.diff(rows.indptr)))
    candidates = np.flatnonzero((np.diff(key[order]) == 0) & (np.diff(np.diff(rows.indptr)[order]) == 0))
    is_duplicate = np.zeros(rows.shape[0], dtype=bool)
    for k in candidates.tolist():
        one, two = (slice(rows.indptr[r], rows.indptr[r + 1]) for r in (order[k], order[k + 1]))
        is_duplicate[order[k + 1]] = np.array_equal(rows.indices[one], rows.indices[two]) and np.array_equal(
            rows.data[one], rows.data[two]
        )
    return sparse.csr_array(rows[~is_duplicate])
