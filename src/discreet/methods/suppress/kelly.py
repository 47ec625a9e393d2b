"""Protect primaries one at a time by a program or flow of low cost, then publish again what was not needed."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.bottom_up import apart
from discreet.methods.suppress.pattern import together
from discreet.problem import Problem
from discreet.protection import Protection


@dataclass(frozen=True)
class Kelly:
    """Kelly, Golden & Assad (1992), as restated by Serpell et al. (2013).

    For the primary with the largest requirement, find the cheapest way to move it by its level while all relations
    hold, where cells suppressed already move for free; suppress every cell that moves. The congruent tables found on the way
    often show other primaries safe, which then need no move of their own. Where relations form a network, as in tables of two
    dimensions with at most one hierarchy, moves are flows along cheapest paths; elsewhere linear programs.
    """

    name = "kelly"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        suppressed, moves = apart(problem, run)
        return together(problem, self.name, run.beginning(suppressed), moves)
