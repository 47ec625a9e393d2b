"""Each table of a hierarchy by itself, exactly; then what they lack together."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arrays import BoolArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.methods.suppress.pattern import together
from discreet.methods.suppress.top_down import HALF, Answer, Parts, Subproblem, needs
from discreet.problem import Problem
from discreet.progress import Budget
from discreet.protection import Protection

PROGRAMS = (
    8  # integer programs for one table: counted, not timed, so that small tables come out the same on any machine
)


@dataclass(frozen=True)
class Modular:
    """HiTaS (de Wolf 2002): a hierarchy from the top down, table by table; then a look at all of it, which HiTaS lacks."""

    name = "modular"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        return together(problem, self.name, run.beginning(table_by_table(problem, run, HALF)))


def table_by_table(problem: Problem, run: Run, share: float) -> BoolArray:
    """What single tables suppress, in a share of the time: cheap, and not quite safe perhaps."""
    parts = Parts(problem, run)
    parts.protect(exactly, run.budget.share(share))
    return parts.suppressed


def exactly(part: Subproblem) -> Answer | None:
    """The cheapest pattern of one table, or one found with a little effort; None if there is none."""
    search = PatternSearch(part.problem, Run(part.seed, Budget(part.seconds)), programs=PROGRAMS)
    try:
        search.run()
    except NoSafePatternError:
        return None
    if search.suppressed is None:
        return None
    return Answer(search.suppressed, needs(part, search.suppressed))
