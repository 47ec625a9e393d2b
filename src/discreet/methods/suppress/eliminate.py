"""Publish again what is hidden without need, most expensive first."""

from __future__ import annotations

import numpy as np

from discreet.audit.propagate import propagate
from discreet.audit.tolerances import REACH
from discreet.methods.suppress.evidence import Evidence, seek
from discreet.methods.suppress.mover import FARES, Mover
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Budget, Progress
from discreet.relations import FloatArray


def eliminate(
    problem: Problem, hidden: BoolArray, evidence: Evidence, *, seed: int, budget: Budget, progress: Progress
) -> tuple[BoolArray, str]:
    """Drop every redundant secondary; the pattern stays safe after each, so it can be stopped at any time.

    A secondary is redundant if every primary whose evidence moves it finds other evidence without it. Evidence is sought
    that moves as little as possible of what may still go, so most drops need no program at all. Once needed, always needed:
    the pattern only shrinks, so one pass is enough.
    """
    hidden = hidden.copy()
    mover = Mover(problem, hidden, seed, fares=FARES[-2:])  # which evidence is found does not matter, only whether
    may_go = hidden & (problem.status == Status.FREE)
    price = np.where(may_go, problem.cost, 0.0)[mover.cells]
    candidates = np.flatnonzero(may_go)
    candidates = candidates[np.lexsort((candidates, -problem.cost[candidates]))]
    try:
        progress.stage("clean up", len(candidates))
        for done, i in enumerate(candidates.tolist(), start=1):
            if budget.over:
                return hidden, "time_limit"
            mover.bar(i, True, problem)
            if _not_ruled_out(problem, mover) and _have_other_evidence(problem, mover, evidence, i, price):
                hidden[i] = False
            else:
                mover.bar(i, False, problem)
            progress.update(done, f"{int(hidden.sum()):,} hidden")
    except KeyboardInterrupt:  # every drop made so far was proven safe
        return hidden, "time_limit"
    return hidden, "heuristic"


def _not_ruled_out(problem: Problem, mover: Mover) -> bool:
    """False if single relations already show a primary unsafe: much quicker than a linear program."""
    low, high = propagate(mover.relations, -mover.down, mover.up, rounds=5)
    cells, short = mover.cells, 1 - 2 * REACH
    lacking = (
        (-low < problem.lower[cells] * short)
        | (high < problem.upper[cells] * short)
        | (high - low < problem.sliding[cells] * short)
    )
    return not np.any(lacking & (problem.status[cells] == Status.PRIMARY))


def _have_other_evidence(problem: Problem, mover: Mover, evidence: Evidence, i: int, price: FloatArray) -> bool:
    """Whether all primaries whose evidence moves cell ``i`` are safe without it."""
    side, p = evidence.relying_on(i)
    before = evidence.reach[side, p], evidence.shown_by[side, p]
    evidence.reach[side, p], evidence.shown_by[side, p] = 0.0, -1
    # The largest requirement is the likeliest to fail: ask it first.
    for primary in sorted(set(p.tolist()), key=lambda q: (-max(problem.lower[q], problem.upper[q]), q)):
        if evidence.suffices(primary) or seek(problem, mover, evidence, primary, price) is not None:
            continue
        # New evidence holds with the cell hidden too; only what is weaker than the old falls back on it.
        weaker = evidence.reach[side, p] < before[0]
        evidence.reach[side[weaker], p[weaker]] = before[0][weaker]
        evidence.shown_by[side[weaker], p[weaker]] = before[1][weaker]
        return False
    return True
