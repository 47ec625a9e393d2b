"""A quick look at large tables: two congruent tables that show all cells far enough at once, up and down."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit.known import due, known_floats, required
from discreet.problem import Problem
from discreet.progress import Budget
from discreet.protection import Protection
from discreet.relations import FloatArray
from discreet.solvers import HighsModel

SAFE = 1e-6  # share by which levels are raised and rooms are cut, far more than solvers are wrong by


def shown(problem: Problem, protection: Protection, budget: Budget) -> bool:
    """Whether there are such tables for every attacker. If not, cells may be protected all the same, one by one."""
    return all(_shown(problem, protection, who, budget) for who in problem.attackers())


def _shown(problem: Problem, protection: Protection, who: Attacker, budget: Budget) -> bool:
    cells = due(problem, protection, who)
    lower, upper, sliding = required(problem, protection, who)[:, cells]
    upper = np.maximum(upper, sliding - lower)
    told = protection.lower[problem.primaries] == protection.upper[problem.primaries]
    below, above = known_floats(problem, protection, who)
    if told.any() or np.any(upper > above[cells]) or np.any(lower > -below[cells]):
        return False
    # The cells themselves may go to the very end of their rooms, and where that is all they need they must.
    down, up = below * (1 - SAFE), above * (1 - SAFE)
    down[cells], up[cells] = below[cells], above[cells]
    up_goal, down_goal = down.copy(), up.copy()
    up_goal[cells] = np.minimum(upper * (1 + SAFE), above[cells])
    down_goal[cells] = -np.minimum(lower * (1 + SAFE), -below[cells])
    usual = float(np.median(above[above > 0])) if np.any(above > 0) else 1.0
    unit = usual if np.isfinite(usual) else 1.0
    return _possible(problem.table.relations, up_goal / unit, up / unit, budget) and _possible(
        problem.table.relations, down / unit, down_goal / unit, budget
    )


def _possible(relations: sparse.csr_array, low: FloatArray, high: FloatArray, budget: Budget) -> bool:
    """Whether moves between these bounds keep all relations."""
    model, zero = HighsModel(), np.zeros(relations.shape[0])
    model.load(np.zeros(len(low)), low, high, relations, zero, zero)
    left = None if budget.seconds is None else max(budget.seconds - budget.spent, 1.0)
    return model.solve(left).optimal
