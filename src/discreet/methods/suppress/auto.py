"""Several methods in turn, each starting with the cheapest pattern of those before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.inference.max_flow import network
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import status_of
from discreet.methods.method import Traits
from discreet.methods.suppress.improve import Neighbourhoods
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import table_by_table
from discreet.methods.suppress.optimal.search import EQUAL_COST_SHARE, MAX_CELLS_FOR_PATTERNS, PatternSearch
from discreet.methods.suppress.optimal.table_bounds import TableBounds
from discreet.problem import Problem
from discreet.protection import Protection

SECONDS_PER_PROGRAM = 20.0  # time limit of each integer program of the last step
MAX_BOUND_SWEEPS = 2  # for the bound of tables that are too large for the other methods: further ones raise it little
NO_TIME = "kelly: no time left for other methods"


@dataclass(frozen=True)
class Auto:
    """First ``kelly``; then, as far as size and time allow, ``modular``, ``guided``, ``improve`` and ``optimal``.

    A pattern is only replaced by a cheaper safe pattern, so more time never makes the result worse. Only ``modular`` divides
    the time left among its steps, so runs with different time limits may find different patterns. Without a time limit
    ``optimal`` is left out, because it may never end. Tables that are too large for these methods get a bound from their single
    tables.
    """

    name = "auto"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        found = Kelly().protect(problem, run)
        if len(problem) > MAX_CELLS_FOR_PATTERNS and network(problem.table.relations) is None:
            found, note = _bounded(problem, run, found)
        elif run.budget.over:
            note = NO_TIME
        else:
            found, note = _improved(problem, run, found)
        return replace(found, report=replace(found.report, method=self.name, note=note))


def _bounded(problem: Problem, run: Run, found: Protection) -> tuple[Protection, str]:
    """The pattern with a bound from single tables."""
    with run.budget.interruptible():
        tables = TableBounds(problem, run)
        tables.climb(MAX_BOUND_SWEEPS)
    cost = found.report.cost
    bound = min(tables.bound * (1 - EQUAL_COST_SHARE), cost)
    status = status_of(cost, bound, run.budget, not run.budget.over, 2 * EQUAL_COST_SHARE)
    report = replace(found.report, bound=bound, status=status)
    return replace(found, report=report), f"kelly: {len(problem):,} cells are too many for the other methods"


def _improved(problem: Problem, run: Run, found: Protection) -> tuple[Protection, str]:
    """The pattern after the other methods, until it is proven to be the cheapest or the time is over, and a note on them."""
    search = None
    with run.budget.interruptible():
        search = PatternSearch(problem, run)
        search.drop_met_requirements()
        if run.start is not None:
            search.accept(search.forced | (run.start & search.free))
        search.accept(found.suppressed)
    if search is None or search.suppressed is None:
        return replace(found, report=replace(found.report, status=run.budget.ending)), NO_TIME
    used = ["kelly"]

    def begins(name: str) -> bool:
        if not search.done():
            used.append(name)
        return used[-1] == name

    with run.budget.interruptible():
        if search.has_tables and begins("modular"):
            search.grow(table_by_table(problem, run.without_keep(), 1.0).astype(float))
        if begins("guided"):
            search.find_guided_patterns()
        if begins("improve"):
            Neighbourhoods(search).descend()
        if run.budget.seconds is not None and begins("optimal"):
            search.rounds(SECONDS_PER_PROGRAM)
    quality = "is proven to be the cheapest" if search.proven else "is the cheapest found"
    return search.protection("auto"), f"{', '.join(used)}: the pattern {quality}"
