"""The method of intervals, and its options."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import RuleError
from discreet.methods.context import Run
from discreet.methods.intervals.plan import IntervalPlan
from discreet.methods.intervals.setting import Sides
from discreet.methods.method import Traits, option
from discreet.problem import Problem
from discreet.protection import Protection

MAX_FACTOR = 1e9  # of costs: beyond it a solver cannot distinguish the other costs from 0


@dataclass(frozen=True)
class Intervals:
    """Salazar-González (2002), figure 7 and section 4.3; Fischetti & Salazar-González (2003), partial cell suppression.

    A unit of width above a value costs ``up``, below it ``down`` times the cost of the cell divided by its value.

    Intervals of sensitive cells are wider than their protection levels require and are drawn from the secret, so that the
    publication does not reveal where in an interval the value lies. With ``exact`` they are as narrow as the levels allow; then
    most values are the middles of their intervals, and ``publish`` refuses the table.
    """

    up: float = option(1.0, "factor of the cost of the part of an interval above the value")
    down: float = option(1.0, "factor of the cost of the part of an interval below the value")
    at_most: int | None = option(None, "upper limit on the number of intervals, those of sensitive cells included")
    fixed: float = option(0.0, "cost of an interval of any width, as a share of the cost of its cell")
    width: float = option(0.0, "least width of an interval, as a share of the value")
    rounded: bool = option(True, "round the ends outward to the digits of the table")
    exact: bool = option(False, "the narrowest safe intervals; `publish` refuses them unless accepted")

    name = "intervals"
    traits = Traits(kind="intervals", proves_bound=True, lists_zeros=True)

    @property
    def uses_secret(self) -> bool:
        return not self.exact

    def __post_init__(self) -> None:
        check_sides(self.up, self.down)
        if self.at_most is not None and self.at_most < 0:
            raise RuleError(f"At most {self.at_most} intervals cannot be published. Give a number of cells, 0 or more.")
        for name in ("fixed", "width"):
            if not 0 <= getattr(self, name) <= MAX_FACTOR:
                raise RuleError(f"The option {name!r} is from 0 to {MAX_FACTOR:g}, not {getattr(self, name)}.", [name])

    def protect(self, problem: Problem, run: Run) -> Protection:
        plan = IntervalPlan(problem, Sides(self.up, self.down), self.width, self.at_most, self.fixed, self.rounded)
        return plan.protect(run, self.name, self.exact)


def check_sides(up: float, down: float) -> None:
    for name, weight in (("up", up), ("down", down)):
        if not 0 <= weight <= MAX_FACTOR:
            raise RuleError(f"The option {name!r} is a factor, from 0 to {MAX_FACTOR:g}, not {weight}.", [name])
