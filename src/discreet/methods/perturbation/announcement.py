"""What readers are told about changed values: by how much a figure may be off at most."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import RuleError
from discreet.methods.context import Run
from discreet.problem import Problem

PERCENTS = tuple(range(5, 95, 5))  # that are announced, unless others are asked for
# Times the slack that levels need is announced: more than once, to have something to draw from, and drawn itself, since an
# announcement that follows from values tells them to those who know how it was worked out.
LEAST_MULTIPLE, MOST_MULTIPLE = 1.5, 3.0
ANNOUNCEMENT = "announcement"  # what the multiple is drawn for
MUCH = 0.5  # share of a cell that is very much slack for it


@dataclass(frozen=True)
class Announcement:
    """Every figure may be off by ``percent`` of the figure published, and by ``margin`` in addition.

    It is about published figures alone, so that it says nothing of the true ones, nor which of them were changed.
    """

    percent: float
    margin: float

    def text(self) -> str:
        parts = [f"{self.percent:g} %" if self.percent else "", f"{self.margin:g}" if self.margin else ""]
        return f"figures may be off by {' + '.join(part for part in parts if part) or '0'}"


def announcements(problem: Problem, percent: float | None, margin: float | None, multiple: float) -> list[Announcement]:
    """What to try, one after the other: what is given, and else round numbers that leave sensitive cells slack for their levels.

    A cell published higher by its upper level must still be able to be as low as its lower level says, and the other way round;
    cells that need very much slack may go up only. First as little of a margin as possible; then whatever takes least from
    readers of the usual figure: where neighbours of a small cell are small or must stay, only a margin gives it slack. Cells get
    a ``multiple`` of the slack that they need, so that their values can be drawn from it.
    """
    need, smallest = _needs(problem)
    need = multiple * need
    value = problem.table.value
    usual = float(np.median(np.abs(value[value != 0]))) if np.any(value != 0) else 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(need > 0, 100 * need / smallest, 0.0)
    most = float(share[share <= PERCENTS[-1]].max(initial=0.0))
    plain = percent if percent is not None else next(one for one in PERCENTS if one >= most - 1e-9)
    choices = [
        Announcement(one, _least(need - one / 100 * smallest) if margin is None else margin)
        for one in (plain, *(PERCENTS if percent is None and margin is None else ()))
    ]
    balanced = min(choices, key=lambda one: one.percent / 100 + one.margin / usual)
    return [choices[0]] if balanced == choices[0] else [choices[0], balanced]


def drawn_multiple(run: Run, problem: Problem) -> float:
    """How many times the slack that levels need is announced, drawn from the secret."""
    return multiple_at(float(run.random(ANNOUNCEMENT, problem).random(1)[0]))


def multiple_at(chance: float) -> float:
    """The multiple that a uniform random number stands for: its logarithm is uniform."""
    return float(LEAST_MULTIPLE * (MOST_MULTIPLE / LEAST_MULTIPLE) ** chance)


def _least(lacking: FloatArray) -> float:
    """The next of 1, 2, 5, 10, 20, 50 … from all that is lacking."""
    number = float(lacking.max(initial=0.0))
    if number <= 1e-9:
        return 0.0
    power = 10.0 ** math.floor(math.log10(number))
    return next(float(f"{first * power:.12g}") for first in (1, 2, 5, 10) if first * power >= number * (1 - 1e-9))


def _needs(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """How far from its published value each sensitive cell must be possible, and how small that may be."""
    lower, upper = strictest(problem)
    value, cells = problem.table.value, problem.primaries
    size, need = np.abs(value[cells]), np.maximum(lower + upper, _half_width(problem))[cells]
    digits = digits_of(value)
    # Of a sensitive cell of zero not even that may be told.
    need = np.where(size == 0, np.maximum(need, 1e-6 if digits is None else 10.0**-digits), need)
    inward, outward = np.where(value[cells] < 0, (upper[cells], lower[cells]), (lower[cells], upper[cells]))
    smallest = np.maximum(size - inward, 0.0)
    return need, np.where(need <= MUCH * smallest, smallest, size + outward)


def _half_width(problem: Problem) -> FloatArray:
    """How far from its true value each cell must be possible for its sliding level: one side has to make up for the other."""
    value, sides = problem.table.value, []
    for who in problem.attackers():
        sliding = problem.levels(who)[2]
        nearer = np.minimum(value - who.lower, who.upper - value)
        sides.append(np.maximum(sliding / 2, sliding - np.maximum(nearer, 0.0)))
    return np.asarray(np.max(sides, axis=0))


def strictest(problem: Problem) -> tuple[FloatArray, FloatArray]:
    """The lower and upper level of each cell against whoever it must be protected from most."""
    levels = np.stack([problem.levels(who) for who in problem.attackers()]).max(axis=0)
    return levels[0], levels[1]


def check(percent: float | None, margin: float | None) -> None:
    """Refuse what cannot be announced."""
    if percent is not None and not 0 <= percent < 100:
        raise RuleError(f"Figures can be off by 0 to less than 100 percent, not by {percent!r}.", ["percent"])
    if margin is not None and not 0 <= margin < np.inf:
        raise RuleError(f"The margin is a number from 0 on, not {margin!r}.", ["margin"])
