"""Largest flows through one network, for many arcs in one go: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled

MIN_BUFFER_SIZE = 1 << 16


class Lanes(NamedTuple):
    """Every arc as two lanes, one a direction, in the order of the nodes they leave. Loops are left out.

    ``slack`` is what a lane can still take; what is pushed along a lane makes slack on its mate.
    """

    start: SmallIntArray  # (nodes + 1): where the lanes leaving a node begin
    to: SmallIntArray
    mate: SmallIntArray
    arc: SmallIntArray
    way: SmallIntArray  # 1 along the arc, that is up; 0 against it, down
    slack: FloatArray
    of: SmallIntArray  # (2, arcs): the lanes of an arc, down and up; -1 for loops


class FlowSearchState(NamedTuple):
    """What searches write down. It is not cleared in between: entries count only with the number of the current search."""

    number: IntArray  # (1): of the current search
    seen: IntArray  # by node: the last search that got there
    near: IntArray  # by node: the last search that it was one step from the sink of
    last: SmallIntArray  # by node: the lane that step takes
    by: SmallIntArray  # by node: the lane it was reached by; when pushing, the next one to look at
    depth: SmallIntArray  # by node
    queue: SmallIntArray
    path: SmallIntArray  # lanes, from the sink back to the source
    length: IntArray  # (1): of the path
    moved: FloatArray  # by arc
    touched: SmallIntArray  # arcs that moved
    is_touched: BoolArray
    touches: IntArray  # (1): how many did


class FlowTask(NamedTuple):
    bound: FloatArray  # (2, arcs): how far each arc may move down and up, in whole numbers
    knot: SmallIntArray  # by node: endless arcs lead to and fro only within a knot
    targets: IntArray
    level: FloatArray  # (2, arcs): infinite where an arc shall move as far as it goes
    sliding: FloatArray
    tolerance: float  # share of a level that may be missing
    unit: float  # the move that stands for an endless one


class FlowResults(NamedTuple):
    """What has come out so far, about targets only."""

    is_target: BoolArray
    reach: FloatArray  # (2, arcs)
    farthest: BoolArray  # (2, arcs): it can go no farther
    by: IntArray  # (2, arcs): number of the circulation that shows it; -1: none


class Circulations(NamedTuple):
    """One after the other: which arcs they move, and how far."""

    begin: IntArray
    arc: IntArray
    move: FloatArray


def maximize_flows(
    tail: IntArray, head: IntArray, nodes: int, task: FlowTask, keep: bool
) -> tuple[FlowResults, Circulations]:
    """Move every target by its levels, or as far as it goes; ``keep`` the circulations, which may fill gigabytes, or not."""
    arcs = len(tail)
    lanes, marks = _lanes(tail, head, nodes, task.bound), _marks(nodes, arcs)
    shape = task.bound.shape
    is_target = np.zeros(arcs, dtype=bool)
    is_target[task.targets] = True
    shown = FlowResults(is_target, np.zeros(shape), task.bound == 0, np.full(shape, -1))
    # The buffer is emptied whenever the next target might not fit in.
    size = max(MIN_BUFFER_SIZE, 4 * (arcs + 1))
    begin, arc, move = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64), np.zeros(size)
    parts, done, number = [(begin[:0], arc[:0], move[:0])], 0, 0
    while done < len(task.targets):
        done, tables = _explore(lanes, marks, task, shown, begin, arc, move, done, number)
        if keep:
            used = begin[tables]
            parts.append((np.diff(begin[: tables + 1]), arc[:used].copy(), move[:used].copy()))
            number += tables
    lengths, arcs_moved, moves = (np.concatenate(part) for part in zip(*parts, strict=True))
    return shown, Circulations(np.r_[0, np.cumsum(lengths)], arcs_moved, moves)


def _lanes(tail: IntArray, head: IntArray, nodes: int, bound: FloatArray) -> Lanes:
    arc = np.flatnonzero(tail != head)
    k = len(arc)
    leaves, to = np.r_[head[arc], tail[arc]], np.r_[tail[arc], head[arc]]  # all down, then all up
    order = np.argsort(leaves, kind="stable")
    place = np.empty(2 * k, dtype=np.int32)
    place[order] = np.arange(2 * k)
    of = np.full(bound.shape, -1, dtype=np.int32)
    of[0, arc], of[1, arc] = place[:k], place[k:]
    return Lanes(
        start=np.searchsorted(leaves[order], np.arange(nodes + 1)).astype(np.int32),
        to=to[order].astype(np.int32),
        mate=np.r_[place[k:], place[:k]][order],
        arc=np.r_[arc, arc][order].astype(np.int32),
        way=(order >= k).astype(np.int32),
        slack=bound[:, arc].ravel()[order],
        of=of,
    )


def _marks(nodes: int, arcs: int) -> FlowSearchState:
    number, length, touches = np.zeros((3, 1), dtype=np.int64)
    seen, near = np.zeros((2, nodes), dtype=np.int64)
    last, by, depth, queue, path = np.zeros((5, nodes), dtype=np.int32)
    moved, touched, is_touched = np.zeros(arcs), np.zeros(arcs, dtype=np.int32), np.zeros(arcs, dtype=bool)
    return FlowSearchState(
        number, seen, near, last, by, depth, queue, path, length, moved, touched, is_touched, touches
    )


# -- compiled from here on ------------------------------------------------------------------------------------


@compiled
def _explore(
    lanes: Lanes,
    marks: FlowSearchState,
    task: FlowTask,
    shown: FlowResults,
    begin: IntArray,
    arc: IntArray,
    move: FloatArray,
    done: int,
    number: int,
) -> tuple[int, int]:
    """Go on until all targets are done or the buffer is full: how many are done, and how many circulations are in it."""
    tables, size = 0, 0
    while done < len(task.targets) and size + 3 * (len(marks.moved) + 1) <= len(arc) and tables + 3 < len(begin):
        k = task.targets[done]
        done += 1
        for step in range(3):
            side = step % 2
            if step == 0:
                aim = task.level[0, k]
            elif step == 1:
                aim = max(task.level[1, k], task.sliding[k] - shown.reach[0, k])
            else:  # up there was less than was missing: the rest must come from below
                aim = task.sliding[k] - shown.reach[1, k]
            enough = min(aim * (1 - task.tolerance), task.bound[side, k])
            if shown.farthest[side, k] or shown.reach[side, k] >= enough:
                continue
            amount, is_most = _move(lanes, marks, task, k, side, aim)
            if amount > 0:
                own = task.unit if amount == np.inf else amount
                arc[size] = k
                move[size] = own * (2 * side - 1)
                size += 1
                for i in range(marks.touches[0]):
                    if marks.moved[marks.touched[i]] != 0:
                        arc[size] = marks.touched[i]
                        move[size] = marks.moved[marks.touched[i]]
                        size += 1
                _credit(task, shown, arc, move, begin[tables], size, number + tables)
            if is_most:
                shown.farthest[side, k] = True
                shown.reach[side, k] = amount
                shown.by[side, k] = number + tables if amount > 0 else -1
            if amount > 0:
                tables += 1
                begin[tables] = size
            _reset(lanes, marks, task, k)
    return done, tables


@compiled
def _move(lanes: Lanes, marks: FlowSearchState, task: FlowTask, k: int, side: int, aim: float) -> tuple[float, bool]:
    """Move one arc by ``aim`` or as far as it goes: by how much, and whether there can be no more.

    What goes through the arc comes back through the others: a flow from where the arc ends to where it starts.
    """
    own = task.bound[side, k]
    if lanes.of[side, k] < 0:  # a loop: nothing else need move
        return own, True
    source, sink = lanes.to[lanes.of[side, k]], lanes.to[lanes.of[1 - side, k]]
    lanes.slack[lanes.of[0, k]] = 0.0
    lanes.slack[lanes.of[1, k]] = 0.0
    if own == np.inf and task.knot[source] == task.knot[sink] and _find(lanes, marks, source, sink, np.inf):
        _push(lanes, marks, task, task.unit)
        return np.inf, True
    leaving, arriving = 0.0, 0.0
    for lane in range(lanes.start[source], lanes.start[source + 1]):
        leaving += lanes.slack[lane]
    for lane in range(lanes.start[sink], lanes.start[sink + 1]):
        arriving += lanes.slack[lanes.mate[lane]]
    most = min(own, leaving, arriving)
    goal = min(aim, most)
    if goal < np.inf and _find(lanes, marks, source, sink, goal):  # most often one path will do
        amount = _push(lanes, marks, task, own)
        return amount, amount >= most
    amount, before = 0.0, -1.0
    enough = min(aim * (1 - task.tolerance), most)
    while before < amount < enough:
        before = amount
        amount = _block(lanes, marks, task, source, sink, own, enough, amount)
    return amount, amount == before or amount >= most


@compiled
def _find(lanes: Lanes, marks: FlowSearchState, source: int, sink: int, least: float) -> bool:
    """Look for a shortest path along which ``least`` can be pushed, and write it down."""
    marks.number[0] += 1
    now = marks.number[0]
    for lane in range(lanes.start[sink], lanes.start[sink + 1]):
        if lanes.slack[lanes.mate[lane]] >= least:
            marks.near[lanes.to[lane]] = now
            marks.last[lanes.to[lane]] = lanes.mate[lane]
    marks.seen[source] = now
    marks.seen[sink] = now
    marks.queue[0] = source
    first, last = 0, 1
    while first < last:
        node = marks.queue[first]
        if marks.near[node] == now:
            marks.path[0] = marks.last[node]
            marks.length[0] = 1
            while node != source:
                marks.path[marks.length[0]] = marks.by[node]
                marks.length[0] += 1
                node = lanes.to[lanes.mate[marks.by[node]]]
            return True
        first += 1
        for lane in range(lanes.start[node], lanes.start[node + 1]):
            there = lanes.to[lane]
            if lanes.slack[lane] >= least and marks.seen[there] != now:
                marks.seen[there] = now
                marks.by[there] = lane
                marks.queue[last] = there
                last += 1
                if marks.near[there] == now:
                    first = last - 1
                    break
    return False


@compiled
def _block(
    lanes: Lanes,
    marks: FlowSearchState,
    task: FlowTask,
    source: int,
    sink: int,
    own: float,
    enough: float,
    amount: float,
) -> float:
    """Push along shortest paths until none of that length is left (one phase of Dinic's algorithm) or it is enough."""
    marks.number[0] += 1
    now = marks.number[0]
    marks.seen[source] = now
    marks.depth[source] = 0
    marks.queue[0] = source
    first, last = 0, 1
    while first < last and marks.seen[sink] != now:
        node = marks.queue[first]
        first += 1
        for lane in range(lanes.start[node], lanes.start[node + 1]):
            there = lanes.to[lane]
            if lanes.slack[lane] > 0 and marks.seen[there] != now:
                marks.seen[there] = now
                marks.depth[there] = marks.depth[node] + 1
                marks.by[there] = lanes.start[there]
                marks.queue[last] = there
                last += 1
                if there == sink:
                    break
    if marks.seen[sink] != now:
        return amount
    # Back from the sink: a step to a node nearer to the source leads on, unless what comes before it is used up.
    marks.length[0] = 0
    node = sink
    while True:
        if node == source:
            amount += _push(lanes, marks, task, own - amount)
            if amount >= enough:
                return amount
            marks.length[0] = 0
            node = sink
        stuck = True
        while marks.by[node] < lanes.start[node + 1]:
            there, lane = lanes.to[marks.by[node]], lanes.mate[marks.by[node]]
            if marks.seen[there] == now and marks.depth[there] == marks.depth[node] - 1 and lanes.slack[lane] > 0:
                marks.path[marks.length[0]] = lane
                marks.length[0] += 1
                node = there
                stuck = False
                break
            marks.by[node] += 1
        if stuck and node == sink:
            return amount
        if stuck:
            marks.length[0] -= 1
            node = lanes.to[marks.path[marks.length[0]]]
            marks.by[node] += 1


@compiled
def _push(lanes: Lanes, marks: FlowSearchState, task: FlowTask, most: float) -> float:
    """Push as much as fits along the path written down; how much."""
    amount = most
    for i in range(marks.length[0]):
        amount = min(amount, lanes.slack[marks.path[i]])
    for i in range(marks.length[0]):
        lane = marks.path[i]
        arc, way = lanes.arc[lane], lanes.way[lane]
        if not marks.is_touched[arc]:
            marks.is_touched[arc] = True
            marks.touched[marks.touches[0]] = arc
            marks.touches[0] += 1
        marks.moved[arc] += amount * (2 * way - 1)
        lanes.slack[lanes.mate[lane]] += amount
        if lanes.slack[lane] < np.inf:
            lanes.slack[lane] -= amount
    return amount


@compiled
def _credit(
    task: FlowTask, shown: FlowResults, arc: IntArray, move: FloatArray, begin: int, end: int, number: int
) -> None:
    """The largest multiples of a circulation, forwards and backwards, show something about every target in it."""
    for forwards in range(2):
        multiple = np.inf
        for i in range(begin, end):
            side = forwards if move[i] > 0 else 1 - forwards
            multiple = min(multiple, task.bound[side, arc[i]] / abs(move[i]))
        if multiple == 0:
            continue
        for i in range(begin, end):
            side, far = forwards if move[i] > 0 else 1 - forwards, multiple * abs(move[i])
            if shown.is_target[arc[i]] and far > shown.reach[side, arc[i]]:
                bound = task.bound[side, arc[i]]
                # What is stopped by its own bound gets there exactly.
                shown.reach[side, arc[i]] = bound if bound / abs(move[i]) == multiple else far
                shown.by[side, arc[i]] = number


@compiled
def _reset(lanes: Lanes, marks: FlowSearchState, task: FlowTask, k: int) -> None:
    """Put everything back in its place."""
    marks.touched[marks.touches[0]] = k
    for i in range(marks.touches[0] + 1):
        arc = marks.touched[i]
        marks.is_touched[arc] = False
        marks.moved[arc] = 0.0
        if lanes.of[0, arc] >= 0:
            lanes.slack[lanes.of[0, arc]] = task.bound[0, arc]
            lanes.slack[lanes.of[1, arc]] = task.bound[1, arc]
    marks.touches[0] = 0
