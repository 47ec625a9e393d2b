"""Simulated annealing over the finest cells: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled


@compiled
def sweep(
    first: IntArray,  # where the sums of each of the finest cells begin in ``sums``
    sums: IntArray,
    finest: IntArray,
    least: FloatArray,
    most: FloatArray,
    part: FloatArray,
    price: FloatArray,  # of one step of deviation, by cell
    steps: FloatArray,
    chance: FloatArray,  # three numbers a move
    warmth: float,
    fine: float,  # for a step beyond the bounds of a total
) -> None:
    """As many moves as there are chances: one of the finest cells, one step, and all totals it counts in."""
    for turn in range(chance.shape[0]):
        k = int(chance[turn, 0] * len(finest))
        cell = finest[k]
        by = 1.0 if chance[turn, 1] < 0.5 else -1.0
        if steps[cell] + by < least[cell] or steps[cell] + by > most[cell]:
            by = -by
            if steps[cell] + by < least[cell] or steps[cell] + by > most[cell]:
                continue
        worse = 0.0
        for at in range(first[k], first[k + 1]):
            i = sums[at]
            before, after = steps[i], steps[i] + by
            worse += price[i] * (abs(after - part[i]) - abs(before - part[i]))
            outside = max(least[i] - after, after - most[i], 0.0) - max(least[i] - before, before - most[i], 0.0)
            if outside != 0.0:
                worse += fine * outside
        if worse <= 0.0 or chance[turn, 2] < np.exp(-worse / warmth):
            for at in range(first[k], first[k + 1]):
                steps[sums[at]] += by
