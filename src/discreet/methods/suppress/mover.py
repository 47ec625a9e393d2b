"""The cheapest way to move one cell while all relations hold."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit.tolerances import REACH
from discreet.problem import BoolArray, Problem
from discreet.relations import FloatArray
from discreet.solvers import HighsModel, Outcome

AMPLE = 1e6  # this many levels of room are as good as endless
STILL = 1e-8  # moves below this share of the level are numerical noise
STEPS = 5_000  # of the simplex method, before the fare rises
FARES = (0.0, 3.0, 30.0, 300.0)  # in typical costs of a cell
SLIGHT = 1e-3  # cells with less room than this share of the level are priced as if they had this much


class Mover:
    """A persistent linear program over the given cells; moves up and moves down are separate columns."""

    def __init__(
        self,
        problem: Problem,
        attacker: Attacker,
        cells: BoolArray,
        seed: int = 0,
        fares: tuple[float, ...] = FARES,
    ) -> None:
        self.fares = fares
        value = problem.table.value
        self.cells = np.flatnonzero(cells)
        self.column = np.full(len(value), -1)
        self.column[self.cells] = np.arange(len(self.cells))
        self.room = np.stack([value - attacker.lower, attacker.upper - value])[:, self.cells].clip(min=0.0)
        self.down, self.up = self.room.copy()
        relations = sparse.csr_array(problem.table.relations[:, self.cells])
        relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
        cost = problem.cost[self.cells]
        self.typical = float(np.median(cost[cost > 0])) if np.any(cost > 0) else 1.0
        self.relations = relations
        self.both = sparse.csr_array(sparse.hstack([relations, -relations], format="csr"))
        n, zero = 2 * len(self.cells), np.zeros(relations.shape[0])
        self.columns = np.arange(n)
        self.seed = seed
        self.asked: tuple[int, float, float] | None = None
        self.price: FloatArray | None = None
        self.model = HighsModel("dual", seed=seed)
        self.model.load(np.zeros(n), np.zeros(n), np.ones(n), self.both, zero, zero)

    def bar(self, i: int, barred: bool) -> None:
        """Take a cell out of play, as if it were published, or put it back."""
        at = self.column[i]
        self.down[at], self.up[at] = (0.0, 0.0) if barred else self.room[:, at]

    def move(self, p: int, sign: float, level: float, price: FloatArray) -> FloatArray | None:
        """A cheap congruent table that moves ``p`` by ``level``, as differences of ``cells``; None if there is none.

        The cheapest one may wander through half the table and take a solver minutes to find. Where it takes too many steps,
        every cell is charged a fare on top of its price, a higher one each time, which makes short ways attractive.
        """
        # In units of the level, so that small levels beside large values stay exact.
        up, down = np.minimum(self.up / level, AMPLE), np.minimum(self.down / level, AMPLE)
        at = self.column[p]
        forward, backward = (up, down) if sign > 0 else (down, up)
        if forward[at] < 1 - REACH:
            return None
        backward[at], forward[at] = 0.0, 1.0
        lower = np.zeros(len(self.columns))
        lower[at + (0 if sign > 0 else len(up))] = 1.0
        self.model.set_bounds(self.columns, lower, np.concatenate([up, down]))
        again = self.asked == (p, sign, level) and price is self.price
        self.asked, self.price = (p, sign, level), price
        if again:  # with other cells barred than before: the last answer is a good start
            solution = self.model.solve(steps=STEPS)
            if solution.outcome is not Outcome.STOPPED:
                return _net(solution.primal, level) if solution.optimal else None
        for fare in self.fares:
            self.model.set_cost(self.columns, self._slopes(price + fare * self.typical, up, down))
            self.model.restart()  # slacks are dual feasible and far closer than the last basis
            solution = self.model.solve(steps=None if fare == self.fares[-1] else STEPS)
            if solution.outcome is not Outcome.STOPPED:
                break
        return _net(solution.primal, level) if solution.optimal else None

    def stretch(
        self, p: int, lower: float, upper: float, sliding: float, price: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Two tables, one with ``p`` at least ``lower`` below and one ``upper`` above, ``sliding`` apart in all."""
        unit = max(sliding, lower, upper)
        up, down = np.minimum(self.up / unit, AMPLE), np.minimum(self.down / unit, AMPLE)
        n, at = len(self.cells), self.column[p]
        # Four blocks of columns: moves up and down of the upper table, then of the lower one.
        least = np.zeros(4 * n)
        most = np.concatenate([up, down, up, down])
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
        model.load(np.tile(self._slopes(price, up, down), 2), least, most, rows, row_lower, row_upper)
        solution = model.solve()
        if not solution.optimal:
            return None
        return _net(solution.primal[: 2 * n], unit), _net(solution.primal[2 * n :], unit)

    def _slopes(self, price: FloatArray, up: FloatArray, down: FloatArray) -> FloatArray:
        """A cell with less room than the level carries only that much: its price is spread over what it can carry."""
        slopes = np.concatenate([price / np.clip(up, SLIGHT, 1.0), price / np.clip(down, SLIGHT, 1.0)])
        return slopes / max(float(price.max(initial=0.0)), 1e-300)


def _net(primal: FloatArray, unit: float) -> FloatArray:
    """Moves up minus moves down, without noise."""
    n = len(primal) // 2
    move = primal[:n] - primal[n:]
    return np.where(np.abs(move) < STILL, 0.0, move) * unit
