"""Simple guesses at sensitive values: the middle of an interval, a published value with its protection level undone.

Methods draw positions and distances from the secret, so that such guesses hit no oftener than by chance. What is looked at here
is the publication alone, so that it does not matter which way it came.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of, unit_of
from discreet.inference.requirements import required
from discreet.problem import Status
from discreet.protection import Decision, Protection

MIDDLE = 0.1  # of the width on either side of the middle, where values are no more often than anywhere else
SURE = 3.0  # standard deviations beyond which it is no chance how many values lie in the middle
CLOSE = 0.01  # of the value: who guesses it as closely as that has hit it
UNLIKELY = 0.01  # chance below which it is none how many values lie at their levels
HARDLY = 0.001  # the same of middles that hit the value: they are looked at in every publication of intervals
FEW = 3  # units: smaller levels are hit by any draw
HAIR = 1e-9  # of a unit: noise in levels worked out with floats


def in_the_middle(protection: Protection) -> IntArray:
    """Sensitive cells whose values lie in the middle fifth of their intervals, or within 1 % of the middle.

    None if so few that it is chance.
    """
    value = protection.problem.table.value
    wide = protection.upper - protection.lower
    told = protection.suppressed & (protection.problem.status == Status.PRIMARY) & np.isfinite(wide) & (wide > 0)
    cells = np.flatnonzero(told)
    central = cells[np.abs((value - protection.lower)[cells] / wide[cells] - 0.5) < MIDDLE]
    expected = 2 * MIDDLE * len(cells)
    if len(central) > expected + SURE * expected**0.5:
        return central
    digits = digits_of(value)
    tick = None if digits is None else 10.0**-digits
    hit, expected = middle_hits(value[cells], protection.lower[cells], protection.upper[cells], tick)
    return cells[hit] if hit.any() and gammainc(hit.sum(), expected) < HARDLY else cells[:0]


def middle_hits(value: FloatArray, lower: FloatArray, upper: FloatArray, tick: float | None) -> tuple[BoolArray, float]:
    """Whose middles are within 1 % of the value, and how many would be if values were uniform in their intervals.

    With a ``tick`` values are multiples of it.
    """
    bounded = np.isfinite(upper - lower) & (lower < upper)
    value, lower, upper = value[bounded], lower[bounded], upper[bounded]
    middle = (lower + upper) / 2
    ends = np.sort([middle / (1 + CLOSE), middle / (1 - CLOSE)], axis=0)
    first, last = np.maximum(ends[0], lower), np.minimum(ends[1], upper)
    if tick is None:
        close, wide = last - first, upper - lower
    else:  # as many multiples of it
        close = np.floor(last / tick + HAIR) - np.ceil(first / tick - HAIR) + 1
        wide = np.floor(upper / tick + HAIR) - np.ceil(lower / tick - HAIR) + 1
    hits = np.abs(middle - value) <= CLOSE * np.abs(value)
    return hits, float((np.maximum(close, 0.0) / np.maximum(wide, np.finfo(float).tiny)).sum())


def at_levels(protection: Protection) -> IntArray:
    """Sensitive cells published as value ± level to the last digit; none if so few that it is chance.

    Where p percent are required, readers would divide by 1 ± p/100. By chance one of the two is hit with two of all values in
    the interval that readers are told. A published zero tells nothing of the value.
    """
    problem, value = protection.problem, protection.problem.table.value
    changed = (protection.decision == Decision.ADJUSTED) & (protection.published != 0) & (protection.published != value)
    cells = np.flatnonzero(changed & (problem.status == Status.PRIMARY))
    unit, _ = unit_of(value)
    levels = np.max([required(problem, protection, who) for who in problem.attackers()], axis=0)
    down, up = np.ceil(levels[:2, cells] / unit - HAIR)
    steps = np.rint((protection.published - value)[cells] / unit)
    hit = np.where(steps > 0, (steps == up) & (up >= FEW), (-steps == down) & (down >= FEW))
    could = np.maximum(down, up) >= FEW
    expected = float((2 / ((protection.upper - protection.lower)[cells[could]] / unit + 1)).sum())
    # The chance of as many rare events as these, or more, is that of a Poisson distribution.
    return cells[hit] if hit.any() and gammainc(hit.sum(), expected) < UNLIKELY else cells[:0]
