"""Rows of binaries: which way cells go, and how many of them change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray

Rows = tuple[sparse.csr_array, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Senses:
    """Cells that must go up by ``up`` or down by ``down`` units."""

    cells: IntArray
    up: FloatArray
    down: FloatArray


def sense_rows(senses: Senses, cells: IntArray, low: FloatArray, high: FloatArray, scale: float) -> Rows:
    """``U b ≤ up ≤ high b`` and ``L (1 − b) ≤ down ≤ −low (1 − b)``; columns of all cells, then a binary for each sense."""
    place, k, n = np.searchsorted(cells, senses.cells), len(senses.cells), len(cells)
    one = sparse.eye_array(k, format="csr")
    pick = sparse.csr_array((np.ones(k), (np.arange(k), place)), shape=(k, n))
    none = sparse.csr_array((k, n))
    up, down, top, bottom = senses.up / scale, senses.down / scale, high[place], -low[place]

    def times(weight: FloatArray) -> sparse.csr_array:
        return sparse.csr_array(one.multiply(weight[:, None]))

    rows = sparse.vstack(
        [
            sparse.hstack([pick, none, times(-up)]),
            sparse.hstack([pick, none, times(-top)]),
            sparse.hstack([none, pick, times(down)]),
            sparse.hstack([none, pick, times(bottom)]),
        ]
    )
    endless = np.full(k, np.inf)
    least, most = np.r_[np.zeros(k), -endless, down, -endless], np.r_[endless, np.zeros(k), endless, bottom]
    return sparse.csr_array(rows), least, most


def count_rows(low: FloatArray, high: FloatArray, reference: FloatArray, shown: BoolArray, at_most: int) -> Rows:
    """``low x ≤ change ≤ high x`` for cells that are shown, and no more than so many ``x``."""
    n, k = len(low), int(shown.sum())
    one = sparse.eye_array(n, format="csr")
    top, bottom = (sparse.diags_array(-np.where(shown, part, 0.0), format="csr") for part in (high, low))
    rows = sparse.vstack(
        [
            sparse.csr_array(sparse.hstack([one, -one, top]))[shown],
            sparse.csr_array(sparse.hstack([one, -one, bottom]))[shown],
            sparse.hstack([sparse.csr_array((1, 2 * n)), sparse.csr_array(shown[None, :].astype(float))]),
        ]
    )
    start, endless = -reference[shown], np.full(k, np.inf)
    return sparse.csr_array(rows), np.r_[-endless, start, -np.inf], np.r_[start, endless, float(at_most)]
