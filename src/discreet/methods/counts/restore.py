"""The nearest additive table of integers to a table of perturbed counts."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.errors import DiscreetError, NoSafePatternError, TableError
from discreet.methods.context import Run
from discreet.problem import Problem, Status
from discreet.solvers import Outcome, Solution, new_model

MIN_RESTORE_GAP = 0.01  # relative gap at which the solver stops: closing the rest takes longest


def restored(problem: Problem, count: IntArray, noisy: IntArray, deviation: int, run: Run) -> tuple[IntArray, str, str]:
    """Counts that add up, within ``deviation`` of the true ones, with nearly the least sum of differences from noisy counts.

    Zeros and cells that must be published with their values do not change. Also the status and the solver.
    """
    run.progress.stage("restore", 1)
    table = problem.table
    variable = np.flatnonzero((count > 0) & (problem.status != Status.PUBLISHED))
    low, high = np.maximum(count - deviation, 0), count + deviation
    relations = sparse.csr_array(table.relations[:, variable])
    gap = table.rhs - table.relations @ noisy
    # Columns for increases, then for decreases; no optimal solution uses both for a cell.
    is_integer = np.tile(table.is_base[variable], 2)  # totals of integers are integral
    model = new_model(seed=run.seed)
    model.load(
        np.ones(2 * len(variable)),
        np.zeros(2 * len(variable)),
        np.concatenate([high - noisy, noisy - low], dtype=float)[np.r_[variable, variable + len(count)]],
        sparse.csr_array(sparse.hstack([relations, -relations], format="csr")),
        gap,
        gap,
        is_integer,
    )
    budget = run.budget
    solution = model.solve(budget.left, gap=max(budget.gap, MIN_RESTORE_GAP))
    found = noisy.copy()
    if solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED) and len(solution.primal) == 2 * len(variable):
        up, down = np.rint(solution.primal).astype(np.int64).reshape(2, -1)
        found[variable] += up - down
    # The solver has tolerances, but published counts must add up exactly.
    adds_up = not np.any(table.relations @ found - table.rhs)
    if not adds_up or np.any(found < low) or np.any(found > high):
        raise _failure(solution)
    run.progress.update(1)
    stopped = solution.outcome is Outcome.STOPPED
    return found, budget.ending if stopped else "heuristic", model.name


def _failure(solution: Solution) -> DiscreetError:
    """Why there is no additive table."""
    if solution.outcome is Outcome.INFEASIBLE:
        return TableError("The true counts do not add up themselves: correct the table, or leave out restore=.")
    reason = "The time limit ended" if solution.outcome is Outcome.STOPPED else "The solver failed"
    return NoSafePatternError(f"{reason} before an additive table was found. Allow more time, or leave out restore=.")
