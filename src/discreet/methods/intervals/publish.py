"""From widths to published intervals, with ends rounded outwards to the digits of the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray
from discreet.data.table import digits_of
from discreet.methods.check import is_safe
from discreet.methods.context import Run
from discreet.methods.intervals.setting import IntervalSetting
from discreet.problem import Status
from discreet.protection import Protection, publish_intervals

SOLVER_NOISE = 1e-7  # share of a width by which it may exceed a rounded number without being rounded up
MAX_SHARE_BEYOND_BOUND = 0.5  # of a width by which ends exceed a prior bound that depends on the value
WIDENING = 1e-6  # share by which widths grow if the audit finds them too narrow by rounding errors


def published(
    setting: IntervalSetting, z: FloatArray, rounded: bool, run: Run, fixed: float = 0.0, **report: Any
) -> Protection | None:
    """The intervals of these widths, rounded as closely as the audit permits; None if even slightly wider ones are not safe."""
    for ends in _ends(setting, z, rounded):
        lower, upper = _without_computable(setting, *ends)
        found = _protection(setting, lower, upper, fixed, **report)
        if is_safe(found.problem, found, run.executor, run.progress):
            return found
    return None


def widths_of(setting: IntervalSetting, z: FloatArray) -> FloatArray:
    """Widths in units of the table, per side and cell, at least the drawn widths and the least width."""
    wide = np.zeros((2, len(setting.problem)))
    wide[:, setting.cells] = _padded(setting, z) * setting.unit
    return np.maximum(wide, setting.placement.drawn)


def _ends(setting: IntervalSetting, z: FloatArray, rounded: bool) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Lower and upper ends per cell: without the noise of the solver, then with it, then slightly wider."""
    value, centre, known = setting.problem.table.value, setting.centre, setting.placement.known
    digits = digits_of(value) if rounded else None
    wide = _extended(setting, widths_of(setting, z), 0.0 if digits is None else 10.0**-digits)
    has_width = wide.any(axis=0)
    for noise, factor in ((SOLVER_NOISE, 1.0), (0.0, 1.0), (0.0, 1.0 + WIDENING)):
        width = wide * factor
        low, high = centre - width[DOWN], centre + width[UP]
        if digits is not None:
            tick = 10.0**digits
            distance = np.stack([value - low, high - value])
            distance = np.where(has_width, _round_up(distance * tick, noise) / tick, 0.0)
            # Rounding must not exceed a known bound, unless the interval does.
            tolerance = SOLVER_NOISE * np.maximum(width, 1 / tick)
            down, up = np.round(value - distance[DOWN], digits), np.round(value + distance[UP], digits)
            low = np.where((down < known[0]) & (low >= known[0] - tolerance[DOWN]), known[0], down)
            high = np.where((up > known[1]) & (high <= known[1] + tolerance[UP]), known[1], up)
        yield np.where(has_width, np.minimum(low, value), value), np.where(has_width, np.maximum(high, value), value)


def _without_computable(
    setting: IntervalSetting, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The ends without intervals of cells that can be computed from published ones in a relation: these are published."""
    relations, value = setting.problem.table.relations, setting.problem.table.value
    other_treatment = setting.suppressed | setting.treatment.fixed
    may_be_published = (setting.problem.status == Status.FREE) & ~other_treatment
    while True:
        unknown = (lower < upper) | other_treatment
        has_one_unknown = (relations != 0).astype(np.int64) @ unknown == 1
        computable = unknown & may_be_published & ((relations[has_one_unknown] != 0).sum(axis=0) > 0)
        if not computable.any():
            return lower, upper
        lower, upper = np.where(computable, value, lower), np.where(computable, value, upper)


def _extended(setting: IntervalSetting, wide: FloatArray, tick: float) -> FloatArray:
    """The widths, extended if an end would be at the true value or at a prior bound that depends on it.

    An end at such a prior bound would disclose it to other readers; it is extended by up to half a width. The interval of a
    cell that protects others need only reach to its true value, and would disclose it; it is extended by up to a full width.
    """
    problem, known, centre = setting.placement.problem, setting.placement.known, setting.centre
    value, drawn = setting.problem.table.value, setting.placement.drawn.any(axis=0)
    slack = np.stack([centre - problem.prior_lower, problem.prior_upper - centre])
    assumed = np.stack([problem.prior_lower > known[0], problem.prior_upper < known[1]])
    total = wide.sum(axis=0)
    tolerance = np.maximum(SOLVER_NOISE * total, tick)
    at_bound = assumed & (total > 0) & (np.abs(wide - slack) <= tolerance)
    at_value = ~drawn & (total > 0) & (np.abs(wide - np.stack([centre - value, value - centre])) <= tolerance)
    share = setting.placement.beyond
    beyond_value = np.floor(share * (total / tick + 1)) * tick if tick else share * total
    extension = np.where(at_value, beyond_value, MAX_SHARE_BEYOND_BOUND * share * total)
    limit = np.stack([centre - known[0], known[1] - centre])
    return np.where(at_bound | at_value, np.maximum(np.minimum(wide + extension, limit), wide), wide)


def _round_up(width: FloatArray, noise: float) -> FloatArray:
    """The next integer, or the one below if the width exceeds it by noise only."""
    nearest = np.rint(width)
    return np.where(np.abs(width - nearest) <= noise * np.maximum(width, 1.0), nearest, np.ceil(width))


def _padded(setting: IntervalSetting, z: FloatArray) -> FloatArray:
    """Widths extended to the least width, on the cheaper side."""
    pad = np.maximum(setting.floor - z.sum(axis=0), 0.0)
    up = (setting.weight[UP] <= setting.weight[DOWN]) & ((setting.cap[UP] > 0) | (setting.cap[DOWN] == 0))
    up |= setting.weight[UP] < setting.weight[DOWN]
    return np.asarray(z + np.stack([np.where(up, 0.0, pad), np.where(up, pad, 0.0)]))


def _protection(
    setting: IntervalSetting, lower: FloatArray, upper: FloatArray, fixed: float, **report: Any
) -> Protection:
    """The protection with these intervals."""
    problem, value, treatment = setting.placement.problem, setting.problem.table.value, setting.treatment
    settled = setting.suppressed | treatment.fixed
    wide = np.where(settled, 0.0, np.stack([value - lower, upper - value]))
    cost = float((setting.true_weight * wide).sum() + fixed * problem.cost[wide.any(axis=0)].sum()) + setting.constant
    lower, upper = (
        np.where(setting.suppressed, unlimited, np.where(treatment.fixed, given, end))
        for unlimited, given, end in ((-np.inf, treatment.lower, lower), (np.inf, treatment.upper, upper))
    )
    shown = np.where(treatment.fixed, treatment.shown, np.where(lower < upper, np.nan, value))
    return publish_intervals(problem, shown, lower, upper, cost=cost, **report)
