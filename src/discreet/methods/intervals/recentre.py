"""The same widths around another congruent table, drawn so that values do not lie in the middles of their intervals.

How far cells can deviate from the centre of all intervals depends on widths alone, as long as nothing that attackers know gets
in the way. So another congruent table may take its place at no cost in width: one whose intervals hold all true values, and
their protection levels. Where sensitive cells add up with many others their intervals become wider than drawn, on both sides
alike, and true values end up near the middles; of the tables that may be the centre there are many that are further away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.audit import Audit, audit
from discreet.methods.context import Run
from discreet.methods.intervals.publish import widths_of
from discreet.methods.intervals.setting import IntervalSetting, Placement
from discreet.protection import Protection
from discreet.solvers import new_model

TRIES = 8  # centres that are drawn until one is far enough away
NEAREST = 0.4  # least share of the way to the farthest centre that a cell may be drawn to

Excess = Callable[[FloatArray, FloatArray], float]  # of values near the middle, for lower and upper ends by cell


def recentred(
    setting: IntervalSetting, z: FloatArray, found: Protection, excess: Excess, rng: np.random.Generator, run: Run
) -> Placement | None:
    """The placement around the first drawn centre that leaves no excess, or the least; None if no centre is better."""
    problem, centre = found.problem, setting.centre
    seen = audit(problem, found, executor=run.executor)
    low, high = _centres(setting, widths_of(setting, z), seen)
    own = seen.attacker == 0
    cells, lower, upper = seen.cell[own], found.lower.copy(), found.upper.copy()
    inferred = lower.copy(), upper.copy()
    inferred[0][cells], inferred[1][cells] = seen.lower[own], seen.upper[own]

    def left(shift: FloatArray) -> float:
        return max(excess(lower + shift, upper + shift), excess(inferred[0] + shift, inferred[1] + shift))

    best, least = None, left(np.zeros(len(problem)))
    for _ in range(TRIES):
        if least <= 0:
            break
        share = rng.uniform(NEAREST, 1.0, (2, len(problem)))
        shift = _away(setting, share[DOWN] * (low - centre), share[UP] * (high - centre), cells, rng, run)
        if shift is not None and left(shift) < least:
            best, least = shift, left(shift)
    return None if best is None else setting.placement.moved(best)


def _centres(setting: IntervalSetting, wide: FloatArray, seen: Audit) -> tuple[FloatArray, FloatArray]:
    """Between which values the centre of each interval may be."""
    problem, centre, value = setting.placement.problem, setting.centre, setting.problem.table.value
    still = (
        setting.suppressed | setting.treatment.fixed | ~np.isfinite(wide).all(axis=0)
    )  # no interval of theirs may move
    wide = np.where(still, 0.0, wide)
    low, high = value - wide[UP], value + wide[DOWN]
    for who in problem.attackers():  # nobody's bounds may stop a deviation that they do not stop already
        low = np.maximum(low, np.minimum(who.lower + wide[DOWN], centre))
        high = np.minimum(high, np.maximum(who.upper - wide[UP], centre))
    for number, who in enumerate(problem.attackers()):
        own = seen.attacker == number
        cells, levels = seen.cell[own], problem.levels(who)
        beyond = centre[cells] + value[cells]
        low[cells] = np.maximum(low[cells], beyond + levels[1, cells] - seen.upper[own])
        high[cells] = np.minimum(high[cells], beyond - levels[0, cells] - seen.lower[own])
    return np.where(still, centre, np.minimum(low, centre)), np.where(still, centre, np.maximum(high, centre))


def _away(
    setting: IntervalSetting, low: FloatArray, high: FloatArray, away: IntArray, rng: np.random.Generator, run: Run
) -> FloatArray | None:
    """A deviation that keeps all relations and leads some cells as far up or down as possible, by drawn weights."""
    cells = np.flatnonzero(low < high)
    far = np.zeros(len(low))
    far[away] = (high - low)[away]
    usual = float(np.median(far[far > 0])) if np.any(far > 0) else 1.0
    weight = np.where(far > 0, usual / np.where(far > 0, far, 1.0), 0.0) * rng.uniform(-1.0, 1.0, len(low))
    rows = sparse.csr_array(setting.problem.table.relations[:, cells])
    rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
    nothing = np.zeros(rows.shape[0])
    model = new_model("dual", seed=run.seed)
    model.load(weight[cells], low[cells] / usual, high[cells] / usual, rows, nothing, nothing)
    solution = model.solve()
    if not solution.optimal:
        return None
    shift = np.zeros(len(low))
    shift[cells] = solution.primal * usual
    return shift
