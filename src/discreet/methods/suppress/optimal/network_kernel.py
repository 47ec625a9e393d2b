"""Where flows are stopped in a network, for many arcs in one go: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled

DROP = 1e-12  # of a level: what is left on an arc is rounding error


class Ways(NamedTuple):
    """Arcs, and the lanes along them, one a direction, in the order of the nodes they leave."""

    tail: IntArray
    head: IntArray
    first: IntArray  # (nodes + 1): where the lanes leaving a node begin
    arc: IntArray
    way: IntArray  # 1 up, from tail to head; 0 down


def stops(
    tail: IntArray,
    head: IntArray,
    nodes: int,
    slack: FloatArray,
    share: FloatArray,
    arcs: IntArray,
    side: IntArray,
    level: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """How far each of ``arcs`` moves to its side, in units of its level, and what nodes the flow gets to.

    An arc takes ``share`` of its slack, down and up, and of the level where that is less: in a network none need take more.
    """
    ends = np.concatenate([head, tail])  # where an arc is left from: going down from its head, up from its tail
    order = np.argsort(ends, kind="stable")
    first = np.searchsorted(ends[order], np.arange(nodes + 1))
    ways = Ways(tail, head, first, order % max(len(tail), 1), (order >= len(tail)).astype(np.int64))
    far, reached = np.zeros(len(arcs)), np.zeros((len(arcs), nodes), dtype=bool)
    _stops(ways, slack, share, arcs, side, level, far, reached)
    return far, reached


@compiled
def _stops(
    ways: Ways,
    slack: FloatArray,
    share: FloatArray,
    arcs: IntArray,
    side: IntArray,
    level: FloatArray,
    far: FloatArray,
    reached: BoolArray,
) -> None:
    nodes = len(ways.first) - 1
    left = np.zeros(slack.shape)
    depth, queue, at, path = np.zeros((4, nodes), dtype=np.int64)
    for i in range(len(arcs)):
        for a in range(slack.shape[1]):
            left[0, a] = min(slack[0, a] / level[i], 1.0) * share[a]
            left[1, a] = min(slack[1, a] / level[i], 1.0) * share[a]
        k = arcs[i]
        most = min(left[side[i], k], share[k])
        left[0, k] = 0.0
        left[1, k] = 0.0
        # What goes through the arc comes back through the others: a largest flow, by Dinic's algorithm.
        source, sink = (ways.head[k], ways.tail[k]) if side[i] == 1 else (ways.tail[k], ways.head[k])
        if source == sink:
            far[i] = most
        while far[i] < most * (1 - 1e-9):
            if not _measure(ways, left, source, sink, depth, queue, 0):
                # Where it is stopped from the side of the source, or where seen from the sink if that is less to go round.
                reached[i] = depth >= 0
                _measure(ways, left, sink, source, depth, queue, 1)
                if (depth >= 0).sum() < reached[i].sum():
                    reached[i] = depth < 0
                break
            far[i] += _block(ways, left, source, sink, depth, at, path, most - far[i])
        if far[i] >= most * (1 - 1e-9) and most < share[k] * (1 - 1e-9):
            reached[i] = True  # it is stopped by its own slack


@compiled
def _measure(
    ways: Ways,
    left: FloatArray,
    source: int,
    sink: int,
    depth: IntArray,
    queue: IntArray,
    backwards: int,
) -> bool:
    """How many steps each node is from the source, −1 if it cannot be got to; whether the sink can. Or against the flow."""
    depth[:] = -1
    depth[source] = 0
    queue[0] = source
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for lane in range(ways.first[node], ways.first[node + 1]):
            there = _end(ways, lane)
            if left[abs(ways.way[lane] - backwards), ways.arc[lane]] > 0 and depth[there] < 0:
                depth[there] = depth[node] + 1
                if there == sink:
                    return True
                queue[end] = there
                end += 1
    return False


@compiled
def _block(
    ways: Ways,
    left: FloatArray,
    source: int,
    sink: int,
    depth: IntArray,
    at: IntArray,
    path: IntArray,
    most: float,
) -> float:
    """Push along shortest ways until none of that length is left, or ``most`` has been pushed; how much."""
    for node in range(len(at)):
        at[node] = ways.first[node]
    pushed, length, node = 0.0, 0, source
    while True:
        if node == sink:
            amount = most - pushed
            for j in range(length):
                amount = min(amount, left[ways.way[path[j]], ways.arc[path[j]]])
            back = length
            for j in range(length - 1, -1, -1):
                w, a = ways.way[path[j]], ways.arc[path[j]]
                left[w, a] -= amount
                left[1 - w, a] += amount
                if left[w, a] < DROP:
                    left[w, a] = 0.0
                    back = j
            pushed += amount
            if pushed >= most * (1 - 1e-9):
                return pushed
            length = min(back, length)
            node = source if length == 0 else _end(ways, path[length - 1])
        elif at[node] == ways.first[node + 1]:
            if node == source:
                return pushed
            length -= 1
            node = source if length == 0 else _end(ways, path[length - 1])
            at[node] += 1
        else:
            lane = at[node]
            there = _end(ways, lane)
            if left[ways.way[lane], ways.arc[lane]] > 0 and depth[there] == depth[node] + 1:
                path[length] = lane
                length += 1
                node = there
            else:
                at[node] += 1


@compiled
def _end(ways: Ways, lane: int) -> int:
    """Where a lane leads to."""
    return int(ways.head[ways.arc[lane]] if ways.way[lane] == 1 else ways.tail[ways.arc[lane]])
