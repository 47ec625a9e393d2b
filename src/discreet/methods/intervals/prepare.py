"""Before any program: what cannot be protected at all, and which free cells had better be told exactly."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray
from discreet.audit import audit
from discreet.errors import NoSafePatternError, some
from discreet.methods.intervals.setting import IntervalSetting, Sides, Treatment
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

REMEDY = "Let more cells have intervals, widen the bounds people are said to know, or lower protection levels."


def prepared(
    problem: Problem,
    sides: Sides,
    width: float = 0.0,
    treatment: Treatment | None = None,
    barred: BoolArray | None = None,
    remedy: str = REMEDY,
) -> IntervalSetting:
    """The setting, without free cells that nothing would protect once they are not told exactly."""
    barred = np.zeros(len(problem), dtype=bool) if barred is None else barred.copy()
    treatment = treatment or Treatment.none(problem)
    _bar_hopeless(problem, treatment, barred, remedy)
    return IntervalSetting(problem, sides, barred, width, treatment=treatment)


def open_table(problem: Problem, treatment: Treatment, barred: BoolArray) -> Protection:
    """The least that can be published: nothing limits the interval of any cell that may have one."""
    open_ = (problem.status != Status.PUBLISHED) & ~barred & ~treatment.fixed
    value = problem.table.value
    lower, upper = (
        np.where(open_, endless, np.where(treatment.fixed, end, value))
        for endless, end in ((-np.inf, treatment.lower), (np.inf, treatment.upper))
    )
    return publish_intervals(problem, np.where(open_ | treatment.fixed, np.nan, value), lower, upper, cost=0.0)


def _bar_hopeless(problem: Problem, treatment: Treatment, barred: BoolArray, remedy: str) -> None:
    """Bar free cells whose own levels are out of reach, however little is told; an error where a primary's are."""
    must = (problem.status == Status.PRIMARY) | treatment.fixed
    given = barred.copy()
    while must.any():
        seen = audit(problem, open_table(problem, treatment, barred), intervals=False)
        exposed = np.unique(seen.cell[~seen.safe])
        if must[exposed].any():
            raise out_of_reach(
                problem, exposed[must[exposed]].tolist(), np.flatnonzero(barred & ~given).tolist(), remedy
            )
        if not len(exposed):
            return
        barred[exposed] = True


def out_of_reach(problem: Problem, cells: list[int], barred: list[int], remedy: str) -> NoSafePatternError:
    labels, others = problem.table.labels(cells), problem.table.labels(barred)
    beside = (
        f" Cells that cannot be protected themselves once they get an interval, {some(others)}, are no help."
        if others
        else ""
    )
    return NoSafePatternError(
        f"No intervals protect {some(labels)}: even without any limit to the intervals of all cells that may have one there "
        f"is not slack enough.{beside} {remedy}",
        labels,
    )
