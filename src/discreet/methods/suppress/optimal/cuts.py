"""Linear inequalities that every safe pattern fulfils: so much of these cells must be suppressed."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut

LEAST = 1e-6  # a smaller share of a level is beyond what solvers can tell
FULL = 1 - 1e-9  # weights above this are 1


def capacity_cut(cells: IntArray, weight: FloatArray, free: BoolArray, forced: BoolArray, own: int) -> Cut | None:
    """What the free cells must add to protect a cell: all that those suppressed anyway lack. None if they lack nothing.

    ``weight`` is how much each of the cells adds if suppressed, as a share of the level. No cell need add more than what is
    lacking, so weights are cut down to that (Fischetti & Salazar-González 2000). A free cell ``own`` needs protection only
    if suppressed.
    """
    conditional = bool(free[own])
    anyway = forced[cells] | ((cells == own) & conditional)
    lacking = 1.0 - float(weight[anyway].sum())
    if not lacking > LEAST:
        return None
    helping = free[cells] & ~anyway & (weight > 0)
    cells, share = cells[helping], np.minimum(weight[helping] / lacking, 1.0)
    if conditional:
        cells, share = np.append(cells, own), np.append(share, -1.0)
    order = np.argsort(cells)
    return Cut(cells[order], np.where(share > FULL, 1.0, share)[order], 0.0 if conditional else 1.0)


def cover_cut(cut: Cut, x: FloatArray) -> Cut | None:
    """Some cells do not add enough even together: then so many of the others are needed. The most violated one found.

    Cells are left out by how much of them is suppressed at ``x``, in themselves and for what they weigh.
    """
    weight, at = cut.weight, x[cut.columns]
    if cut.least != 1.0 or np.all(weight == 1.0):
        return None
    best, worst = None, 0.0
    for key in (at, at / weight):
        order = np.argsort(-key, kind="stable")
        added = np.cumsum(weight[order])
        first = int(np.searchsorted(added, 1 - LEAST))
        rest = order[first:]
        most = np.cumsum(np.sort(weight[rest])[::-1])
        short = 1 - (float(added[first - 1]) if first else 0.0) - LEAST
        needed = 1 + int(np.searchsorted(most, short))
        lacking = 1 - float(at[rest].sum()) / needed
        if lacking > worst:
            best, worst = Cut(np.sort(cut.columns[rest]), np.full(len(rest), 1.0 / needed), 1.0), lacking
    return best
