"""Rows with binary variables: directions of changes, and the number of changed cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray

Rows = tuple[sparse.csr_array, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Senses:
    """Cells that must change by at least ``up`` units up or at least ``down`` units down."""

    cells: IntArray
    up: FloatArray
    down: FloatArray


def sense_rows(senses: Senses, cells: IntArray, low: FloatArray, high: FloatArray, scale: float) -> Rows:
    """``U b ≤ up ≤ high b`` and ``L (1 − b) ≤ down ≤ −low (1 − b)``; columns of all cells, then one binary per sense."""
    place, k, n = np.searchsorted(cells, senses.cells), len(senses.cells), len(cells)
    pick = sparse.csr_array((np.ones(k), (np.arange(k), place)), shape=(k, n))
    zero = sparse.csr_array((k, n))
    up, down, top, bottom = senses.up / scale, senses.down / scale, high[place], -low[place]
    rows = sparse.vstack(
        [
            sparse.hstack([pick, zero, sparse.diags_array(-up)]),
            sparse.hstack([pick, zero, sparse.diags_array(-top)]),
            sparse.hstack([zero, pick, sparse.diags_array(down)]),
            sparse.hstack([zero, pick, sparse.diags_array(bottom)]),
        ]
    )
    unlimited = np.full(k, np.inf)
    row_lower = np.r_[np.zeros(k), -unlimited, down, -unlimited]
    row_upper = np.r_[unlimited, np.zeros(k), unlimited, bottom]
    return sparse.csr_array(rows), row_lower, row_upper


def count_rows(low: FloatArray, high: FloatArray, reference: FloatArray, shown: BoolArray, at_most: int) -> Rows:
    """``low x ≤ change ≤ high x`` for cells that are shown, and a limit on the sum of ``x``."""
    n, k = len(low), int(shown.sum())
    identity = sparse.eye_array(n, format="csr")
    top, bottom = (sparse.diags_array(-np.where(shown, part, 0.0), format="csr") for part in (high, low))
    rows = sparse.vstack(
        [
            sparse.csr_array(sparse.hstack([identity, -identity, top]))[shown],
            sparse.csr_array(sparse.hstack([identity, -identity, bottom]))[shown],
            sparse.hstack([sparse.csr_array((1, 2 * n)), sparse.csr_array(shown[None, :].astype(float))]),
        ]
    )
    start, unlimited = -reference[shown], np.full(k, np.inf)
    return sparse.csr_array(rows), np.r_[-unlimited, start, -np.inf], np.r_[start, unlimited, float(at_most)]
