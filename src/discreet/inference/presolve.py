"""Before any program is solved: leave out what is certain, merge what moves as one, tighten bounds relation by relation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.inference.bound_propagation import propagate
from discreet.inference.integer_system import integer_weights, nonintegral_relations


@dataclass(frozen=True, eq=False, repr=False)
class PresolvedSystem:
    """A smaller system that says the same: cell ``i`` moves by ``sign[i]`` times its column, or not at all (column −1)."""

    column: IntArray
    sign: FloatArray
    relations: sparse.csr_array
    low: FloatArray
    high: FloatArray

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The tightened bounds of every cell."""
        low, high = np.zeros(len(self.column)), np.zeros(len(self.column))
        at = np.flatnonzero(self.column >= 0)
        own_low, own_high = self.low[self.column[at]], self.high[self.column[at]]
        same = self.sign[at] > 0
        low[at], high[at] = np.where(same, own_low, -own_high), np.where(same, own_high, -own_low)
        return low, high


def presolve(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, uncertain: NDArray[np.bool_]
) -> PresolvedSystem:
    """Reduce ``low <= d <= high, relations @ d == 0`` as far as single relations go.

    A relation with one uncertain cell left pins it; one with two, of equal weight, makes them move as one. Both leave shorter
    relations behind, so this goes on until nothing changes. Weights are whole numbers, so that they add up exactly; where they
    cannot be, columns are left as they are.
    """
    column = np.where(uncertain, np.cumsum(uncertain) - 1, -1)
    sign = np.ones(len(low))
    low, high = low[uncertain], high[uncertain]
    rows = integer_weights(_nonempty(relations[:, np.flatnonzero(uncertain)]))
    bounds = np.concatenate([low, high])
    # However small, slack is slack: only what is exactly nothing may become nothing.
    digits = digits_of(bounds[np.isfinite(bounds)], absolute_tolerance=0.0) if np.all(np.abs(rows.data) == 1) else None
    while True:
        low, high = propagate(rows, low, high)
        # Sums of round numbers are round: take off what propagation widened them by. Merged columns may have other weights.
        if digits is not None and np.all(np.abs(rows.data) == 1):
            low, high = np.round(low, digits), np.round(high, digits)
        name, factor, still = _aliases(rows)
        down, up = np.where(factor > 0, low, -high), np.where(factor > 0, high, -low)
        by_name = np.argsort(name, kind="stable")
        starts = np.searchsorted(name[by_name], np.arange(name.max(initial=-1) + 1))
        if len(starts):
            down, up = np.maximum.reduceat(down[by_name], starts), np.minimum.reduceat(up[by_name], starts)
        moves = ~still & ((down < 0) | (up > 0))
        if moves.all() and len(starts) == len(low):
            return PresolvedSystem(column, sign, _distinct(rows), low, high)
        # Columns that do not move get number -1, the others are counted through.
        place = np.where(moves, np.cumsum(moves) - 1, -1)[name]
        at = np.flatnonzero(place >= 0)
        members = sparse.csr_array((factor[at], (at, place[at])), shape=(len(low), int(moves.sum())))
        rows = rows @ members
        rows.eliminate_zeros()
        rows = integer_weights(_nonempty(rows))
        low, high = down[moves], up[moves]
        alive = np.flatnonzero(column >= 0)
        sign[alive] *= factor[column[alive]]
        column[alive] = place[column[alive]]


def _nonempty(rows: sparse.csr_array) -> sparse.csr_array:
    held = np.diff(rows.indptr) > 0
    return rows if held.all() else rows[held]


def _aliases(rows: sparse.csr_array) -> tuple[IntArray, FloatArray, NDArray[np.bool_]]:
    """Columns that move as one get one name, with the sign in which each follows it; and which names cannot move.

    Relations with two entries of equal size, x = y or x = −y, join columns. In a graph with every column twice, once as
    itself and once as its negative, whatever is connected moves as one; a column connected with its own negative is zero.
    """
    n = rows.shape[1]
    first = rows.indptr[:-1][np.diff(rows.indptr) == 2]
    first = first[np.abs(rows.data[first]) == np.abs(rows.data[first + 1])]
    is_rough = nonintegral_relations(rows)
    if is_rough.any():
        alone = np.zeros(n, dtype=bool)
        alone[rows[is_rough].indices] = True
        first = first[~alone[rows.indices[first]] & ~alone[rows.indices[first + 1]]]
    if not len(first):
        return np.arange(n), np.ones(n), np.zeros(n, dtype=bool)
    a, b = rows.indices[first].astype(np.int64), rows.indices[first + 1].astype(np.int64)
    opposite = (rows.data[first] * rows.data[first + 1] > 0) * n  # x + y = 0: x is the negative of y
    ends = np.concatenate([a, a + n]), np.concatenate([b + opposite, b + n - opposite])
    graph = sparse.csr_array((np.ones(len(ends[0])), ends), shape=(2 * n, 2 * n))
    _, label = csgraph.connected_components(graph, directed=False)
    itself, negative = label[:n], label[n:]
    _, name = np.unique(np.minimum(itself, negative), return_inverse=True)
    still = np.zeros(name.max() + 1, dtype=bool)
    still[name[itself == negative]] = True
    return name, np.where(itself <= negative, 1.0, -1.0), still


def _distinct(rows: sparse.csr_array) -> sparse.csr_array:
    """Each relation once: merging leaves copies behind, also with all signs turned. In lowest terms they are equal."""
    if not rows.shape[0]:
        return rows
    rows = rows.copy()
    rows.sort_indices()
    lead = np.sign(rows.data[rows.indptr[:-1]])
    rows.data = rows.data * np.repeat(lead, np.diff(rows.indptr))
    # Copies agree in any weighted sum of their entries; only rows that do are compared.
    key = rows @ np.random.default_rng(0).uniform(1.0, 2.0, rows.shape[1])
    order = np.lexsort((key, np.diff(rows.indptr)))
    near = np.flatnonzero((np.diff(key[order]) == 0) & (np.diff(np.diff(rows.indptr)[order]) == 0))
    same = np.zeros(rows.shape[0], dtype=bool)
    for k in near.tolist():
        one, two = (slice(rows.indptr[r], rows.indptr[r + 1]) for r in (order[k], order[k + 1]))
        same[order[k + 1]] = np.array_equal(rows.indices[one], rows.indices[two]) and np.array_equal(
            rows.data[one], rows.data[two]
        )
    return sparse.csr_array(rows[~same])
