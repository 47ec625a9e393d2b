"""Rounding every cell on its own: for comparison with controlled rounding. Totals no longer add up."""

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
    """Round every cell on its own to the multiple below or above, at random so that the expected value is the truth.

    Multiples stay. Published values do not add up, which may give away more than the intervals say; nothing is promised.
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
            return up.astype(float), multiples.base - (1.0 if multiples.is_integral else 0.0)

        return _rounded(problem, run, self.name, self.base, drawn)


@dataclass(frozen=True)
class ConventionalRounding:
    """Round every cell on its own to the nearest multiple, from the middle between two away from zero.

    Readers learn every cell to within half a base. Published values do not add up; nothing is promised.
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
            return up.astype(float), np.floor(half) if multiples.is_integral else half

        return _rounded(problem, run, self.name, self.base, nearest)


def _rounded(
    problem: Problem,
    run: Run,
    name: str,
    base: Base,
    choose: Callable[[Multiples], tuple[FloatArray, FloatArray]],
) -> Protection:
    """Steps up and how near the truth is known to be, for cells that are neither suppressed nor must stay as they are."""
    value, status = problem.table.value, problem.status
    run.progress.stage("round", 1)
    multiples = Multiples.of(value, bases(base, len(problem)))
    steps, radius = choose(multiples)
    told = np.isin(status, (Status.FREE, Status.PRIMARY))
    suppressed = status == Status.SUPPRESSED
    columns = [np.where(told, multiples.amount(steps, plus), value) for plus in (0.0, -radius, radius)]
    published, lower, upper = (
        np.where(suppressed, nothing, column)
        for column, nothing in zip(columns, (np.nan, -np.inf, np.inf), strict=True)
    )
    run.progress.update(1)
    return publish_intervals(
        problem,
        published,
        np.minimum(lower, value),
        np.maximum(upper, value),
        cost=float(np.abs(published - value)[told].sum()),
        method=name,
        seconds=run.budget.spent,
        seed=run.seed,
    )
