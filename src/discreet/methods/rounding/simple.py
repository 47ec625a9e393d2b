"""Rounding of every cell by itself, for comparison with controlled rounding. Totals no longer add up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, Multiples, bases, check
from discreet.problem import Problem, Status
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
        rng = run.random(self.name, problem)

        def drawn(multiples: Multiples) -> tuple[FloatArray, FloatArray]:
            up = rng.random(len(problem)) < multiples.part
            return up.astype(float), multiples.base - (1.0 if multiples.is_whole else 0.0)

        return _rounded(problem, run, self.name, self.base, drawn)


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
        def nearest(multiples: Multiples) -> tuple[FloatArray, FloatArray]:
            middle = (multiples.part == 0.5) & (problem.table.value > 0)
            up = (multiples.part > 0.5) | middle
            half = multiples.base / 2
            return up.astype(float), np.floor(half) if multiples.is_whole else half

        return _rounded(problem, run, self.name, self.base, nearest)


def _rounded(
    problem: Problem,
    run: Run,
    name: str,
    base: Base,
    choose: Callable[[Multiples], tuple[FloatArray, FloatArray]],
) -> Protection:
    """The protection by a choice of steps up and of the distance to the true value that readers know, one entry per cell."""
    value, status = problem.table.value, problem.status
    run.progress.stage("round", 1)
    multiples = Multiples.of(value, bases(base, len(problem)))
    steps, radius = choose(multiples)
    is_rounded = np.isin(status, (Status.FREE, Status.PRIMARY))
    suppressed = status == Status.SUPPRESSED
    columns = [np.where(is_rounded, multiples.amount(steps, plus), value) for plus in (0.0, -radius, radius)]
    published, lower, upper = (
        np.where(suppressed, unknown, column)
        for column, unknown in zip(columns, (np.nan, -np.inf, np.inf), strict=True)
    )
    run.progress.update(1)
    return publish_intervals(
        problem,
        published,
        np.minimum(lower, value),
        np.maximum(upper, value),
        cost=float(np.abs(published - value)[is_rounded].sum()),
        method=name,
        seconds=run.budget.spent,
        seed=run.seed,
    )
