"""Bounds that follow from one relation at a time ("unpicking", the shuttle algorithm), repeated until they settle."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray

MAX_PROPAGATION_ROUNDS = 30
PROPAGATION_WIDENING = (
    1e-12  # share by which implied bounds are kept too wide, so that rounding never rules the truth out
)


def propagate(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, rounds: int = MAX_PROPAGATION_ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Tighten ``low <= d <= high`` for differences ``d`` with ``relations @ d == 0``; zero always stays possible."""
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
    """The same from the terms of the relations, ordered by column, so that the bounds of a cell stand together."""
    if not len(row):
        return low.copy(), high.copy()
    n, m = len(low), int(row.max()) + 1
    starts = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
    cells, positive, size = column[starts], weight > 0, np.abs(weight)
    bounds = np.concatenate([low, high])  # side by side, as which of them makes a term least depends on its sign
    at_least, at_most = np.where(positive, column, column + n), np.where(positive, column + n, column)
    digits = np.finfo(float).eps * (64 + np.bincount(row, minlength=m))
    low, high = bounds[:n], bounds[n:]
    for _ in range(rounds):
        least, most = weight * bounds[at_least], weight * bounds[at_most]
        # What the others in a relation add up to at least and at most: all of them but one, which may be endless.
        # Sums of very different sizes lose digits: widen by what may have been lost.
        endless = np.isinf(least), np.isinf(most)
        sizes = [
            np.abs(np.where(e, 0.0, term) if e.any() else term) for term, e in zip((least, most), endless, strict=True)
        ]
        lost = (digits * np.bincount(row, np.maximum(*sizes), m))[row]
        others_least = _but_one(row, least, m, endless[0], -np.inf) - lost
        others_most = _but_one(row, most, m, endless[1], np.inf) + lost
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


def _but_one(row: IntArray, term: FloatArray, m: int, infinite: BoolArray, endless: float) -> FloatArray:
    """For each entry the sum of the other entries of its row."""
    if not infinite.any():
        return np.asarray(np.bincount(row, term, m)[row] - term)
    finite = np.where(infinite, 0.0, term)
    total = np.bincount(row, finite, m)[row] - finite
    count = np.bincount(row, infinite, m)[row] - infinite
    return np.where(count > 0, endless, total)
