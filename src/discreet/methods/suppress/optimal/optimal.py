"""The method: search, and say how it ended."""

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

FIRST = 0.25  # of the time for a pattern to begin with
EXPLAIN = 60.0  # seconds to find out what would help where nothing does


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
        if search.suppressed is None and not run.budget.cancelled:
            raise self._without(problem, search)
        return search.protection(self.name)

    def _first(self, problem: Problem, run: Run, search: PatternSearch) -> BoolArray | None:
        """A pattern to begin with, not safe perhaps; a safe one that is there before it is the best so far."""
        if run.start is not None:
            search.accept(search.forced | (run.start & search.free))
            return run.start
        if not search.has_tables:
            return None
        found = Kelly().protect(problem, run)  # the quickest
        search.accept(found.suppressed)
        return table_by_table(problem, run.without_keep(), FIRST) if search.easy else None

    def _without(self, problem: Problem, search: PatternSearch) -> NoSafePatternError:
        """Why there is no pattern, where each cell by itself could be protected."""
        labels = problem.table.labels(problem.primaries)
        if np.isinf(search.lower) and self.at_most is not None:
            return NoSafePatternError(
                f"No safe pattern suppresses {self.at_most:,} cells or fewer ({int(search.forced.sum()):,} must be). "
                "Allow more.",
                labels,
            )
        if np.isinf(search.lower):
            return NoSafePatternError(
                "No pattern protects all cells at once. Let more cells be suppressed, widen the bounds attackers know, or "
                "lower protection levels, also of cells that need protection only if suppressed.",
                labels,
            )
        return NoSafePatternError("The time limit ended without a safe pattern. Allow more time.", labels)


def _explained(problem: Problem, error: NoSafePatternError, budget: Budget) -> NoSafePatternError:
    """The same error with the cheapest way out, if there is one: cells that must be published but would have to be suppressed."""
    frozen = problem.status == Status.PUBLISHED
    left = EXPLAIN if budget.left is None else min(EXPLAIN, budget.left)
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
