"""Bounds that follow from one relation at a time ("unpicking", the shuttle algorithm), repeated until they settle."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray

ROUNDS = 30
SLACK = 1e-12  # share by which implied bounds are kept too wide, so that rounding never rules the truth out


def propagate(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, rounds: int = ROUNDS
) -> tuple[FloatArray, FloatArray]:
    """Tighten ``low <= d <= high`` for differences ``d`` with ``relations @ d == 0``; zero always stays possible."""
    low, high = low.copy(), high.copy()
    entries = relations.tocsc().tocoo()  # by column, so that the bounds of a cell stand together
    row, column, weight = entries.row, entries.col, entries.data
    if not len(row):
        return low, high
    starts = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
    cells = column[starts]
    m = relations.shape[0]
    terms = np.bincount(row, minlength=m)
    for _ in range(rounds):
        least = np.where(weight > 0, weight * low[column], weight * high[column])
        most = np.where(weight > 0, weight * high[column], weight * low[column])
        # What the others in a relation add up to at least and at most: all of them but one, which may be endless.
        # Sums of very different sizes lose digits: widen by what may have been lost.
        size = np.maximum(*(np.where(np.isinf(term), 0.0, np.abs(term)) for term in (least, most)))
        lost = (np.finfo(float).eps * (64 + terms) * np.bincount(row, size, m))[row]
        others_least, others_most = _but_one(row, least, m, -np.inf) - lost, _but_one(row, most, m, np.inf) + lost
        new_low = np.where(weight > 0, -others_most, others_least) / np.abs(weight)
        new_high = np.where(weight > 0, -others_least, others_most) / np.abs(weight)
        tighter_low = np.minimum(np.maximum.reduceat(new_low, starts) * (1 + SLACK), 0.0)
        tighter_high = np.maximum(np.minimum.reduceat(new_high, starts) * (1 + SLACK), 0.0)
        gain = (tighter_low > low[cells] * (1 - 1e-6)) | (tighter_high < high[cells] * (1 - 1e-6))
        low[cells] = np.maximum(low[cells], tighter_low)
        high[cells] = np.minimum(high[cells], tighter_high)
        if not gain.any():
            break
    return low, high


def _but_one(row: np.ndarray, term: FloatArray, m: int, endless: float) -> FloatArray:
    """For each entry the sum of the other entries of its row."""
    infinite = np.isinf(term)
    if not infinite.any():
        return np.asarray(np.bincount(row, term, m)[row] - term)
    finite = np.where(infinite, 0.0, term)
    total = np.bincount(row, finite, m)[row] - finite
    count = np.bincount(row, infinite, m)[row] - infinite
    return np.where(count > 0, endless, total)
