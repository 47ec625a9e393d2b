"""The published limit of changes of values."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import RuleError
from discreet.methods.context import Run
from discreet.problem import Problem

PERCENTS = tuple(range(5, 95, 5))  # that are announced by default
# The announced slack as a multiple of what the levels need. It is above 1, so that there are changes to draw from, and random,
# because readers could infer values from an announcement that is a function of them.
LEAST_MULTIPLE, LARGEST_MULTIPLE = 1.5, 3.0
ANNOUNCEMENT = "announcement"  # purpose of the random number for the multiple
LARGE_NEED_SHARE = 0.5  # cells that need more than this share of their value may be published higher only


@dataclass(frozen=True)
class Announcement:
    """Every published value may differ from the true one by ``percent`` of the published value plus ``margin``.

    It depends on published values only, so that readers learn neither true values nor which of them changed.
    """

    percent: float
    margin: float

    def text(self) -> str:
        """The announcement in words."""
        parts = [f"{self.percent:g} %" if self.percent else "", f"{self.margin:g}" if self.margin else ""]
        return f"figures may be off by {' + '.join(part for part in parts if part) or '0'}"


def announcements(problem: Problem, percent: float | None, margin: float | None, multiple: float) -> list[Announcement]:
    """The announcements to try in turn: the given one, or round numbers that leave sensitive cells slack for their levels.

    A cell published higher by its upper level must still allow values down to its lower level, and vice versa; cells that need
    very much slack may be published higher only. The first choice has the smallest margin. The second one allows the smallest
    change of a median cell: if the neighbours of a small cell are small or must not change, only a margin gives it slack. Cells
    get a ``multiple`` of the slack that they need, so that their published values can be drawn.
    """
    need, smallest = _needed_slack(problem)
    need = multiple * need
    value = problem.table.value
    usual = float(np.median(np.abs(value[value != 0]))) if np.any(value != 0) else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(need > 0, 100 * need / smallest, 0.0)
    needed = float(share[share <= PERCENTS[-1]].max(initial=0.0))
    first = percent if percent is not None else next(one for one in PERCENTS if one >= needed - 1e-9)
    choices = [
        Announcement(one, _round_margin(need - one / 100 * smallest) if margin is None else margin)
        for one in (first, *(PERCENTS if percent is None and margin is None else ()))
    ]
    balanced = min(choices, key=lambda one: one.percent / 100 + one.margin / usual)
    return [choices[0]] if balanced == choices[0] else [choices[0], balanced]


def drawn_multiple(run: Run, problem: Problem) -> float:
    """The multiple of the needed slack that is announced, drawn from the secret."""
    return multiple_at(float(run.random(ANNOUNCEMENT, problem).random(1)[0]))


def multiple_at(chance: float) -> float:
    """The multiple for a uniform random number; its logarithm is uniformly distributed."""
    return float(LEAST_MULTIPLE * (LARGEST_MULTIPLE / LEAST_MULTIPLE) ** chance)


def _round_margin(shortfall: FloatArray) -> float:
    """The smallest of 1, 2, 5, 10, 20, 50 … that covers the largest shortfall."""
    number = float(shortfall.max(initial=0.0))
    if number <= 1e-9:
        return 0.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(float(f"{first * power:.12g}") for first in (1, 2, 5, 10) if first * power >= number * (1 - 1e-9))


def _needed_slack(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """Per sensitive cell the slack that it needs around its published value, and the least size of that value."""
    lower, upper, _ = problem.strictest
    value, cells = problem.table.value, problem.primaries
    size, need = np.abs(value[cells]), np.maximum(lower + upper, _half_width(problem))[cells]
    digits = digits_of(value)
    # A sensitive cell of zero needs slack even without a level.
    need = np.where(size == 0, np.maximum(need, 1e-6 if digits is None else 10.0**-digits), need)
    inward, outward = np.where(value[cells] < 0, (upper[cells], lower[cells]), (lower[cells], upper[cells]))
    smallest = np.maximum(size - inward, 0.0)
    return need, np.where(need <= LARGE_NEED_SHARE * smallest, smallest, size + outward)


def _half_width(problem: Problem) -> FloatArray:
    """The slack that each cell needs for its sliding level: half of it, or more if one side has less than half."""
    value, sides = problem.table.value, []
    for attacker in problem.attackers():
        sliding = problem.levels(attacker)[2]
        nearer = np.minimum(value - attacker.lower, attacker.upper - value)
        sides.append(np.maximum(sliding / 2, sliding - np.maximum(nearer, 0.0)))
    return np.asarray(np.max(sides, axis=0))


def check(percent: float | None, margin: float | None) -> None:
    """Refuse a percentage or margin that cannot be announced."""
    if percent is not None and not 0 <= percent < 100:
        raise RuleError(f"The option 'percent' is a number from 0 to less than 100, not {percent!r}.", ["percent"])
    if margin is not None and not 0 <= margin < np.inf:
        raise RuleError(f"The option 'margin' is a number, 0 or more, not {margin!r}.", ["margin"])
