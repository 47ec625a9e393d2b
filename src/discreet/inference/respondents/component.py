"""The linear programs of one component of suppressed cells: deviations for most insiders, and sums that disclose a cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.inference.congruent_tables import CongruentTables, deviation_model, typical_size
from discreet.inference.nearest_columns import NearestColumns
from discreet.solvers import Model

NEIGHBOURHOOD_COLUMNS = 400  # most deviations exist within so many columns, and programs of this size take milliseconds
PRICED_USE_TOLERANCE = 1e-7  # share of what insiders know that counts as unused, because solvers are not exact
MAX_MULTIPLIER_DENOMINATOR = 64  # multipliers are simple fractions
MULTIPLIER_ZERO_TOLERANCE = 1e-9  # smaller multipliers are rounding error


@dataclass(frozen=True, eq=False, repr=False)
class DeviationGoals:
    """Required deviations of columns: position, sign and level."""

    at: IntArray
    sign: FloatArray
    level: FloatArray


class RespondentComponent:
    """A connected component of the presolved system."""

    def __init__(self, members: IntArray, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.members, self.relations, self.low, self.high = members, relations, low, high
        self.scale = typical_size(np.concatenate([-low, high]))
        self._priced_model: Model | None = None
        self._neighbourhoods: dict[int, RespondentComponent | None] = {}

    @cached_property
    def tables(self) -> CongruentTables:
        return CongruentTables(self.relations, self.low, self.high, self.scale)

    @cached_property
    def _nearest_columns(self) -> NearestColumns:
        return NearestColumns(self.relations)

    def around(self, column: int) -> RespondentComponent | None:
        """The neighbourhood of a column, which the columns in its nearer half share; None if the component is small."""
        if len(self.members) <= 2 * NEIGHBOURHOOD_COLUMNS:
            return None
        if column not in self._neighbourhoods:
            at = int(np.searchsorted(self.members, column))
            found = self._nearest_columns.around(at, np.ones(len(self.members)), NEIGHBOURHOOD_COLUMNS)
            inside = np.sort(found)
            part = None
            if len(inside):
                relations = self._nearest_columns.part(inside)
                part = RespondentComponent(self.members[inside], relations, self.low[inside], self.high[inside])
            for other in self.members[found[: (len(found) + 1) // 2]].tolist():
                self._neighbourhoods.setdefault(other, part)
            self._neighbourhoods[column] = part
        return self._neighbourhoods[column]

    def least_slack(self, column: IntArray, slack: FloatArray) -> FloatArray:
        """The slack of each column of this component, from the columns and the slacks of cells: the least of its cells."""
        least = np.full(len(self.members), np.inf)
        at = np.searchsorted(self.members, column)
        inside = (at < len(self.members)) & (column >= 0)
        inside[inside] = self.members[at[inside]] == column[inside]
        np.minimum.at(least, at[inside], slack[inside])
        return np.asarray(np.minimum(least, self.high))

    def narrower_bounds(self, column: IntArray, slack: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The columns whose cells have less slack than the bounds of the component allow, and their narrower bounds."""
        least = self.least_slack(column, slack)
        narrower = np.flatnonzero((least < self.high) | (-least > self.low))
        return narrower, -least[narrower], least[narrower]

    def columns_beyond(
        self, goals: DeviationGoals, spared: FloatArray, robust: FloatArray, full: FloatArray
    ) -> BoolArray | None:
        """The columns that deviate beyond their slack ``robust``; None if the goals are infeasible even with slack ``full``.

        They are few: a column deviates at no cost within what its largest insiders leave of it, and at a price beyond that.
        The price of all they know is 1. Only the insiders of those columns may need a deviation of their own.
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
        n = len(self.members)
        bounds = [np.concatenate(part) / self.scale for part in ((low, 0 * more, 0 * less), (high, more, less))]
        extra = np.concatenate([more, less]) / self.scale
        price = np.concatenate([np.zeros(n), np.divide(1.0, extra, out=np.zeros(2 * n), where=extra > 0)])
        if self._priced_model is None:
            rows = sparse.hstack([self.relations, self.relations, -self.relations], format="csr")
            self._priced_model = deviation_model("dual", rows, bounds[0], bounds[1], price)
        every = np.arange(3 * n)
        self._priced_model.set_bounds(every, *bounds)
        self._priced_model.set_cost(every, price)
        solution = self._priced_model.solve(5.0)
        if not solution.optimal:
            return None
        used = solution.primal[n:].reshape(2, -1) * self.scale
        found = np.asarray(np.any(used > PRICED_USE_TOLERANCE * np.stack([more, less]), axis=0))
        found[at] |= goal > robust[at]  # cells that were merged with a target
        return found


class AggregationProgram:
    """A linear program whose dual values propose the sum that discloses most about a cell; they are checked exactly elsewhere."""

    def __init__(self, relations: sparse.csr_array, cells: IntArray) -> None:
        self.cells = cells
        rows = relations[:, cells]
        self.rows, bound = np.flatnonzero(np.diff(rows.indptr) > 0), np.full(len(cells), np.inf)
        self._model = deviation_model("dual", rows[self.rows], -bound, bound, np.zeros(len(cells)))

    def multipliers(self, cell: int, level: float, slack: FloatArray) -> dict[int, Fraction]:
        """The multiplier of each relation in the sum that bounds a cell most; empty if the cell can deviate by its level."""
        slack, at = slack / level, np.searchsorted(self.cells, [cell])
        slack[at] = 2.0
        self._model.set_bounds(np.arange(len(slack)), -slack, slack)
        self._model.set_cost(at, -np.ones(1))
        solution = self._model.solve(5.0)
        self._model.set_cost(at, np.zeros(1))
        if not solution.optimal or solution.objective <= -1.0:
            return {}
        used = np.flatnonzero(np.abs(solution.row_dual) > MULTIPLIER_ZERO_TOLERANCE)
        return {
            int(self.rows[k]): Fraction(float(solution.row_dual[k])).limit_denominator(MAX_MULTIPLIER_DENOMINATOR)
            for k in used
        }
