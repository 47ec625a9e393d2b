"""A lower bound on the cost of a program from multipliers of its rows, valid whatever the tolerance of the solver."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray

NEGLIGIBLE_REDUCED_COST = 1e-7  # smaller reduced costs of unbounded columns are rounding errors


def lagrangian_bound(
    cost: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rows: sparse.csr_array,
    row_lower: FloatArray,
    row_upper: FloatArray,
    dual: FloatArray,
) -> float:
    """The minimum of the Lagrangian of ``cost·x`` at these multipliers, which may have either sign."""
    best = -np.inf
    for multiplier in (dual, -dual):
        least, most = np.where(np.isinf(row_upper), 0.0, -np.inf), np.where(np.isinf(row_lower), 0.0, np.inf)
        multiplier = np.clip(multiplier, least, most)
        reduced = cost - rows.T @ multiplier
        end = np.where(reduced > 0, lower, upper)
        unbounded = np.isinf(end)
        if np.any(np.abs(reduced[unbounded]) > NEGLIGIBLE_REDUCED_COST):
            continue
        used = multiplier != 0
        side = np.where(multiplier > 0, row_lower, row_upper)[used]
        best = max(best, float(reduced[~unbounded] @ end[~unbounded]) + float(multiplier[used] @ side))
    return best
