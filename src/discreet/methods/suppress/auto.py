"""A ladder of methods, each beginning with the best pattern of those before."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.inference.max_flow import network
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.improve import Neighbourhoods
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import table_by_table
from discreet.methods.suppress.optimal.search import MAX_CELLS_FOR_PATTERNS, PatternSearch
from discreet.problem import Problem
from discreet.protection import Protection

SLICE = 20.0  # seconds for an integer program
NO_TIME = "kelly: there was no time for more"


@dataclass(frozen=True)
class Auto:
    """First ``kelly``; then, as far as size and time allow, ``modular``, ``guided``, ``improve`` and ``optimal``.

    A pattern is only replaced by a cheaper one that is safe: time makes it better, never worse. Only ``modular`` shares out
    what is left of the time, so two runs with different limits may find different ones. Without a time limit ``optimal`` is
    left out, which may never end.
    """

    name = "auto"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        found = Kelly().protect(problem, run)
        if len(problem) > MAX_CELLS_FOR_PATTERNS and network(problem.table.relations) is None:
            note = f"kelly: {len(problem):,} cells are too many for the other methods"
        elif run.budget.over:
            note = NO_TIME
        else:
            found, note = _climb(problem, run, found)
        return replace(found, report=replace(found.report, method=self.name, note=note))


def _climb(problem: Problem, run: Run, found: Protection) -> tuple[Protection, str]:
    """Rung by rung, until the pattern is proven to be the cheapest, or time is up."""
    search = None
    with run.budget.interruptible():
        search = PatternSearch(problem, run)
        search.settle()
        if run.start is not None:
            search.accept(search.forced | (run.start & search.free))
        search.accept(found.suppressed)
    if search is None or search.suppressed is None:
        return replace(found, report=replace(found.report, status=run.budget.ending)), NO_TIME
    used = ["kelly"]

    def rung(name: str) -> bool:
        if not search.done():
            used.append(name)
        return used[-1] == name

    with run.budget.interruptible():
        if search.has_tables and rung("modular"):
            search.grow(table_by_table(problem, run.unkept(), 1.0).astype(float))
        if rung("guided"):
            search.follow()
        if rung("improve"):
            Neighbourhoods(search).descend()
        if run.budget.seconds is not None and rung("optimal"):
            search.rounds(SLICE)
    why = "is proven to be the cheapest" if search.proven else "is the cheapest found"
    return search.protection("auto"), f"{', '.join(used)}: the pattern {why}"
