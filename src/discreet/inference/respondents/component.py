"""A component of suppressed cells as programs, and the part of it around one of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference.congruent_tables import CongruentTables
from discreet.inference.nearest_columns import NearestColumns
from discreet.inference.respondents.robust_deviations import RobustDeviation

NEIGHBOURHOOD_COLUMNS = 400  # columns around the one that is to move, which are looked at first


class RespondentComponent:
    """A connected component as a program."""

    def __init__(self, members: IntArray, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.members, self.relations, self.low, self.high = members, relations, low, high
        sizes = np.concatenate([-low, high])
        self.scale = float(np.median(sizes[np.isfinite(sizes) & (sizes > 0)]))
        self.sparing = RobustDeviation(relations, self.scale)
        self._near: dict[int, RespondentComponent | None] = {}

    @cached_property
    def tables(self) -> CongruentTables:
        return CongruentTables(self.relations, self.low, self.high, self.scale)

    @cached_property
    def _vicinity(self) -> NearestColumns:
        return NearestColumns(self.relations)

    def around(self, column: int) -> RespondentComponent | None:
        """The part around a column, of a large component; those in its nearer half share it."""
        if len(self.members) <= 2 * NEIGHBOURHOOD_COLUMNS:
            return None
        if column not in self._near:
            found = self._vicinity.around(self.place(column), np.ones(len(self.members)), NEIGHBOURHOOD_COLUMNS)
            here = np.sort(found)
            part = None
            if len(here):
                part = RespondentComponent(
                    self.members[here], self._vicinity.part(here), self.low[here], self.high[here]
                )
            for other in self.members[found[: (len(found) + 1) // 2]].tolist():
                self._near.setdefault(other, part)
            self._near[column] = part
        return self._near[column]

    def place(self, column: int) -> int:
        return int(np.searchsorted(self.members, column))

    def places(self, columns: IntArray) -> IntArray:
        return np.searchsorted(self.members, columns)

    def least(self, column: IntArray, slack: FloatArray) -> FloatArray:
        """The slack of each column of this component: that of the cell in it that has least."""
        least = np.full(len(self.members), np.inf)
        at = np.searchsorted(self.members, column)
        here = (at < len(self.members)) & (column >= 0)
        here[here] = self.members[at[here]] == column[here]
        np.minimum.at(least, at[here], slack[here])
        return np.asarray(np.minimum(least, self.high))

    def bounds(self, column: IntArray, slack: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
        """The columns of this component that have less slack than usual, and how much."""
        least = self.least(column, slack)
        narrow = np.flatnonzero((least < self.high) | (-least > self.low))
        return narrow, -least[narrow], least[narrow]
