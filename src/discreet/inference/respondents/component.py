"""A component of suppressed cells with its linear programs, and the neighbourhood of one of its columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference.congruent_tables import CongruentTables
from discreet.inference.nearest_columns import NearestColumns
from discreet.inference.respondents.robust_deviations import RobustDeviation

NEIGHBOURHOOD_COLUMNS = 400  # most deviations exist within so many columns, and programs of this size take milliseconds


class RespondentComponent:
    """A connected component of the presolved system."""

    def __init__(self, members: IntArray, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.members, self.relations, self.low, self.high = members, relations, low, high
        sizes = np.concatenate([-low, high])
        self.scale = float(np.median(sizes[np.isfinite(sizes) & (sizes > 0)]))
        self.robust = RobustDeviation(relations, self.scale)
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

    def places(self, columns: IntArray) -> IntArray:
        """The positions of columns in ``members``."""
        return np.searchsorted(self.members, columns)

    def least_slack(self, column: IntArray, slack: FloatArray) -> FloatArray:
        """The slack of each column of this component, from the columns and the slacks of cells: the least of its cells."""
        least = np.full(len(self.members), np.inf)
        at = self.places(column)
        inside = (at < len(self.members)) & (column >= 0)
        inside[inside] = self.members[at[inside]] == column[inside]
        np.minimum.at(least, at[inside], slack[inside])
        return np.asarray(np.minimum(least, self.high))

    def narrower_bounds(self, column: IntArray, slack: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The columns whose cells have less slack than the bounds of the component allow, and their narrower bounds."""
        least = self.least_slack(column, slack)
        narrower = np.flatnonzero((least < self.high) | (-least > self.low))
        return narrower, -least[narrower], least[narrower]
