"""Cheap flows through a network: compiled, and in a module of its own as that takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled

SLIGHT = 1e-3  # lanes with less slack than this share of what is still to flow are priced as if they had this much
DROP = 1e-12  # of a level: what is left of a slack is rounding error
STILL = 1e-9  # of a level: what is still to flow is not worth another path
FARE = 1e-4  # of the lowest price, for every step: of ways that cost nothing else the shortest is taken


class Streets(NamedTuple):
    """Every arc as two lanes, number ``2 * arc`` against it and ``2 * arc + 1`` along it. Loops have none.

    Lanes that leave a node are in the order of their price, so that few are looked at. Those that cost nothing, because the
    arc is suppressed already, are listed once more.
    """

    tail: SmallIntArray
    head: SmallIntArray
    price: FloatArray
    fare: float
    start: IntArray  # (nodes + 1): where the lanes that leave a node begin
    lane: SmallIntArray
    to: SmallIntArray
    toll: FloatArray  # the price of a lane's arc
    free: SmallIntArray  # lanes that cost nothing; those that leave a node begin at ``start``, too
    frees: IntArray  # by node: how many there are
    is_free: BoolArray  # by arc


class MoverMarks(NamedTuple):
    """What searches write down."""

    distance: FloatArray  # by node
    by: SmallIntArray  # by node: the lane it was reached by
    at: IntArray  # by node: the next lane to look at; −1 until it is settled
    key: FloatArray  # by node: what the heap sorts by
    heap: SmallIntArray
    place: SmallIntArray  # by node: where it is in the heap, −1 if it is not
    moved: FloatArray  # by arc, in levels
    touched: SmallIntArray  # arcs that were on a path
    is_touched: BoolArray  # by arc
    paid: SmallIntArray  # those that were not free before
    touches: IntArray  # (2): how many arcs were touched, and how many paid


def streets(tail: IntArray, head: IntArray, nodes: int, price: FloatArray) -> Streets:
    arc = np.argsort(price, kind="stable")
    arc = arc[(tail != head)[arc]]
    lane = np.stack([2 * arc, 2 * arc + 1], axis=1).ravel()
    ends = np.stack([head, tail], axis=1).ravel()  # where each lane begins
    lane = lane[np.argsort(ends[lane], kind="stable")]
    positive = price[price > 0]
    made = Streets(
        tail=tail.astype(np.int32),
        head=head.astype(np.int32),
        price=price,
        fare=FARE * float(positive.min()) if len(positive) else 1.0,
        start=np.searchsorted(ends[lane], np.arange(nodes + 1)),
        lane=lane.astype(np.int32),
        to=ends[lane ^ 1].astype(np.int32),
        toll=price[lane // 2],
        free=np.zeros(len(lane), dtype=np.int32),
        frees=np.zeros(nodes, dtype=np.int64),
        is_free=np.zeros(len(price), dtype=bool),
    )
    release(made, np.flatnonzero(price == 0))
    return made


def marks(nodes: int, arcs: int) -> MoverMarks:
    return MoverMarks(
        distance=np.zeros(nodes),
        by=np.zeros(nodes, dtype=np.int32),
        at=np.zeros(nodes, dtype=np.int64),
        key=np.zeros(nodes),
        heap=np.zeros(nodes, dtype=np.int32),
        place=np.zeros(nodes, dtype=np.int32),
        moved=np.zeros(arcs),
        touched=np.zeros(arcs, dtype=np.int32),
        is_touched=np.zeros(arcs, dtype=bool),
        paid=np.zeros(arcs, dtype=np.int32),
        touches=np.zeros(2, dtype=np.int64),
    )


# -- compiled from here on ------------------------------------------------------------------------------------


@compiled
def release(streets: Streets, arcs: IntArray) -> None:
    """These arcs cost nothing any more."""
    for arc in arcs:
        _release(streets, arc)


@compiled
def _release(streets: Streets, arc: int) -> bool:
    """Whether it did cost something."""
    if streets.is_free[arc]:
        return False
    streets.is_free[arc] = True
    tail, head = streets.tail[arc], streets.head[arc]
    if tail != head:
        streets.free[streets.start[head] + streets.frees[head]] = 2 * arc
        streets.free[streets.start[tail] + streets.frees[tail]] = 2 * arc + 1
        streets.frees[head] += 1
        streets.frees[tail] += 1
    return True


@compiled
def circulate(
    streets: Streets, marks: MoverMarks, slack: FloatArray, p: int, side: int, level: float, least: float
) -> tuple[float, IntArray, FloatArray]:
    """Move one arc by a level, or as far as it goes: by how much, the arcs that move, and how far; all in levels.

    What goes through the arc comes back through the others, along one cheapest path after the other. What a path suppresses costs
    the next one nothing. Where the ends of the arc show that it cannot move by ``least``, it is left where it is.
    """
    goal = min(slack[side, p] / level, 1.0)
    tail, head = streets.tail[p], streets.head[p]
    source, sink = (head, tail) if side == 1 else (tail, head)
    far = goal if source == sink else 0.0
    if source != sink:
        most = min(_around(streets, slack, p, source, 0, level), _around(streets, slack, p, sink, 1, level))
        goal = min(goal, most) if most >= least else 0.0
    while goal - far > STILL and _find(streets, marks, slack, p, source, sink, level, goal - far):
        far += _push(streets, marks, slack, source, sink, level, goal - far)
    arcs = np.empty(marks.touches[0] + 1, dtype=np.int64)
    moves = np.empty(marks.touches[0] + 1)
    arcs[0], moves[0] = p, far if side == 1 else -far
    count = 1
    for i in range(marks.touches[0]):
        arc = marks.touched[i]
        if abs(marks.moved[arc]) > DROP:
            arcs[count], moves[count] = arc, marks.moved[arc]
            count += 1
        marks.moved[arc] = 0.0
        marks.is_touched[arc] = False
    for i in range(marks.touches[1] - 1, -1, -1):  # the last came last in the lists
        arc = marks.paid[i]
        streets.is_free[arc] = False
        streets.frees[streets.tail[arc]] -= 1
        streets.frees[streets.head[arc]] -= 1
    marks.touches[:] = 0
    return far, arcs[:count], moves[:count]


@compiled
def _around(streets: Streets, slack: FloatArray, p: int, node: int, arriving: int, level: float) -> float:
    """What other arcs can take from a node, or bring there, in levels."""
    most = 0.0
    for i in range(streets.start[node], streets.start[node + 1]):
        lane = streets.lane[i] ^ arriving
        if lane >> 1 != p:
            most += slack[lane & 1, lane >> 1] / level
    return most


@compiled
def _find(
    streets: Streets, marks: MoverMarks, slack: FloatArray, p: int, source: int, sink: int, level: float, rest: float
) -> bool:
    """The cheapest path for what is still to flow, by Dijkstra's algorithm; whether there is one.

    A node is in the heap with its distance until it is settled, and then with that of its next lane that costs something.
    """
    # Handing single arrays on is much quicker than handing on all.
    start, to, toll, lanes = streets.start, streets.to, streets.toll, streets.lane
    free, is_free, tail, head = streets.free, streets.is_free, streets.tail, streets.head
    distance, by, moved, at = marks.distance, marks.by, marks.moved, marks.at
    heap, place, key = marks.heap, marks.place, marks.key
    distance[:] = np.inf
    place[:] = -1
    at[:] = -1
    distance[source] = 0.0
    size = _put(heap, place, key, 0, source, 0.0)
    while size:
        node = heap[0]
        size = _take(heap, place, key, size)
        if node == sink:
            return True
        here = distance[node]
        if at[node] < 0:
            at[node] = start[node]
            for i in range(start[node], start[node] + streets.frees[node]):
                lane = free[i]
                there = head[lane >> 1] if lane & 1 else tail[lane >> 1]
                if here + streets.fare < distance[there] and lane >> 1 != p:
                    far = here + _cost(slack, moved, lane, streets.fare, level, rest)
                    if far < distance[there]:
                        distance[there], by[there] = far, lane
                        size = _put(heap, place, key, size, there, far)
        i = at[node]
        while i < start[node + 1]:
            far = here + toll[i]
            if far >= distance[sink]:
                break
            there, lane = to[i], lanes[i]
            if far < distance[there] and not is_free[lane >> 1] and lane >> 1 != p:
                if size and far > key[heap[0]]:
                    at[node] = i
                    size = _put(heap, place, key, size, node, far)
                    break
                far = here + _cost(slack, moved, lane, toll[i] + streets.fare, level, rest)
                if far < distance[there]:
                    distance[there], by[there] = far, lane
                    size = _put(heap, place, key, size, there, far)
            i += 1
    return False


@compiled
def _cost(slack: FloatArray, moved: FloatArray, lane: int, price: float, level: float, rest: float) -> float:
    """A lane with less slack than is still to flow carries only that much: its price is spread over what it can carry."""
    left = _left(slack, moved, lane, level)
    return price / min(max(left / rest, SLIGHT), 1.0) if left > DROP else np.inf


@compiled
def _left(slack: FloatArray, moved: FloatArray, lane: int, level: float) -> float:
    """What a lane can still take, in levels."""
    arc, way = lane >> 1, lane & 1
    return float(slack[way, arc] / level - (moved[arc] if way == 1 else -moved[arc]))


@compiled
def _push(
    streets: Streets, marks: MoverMarks, slack: FloatArray, source: int, sink: int, level: float, rest: float
) -> float:
    """Push as much as fits along the path to the sink; how much."""
    amount = rest
    node = sink
    while node != source:
        lane = marks.by[node]
        amount = min(amount, _left(slack, marks.moved, lane, level))
        node = streets.tail[lane >> 1] if lane & 1 else streets.head[lane >> 1]
    node = sink
    while node != source:
        lane = marks.by[node]
        arc = lane >> 1
        if not marks.is_touched[arc]:
            marks.is_touched[arc] = True
            marks.touched[marks.touches[0]] = arc
            marks.touches[0] += 1
        if _release(streets, arc):
            marks.paid[marks.touches[1]] = arc
            marks.touches[1] += 1
        marks.moved[arc] += amount if lane & 1 else -amount
        node = streets.tail[arc] if lane & 1 else streets.head[arc]
    return amount


@compiled
def _put(heap: SmallIntArray, place: SmallIntArray, key: FloatArray, size: int, node: int, new: float) -> int:
    """Into the heap, or farther up in it; its size."""
    i = place[node]
    if i < 0:
        i = size
        size += 1
    key[node] = new
    while i > 0 and key[heap[(i - 1) // 2]] > new:
        heap[i] = heap[(i - 1) // 2]
        place[heap[i]] = i
        i = (i - 1) // 2
    heap[i] = node
    place[node] = i
    return size


@compiled
def _take(heap: SmallIntArray, place: SmallIntArray, key: FloatArray, size: int) -> int:
    """The first out of the heap; its size."""
    place[heap[0]] = -1
    size -= 1
    node, i = heap[size], 0
    while 2 * i + 1 < size:
        below = 2 * i + 1
        if below + 1 < size and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= key[node]:
            break
        heap[i] = heap[below]
        place[heap[i]] = i
        i = below
    if size:
        heap[i] = node
        place[node] = i
    return size
