"""What has to be possible, how far cells can go, and what it costs: the numbers of a program for intervals."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.errors import RuleError, some
from discreet.methods.core.requirements import Requirement, requirements
from discreet.problem import Problem, Status

AMPLE = 1e3  # this many times the largest level are as good as endless
SPREAD = 1e9  # cells that cost less than the dearest by this factor cost as good as nothing
WIDEST = 9e14  # usual levels: the solver takes no larger numbers
UNTOLD = 1e-6  # of its value a primary without levels is suppressed in, where values are not round


@dataclass(frozen=True)
class Sides:
    """What a unit of width costs, up and down, as multiples of a cell's cost over its value."""

    up: float = 1.0
    down: float = 1.0

    def weights(self, problem: Problem) -> FloatArray:
        """By side and cell; an interval as wide as the value costs what suppressing the value costs."""
        size = np.abs(problem.table.value)
        weight = problem.cost / np.where(size > 0, size, 1.0)
        return np.stack([self.down * weight, self.up * weight])


@dataclass(frozen=True, eq=False)
class Treatment:
    """Which cells are told otherwise than by an interval as wide as it takes, one entry a cell.

    ``whole`` cells are told exactly or not at all; ``fixed`` ones are ``shown`` with another value in any case, which stands for
    the interval ``lower`` to ``upper``, at a cost of ``loss`` in all.
    """

    whole: BoolArray
    fixed: BoolArray
    shown: FloatArray
    lower: FloatArray
    upper: FloatArray
    loss: float = 0.0

    @classmethod
    def none(cls, problem: Problem) -> Treatment:
        nobody = np.zeros(len(problem), dtype=bool)
        value = problem.table.value
        return cls(nobody, nobody, value, value, value)


