"""Controlled rounding as one mixed-integer program: slow, but simple enough to check other methods against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.errors import NoSafePatternError
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.context import Run
from discreet.methods.core.compact_model import CompactModel, Limits
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP, Infeasible, status_of
from discreet.methods.core.requirements import requirements
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, RoundingGrid, check
from discreet.methods.rounding.publication import protection
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import solver_name


@dataclass(frozen=True)
class RoundingFirstModel:
    """Salazar-González (2002), figure 9: an oracle for small problems and for teaching; hopeless beyond about 8 × 8.

    An integer column for each cell says by how many bases the published value is above the multiple below the true value, and
    another column how far it is from the true value. For each attacker, each protected cell and each side there are deviations
    from the true table to one that the attacker must hold possible, in which the cell reaches its protection level.
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
        try:
            solution = _model(grid, run.seed).solve(run.budget)
        except Infeasible:
            raise NoSafePatternError(
                "No rounding of this kind is additive and protects all sensitive cells. Allow more steps, or another base."
            ) from None
        published = problem.status == Status.PUBLISHED
        steps = np.where(published, grid.multiples.part, np.rint(solution.primal[: len(problem)]))
        run.progress.update(1)
        cost = grid.deviation(steps)
        status = status_of(cost, solution.bound, run.budget, solution.optimal, INTEGER_PROGRAM_GAP)
        bound = cost if status == "optimal" else min(solution.bound, cost)
        return protection(grid, steps, **run.report(self.name, status, bound, solver_name()))


def _model(grid: RoundingGrid, seed: int) -> CompactModel:
    """The columns are steps, the distances to the true values, then deviations."""
    problem, n = grid.problem, len(grid.problem)
    base, part, relations = grid.multiples.base, grid.multiples.part, problem.table.relations
    scaled = sparse.csr_array(sparse.diags_array(base, format="csr"))
    model = CompactModel()
    published = problem.status == Status.PUBLISHED  # its steps are a fraction
    steps = model.columns(grid.least, grid.most, integral=~published)
    distance = model.columns(np.zeros(n), np.where(grid.rounded, np.inf, 0.0), 1.0)
    in_steps = sparse.csr_array(relations @ scaled)
    model.rows([(steps, in_steps)], in_steps @ part, in_steps @ part)
    rounded = np.flatnonzero(grid.rounded)
    each = sparse.eye_array(n, format="csr")[rounded]
    for sign in (1.0, -1.0):  # a distance is at least as large as the difference in either direction
        model.rows([(steps, sign * scaled[rounded]), (distance, each)], sign * (base * part)[rounded])
    limited = np.flatnonzero(problem.status != Status.SUPPRESSED)
    radius, offset, change = grid.radius[limited], (base * part)[limited], scaled[limited]
    limits = Limits(limited, (radius + offset, radius - offset), ([(steps, -change)], [(steps, change)]))
    for attacker in problem.attackers():
        protected = np.flatnonzero(grid.protected(attacker))
        levels = problem.levels(attacker)[:, protected] * (1 - LEVEL_TOLERANCE)
        model.require(requirements(levels, protected.tolist()), relations, problem.slack(attacker), limits)
    model.load(seed)
    return model
