"""The cheapest way to move one cell while all relations hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.nearest_columns import NearestColumns
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.problem import Problem
from discreet.solvers import Outcome, new_model, solver_name

AMPLE = 1e6  # this many levels of slack are as good as endless
STILL = 1e-8  # moves below this share of the level are numerical noise
STEPS = 5_000  # of the simplex method, before the fare rises
FARES = (0.0, 3.0, 30.0, 300.0)  # in typical costs of a cell
SLIGHT = 1e-3  # cells with less slack than this share of the level are priced as if they had this much
MANY = 100_000  # cells, from which on those around the one that is to move are tried first,
NEAR = (30_000, 100_000)  # so many
STEP = 0.1  # what a step away counts, in levels of cost


class Mover:
    """Linear programs over the given cells, or over some of them around the one that is to move.

    ``relations`` are those between these cells; ``price`` is what it costs each cell of the problem to move. Programs are made
    when first needed, which against many an attacker is never.
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
        fares: tuple[float, ...] = FARES,
    ) -> None:
        self.fares = fares
        self.seed = seed
        self.cells = cells
        self.column = np.full(len(problem), -1)
        self.column[self.cells] = np.arange(len(self.cells))
        self.price = price[self.cells]
        self.slack = slacks(problem, attacker, self.cells)
        self.left = self.slack.copy()
        self.relations = relations
        cost = problem.cost[self.cells]
        self.typical = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        self.near: tuple[int, ...] = NEAR if len(self.cells) > MANY else ()
        self.goes_far = True

    def stay_near(self, *sizes: int) -> None:
        """From now on look no farther than so many cells around the one that is to move."""
        self.near, self.goes_far = sizes, False

    def bar(self, i: int, barred: bool) -> None:
        """Take a cell out of play, as if it were published, or put it back."""
        at = self.column[i]
        self.left[:, at] = 0.0 if barred else self.slack[:, at]

    def release(self, cells: IntArray) -> None:
        """These cells cost nothing any more."""
        self.price[self.column[cells]] = 0.0
        if "_whole" in self.__dict__:
            self._whole.asked = None

    def move(self, p: int, side: int, level: float) -> Deviation | None:
        """A cheap congruent table that moves ``p`` by ``level``; None if there is none."""
        if self.left[side, self.column[p]] < level * (1 - LEVEL_TOLERANCE):
            return None
        for cells, program, at in self._programs(p, level):
            move = program.move(at, side, level)
            if move is not None:
                return _difference(cells, move)
        return None

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """Two tables, one with ``p`` at least ``lower`` below and one ``upper`` above, ``sliding`` apart in all."""
        for cells, program, at in self._programs(p, max(lower, upper, sliding)):
            both = program.stretch(at, lower, upper, sliding)
            if both is not None:
                return _difference(cells, both[0]), _difference(cells, both[1])
        return None

    def _programs(self, p: int, level: float) -> Iterator[tuple[IntArray, _Program, int]]:
        """Ever larger ones that move ``p``: the cells, and which of them it is."""
        at = int(self.column[p])
        if self.near:
            slack = np.minimum(self.left.min(axis=0) / level, 1.0)
            length = np.where(self.left.any(axis=0), (self.price / level + STEP) / np.maximum(slack, SLIGHT), np.inf)
        for size in self.near:
            near = np.sort(self._vicinity.around(at, length, size))
            if len(near):
                program = self._program(self._vicinity.part(near), self.left[:, near], self.price[near], self.fares[1:])
                yield self.cells[near], program, int(np.searchsorted(near, at))
        if self.goes_far:
            yield self.cells, self._whole, at

    def _program(
        self, relations: sparse.csr_array, left: FloatArray, price: FloatArray, fares: tuple[float, ...]
    ) -> _Program:
        return _Program(relations, left, price, self.typical, self.seed, fares)

    @cached_property
    def _whole(self) -> _Program:
        return self._program(self.relations, self.left, self.price, self.fares)

    @cached_property
    def _vicinity(self) -> NearestColumns:
        return NearestColumns(self.relations)


