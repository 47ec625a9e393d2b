"""The method ``eliminate``: all free cells are suppressed, then a clean-up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.methods.check import exposed_cells
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import completed
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class Elimination:
    """Serpell et al. (2013), by itself: suppress all that may be suppressed, then publish cells one by one, costliest first.

    A cell is published if the pattern stays safe. At the end every secondary is needed.
    """

    name = "eliminate"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        start = largest_pattern(problem) if run.start is None else run.start
        return completed(problem, self.name, run.with_start(start))


def largest_pattern(problem: Problem) -> BoolArray:
    """All cells that a safe pattern can suppress: a cell that is exposed with all others suppressed is so with fewer."""
    suppressed = problem.status != Status.PUBLISHED
    while True:
        exposed = exposed_cells(problem, suppress(problem, suppressed))
        exposed = exposed[problem.status[exposed] == Status.FREE]
        if not len(exposed):
            return np.asarray(suppressed)
        suppressed[exposed] = False
