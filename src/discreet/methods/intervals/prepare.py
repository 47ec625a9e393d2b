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
    """The setting without free cells that could not be protected if they had an interval."""
    barred = np.zeros(len(problem), dtype=bool) if barred is None else barred.copy()
    treatment = treatment or Treatment.none(problem)
    _bar_unprotectable(problem, treatment, barred, remedy)
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


def _bar_unprotectable(problem: Problem, treatment: Treatment, barred: BoolArray, remedy: str) -> None:
    """Bar free cells whose levels cannot be reached even with unlimited intervals; an error for such primaries."""
    must = (problem.status == Status.PRIMARY) | treatment.fixed
    given = barred.copy()
    while must.any():
        exposed = exposed_cells(problem, open_table(problem, treatment, barred))
        if must[exposed].any():
            raise out_of_reach(
                problem, exposed[must[exposed]].tolist(), np.flatnonzero(barred & ~given).tolist(), remedy
            )
        if not len(exposed):
            return
        barred[exposed] = True


def out_of_reach(problem: Problem, cells: list[int], barred: list[int], remedy: str) -> NoSafePatternError:
    """The error for cells that no intervals protect."""
    labels, others = problem.table.labels(cells), problem.table.labels(barred)
    exception = (
        f" The cells {some(others)} get no interval, because they could not be protected themselves." if others else ""
    )
    return NoSafePatternError(
        f"No intervals protect {some(labels)}: even with unlimited intervals for all cells that may have one there "
        f"is not enough slack.{exception} {remedy}",
        labels,
    )