@dataclass(frozen=True, eq=False)
class Placement:
    """The congruent table that intervals are made around: the true one of ``problem``, each cell moved by its ``shift``.

    Intervals reach at least as far below and above it as ``cover`` says, so that they hold the true values; those of sensitive
    cells are published as far as ``drawn`` says, also where relations let cells reach less. No end goes beyond ``known`` bounds
    by rounding; widths that end at the true value, or at a bound that attackers are said to know of it, grow by the share
    ``beyond``.
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
        nothing = np.zeros((2, len(problem)))
        known = np.stack([problem.prior_lower, problem.prior_upper])
        return cls(problem, np.zeros(len(problem)), nothing, nothing, known, nothing)

    def moved(self, shift: FloatArray) -> Placement:
        """The same around a table that is so far away from this one."""
        shift = self.shift + shift
        return replace(self, shift=shift, cover=np.stack([np.maximum(shift, 0.0), np.maximum(-shift, 0.0)]))


class IntervalSetting:
    """Over the cells that may get an interval, lengths in units of a usual level, costs in those of a usual weight.

    ``floor`` is how wide an interval must be, one a cell; cells that are ``barred`` are told exactly, those ``chosen`` are not.
    Of cells that are ``settled`` widths do not limit the deviation: they are suppressed, may be, or have fixed intervals.
    Levels of the problem are distances from true values; here all lengths are counted from the table of the ``placement``.
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
        self.problem, self.sides, self.share = problem, sides, width
        self.treatment = treatment = treatment or Treatment.none(problem)
        self.placement = placement = placement or Placement.none(problem)
        self.chosen = chosen
        self.attackers = problem.attackers()
        self.centre = centre = problem.table.value + placement.shift
        status = problem.status
        self.barred = barred = np.zeros(len(problem), dtype=bool) if barred is None else barred
        levels = np.array([_around(problem.levels(who), placement.shift) for who in self.attackers])
        primary, suppressed = status == Status.PRIMARY, status == Status.SUPPRESSED
        withheld = primary | suppressed if chosen is None else primary | suppressed | chosen
        self.untold = suppressed | (treatment.whole & withheld)
        self.constant = treatment.loss + float(problem.cost[treatment.whole & withheld].sum())
        needed = np.where(primary | ((status == Status.FREE) & ~barred), levels.max(axis=0), 0.0)
        asked = needed[needed > 0]
        self.unit = float(np.median(asked)) if len(asked) else 1.0
        most = AMPLE * float(asked.max()) if len(asked) else 0.0
        slacks = [np.stack([centre - who.lower, who.upper - centre]) for who in self.attackers]
        fixed = np.where(treatment.fixed, np.stack([centre - treatment.lower, treatment.upper - centre]), np.inf)
        slacks = [np.clip(np.minimum(slack, fixed), 0.0, most) for slack in slacks]
        for slack in slacks:
            slack[:, (status == Status.PUBLISHED) | barred] = 0.0
        self.cells = np.flatnonzero(slacks[0].any(axis=0) | primary)  # the outsider knows least
        self.place = np.full(len(problem), -1)
        self.place[self.cells] = np.arange(len(self.cells))
        self.slacks = [slack[:, self.cells] / self.unit for slack in slacks]
        self.cap = self.slacks[0]
        settled = suppressed | treatment.whole | treatment.fixed
        self._cover = np.where(settled, 0.0, placement.cover)[:, self.cells] / self.unit
        relations = sparse.csr_array(problem.table.relations[:, self.cells])
        self.relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
        self.settled, self.whole = settled[self.cells], (treatment.whole & ~suppressed)[self.cells]
        self.true_weight = np.where(settled, 0.0, sides.weights(problem))
        weight = self.true_weight[:, self.cells]
        each = np.r_[weight.ravel(), problem.cost[self.cells][self.whole] / self.unit]
        usual = float(np.median(each[each > 0])) if np.any(each > 0) else 1.0
        self.weight = np.where(weight * SPREAD < weight.max(initial=0.0), 0.0, weight) / usual
        self.price = usual * self.unit
        self.primary = primary[self.cells]
        self.width = width * np.abs(problem.table.value) / self.unit
        if np.any(self.width > WIDEST):
            labels = problem.table.labels(np.flatnonzero(self.width > WIDEST))
            raise RuleError(
                f"{some(labels)}: too large beside protection levels for width={width:g}. Leave it out.", labels
            )
        asked = treatment.fixed if chosen is None else treatment.fixed | (treatment.whole & chosen)
        self.unconditional = primary | ((status == Status.FREE) & asked)
        self.requirements = [self._requirements(level, np.flatnonzero(self.unconditional)) for level in levels]
        self._levels = levels
        least = np.where(primary, np.maximum(self.width, self._untold()), 0.0)
        least = least if chosen is None else np.where(chosen, np.maximum(self.width, least), least)
        self.floor = np.where(settled, 0.0, least)[self.cells]

    def _untold(self) -> FloatArray:
        """The least that a primary without levels is suppressed in."""
        value, digits = self.problem.table.value, digits_of(self.problem.table.value)
        return (
            np.where(value != 0, np.abs(value), 1.0) * UNTOLD / self.unit
            if digits is None
            else np.full(len(value), 10.0**-digits / self.unit)
        )

    def _requirements(self, levels: FloatArray, cells: IntArray) -> list[Requirement]:
        return requirements(levels[:, cells] / self.unit, self.place[cells].tolist())

    def conditional(self, chosen: BoolArray) -> list[list[Requirement]]:
        """What free cells demand by attacker, of which these are not told exactly."""
        free = (self.problem.status == Status.FREE) & ~self.unconditional
        cells = np.flatnonzero(chosen & free & (self.place >= 0))
        return [self._requirements(level, cells) for level in self._levels]

    @cached_property
    def has_conditional(self) -> bool:
        """Whether free cells need protection as soon as they get an interval."""
        return any(self.conditional(self.problem.status == Status.FREE))

    def around(self, placement: Placement) -> IntervalSetting:
        """The same lengths, counted from the table of another placement: for widths that are found already."""
        moved = copy(self)
        moved.placement, moved.centre = placement, self.problem.table.value + placement.shift
        return moved

    def forget(self, z: FloatArray) -> None:
        """Cells that turn out to need no interval need no width."""
        self.floor = np.where(self.primary | z.any(axis=0), self.floor, 0.0)

    def least(self, requirements: Sequence[Sequence[Requirement]]) -> FloatArray:
        """How far the intervals of the demanding cells must reach by themselves."""
        least = self._cover.copy()
        for one in (requirement for own in requirements for requirement in own):
            if len(one.sides) == 1:
                least[one.sides[0], one.cell] = max(least[one.sides[0], one.cell], one.level)
        return np.minimum(least, self.cap)

    def cost(self, z: FloatArray) -> float:
        """What widths cost, in true units, with what is missing to the least width."""
        pad = np.maximum(self.floor - z.sum(axis=0), 0.0)
        return float((self.weight * z).sum() + (self.weight.min(axis=0) * pad).sum()) * self.price + self.constant


def _around(levels: FloatArray, shift: FloatArray) -> FloatArray:
    """Levels as distances from the placement's table: what is due below the true value is due below that and the shift."""
    due = levels[:2].any(axis=0)
    moved = np.maximum(np.stack([levels[0] + shift, levels[1] - shift]), 0.0)
    return np.vstack([np.where(due, moved, 0.0), levels[2:]])
