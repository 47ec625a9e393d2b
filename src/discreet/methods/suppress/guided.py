"""Patterns that follow a linear program."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.problem import Problem
from discreet.protection import Protection


@dataclass(frozen=True)
class Guided:
    """Fischetti & Salazar-González (2000): a pattern with fractions tells which cells are worth suppressing.

    The linear program of ``optimal`` is solved, and primaries are protected as ``kelly`` does it, where a cell is the cheaper
    the more of it that program suppresses. Of a few such patterns the cheapest is taken; the program is a bound on its cost.
    """

    name = "guided"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run)
        with run.budget.interruptible():
            search.begin(run.start)
            search.follow()
        return search.protection(self.name)
