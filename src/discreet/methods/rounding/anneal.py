"""A first rounding of a large table: the finest cells go up and down at random, ever more seldom for the worse."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import TableError
from discreet.methods.context import Run
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.improve import renewed
from discreet.methods.totals import Totals
from discreet.problem import Status

SWEEPS = 2_000  # over all cells
WARM, COLD = 1.0, 0.05  # deviation, in bases, that is accepted now and then
FINE = (2.0, 20.0)  # at first and at last, for a total that is a base too far away


def annealed(grid: RoundingGrid, run: Run) -> FloatArray | None:
    """A rounding, or None if none is found: there may be none. For tables whose finest cells determine all others."""
    base, table = grid.multiples.base, grid.problem.table
    if np.ptp(base) or np.any(grid.problem.status == Status.PUBLISHED):
        return None
    try:
        sums = Totals.of(table)
    except TableError:
        return None
    from discreet.methods.rounding.anneal_kernel import sweep  # takes half a second

    part, floor = grid.multiples.part, grid.multiples.floor
    near = np.where(np.isfinite(grid.least), np.clip(np.rint(part), grid.least, grid.most), 0.0)
    steps = sums.add_up(floor + near) - floor
    finest = np.flatnonzero(table.is_base & (grid.least < grid.most))
    if len(finest):
        counts = sums.holding(finest)
        price, where = grid.rounded.astype(float), (counts.indptr.astype(np.int64), counts.indices.astype(np.int64))
        rng = np.random.default_rng(run.seed)
        run.progress.stage("anneal", SWEEPS)
        for turn, share in enumerate(np.linspace(0.0, 1.0, SWEEPS).tolist()):
            warmth, fine = WARM * (COLD / WARM) ** share, FINE[0] * (FINE[1] / FINE[0]) ** share
            chance = rng.random((len(finest), 3))
            sweep(*where, finest, grid.least, grid.most, part, price, steps, chance, warmth, fine)
            if turn % 20 == 0:
                run.progress.update(turn, f"{int(outside(grid, steps).sum()):,} totals too far away")
                if run.budget.over:
                    return None
    bad = outside(grid, steps)
    while bad.any():
        again = renewed(grid, [], steps, int(np.argmax(bad)), run)
        if again is None or outside(grid, again).sum() >= bad.sum():
            return None
        steps, bad = again, outside(grid, again)
    return steps


def outside(grid: RoundingGrid, steps: FloatArray) -> BoolArray:
    """Cells that are farther from the truth than they may be."""
    return np.asarray((steps < grid.least) | (steps > grid.most))
