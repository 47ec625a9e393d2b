"""From a large pattern down: publish what is suppressed without need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray
from discreet.audit import audit
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import together
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class Elimination:
    """Serpell et al. (2013), by itself: suppress all that may be suppressed, then publish cells one by one, costliest first.

    A cell is published again if everything else stays safe without it. After that no secondary is there without need.
    """

    name = "eliminate"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        start = _largest(problem) if run.start is None else run.start
        return together(problem, self.name, run.beginning(start))


def _largest(problem: Problem) -> BoolArray:
    """All cells that a safe pattern can suppress: one that is not safe with all others suppressed is not safe with fewer."""
    suppressed = problem.status != Status.PUBLISHED
    while True:
        seen = audit(problem, suppress(problem, suppressed), intervals=False)
        exposed = seen.cell[~seen.safe]
        exposed = exposed[problem.status[exposed] == Status.FREE]
        if not len(exposed):
            return np.asarray(suppressed)
        suppressed[exposed] = False
