"""Rounding of every cell by itself, for comparison with controlled rounding. Totals no longer add up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, Multiples, RoundingGrid, bases, check
from discreet.problem import Problem
from discreet.protection import Protection, publish_intervals


@dataclass(frozen=True)
class RandomRounding:
    """Round every cell by itself to the multiple below or above, at random with the true value as expected value.

    Multiples do not change. Published values do not add up, so readers may infer more than the intervals show; protection is
    not guaranteed.
    """

    base: float | Base = option(5.0, "as in `round`")

    name = "random-round"
    traits = Traits(kind="rounding")
    uses_secret = True

    def __post_init__(self) -> None:
        check(self.base)

    def protect(self, problem: Problem, run: Run) -> Protection:
        multiples = Multiples.of(problem.table.value, bases(self.base, len(problem)))
        up = run.random(self.name, problem).random(len(problem)) < multiples.part
        known = multiples.base - (1.0 if multiples.is_integral else 0.0)
        return _rounded(problem, multiples, up, known, run, self.name)


@dataclass(frozen=True)
class ConventionalRounding:
    """Round every cell by itself to the nearest multiple, halves away from zero.

    Readers know every cell to within half a base. Published values do not add up; protection is not guaranteed.
    """

    base: float | Base = option(5.0, "as in `round`")

    name = "conventional-round"
    traits = Traits(kind="rounding")

    def __post_init__(self) -> None:
        check(self.base)

    def protect(self, problem: Problem, run: Run) -> Protection:
        multiples = Multiples.of(problem.table.value, bases(self.base, len(problem)))
        up = (multiples.part > 0.5) | ((multiples.part == 0.5) & (problem.table.value > 0))
        half = multiples.base / 2
        return _rounded(problem, multiples, up, np.floor(half) if multiples.is_integral else half, run, self.name)


def _rounded(
    problem: Problem, multiples: Multiples, up: BoolArray, known: FloatArray, run: Run, method: str
) -> Protection:
    """The protection that rounds these cells up and all others down; readers know values to within the distances ``known``."""
    steps = up.astype(float)
    grid = RoundingGrid(problem, multiples, steps, steps, known)
    published, lower, upper = grid.published(steps)
    cost = float(np.abs(published - problem.table.value)[grid.rounded].sum())
    return publish_intervals(problem, published, lower, upper, cost=cost, **run.report(method))
