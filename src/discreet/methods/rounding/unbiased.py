"""Unbiased controlled rounding of a network, by random steps along cycles (Cox 1987)."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.compiled import compiled
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.inference.max_flow import joined, network, residual_edges_by_node
from discreet.methods.context import Run
from discreet.methods.rounding.grid import RoundingGrid
from discreet.problem import Status


def unbiased(grid: RoundingGrid, run: Run) -> FloatArray:
    """Steps up of every cell, 0 or 1 unless it is a multiple; their expected value is the fractional part in bases.

    As long as cells lie between two multiples, there is a cycle of such cells in the network. All its cells change along the
    cycle, in one direction or the other, until one of them is a multiple. The direction is random with expected change zero.
    """
    problem, part, scale = grid.problem, grid.multiples.part, grid.multiples.scale
    net = network(problem.table.relations)
    if net is None or (len(part) and np.ptp(grid.multiples.base) > 0):
        raise RuleError(
            "Unbiased rounding is for tables that are networks, such as two-way tables with at most one hierarchy, and for one "
            "base. Leave out unbiased, or use random-round, which is not additive."
        )
    if scale is None:
        raise RuleError("Unbiased rounding computes in units of the last decimal: give values and a base with fewer.")
    suppressed = problem.status == Status.SUPPRESSED
    fixed = np.flatnonzero((part > 0) & ((problem.status == Status.PUBLISHED) | net.pinned))
    if len(fixed):
        labels = problem.table.labels(fixed)
        raise NoSafePatternError(
            "There is no unbiased rounding: these cells must not change but are not multiples of the base: "
            f"{some(labels)}. Let them be rounded.",
            labels,
        )
    # Suppressed cells may take any value, so the nodes at their ends are joined.
    _, node = joined(net.tail[suppressed], net.head[suppressed], net.nodes)
    moving = np.flatnonzero((part > 0) & ~suppressed)
    run.progress.stage("round", 1)
    full = round(float(grid.multiples.base[0]) * scale) if len(part) else 1
    amount = np.rint(part[moving] * full).astype(np.int64)
    chance = run.random("round", problem).random(len(moving))
    tail, head = node[net.tail[moving]], node[net.head[moving]]
    edges, first = residual_edges_by_node(tail, head, int(node.max(initial=-1)) + 1)
    _walk(tail, head, first, edges % max(len(tail), 1), amount, full, chance)
    steps = np.zeros(len(part))
    steps[moving] = amount / full
    run.progress.update(1)
    return steps


@compiled
def _walk(
    tail: IntArray, head: IntArray, first: IntArray, arcs: IntArray, amount: IntArray, full: int, chance: FloatArray
) -> None:
    """Change the amounts of all arcs along cycles until each is 0 or ``full``; ``chance`` has one number per arc.

    ``arcs`` are those at each node, from its position in ``first`` on. At every node the amounts in and out differ by a multiple
    of ``full``, so that no path ends at a node with one open arc, an arc between 0 and ``full``.
    """
    nodes = len(first) - 1
    n_open = first[1:] - first[:-1]  # per node, the number of arcs that may be open
    place = np.full(nodes, -1, dtype=np.int64)  # per node, its position on the path
    path, by = np.zeros(nodes + 1, dtype=np.int64), np.zeros(nodes + 1, dtype=np.int64)
    n_cycles = 0
    for start in range(nodes):
        length = 0  # number of arcs on the path
        path[0], by[0], place[start] = start, -1, 0
        while True:
            u = path[length]
            arc = _next_arc(u, by[length], first, arcs, n_open, amount, full)
            if arc < 0:
                break
            v = head[arc] if tail[arc] == u else tail[arc]
            if place[v] < 0:
                length += 1
                path[length], by[length], place[v] = v, arc, length
                continue
            _round_along(v, arc, place[v], length, path, by, tail, amount, full, chance[n_cycles])
            n_cycles += 1
            while length > place[v]:
                place[path[length]] = -1
                length -= 1
        place[start] = -1


@compiled
def _next_arc(u: int, came: int, first: IntArray, arcs: IntArray, n_open: IntArray, amount: IntArray, full: int) -> int:
    """An open arc at a node other than the arc it was reached by; closed arcs are removed from its list."""
    k = 0
    while k < n_open[u]:
        arc = arcs[first[u] + k]
        if amount[arc] == 0 or amount[arc] == full:
            n_open[u] -= 1
            arcs[first[u] + k] = arcs[first[u] + n_open[u]]
        elif arc == came:
            k += 1
        else:
            return int(arc)
    return -1


@compiled
def _round_along(
    v: int,
    last: int,
    begin: int,
    length: int,
    path: IntArray,
    by: IntArray,
    tail: IntArray,
    amount: IntArray,
    full: int,
    chance: float,
) -> None:
    """Change the amounts along the cycle of the path from ``v`` and the last arc, as far as possible in a random direction."""
    up, down = full, full
    for k in range(begin + 1, length + 2):
        arc = last if k > length else by[k]
        forward = tail[arc] == path[k - 1]
        slack = full - amount[arc] if forward else amount[arc]
        up, down = min(up, slack), min(down, full - slack)
    change = up if chance * (up + down) < down else -down
    for k in range(begin + 1, length + 2):
        arc = last if k > length else by[k]
        amount[arc] += change if tail[arc] == path[k - 1] else -change
