"""The multiples that each cell may be rounded to, their cost, and what readers can infer from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.data.table import digits_of
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.inference.exact_numbers import exact_differences
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.problem import Problem, Status

MAX_EXACT_INTEGER = 2.0**52  # floats hold all integers up to this one
MULTIPLE_TOLERANCE = 1e-9  # share of a base within which a value is a multiple, if values have no last decimal

Base = float | Sequence[float] | NDArray[np.floating] | NDArray[np.integer]


def bases(base: Base, cells: int) -> FloatArray:
    """One base per cell."""
    each = np.asarray(base, dtype=np.float64)
    if each.ndim and each.shape != (cells,):
        raise RuleError(f"There are {each.size} bases for the {cells:,} cells of the table: give one, or one per cell.")
    return np.broadcast_to(each, (cells,)).copy()


def check(base: Base, steps: int = 1) -> None:
    """Refuse invalid bases and numbers of steps."""
    try:
        given = np.asarray(base, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if not given.size or given.ndim > 1 or not np.all(np.isfinite(given) & (given > 0)):
        raise RuleError("The base to round to must be a positive number, or one for each cell.", ["base"])
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise RuleError(f"The number of steps must be an integer from 1 on, not {steps!r}.", ["steps"])


@dataclass(frozen=True, eq=False)
class Multiples:
    """Each value as a number of bases: the multiple below it, and the part of a base beyond that."""

    value: FloatArray
    base: FloatArray
    floor: FloatArray  # in bases
    part: FloatArray  # from 0 to 1; 0 for multiples
    scale: float | None  # values and bases times this are integers; None if they have no last decimal

    @staticmethod
    def of(value: FloatArray, base: FloatArray) -> Multiples:
        digits = [digits_of(column) for column in (value, base)]
        scale = None if None in digits else 10.0 ** max(d for d in digits if d is not None)
        if (
            scale is not None
            and np.abs(value).max(initial=0.0) * scale < MAX_EXACT_INTEGER
            and np.all(base * scale > 0.5)
        ):
            number, unit = (np.rint(column * scale) for column in (value, base))
            floor = np.floor_divide(number, unit)
            return Multiples(value, base, floor, (number - floor * unit) / unit, scale)
        quotient = value / base
        if np.abs(quotient).max(initial=0.0) > MAX_EXACT_INTEGER:
            raise RuleError("Some cells are too large beside the base to round to it. Choose a larger base.", ["base"])
        nearest = np.rint(quotient)
        is_multiple = np.abs(quotient - nearest) <= MULTIPLE_TOLERANCE
        floor = np.where(is_multiple, nearest, np.floor(quotient))
        return Multiples(value, base, floor, np.where(is_multiple, 0.0, quotient - floor), None)

    def amount(self, steps: FloatArray, plus: FloatArray | float = 0.0) -> FloatArray:
        """``steps`` bases above the multiple below, plus something: the float nearest to the decimal number."""
        if self.scale is None:
            return np.asarray((self.floor + steps) * self.base + plus)
        unit = np.rint(self.base * self.scale)
        return np.asarray(((self.floor + steps) * unit + np.rint(np.asarray(plus) * self.scale)) / self.scale)

    @property
    def is_integral(self) -> bool:
        return self.scale == 1.0


@dataclass(frozen=True, eq=False)
class RoundingGrid:
    """The roundings of each cell: from ``least`` to ``most`` steps above the multiple below it.

    Cells that must be published keep their values, which are a part of a step above the multiple. Cells that are suppressed
    already may be any multiple, so that the others can be additive.
    """

    problem: Problem
    multiples: Multiples
    least: FloatArray
    most: FloatArray
    radius: FloatArray  # readers know that the true value is this near to the published one
    is_narrowed: bool = False  # to multiples that protect each cell by itself

    @staticmethod
    def of(problem: Problem, base: Base, steps: int, zero_restricted: bool) -> RoundingGrid:
        value, status = problem.table.value, problem.status
        multiples = Multiples.of(value, bases(base, len(problem)))
        each, part, floor = multiples.base, multiples.part, multiples.floor
        change = np.where((value == 0) & zero_restricted, 0.0, steps - 1.0 * zero_restricted)  # of multiples
        least, most = np.where(part == 0, -change, 1.0 - steps), np.where(part == 0, change, float(steps))
        # No value is published that all readers know to be impossible, such as a negative count.
        least = np.maximum(least, np.minimum(np.floor(problem.prior_lower / each + MULTIPLE_TOLERANCE) - floor, 0.0))
        most = np.minimum(
            most, np.maximum(np.ceil(problem.prior_upper / each - MULTIPLE_TOLERANCE) - floor, np.ceil(part))
        )
        for kind, low, high in ((Status.PUBLISHED, part, part), (Status.SUPPRESSED, -np.inf, np.inf)):
            least, most = np.where(status == kind, low, least), np.where(status == kind, high, most)
        # Integers that differ by less than so many bases differ by one less at most.
        radius = steps * each - (1.0 if multiples.is_integral and zero_restricted else 0.0)
        return RoundingGrid(problem, multiples, least, most, np.where(status == Status.PUBLISHED, 0.0, radius))

    @property
    def rounded(self) -> BoolArray:
        """Cells that are published as a multiple of the base."""
        return np.isin(self.problem.status, (Status.FREE, Status.PRIMARY))

    def published(self, steps: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The published values, and the interval in which readers know each true value to be."""
        value, suppressed = self.problem.table.value, self.problem.status == Status.SUPPRESSED
        known = [
            np.where(suppressed, unknown, np.where(self.rounded, self.multiples.amount(steps, plus), value))
            for plus, unknown in ((0.0, np.nan), (-self.radius, -np.inf), (self.radius, np.inf))
        ]
        return known[0], np.minimum(known[1], value), np.maximum(known[2], value)

    def deviation(self, steps: FloatArray) -> float:
        """The sum over all rounded cells of the distance between published and true value."""
        distance = np.abs(exact_differences(self.multiples.amount(steps), self.problem.table.value))
        return float(distance[self.rounded].sum())

    def slack(self, attacker: Attacker, steps: FloatArray | float) -> FloatArray:
        """How far below and above its true value each cell is possible for an attacker: rows down and up."""
        suppressed, prior = self.problem.status == Status.SUPPRESSED, self.problem.slack(attacker)
        off = self.multiples.base * (self.multiples.part - np.where(np.isfinite(steps), steps, 0.0))
        published = np.maximum(np.stack([self.radius + off, self.radius - off]), 0.0)
        return np.where(suppressed, prior, np.minimum(prior, published))

    def protected(self, attacker: Attacker) -> BoolArray:
        """Cells that need protection: primaries, and others with levels."""
        return self.problem.protected(attacker, self.rounded & (self.radius > 0))

    def narrowed(self) -> RoundingGrid:
        """Only multiples that give every cell its levels as far as its own interval goes, whatever else is published."""
        least, most = self.least.copy(), self.most.copy()
        least[(self.problem.status == Status.PRIMARY) & (self.radius <= 0)] = np.inf  # published as it is
        for attacker in self.problem.attackers():
            protected, levels = self.protected(attacker), self.problem.levels(attacker) * (1 - LEVEL_TOLERANCE)
            # Slack is concave in the step, so that the steps that suffice are next to each other.
            for end, direction in ((least, 1), (most, -1)):
                for step in _steps(least[protected], most[protected])[::direction]:
                    slack = self.slack(attacker, step)
                    violated = (slack < levels[:2]).any(axis=0) | (slack.sum(axis=0) < levels[2])
                    end[protected & violated & (end == step) & (least <= most)] = step + direction
        hopeless = self.problem.table.labels(np.flatnonzero(least > most))
        if hopeless:
            raise NoSafePatternError(
                f"No multiple of the base that may be published protects {some(hopeless)}: what a reader knows of such a cell "
                "from its own rounded value is too much already. Choose a larger base or more steps, or lower the levels.",
                hopeless,
            )
        fewer = bool(np.any((least > self.least) | (most < self.most)))
        return replace(self, least=least, most=most, is_narrowed=fewer)


def _steps(least: FloatArray, most: FloatArray) -> range:
    """All steps of some cells."""
    finite = least[np.isfinite(least)]
    return range(int(finite.min()), int(most.max()) + 1) if len(finite) else range(0)


def refuse_relations(grid: RoundingGrid) -> None:
    """Refuse a table in which relations of multiples and of cells that must be published cannot hold."""
    table, each = grid.problem.table, grid.multiples.base
    if len(each) and (np.ptp(each) > 0 or np.any(table.relations.data % 1)):
        return
    fixed = np.where(grid.problem.status == Status.PUBLISHED, grid.multiples.part, 0.0)
    rest = table.relations @ fixed - (table.rhs / each[0] if len(each) else table.rhs)
    bad = np.flatnonzero(np.abs(rest - np.rint(rest)) > MULTIPLE_TOLERANCE)
    if len(bad):
        labels = [table.relation_label(int(row)) for row in bad]
        raise NoSafePatternError(
            f"No rounding is additive: cells that must be published as they are, and are no multiples of the base, stand in "
            f"relations with rounded ones, e.g. in the totals {some(labels)}. Let these cells be rounded.",
            labels,
        )
