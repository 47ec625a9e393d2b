"""The walk along cycles: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled


def walk(tail: IntArray, head: IntArray, nodes: int, grains: IntArray, full: int, chance: FloatArray) -> None:
    """Move the grains of all arcs along cycles until every arc has none or is full; ``chance`` has a number for each arc.

    At every node what comes in and goes out differs by a multiple of ``full``, so that no path ends at an arc in between.
    """
    ends = np.concatenate([tail, head])
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(nodes + 1)).astype(np.int64)
    _walk(tail, head, first, order % max(len(tail), 1), grains, full, chance)


@compiled
def _walk(
    tail: IntArray, head: IntArray, first: IntArray, arcs: IntArray, grains: IntArray, full: int, chance: FloatArray
) -> None:
    nodes = len(first) - 1
    many = first[1:] - first[:-1]  # arcs of each node that may be in between
    place = np.full(nodes, -1, dtype=np.int64)  # of each node on the path
    path, by = np.zeros(nodes + 1, dtype=np.int64), np.zeros(nodes + 1, dtype=np.int64)
    drawn = 0
    for start in range(nodes):
        length = 0  # of the path so far, in arcs
        path[0], by[0], place[start] = start, -1, 0
        while True:
            u = path[length]
            arc = _next_arc(u, by[length], first, arcs, many, grains, full)
            if arc < 0:
                break
            v = head[arc] if tail[arc] == u else tail[arc]
            if place[v] < 0:
                length += 1
                path[length], by[length], place[v] = v, arc, length
                continue
            _turn(v, arc, place[v], length, path, by, tail, grains, full, chance[drawn])
            drawn += 1
            while length > place[v]:
                place[path[length]] = -1
                length -= 1
        place[start] = -1


@compiled
def _next_arc(u: int, came: int, first: IntArray, arcs: IntArray, many: IntArray, grains: IntArray, full: int) -> int:
    """An arc at a node that is in between, other than the one it was reached by; those that are done are dropped."""
    k = 0
    while k < many[u]:
        arc = arcs[first[u] + k]
        if grains[arc] == 0 or grains[arc] == full:
            many[u] -= 1
            arcs[first[u] + k] = arcs[first[u] + many[u]]
        elif arc == came:
            k += 1
        else:
            return int(arc)
    return -1


@compiled
def _turn(
    v: int,
    last: int,
    begin: int,
    length: int,
    path: IntArray,
    by: IntArray,
    tail: IntArray,
    grains: IntArray,
    full: int,
    chance: float,
) -> None:
    """Move along the cycle from ``v`` over the path and back by the last arc, as far as it goes one way or the other."""
    up, down = full, full
    for k in range(begin + 1, length + 2):
        arc = last if k > length else by[k]
        forth = tail[arc] == path[k - 1]
        slack = full - grains[arc] if forth else grains[arc]
        up, down = min(up, slack), min(down, full - slack)
    move = up if chance * (up + down) < down else -down
    for k in range(begin + 1, length + 2):
        arc = last if k > length else by[k]
        grains[arc] += move if tail[arc] == path[k - 1] else -move
