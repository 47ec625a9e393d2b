"""Simulated annealing over base cells; compiled, and in a separate module because compiling takes a while."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled


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
