"""The method ``kelly``: one linear program, or network flow, per sensitive cell, then a clean-up."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.bottom_up import protected_by_regions
from discreet.methods.suppress.pattern import completed
from discreet.problem import Problem
from discreet.protection import Protection


@dataclass(frozen=True)
class Kelly:
    """Kelly, Golden & Assad (1992), as restated by Serpell et al. (2013).

    For each primary, the one with the largest requirement first, find the cheapest deviation by its level, where cells that are
    suppressed already cost nothing, and suppress every cell that deviates. A deviation often shows other primaries to be safe as
    well; these need no deviation of their own. If relations form a network, as in tables of two dimensions with at most one
    hierarchy, deviations are flows along cheapest paths, otherwise solutions of linear programs.
    """

    name = "kelly"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        suppressed, deviations = protected_by_regions(problem, run)
        return completed(problem, self.name, run.with_start(suppressed), deviations)
