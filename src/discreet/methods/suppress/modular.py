"""Each table of a hierarchy by itself, exactly; then what they lack together."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import NoSafePatternError
from discreet.methods.suppress.optimal.search import Search
from discreet.methods.suppress.parts import HALF, Answer, Part, Parts, needs
from discreet.methods.suppress.pattern import together
from discreet.problem import Problem
from discreet.progress import Budget, Progress, Silent
from discreet.protection import Protection

PROGRAMS = (
    8  # integer programs for one table: counted, not timed, so that small tables come out the same on any machine
)


@dataclass(frozen=True)
class Modular:
    """HiTaS (de Wolf 2002): a hierarchy from the top down, table by table; then a look at all of it, which HiTaS lacks."""

    name = "modular"

    def protect(self, problem: Problem, *, seed: int, budget: Budget, progress: Progress) -> Protection:
        parts = Parts(problem, seed)
        parts.protect(exactly, budget.share(HALF), progress)
        return together(problem, parts.hidden, self.name, seed, budget, progress)


def exactly(part: Part) -> Answer | None:
    """The cheapest pattern of one table, or one found with a little effort; None if there is none."""
    search = Search(part.problem, seed=part.seed, budget=Budget(part.seconds), progress=Silent(), programs=PROGRAMS)
    try:
        search.run()
    except NoSafePatternError:
        return None
    if search.hidden is None:
        return None
    return Answer(search.hidden, needs(part, search.hidden))
