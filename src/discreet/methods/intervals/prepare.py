"""Before any program: errors for cells that cannot be protected, and free cells that must be published exactly."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import NoSafePatternError, some
from discreet.methods.check import exposed_cells
from discreet.methods.intervals.setting import IntervalSetting, Sides, Treatment
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

INTERVALS_REMEDY = "Let more cells have intervals, widen the prior bounds of attackers, or lower protection levels."


def prepared(
    problem: Problem,
    sides: Sides,
    width: float = 0.0,
    treatment: Treatment | None = None,
    barred: BoolArray | None = None,
    remedy: str = INTERVALS_REMEDY,
) -> IntervalSetting:
    """The setting without free cells that even unlimited intervals do not protect; other such cells are an error."""
    given = np.zeros(len(problem), dtype=bool) if barred is None else barred
    treatment, barred = treatment or Treatment.none(problem), given.copy()
    must = (problem.status == Status.PRIMARY) | treatment.fixed
    while must.any():
        exposed = exposed_cells(problem, open_table(problem, treatment, barred))
        unprotected = exposed[must[exposed]]
        if len(unprotected):
            labels, others = problem.table.labels(unprotected), problem.table.labels(np.flatnonzero(barred & ~given))
            exception = f" The cells {some(others)} get no interval, because they could not be protected themselves."
            raise NoSafePatternError(
                f"No intervals protect {some(labels)}: even with unlimited intervals for all cells that may have one there "
                f"is not enough slack.{exception if others else ''} {remedy}",
                labels,
            )
        if not len(exposed):
            break
        barred[exposed] = True
    return IntervalSetting(problem, sides, barred, width, treatment=treatment)


def open_table(problem: Problem, treatment: Treatment, barred: BoolArray) -> Protection:
    """The protection with unlimited intervals for all cells that may have one."""
    open_ = (problem.status != Status.PUBLISHED) & ~barred & ~treatment.fixed
    value = problem.table.value
    lower, upper = (
        np.where(open_, unlimited, np.where(treatment.fixed, end, value))
        for unlimited, end in ((-np.inf, treatment.lower), (np.inf, treatment.upper))
    )
    return publish_intervals(problem, np.where(open_ | treatment.fixed, np.nan, value), lower, upper, cost=0.0)
