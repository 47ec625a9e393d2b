"""A better rounding piece by piece: most cells stay, those around one that would rather be elsewhere are rounded anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.program import RoundingProgram

PIECE = 3_000  # cells that are rounded anew together
NODES = 30  # branches for each piece
NEAR = 1e-3  # a cell is where it wants to be if it is this near
GAP = 0.002  # of a piece that is good enough


def one_pass(grid: RoundingGrid, cuts: Sequence[Cut], steps: FloatArray, wish: FloatArray, run: Run) -> FloatArray:
    """Every cell that is not where the linear program wants it gets a chance, the farthest first."""
    movable = grid.least < grid.most
    waiting = movable & (np.abs(steps - wish) > NEAR)
    rng = np.random.default_rng(run.seed)
    order = np.flatnonzero(waiting)
    order = order[np.argsort(-np.abs(steps - wish)[order], kind="stable")]
    run.progress.stage("improve", len(order))
    for cell in order.tolist():
        if run.budget.over:
            break
        if not waiting[cell]:
            continue
        piece = _around(grid.problem.table.relations, movable, cell, rng)
        program = RoundingProgram(grid, piece, steps)
        program.add(cuts)
        found = program.solve(run.budget, run.seed, gap=GAP, nodes=NODES, start=steps)
        if found.steps is not None and grid.deviation(found.steps) < grid.deviation(steps):
            steps = found.steps
        waiting &= ~piece
        run.progress.update(len(order) - int(waiting.sum()), f"deviation {grid.deviation(steps):,.0f}")
    return steps


def renewed(grid: RoundingGrid, cuts: Sequence[Cut], steps: FloatArray, cell: int, run: Run) -> FloatArray | None:
    """A rounding that keeps all bounds and cuts around a cell, and elsewhere stays as it is; None if none is found."""
    movable = grid.least < grid.most
    movable[cell] = True
    piece = _around(grid.problem.table.relations, movable, cell, np.random.default_rng(run.seed))
    program = RoundingProgram(grid, piece, steps)
    program.add(cuts)
    return program.solve(run.budget, run.seed, gap=GAP, nodes=NODES).steps


def _around(relations: sparse.csr_array, movable: BoolArray, cell: int, rng: np.random.Generator) -> BoolArray:
    """Cells that share relations with a cell, those that share relations with these, and so on."""
    found = np.zeros(len(movable), dtype=bool)
    found[cell] = True
    size = abs(relations)
    while True:
        touched = np.flatnonzero(size @ found)
        near = np.zeros(len(movable), dtype=bool)
        near[size[touched].indices] = True
        new = np.flatnonzero(near & movable & ~found)
        slack = PIECE - int(found.sum())
        if not len(new) or slack <= 0:
            return found
        found[new if len(new) <= slack else rng.choice(new, slack, replace=False)] = True
