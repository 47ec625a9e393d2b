"""Suppression patterns without exactly computable cells, also if readers know that cells are integers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import NoSafePatternError, some
from discreet.methods.check import Audit, computable_cells, verdicts
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.progress import CTRL_C_SKIPS
from discreet.protection import Protection, SolveReport, publish_intervals, suppress

MAX_ROUNDS_OF_RAISED_LEVELS = 8  # then all neighbours of exposed cells are suppressed, so that the search ends
OWN_ENTRIES = ("cost", "n_primary", "n_secondary", "n_adjusted", "problem")  # of a report: they depend on the pattern


@dataclass(frozen=True)
class NeverComputable:
    """A suppression method, extended by what the audit requires in addition to the protection levels.

    The method solves the problem over real numbers. Exactly computable secondaries of its pattern are published, which gives
    no reader new information. In a table of counts readers know that cells are integers: the levels of cells that are exposed
    for that reason are raised by one until integer tables show all of them safe. The bound of the first pattern stays valid,
    because every pattern that is safe over the integers is safe over the real numbers.
    """

    method: Method
    name = "never computable"

    def protect(self, problem: Problem, run: Run) -> Protection:
        posed = problem.posed(suppresses=True, lists_zeros=True)
        if (
            problem.is_integer and run.hint
        ):  # the pattern is not known to be safe over the integers before it is audited
            run = replace(run, hint=CTRL_C_SKIPS)
        found = restated(problem, self.method.protect(posed, run))
        if not problem.is_integer:
            return _published(problem, found, computable_cells(problem, found, run.executor))
        first = found.report
        for raised in range(MAX_ROUNDS_OF_RAISED_LEVELS + 1):
            audited = verdicts(problem, found, executor=run.executor, progress=run.progress)
            found = _published(problem, found, audited.computable)
            if audited.safe.all():
                return found if not raised else _reported(found, first.bound)
            if run.budget.over or raised == MAX_ROUNDS_OF_RAISED_LEVELS:
                break
            posed = _raised(posed, audited)
            try:
                found = restated(problem, self.method.protect(posed, run.with_start(found.suppressed)))
            except NoSafePatternError:
                break
        return _reported(_with_neighbours(problem, found, audited), first.bound)


def restated(problem: Problem, found: Protection) -> Protection:
    """The protection found for the problem as posed to a method, restated for the original problem."""
    made = publish_intervals(problem, found.published, found.lower, found.upper, cost=found.report.cost)
    return _with_report(made, found.report)


def _published(problem: Problem, found: Protection, cells: IntArray) -> Protection:
    """The pattern without these secondary cells, whose values follow from published ones."""
    if not len(cells):
        return found
    suppressed = found.suppressed
    suppressed[cells] = False
    return _with_report(suppress(problem, suppressed), found.report)


def _with_report(made: Protection, report: SolveReport) -> Protection:
    """A protection with the report of another one, except for what depends on the pattern."""
    own = {name: getattr(made.report, name) for name in OWN_ENTRIES}
    bound = None if report.bound is None else min(report.bound, made.report.cost)
    return replace(made, report=replace(report, bound=bound, **own))


def _reported(found: Protection, bound: float | None) -> Protection:
    """The report with the bound of the first pattern, and ``optimal`` only if the cost reaches that bound."""
    report = found.report
    optimal = bound is not None and report.cost <= bound * (1 + 1e-9)
    status = "heuristic" if report.status in ("optimal", "within_gap") and not optimal else report.status
    return replace(found, report=replace(report, bound=bound, status=status))


def _raised(posed: Problem, audited: Audit) -> Problem:
    """The problem with the levels of exposed cells raised by one, up to the slack of the prior bounds."""
    more = np.zeros(len(posed))
    more[audited.cell[~audited.safe]] = 1.0
    value = posed.table.value
    lower = np.minimum(posed.lower + more * (posed.lower > 0), value - posed.prior_lower)
    upper = np.minimum(posed.upper + more * (posed.upper > 0), posed.prior_upper - value)
    sliding = np.maximum(posed.sliding, posed.lower + posed.upper) + more
    sliding = np.where(more > 0, np.minimum(sliding, posed.prior_upper - posed.prior_lower), posed.sliding)
    return posed.with_columns(lower=lower, upper=upper, sliding=sliding)


def _with_neighbours(problem: Problem, found: Protection, audited: Audit) -> Protection:
    """The pattern with all neighbours of exposed cells, then with their neighbours, until the audit passes."""
    suppressed, relations = found.suppressed, problem.table.relations
    free = problem.status == Status.FREE
    while not audited.safe.all():
        exposed = np.zeros(len(problem))
        exposed[audited.cell[~audited.safe]] = 1.0
        more = (abs(relations).T @ (abs(relations) @ exposed) > 0) & free & ~suppressed
        if not more.any():
            more = free & ~suppressed
        if not more.any():
            labels = audited.exposed
            raise NoSafePatternError(
                f"No pattern was found that protects {some(labels)} from readers who know that cells are integers. "
                "Let more cells be suppressed, or choose coarser categories.",
                labels,
            )
        suppressed |= more
        found = _with_report(suppress(problem, suppressed), found.report)
        audited = verdicts(problem, found)
    return _published(problem, found, audited.computable)
