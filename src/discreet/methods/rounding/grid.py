"""Which multiples a cell may be rounded to, what that costs, and what a reader learns from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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

LARGEST = 2.0**52  # whole numbers that floats hold without loss
NOISE = 1e-9  # share of a base that values without a last decimal may miss a multiple by

Base = float | Sequence[float] | NDArray[np.floating] | NDArray[np.integer]


def bases(base: Base, cells: int) -> FloatArray:
    """One base a cell."""
    each = np.asarray(base, dtype=np.float64)
    if each.ndim and each.shape != (cells,):
        raise RuleError(f"There are {each.size} bases for the {cells:,} cells of the table: give one, or one a cell.")
    return np.broadcast_to(each, (cells,)).copy()


def check(base: Base, steps: int = 1) -> None:
    """Refuse bases and steps that make no sense."""
    try:
        given = np.asarray(base, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if not given.size or given.ndim > 1 or not np.all(np.isfinite(given) & (given > 0)):
        raise RuleError("The base to round to must be a positive number, or one for each cell.", ["base"])
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise RuleError(f"The number of steps must be a whole number from 1 on, not {steps!r}.", ["steps"])


@dataclass(frozen=True, eq=False)
class Multiples:
    """Every cell as a number of bases: the multiple next below it and the part of a base that it has beyond that."""

    value: FloatArray
    base: FloatArray
    floor: FloatArray  # in bases
    part: FloatArray  # from 0 to 1: 0 for multiples
    scale: float | None  # values and bases times this are whole numbers; None if they have no last decimal

    @staticmethod
    def of(value: FloatArray, base: FloatArray) -> Multiples:
        digits = [digits_of(column) for column in (value, base)]
        scale = None if None in digits else 10.0 ** max(d for d in digits if d is not None)
        if scale is not None and np.abs(value).max(initial=0.0) * scale < LARGEST and np.all(base * scale > 0.5):
            whole, unit = (np.rint(column * scale) for column in (value, base))
            floor = np.floor_divide(whole, unit)
            return Multiples(value, base, floor, (whole - floor * unit) / unit, scale)
        quotient = value / base
        if np.abs(quotient).max(initial=0.0) > LARGEST:
            raise RuleError("Some cells are too large beside the base to round to it. Choose a larger base.", ["base"])
        nearest = np.rint(quotient)
        close = np.abs(quotient - nearest) <= NOISE
        floor = np.where(close, nearest, np.floor(quotient))
        return Multiples(value, base, floor, np.where(close, 0.0, quotient - floor), None)

    def amount(self, steps: FloatArray, plus: FloatArray | float = 0.0) -> FloatArray:
        """``steps`` above the multiple below, and ``plus`` a bit, as the decimal it is on paper."""
        if self.scale is None:
            return np.asarray((self.floor + steps) * self.base + plus)
        unit = np.rint(self.base * self.scale)
        return np.asarray(((self.floor + steps) * unit + np.rint(np.asarray(plus) * self.scale)) / self.scale)

    @property
    def is_whole(self) -> bool:
        return self.scale == 1.0


@dataclass(frozen=True, eq=False)
class RoundingGrid:
    """For every cell: from ``least`` to ``most`` steps above the multiple below it, and how far the truth is from there.

    Cells that must be published keep their values, which are a part of a step up; cells that are suppressed already are not
    told, and may be any multiple so that the others add up.
    """

    problem: Problem
    multiples: Multiples
    least: FloatArray
    most: FloatArray
    radius: FloatArray  # readers know that the truth is this near to what is published
    is_narrowed: bool = False  # to multiples that protect cells by themselves

    @staticmethod
    def of(problem: Problem, base: Base, steps: int, zero_restricted: bool) -> RoundingGrid:
        value, status = problem.table.value, problem.status
        multiples = Multiples.of(value, bases(base, len(problem)))
        each, part, floor = multiples.base, multiples.part, multiples.floor
        further = steps - 1.0 if zero_restricted else float(steps)  # for multiples
        far = np.where((value == 0) & zero_restricted, 0.0, further)
        least, most = np.where(part == 0, -far, 1.0 - steps), np.where(part == 0, far, float(steps))
        # Nothing is published that everybody knows to be impossible, such as negative counts.
        least = np.maximum(least, np.minimum(np.floor(problem.prior_lower / each + NOISE) - floor, 0.0))
        most = np.minimum(most, np.maximum(np.ceil(problem.prior_upper / each - NOISE) - floor, np.ceil(part)))
        for kind, low, high in ((Status.PUBLISHED, part, part), (Status.SUPPRESSED, -np.inf, np.inf)):
            least, most = np.where(status == kind, low, least), np.where(status == kind, high, most)
        # Whole numbers less than so many steps apart are one less apart at most.
        radius = steps * each - (1.0 if multiples.is_whole and zero_restricted else 0.0)
        return RoundingGrid(problem, multiples, least, most, np.where(status == Status.PUBLISHED, 0.0, radius))

    @property
    def told(self) -> BoolArray:
        """Cells that are published with a multiple of the base."""
        return np.isin(self.problem.status, (Status.FREE, Status.PRIMARY))

    def published(self, steps: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What readers are told, and between which values they know the truth to be."""
        value, suppressed = self.problem.table.value, self.problem.status == Status.SUPPRESSED
        known = [
            np.where(self.told, self.multiples.amount(steps, plus), value) for plus in (0.0, -self.radius, self.radius)
        ]
        told, lower, upper = (
            np.where(suppressed, other, column) for column, other in zip(known, _NOTHING, strict=True)
        )
        return told, np.minimum(lower, value), np.maximum(upper, value)

    def deviation(self, steps: FloatArray) -> float:
        """The sum over all cells that are told of how far what is published is from the truth."""
        found = np.abs(exact_differences(self.multiples.amount(steps), self.problem.table.value))
        return float(found[self.told].sum())

    def slack(self, who: Attacker, steps: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far below and above the truth an attacker must hold each cell possible, with these steps."""
        value, suppressed = self.problem.table.value, self.problem.status == Status.SUPPRESSED
        off = self.multiples.base * (self.multiples.part - np.where(np.isfinite(steps), steps, 0.0))
        down, up = np.maximum(value - who.lower, 0.0), np.maximum(who.upper - value, 0.0)
        return (
            np.where(suppressed, down, np.minimum(down, np.maximum(self.radius + off, 0.0))),
            np.where(suppressed, up, np.minimum(up, np.maximum(self.radius - off, 0.0))),
        )

    def due(self, who: Attacker) -> BoolArray:
        """Cells that need protection: primaries, and others with levels."""
        return self.problem.protected(who, self.told & (self.radius > 0))

    def narrowed(self) -> RoundingGrid:
        """Only multiples that give every cell its levels, as far as its own interval goes: whatever else is published."""
        least, most = self.least.copy(), self.most.copy()
        least[self._exposed()] = np.inf
        for who in self.problem.attackers():
            due, (lower, upper, sliding) = self.due(who), self.problem.levels(who) * (1 - LEVEL_TOLERANCE)
            for step in self._steps(least, most, due):
                down, up = self.slack(who, np.full(len(least), step))
                short = due & ((down < lower) | (up < upper) | (down + up < sliding))
                # Slack is concave in the step, so that those that suffice are next to each other.
                below = short & (least == step)
                least[below] = step + 1
            for step in reversed(list(self._steps(least, most, due))):
                down, up = self.slack(who, np.full(len(least), step))
                short = due & ((down < lower) | (up < upper) | (down + up < sliding)) & (least <= most)
                most[short & (most == step)] = step - 1
        hopeless = self.problem.table.labels(np.flatnonzero(least > most))
        if hopeless:
            raise NoSafePatternError(
                f"No multiple of the base that may be published protects {some(hopeless)}: what a reader knows of such a cell "
                "from its own rounded value is too much already. Choose a larger base or more steps, or lower the levels.",
                hopeless,
            )
        fewer = bool(np.any((least > self.least) | (most < self.most)))
        return replace(self, least=least, most=most, is_narrowed=fewer)

    def _exposed(self) -> BoolArray:
        """Primaries that would be published as they are."""
        return np.asarray((self.problem.status == Status.PRIMARY) & (self.radius <= 0))

    @staticmethod
    def _steps(least: FloatArray, most: FloatArray, due: BoolArray) -> Iterator[int]:
        if due.any() and np.isfinite(least[due]).any():
            yield from range(int(least[due & np.isfinite(least)].min()), int(most[due].max()) + 1)


_NOTHING = (np.nan, -np.inf, np.inf)


def refuse_relations(grid: RoundingGrid) -> None:
    """Relations between cells that must be published and multiples that cannot hold, e.g. parts of a total of 7."""
    table, each = grid.problem.table, grid.multiples.base
    if len(each) and (np.ptp(each) > 0 or np.any(table.relations.data % 1)):
        return
    fixed = np.where(grid.problem.status == Status.PUBLISHED, grid.multiples.part, 0.0)
    rest = table.relations @ fixed - (table.rhs / each[0] if len(each) else table.rhs)
    bad = np.flatnonzero(np.abs(rest - np.rint(rest)) > NOISE)
    if len(bad):
        labels = [table.relation_label(int(row)) for row in bad]
        raise NoSafePatternError(
            f"No rounding is additive: cells that must be published as they are, and are no multiples of the base, stand in "
            f"relations with rounded ones, e.g. in the totals {some(labels)}. Let these cells be rounded.",
            labels,
        )
