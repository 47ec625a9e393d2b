"""What no solution of a program costs less than, from prices of its rows: right whatever a solver's tolerance."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray

NEGLIGIBLE_REDUCED_COST = 1e-7  # a reduced cost this small, of a column without end, is noise


def lagrangian_bound(
    cost: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    rows: sparse.csr_array,
    row_lower: FloatArray,
    row_upper: FloatArray,
    dual: FloatArray,
) -> float:
    """The least of ``cost·x`` when rows may be missed at these prices, whichever sign the solver gives them."""
    best = -np.inf
    for price in (dual, -dual):
        price = np.clip(price, np.where(np.isinf(row_upper), 0.0, -np.inf), np.where(np.isinf(row_lower), 0.0, np.inf))
        reduced = cost - rows.T @ price
        end = np.where(reduced > 0, lower, upper)
        endless = np.isinf(end)
        if np.any(np.abs(reduced[endless]) > NEGLIGIBLE_REDUCED_COST):
            continue
        paid = price != 0
        at = np.where(price > 0, row_lower, row_upper)[paid]
        best = max(best, float(reduced[~endless] @ end[~endless]) + float(price[paid] @ at))
    return best
