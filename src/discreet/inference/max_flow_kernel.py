"""Maximum flows for many arcs of one network, compiled. A module of its own, because compiling takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled

MIN_BUFFER_SIZE = 1 << 16  # entries, so that small networks return all circulations at once
# Arcs: up to so many, buffers are so small that plain Python may do the work, see :mod:`discreet.compiled`.
SMALL_NETWORK = 1_200


class ResidualNetwork(NamedTuple):
    """Two residual edges per arc, one per direction, ordered by the node that they leave. Loops are left out."""

    start: SmallIntArray  # (nodes + 1): position of the first edge that leaves a node
    to: SmallIntArray
    reverse: SmallIntArray
    arc: SmallIntArray
    direction: SmallIntArray  # 1 along the arc, which is up; 0 against it, which is down
    slack: FloatArray  # a flow along an edge reduces it, and increases that of the reverse edge
    of: SmallIntArray  # (2, arcs): the edges of an arc, down and up; -1 for loops


class FlowSearchState(NamedTuple):
    """Work space of searches. It is not cleared in between: entries count only if they have the current number."""

    number: IntArray  # (1): number of the current search
    seen: IntArray  # by node: the last search that reached it
    near: IntArray  # by node: the last search in which an edge led from it to the sink
    last: SmallIntArray  # by node: that edge
    by: SmallIntArray  # by node: the edge by which it was reached; in a blocking flow, the next edge to try
    depth: SmallIntArray  # by node
    queue: SmallIntArray
    path: SmallIntArray  # edges, from the sink back to the source
    length: IntArray  # (1): number of edges of the path
    flow: FloatArray  # by arc
    touched: SmallIntArray  # arcs whose flow was changed
    is_touched: BoolArray
    touches: IntArray  # (1): number of touched arcs


class FlowTask(NamedTuple):
    """The bounds of the arcs, and the deviations that are required of the targets."""

    bound: FloatArray  # (2, arcs): largest deviation down and up, in integers
    component: SmallIntArray  # by node: the strongly connected component of unbounded arcs
    targets: IntArray
    level: FloatArray  # (2, arcs): infinite for the farthest deviation
    sliding: FloatArray
    tolerance: float  # share of a level that may be missing
    unit: float  # the flow that represents an unbounded circulation


class FlowResults(NamedTuple):
    """The deviations found so far, of targets only."""

    is_target: BoolArray
    reach: FloatArray  # (2, arcs)
    farthest: BoolArray  # (2, arcs): whether no larger deviation exists
    by: IntArray  # (2, arcs): number of the circulation that reaches it; -1: no circulation


def maximize_flows(
    tail: IntArray, head: IntArray, nodes: int, task: FlowTask, keep: bool
) -> tuple[FlowResults, tuple[IntArray, IntArray, FloatArray]]:
    """Deviations of all targets by their levels, or the farthest ones; ``keep`` keeps the circulations, maybe gigabytes.

    Circulations are returned as their beginnings, and their arcs and flows one after the other.
    """
    n = len(tail)
    residual, state = _residual_network(tail, head, nodes, task.bound), _new_state(nodes, n)
    shape = task.bound.shape
    is_target = np.zeros(n, dtype=bool)
    is_target[task.targets] = True
    shown = FlowResults(is_target, np.zeros(shape), task.bound == 0, np.full(shape, -1))
    # The buffer is emptied whenever the next target might not fit.
    size = max(MIN_BUFFER_SIZE if n > SMALL_NETWORK else 0, 4 * (n + 1))
    begin, arc, flow = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64), np.zeros(size)
    kept, done, number = [(begin[:0], arc[:0], flow[:0])], 0, 0
    while done < len(task.targets):
        done, tables = _search_targets(residual, state, task, shown, begin, arc, flow, done, number)
        if keep:
            used = begin[tables]
            kept.append((np.diff(begin[: tables + 1]), arc[:used].copy(), flow[:used].copy()))
            number += tables
    lengths, arcs, flows = (np.concatenate(part) for part in zip(*kept, strict=True))
    return shown, (np.r_[0, np.cumsum(lengths)], arcs, flows)


def _residual_network(tail: IntArray, head: IntArray, nodes: int, bound: FloatArray) -> ResidualNetwork:
    arc = np.flatnonzero(tail != head)
    k = len(arc)
    leaves, to = np.r_[head[arc], tail[arc]], np.r_[tail[arc], head[arc]]  # all down, then all up
    order = np.argsort(leaves, kind="stable")
    place = np.empty(2 * k, dtype=np.int32)
    place[order] = np.arange(2 * k)
    of = np.full(bound.shape, -1, dtype=np.int32)
    of[0, arc], of[1, arc] = place[:k], place[k:]
    return ResidualNetwork(
        start=np.searchsorted(leaves[order], np.arange(nodes + 1)).astype(np.int32),
        to=to[order].astype(np.int32),
        reverse=np.r_[place[k:], place[:k]][order],
        arc=np.r_[arc, arc][order].astype(np.int32),
        direction=(order >= k).astype(np.int32),
        slack=bound[:, arc].ravel()[order],
        of=of,
    )


def _new_state(nodes: int, arcs: int) -> FlowSearchState:
    number, length, touches = np.zeros((3, 1), dtype=np.int64)
    seen, near = np.zeros((2, nodes), dtype=np.int64)
    last, by, depth, queue, path = np.zeros((5, nodes), dtype=np.int32)
    flow, touched, is_touched = np.zeros(arcs), np.zeros(arcs, dtype=np.int32), np.zeros(arcs, dtype=bool)
    return FlowSearchState(number, seen, near, last, by, depth, queue, path, length, flow, touched, is_touched, touches)


# -- compiled from here on ------------------------------------------------------------------------------------


@compiled
def _search_targets(
    residual: ResidualNetwork,
    state: FlowSearchState,
    task: FlowTask,
    shown: FlowResults,
    begin: IntArray,
    arc: IntArray,
    flow: FloatArray,
    done: int,
    number: int,
) -> tuple[int, int]:
    """Search until all targets are done or the buffer is full: the numbers of targets done and of circulations in it."""
    tables, size = 0, 0
    while done < len(task.targets) and size + 3 * (len(state.flow) + 1) <= len(arc) and tables + 3 < len(begin):
        k = task.targets[done]
        done += 1
        for step in range(3):
            side = step % 2
            if step == 0:
                aim = task.level[0, k]
            elif step == 1:
                aim = max(task.level[1, k], task.sliding[k] - shown.reach[0, k])
            else:  # the deviation up was less than the sliding level required, so the rest must come from below
                aim = task.sliding[k] - shown.reach[1, k]
            enough = min(aim * (1 - task.tolerance), task.bound[side, k])
            if shown.farthest[side, k] or shown.reach[side, k] >= enough:
                continue
            amount, is_farthest = _deviate(residual, state, task, k, side, aim)
            if amount > 0:
                arc[size] = k
                flow[size] = (task.unit if amount == np.inf else amount) * (2 * side - 1)
                size += 1
                for i in range(state.touches[0]):
                    if state.flow[state.touched[i]] != 0:
                        arc[size] = state.touched[i]
                        flow[size] = state.flow[state.touched[i]]
                        size += 1
                _credit(task, shown, arc, flow, begin[tables], size, number + tables)
            if is_farthest:
                shown.farthest[side, k] = True
                shown.reach[side, k] = amount
                shown.by[side, k] = number + tables if amount > 0 else -1
            if amount > 0:
                tables += 1
                begin[tables] = size
            _reset(residual, state, task, k)
    return done, tables


@compiled
def _deviate(
    residual: ResidualNetwork, state: FlowSearchState, task: FlowTask, k: int, side: int, aim: float
) -> tuple[float, bool]:
    """A flow through other arcs that lets an arc deviate by ``aim``, or farthest: its size, and whether it is the farthest."""
    bound = task.bound[side, k]
    if residual.of[side, k] < 0:  # a loop deviates alone
        return bound, True
    source, sink = residual.to[residual.of[side, k]], residual.to[residual.of[1 - side, k]]
    residual.slack[residual.of[0, k]] = 0.0
    residual.slack[residual.of[1, k]] = 0.0
    if (
        bound == np.inf
        and task.component[source] == task.component[sink]
        and _find_path(residual, state, source, sink, np.inf)
    ):
        _push(residual, state, task.unit)
        return np.inf, True
    leaving, arriving = 0.0, 0.0
    for edge in range(residual.start[source], residual.start[source + 1]):
        leaving += residual.slack[edge]
    for edge in range(residual.start[sink], residual.start[sink + 1]):
        arriving += residual.slack[residual.reverse[edge]]
    most = min(bound, leaving, arriving)
    goal = min(aim, most)
    if goal < np.inf and _find_path(residual, state, source, sink, goal):  # mostly one path is enough
        amount = _push(residual, state, bound)
        return amount, amount >= most
    amount, before = 0.0, -1.0
    enough = min(aim * (1 - task.tolerance), most)
    while before < amount < enough:
        before = amount
        amount = _blocking_flow(residual, state, source, sink, bound, enough, amount)
    return amount, amount == before or amount >= most


@compiled
def _find_path(residual: ResidualNetwork, state: FlowSearchState, source: int, sink: int, least: float) -> bool:
    """Find a shortest path whose slack is at least ``least``, and store it; False if there is none."""
    state.number[0] += 1
    now = state.number[0]
    for edge in range(residual.start[sink], residual.start[sink + 1]):
        if residual.slack[residual.reverse[edge]] >= least:
            state.near[residual.to[edge]] = now
            state.last[residual.to[edge]] = residual.reverse[edge]
    state.seen[source] = now
    state.seen[sink] = now
    state.queue[0] = source
    first, last = 0, 1
    while first < last:
        node = state.queue[first]
        if state.near[node] == now:
            state.path[0] = state.last[node]
            state.length[0] = 1
            while node != source:
                state.path[state.length[0]] = state.by[node]
                state.length[0] += 1
                node = residual.to[residual.reverse[state.by[node]]]
            return True
        first += 1
        for edge in range(residual.start[node], residual.start[node + 1]):
            there = residual.to[edge]
            if residual.slack[edge] >= least and state.seen[there] != now:
                state.seen[there] = now
                state.by[there] = edge
                state.queue[last] = there
                last += 1
                if state.near[there] == now:
                    first = last - 1
                    break
    return False


@compiled
def _blocking_flow(
    residual: ResidualNetwork,
    state: FlowSearchState,
    source: int,
    sink: int,
    bound: float,
    enough: float,
    amount: float,
) -> float:
    """A blocking flow (one phase of Dinic's algorithm), which ends early if it is enough."""
    state.number[0] += 1
    now = state.number[0]
    state.seen[source] = now
    state.depth[source] = 0
    state.queue[0] = source
    first, last = 0, 1
    while first < last and state.seen[sink] != now:
        node = state.queue[first]
        first += 1
        for edge in range(residual.start[node], residual.start[node + 1]):
            there = residual.to[edge]
            if residual.slack[edge] > 0 and state.seen[there] != now:
                state.seen[there] = now
                state.depth[there] = state.depth[node] + 1
                state.by[there] = residual.start[there]
                state.queue[last] = there
                last += 1
                if there == sink:
                    break
    if state.seen[sink] != now:
        return amount
    # Paths are built backwards from the sink, each edge from a node that is one step nearer to the source.
    state.length[0] = 0
    node = sink
    while True:
        if node == source:
            amount += _push(residual, state, bound - amount)
            if amount >= enough:
                return amount
            state.length[0] = 0
            node = sink
        stuck = True
        while state.by[node] < residual.start[node + 1]:
            there, edge = residual.to[state.by[node]], residual.reverse[state.by[node]]
            if state.seen[there] == now and state.depth[there] == state.depth[node] - 1 and residual.slack[edge] > 0:
                state.path[state.length[0]] = edge
                state.length[0] += 1
                node = there
                stuck = False
                break
            state.by[node] += 1
        if stuck and node == sink:
            return amount
        if stuck:
            state.length[0] -= 1
            node = residual.to[state.path[state.length[0]]]
            state.by[node] += 1


@compiled
def _push(residual: ResidualNetwork, state: FlowSearchState, most: float) -> float:
    """Push the largest flow along the stored path, at most ``most``; its size."""
    amount = most
    for i in range(state.length[0]):
        amount = min(amount, residual.slack[state.path[i]])
    for i in range(state.length[0]):
        edge = state.path[i]
        arc, direction = residual.arc[edge], residual.direction[edge]
        if not state.is_touched[arc]:
            state.is_touched[arc] = True
            state.touched[state.touches[0]] = arc
            state.touches[0] += 1
        state.flow[arc] += amount * (2 * direction - 1)
        residual.slack[residual.reverse[edge]] += amount
        if residual.slack[edge] < np.inf:
            residual.slack[edge] -= amount
    return amount


@compiled
def _credit(
    task: FlowTask, shown: FlowResults, arc: IntArray, flow: FloatArray, begin: int, end: int, number: int
) -> None:
    """Update the reach of every target by the largest multiples of a circulation and of its reverse."""
    for forwards in range(2):
        multiple = np.inf
        for i in range(begin, end):
            side = forwards if flow[i] > 0 else 1 - forwards
            multiple = min(multiple, task.bound[side, arc[i]] / abs(flow[i]))
        if multiple == 0:
            continue
        for i in range(begin, end):
            side, reach = forwards if flow[i] > 0 else 1 - forwards, multiple * abs(flow[i])
            if shown.is_target[arc[i]] and reach > shown.reach[side, arc[i]]:
                bound = task.bound[side, arc[i]]
                # A deviation that is limited by its own bound equals it exactly.
                shown.reach[side, arc[i]] = bound if bound / abs(flow[i]) == multiple else reach
                shown.by[side, arc[i]] = number


@compiled
def _reset(residual: ResidualNetwork, state: FlowSearchState, task: FlowTask, k: int) -> None:
    """Restore the slacks and flows that a search changed."""
    state.touched[state.touches[0]] = k
    for i in range(state.touches[0] + 1):
        arc = state.touched[i]
        state.is_touched[arc] = False
        state.flow[arc] = 0.0
        if residual.of[0, arc] >= 0:
            residual.slack[residual.of[0, arc]] = task.bound[0, arc]
            residual.slack[residual.of[1, arc]] = task.bound[1, arc]
    state.touches[0] = 0
