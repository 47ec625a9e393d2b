"""Cheap flows through a network; compiled, and in a separate module because compiling takes a while."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled

MIN_PRICED_CAPACITY = 1e-3  # share of the remaining flow: residual arcs with less are priced as if they had this much
CAPACITY_IGNORED = 1e-12  # of a level: less capacity is rounding error
FLOW_IGNORED = 1e-9  # of a level: less remaining flow is not worth another path
STEP_PRICE_SHARE = 1e-4  # of the lowest price, for every arc: of paths that cost nothing else the shortest is chosen


class PricedResidualNetwork(NamedTuple):
    """Every arc as two residual arcs, number ``2 * arc`` against it and ``2 * arc + 1`` along it. Loops have none.

    Residual arcs that leave a node are in the order of their price, so that a search visits few of them. Those that cost
    nothing, because the cell of their arc is suppressed already, are listed a second time.
    """

    tail: SmallIntArray
    head: SmallIntArray
    price: FloatArray
    step_price: float
    start: IntArray  # (nodes + 1): the first residual arc that leaves a node
    residual_arc: SmallIntArray
    to: SmallIntArray
    arc_price: FloatArray  # per residual arc
    free: SmallIntArray  # residual arcs that cost nothing; those that leave a node begin at ``start``, too
    n_free: IntArray  # per node
    is_free: BoolArray  # per arc


class SearchState(NamedTuple):
    """The working arrays of searches."""

    distance: FloatArray  # per node
    by: SmallIntArray  # per node, the residual arc that reached it
    at: IntArray  # per node, the next residual arc to visit; −1 until the node is settled
    key: FloatArray  # per node, its key in the heap
    heap: SmallIntArray
    place: SmallIntArray  # per node, its position in the heap; −1 if it is not in the heap
    moved: FloatArray  # per arc, in levels
    touched: SmallIntArray  # arcs on a path
    is_touched: BoolArray  # per arc
    paid: SmallIntArray  # touched arcs that were not free before
    touches: IntArray  # (2): the numbers of touched and of paid arcs


def residual_network(tail: IntArray, head: IntArray, nodes: int, price: FloatArray) -> PricedResidualNetwork:
    """The residual network of arcs with these prices."""
    arc = np.argsort(price, kind="stable")
    arc = arc[(tail != head)[arc]]
    residual_arc = np.stack([2 * arc, 2 * arc + 1], axis=1).ravel()
    origin = np.stack([head, tail], axis=1).ravel()  # per residual arc
    residual_arc = residual_arc[np.argsort(origin[residual_arc], kind="stable")]
    positive = price[price > 0]
    net = PricedResidualNetwork(
        tail=tail.astype(np.int32),
        head=head.astype(np.int32),
        price=price,
        step_price=STEP_PRICE_SHARE * float(positive.min()) if len(positive) else 1.0,
        start=np.searchsorted(origin[residual_arc], np.arange(nodes + 1)),
        residual_arc=residual_arc.astype(np.int32),
        to=origin[residual_arc ^ 1].astype(np.int32),
        arc_price=price[residual_arc // 2],
        free=np.zeros(len(residual_arc), dtype=np.int32),
        n_free=np.zeros(nodes, dtype=np.int64),
        is_free=np.zeros(len(price), dtype=bool),
    )
    release(net, np.flatnonzero(price == 0))
    return net


def search_state(nodes: int, arcs: int) -> SearchState:
    """The working arrays for a network of this size."""
    return SearchState(
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
def release(net: PricedResidualNetwork, arcs: IntArray) -> None:
    """Set the price of these arcs to zero."""
    for arc in arcs:
        _release(net, arc)


@compiled
def _release(net: PricedResidualNetwork, arc: int) -> bool:
    """Set the price of an arc to zero; whether it was not zero before."""
    if net.is_free[arc]:
        return False
    net.is_free[arc] = True
    tail, head = net.tail[arc], net.head[arc]
    if tail != head:
        net.free[net.start[head] + net.n_free[head]] = 2 * arc
        net.free[net.start[tail] + net.n_free[tail]] = 2 * arc + 1
        net.n_free[head] += 1
        net.n_free[tail] += 1
    return True


@compiled
def circulate(
    net: PricedResidualNetwork, state: SearchState, slack: FloatArray, p: int, side: int, level: float, least: float
) -> tuple[float, IntArray, FloatArray]:
    """Change the flow of one arc by a level, or as far as possible: its change, all arcs that change, their changes; in levels.

    The flow of the arc returns through the others, along successive cheapest paths. An arc of one path costs nothing on the
    next. If the arcs at its ends show that the arc cannot change by ``least``, nothing changes.
    """
    goal = min(slack[side, p] / level, 1.0)
    tail, head = net.tail[p], net.head[p]
    source, sink = (head, tail) if side == 1 else (tail, head)
    reached = goal if source == sink else 0.0
    if source != sink:
        most = min(_capacity_at_node(net, slack, p, source, 0, level), _capacity_at_node(net, slack, p, sink, 1, level))
        goal = min(goal, most) if most >= least else 0.0
    while goal - reached > FLOW_IGNORED and _find(net, state, slack, p, source, sink, level, goal - reached):
        reached += _push(net, state, slack, source, sink, level, goal - reached)
    arcs = np.empty(state.touches[0] + 1, dtype=np.int64)
    changes = np.empty(state.touches[0] + 1)
    arcs[0], changes[0] = p, reached if side == 1 else -reached
    count = 1
    for i in range(state.touches[0]):
        arc = state.touched[i]
        if abs(state.moved[arc]) > CAPACITY_IGNORED:
            arcs[count], changes[count] = arc, state.moved[arc]
            count += 1
        state.moved[arc] = 0.0
        state.is_touched[arc] = False
    # In reverse order, so that the lists of free residual arcs shrink at their ends.
    for i in range(state.touches[1] - 1, -1, -1):
        arc = state.paid[i]
        net.is_free[arc] = False
        net.n_free[net.tail[arc]] -= 1
        net.n_free[net.head[arc]] -= 1
    state.touches[:] = 0
    return reached, arcs[:count], changes[:count]


@compiled
def _capacity_at_node(
    net: PricedResidualNetwork, slack: FloatArray, p: int, node: int, arriving: int, level: float
) -> float:
    """The capacity of all other arcs out of a node, or into it if ``arriving``, in levels."""
    most = 0.0
    for i in range(net.start[node], net.start[node + 1]):
        residual = net.residual_arc[i] ^ arriving
        if residual >> 1 != p:
            most += slack[residual & 1, residual >> 1] / level
    return most


@compiled
def _find(
    net: PricedResidualNetwork,
    state: SearchState,
    slack: FloatArray,
    p: int,
    source: int,
    sink: int,
    level: float,
    rest: float,
) -> bool:
    """Find the cheapest path for the remaining flow by Dijkstra's algorithm; False if there is none.

    A node is in the heap with its distance until it is settled, then with that of its next residual arc with a price.
    """
    # Passing single arrays to functions is much faster than passing all of them.
    start, to, arc_price, residual_arcs = net.start, net.to, net.arc_price, net.residual_arc
    free, is_free, tail, head = net.free, net.is_free, net.tail, net.head
    distance, by, moved, at = state.distance, state.by, state.moved, state.at
    heap, place, key = state.heap, state.place, state.key
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
            for i in range(start[node], start[node] + net.n_free[node]):
                residual = free[i]
                there = head[residual >> 1] if residual & 1 else tail[residual >> 1]
                if here + net.step_price < distance[there] and residual >> 1 != p:
                    new = here + _cost(slack, moved, residual, net.step_price, level, rest)
                    if new < distance[there]:
                        distance[there], by[there] = new, residual
                        size = _put(heap, place, key, size, there, new)
        i = at[node]
        while i < start[node + 1]:
            new = here + arc_price[i]
            if new >= distance[sink]:
                break
            there, residual = to[i], residual_arcs[i]
            if new < distance[there] and not is_free[residual >> 1] and residual >> 1 != p:
                if size and new > key[heap[0]]:
                    at[node] = i
                    size = _put(heap, place, key, size, node, new)
                    break
                new = here + _cost(slack, moved, residual, arc_price[i] + net.step_price, level, rest)
                if new < distance[there]:
                    distance[there], by[there] = new, residual
                    size = _put(heap, place, key, size, there, new)
            i += 1
    return False


@compiled
def _cost(slack: FloatArray, moved: FloatArray, residual: int, price: float, level: float, rest: float) -> float:
    """The price of a residual arc per unit of flow: divided by the part of the remaining flow that it can carry."""
    capacity = _capacity(slack, moved, residual, level)
    share = min(max(capacity / rest, MIN_PRICED_CAPACITY), 1.0)
    return price / share if capacity > CAPACITY_IGNORED else np.inf


@compiled
def _capacity(slack: FloatArray, moved: FloatArray, residual: int, level: float) -> float:
    """The capacity that a residual arc has left, in levels."""
    arc, side = residual >> 1, residual & 1
    return float(slack[side, arc] / level - (moved[arc] if side == 1 else -moved[arc]))


@compiled
def _push(
    net: PricedResidualNetwork, state: SearchState, slack: FloatArray, source: int, sink: int, level: float, rest: float
) -> float:
    """Push as much flow as possible along the path to the sink; the amount."""
    amount = rest
    node = sink
    while node != source:
        residual = state.by[node]
        amount = min(amount, _capacity(slack, state.moved, residual, level))
        node = net.tail[residual >> 1] if residual & 1 else net.head[residual >> 1]
    node = sink
    while node != source:
        residual = state.by[node]
        arc = residual >> 1
        if not state.is_touched[arc]:
            state.is_touched[arc] = True
            state.touched[state.touches[0]] = arc
            state.touches[0] += 1
        if _release(net, arc):
            state.paid[state.touches[1]] = arc
            state.touches[1] += 1
        state.moved[arc] += amount if residual & 1 else -amount
        node = net.tail[arc] if residual & 1 else net.head[arc]
    return amount


@compiled
def _put(heap: SmallIntArray, place: SmallIntArray, key: FloatArray, size: int, node: int, new: float) -> int:
    """Insert a node into the heap, or decrease its key; the size of the heap."""
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
    """Remove the first node from the heap; the size of the heap."""
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
