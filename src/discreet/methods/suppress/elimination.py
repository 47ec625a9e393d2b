"""From a large pattern down: publish what is hidden without need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.audit import audit
from discreet.methods.context import Run
from discreet.methods.suppress.pattern import together
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class Elimination:
    """Serpell et al. (2013), by itself: hide all that may be hidden, then publish one cell after the other, dearest first.

    A cell is published again if everything else stays safe without it. After that no secondary is there without need.
    """

    name = "eliminate"

    def protect(self, problem: Problem, run: Run) -> Protection:
        start = _largest(problem) if run.start is None else run.start
        return together(problem, self.name, run.beginning(start))


def _largest(problem: Problem) -> BoolArray:
    """All cells that a safe pattern can hide: one that is not safe with all others hidden is not safe with fewer."""
    hidden = problem.status != Status.PUBLISHED
    while True:
        seen = audit(problem, suppress(problem, hidden), intervals=False)
        exposed = seen.cell[~seen.safe]
        exposed = exposed[problem.status[exposed] == Status.FREE]
        if not len(exposed):
            return np.asarray(hidden)
        hidden[exposed] = False
