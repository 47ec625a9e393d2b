"""Largest flows in a network, compiled: one for each of many arcs. A separate module, since compiling takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.inference.max_flow import lanes_at_nodes

MIN_FLOW = 1e-12  # of a level: smaller residual capacities of an arc are rounding errors


class ResidualArcs(NamedTuple):
    """Arcs, and their two lanes, one per direction, in the order of the nodes that they leave."""

    tail: IntArray
    head: IntArray
    first: IntArray  # (nodes + 1): the first lane that leaves each node
    arc: IntArray
    up: IntArray  # 1 from tail to head; 0 from head to tail


def largest_flows(
    tail: IntArray,
    head: IntArray,
    nodes: int,
    slack: FloatArray,
    share: FloatArray,
    arcs: IntArray,
    side: IntArray,
    level: FloatArray,
) -> tuple[FloatArray, BoolArray]:
    """The largest deviation of each of ``arcs`` to its side, as a share of its level, and the nodes that the flow reaches.

    The capacity of an arc is its ``share`` of its slack, down and up, or of the level if that is less: more is never needed in
    a network.
    """
    order, first = lanes_at_nodes(head, tail, nodes)  # lanes leave an arc's head downwards, its tail upwards
    lanes = ResidualArcs(tail, head, first, order % max(len(tail), 1), (order >= len(tail)).astype(np.int64))
    reach, reached = np.zeros(len(arcs)), np.zeros((len(arcs), nodes), dtype=bool)
    _largest_flows(lanes, slack, share, arcs, side, level, reach, reached)
    return reach, reached


@compiled
def _largest_flows(
    lanes: ResidualArcs,
    slack: FloatArray,
    share: FloatArray,
    arcs: IntArray,
    side: IntArray,
    level: FloatArray,
    reach: FloatArray,
    reached: BoolArray,
) -> None:
    nodes = len(lanes.first) - 1
    residual = np.zeros(slack.shape)
    distance, queue, at, path = np.zeros((4, nodes), dtype=np.int64)
    for i in range(len(arcs)):
        for a in range(slack.shape[1]):
            residual[0, a] = min(slack[0, a] / level[i], 1.0) * share[a]
            residual[1, a] = min(slack[1, a] / level[i], 1.0) * share[a]
        k = arcs[i]
        largest = min(residual[side[i], k], share[k])
        residual[0, k] = 0.0
        residual[1, k] = 0.0
        # A circulation through the arc is a flow through the others from its end to its start (Dinic's algorithm).
        source, sink = (lanes.head[k], lanes.tail[k]) if side[i] == 1 else (lanes.tail[k], lanes.head[k])
        if source == sink:
            reach[i] = largest
        while reach[i] < largest * (1 - 1e-9):
            if not _distances(lanes, residual, source, sink, distance, queue, 0):
                # The minimum cut next to the source, or the one next to the sink if that has fewer nodes.
                reached[i] = distance >= 0
                _distances(lanes, residual, sink, source, distance, queue, 1)
                if (distance >= 0).sum() < reached[i].sum():
                    reached[i] = distance < 0
                break
            reach[i] += _blocking_flow(lanes, residual, source, sink, distance, at, path, largest - reach[i])
        if reach[i] >= largest * (1 - 1e-9) and largest < share[k] * (1 - 1e-9):
            reached[i] = True  # its own slack limits the deviation


@compiled
def _distances(
    lanes: ResidualArcs,
    residual: FloatArray,
    source: int,
    sink: int,
    distance: IntArray,
    queue: IntArray,
    backwards: int,
) -> bool:
    """Set the distance of each node from the source, −1 if not reached; whether the sink is. ``backwards``: against flows."""
    distance[:] = -1
    distance[source] = 0
    queue[0] = source
    begin, end = 0, 1
    while begin < end:
        node = queue[begin]
        begin += 1
        for lane in range(lanes.first[node], lanes.first[node + 1]):
            node_ahead = _end(lanes, lane)
            if residual[abs(lanes.up[lane] - backwards), lanes.arc[lane]] > 0 and distance[node_ahead] < 0:
                distance[node_ahead] = distance[node] + 1
                if node_ahead == sink:
                    return True
                queue[end] = node_ahead
                end += 1
    return False


@compiled
def _blocking_flow(
    lanes: ResidualArcs,
    residual: FloatArray,
    source: int,
    sink: int,
    distance: IntArray,
    at: IntArray,
    path: IntArray,
    largest: float,
) -> float:
    """Push along shortest paths until none of that length is residual, or ``largest`` has been pushed; the amount pushed."""
    for node in range(len(at)):
        at[node] = lanes.first[node]
    pushed, length, node = 0.0, 0, source
    while True:
        if node == sink:
            amount = largest - pushed
            for j in range(length):
                amount = min(amount, residual[lanes.up[path[j]], lanes.arc[path[j]]])
            back = length
            for j in range(length - 1, -1, -1):
                w, a = lanes.up[path[j]], lanes.arc[path[j]]
                residual[w, a] -= amount
                residual[1 - w, a] += amount
                if residual[w, a] < MIN_FLOW:
                    residual[w, a] = 0.0
                    back = j
            pushed += amount
            if pushed >= largest * (1 - 1e-9):
                return pushed
            length = min(back, length)
            node = source if length == 0 else _end(lanes, path[length - 1])
        elif at[node] == lanes.first[node + 1]:
            if node == source:
                return pushed
            length -= 1
            node = source if length == 0 else _end(lanes, path[length - 1])
            at[node] += 1
        else:
            lane = at[node]
            node_ahead = _end(lanes, lane)
            if residual[lanes.up[lane], lanes.arc[lane]] > 0 and distance[node_ahead] == distance[node] + 1:
                path[length] = lane
                length += 1
                node = node_ahead
            else:
                at[node] += 1


@compiled
def _end(lanes: ResidualArcs, lane: int) -> int:
    """The node that a lane leads to."""
    return int(lanes.head[lanes.arc[lane]] if lanes.up[lane] == 1 else lanes.tail[lanes.arc[lane]])
