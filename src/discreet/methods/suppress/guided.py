"""The method ``guided``: patterns that follow the linear relaxation."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.problem import Problem
from discreet.protection import Protection


@dataclass(frozen=True)
class Guided:
    """Fischetti & Salazar-González (2000): the linear relaxation shows which cells are worth suppressing.

    The linear relaxation of ``optimal`` is solved, and primaries are protected as by ``kelly``, where a cell is the cheaper
    the larger the part of it that the relaxation suppresses. The result is the cheapest of a few such patterns, with the bound
    of the relaxation.
    """

    name = "guided"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run)
        with run.budget.interruptible():
            search.begin(run.start)
            search.follow()
        return search.protection(self.name)
