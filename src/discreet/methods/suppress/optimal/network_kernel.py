"""Largest flows in a network, compiled: one for each of many arcs. A separate module, since compiling takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.compiled import compiled
from discreet.inference.max_flow import residual_edges_by_node

MIN_FLOW = 1e-12  # of a level: smaller residual capacities of an arc are rounding errors


class ResidualGraph(NamedTuple):
    """The two residual edges of each arc, one per direction, in the order of the nodes that they leave."""

    tail: IntArray  # by arc
    head: IntArray  # by arc
    first: IntArray  # (nodes + 1): the first edge that leaves each node
    arc: IntArray  # by edge
    up: IntArray  # by edge: 1 from tail to head; 0 from head to tail


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
    order, first = residual_edges_by_node(head, tail, nodes)  # downwards from the head of an arc, upwards from its tail
    graph = ResidualGraph(tail, head, first, order % max(len(tail), 1), (order >= len(tail)).astype(np.int64))
    reach, reached = np.zeros(len(arcs)), np.zeros((len(arcs), nodes), dtype=bool)
    _largest_flows(graph, slack, share, arcs, side, level, reach, reached)
    return reach, reached


@compiled
def _largest_flows(
    graph: ResidualGraph,
    slack: FloatArray,
    share: FloatArray,
    arcs: IntArray,
    side: IntArray,
    level: FloatArray,
    reach: FloatArray,
    reached: BoolArray,
) -> None:
    nodes = len(graph.first) - 1
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
        source, sink = (graph.head[k], graph.tail[k]) if side[i] == 1 else (graph.tail[k], graph.head[k])
        if source == sink:
            reach[i] = largest
        while reach[i] < largest * (1 - 1e-9):
            if not _distances(graph, residual, source, sink, distance, queue, 0):
                # The minimum cut next to the source, or the one next to the sink if that has fewer nodes.
                reached[i] = distance >= 0
                _distances(graph, residual, sink, source, distance, queue, 1)
                if (distance >= 0).sum() < reached[i].sum():
                    reached[i] = distance < 0
                break
            reach[i] += _blocking_flow(graph, residual, source, sink, distance, at, path, largest - reach[i])
        if reach[i] >= largest * (1 - 1e-9) and largest < share[k] * (1 - 1e-9):
            reached[i] = True  # its own slack limits the deviation


@compiled
def _distances(
    graph: ResidualGraph,
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
        for edge in range(graph.first[node], graph.first[node + 1]):
            node_ahead = _end(graph, edge)
            if residual[abs(graph.up[edge] - backwards), graph.arc[edge]] > 0 and distance[node_ahead] < 0:
                distance[node_ahead] = distance[node] + 1
                if node_ahead == sink:
                    return True
                queue[end] = node_ahead
                end += 1
    return False


@compiled
def _blocking_flow(
    graph: ResidualGraph,
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
        at[node] = graph.first[node]
    pushed, length, node = 0.0, 0, source
    while True:
        if node == sink:
            amount = largest - pushed
            for j in range(length):
                amount = min(amount, residual[graph.up[path[j]], graph.arc[path[j]]])
            back = length
            for j in range(length - 1, -1, -1):
                w, a = graph.up[path[j]], graph.arc[path[j]]
                residual[w, a] -= amount
                residual[1 - w, a] += amount
                if residual[w, a] < MIN_FLOW:
                    residual[w, a] = 0.0
                    back = j
            pushed += amount
            if pushed >= largest * (1 - 1e-9):
                return pushed
            length = min(back, length)
            node = source if length == 0 else _end(graph, path[length - 1])
        elif at[node] == graph.first[node + 1]:
            if node == source:
                return pushed
            length -= 1
            node = source if length == 0 else _end(graph, path[length - 1])
            at[node] += 1
        else:
            edge = at[node]
            node_ahead = _end(graph, edge)
            if residual[graph.up[edge], graph.arc[edge]] > 0 and distance[node_ahead] == distance[node] + 1:
                path[length] = edge
                length += 1
                node = node_ahead
            else:
                at[node] += 1


@compiled
def _end(graph: ResidualGraph, edge: int) -> int:
    """The node that an edge leads to."""
    return int(graph.head[graph.arc[edge]] if graph.up[edge] == 1 else graph.tail[graph.arc[edge]])
