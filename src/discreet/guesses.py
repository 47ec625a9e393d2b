"""Simple guesses at sensitive values: the middle of an interval, a published value with its protection level undone.

Methods draw positions and distances from the secret, so that such guesses hit no oftener than by chance. What is looked at here
is the publication alone, so that it does not matter which way it came.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc

from discreet.arrays import IntArray
from discreet.data.table import unit_of
from discreet.inference.requirements import required
from discreet.problem import Status
from discreet.protection import Decision, Protection

MIDDLE = 0.1  # of the width on either side of the middle, where values are no more often than anywhere else
SURE = 3.0  # standard deviations beyond which it is no chance how many values lie in the middle
UNLIKELY = 0.01  # chance below which it is none how many values lie at their levels
FEW = 3  # units: smaller levels are hit by any draw
HAIR = 1e-9  # of a unit: noise in levels worked out with floats


def in_the_middle(protection: Protection) -> IntArray:
    """Sensitive cells whose values lie in the middle fifth of the intervals told about them; none if so few that it is chance."""
    value = protection.problem.table.value
    wide = protection.upper - protection.lower
    told = protection.hidden & (protection.problem.status == Status.PRIMARY) & np.isfinite(wide) & (wide > 0)
    cells = np.flatnonzero(told)
    central = cells[np.abs((value - protection.lower)[cells] / wide[cells] - 0.5) < MIDDLE]
    expected = 2 * MIDDLE * len(cells)
    return central if len(central) > expected + SURE * expected**0.5 else central[:0]


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
