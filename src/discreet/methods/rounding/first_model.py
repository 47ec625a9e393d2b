"""Controlled rounding as one mixed-integer program: slow, but simple enough to check other methods against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.errors import NoSafePatternError
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, RoundingGrid, check
from discreet.methods.rounding.publication import protection
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import Model, Outcome, new_model, solver_name

Row = tuple[sparse.csr_array, FloatArray, FloatArray]


@dataclass(frozen=True)
class RoundingFirstModel:
    """Salazar-González (2002), figure 9: an oracle for small problems and for teaching; hopeless beyond about 8 × 8.

    An integer says for each cell by how many bases it is published above the multiple below it, and a column how far that is
    from the truth. For each attacker and each protected cell there are two tables that the attacker must hold possible: one in
    which the cell is as high as its upper level, and one in which it is as low as its lower level.
    """

    base: float | Base = option(5.0, "as in `round`")
    zero_restricted: bool = option(True, "as in `round`")
    steps: int = option(1, "as in `round`")
    name = "round-first-model"
    traits = Traits(kind="rounding", proves_bound=True)

    def __post_init__(self) -> None:
        check(self.base, self.steps)

    def protect(self, problem: Problem, run: Run) -> Protection:
        grid = RoundingGrid.of(problem, self.base, self.steps, self.zero_restricted)
        run.progress.stage("round", 1)
        model = _model(grid, run.seed)
        solution = model.solve(run.budget.left, gap=run.budget.gap)
        n = len(problem)
        if solution.outcome is Outcome.INFEASIBLE:
            raise NoSafePatternError("No additive rounding of this kind protects all sensitive cells.")
        if solution.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED) or len(solution.primal) < n:
            raise NoSafePatternError("No rounding was found before time, or the solver, gave out. Allow more time.")
        published = problem.status == Status.PUBLISHED
        steps = np.where(published, grid.multiples.part, np.rint(solution.primal[:n]))
        run.progress.update(1)
        cost = grid.deviation(steps)
        bound = min(solution.bound, cost)
        proven = "optimal" if cost - bound <= 1e-6 * max(cost, 1.0) else "within_gap"
        return protection(
            grid,
            steps,
            method=self.name,
            status=run.budget.ending if solution.outcome is Outcome.STOPPED else proven,
            bound=cost if proven == "optimal" else bound,
            seconds=run.budget.spent,
            solver=solver_name(),
            seed=run.seed,
        )


def _model(grid: RoundingGrid, seed: int) -> Model:
    """First the steps, then the deviations, then two tables for each requirement, as differences from the truth."""
    problem, n = grid.problem, len(grid.problem)
    base, part, told = grid.multiples.base, grid.multiples.part, grid.told
    scaled, eye = sparse.diags_array(base, format="csr"), sparse.eye_array(n, format="csr")
    relations = sparse.csr_array(problem.table.relations @ scaled)
    must = relations @ part
    endless = np.full(n, np.inf)
    # relations hold for what is published; a deviation is at least as large as the difference, whichever way that goes
    rows: list[list[sparse.csr_array | None]] = [[relations, None], [scaled, eye], [-scaled, eye]]
    least, most = [must, base * part, -base * part], [must, endless, endless]
    lower, upper = [grid.least, np.zeros(n)], [grid.most, np.where(told, np.inf, 0.0)]
    for who in problem.attackers():
        for cell in np.flatnonzero(grid.due(who)).tolist():
            _require(grid, who, cell, rows, (least, most), (lower, upper))
    rows[1][1] = rows[2][1] = sparse.diags_array(told.astype(float), format="csr")
    for row in (1, 2):  # of cells that are not told the difference does not count
        rows[row][0] = sparse.csr_array(sparse.diags_array(told.astype(float)) @ rows[row][0])
        least[row] = np.where(told, least[row], 0.0)
    total = len(lower) * n
    model = new_model(seed=seed)
    model.load(
        np.where((np.arange(total) >= n) & (np.arange(total) < 2 * n), 1.0, 0.0),
        np.concatenate(lower),
        np.concatenate(upper),
        sparse.csr_array(sparse.vstack([_wide(blocks, n, len(lower)) for blocks in rows])),
        np.concatenate(least),
        np.concatenate(most),
        (np.arange(total) < n) & np.tile(problem.status != Status.PUBLISHED, len(lower)),
    )
    return model


def _require(
    grid: RoundingGrid,
    who: Attacker,
    cell: int,
    rows: list[list[sparse.csr_array | None]],
    sides: tuple[list[FloatArray], list[FloatArray]],
    bounds: tuple[list[FloatArray], list[FloatArray]],
) -> None:
    """Two tables that an attacker cannot rule out, in which the cell is as high and as low as its levels ask."""
    problem, n, blocks = grid.problem, len(grid.problem), len(bounds[0])
    value, near = problem.table.value, problem.status != Status.SUPPRESSED
    base, part = grid.multiples.base[near], grid.multiples.part[near]
    eye = sparse.eye_array(n, format="csr")[near]
    steps = sparse.csr_array(sparse.diags_array(-base) @ eye)
    (least, most), zero = sides, np.zeros(problem.table.relations.shape[0])
    for k in (0, 1):
        empty: list[sparse.csr_array | None] = [None] * (blocks + k)
        rows.append([*empty, problem.table.relations])
        rows.append([steps, *empty[1:], eye])
        for end, side in zip(sides, (-1.0, 1.0), strict=True):
            end += [zero, side * grid.radius[near] - base * part]
        bounds[0].append(np.minimum(who.lower - value, 0.0))
        bounds[1].append(np.maximum(who.upper - value, 0.0))
    lower, upper, sliding = problem.levels(who)[:, cell] * (1 - LEVEL_TOLERANCE)
    one = sparse.csr_array(([1.0], ([0], [cell])), shape=(1, n))
    gap: list[sparse.csr_array | None] = [None] * blocks
    rows += [[*gap, one], [*gap, None, -one], [*gap, one, -one]]
    least += [np.array([level]) for level in (upper, lower, sliding)]
    most += [np.array([np.inf])] * 3


def _wide(blocks: list[sparse.csr_array | None], n: int, many: int) -> sparse.csr_array:
    """Rows from the blocks of their columns; those that are left out are empty."""
    size = next(block.shape[0] for block in blocks if block is not None)
    full = [sparse.csr_array((size, n)) if block is None else block for block in blocks]
    return sparse.csr_array(sparse.hstack([*full, *[sparse.csr_array((size, n))] * (many - len(full))]))
