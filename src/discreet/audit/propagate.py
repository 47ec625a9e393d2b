"""Bounds that follow from one relation at a time ("unpicking", the shuttle algorithm), repeated until they settle."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.relations import FloatArray

ROUNDS = 30
SLACK = 1e-12  # share by which implied bounds are kept too wide, so that rounding never rules the truth out


def propagate(relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Tighten ``low <= d <= high`` for differences ``d`` with ``relations @ d == 0``; zero always stays possible."""
    low, high = low.copy(), high.copy()
    entries = relations.tocoo()
    row, column, weight = entries.row, entries.col, entries.data
    m = relations.shape[0]
    for _ in range(ROUNDS):
        least = np.where(weight > 0, weight * low[column], weight * high[column])
        most = np.where(weight > 0, weight * high[column], weight * low[column])
        # What the others in a relation add up to at least and at most: all of them but one, which may be endless.
        others_least, others_most = _but_one(row, least, m, -np.inf), _but_one(row, most, m, np.inf)
        new_low = np.where(weight > 0, -others_most, others_least) / np.abs(weight)
        new_high = np.where(weight > 0, -others_least, others_most) / np.abs(weight)
        tighter_low, tighter_high = np.full(len(low), -np.inf), np.full(len(high), np.inf)
        np.maximum.at(tighter_low, column, new_low)
        np.minimum.at(tighter_high, column, new_high)
        tighter_low = np.minimum(tighter_low * (1 + SLACK), 0.0)
        tighter_high = np.maximum(tighter_high * (1 + SLACK), 0.0)
        gain = (tighter_low > low * (1 - 1e-6)) | (tighter_high < high * (1 - 1e-6))
        low, high = np.maximum(low, tighter_low), np.minimum(high, tighter_high)
        if not gain.any():
            break
    return low, high


def _but_one(row: np.ndarray, term: FloatArray, m: int, endless: float) -> FloatArray:
    """For each entry the sum of the other entries of its row."""
    infinite = np.isinf(term)
    finite = np.where(infinite, 0.0, term)
    total = np.bincount(row, finite, m)[row] - finite
    # Sums of very different sizes lose digits: widen by what may have been lost.
    lost = np.finfo(float).eps * 64 * np.bincount(row, np.abs(finite), m)[row]
    count = np.bincount(row, infinite, m)[row] - infinite
    return np.where(count > 0, endless, total + np.copysign(lost, endless))
