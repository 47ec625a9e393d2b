"""Rounding small counts down or up, one at a time: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

from typing import NamedTuple

from discreet.arrays import BoolArray, FloatArray, SmallIntArray
from discreet.compiled import compiled


class CountIncidence(NamedTuple):
    """Which cells each small count is counted in, in order, and which small counts each cell holds."""

    start: SmallIntArray
    cell: SmallIntArray
    first: SmallIntArray
    member: SmallIntArray


@compiled
def begin(counts: CountIncidence, count: SmallIntArray, base: int, off: SmallIntArray, up: BoolArray) -> None:
    """Round one count after the other so that the squares of what cells are off by grow least."""
    start, cell = counts.start, counts.cell
    for j in range(len(count)):
        total, many = 0, start[j + 1] - start[j]
        for k in range(start[j], start[j + 1]):
            total += off[cell[k]]
        # Down changes all by −c, up by b − c: up is better if (b − c)² · n + 2(b − c)·t < c² · n − 2c·t.
        up[j] = (base - 2 * count[j]) * many + 2 * total < 0
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
    slack: FloatArray,
) -> None:
    """Turn round one count after the other if the sum of squares grows by less than its slack.

    Each is looked at together with another that some cell holds, too, drawn at random: if one is up and the other down they
    turn both, which leaves all cells as they are that hold both.
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
        total, many = 0, 0
        while a < end or b < last:
            if b >= last or (a < end and cell[a] < cell[b]):
                total, many, a = total + off[cell[a]], many + 1, a + 1
            elif a >= end or cell[b] < cell[a]:
                total, many, b = total - off[cell[b]], many + 1, b + 1
            else:
                a, b = a + 1, b + 1
        if change * (2 * total + change * many) < slack[i]:
            for k in range(start[j], end):
                off[cell[k]] += change
            for k in range(start[other], last):
                off[cell[k]] -= change
            up[j] = not up[j]
            if not alone:
                up[other] = not up[other]
