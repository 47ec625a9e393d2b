"""A first rounding of a large table by simulated annealing over its base cells."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import TableError
from discreet.methods.context import Run
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.improve import renewed
from discreet.methods.totals import Totals
from discreet.problem import Status

ANNEALING_SWEEPS = 2_000  # over all base cells
INITIAL_TEMPERATURE, FINAL_TEMPERATURE = 1.0, 0.05  # in bases of deviation
INITIAL_PENALTY, FINAL_PENALTY = 2.0, 20.0  # for a total that is one base beyond its bounds, in bases of deviation


def annealed(grid: RoundingGrid, run: Run) -> FloatArray | None:
    """A rounding of a table whose base cells determine all other cells; None if none is found, or for other tables."""
    base, table = grid.multiples.base, grid.problem.table
    if np.ptp(base) or np.any(grid.problem.status == Status.PUBLISHED):
        return None
    try:
        sums = Totals.of(table)
    except TableError:
        return None
    part, floor = grid.multiples.part, grid.multiples.floor
    nearest = np.where(np.isfinite(grid.least), np.clip(np.rint(part), grid.least, grid.most), 0.0)
    steps = sums.add_up(floor + nearest) - floor
    base_cells = np.flatnonzero(table.is_base & (grid.least < grid.most))
    if len(base_cells):
        incidence = sums.incidence(base_cells)
        first, cells = incidence.indptr.astype(np.int64), incidence.indices.astype(np.int64)
        price = grid.rounded.astype(float)
        rng = np.random.default_rng(run.seed)
        run.progress.stage("anneal", ANNEALING_SWEEPS)
        for turn, share in enumerate(np.linspace(0.0, 1.0, ANNEALING_SWEEPS).tolist()):
            temperature = INITIAL_TEMPERATURE * (FINAL_TEMPERATURE / INITIAL_TEMPERATURE) ** share
            penalty = INITIAL_PENALTY * (FINAL_PENALTY / INITIAL_PENALTY) ** share
            chance = rng.random((len(base_cells), 3))
            sweep(first, cells, base_cells, grid.least, grid.most, part, price, steps, chance, temperature, penalty)
            if turn % 20 == 0:
                run.progress.update(turn, f"{int(out_of_bounds(grid, steps).sum()):,} totals out of bounds")
                if run.budget.over:
                    return None
    outside = out_of_bounds(grid, steps)
    while outside.any():
        again = renewed(grid, [], steps, int(np.argmax(outside)), run)
        if again is None or out_of_bounds(grid, again).sum() >= outside.sum():
            return None
        steps, outside = again, out_of_bounds(grid, again)
    return steps


def out_of_bounds(grid: RoundingGrid, steps: FloatArray) -> BoolArray:
    """Cells whose rounded values are farther from the true ones than allowed."""
    return np.asarray((steps < grid.least) | (steps > grid.most))


@compiled
def sweep(
    first: IntArray,  # per base cell, the position of its first cell in ``cells``
    cells: IntArray,  # that contain each base cell, itself included
    base_cells: IntArray,
    least: FloatArray,
    most: FloatArray,
    part: FloatArray,
    price: FloatArray,  # per cell, of one step of deviation
    steps: FloatArray,
    chance: FloatArray,  # three random numbers per turn
    temperature: float,
    penalty: float,  # for one step beyond the bounds of a total
) -> None:
    """Turns of simulated annealing: one step of a random base cell and of all totals that contain it, if accepted."""
    for turn in range(chance.shape[0]):
        k = int(chance[turn, 0] * len(base_cells))
        cell = base_cells[k]
        by = 1.0 if chance[turn, 1] < 0.5 else -1.0
        if steps[cell] + by < least[cell] or steps[cell] + by > most[cell]:
            by = -by
            if steps[cell] + by < least[cell] or steps[cell] + by > most[cell]:
                continue
        worse = 0.0
        for at in range(first[k], first[k + 1]):
            i = cells[at]
            before, after = steps[i], steps[i] + by
            worse += price[i] * (abs(after - part[i]) - abs(before - part[i]))
            outside = max(least[i] - after, after - most[i], 0.0) - max(least[i] - before, before - most[i], 0.0)
            if outside != 0.0:
                worse += penalty * outside
        if worse <= 0.0 or chance[turn, 2] < np.exp(-worse / temperature):
            for at in range(first[k], first[k + 1]):
                steps[cells[at]] += by
