"""Deviations that stay feasible for most insiders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.solvers import Model, new_model

PRICED_USE_TOLERANCE = 1e-7  # share of what insiders know that counts as unused, because solvers are not exact


@dataclass(frozen=True, eq=False, repr=False)
class DeviationGoals:
    """Required deviations of columns: position, sign and level."""

    at: IntArray
    sign: FloatArray
    level: FloatArray


class RobustDeviation:
    """A linear program for a deviation that reaches its goals and exceeds what insiders leave of other cells in few of them.

    A column deviates at no cost within what its largest insiders leave of it, and at a price beyond that. The price of all
    they know is 1, so that few columns go beyond. Only the insiders of those columns may need a deviation of their own.
    """

    def __init__(self, relations: sparse.csr_array, scale: float) -> None:
        self.scale = scale
        self.columns = relations.shape[1]
        self._relations = relations
        self._model: Model | None = None

    def columns_beyond(
        self, goals: DeviationGoals, spared: FloatArray, robust: FloatArray, full: FloatArray
    ) -> NDArray[np.bool_] | None:
        """The columns that deviate beyond their slack ``robust``; None if the goals are infeasible even with slack ``full``.

        ``spared`` is what insiders know of the columns with goals: at a deviation beyond the goal by that much, the insiders
        need no deviation of their own.
        """
        free = np.minimum(robust, full)
        known = np.where(np.isinf(full), 0.0, full) - np.where(np.isinf(full), 0.0, free)
        low, high = -free, free.copy()
        less, more = known.copy(), known.copy()
        at, up, goal = goals.at, goals.sign > 0, goals.level + spared
        farthest = np.maximum(full[at], goal)
        low[at], high[at] = np.where(up, goal, -farthest), np.where(up, farthest, -goal)
        less[at], more[at] = np.where(up, spared, 0.0), np.where(up, 0.0, spared)
        bounds = [np.concatenate(part) / self.scale for part in ((low, 0 * more, 0 * less), (high, more, less))]
        price = np.concatenate([np.zeros(self.columns), *(_price(part / self.scale) for part in (more, less))])
        if self._model is None:
            self._model = self._loaded(price, *bounds)
        every = np.arange(3 * self.columns)
        self._model.set_bounds(every, *bounds)
        self._model.set_cost(every, price)
        solution = self._model.solve(5.0)
        if not solution.optimal:
            return None
        used = solution.primal[self.columns :].reshape(2, -1) * self.scale
        found = np.asarray(np.any(used > PRICED_USE_TOLERANCE * np.stack([more, less]), axis=0))
        found[at] |= goal > robust[at]  # cells that were merged with a target
        return found

    def _loaded(self, price: FloatArray, low: FloatArray, high: FloatArray) -> Model:
        model = new_model("dual")
        rows = sparse.csr_array(sparse.hstack([self._relations, self._relations, -self._relations], format="csr"))
        zero = np.zeros(rows.shape[0])
        model.load(price, low, high, rows.astype(float), zero, zero)
        return model


def _price(known: FloatArray) -> FloatArray:
    return np.divide(1.0, known, out=np.zeros(len(known)), where=known > 0)
