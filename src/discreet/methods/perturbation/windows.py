"""The values that each cell may be published with, and the intervals published with them; in units of the last digit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import unit_of
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.inference.integer_system import integer_weights, nonintegral_relations
from discreet.methods.perturbation.announcement import Announcement
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

WINDOW_TOLERANCE = 1e-9  # of a unit: rounding errors of sums of floats
EXTRA_INTERVAL_DIGITS = 2  # decimals of interval ends beyond those of values, so that rounding outwards adds little
MAX_INTERVAL_DIGITS = 6  # decimals of interval ends, unless values have more: longer numbers are hard to read
MAX_EXACT_UNITS = 2.0**53  # floats represent all integers up to this one exactly
MIN_COST_SHARE = 1e-6  # of the median cost, that changes of cells without costs count: none without need


class NoSlackError(NoSafePatternError):
    """The published intervals are too narrow for the protection levels of some cells."""


@dataclass(frozen=True, eq=False)
class Senses:
    """Cells that must change by at least ``up`` units up or at least ``down`` units down."""

    cells: IntArray
    up: FloatArray
    down: FloatArray


@dataclass(frozen=True, eq=False)
class Windows:
    """The smallest and largest change of each cell, ``low`` and ``high`` in units, and the half width of its interval.

    A cell published as ``v`` has the interval ``v ± (base + slope · v)``, where ``slope`` has the sign of the cell. Suppressed
    cells have no published interval.
    """

    problem: Problem
    unit: float
    digits: int | None
    low: FloatArray
    high: FloatArray
    base: FloatArray
    slope: FloatArray
    weight: FloatArray  # cost of a change by one unit

    @classmethod
    def announced(cls, problem: Problem, announcement: Announcement) -> Windows:
        """All values that are consistent with the announcement."""
        value = problem.table.value
        sign = np.where(
            (value < 0) | ((value == 0) & (problem.prior_lower < 0) & (problem.prior_upper <= 0)), -1.0, 1.0
        )
        margin, share, size = announcement.margin, announcement.percent / 100, np.abs(value)
        largest, smallest = (size + margin) / (1 - share), np.maximum((size - margin) / (1 + share), 0.0)
        low, high = np.where(sign > 0, smallest, -largest), np.where(sign > 0, largest, -smallest)
        return cls._of(problem, low, high, np.full(len(problem), margin), share * sign)

    @classmethod
    def given(cls, problem: Problem, floor: FloatArray, ceiling: FloatArray) -> Windows:
        """Between given floors and ceilings; readers know the difference of the two."""
        floor, ceiling = np.asarray(floor, dtype=float), np.asarray(ceiling, dtype=float)
        value = problem.table.value
        if floor.shape != value.shape or ceiling.shape != value.shape:
            raise RuleError(
                f"The floors and ceilings are not one number for each of the {len(value):,} cells: "
                "give them in the order of the table."
            )
        wrong = np.flatnonzero(~((floor <= value) & (value <= ceiling) & np.isfinite(ceiling - floor)))
        if len(wrong):
            labels = problem.table.labels(wrong)
            raise RuleError(
                f"{len(labels)} cells lie outside their floors and ceilings: {some(labels)}. Widen these.", labels
            )
        return cls._of(problem, floor, ceiling, ceiling - floor, np.zeros(len(value)))

    @classmethod
    def _of(cls, problem: Problem, low: FloatArray, high: FloatArray, base: FloatArray, slope: FloatArray) -> Windows:
        table, status = problem.table, problem.status
        if nonintegral_relations(integer_weights(table.relations)).any():
            raise RuleError(
                "Relations have weights that are no simple fractions: changes cannot add up exactly. "
                "Choose a method that suppresses."
            )
        fixed, suppressed = status == Status.PUBLISHED, status == Status.SUPPRESSED
        base, slope = (np.where(fixed | suppressed, 0.0, part) for part in (base, slope))
        unit, digits = unit_of(table.value)
        if np.abs(table.value).max(initial=0.0) > MAX_EXACT_UNITS * unit:
            raise RuleError(
                "Some figures are too large beside the last digit of the table for sums to be exact. Give figures in thousands "
                "or millions, or round them."
            )
        if base.max(initial=0.0) > MAX_EXACT_UNITS * unit:
            raise RuleError("Windows are too wide beside the last digit of the table for exact sums. Narrow them.")
        low = np.maximum(np.where(suppressed, -np.inf, low), problem.prior_lower) - table.value
        high = np.minimum(np.where(suppressed, np.inf, high), problem.prior_upper) - table.value
        unchanged = fixed | (~suppressed & (base == 0) & ((slope == 0) | (table.value == 0)))
        low = np.where(unchanged, 0.0, np.minimum(np.ceil(low / unit - WINDOW_TOLERANCE), 0.0))
        high = np.where(unchanged, 0.0, np.maximum(np.floor(high / unit + WINDOW_TOLERANCE), 0.0))
        cost = np.where(suppressed, 0.0, problem.cost) / np.maximum(np.abs(table.value), unit)
        usual = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        weight = np.where(suppressed, 0.0, np.maximum(cost, MIN_COST_SHARE * usual)) * unit
        return cls(problem, unit, digits, low, high, base, slope, weight)._with_slack()

    def _with_slack(self) -> Windows:
        """Only values whose own interval leaves the slack that the protection levels of the cell require."""
        problem, value, status = self.problem, self.problem.table.value, self.problem.status
        exact = self.half_width(value) == 0
        protected = (status == Status.PRIMARY) | ((status == Status.FREE) & ~exact)
        lower, upper = (np.where(protected, level, 0.0) for level in problem.strictest[:2])
        # v − r ≤ a − lower and v + r ≥ a + upper, with the half width r = base + slope · v
        most = (value - lower + self.base) / (1 - self.slope) - value
        least = (value + upper - self.base) / (1 + self.slope) - value
        low = np.where(protected, np.maximum(self.low, np.ceil(least / self.unit - WINDOW_TOLERANCE)), self.low)
        high = np.where(protected, np.minimum(self.high, np.floor(most / self.unit + WINDOW_TOLERANCE)), self.high)
        unprotected = np.flatnonzero((low > high) | (exact & (status == Status.PRIMARY)))
        if len(unprotected):
            labels = problem.table.labels(unprotected)
            raise NoSlackError(
                f"No published value leaves {some(labels)} slack for their protection levels: the published intervals are too "
                "narrow. Allow larger changes, or lower the protection levels.",
                labels,
            )
        return self.within(low, high)

    def within(self, low: FloatArray, high: FloatArray) -> Windows:
        """The same with other bounds of the changes."""
        return replace(self, low=low, high=high)

    def pinned(self, cells: IntArray, change: FloatArray | IntArray | float) -> Windows:
        """The same with given changes of some cells."""
        low, high = self.low.copy(), self.high.copy()
        low[cells] = high[cells] = change
        return self.within(low, high)

    def directed(self, senses: Senses, up: BoolArray) -> Windows:
        """The same with the direction of each sensitive cell given."""
        low, high, cells = self.low.copy(), self.high.copy(), senses.cells
        low[cells] = np.where(up, np.maximum(low[cells], senses.up), low[cells])
        high[cells] = np.where(up, high[cells], np.minimum(high[cells], -senses.down))
        return self.within(low, high)

    def half_width(self, published: FloatArray) -> FloatArray:
        """How far the true value may be from a published one, according to the publication."""
        return np.asarray(self.base + self.slope * published)

    def published(self, change: IntArray) -> FloatArray:
        value = self.problem.table.value
        if self.digits is None:
            return np.asarray(value + change * self.unit)
        # From integers to the nearest float of the decimal number, without the rounding errors of a sum.
        return np.asarray(np.round(np.rint(value / self.unit) + change, 0) / 10.0**self.digits)

    def cost(self, change: IntArray) -> float:
        return float(self.weight @ np.abs(change))

    def intervals(self, published: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The intervals of published values, rounded outwards; suppressed cells may have any value."""
        half_width = self.half_width(published)
        lower, upper = published - half_width, published + half_width
        if self.digits is None:
            lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
        else:
            places = 10.0 ** min(self.digits + EXTRA_INTERVAL_DIGITS, max(MAX_INTERVAL_DIGITS, self.digits))
            lower, upper = np.floor(lower * places + 1e-3) / places, np.ceil(upper * places - 1e-3) / places
        value, cases = self.problem.table.value, [self.problem.status == Status.SUPPRESSED, half_width == 0]
        lower = np.select(cases, [-np.inf, value], np.minimum(lower, value))
        return lower, np.select(cases, [np.inf, value], np.maximum(upper, value))

    def protection(self, change: IntArray, *, cost: float = 0.0, **report: Any) -> Protection:
        """The protection that publishes these changes."""
        published = self.published(change)
        lower, upper = self.intervals(published)
        cases = [self.problem.status == Status.SUPPRESSED, lower == upper]
        shown = np.select(cases, [np.nan, self.problem.table.value], published)
        return publish_intervals(self.problem, shown, lower, upper, cost=cost, **report)
