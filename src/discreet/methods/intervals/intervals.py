"""The method: search, and say how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.errors import NoSafePatternError, RuleError
from discreet.methods.intervals.choices import Choices
from discreet.methods.intervals.prepare import prepared
from discreet.methods.intervals.publish import published
from discreet.methods.intervals.search import Search
from discreet.methods.intervals.setting import Setting, Sides
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.relations import FloatArray
from discreet.run import Run
from discreet.solvers import HighsModel

MOST = 1e9  # of a factor or share: beyond, a solver cannot tell the rest from nothing


@dataclass(frozen=True)
class Intervals:
    """Salazar-González (2002), figure 7 and section 4.3; Fischetti & Salazar-González (2003), partial cell suppression.

    A unit of width above a value costs ``up``, below it ``down`` times the cost of the cell over its value. ``at_most`` limits
    the number of intervals, those of primaries included; each costs ``fixed`` times the cost of the cell on top of its width,
    and is at least ``width`` times the value wide. With ``rounded`` ends have no more digits than the table.
    """

    up: float = 1.0
    down: float = 1.0
    at_most: int | None = None
    fixed: float = 0.0
    width: float = 0.0
    rounded: bool = True

    name = "intervals"

    def __post_init__(self) -> None:
        check_sides(self.up, self.down)
        if self.at_most is not None and self.at_most < 0:
            raise RuleError(f"At most {self.at_most} intervals cannot be published. Give a number of cells, 0 or more.")
        for name in ("fixed", "width"):
            if not 0 <= getattr(self, name) <= MOST:
                raise RuleError(
                    f"The option {name!r} is a share, from 0 to {MOST:g}, not {getattr(self, name)}.", [name]
                )

    def protect(self, problem: Problem, run: Run) -> Protection:
        setting = prepared(problem, Sides(self.up, self.down), self.width)
        limited = self.at_most is not None or self.fixed > 0 or self.width > 0
        search = Choices(setting, run, self.at_most, self.fixed) if limited else Search(setting, run)
        return found(search, run, self.name, self.rounded, self.fixed)


def found(
    search: Search | Choices, run: Run, method: str, rounded: bool, fixed: float = 0.0, **more: Any
) -> Protection:
    """What a search ends with, also if it is interrupted."""
    try:
        status = search.search()
    except KeyboardInterrupt:
        if search.z is None:
            raise
        status = "time_limit"
    if search.z is None:
        problem = search.setting.problem
        labels = problem.table.labels(problem.primaries)
        raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.", labels)
    more = {"fixed": fixed, "work": search.work(), **more}
    return told(search.setting, search.z, rounded, run, method, status, search.bound, **more)


def check_sides(up: float, down: float) -> None:
    for name, weight in (("up", up), ("down", down)):
        if not 0 <= weight <= MOST:
            raise RuleError(f"The option {name!r} is a factor, from 0 to {MOST:g}, not {weight}.", [name])


def told(
    setting: Setting, z: FloatArray, rounded: bool, run: Run, method: str, status: str, bound: float, **more: Any
) -> Protection:
    """The protection of these widths, audited."""
    found = published(
        setting,
        z,
        rounded,
        run,
        method=method,
        status=status,
        bound=bound,
        seconds=run.budget.spent,
        solver=HighsModel.name,
        seed=run.seed,
        **more,
    )
    if found is None:
        labels = setting.problem.table.labels(setting.problem.primaries)
        raise NoSafePatternError(
            "The audit found the intervals too narrow, by more than rounding errors explain. Try another seed.", labels
        )
    return replace(found, report=replace(found.report, bound=min(bound, found.report.cost)))
