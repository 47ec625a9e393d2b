"""Bounds tightened by one relation at a time, until they no longer change (the shuttle algorithm, or "unpicking")."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray

MAX_PROPAGATION_ROUNDS = 30  # later rounds tighten bounds too little to be worth their time
PROPAGATION_WIDENING = 1e-12  # relative widening of implied bounds, so that rounding never excludes the true value


def propagate(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, rounds: int = MAX_PROPAGATION_ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Tighten ``low <= d <= high`` for deviations ``d`` with ``relations @ d == 0``; zero always stays feasible."""
    entries = relations.tocsc()
    column = np.repeat(np.arange(len(low)), np.diff(entries.indptr))
    return propagate_terms(entries.indices, column, entries.data, low, high, rounds)


def propagate_terms(
    row: IntArray,
    column: IntArray,
    weight: FloatArray,
    low: FloatArray,
    high: FloatArray,
    rounds: int = MAX_PROPAGATION_ROUNDS,
) -> tuple[FloatArray, FloatArray]:
    """Like :func:`propagate`, from the nonzero terms of the relations, ordered by column."""
    if not len(row):
        return low.copy(), high.copy()
    n, m = len(low), int(row.max()) + 1
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    cells, positive, size = column[starts], weight > 0, np.abs(weight)
    bounds = np.concatenate([low, high])  # one array: the sign of a weight says which bound minimizes its term
    at_least, at_most = np.where(positive, column, column + n), np.where(positive, column + n, column)
    digits = np.finfo(float).eps * (64 + np.bincount(row, minlength=m))
    low, high = bounds[:n], bounds[n:]
    for _ in range(rounds):
        least, most = weight * bounds[at_least], weight * bounds[at_most]
        # Sums of terms of very different sizes lose digits: bounds are widened by the largest possible rounding error.
        infinite = np.isinf(least), np.isinf(most)
        sizes = [
            np.abs(np.where(i, 0.0, term) if i.any() else term) for term, i in zip((least, most), infinite, strict=True)
        ]
        rounding = (digits * np.bincount(row, np.maximum(*sizes), m))[row]
        others_least = _sum_of_others(row, least, m, infinite[0], -np.inf) - rounding
        others_most = _sum_of_others(row, most, m, infinite[1], np.inf) + rounding
        new_low = np.where(positive, -others_most, others_least) / size
        new_high = np.where(positive, -others_least, others_most) / size
        tighter_low = np.minimum(np.maximum.reduceat(new_low, starts) * (1 + PROPAGATION_WIDENING), 0.0)
        tighter_high = np.maximum(np.minimum.reduceat(new_high, starts) * (1 + PROPAGATION_WIDENING), 0.0)
        before_low, before_high = low[cells], high[cells]
        gain = (tighter_low > before_low * (1 - 1e-6)) | (tighter_high < before_high * (1 - 1e-6))
        low[cells] = np.maximum(before_low, tighter_low)
        high[cells] = np.minimum(before_high, tighter_high)
        if not gain.any():
            break
    return low.copy(), high.copy()


def _sum_of_others(row: IntArray, term: FloatArray, m: int, infinite: BoolArray, infinity: float) -> FloatArray:
    """For each term the sum of the other terms of its relation."""
    if not infinite.any():
        return np.asarray(np.bincount(row, term, m)[row] - term)
    finite = np.where(infinite, 0.0, term)
    total = np.bincount(row, finite, m)[row] - finite
    infinite_others = np.bincount(row, infinite, m)[row] - infinite
    return np.where(infinite_others > 0, infinity, total)
