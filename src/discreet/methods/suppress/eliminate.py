"""Publish again what is suppressed without need, most expensive first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray
from discreet.methods.context import Run
from discreet.methods.suppress.evidence import KnownDeviations, seek
from discreet.methods.suppress.mover import FARES, Mover
from discreet.methods.suppress.movers import AnyMover, movers
from discreet.methods.suppress.unpick import Unpicked
from discreet.problem import Problem, Status
from discreet.progress import Budget

VAST = 20_000  # suppressed cells, from which on other evidence is only sought
NEAR = (300, 2_000)  # that near


def eliminate(
    problem: Problem, suppressed: BoolArray, evidence: Sequence[KnownDeviations], run: Run
) -> tuple[BoolArray, str]:
    """Drop every redundant secondary; the pattern stays safe after each, so it can be stopped at any time.

    A secondary is redundant if every protected cell whose evidence, one an attacker, moves it finds other evidence without
    it. KnownDeviations is sought that moves as little as possible of what may still go, so most drops need no search at all. Once
    needed, always needed, as the pattern only shrinks: one pass is enough, unless it drops a cell that needed others.

    In vast patterns evidence is only sought near a cell, and what is not found to be redundant that way stays suppressed.
    """
    suppressed = suppressed.copy()
    price = np.where(problem.status == Status.FREE, problem.cost, 0.0)
    fares = FARES[-2:]  # which evidence is found does not matter, only whether
    try:
        found = movers(problem, suppressed, price, run.seed, fares)
        sides = [_Side(*both) for both in zip(evidence, found, strict=True)]
        if not all(side.shows_all(suppressed, run.budget) for side in sides):
            return suppressed, run.budget.ending if run.budget.over else "heuristic"
        if suppressed.sum() > VAST:
            for mover in found:
                if isinstance(mover, Mover):
                    mover.stay_near(*NEAR)
        again = True
        while again:
            again = False
            candidates = np.flatnonzero(suppressed & (problem.status == Status.FREE))
            candidates = candidates[np.lexsort((candidates, -problem.cost[candidates]))]
            left = int(suppressed.sum())
            run.progress.stage("clean up", len(candidates))
            for done, i in enumerate(candidates.tolist(), start=1):
                if run.budget.over:
                    return suppressed, run.budget.ending
                asked = [side for side in sides if side.publish(i, suppressed)]
                if not any(side.ruled_out(i, suppressed) for side in asked) and all(
                    s.has_other(i, suppressed) for s in asked
                ):
                    suppressed[i] = False
                    left -= 1
                    run.keep(suppressed)
                    again |= any(e.is_protected[i] for e in evidence)
                else:
                    for side in sides:
                        side.hide(i)
                run.progress.update(done, f"{left:,} suppressed")
    except KeyboardInterrupt:  # every drop made so far was proven safe
        run.budget.cancel()
        return suppressed, run.budget.ending
    return suppressed, "heuristic"


class _Side:
    """What is known to be safe from one attacker, and what finds out more."""

    def __init__(self, evidence: KnownDeviations, mover: AnyMover) -> None:
        self.evidence = evidence
        self.mover = mover
        self.looked = False  # at what single relations say without the cell in question

    @cached_property
    def unpicked(self) -> Unpicked | None:
        """A flow is found, or not, as quickly as single relations are looked at."""
        return Unpicked(self.mover, self.evidence) if isinstance(self.mover, Mover) else None

    def shows_all(self, suppressed: BoolArray, budget: Budget) -> bool:
        """Find evidence for every cell that lacks it; False if there is no time, or if only the audit can tell."""
        for p in np.flatnonzero(self.evidence.is_protected & suppressed).tolist():
            if not self.evidence.suffices(p) and (budget.over or seek(self.mover, self.evidence, p) is None):
                return False
        return True

    def publish(self, i: int, suppressed: BoolArray) -> bool:
        """Take a cell out of play; whether there is evidence that moves it."""
        self.mover.bar(i, True)
        self.looked = False
        _, p = self.evidence.relying_on(i)
        return bool(self.evidence.counts(p, suppressed, i).any())

    def ruled_out(self, i: int, suppressed: BoolArray) -> bool:
        """Whether single relations already forbid to publish a cell, which is much quicker to see than by a linear program."""
        self.looked = True
        return self.unpicked is not None and self.unpicked.rules_out(i, suppressed)

    def hide(self, i: int) -> None:
        """Put the cell back that was published last."""
        self.mover.bar(i, False)
        if self.looked and self.unpicked is not None:
            self.unpicked.undo()

    def has_other(self, i: int, suppressed: BoolArray) -> bool:
        """Whether all cells whose evidence moves cell ``i`` are safe without it."""
        evidence = self.evidence
        side, p = evidence.relying_on(i)
        counts = evidence.counts(p, suppressed, i)
        side, p = side[counts], p[counts]
        before = evidence.reach[side, p], evidence.shown_by[side, p]
        evidence.reach[side, p], evidence.shown_by[side, p] = 0.0, -1
        # The largest requirement is the likeliest to fail: ask it first.
        for cell in sorted(set(p.tolist()), key=lambda q: (-max(evidence.lower[q], evidence.upper[q]), q)):
            if evidence.suffices(cell) or seek(self.mover, evidence, cell) is not None:
                continue
            # New evidence holds with the cell suppressed too; only what is weaker than the old falls back on it.
            weaker = evidence.reach[side, p] < before[0]
            evidence.reach[side[weaker], p[weaker]] = before[0][weaker]
            evidence.shown_by[side[weaker], p[weaker]] = before[1][weaker]
            return False
        return True