class _Program:
    """A persistent linear program; moves up and moves down are separate columns."""

    def __init__(
        self,
        relations: sparse.csr_array,
        left: FloatArray,
        price: FloatArray,
        typical: float,
        seed: int,
        fares: tuple[float, ...],
    ) -> None:
        self.left, self.price, self.typical, self.seed, self.fares = left, price, typical, seed, fares
        self.both = sparse.csr_array(sparse.hstack([relations, -relations], format="csr"))
        n, zero = 2 * len(price), np.zeros(relations.shape[0])
        self.columns = np.arange(n)
        self.asked: tuple[int, int, float] | None = None
        self.model = new_model("dual", seed=seed)
        self.model.load(np.zeros(n), np.zeros(n), np.ones(n), self.both, zero, zero)

    def move(self, at: int, side: int, level: float) -> FloatArray | None:
        """How far each cell moves in a cheap table that moves one of them by ``level``.

        The cheapest one may wander through half the table and take a solver minutes to find. Where it takes too many steps,
        every cell is charged a fare on top of its price, a higher one each time, which makes short ways attractive.
        """
        # In units of the level, so that small levels beside large values stay exact.
        slack = np.minimum(self.left / level, AMPLE)
        slack[1 - side, at], slack[side, at] = 0.0, 1.0
        lower = np.zeros(len(self.columns))
        lower[at + (0 if side == UP else len(self.price))] = 1.0
        self.model.set_bounds(self.columns, lower, np.concatenate([slack[UP], slack[DOWN]]))
        again, self.asked = self.asked == (at, side, level), (at, side, level)
        if again:  # with other cells barred than before: the last answer is a good start
            solution = self.model.solve(steps=STEPS)
            if solution.outcome is not Outcome.STOPPED:
                return self._net(solution.primal, level) if solution.optimal else None
        for fare in self.fares:
            self.model.set_cost(self.columns, _slopes(self.price + fare * self.typical, slack))
            self.model.restart()  # slacks are dual feasible and far closer than the last basis
            solution = self.model.solve(steps=None if fare == self.fares[-1] else STEPS)
            if solution.outcome is not Outcome.STOPPED:
                break
        return self._net(solution.primal, level) if solution.optimal else None

    def stretch(self, at: int, lower: float, upper: float, sliding: float) -> tuple[FloatArray, FloatArray] | None:
        unit = max(sliding, lower, upper)
        slack = np.minimum(self.left / unit, AMPLE)
        n = len(self.price)
        # Four blocks of columns: moves up and down of the upper table, then of the lower one.
        least = np.zeros(4 * n)
        most = np.tile(np.concatenate([slack[UP], slack[DOWN]]), 2)
        least[at], least[3 * n + at] = upper / unit, lower / unit
        most[n + at] = most[2 * n + at] = 0.0
        if np.any(least > most):
            return None
        apart = sparse.csr_array(([1.0, 1.0], ([0, 0], [at, 3 * n + at])), shape=(1, 4 * n))
        rows = sparse.csr_array(sparse.vstack([sparse.block_diag([self.both, self.both]), apart], format="csr"))
        row_lower = np.zeros(rows.shape[0])
        row_lower[-1] = sliding / unit
        row_upper = np.zeros(rows.shape[0])
        row_upper[-1] = np.inf
        model = new_model("dual", seed=self.seed)
        model.load(np.tile(_slopes(self.price, slack), 2), least, most, rows, row_lower, row_upper)
        solution = model.solve()
        if not solution.optimal:
            return None
        return self._net(solution.primal[: 2 * n], unit), self._net(solution.primal[2 * n :], unit)

    def _net(self, primal: FloatArray, unit: float) -> FloatArray:
        """Moves up minus moves down, without noise."""
        n = len(self.price)
        move = primal[:n] - primal[n:]
        return np.where(np.abs(move) >= STILL, move * unit, 0.0)


def _difference(cells: IntArray, move: FloatArray) -> Deviation:
    moves = np.flatnonzero(move)
    return Deviation(cells[moves], move[moves])


def slacks(problem: Problem, attacker: Attacker, cells: IntArray) -> FloatArray:
    """How far cells can move down and up for what an attacker knows."""
    value = problem.table.value[cells]
    return np.stack([value - attacker.lower[cells], attacker.upper[cells] - value]).clip(min=0.0)


def _slopes(price: FloatArray, slack: FloatArray) -> FloatArray:
    """A cell with less slack than the level carries only that much: its price is spread over what it can carry."""
    slopes = np.concatenate([price / np.clip(slack[side], SLIGHT, 1.0) for side in (UP, DOWN)])
    return slopes / max(float(price.max(initial=0.0)), 1e-300)
