"""From widths to what readers are told: ends as round as the table, never narrower than needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray
from discreet.audit import audit
from discreet.data.table import digits_of
from discreet.methods.context import Run
from discreet.methods.intervals.setting import IntervalSetting
from discreet.problem import Status
from discreet.protection import Protection, publish_intervals

HAIR = 1e-7  # of a width, beyond a round number, is the solver's noise
MOST_BEYOND = 0.5  # of a width that ends go beyond a bound that attackers are said to know
WIDER = 1e-6  # share by which widths grow where an audit found them too narrow by rounding error


def published(
    setting: IntervalSetting, z: FloatArray, rounded: bool, run: Run, fixed: float = 0.0, **report: Any
) -> Protection | None:
    """The narrowest intervals around these widths that pass the audit; None if even slightly wider ones do not."""
    for ends in _ends(setting, z, rounded):
        lower, upper = _without_computable(setting, *ends)
        told = _tell(setting, lower, upper, fixed, **report)
        if audit(told.problem, told, intervals=False, executor=run.executor, progress=run.progress).passed:
            return told
    return None


def widths_of(setting: IntervalSetting, z: FloatArray) -> FloatArray:
    """Widths in units of the table, by side and cell, with what was drawn and what is missing to the least."""
    wide = np.zeros((2, len(setting.problem)))
    wide[:, setting.cells] = _padded(setting, z) * setting.unit
    return np.maximum(wide, setting.placement.drawn)


def _ends(setting: IntervalSetting, z: FloatArray, rounded: bool) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Lower and upper ends by cell: without the solver's noise, then with it, then a little wider."""
    value, centre, known = setting.problem.table.value, setting.centre, setting.placement.known
    digits = digits_of(value) if rounded else None
    wide = _beyond(setting, widths_of(setting, z), 0.0 if digits is None else 10.0**-digits)
    for hair, factor in ((HAIR, 1.0), (0.0, 1.0), (0.0, 1.0 + WIDER)):
        width = wide * factor
        low, high = centre - width[DOWN], centre + width[UP]
        if digits is not None:
            tick = 10.0**digits
            far = np.stack([value - low, high - value])
            far = np.where(wide.any(axis=0), _round_up(far * tick, hair) / tick, 0.0)
            # Rounding need not go beyond what everybody knows, unless the interval does.
            noise = HAIR * np.maximum(width, 1 / tick)
            down, up = np.round(value - far[DOWN], digits), np.round(value + far[UP], digits)
            low = np.where((down < known[0]) & (low >= known[0] - noise[DOWN]), known[0], down)
            high = np.where((up > known[1]) & (high <= known[1] + noise[UP]), known[1], up)
        some = wide.any(axis=0)
        yield np.where(some, np.minimum(low, value), value), np.where(some, np.maximum(high, value), value)


def _without_computable(
    setting: IntervalSetting, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The same, but for cells that follow from published ones in a relation: an interval for them would be a pretence."""
    relations, value = setting.problem.table.relations, setting.problem.table.value
    otherwise = setting.suppressed | setting.treatment.fixed
    told = (setting.problem.status == Status.FREE) & ~otherwise
    while True:
        unknown = (lower < upper) | otherwise
        alone = (relations != 0).astype(np.int64) @ unknown == 1
        follows = unknown & told & ((relations[alone] != 0).sum(axis=0) > 0)
        if not follows.any():
            return lower, upper
        lower, upper = np.where(follows, value, lower), np.where(follows, value, upper)


def _beyond(setting: IntervalSetting, wide: FloatArray, tick: float) -> FloatArray:
    """Widths, some of them larger.

    An end at a bound that attackers are said to know would tell it to all others. An end at the true value, which is as far as
    the interval of a cell that protects others has to reach, would tell that: it goes up to a whole width farther.
    """
    problem, known, centre = setting.placement.problem, setting.placement.known, setting.centre
    value, drawn = setting.problem.table.value, setting.placement.drawn.any(axis=0)
    slack = np.stack([centre - problem.prior_lower, problem.prior_upper - centre])
    assumed = np.stack([problem.prior_lower > known[0], problem.prior_upper < known[1]])
    whole = wide.sum(axis=0)
    noise = np.maximum(HAIR * whole, tick)
    at_bound = assumed & (whole > 0) & (np.abs(wide - slack) <= noise)
    at_value = ~drawn & (whole > 0) & (np.abs(wide - np.stack([centre - value, value - centre])) <= noise)
    share = setting.placement.beyond
    some = np.floor(share * (whole / tick + 1)) * tick if tick else share * whole
    further = np.where(at_value, some, MOST_BEYOND * share * whole)
    most = np.stack([centre - known[0], known[1] - centre])
    return np.where(at_bound | at_value, np.maximum(np.minimum(wide + further, most), wide), wide)


def _round_up(width: FloatArray, hair: float) -> FloatArray:
    """The next whole number, or the one just below if it is exceeded by rounding error only."""
    nearest = np.rint(width)
    return np.where(np.abs(width - nearest) <= hair * np.maximum(width, 1.0), nearest, np.ceil(width))


def _padded(setting: IntervalSetting, z: FloatArray) -> FloatArray:
    """Widths with what is missing to the least one, on the cheaper side."""
    pad = np.maximum(setting.floor - z.sum(axis=0), 0.0)
    up = (setting.weight[UP] <= setting.weight[DOWN]) & ((setting.cap[UP] > 0) | (setting.cap[DOWN] == 0))
    up |= setting.weight[UP] < setting.weight[DOWN]
    return np.asarray(z + np.stack([np.where(up, 0.0, pad), np.where(up, pad, 0.0)]))


def _tell(setting: IntervalSetting, lower: FloatArray, upper: FloatArray, fixed: float, **report: Any) -> Protection:
    problem, value, treatment = setting.placement.problem, setting.problem.table.value, setting.treatment
    settled = setting.suppressed | treatment.fixed
    wide = np.where(settled, 0.0, np.stack([value - lower, upper - value]))
    cost = float((setting.true_weight * wide).sum() + fixed * problem.cost[wide.any(axis=0)].sum()) + setting.constant
    lower, upper = (
        np.where(setting.suppressed, endless, np.where(treatment.fixed, given, end))
        for endless, given, end in ((-np.inf, treatment.lower, lower), (np.inf, treatment.upper, upper))
    )
    told = np.where(treatment.fixed, treatment.shown, np.where(lower < upper, np.nan, value))
    return publish_intervals(problem, told, lower, upper, cost=cost, **report)
