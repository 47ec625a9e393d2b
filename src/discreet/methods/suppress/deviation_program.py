"""Cheap deviations that move one cell, by linear programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.nearest_columns import NearestColumns
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.problem import Problem
from discreet.progress import Budget, OutOfTime
from discreet.solvers import Outcome, new_model, solver_name

MAX_SLACK_IN_LEVELS = 1e6  # more slack is treated as unlimited, to keep the numbers of the program small
CHANGE_IGNORED = 1e-8  # share of the level: smaller changes are numerical noise
MAX_SIMPLEX_STEPS = 2_000  # then the program is solved with the next surcharge
SURCHARGES = (0.0, 0.03, 0.3, 3.0, 30.0, 300.0)  # in typical costs of a cell
MIN_PRICED_SLACK = 1e-3  # share of the level: cells with less slack are priced as if they had this much
MIN_CELLS_FOR_NEIGHBOURHOODS = 100_000  # from this size on smaller programs around the cell are tried first
NEIGHBOURHOOD_CELLS = (30_000, 100_000)  # sizes of these programs, one after the other
STEP_LENGTH = 0.1  # length of a step to a neighbour in addition to its price, so that close cells come first


class DeviationProgram:
    """Linear programs over the given cells, or over a neighbourhood of the cell to be moved.

    ``relations`` are the relations of these cells; ``price`` is what a change costs, one entry per cell of the problem. Programs
    are made when first needed, because against many attackers none is needed.
    """

    solver = solver_name()

    def __init__(
        self,
        problem: Problem,
        attacker: Attacker,
        cells: IntArray,
        relations: sparse.csr_array,
        price: FloatArray,
        seed: int = 0,
        surcharges: tuple[float, ...] = SURCHARGES,
    ) -> None:
        self.surcharges = surcharges
        self.seed = seed
        self.cells = cells
        self.column = np.full(len(problem), -1)
        self.column[self.cells] = np.arange(len(self.cells))
        self.price = price[self.cells]
        self.slack = problem.slack(attacker)[:, self.cells]
        self.left = self.slack.copy()
        self.relations = relations
        cost = problem.cost[self.cells]
        self.typical = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        self.sizes: tuple[int, ...] = NEIGHBOURHOOD_CELLS if len(self.cells) > MIN_CELLS_FOR_NEIGHBOURHOODS else ()
        self.uses_all_cells = True
        self.budget = Budget()

    def within(self, budget: Budget) -> None:
        """From now on raise :class:`OutOfTime` if this budget ends during a search."""
        self.budget = budget

    def search_locally(self, *sizes: int) -> None:
        """From now on only solve programs of these sizes around the cell to be moved."""
        self.sizes, self.uses_all_cells = sizes, False

    def bar(self, i: int, barred: bool) -> None:
        """Fix a cell, as if it were published, or free it again."""
        at = self.column[i]
        self.left[:, at] = 0.0 if barred else self.slack[:, at]

    def release(self, cells: IntArray) -> None:
        """Set the price of these cells to zero."""
        self.price[self.column[cells]] = 0.0
        if "_complete" in self.__dict__:
            self._complete.last = None

    def move(self, p: int, side: int, level: float) -> Deviation | None:
        """A cheap deviation that moves ``p`` by ``level``; None if there is none."""
        if self.left[side, self.column[p]] < level * (1 - LEVEL_TOLERANCE):
            return None
        for cells, program, at in self._programs(p, level):
            change = program.move(at, side, level, self.budget)
            if change is not None:
                return _deviation(cells, change)
        return None

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """Two deviations, ``p`` at least ``upper`` up and ``lower`` down, at least ``sliding`` in all; None if impossible."""
        for cells, program, at in self._programs(p, max(lower, upper, sliding)):
            both = program.stretch(at, lower, upper, sliding, self.budget)
            if both is not None:
                return _deviation(cells, both[0]), _deviation(cells, both[1])
        return None

    def _programs(self, p: int, level: float) -> Iterator[tuple[IntArray, _Program, int]]:
        """Programs with ``p`` from small to large: their cells, the program, and the position of ``p`` among the cells."""
        at = int(self.column[p])
        if self.sizes:
            slack = np.minimum(self.left.min(axis=0) / level, 1.0)
            length = np.where(
                self.left.any(axis=0), (self.price / level + STEP_LENGTH) / np.maximum(slack, MIN_PRICED_SLACK), np.inf
            )
        for size in self.sizes:
            near = np.sort(self._vicinity.around(at, length, size))
            if len(near):
                part, left, price = self._vicinity.part(near), self.left[:, near], self.price[near]
                program = _Program(part, left, price, self.typical, self.seed, self.surcharges[1:])
                yield self.cells[near], program, int(np.searchsorted(near, at))
        if self.uses_all_cells:
            yield self.cells, self._complete, at

    @cached_property
    def _complete(self) -> _Program:
        return _Program(self.relations, self.left, self.price, self.typical, self.seed, self.surcharges)

    @cached_property
    def _vicinity(self) -> NearestColumns:
        return NearestColumns(self.relations)


@dataclass(eq=False)
class _Program:
    """A linear program that is kept between solves; changes up and down are separate columns."""

    relations: sparse.csr_array
    left: FloatArray
    price: FloatArray
    typical: float
    seed: int
    surcharges: tuple[float, ...]
    last: tuple[int, int, float] | None = None  # position, side and level of the last solve
    first: int = 0  # the number of the surcharge to begin with: one below that of the last solve

    def __post_init__(self) -> None:
        self.both = sparse.csr_array(sparse.hstack([self.relations, -self.relations], format="csr"))
        self.columns = np.arange(2 * len(self.price))
        zero, none = np.zeros(len(self.columns)), np.zeros(self.relations.shape[0])
        self.model = new_model("dual", seed=self.seed)
        self.model.load(zero, zero, np.ones(len(zero)), self.both, none, none)

    def move(self, at: int, side: int, level: float, budget: Budget) -> FloatArray | None:
        """The change of each cell in a cheap deviation that moves one cell by ``level``; None if there is none.

        The cheapest deviation may move half the table and take a solver minutes to find. If a solve takes too many steps, it is
        repeated with a higher surcharge on the price of every cell, which favours deviations of few cells.
        """
        # In units of the level, so that small levels in tables of large values stay exact.
        slack = np.minimum(self.left / level, MAX_SLACK_IN_LEVELS)
        slack[1 - side, at], slack[side, at] = 0.0, 1.0
        lower = np.zeros(len(self.columns))
        lower[at + (0 if side == UP else len(self.price))] = 1.0
        self.model.set_bounds(self.columns, lower, np.concatenate([slack[UP], slack[DOWN]]))
        again, self.last = self.last == (at, side, level), (at, side, level)
        if again:  # with other cells fixed than before: the last solution is a good start
            solution = self.model.solve(budget.left, steps=MAX_SIMPLEX_STEPS)
            if solution.outcome is not Outcome.STOPPED:
                return self._net(solution.primal, level) if solution.optimal else None
        for number, surcharge in enumerate(self.surcharges[self.first :], start=self.first):
            self.model.set_cost(self.columns, _slopes(self.price + surcharge * self.typical, slack))
            self.model.restart()  # the basis of slack variables is dual feasible and closer than the last basis
            is_last = surcharge == self.surcharges[-1]
            solution = self.model.solve(budget.left, steps=None if is_last else MAX_SIMPLEX_STEPS)
            if solution.outcome is not Outcome.STOPPED:
                self.first = max(number - 1, 0)
                break
            if is_last or budget.over:
                raise OutOfTime
        return self._net(solution.primal, level) if solution.optimal else None

    def stretch(
        self, at: int, lower: float, upper: float, sliding: float, budget: Budget
    ) -> tuple[FloatArray, FloatArray] | None:
        """The changes of each cell in two deviations, as in :meth:`DeviationProgram.stretch`."""
        unit = max(sliding, lower, upper)
        slack = np.minimum(self.left / unit, MAX_SLACK_IN_LEVELS)
        n = len(self.price)
        # Four blocks of columns: changes up and down in the upper table, then in the lower one.
        column_lower = np.zeros(4 * n)
        column_upper = np.tile(np.concatenate([slack[UP], slack[DOWN]]), 2)
        column_lower[at], column_lower[3 * n + at] = upper / unit, lower / unit
        column_upper[n + at] = column_upper[2 * n + at] = 0.0
        if np.any(column_lower > column_upper):
            return None
        distance = sparse.csr_array(([1.0, 1.0], ([0, 0], [at, 3 * n + at])), shape=(1, 4 * n))
        rows = sparse.csr_array(sparse.vstack([sparse.block_diag([self.both, self.both]), distance], format="csr"))
        zero = np.zeros(rows.shape[0] - 1)
        row_lower, row_upper = np.append(zero, sliding / unit), np.append(zero, np.inf)
        model = new_model("dual", seed=self.seed)
        model.load(np.tile(_slopes(self.price, slack), 2), column_lower, column_upper, rows, row_lower, row_upper)
        solution = model.solve(budget.left)
        if solution.outcome is Outcome.STOPPED:
            raise OutOfTime
        if not solution.optimal:
            return None
        return self._net(solution.primal[: 2 * n], unit), self._net(solution.primal[2 * n :], unit)

    def _net(self, primal: FloatArray, unit: float) -> FloatArray:
        """Changes up minus changes down, without noise."""
        n = len(self.price)
        change = primal[:n] - primal[n:]
        return np.where(np.abs(change) >= CHANGE_IGNORED, change * unit, 0.0)


def _deviation(cells: IntArray, change: FloatArray) -> Deviation:
    moved = np.flatnonzero(change)
    return Deviation(cells[moved], change[moved])


def _slopes(price: FloatArray, slack: FloatArray) -> FloatArray:
    """The price per unit of change: divided by the slack if that is less than the level, which is the largest change then."""
    slopes = np.concatenate([price / np.clip(slack[side], MIN_PRICED_SLACK, 1.0) for side in (UP, DOWN)])
    return slopes / max(float(price.max(initial=0.0)), 1e-300)
