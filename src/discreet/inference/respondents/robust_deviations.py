"""Moves that few insiders spoil: which cells had better keep what their largest respondents know."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.solvers import Model, new_model

PRICED_USE_TOLERANCE = 1e-7  # of what somebody knows


@dataclass(frozen=True, eq=False, repr=False)
class DeviationGoals:
    """Columns that must move, in which direction, and how far."""

    at: IntArray
    sign: FloatArray
    level: FloatArray


class RobustDeviation:
    """A linear program that moves some cells far enough, others into what insiders know of them only where it must.

    Each column moves freely within what is left beside its largest insiders, and for a price beyond that. The price of all
    they know is one, so that moves go into few cells; who is there may need a move of their own, all others do not.
    """

    def __init__(self, relations: sparse.csr_array, scale: float) -> None:
        self.scale = scale
        self.columns = relations.shape[1]
        self._relations = relations
        self._model: Model | None = None

    def beyond(
        self, goals: DeviationGoals, spared: FloatArray, wary: FloatArray, full: FloatArray
    ) -> NDArray[np.bool_] | None:
        """Columns to move beyond ``wary``; None if even ``full`` does not do. The goals are what targets move, or more.

        To move them by ``spared`` more than that spares those who know that much of them.
        """
        known = np.where(np.isinf(full), 0.0, full) - np.where(np.isinf(full), 0.0, np.minimum(wary, full))
        low, high = -np.minimum(wary, full), np.minimum(wary, full)
        less, more = known.copy(), known.copy()
        at, up, far = goals.at, goals.sign > 0, goals.level + spared
        most = np.maximum(full[at], far)
        low[at], high[at] = np.where(up, far, -most), np.where(up, most, -far)
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
        found[at] |= far > wary[at]  # cells that move as one with them
        return found

    def _loaded(self, price: FloatArray, low: FloatArray, high: FloatArray) -> Model:
        model = new_model("dual")
        rows = sparse.csr_array(sparse.hstack([self._relations, self._relations, -self._relations], format="csr"))
        zero = np.zeros(rows.shape[0])
        model.load(price, low, high, rows.astype(float), zero, zero)
        return model


def _price(known: FloatArray) -> FloatArray:
    return np.divide(1.0, known, out=np.zeros(len(known)), where=known > 0)
