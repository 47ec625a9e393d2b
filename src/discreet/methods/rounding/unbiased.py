"""Unbiased controlled rounding of a network, by random steps along cycles (Cox 1987)."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import FloatArray
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.inference.max_flow import network
from discreet.methods.context import Run
from discreet.methods.rounding.grid import RoundingGrid
from discreet.problem import Status


def unbiased(grid: RoundingGrid, run: Run) -> FloatArray:
    """Steps up of every cell, 0 or 1 unless it is a multiple; their expected value is the fractional part in bases.

    As long as cells lie between two multiples, there is a cycle of such cells in the network. All its cells change along the
    cycle, in one direction or the other, until one of them is a multiple. The direction is random with expected change zero.
    """
    from discreet.methods.rounding.unbiased_kernel import walk  # takes a while to load

    problem, part, scale = grid.problem, grid.multiples.part, grid.multiples.scale
    net = network(problem.table.relations)
    if net is None or (len(part) and np.ptp(grid.multiples.base) > 0):
        raise RuleError(
            "Unbiased rounding is for tables that are networks, such as two-way tables with at most one hierarchy, and for one "
            "base. Leave out unbiased, or use random-round, which is not additive."
        )
    if scale is None:
        raise RuleError(
            "Unbiased rounding needs values and a base with fewer decimals: it computes in units of the last one."
        )
    suppressed = problem.status == Status.SUPPRESSED
    fixed = np.flatnonzero((part > 0) & ((problem.status == Status.PUBLISHED) | net.pinned))
    if len(fixed):
        labels = problem.table.labels(fixed)
        raise NoSafePatternError(
            f"There is no unbiased rounding: these cells must not change but are not multiples of the base: {some(labels)}.",
            labels,
        )
    # Suppressed cells may take any value, so the nodes at their ends are joined.
    ends = (np.ones(int(suppressed.sum())), (net.tail[suppressed], net.head[suppressed]))
    _, node = csgraph.connected_components(sparse.csr_array(ends, shape=(net.nodes, net.nodes)), directed=False)
    moving = np.flatnonzero((part > 0) & ~suppressed)
    run.progress.stage("round", 1)
    full = round(float(grid.multiples.base[0]) * scale) if len(part) else 1
    amount = np.rint(part[moving] * full).astype(np.int64)
    chance = run.random("round", problem).random(len(moving))
    tail, head = (node[end[moving]].astype(np.int64) for end in (net.tail, net.head))
    walk(tail, head, int(node.max(initial=-1)) + 1, amount, full, chance)
    steps = np.zeros(len(part))
    steps[moving] = amount / full
    run.progress.update(1)
    return steps
