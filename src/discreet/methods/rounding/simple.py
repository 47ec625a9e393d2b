"""Rounding of every cell by itself, for comparison with controlled rounding. Totals no longer add up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, Multiples, bases, check
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals


@dataclass(frozen=True)
class _SimpleRounding(ABC):
    """Rounding of all cells that are neither suppressed nor must keep their values."""

    base: float | Base = option(5.0, "as in `round`")
    name = ""

    def __post_init__(self) -> None:
        check(self.base)

    @abstractmethod
    def _choice(self, problem: Problem, multiples: Multiples, run: Run) -> tuple[FloatArray, FloatArray]:
        """Per cell the steps up, and the distance of the published value to the true one that readers know."""

    def protect(self, problem: Problem, run: Run) -> Protection:
        value, status = problem.table.value, problem.status
        run.progress.stage("round", 1)
        multiples = Multiples.of(value, bases(self.base, len(problem)))
        steps, radius = self._choice(problem, multiples, run)
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
            method=self.name,
            seconds=run.budget.spent,
            seed=run.seed,
        )


@dataclass(frozen=True)
class RandomRounding(_SimpleRounding):
    """Round every cell by itself to the multiple below or above, at random with the true value as expected value.

    Multiples do not change. Published values do not add up, so readers may infer more than the intervals show; protection is
    not guaranteed.
    """

    name = "random-round"
    traits = Traits(kind="rounding")
    uses_secret = True

    def _choice(self, problem: Problem, multiples: Multiples, run: Run) -> tuple[FloatArray, FloatArray]:
        up = run.random(self.name, problem).random(len(problem)) < multiples.part
        return up.astype(float), multiples.base - (1.0 if multiples.is_integral else 0.0)


@dataclass(frozen=True)
class ConventionalRounding(_SimpleRounding):
    """Round every cell by itself to the nearest multiple, halves away from zero.

    Readers know every cell to within half a base. Published values do not add up; protection is not guaranteed.
    """

    name = "conventional-round"
    traits = Traits(kind="rounding")

    def _choice(self, problem: Problem, multiples: Multiples, run: Run) -> tuple[FloatArray, FloatArray]:
        middle = (multiples.part == 0.5) & (problem.table.value > 0)
        up = (multiples.part > 0.5) | middle
        half = multiples.base / 2
        return up.astype(float), np.floor(half) if multiples.is_integral else half
