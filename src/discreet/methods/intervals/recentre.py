"""The same widths around another congruent table, drawn so that fewer values lie in the middles of their intervals.

Deviations from the centre depend on widths only, as long as no prior bound limits them. So another congruent table can be the
centre at no cost in width, if its intervals contain all true values and their protection levels. Most are farther away from
true values, which are close to the middles where sensitive cells add up with many others and widen both sides of intervals.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.methods.check import Audit, audit
from discreet.methods.context import Run
from discreet.methods.intervals.publish import widths_of
from discreet.methods.intervals.setting import IntervalSetting, Placement
from discreet.protection import Protection
from discreet.solvers import new_model

MAX_CENTRES = 8  # that are drawn until one leaves no excess of values in the middle
MIN_CENTRE_SHARE = 0.4  # least share of the distance to the farthest centre of a cell

Excess = Callable[[FloatArray, FloatArray], float]  # of values near the middle, for lower and upper ends per cell


def recentred(
    setting: IntervalSetting, z: FloatArray, found: Protection, excess: Excess, rng: np.random.Generator, run: Run
) -> Placement | None:
    """The placement around the first drawn centre without excess, or with the least; None if no centre is better."""
    problem, centre = found.problem, setting.centre
    seen = audit(problem, found, executor=run.executor)
    low, high = _centres(setting, widths_of(setting, z), seen)
    by_outsider = seen.attacker == 0
    cells, lower, upper = seen.cell[by_outsider], found.lower, found.upper
    inferred_lower, inferred_upper = lower.copy(), upper.copy()
    inferred_lower[cells], inferred_upper[cells] = seen.lower[by_outsider], seen.upper[by_outsider]

    def excess_at(shift: FloatArray) -> float:
        return max(excess(lower + shift, upper + shift), excess(inferred_lower + shift, inferred_upper + shift))

    best, least = None, excess_at(np.zeros(len(problem)))
    for _ in range(MAX_CENTRES):
        if least <= 0:
            break
        share = rng.uniform(MIN_CENTRE_SHARE, 1.0, (2, len(problem)))
        shift = _random_shift(setting, share[DOWN] * (low - centre), share[UP] * (high - centre), cells, rng, run)
        if shift is not None and (new := excess_at(shift)) < least:
            best, least = shift, new
    return None if best is None else setting.placement.moved(best)


def _centres(setting: IntervalSetting, wide: FloatArray, seen: Audit) -> tuple[FloatArray, FloatArray]:
    """The least and the largest possible centre of each interval."""
    problem, centre, value = setting.placement.problem, setting.centre, setting.problem.table.value
    fixed = setting.suppressed | setting.treatment.fixed | ~np.isfinite(wide).all(axis=0)
    wide = np.where(fixed, 0.0, wide)
    low, high = value - wide[UP], value + wide[DOWN]
    for attacker in problem.attackers():  # prior bounds must not limit deviations more than before
        low = np.maximum(low, np.minimum(attacker.lower + wide[DOWN], centre))
        high = np.minimum(high, np.maximum(attacker.upper - wide[UP], centre))
    for number, attacker in enumerate(problem.attackers()):
        rows = seen.attacker == number
        cells, levels = seen.cell[rows], problem.levels(attacker)
        beyond = centre[cells] + value[cells]
        low[cells] = np.maximum(low[cells], beyond + levels[1, cells] - seen.upper[rows])
        high[cells] = np.minimum(high[cells], beyond - levels[0, cells] - seen.lower[rows])
    return np.where(fixed, centre, np.minimum(low, centre)), np.where(fixed, centre, np.maximum(high, centre))


def _random_shift(
    setting: IntervalSetting, low: FloatArray, high: FloatArray, moved: IntArray, rng: np.random.Generator, run: Run
) -> FloatArray | None:
    """A shift that satisfies all relations and moves some cells as far as possible in the directions of random weights."""
    cells = np.flatnonzero(low < high)
    span = np.zeros(len(low))
    span[moved] = (high - low)[moved]
    usual = float(np.median(span[span > 0])) if np.any(span > 0) else 1.0
    weight = np.where(span > 0, usual / np.where(span > 0, span, 1.0), 0.0) * rng.uniform(-1.0, 1.0, len(low))
    rows = setting.problem.table.relations_of(cells)
    zero = np.zeros(rows.shape[0])
    model = new_model("dual", seed=run.seed)
    model.load(weight[cells], low[cells] / usual, high[cells] / usual, rows, zero, zero)
    solution = model.solve()
    if not solution.optimal:
        return None
    shift = np.zeros(len(low))
    shift[cells] = solution.primal * usual
    return shift
