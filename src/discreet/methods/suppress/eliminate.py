"""Publish again what is hidden without need, most expensive first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.attackers import Attacker
from discreet.audit.propagate import propagate
from discreet.audit.tolerances import REACH
from discreet.methods.suppress.evidence import Evidence, seek
from discreet.methods.suppress.mover import FARES, Mover
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Budget, Progress

Defences = Sequence[tuple[Attacker, Evidence]]


def eliminate(
    problem: Problem, hidden: BoolArray, defences: Defences, *, seed: int, budget: Budget, progress: Progress
) -> tuple[BoolArray, str]:
    """Drop every redundant secondary; the pattern stays safe after each, so it can be stopped at any time.

    A secondary is redundant if every protected cell whose evidence moves it finds other evidence without it. Evidence is
    sought that moves as little as possible of what may still go, so most drops need no program at all. Once needed, always
    needed: the pattern only shrinks, so one pass is enough.
    """
    hidden = hidden.copy()
    fares = FARES[-2:]  # which evidence is found does not matter, only whether
    sides = [_Side(problem, who, evidence, Mover(problem, who, hidden, seed, fares)) for who, evidence in defences]
    may_go = hidden & (problem.status == Status.FREE)
    candidates = np.flatnonzero(may_go)
    candidates = candidates[np.lexsort((candidates, -problem.cost[candidates]))]
    try:
        progress.stage("clean up", len(candidates))
        for done, i in enumerate(candidates.tolist(), start=1):
            if budget.over:
                return hidden, "time_limit"
            hidden[i] = False
            for side in sides:
                side.mover.bar(i, True)
            if not (all(side.not_ruled_out(hidden) for side in sides) and all(s.has_other(i, hidden) for s in sides)):
                hidden[i] = True
                for side in sides:
                    side.mover.bar(i, False)
            progress.update(done, f"{int(hidden.sum()):,} hidden")
    except KeyboardInterrupt:  # every drop made so far was proven safe
        hidden[i] = True
        return hidden, "time_limit"
    return hidden, "heuristic"


class _Side:
    """What is known to be safe from one attacker, and the program to find out more."""

    def __init__(self, problem: Problem, attacker: Attacker, evidence: Evidence, mover: Mover) -> None:
        self.problem = problem
        self.attacker = attacker
        self.evidence = evidence
        self.mover = mover
        free = (problem.status == Status.FREE)[mover.cells]
        self.price = np.where(free, problem.cost[mover.cells], 0.0)

    def not_ruled_out(self, hidden: BoolArray) -> bool:
        """False if single relations already show a cell unsafe: much quicker than a linear program."""
        mover, evidence, cells = self.mover, self.evidence, self.mover.cells
        low, high = propagate(mover.relations, -mover.down, mover.up, rounds=5)
        short = 1 - 2 * REACH
        lacking = (
            (-low < evidence.lower[cells] * short)
            | (high < evidence.upper[cells] * short)
            | (high - low < evidence.sliding[cells] * short)
        )
        return not np.any(lacking & self.problem.protected(self.attacker, hidden)[cells])

    def has_other(self, i: int, hidden: BoolArray) -> bool:
        """Whether all cells whose evidence moves cell ``i`` are safe without it."""
        evidence = self.evidence
        side, p = evidence.relying_on(i)
        counts = self.problem.protected(self.attacker, hidden)[p]
        side, p = side[counts], p[counts]
        before = evidence.reach[side, p], evidence.shown_by[side, p]
        evidence.reach[side, p], evidence.shown_by[side, p] = 0.0, -1
        # The largest requirement is the likeliest to fail: ask it first.
        for cell in sorted(set(p.tolist()), key=lambda q: (-max(evidence.lower[q], evidence.upper[q]), q)):
            if evidence.suffices(cell) or seek(self.mover, evidence, cell, self.price) is not None:
                continue
            # New evidence holds with the cell hidden too; only what is weaker than the old falls back on it.
            weaker = evidence.reach[side, p] < before[0]
            evidence.reach[side[weaker], p[weaker]] = before[0][weaker]
            evidence.shown_by[side[weaker], p[weaker]] = before[1][weaker]
            return False
        return True
