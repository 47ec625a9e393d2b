"""Before any program: what cannot be protected at all, and which free cells had better be told exactly."""

from __future__ import annotations

import numpy as np

from discreet.audit import audit
from discreet.errors import NoSafePatternError, some
from discreet.methods.intervals.setting import Setting, Sides
from discreet.problem import BoolArray, Problem, Status
from discreet.protection import suppress


def prepared(problem: Problem, sides: Sides, width: float = 0.0) -> Setting:
    """The setting, without free cells that nothing would protect once they get an interval."""
    return Setting(problem, sides, _hopeless(problem), width)


def _hopeless(problem: Problem) -> BoolArray:
    """Free cells whose own levels are out of reach, however wide intervals are; an error where a primary's are."""
    barred = np.zeros(len(problem), dtype=bool)
    if not len(problem.primaries):
        return barred
    while True:
        seen = audit(problem, suppress(problem, (problem.status != Status.PUBLISHED) & ~barred), intervals=False)
        exposed = np.unique(seen.cell[~seen.safe])
        primaries = exposed[problem.status[exposed] == Status.PRIMARY]
        if len(primaries):
            raise out_of_reach(problem, primaries.tolist(), np.flatnonzero(barred).tolist())
        if not len(exposed):
            return barred
        barred[exposed] = True


def out_of_reach(problem: Problem, cells: list[int], barred: list[int]) -> NoSafePatternError:
    labels, others = problem.table.labels(cells), problem.table.labels(barred)
    beside = (
        f" Cells that cannot be protected themselves once they get an interval, {some(others)}, are no help."
        if others
        else ""
    )
    return NoSafePatternError(
        f"No intervals protect {some(labels)}: even without any limit to the intervals of all cells that may have one there "
        f"is not room enough.{beside} Let more cells have intervals, widen the bounds people are said to know, or lower "
        "protection levels.",
        labels,
    )
