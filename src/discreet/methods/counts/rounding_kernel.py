"""Rounding of small counts, one after the other; compiled, and in a separate module because compiling takes a while."""

from __future__ import annotations

from typing import NamedTuple

from discreet.arrays import BoolArray, FloatArray, SmallIntArray
from discreet.compiled import compiled


class CountIncidence(NamedTuple):
    """The cells that contain each small count, sorted, and the small counts that each cell contains."""

    start: SmallIntArray  # per count, the position of its first cell
    cell: SmallIntArray
    first: SmallIntArray  # per cell, the position of its first count
    member: SmallIntArray


@compiled
def begin(counts: CountIncidence, count: SmallIntArray, base: int, off: SmallIntArray, up: BoolArray) -> None:
    """Round one count after the other so that the sum of squared changes of cells grows least."""
    start, cell = counts.start, counts.cell
    for j in range(len(count)):
        total, n_cells = 0, start[j + 1] - start[j]
        for k in range(start[j], start[j + 1]):
            total += off[cell[k]]
        # Down changes each cell by −c, up by b − c: up is better if (b − c)² · n + 2(b − c)·t < c² · n − 2c·t.
        up[j] = (base - 2 * count[j]) * n_cells + 2 * total < 0
        change = base - count[j] if up[j] else -count[j]
        for k in range(start[j], start[j + 1]):
            off[cell[k]] += change


@compiled
def sweep(
    counts: CountIncidence,
    base: int,
    off: SmallIntArray,
    up: BoolArray,
    order: SmallIntArray,
    which: FloatArray,
    partner: FloatArray,
    accepted: FloatArray,  # per turn, the increase of the sum of squares that is accepted
) -> None:
    """Reverse the rounding of one count after the other if the sum of squares grows by less than is accepted.

    Each count is paired with a random other count of one of its cells. If one of the two is up and the other down, both are
    reversed, so that cells that contain both do not change.
    """
    start, cell = counts.start, counts.cell
    for i in range(len(order)):
        j = order[i]
        end, change = start[j + 1], -base if up[j] else base
        place = cell[start[j] + int(which[i] * (end - start[j]))]
        size = counts.first[place + 1] - counts.first[place]
        other = counts.member[counts.first[place] + int(partner[i] * size)]
        alone = up[other] == up[j]
        a, b, last = start[j], start[other], start[other] if alone else start[other + 1]
        total, n_cells = 0, 0
        while a < end or b < last:
            if b >= last or (a < end and cell[a] < cell[b]):
                total, n_cells, a = total + off[cell[a]], n_cells + 1, a + 1
            elif a >= end or cell[b] < cell[a]:
                total, n_cells, b = total - off[cell[b]], n_cells + 1, b + 1
            else:
                a, b = a + 1, b + 1
        if change * (2 * total + change * n_cells) < accepted[i]:
            for k in range(start[j], end):
                off[cell[k]] += change
            for k in range(start[other], last):
                off[cell[k]] -= change
            up[j] = not up[j]
            if not alone:
                up[other] = not up[other]
