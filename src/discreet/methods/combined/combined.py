"""The method ``combined``: one search over cells with different treatments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import FloatArray
from discreet.data.table import digits_of
from discreet.errors import RuleError
from discreet.methods.combined.treatments import Way, Ways, ways_of
from discreet.methods.context import Run
from discreet.methods.intervals.intervals import check_sides
from discreet.methods.intervals.plan import IntervalPlan
from discreet.methods.intervals.setting import Sides, Treatment
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.protection import Protection

COMBINED_REMEDY = (
    "Suppress more cells or give them intervals, round to a larger base, widen the prior bounds of attackers, or lower "
    "protection levels."
)


@dataclass(frozen=True)
class Combined:
    """Salazar-González (2002), section 7: some cells are suppressed if necessary, some get intervals, some are rounded.

    ``publish``, ``suppress``, ``interval`` and ``round`` select cells by conditions; one of them may be ``rest``, for the cells
    that no other option selects.
    """

    publish: str = option("", "the cells that are published as they are")
    suppress: str = option("rest", "the cells that may be suppressed")
    interval: str = option("", "the cells that may get an interval")
    round: str = option("", "the cells that are rounded")
    ways: str | Mapping[str, str] | Sequence[str] | None = option(
        None,
        "file `cell,way` with the treatment of single cells, which overrides the four options above",
    )
    base: float | None = option(None, "rounded cells are published as the nearest multiple of this base")
    at_most: int | None = option(
        None, "upper limit on the number of cells not published exactly, rounded ones included"
    )
    up: float = option(1.0, "factor of the cost of the part of an interval above the value")
    down: float = option(1.0, "factor of the cost of the part of an interval below the value")
    width: float = option(0.0, "least width of an interval, as a share of the value")
    exact: bool = option(False, "the narrowest safe intervals; `publish` refuses them unless accepted")

    name = "combined"
    traits = Traits(kind="combined", proves_bound=True)
    uses_secret = True
    files: ClassVar[tuple[str, ...]] = ("ways",)

    def __post_init__(self) -> None:
        check_sides(self.up, self.down)
        if self.base is not None and not 0 < self.base < float("inf"):
            raise RuleError(f"The base of rounding is a number above 0, not {self.base}.", ["base"])
        if self.at_most is not None and self.at_most < 0:
            raise RuleError(f"The option 'at_most' is a number of cells, 0 or more, not {self.at_most}.")
        if not 0 <= self.width < float("inf"):
            raise RuleError(f"The option 'width' is a share, 0 or more, not {self.width}.", ["width"])

    def protect(self, problem: Problem, run: Run) -> Protection:
        selections = dict(zip(Way, (self.publish, self.suppress, self.interval, self.round), strict=True))
        ways = ways_of(problem, selections, self.ways)
        barred = (ways == Way.PUBLISH) & (problem.status == Status.FREE)
        plan = IntervalPlan(
            problem,
            Sides(self.up, self.down),
            self.width,
            self.at_most,
            treatment=self._treatment(problem, ways),
            barred=barred,
            remedy=COMBINED_REMEDY,
        )
        in_intervals = (ways == Way.INTERVAL) & np.isin(problem.status, (Status.FREE, Status.PRIMARY))
        found = plan.protect(run, self.name, exact=self.exact or not in_intervals.any())
        return self._noted(found, found.report.symmetric and bool(in_intervals.any()))

    def _treatment(self, problem: Problem, ways: Ways) -> Treatment:
        value = problem.table.value
        fixed = (ways == Way.ROUND) & np.isin(problem.status, (Status.FREE, Status.PRIMARY))
        shown, lower, upper = value.copy(), value.copy(), value.copy()
        if fixed.any():
            if self.base is None:
                raise RuleError(f"{int(fixed.sum()):,} cells are to be rounded: give the base of rounding.", ["base"])
            shown[fixed], lower[fixed], upper[fixed] = rounded(value[fixed], value, self.base)
        change = np.abs(shown - value) / np.where(value != 0, np.abs(value), 1.0)
        loss = float((problem.cost * change).sum())
        return Treatment(ways == Way.SUPPRESS, fixed, shown, lower, upper, loss)

    def _noted(self, found: Protection, symmetric: bool) -> Protection:
        """The protection with a note on the numbers of cells by treatment."""
        suppressed = found.suppressed & np.isinf(found.lower) & np.isinf(found.upper)
        note = f"cells suppressed: {int(suppressed.sum()):,}, in intervals: {int((found.suppressed & ~suppressed).sum()):,}"
        if found.report.n_adjusted:
            note += f", rounded to multiples of {self.base:g}: {found.report.n_adjusted:,}"
        note = f"{note}; {found.report.note}" if found.report.note else note
        return replace(found, report=replace(found.report, note=note, symmetric=symmetric))


def rounded(value: FloatArray, among: FloatArray, base: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The nearest multiples, halves rounded up, and the least and the greatest value with the same rounded value.

    Values have as many decimals as the values ``among`` them: readers know that a published 10 is 5, 6 … or 14 if all values
    are integers and the base is 10. Without a limit of decimals they know the value to within half a base.
    """
    digits = digits_of(among)
    if digits is None:
        shown = base * np.floor(value / base + 0.5)
        return shown, np.minimum(shown - base / 2, value), np.maximum(shown + base / 2, value)
    tick = 10**digits
    step = Fraction(repr(base)) * tick
    if step.denominator != 1 or step < 2:
        raise RuleError(
            f"The base {base:g} must be a multiple of the last digit of the values, {1 / tick:g}, and larger than it. "
            f"Choose a multiple of {1 / tick:g}, at least {2 / tick:g}.",
            [base],
        )
    width = int(step)
    times = [(2 * round(one * tick) + width) // (2 * width) for one in value.tolist()]
    # The least value that is rounded to each multiple: halves are rounded up.
    first = [-((-width * (2 * k - 1)) // 2) for k in times]
    shown, lower, upper = (
        np.array([one / tick for one in ticks], dtype=np.float64)
        for ticks in ([k * width for k in times], first, [one + width - 1 for one in first])
    )
    return shown, np.minimum(lower, value), np.maximum(upper, value)
