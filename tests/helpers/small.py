"""Problems so small that all patterns can be tried, with something of everything in them."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.data.table import Table
from discreet.problem import Problem, Status
from discreet.testing import random_problem

FREE = 14
PRIORS = ("sign", "percent", "nothing", "mixed")


def must_hide(problem: Problem) -> BoolArray:
    return np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))


def small_problem(rng: np.random.Generator, table: Table, seed: int, free: int = FREE) -> Problem:
    """The seed says what is special about a problem; everything else is left to chance."""
    problem = random_problem(
        rng,
        table,
        primaries=rng.choice([0.1, 0.2, 0.4]),
        prior=PRIORS[seed % 4],
        sliding=bool(rng.random() < 0.5),
        must_publish=0.0,
        already_suppressed=rng.choice([0.0, 0.1, 0.3]),
    )
    problem = _settle_some(rng, problem, int(rng.integers(min(9, free), free + 1)))
    if seed % 3 == 1:
        problem = need_protection_if_hidden(rng, problem)
    if seed % 5 in (2, 3):
        problem = problem.with_columns(others=insiders(rng, problem))
    return problem.with_columns(cost=_costs(rng, problem))


def _settle_some(rng: np.random.Generator, problem: Problem, many: int) -> Problem:
    """Publish or suppress free cells until not too many are left, totals rather published."""
    status, publish = problem.status.copy(), rng.uniform(0.1, 0.6)
    while (status == Status.FREE).sum() > many:
        cell = int(rng.choice(np.flatnonzero(status == Status.FREE)))
        total = not problem.table.is_base[cell]
        status[cell] = Status.PUBLISHED if rng.random() < publish + 0.3 * total else Status.SUPPRESSED
    return problem.with_columns(status=status)


def _levels(rng: np.random.Generator, problem: Problem, share: float, size: float) -> FloatArray:
    """Lower, upper and sliding levels for a share of the cells."""
    chosen = rng.random(len(problem)) < share
    down, up, wide = rng.uniform(0.0, size, (3, len(problem))) * problem.table.magnitude * chosen
    return np.stack([down, up * (rng.random(len(problem)) < 0.7), wide * 2 * (rng.random(len(problem)) < 0.3)])


def need_protection_if_hidden(rng: np.random.Generator, problem: Problem) -> Problem:
    """Levels of free cells, and of cells where they say nothing."""
    more = np.where(problem.status == Status.PRIMARY, 0.0, _levels(rng, problem, 0.5, 0.15))
    return problem.with_columns(
        lower=problem.lower + more[0], upper=problem.upper + more[1], sliding=problem.sliding + more[2]
    )


def insiders(rng: np.random.Generator, problem: Problem) -> tuple[Attacker, ...]:
    """One or two who know some cells more closely, a few exactly, and for whom other levels may hold."""
    value, size, n = problem.table.value, problem.table.magnitude, len(problem)
    found = []
    for k in range(int(rng.integers(1, 3))):
        closely = rng.random(n) < 0.4
        exactly = rng.random(n) < 0.05
        spread = np.where(exactly, 0.0, np.where(closely, size * rng.uniform(0.1, 1.0, n), np.inf))
        own = _levels(rng, problem, 0.3, 0.1) * (problem.status == Status.PRIMARY) if rng.random() < 0.5 else None
        if own is not None and rng.random() < 0.5:
            own = own + _levels(rng, problem, 0.2, 0.1)
        found.append(Attacker(f"insider {k}", value - spread, value + spread, own))
    return tuple(found)


def _costs(rng: np.random.Generator, problem: Problem) -> FloatArray:
    """All the same, few different ones, nothing for some, or all different."""
    n = len(problem)
    choices = [np.ones(n), rng.integers(0, 4, n), problem.cost * (rng.random(n) < 0.7), rng.uniform(1, 100, n)]
    return np.asarray(choices[int(rng.integers(len(choices)))], dtype=float)
