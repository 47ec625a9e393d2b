"""Improvement of a rounding piece by piece: the cells around one are rounded again, all others keep their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.program import RoundingProgram
from discreet.progress import with_hint

MAX_PIECE_CELLS = 3_000  # cells that are rounded again together
MAX_PIECE_NODES = 30  # of branch and bound per piece
STEP_DIFFERENCE_IGNORED = 1e-3  # from the linear program: closer cells need no improvement
PIECE_GAP = 0.002  # relative gap at which the solver stops for a piece


def one_pass(grid: RoundingGrid, cuts: Sequence[Cut], steps: FloatArray, wish: FloatArray, run: Run) -> FloatArray:
    """Round again around every cell that differs from the linear program's solution ``wish``, the largest difference first."""
    movable = grid.least < grid.most
    waiting = movable & (np.abs(steps - wish) > STEP_DIFFERENCE_IGNORED)
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
        found = _solved(grid, cuts, steps, piece, run, start=steps)
        if found is not None and grid.deviation(found) < grid.deviation(steps):
            steps = found
        waiting &= ~piece
        run.progress.update(len(order) - int(waiting.sum()), with_hint("", run.hint))
    return steps


def renewed(grid: RoundingGrid, cuts: Sequence[Cut], steps: FloatArray, cell: int, run: Run) -> FloatArray | None:
    """A rounding that meets all bounds and cuts around a cell and changes no other cells; None if none is found."""
    movable = grid.least < grid.most
    movable[cell] = True
    piece = _around(grid.problem.table.relations, movable, cell, np.random.default_rng(run.seed))
    return _solved(grid, cuts, steps, piece, run)


def _solved(
    grid: RoundingGrid,
    cuts: Sequence[Cut],
    steps: FloatArray,
    piece: BoolArray,
    run: Run,
    start: FloatArray | None = None,
) -> FloatArray | None:
    """A rounding that differs from ``steps`` in a piece only; None if none is found."""
    program = RoundingProgram(grid, piece, steps)
    program.add(cuts)
    return program.solve(run.budget, run.seed, gap=PIECE_GAP, nodes=MAX_PIECE_NODES, start=start).steps


def _around(relations: sparse.csr_array, movable: BoolArray, cell: int, rng: np.random.Generator) -> BoolArray:
    """A cell, the movable cells in its relations, those in the relations of these, and so on, up to the size of a piece."""
    found = np.zeros(len(movable), dtype=bool)
    found[cell] = True
    weights = abs(relations)
    while True:
        rows = np.flatnonzero(weights @ found)
        neighbours = np.zeros(len(movable), dtype=bool)
        neighbours[weights[rows].indices] = True
        new = np.flatnonzero(neighbours & movable & ~found)
        n_left = MAX_PIECE_CELLS - int(found.sum())
        if not len(new) or n_left <= 0:
            return found
        found[new if len(new) <= n_left else rng.choice(new, n_left, replace=False)] = True
