"""A safe pattern within seconds, before a suppression method looks for a cheaper one."""

from __future__ import annotations

from contextlib import suppress as ignored
from dataclasses import dataclass, replace

from discreet.errors import NoSafePatternError
from discreet.methods.context import FirstPattern, Run
from discreet.methods.method import Method, name_of
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem
from discreet.protection import Protection, suppress

MIN_CELLS = 500  # without a time limit: smaller tables are protected within a second by most methods


@dataclass(frozen=True)
class Anytime:
    """A suppression method that has a safe pattern from the first seconds on.

    Each sensitive cell gets the first box or the first deviation found. If the time limit ends the method before it has a pattern
    of its own, cells that are not protected yet are protected in this way.
    """

    method: Method
    name = "anytime"

    def protect(self, problem: Problem, run: Run) -> Protection:
        few_cells = len(problem) < MIN_CELLS and run.budget.seconds is None
        first = None if few_cells else first_pattern(problem, run)
        if first is None:
            return self.method.protect(problem, run)
        run.keep(first.suppressed)
        try:
            return self.method.protect(problem, replace(run, first=first))
        except NoSafePatternError:
            if not run.budget.over:
                raise
        return suppress(problem, first.suppressed, **run.report(name_of(self.method), run.budget.ending))


def first_pattern(problem: Problem, run: Run) -> FirstPattern | None:
    """A safe pattern that is found quickly, even if the time limit is over before; None if there is none."""
    pattern = Pattern(problem, run.seed, start=run.start, quick=True)
    with ignored(NoSafePatternError):  # the method says why there is none
        pattern.grow(replace(run, budget=run.budget.without_limit()))
        return FirstPattern(pattern.suppressed, pattern.deviations(pattern.suppressed))
    return None
