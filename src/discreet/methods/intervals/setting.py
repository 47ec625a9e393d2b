"""What is required, how far cells can deviate, and what widths cost: the numbers of a program for intervals."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.methods.core.requirements import Requirement, requirements
from discreet.problem import Problem, Status

UNLIMITED_SLACK_LEVELS = 1e3  # slack of this many of the largest level is treated as unlimited
WEIGHT_RANGE = 1e9  # widths cheaper than the costliest by more than this factor count as if they cost nothing
MAX_LEAST_WIDTH = 9e14  # in median levels: the solver takes no larger numbers
LEAST_SHARE_OF_VALUE = 1e-6  # least width of a primary without levels if values have no last decimal


@dataclass(frozen=True)
class Sides:
    """The cost of a unit of width, up and down, as multiples of the cost of a cell over its value."""

    up: float = 1.0
    down: float = 1.0

    def weights(self, problem: Problem) -> FloatArray:
        """Down and up per cell; an interval as wide as the value costs what suppressing the value costs."""
        size = np.abs(problem.table.value)
        weight = problem.cost / np.where(size > 0, size, 1.0)
        return np.stack([self.down * weight, self.up * weight])


@dataclass(frozen=True, eq=False)
class Treatment:
    """Which cells are not published with an interval of any width, one entry per cell.

    ``suppressible`` cells are published exactly or suppressed; ``fixed`` cells are published with the value ``shown`` in any
    case, which stands for the interval from ``lower`` to ``upper``. The cost of all fixed cells is ``loss``.
    """

    suppressible: BoolArray
    fixed: BoolArray
    shown: FloatArray
    lower: FloatArray
    upper: FloatArray
    loss: float = 0.0

    @classmethod
    def none(cls, problem: Problem) -> Treatment:
        no_cell = np.zeros(len(problem), dtype=bool)
        value = problem.table.value
        return cls(no_cell, no_cell, value, value, value)


@dataclass(frozen=True, eq=False)
class Placement:
    """The congruent table that intervals are made around: the true table of ``problem`` plus the ``shift`` of each cell.

    Intervals reach at least ``cover`` below and above it, so that they contain the true values; intervals of sensitive cells
    are published as far as ``drawn``, even if the relations let the cells reach less. Rounding takes no end beyond ``known``
    bounds. Widths that end at the true value, or at a bound of it that attackers may know, grow by the share ``beyond``.
    """

    problem: Problem
    shift: FloatArray
    cover: FloatArray
    drawn: FloatArray
    known: FloatArray
    beyond: FloatArray

    @classmethod
    def none(cls, problem: Problem) -> Placement:
        """Intervals around true values."""
        zero = np.zeros((2, len(problem)))
        known = np.stack([problem.prior_lower, problem.prior_upper])
        return cls(problem, np.zeros(len(problem)), zero, zero, known, zero)

    def moved(self, shift: FloatArray) -> Placement:
        """The same around another table, which differs from this one by a shift."""
        shift = self.shift + shift
        return replace(self, shift=shift, cover=np.stack([np.maximum(shift, 0.0), np.maximum(-shift, 0.0)]))


class IntervalSetting:
    """Arrays over the cells that may get an interval: lengths in units of the median level, costs in units of the median weight.

    Cells that are ``barred`` are published exactly, those ``chosen`` are not; ``width`` is the least width of an interval as a
    share of the value. ``floor`` is the least width of each interval. The slack of ``settled`` cells does not depend on widths:
    they are suppressed, may be suppressed, or have fixed intervals. Levels of the problem are distances from true values; here
    all lengths are distances from the table of the ``placement``.
    """

    def __init__(
        self,
        problem: Problem,
        sides: Sides,
        barred: BoolArray | None = None,
        width: float = 0.0,
        chosen: BoolArray | None = None,
        treatment: Treatment | None = None,
        placement: Placement | None = None,
    ) -> None:
        no_cell = np.zeros(len(problem), dtype=bool)
        self.problem, self.sides, self.width_share, self.chosen = problem, sides, width, chosen
        self.treatment = treatment = treatment or Treatment.none(problem)
        self.placement = placement = placement or Placement.none(problem)
        attackers = problem.attackers()
        self.centre = centre = problem.table.value + placement.shift
        self.barred = barred = no_cell if barred is None else barred
        chosen = no_cell if chosen is None else chosen
        primary, free, suppressed = (
            problem.status == each for each in (Status.PRIMARY, Status.FREE, Status.SUPPRESSED)
        )
        self.suppressed = suppressed | (treatment.suppressible & (primary | chosen))
        self.constant = treatment.loss + float(problem.cost[treatment.suppressible & self.suppressed].sum())
        self._levels = np.array([_around(problem.levels(each), placement.shift) for each in attackers])
        level = np.where(primary | (free & ~barred), self._levels.max(axis=0), 0.0)
        level = level[level > 0]
        self.unit = float(np.median(level)) if len(level) else 1.0
        unlimited = UNLIMITED_SLACK_LEVELS * float(level.max(initial=0.0))
        fixed = np.where(treatment.fixed, np.stack([centre - treatment.lower, treatment.upper - centre]), np.inf)
        slacks = [np.stack([centre - each.lower, each.upper - centre]) for each in attackers]
        exact = (problem.status == Status.PUBLISHED) | barred
        slacks = [np.where(exact, 0.0, np.clip(np.minimum(slack, fixed), 0.0, unlimited)) for slack in slacks]
        self.cells = np.flatnonzero(slacks[0].any(axis=0) | primary)  # the outsider knows least
        self.place = np.full(len(problem), -1)
        self.place[self.cells] = np.arange(len(self.cells))
        self.slacks = [slack[:, self.cells] / self.unit for slack in slacks]
        self.cap = self.slacks[0]
        settled = suppressed | treatment.suppressible | treatment.fixed
        self.settled, self.primary = settled[self.cells], primary[self.cells]
        self.suppressible = (treatment.suppressible & ~suppressed)[self.cells]
        self._cover = np.where(settled, 0.0, placement.cover)[:, self.cells] / self.unit
        self.relations = problem.table.relations_of(self.cells)
        self.true_weight = np.where(settled, 0.0, sides.weights(problem))
        weight = self.true_weight[:, self.cells]
        weights = np.r_[weight.ravel(), problem.cost[self.cells][self.suppressible] / self.unit]
        usual = float(np.median(weights[weights > 0])) if np.any(weights > 0) else 1.0
        self.weight = np.where(weight * WEIGHT_RANGE < weight.max(initial=0.0), 0.0, weight) / usual
        self.price = usual * self.unit
        self.width = self._least_widths(width)
        self.unconditional = primary | (free & (treatment.fixed | (treatment.suppressible & chosen)))
        self.requirements = self._requirements(np.flatnonzero(self.unconditional))
        least = np.where(primary, np.maximum(self.width, self._last_digit()), 0.0)
        least = np.where(chosen, np.maximum(self.width, least), least)
        self.floor = np.where(settled, 0.0, least)[self.cells]

    def _least_widths(self, share: float) -> FloatArray:
        """The least width of each interval as a share of the value."""
        width = share * np.abs(self.problem.table.value) / self.unit
        too_large = np.flatnonzero(width > MAX_LEAST_WIDTH)
        if len(too_large):
            labels = self.problem.table.labels(too_large)
            raise RuleError(
                f"{some(labels)}: too large beside the protection levels for width={share:g}. Leave the option out.",
                labels,
            )
        return np.asarray(width)

    def _last_digit(self) -> FloatArray:
        """The least width of a primary without levels."""
        value, digits = self.problem.table.value, digits_of(self.problem.table.value)
        if digits is not None:
            return np.full(len(value), 10.0**-digits / self.unit)
        return np.where(value != 0, np.abs(value), 1.0) * LEAST_SHARE_OF_VALUE / self.unit

    def _requirements(self, cells: IntArray) -> list[list[Requirement]]:
        places = self.place[cells].tolist()
        return [requirements(levels[:, cells] / self.unit, places) for levels in self._levels]

    def conditional(self, chosen: BoolArray | bool = True) -> list[list[Requirement]]:
        """The requirements by attacker of free cells, or of those chosen: they count if a cell is not published exactly."""
        free = (self.problem.status == Status.FREE) & ~self.unconditional
        return self._requirements(np.flatnonzero(chosen & free & (self.place >= 0)))

    def around(self, placement: Placement) -> IntervalSetting:
        """The same lengths as distances from the table of another placement: for widths that are found already."""
        moved = copy(self)
        moved.placement, moved.centre = placement, self.problem.table.value + placement.shift
        return moved

    def forget(self, z: FloatArray) -> None:
        """Cells that turn out to need no interval need no width."""
        self.floor = np.where(self.primary | z.any(axis=0), self.floor, 0.0)

    def least(self, requirements: Sequence[Sequence[Requirement]]) -> FloatArray:
        """The least widths, down and up per cell: the interval of a cell contains its own levels."""
        least = self._cover.copy()
        for requirement in (each for by_attacker in requirements for each in by_attacker):
            if len(requirement.sides) == 1:
                place = requirement.sides[0], requirement.cell
                least[place] = max(least[place], requirement.level)
        return np.minimum(least, self.cap)

    def cost(self, z: FloatArray) -> float:
        """The cost of widths, in true units, with what is missing to the least width."""
        pad = np.maximum(self.floor - z.sum(axis=0), 0.0)
        return float((self.weight * z).sum() + (self.weight.min(axis=0) * pad).sum()) * self.price + self.constant


def no_safe_intervals(setting: IntervalSetting) -> NoSafePatternError:
    """The error if no intervals meet all requirements."""
    return NoSafePatternError(
        "No intervals protect all cells at once. Let more cells have intervals, widen the prior bounds of "
        "attackers, or lower protection levels, also of cells that need protection only if they get an interval.",
        setting.problem.table.labels(setting.problem.primaries),
    )


def _around(levels: FloatArray, shift: FloatArray) -> FloatArray:
    """Levels as distances from the table of the placement, which lies above the true one by ``shift``."""
    required = levels[:2].any(axis=0)
    moved = np.maximum(np.stack([levels[0] + shift, levels[1] - shift]), 0.0)
    return np.vstack([np.where(required, moved, 0.0), levels[2:]])
