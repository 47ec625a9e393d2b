"""What anybody can do without an auditor: one ``scipy.optimize.linprog`` for each bound, on the whole table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from discreet.protection import Protection

MOST, LEAST, SECONDS = 40, 3, 60.0  # bounds to sample, and when to stop earlier


@dataclass(frozen=True)
class Bound:
    """One end of what a reader can infer about a cell; not a number where linprog gave up."""

    cell: int
    upper: bool
    value: float
    cpu_s: float


def sampled(protection: Protection, seed: int, most: int = MOST, seconds: float = SECONDS) -> list[Bound]:
    """Bounds of primaries drawn at random: ``most`` of them, or as many as ``seconds`` allow, but at least three."""
    primaries = protection.problem.primaries
    drawn = np.random.default_rng(seed).permutation(2 * len(primaries))[:most]
    found: list[Bound] = []
    for i in drawn.tolist():
        if len(found) >= LEAST and sum(bound.cpu_s for bound in found) > seconds:
            break
        found.append(_bound(protection, int(primaries[i // 2]), upper=i % 2 == 1))
    return found


def _bound(protection: Protection, cell: int, upper: bool) -> Bound:
    problem = protection.problem
    goal = np.zeros(len(problem))
    goal[cell] = -1.0 if upper else 1.0
    known = np.stack(
        [np.maximum(protection.lower, problem.prior_lower), np.minimum(protection.upper, problem.prior_upper)], axis=1
    )
    started = time.process_time()
    solved = linprog(goal, A_eq=problem.table.relations, b_eq=problem.table.rhs, bounds=known)
    spent = time.process_time() - started
    endless = np.inf if upper else -np.inf
    value = {0: float(solved.x[cell]) if solved.x is not None else np.nan, 3: endless}.get(solved.status, np.nan)
    return Bound(cell, upper, value, spent)
