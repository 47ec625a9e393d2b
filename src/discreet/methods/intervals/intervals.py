"""The method of intervals, and its options."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import RuleError
from discreet.methods.context import Run
from discreet.methods.intervals.plan import IntervalPlan
from discreet.methods.intervals.setting import Sides
from discreet.methods.method import Traits
from discreet.problem import Problem
from discreet.protection import Protection

MOST = 1e9  # of a factor or share: beyond, a solver cannot tell the rest from nothing


@dataclass(frozen=True)
class Intervals:
    """Salazar-González (2002), figure 7 and section 4.3; Fischetti & Salazar-González (2003), partial cell suppression.

    A unit of width above a value costs ``up``, below it ``down`` times the cost of the cell over its value. ``at_most`` limits
    the number of intervals, those of primaries included; each costs ``fixed`` times the cost of the cell on top of its width,
    and is at least ``width`` times the value wide. With ``rounded`` ends have no more digits than the table.

    Intervals are wider than levels ask, and drawn from the secret so that nothing published tells where in them values are.
    With ``exact`` they are as narrow as levels allow, which mostly puts values in their middles: it is refused by ``publish``.
    """

    up: float = 1.0
    down: float = 1.0
    at_most: int | None = None
    fixed: float = 0.0
    width: float = 0.0
    rounded: bool = True
    exact: bool = False

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
            if not 0 <= getattr(self, name) <= MOST:
                raise RuleError(
                    f"The option {name!r} is a share, from 0 to {MOST:g}, not {getattr(self, name)}.", [name]
                )

    def protect(self, problem: Problem, run: Run) -> Protection:
        plan = IntervalPlan(problem, Sides(self.up, self.down), self.width, self.at_most, self.fixed, self.rounded)
        return plan.protect(run, self.name, self.exact)


def check_sides(up: float, down: float) -> None:
    for name, weight in (("up", up), ("down", down)):
        if not 0 <= weight <= MOST:
            raise RuleError(f"The option {name!r} is a factor, from 0 to {MOST:g}, not {weight}.", [name])
