"""Linear inequalities that every safe pattern satisfies: least numbers of suppressed cells, weighted by their slack."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut

MIN_SHARE = 1e-6  # smaller shares of a level are below the tolerance of solvers
FULL_WEIGHT = 1 - 1e-9  # weights above this are set to 1: they differ from it by rounding errors


def capacity_cut(cells: IntArray, weight: FloatArray, free: BoolArray, forced: BoolArray, target: int) -> Cut | None:
    """The free cells contribute what the level of the target cell requires beyond all cells that are suppressed anyway.

    ``weight`` is what each cell contributes if suppressed, as a share of the level. Weights are cut down to the missing share
    (Fischetti & Salazar-González 2000). None if nothing is missing. A free target must be protected only if it is suppressed.
    """
    conditional = bool(free[target])
    anyway = forced[cells] | ((cells == target) & conditional)
    missing = 1.0 - float(weight[anyway].sum())
    if not missing > MIN_SHARE:
        return None
    helping = free[cells] & ~anyway & (weight > 0)
    cells, share = cells[helping], np.minimum(weight[helping] / missing, 1.0)
    if conditional:
        cells, share = np.append(cells, target), np.append(share, -1.0)
    order = np.argsort(cells)
    return Cut(cells[order], np.where(share > FULL_WEIGHT, 1.0, share)[order], 0.0 if conditional else 1.0)


def cover_cut(cut: Cut, x: FloatArray) -> Cut | None:
    """Cells that do not suffice even together are left out: a least number of the others is required.

    Cells are left out in the order of their share at ``x``, and in the order of that share by weight; the more violated cut is
    returned, None if none is violated.
    """
    weight, at = cut.weight, x[cut.columns]
    if cut.least != 1.0 or np.all(weight == 1.0):
        return None
    best, worst = None, 0.0
    for key in (at, at / weight):
        order = np.argsort(-key, kind="stable")
        added = np.cumsum(weight[order])
        first = int(np.searchsorted(added, 1 - MIN_SHARE))
        rest = order[first:]
        largest = np.cumsum(np.sort(weight[rest])[::-1])
        missing = 1 - (float(added[first - 1]) if first else 0.0) - MIN_SHARE
        needed = 1 + int(np.searchsorted(largest, missing))
        shortfall = 1 - float(at[rest].sum()) / needed
        if shortfall > worst:
            best, worst = Cut(np.sort(cut.columns[rest]), np.full(len(rest), 1.0 / needed), 1.0), shortfall
    return best
