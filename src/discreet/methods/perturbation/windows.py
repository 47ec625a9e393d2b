"""Between which values each cell may be published, and what readers are told then; in whole units of the last digit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import unit_of
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.inference.integer_system import integer_weights, nonintegral_relations
from discreet.methods.perturbation.announcement import Announcement
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

HAIR = 1e-9  # of a unit: noise in what is worked out with floats
FINER = 2  # intervals are told with so many digits more than values
DIGITS = 6  # but with no more than these
LARGEST = 2.0**53  # units: floats hold no larger whole numbers without loss
CHEAP = 1e-6  # what changes of cells that cost nothing count, as a share of the usual


class NoSlackError(NoSafePatternError):
    """What readers would be told is too close to some cells."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Changes of cells, ``low`` to ``high`` in units, and how far from the published value ``v`` readers hold cells possible.

    That is ``base + slope · v``, where ``slope`` has the sign of the cell; suppressed cells have no window and nothing is told.
    """

    problem: Problem
    unit: float
    digits: int | None
    low: FloatArray
    high: FloatArray
    base: FloatArray
    slope: FloatArray
    weight: FloatArray  # what a change by one unit costs

    @classmethod
    def announced(cls, problem: Problem, said: Announcement) -> Windows:
        """As far as the announcement is true."""
        value = problem.table.value
        sign = np.where(
            (value < 0) | ((value == 0) & (problem.prior_lower < 0) & (problem.prior_upper <= 0)), -1.0, 1.0
        )
        share = said.percent / 100
        size = np.abs(value)
        most, least = (size + said.margin) / (1 - share), np.maximum((size - said.margin) / (1 + share), 0.0)
        low, high = np.where(sign > 0, least, -most), np.where(sign > 0, most, -least)
        return cls._of(problem, low, high, np.full(len(problem), said.margin), share * sign)

    @classmethod
    def given(cls, problem: Problem, floor: FloatArray, ceiling: FloatArray) -> Windows:
        """As the office says; readers know how wide windows are."""
        floor, ceiling = np.asarray(floor, dtype=float), np.asarray(ceiling, dtype=float)
        value = problem.table.value
        if floor.shape != value.shape or ceiling.shape != value.shape:
            raise RuleError(f"The floors and ceilings are not one number for each of the {len(value):,} cells.")
        wrong = np.flatnonzero(~((floor <= value) & (value <= ceiling) & np.isfinite(ceiling - floor)))
        if len(wrong):
            labels = problem.table.labels(wrong)
            raise RuleError(f"{len(labels)} cells lie outside their floors and ceilings: {some(labels)}.", labels)
        return cls._of(problem, floor, ceiling, ceiling - floor, np.zeros(len(value)))

    @classmethod
    def _of(cls, problem: Problem, low: FloatArray, high: FloatArray, base: FloatArray, slope: FloatArray) -> Windows:
        table, status = problem.table, problem.status
        if nonintegral_relations(integer_weights(table.relations)).any():
            raise RuleError(
                "Relations have weights that are no simple fractions: changes cannot be made to add up exactly."
            )
        fixed, suppressed = status == Status.PUBLISHED, status == Status.SUPPRESSED
        base, slope = (np.where(fixed | suppressed, 0.0, part) for part in (base, slope))
        low = np.maximum(np.where(suppressed, -np.inf, low), problem.prior_lower) - table.value
        high = np.minimum(np.where(suppressed, np.inf, high), problem.prior_upper) - table.value
        unit, digits = unit_of(table.value)
        if np.abs(table.value).max(initial=0.0) > LARGEST * unit:
            raise RuleError(
                "Some figures are too large beside the last digit of the table for sums to be exact. Give figures in thousands "
                "or millions, or round them."
            )
        if base.max(initial=0.0) > LARGEST * unit:
            raise RuleError(
                "Windows are too wide beside the last digit of the table for sums to be exact. Narrow them."
            )
        cost = np.where(suppressed, 0.0, problem.cost) / np.maximum(np.abs(table.value), unit)
        usual = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        weight = np.where(suppressed, 0.0, np.maximum(cost, CHEAP * usual)) * unit
        still = fixed | (~suppressed & (base == 0) & ((slope == 0) | (table.value == 0)))
        low, high = (
            np.where(still, 0.0, part)
            for part in (np.minimum(np.ceil(low / unit - HAIR), 0.0), np.maximum(np.floor(high / unit + HAIR), 0.0))
        )
        return cls(problem, unit, digits, low, high, base, slope, weight)._with_slack()

    def _with_slack(self) -> Windows:
        """Only values whose own interval leaves slack for the levels of the cell, whatever others do."""
        problem, value = self.problem, self.problem.table.value
        lower, upper = (np.where(self._due(), level, 0.0) for level in problem.strictest[:2])
        # v − r ≤ a − lower and v + r ≥ a + upper, with r = base + slope · v
        most = (value - lower + self.base) / (1 - self.slope) - value
        least = (value + upper - self.base) / (1 + self.slope) - value
        low = np.where(self._due(), np.maximum(self.low, np.ceil(least / self.unit - HAIR)), self.low)
        high = np.where(self._due(), np.minimum(self.high, np.floor(most / self.unit + HAIR)), self.high)
        told = self._due() & (self.reach(value) == 0) & (problem.status == Status.PRIMARY)
        stuck = np.flatnonzero((low > high) | told)
        if len(stuck):
            labels = problem.table.labels(stuck)
            raise NoSlackError(
                f"No published value leaves {some(labels)} slack for their protection levels: what readers are told is too "
                "close. Let figures be off by more, or ask for less protection.",
                labels,
            )
        return self.within(low, high)

    def _due(self) -> NDArray[np.bool_]:
        """Cells that levels are for: sensitive ones, and free ones that are not simply told."""
        status = self.problem.status
        free = (status == Status.FREE) & (self.reach(self.problem.table.value) > 0)
        return np.asarray((status == Status.PRIMARY) | free)

    def within(self, low: FloatArray, high: FloatArray) -> Windows:
        """The same with other bounds."""
        return Windows(self.problem, self.unit, self.digits, low, high, self.base, self.slope, self.weight)

    def reach(self, published: FloatArray) -> FloatArray:
        """How far from a published value readers hold the true one possible."""
        return np.asarray(self.base + self.slope * published)

    def published(self, change: IntArray) -> FloatArray:
        value = self.problem.table.value
        if self.digits is None:
            return np.asarray(value + change * self.unit)
        # Through whole numbers, so that figures are those that people would write down.
        return np.asarray(np.round(np.rint(value / self.unit) + change, 0) / 10.0**self.digits)

    def cost(self, change: IntArray) -> float:
        return float(self.weight @ np.abs(change))

    def intervals(self, published: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What readers learn: the published value and what it may be off by, rounded outwards."""
        far = self.reach(published)
        lower, upper = published - far, published + far
        if self.digits is None:
            lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
        else:
            places = 10.0 ** min(self.digits + FINER, max(DIGITS, self.digits))
            lower, upper = np.floor(lower * places + 1e-3) / places, np.ceil(upper * places - 1e-3) / places
        value, exactly = self.problem.table.value, far == 0
        lower, upper = np.minimum(lower, value), np.maximum(upper, value)
        return np.where(exactly, value, lower), np.where(exactly, value, upper)

    def tell(self, change: IntArray, *, cost: float = 0.0, **report: Any) -> Protection:
        """The protection that publishes these changes."""
        suppressed = self.problem.status == Status.SUPPRESSED
        published = self.published(change)
        lower, upper = self.intervals(published)
        exactly = lower == upper
        return publish_intervals(
            self.problem,
            np.where(suppressed, np.nan, np.where(exactly, self.problem.table.value, published)),
            np.where(suppressed, -np.inf, lower),
            np.where(suppressed, np.inf, upper),
            cost=cost,
            **report,
        )
