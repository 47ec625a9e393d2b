"""Optimal suppression: the method, and the explanation if there is no safe pattern."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import table_by_table
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection
from discreet.solvers import DEFAULT_SOLVER, check_solver

FIRST_PATTERN_TIME_SHARE = 0.25  # of the time limit, for the starting pattern: a good one saves more time later
MAX_EXPLANATION_SECONDS = 60.0  # to find out which published cells would have to be suppressed


@dataclass(frozen=True)
class Optimal:
    """Fischetti & Salazar-González (2000), Salazar-González (2002): the cheapest safe pattern, with a bound."""

    at_most: int | None = option(None, "upper limit on the number of suppressed cells, sensitive ones included")
    fewest: bool = option(False, "of the cheapest patterns, one with the fewest suppressed cells")
    solver: str = option(DEFAULT_SOLVER, "solver of the integer programs: `highs` or `scip`")

    name = "optimal"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def __post_init__(self) -> None:
        if self.at_most is not None and self.at_most < 0:
            raise RuleError(f"At most {self.at_most} cells cannot be suppressed. Give a number of cells, 0 or more.")
        check_solver(self.solver)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run, at_most=self.at_most, fewest=self.fewest, solver=self.solver)
        try:
            with run.budget.interruptible():
                search.run(self._first(problem, run, search))
        except NoSafePatternError as error:
            raise _explained(problem, error, run.budget) from None
        if search.suppressed is None and np.isinf(search.best.bound) and not run.budget.cancelled:
            raise self._infeasible(problem, int(search.forced.sum()))
        return search.protection(self.name)

    def _first(self, problem: Problem, run: Run, search: PatternSearch) -> BoolArray | None:
        """A starting pattern, which need not be safe; safe ones that are found on the way become the incumbent."""
        if run.start is not None:
            search.accept(search.forced | (run.start & search.free))
            return run.start
        if not search.has_tables:
            return None
        search.accept(Kelly().protect(problem, run).suppressed)  # the quickest method
        return table_by_table(problem, run.without_keep(), FIRST_PATTERN_TIME_SHARE) if search.easy else None

    def _infeasible(self, problem: Problem, forced: int) -> NoSafePatternError:
        """The error that there is no pattern, although each cell by itself can be protected."""
        if self.at_most is not None:
            reason = f"No safe pattern suppresses {self.at_most:,} cells or fewer ({forced:,} must be). Allow more."
        else:
            reason = (
                "No pattern protects all cells at once. Let more cells be suppressed, widen the prior bounds of attackers, or "
                "lower protection levels, also of cells that need protection only if suppressed."
            )
        return NoSafePatternError(reason, problem.table.labels(problem.primaries))


def _explained(problem: Problem, error: NoSafePatternError, budget: Budget) -> NoSafePatternError:
    """The same error with the cheapest remedy, if there is one: published cells that would have to be suppressed."""
    frozen = problem.status == Status.PUBLISHED
    left = MAX_EXPLANATION_SECONDS if budget.left is None else min(MAX_EXPLANATION_SECONDS, budget.left)
    if not frozen.any() or left <= 0:
        return error
    eased = problem.with_columns(
        status=np.where(frozen, Status.FREE, problem.status).astype(np.int8),
        cost=np.where(frozen, np.maximum(problem.cost, 1e-9), 0.0),
        lower=np.where(frozen, 0.0, problem.lower),
        upper=np.where(frozen, 0.0, problem.upper),
        sliding=np.where(frozen, 0.0, problem.sliding),
    )
    search = PatternSearch(eased, Run(budget=Budget(left)))
    try:
        search.run()
    except NoSafePatternError:
        return NoSafePatternError(
            f"{error} Publishing none of the cells that must be published would not help.", error.offenders
        )
    if search.suppressed is None:
        return error
    labels = problem.table.labels(np.flatnonzero(search.suppressed & frozen))
    return NoSafePatternError(f"{error} The cheapest way out is to let {some(labels)} be suppressed.", error.offenders)
