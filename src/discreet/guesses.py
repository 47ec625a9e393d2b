"""Simple guesses at sensitive values: the middle of an interval, a published value with its protection level undone.

Methods draw positions and distances with the secret, so such guesses are right no more often than by chance. The checks here
use only the publication, so they apply to every method and to patterns from elsewhere.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of, unit_of
from discreet.inference.requirements import required_levels
from discreet.problem import Status
from discreet.protection import Decision, Protection

CENTRAL_HALF_WIDTH = 0.1  # share of the width on either side of the middle: the central fifth of an interval
MAX_STANDARD_DEVIATIONS = 3.0  # more values than this above the expected number in the central fifth are not chance
HIT_RELATIVE_ERROR = 0.01  # a guess with at most this relative error is a hit
LEVEL_HITS_SIGNIFICANCE = 0.01  # as many values at their levels with a smaller probability are not chance
# The same of midpoints that hit; smaller as every publication of intervals is tested.
MIDPOINT_HITS_SIGNIFICANCE = 0.001
MIN_LEVEL_UNITS = 3  # smaller levels are hit by any draw
UNIT_TOLERANCE = 1e-9  # of a unit: rounding errors of levels computed with floats


def cells_with_central_values(protection: Protection) -> IntArray:
    """Sensitive cells whose values lie in the central fifth of their intervals, or within 1 % of the middle.

    The result is empty if there are no more of them than chance explains.
    """
    value = protection.problem.table.value
    width = protection.upper - protection.lower
    primary = protection.problem.status == Status.PRIMARY
    cells = np.flatnonzero(protection.suppressed & primary & np.isfinite(width) & (width > 0))
    central = cells[np.abs((value - protection.lower)[cells] / width[cells] - 0.5) < CENTRAL_HALF_WIDTH]
    expected = 2 * CENTRAL_HALF_WIDTH * len(cells)
    if len(central) > expected + MAX_STANDARD_DEVIATIONS * expected**0.5:
        return central
    digits = digits_of(value)
    tick = None if digits is None else 10.0**-digits
    hit, expected = midpoint_hits(value[cells], protection.lower[cells], protection.upper[cells], tick)
    return cells[hit] if hit.any() and gammainc(hit.sum(), expected) < MIDPOINT_HITS_SIGNIFICANCE else cells[:0]


def midpoint_hits(
    value: FloatArray, lower: FloatArray, upper: FloatArray, tick: float | None
) -> tuple[BoolArray, float]:
    """Which midpoints are within 1 % of the value, and how many would be if values were uniform in their intervals.

    With a ``tick`` all values are multiples of it. Intervals without two finite ends are left out.
    """
    bounded = np.isfinite(upper - lower) & (lower < upper)
    value, lower, upper = value[bounded], lower[bounded], upper[bounded]
    middle = (lower + upper) / 2
    ends = np.sort([middle / (1 + HIT_RELATIVE_ERROR), middle / (1 - HIT_RELATIVE_ERROR)], axis=0)
    first, last = np.maximum(ends[0], lower), np.minimum(ends[1], upper)
    if tick is None:
        hitting, width = last - first, upper - lower
    else:  # numbers of multiples
        hitting = np.floor(last / tick + UNIT_TOLERANCE) - np.ceil(first / tick - UNIT_TOLERANCE) + 1
        width = np.floor(upper / tick + UNIT_TOLERANCE) - np.ceil(lower / tick - UNIT_TOLERANCE) + 1
    hits = np.abs(middle - value) <= HIT_RELATIVE_ERROR * np.abs(value)
    return hits, float((np.maximum(hitting, 0.0) / np.maximum(width, np.finfo(float).tiny)).sum())


def cells_off_by_their_levels(protection: Protection) -> IntArray:
    """Sensitive cells published as value ± level to the last digit; empty if there are no more than chance explains.

    With levels of p percent, readers could divide by 1 ± p/100. By chance, two of all values in the published interval are at a
    level. A published zero reveals nothing about the value.
    """
    problem, value = protection.problem, protection.problem.table.value
    changed = (protection.decision == Decision.ADJUSTED) & (protection.published != 0) & (protection.published != value)
    cells = np.flatnonzero(changed & (problem.status == Status.PRIMARY))
    unit, _ = unit_of(value)
    levels = np.max([required_levels(problem, protection, attacker) for attacker in problem.attackers()], axis=0)
    down, up = np.ceil(levels[:2, cells] / unit - UNIT_TOLERANCE)
    steps = np.rint((protection.published - value)[cells] / unit)
    hit = np.where(steps > 0, (steps == up) & (up >= MIN_LEVEL_UNITS), (-steps == down) & (down >= MIN_LEVEL_UNITS))
    possible = np.maximum(down, up) >= MIN_LEVEL_UNITS
    expected = float((2 / ((protection.upper - protection.lower)[cells[possible]] / unit + 1)).sum())
    # The probability of at least this many rare events, by the Poisson distribution.
    return cells[hit] if hit.any() and gammainc(hit.sum(), expected) < LEVEL_HITS_SIGNIFICANCE else cells[:0]
