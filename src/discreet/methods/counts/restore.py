"""The nearest additive table of whole numbers to one whose totals do not add up any more."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.errors import NoSafePatternError, TableError
from discreet.methods.context import Run
from discreet.problem import Problem, Status
from discreet.solvers import Outcome, Solution, new_model

NEAR = 0.01  # share of the differences by which another table might be nearer: the last bit of proof takes longest


def restored(problem: Problem, count: IntArray, noisy: IntArray, most: int, run: Run) -> tuple[IntArray, str, str]:
    """Counts that add up, none more than ``most`` from the truth, with nearly the least sum of differences from noisy ones.

    Zeros stay zero, and cells that must be published as they are stay so.
    """
    run.progress.stage("restore", 1)
    table = problem.table
    move = np.flatnonzero((count > 0) & (problem.status != Status.PUBLISHED))
    low, high = np.maximum(count - most, 0), count + most
    relations = sparse.csr_array(table.relations[:, move])
    gap = table.rhs - table.relations @ noisy
    # Each count goes up or down from the noisy one; a solution of least cost never does both.
    whole = np.tile(table.is_base[move], 2)  # totals of whole numbers are whole
    model = new_model(seed=run.seed)
    model.load(
        np.ones(2 * len(move)),
        np.zeros(2 * len(move)),
        np.concatenate([high - noisy, noisy - low], dtype=float)[np.r_[move, move + len(count)]],
        sparse.csr_array(sparse.hstack([relations, -relations], format="csr")),
        gap,
        gap,
        whole,
    )
    budget = run.budget
    solution = model.solve(budget.left, gap=max(budget.gap, NEAR))
    found = noisy.copy()
    if solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED) and len(solution.primal) == 2 * len(move):
        up, down = np.rint(solution.primal).astype(np.int64).reshape(2, -1)
        found[move] += up - down
    # Whatever the solver's tolerances: what is published adds up exactly, or is not published.
    adds_up = not np.any(table.relations @ found - table.rhs)
    if not adds_up or np.any(found < low) or np.any(found > high):
        _give_up(solution)
    run.progress.update(1)
    stopped = solution.outcome is Outcome.STOPPED
    return found, budget.ending if stopped else "heuristic", model.name


def _give_up(solution: Solution) -> NoReturn:
    if solution.outcome is Outcome.INFEASIBLE:
        raise TableError("The true counts do not add up themselves: correct the table, or leave restore= out.")
    why = "Time ran out" if solution.outcome is Outcome.STOPPED else "The solver gave up"
    raise NoSafePatternError(f"{why} before there was an additive table. Allow more time, or leave restore= out.")
