"""The cheapest integral table near one that is fractional, or does not quite add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.methods.core.cuts import Cut, as_rows
from discreet.progress import Budget
from discreet.solvers import Outcome, new_model

ROUNDING_GAP = 1e-4  # share of the cost that may be left open: a smaller gap is not worth the time


def nearest(
    relations: sparse.csr_array,
    near: FloatArray,
    cells: IntArray,
    low: FloatArray,
    high: FloatArray,
    reference: FloatArray,
    weight: FloatArray,
    cuts: Sequence[Cut],
    budget: Budget,
    seed: int,
) -> IntArray | None:
    """Integers between bounds in some cells, in all others those of ``near``; None if none are found that add up."""
    exact, k = sparse.csr_array(relations, dtype=np.int64), len(cells)
    start = near.astype(np.int64)
    low, high = low[cells] - near[cells], high[cells] - near[cells]
    keep = sparse.csr_array(relations[:, cells])
    residual = -(exact @ start).astype(float)
    used = np.diff(keep.indptr) > 0
    if not k or np.any(low > high) or np.any(residual[~used] != 0):
        return None
    # The cost of one unit as long as the difference to the reference keeps its sign, which one unit hardly ever turns.
    difference, slope = near[cells] - reference[cells], weight[cells]
    up, down = np.where(difference >= 0, slope, -slope), np.where(difference <= 0, slope, -slope)
    rows, least = as_rows(cuts, len(near))
    changes = sparse.csr_array(sparse.vstack([keep[used], rows[:, cells]]))
    shortfall = least - rows @ near
    # The last column is the cost of the table so far, so that gaps are shares of the total cost.
    total = float(weight @ np.abs(near - reference))
    model = new_model(seed=seed)
    model.load(
        np.r_[up, down, total],
        np.r_[np.maximum(low, 0.0), np.maximum(-high, 0.0), 1.0],
        np.r_[np.maximum(high, 0.0), np.maximum(-low, 0.0), 1.0],
        sparse.csr_array(sparse.hstack([changes, -changes, sparse.csr_array((changes.shape[0], 1))])),
        np.r_[residual[used], shortfall],
        np.r_[residual[used], np.full(len(cuts), np.inf)],
        np.arange(2 * k + 1) < 2 * k,
    )
    left = None if budget.left is None else max(budget.left, 1.0)
    found = model.solve(left, gap=max(budget.gap, ROUNDING_GAP))
    if len(found.primal) != 2 * k + 1 or found.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED):
        return None
    change = start.copy()
    change[cells] += np.rint(found.primal[:k] - found.primal[k : 2 * k]).astype(np.int64)
    return None if np.any(exact @ change) else change
