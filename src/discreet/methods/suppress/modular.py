"""The method ``modular``: the cheapest pattern of each table of a hierarchy, then ``kelly`` for the complete one."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arrays import BoolArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.methods.suppress.pattern import completed
from discreet.methods.suppress.top_down import TABLES_TIME_SHARE, Answer, Subproblem, TopDown, needs
from discreet.problem import Problem
from discreet.progress import Budget
from discreet.protection import Protection

MAX_PROGRAMS_PER_TABLE = 8  # integer programs: counted, not timed, so that results do not depend on the machine


@dataclass(frozen=True)
class Modular:
    """HiTaS (de Wolf 2002): a hierarchy from the top down, table by table; then, beyond HiTaS, all tables together."""

    name = "modular"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        return completed(problem, self.name, run.with_start(table_by_table(problem, run, TABLES_TIME_SHARE)))


def table_by_table(problem: Problem, run: Run, share: float) -> BoolArray:
    """The cells suppressed by single tables, in a share of the time: a cheap pattern, which need not be safe."""
    tables = TopDown(problem, run)
    tables.protect(cheapest_pattern, run.budget.share(share))
    return tables.suppressed


def cheapest_pattern(part: Subproblem) -> Answer | None:
    """The cheapest pattern of one table, or the incumbent after a few programs; None if there is none."""
    search = PatternSearch(part.problem, Run(part.seed, Budget(part.seconds)), programs=MAX_PROGRAMS_PER_TABLE)
    try:
        search.run()
    except NoSafePatternError:
        return None
    if search.suppressed is None:
        return None
    return Answer(search.suppressed, needs(part, search.suppressed))
