"""The cheapest table of whole numbers next to one that is not, or does not quite add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.methods.core.cuts import Cut, as_rows
from discreet.progress import Budget
from discreet.solvers import Outcome, new_model

ROUGH = 1e-4  # share of the cost that whole numbers may add before it is worth looking for better ones


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
    """Whole numbers between bounds in some cells, all others as they are ``near``; None if there are none that add up."""
    exact, k = sparse.csr_array(relations, dtype=np.int64), len(cells)
    start = near.astype(np.int64)
    low, high = low[cells] - near[cells], high[cells] - near[cells]
    keep = sparse.csr_array(relations[:, cells])
    residual = -(exact @ start).astype(float)
    used = np.diff(keep.indptr) > 0
    if not k or np.any(low > high) or np.any(residual[~used] != 0):
        return None
    # What a unit costs as long as the change keeps its sign, which one unit hardly ever turns.
    move, slope = near[cells] - reference[cells], weight[cells]
    up, down = np.where(move >= 0, slope, -slope), np.where(move <= 0, slope, -slope)
    rows, least = as_rows(cuts, len(near))
    moves = sparse.csr_array(sparse.vstack([keep[used], rows[:, cells]]))
    shortfall = least - rows @ near
    # The last column is what everything costs so far, so that gaps are shares of the whole.
    total = float(weight @ np.abs(near - reference))
    model = new_model(seed=seed)
    model.load(
        np.r_[up, down, total],
        np.r_[np.maximum(low, 0.0), np.maximum(-high, 0.0), 1.0],
        np.r_[np.maximum(high, 0.0), np.maximum(-low, 0.0), 1.0],
        sparse.csr_array(sparse.hstack([moves, -moves, sparse.csr_array((moves.shape[0], 1))])),
        np.r_[residual[used], shortfall],
        np.r_[residual[used], np.full(len(cuts), np.inf)],
        np.arange(2 * k + 1) < 2 * k,
    )
    left = None if budget.left is None else max(budget.left, 1.0)
    found = model.solve(left, gap=max(budget.gap, ROUGH))
    if len(found.primal) != 2 * k + 1 or found.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED):
        return None
    change = start.copy()
    change[cells] += np.rint(found.primal[:k] - found.primal[k : 2 * k]).astype(np.int64)
    return None if np.any(exact @ change) else change
