"""Protect primaries one at a time by a minimum-cost linear program, then publish again what was not needed."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem
from discreet.progress import Budget, Progress
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class Kelly:
    """Kelly, Golden & Assad (1992), as restated by Serpell et al. (2013).

    For the primary with the largest requirement, find the cheapest way to move it by its level while all relations
    hold, where cells hidden already move for free; hide every cell that moves. The congruent tables found on the way
    often show other primaries safe, which then need no program of their own.
    """

    name = "kelly"

    def protect(self, problem: Problem, *, seed: int, budget: Budget, progress: Progress) -> Protection:
        pattern = Pattern(problem, seed)
        pattern.grow(budget, progress)
        hidden, status = pattern.trim(budget, progress)
        return suppress(
            problem, hidden, method=self.name, status=status, seconds=budget.spent, solver=pattern.solver, seed=seed
        )
