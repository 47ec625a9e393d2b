"""The cheapest way to move one cell while all relations hold."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit.evidence import DOWN, UP, Difference, IntArray
from discreet.audit.tolerances import REACH
from discreet.problem import Problem
from discreet.relations import FloatArray
from discreet.solvers import HighsModel, Outcome

AMPLE = 1e6  # this many levels of room are as good as endless
STILL = 1e-8  # moves below this share of the level are numerical noise
STEPS = 5_000  # of the simplex method, before the fare rises
FARES = (0.0, 3.0, 30.0, 300.0)  # in typical costs of a cell
SLIGHT = 1e-3  # cells with less room than this share of the level are priced as if they had this much


class Mover:
    """A persistent linear program over the given cells; moves up and moves down are separate columns.

    ``relations`` are those between these cells; ``price`` is what it costs each cell of the problem to move.
    """

    solver = HighsModel.name

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
        self.cells = cells
        self.column = np.full(len(problem), -1)
        self.column[self.cells] = np.arange(len(self.cells))
        self.price = price[self.cells]
        self.room = rooms(problem, attacker, self.cells)
        self.left = self.room.copy()
        cost = problem.cost[self.cells]
        self.typical = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        self.relations = relations
        self.columns = np.arange(2 * len(self.cells))
        self.seed = seed
        self.asked: tuple[int, int, float] | None = None

    @cached_property
    def both(self) -> sparse.csr_array:
        return sparse.csr_array(sparse.hstack([self.relations, -self.relations], format="csr"))

    @cached_property
    def model(self) -> HighsModel:
        """Made when first needed, which against many an attacker is never."""
        n, zero = len(self.columns), np.zeros(self.relations.shape[0])
        model = HighsModel("dual", seed=self.seed)
        model.load(np.zeros(n), np.zeros(n), np.ones(n), self.both, zero, zero)
        return model

    def bar(self, i: int, barred: bool) -> None:
        """Take a cell out of play, as if it were published, or put it back."""
        at = self.column[i]
        self.left[:, at] = 0.0 if barred else self.room[:, at]

    def release(self, cells: IntArray) -> None:
        """These cells cost nothing any more."""
        self.price[self.column[cells]] = 0.0
        self.asked = None

    def move(self, p: int, side: int, level: float) -> Difference | None:
        """A cheap congruent table that moves ``p`` by ``level``; None if there is none.

        The cheapest one may wander through half the table and take a solver minutes to find. Where it takes too many steps,
        every cell is charged a fare on top of its price, a higher one each time, which makes short ways attractive.
        """
        # In units of the level, so that small levels beside large values stay exact.
        room = np.minimum(self.left / level, AMPLE)
        at = self.column[p]
        if room[side, at] < 1 - REACH:
            return None
        room[1 - side, at], room[side, at] = 0.0, 1.0
        lower = np.zeros(len(self.columns))
        lower[at + (0 if side == UP else len(self.cells))] = 1.0
        self.model.set_bounds(self.columns, lower, np.concatenate([room[UP], room[DOWN]]))
        again, self.asked = self.asked == (p, side, level), (p, side, level)
        if again:  # with other cells barred than before: the last answer is a good start
            solution = self.model.solve(steps=STEPS)
            if solution.outcome is not Outcome.STOPPED:
                return self._net(solution.primal, level) if solution.optimal else None
        for fare in self.fares:
            self.model.set_cost(self.columns, _slopes(self.price + fare * self.typical, room))
            self.model.restart()  # slacks are dual feasible and far closer than the last basis
            solution = self.model.solve(steps=None if fare == self.fares[-1] else STEPS)
            if solution.outcome is not Outcome.STOPPED:
                break
        return self._net(solution.primal, level) if solution.optimal else None

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Difference, Difference] | None:
        """Two tables, one with ``p`` at least ``lower`` below and one ``upper`` above, ``sliding`` apart in all."""
        unit = max(sliding, lower, upper)
        room = np.minimum(self.left / unit, AMPLE)
        n, at = len(self.cells), self.column[p]
        # Four blocks of columns: moves up and down of the upper table, then of the lower one.
        least = np.zeros(4 * n)
        most = np.tile(np.concatenate([room[UP], room[DOWN]]), 2)
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
        model = HighsModel("dual", seed=self.seed)
        model.load(np.tile(_slopes(self.price, room), 2), least, most, rows, row_lower, row_upper)
        solution = model.solve()
        if not solution.optimal:
            return None
        return self._net(solution.primal[: 2 * n], unit), self._net(solution.primal[2 * n :], unit)

    def _net(self, primal: FloatArray, unit: float) -> Difference:
        """Moves up minus moves down, without noise."""
        n = len(self.cells)
        move = primal[:n] - primal[n:]
        moves = np.abs(move) >= STILL
        return Difference(self.cells[moves], move[moves] * unit)


def rooms(problem: Problem, attacker: Attacker, cells: IntArray) -> FloatArray:
    """How far cells can move down and up for what an attacker knows."""
    value = problem.table.value[cells]
    return np.stack([value - attacker.lower[cells], attacker.upper[cells] - value]).clip(min=0.0)


def _slopes(price: FloatArray, room: FloatArray) -> FloatArray:
    """A cell with less room than the level carries only that much: its price is spread over what it can carry."""
    slopes = np.concatenate([price / np.clip(room[side], SLIGHT, 1.0) for side in (UP, DOWN)])
    return slopes / max(float(price.max(initial=0.0)), 1e-300)
