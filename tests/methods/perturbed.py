"""What every published table of other values must keep, and the cheapest one by trying all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.audit import audit
from discreet.data.table import digits_of
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, publish_intervals
from discreet.testing import cross_table, infer


def check(problem: Problem, found: Protection) -> None:
    """Additive to the last digit, within bounds, true, as the statuses say, and safe."""
    table, value = problem.table, problem.table.value
    digits = digits_of(value)
    suppressed = problem.status == Status.SUPPRESSED
    assert np.array_equal(np.isnan(found.published), suppressed)
    if digits is not None and not suppressed.any():
        units = found.published * 10.0**digits
        assert np.abs(units - np.rint(units)).max() < 1e-6 * max(1.0, np.abs(units).max() * 1e-6)
        assert not np.any(table.relations.astype(np.int64) @ np.rint(units).astype(np.int64))
    shown = ~suppressed
    assert np.all(found.lower[shown] <= value[shown])
    assert np.all(value[shown] <= found.upper[shown])
    assert np.all(found.published[shown] >= problem.prior_lower[shown] - 1e-9)
    assert np.all(found.published[shown] <= problem.prior_upper[shown] + 1e-9)
    as_it_is = problem.status == Status.PUBLISHED
    assert np.array_equal(found.published[as_it_is], value[as_it_is])
    assert np.all(found.decision[as_it_is] == Decision.PUBLISHED)
    assert audit(problem, found).passed
    assert found.report.bound is None or found.report.bound <= found.report.cost * (1 + 1e-9)


def tiny(rng: np.random.Generator) -> Problem:
    """Two by two small whole numbers, one or two of them sensitive."""
    table = cross_table(["a", "b"], ["x", "y"], rng.integers(2, 9, (2, 2)))
    n, inner = len(table), np.flatnonzero(table.is_base)
    status, levels = np.full(n, Status.FREE, dtype=np.int8), np.zeros((3, n))
    for cell in rng.choice(inner, rng.integers(1, 3), replace=False):
        status[cell] = Status.PRIMARY
        levels[:2, cell] = rng.integers(1, 3, 2)
        levels[2, cell] = rng.integers(0, 6)
    if rng.random() < 0.3:
        status[rng.choice(np.flatnonzero(status == Status.FREE))] = Status.PUBLISHED
    cost = rng.integers(1, 9, n).astype(float)
    return Problem(table, status, cost, *levels, np.zeros(n), np.full(n, np.inf))


def cheapest(
    problem: Problem, low: np.ndarray, high: np.ndarray, told: np.ndarray, allowed: Callable[[np.ndarray], bool]
) -> float | None:
    """The cost of the cheapest safe table with changes between these, if figures may be off by ``told``, if there is one."""
    table, value = problem.table, problem.table.value
    inner = np.flatnonzero(table.is_base)
    ranges = [np.arange(np.ceil(low[i]), np.floor(high[i]) + 1) for i in inner]
    moves = np.stack(np.meshgrid(*ranges, indexing="ij"), axis=-1).reshape(-1, len(inner))
    parts = (table.codes[:, :, None] == 0) | (table.codes[:, :, None] == table.codes[:, None, inner])
    change = moves @ parts.all(axis=0).T.astype(float)
    change = change[np.all((change >= low) & (change <= high), axis=1)]
    cost = np.abs(change) @ (problem.cost / np.maximum(np.abs(value), 1.0))
    for k in np.argsort(cost, kind="stable").tolist():
        if allowed(change[k]) and _safe(problem, value + change[k], told):
            return float(cost[k])
    return None


def _safe(problem: Problem, published: np.ndarray, told: np.ndarray) -> bool:
    protection = publish_intervals(problem, published, published - told, published + told, cost=0.0)
    for cell in problem.primaries.tolist():
        lower, upper = infer(protection, cell)
        value = problem.table.value[cell]
        reached = (value - lower, upper - value, upper - lower)
        if any(got < problem.levels(problem.attackers()[0])[k, cell] - 1e-6 for k, got in enumerate(reached)):
            return False
    return True
