"""Suppression patterns in which no suppressed cell is exactly computable, in whole numbers either."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray
from discreet.audit import Audit, audit
from discreet.audit.audit import computable_cells
from discreet.errors import NoSafePatternError, some
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals, suppress

ROUNDS = 8  # of raised requirements, before all neighbours of a cell are suppressed


@dataclass(frozen=True)
class NeverComputable:
    """A suppression method, asked for what the audit requires beside the levels.

    The method solves the problem as it is posed by linear relations alone. Secondary cells of its pattern that are computable
    exactly are published again, which tells nobody anything new. In a table of counts readers know that cells are whole: cells
    that are exposed for that reason require one unit more, until whole tables show all of them safe. The bound of the first
    pattern stays valid, as every pattern that is safe in whole numbers is safe without them.
    """

    method: Method
    name = "never computable"

    def protect(self, problem: Problem, run: Run) -> Protection:
        posed = problem.posed(suppresses=True, lists_zeros=True)
        found = found_for(problem, self.method.protect(posed, run))
        if not problem.is_integer:
            return _published(problem, found, computable_cells(problem, found, run.executor))
        first = found.report
        for raised in range(ROUNDS + 1):
            checked = audit(problem, found, intervals=False, executor=run.executor, progress=run.progress)
            found = _published(problem, found, checked.computable)
            if checked.safe.all() or run.budget.cancelled:
                return found if not raised else _reported(found, first.bound)
            if run.budget.over or raised == ROUNDS:
                break
            posed = _raised(posed, checked)
            try:
                found = found_for(problem, self.method.protect(posed, run.beginning(found.suppressed)))
            except NoSafePatternError:
                break
        return _reported(_with_neighbours(problem, found, checked), first.bound)


def found_for(problem: Problem, found: Protection) -> Protection:
    """What a method found for the problem as posed, as an answer to the problem itself."""
    report = found.report
    made = publish_intervals(
        problem, found.published, found.lower, found.upper, cost=report.cost, method=report.method, status=report.status
    )
    counts = {name: getattr(made.report, name) for name in ("n_primary", "n_secondary", "n_adjusted")}
    return replace(made, report=replace(report, problem=problem.digest, **counts))


def _published(problem: Problem, found: Protection, cells: NDArray[np.int64]) -> Protection:
    """The pattern without secondary cells whose value follows from what is published anyway."""
    if not len(cells):
        return found
    suppressed = found.suppressed
    suppressed[cells] = False
    return _pattern(problem, suppressed, found)


def _pattern(problem: Problem, suppressed: BoolArray, found: Protection) -> Protection:
    """Another pattern with the report of one that was found."""
    made = suppress(problem, suppressed)
    counts = {
        name: getattr(made.report, name) for name in ("cost", "n_primary", "n_secondary", "n_adjusted", "problem")
    }
    bound = found.report.bound
    counts["bound"] = None if bound is None else min(bound, made.report.cost)
    return replace(made, report=replace(found.report, **counts))


def _reported(found: Protection, bound: float | None) -> Protection:
    """Nothing is known to be optimal but what the first pattern proved."""
    report = found.report
    optimal = bound is not None and report.cost <= bound * (1 + 1e-9)
    status = "heuristic" if report.status in ("optimal", "within_gap") and not optimal else report.status
    return replace(found, report=replace(report, bound=bound, status=status))


def _raised(posed: Problem, checked: Audit) -> Problem:
    """One unit more is required of the cells that are exposed in whole numbers, as far as anybody holds that possible."""
    more = np.zeros(len(posed))
    more[checked.cell[~checked.safe]] = 1.0
    value = posed.table.value
    lower = np.minimum(posed.lower + more * (posed.lower > 0), value - posed.prior_lower)
    upper = np.minimum(posed.upper + more * (posed.upper > 0), posed.prior_upper - value)
    sliding = np.maximum(posed.sliding, posed.lower + posed.upper) + more
    sliding = np.where(more > 0, np.minimum(sliding, posed.prior_upper - posed.prior_lower), posed.sliding)
    return posed.with_columns(lower=lower, upper=upper, sliding=sliding)


def _with_neighbours(problem: Problem, found: Protection, checked: Audit) -> Protection:
    """The pattern with all neighbours of exposed cells, and theirs, until the audit passes."""
    suppressed, relations = found.suppressed, problem.table.relations
    free = problem.status == Status.FREE
    while not checked.safe.all():
        near = np.zeros(len(problem))
        near[checked.cell[~checked.safe]] = 1.0
        more = (abs(relations).T @ (abs(relations) @ near) > 0) & free & ~suppressed
        if not more.any():
            more = free & ~suppressed
        if not more.any():
            labels = checked.exposed
            raise NoSafePatternError(
                f"No pattern was found that protects {some(labels)} from readers who know that cells are whole numbers. "
                "Let more cells be suppressed, or choose coarser categories.",
                labels,
            )
        suppressed |= more
        found = _pattern(problem, suppressed, found)
        checked = audit(problem, found, intervals=False)
    return _published(problem, found, checked.computable)
