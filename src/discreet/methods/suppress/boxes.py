"""Boxes: the corners of a box in one table change by the same amount, alternately up and down, so that all sums are kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.deviations import Deviation
from discreet.methods.suppress.subtables import Subtable

MAX_PLACES_PER_CELL = 100  # in a sparser grid the breakdowns are not dimensions but several groupings of the same cells
LEVEL_FACTOR = 1 + 1e-9  # a box moves a cell by slightly more than its level, so that rounding errors do not matter


class Boxes:
    """The cheapest boxes in the tables of a system of relations.

    A corner must have all its relations in the table of the box: then no other table changes.
    """

    def __init__(self, relations: sparse.csr_array, tables: Sequence[Subtable]) -> None:
        self._columns = sparse.csc_array(relations)
        n_relations = np.diff(self._columns.indptr)
        self._grids: list[_Grid] = []
        self._home = np.full(relations.shape[1], -1)  # the grid that has all relations of a cell
        for table in tables:
            cells, n_inside = np.unique(relations[table.rows].indices, return_counts=True)
            closed = cells[n_inside == n_relations[cells]]
            self._home[closed] = len(self._grids)
            self._grids.append(_Grid(table, np.isin(table.cells, closed)))

    def around(self, p: int, levels: tuple[float, float], price: FloatArray, slack: FloatArray) -> Deviation | None:
        """The cheapest box with a corner ``p`` that can change by these levels down and up; None if there is none."""
        if self._home[p] < 0:
            return None
        grid = self._grids[self._home[p]]
        down, up = levels[0] * LEVEL_FACTOR, levels[1] * LEVEL_FACTOR
        here = slack[:, grid.cells]
        can_follow = grid.closed & (here[UP] >= up) & (here[DOWN] >= down)
        can_oppose = grid.closed & (here[DOWN] >= up) & (here[UP] >= down)
        along = np.where(can_follow, price[grid.cells], np.inf)
        opposed = np.where(can_oppose, price[grid.cells], np.inf)
        found = grid.cheapest(p, along, opposed)
        if found is None:
            return None
        cells, sign = found
        if np.any(self._columns[:, cells] @ sign):
            return None
        return Deviation(cells, sign * max(down, up))


class _Grid:
    """The cells of a table by position."""

    def __init__(self, table: Subtable, closed: BoolArray) -> None:
        self.cells, self.closed = table.cells, closed
        self._at = table.at
        self._shape = tuple((table.at.max(axis=1) + 1).tolist())

    @cached_property
    def _place(self) -> IntArray | None:
        """Per position the number of the cell in ``cells``, or that of the entry after the last; None if most are empty."""
        if np.prod(self._shape, dtype=float) > MAX_PLACES_PER_CELL * len(self.cells):
            return None
        place = np.full(self._shape, len(self.cells))
        place[tuple(self._at)] = np.arange(len(self.cells))
        return place

    def cheapest(self, p: int, along: FloatArray, opposed: FloatArray) -> tuple[IntArray, FloatArray] | None:
        """The corners of the cheapest box around ``p`` and their signs, given what each cell costs if it changes like ``p``, or
        in the opposite direction. None if there is no box.
        """
        if self._place is None:
            return None
        x = self._at[:, np.searchsorted(self.cells, p)].tolist()
        like, unlike = np.append(along, np.inf)[self._place], np.append(opposed, np.inf)[self._place]
        # Sums over corners, one dimension after the other: the corner at ``p`` and the other one, at all positions.
        for d, at in enumerate(x):
            here = tuple(slice(at, at + 1) if k == d else slice(None) for k in range(len(x)))
            # A total changes like its parts, and one part of it opposite to another.
            same = np.full(self._shape[d], at == 0)
            same[0] = True
            same = same.reshape([-1 if k == d else 1 for k in range(len(x))])
            like, unlike = (
                like[here] + np.where(same, like, unlike),
                unlike[here] + np.where(same, unlike, like),
            )
        for d, at in enumerate(x):
            like[tuple(at if k == d else slice(None) for k in range(len(x)))] = np.inf
        y = np.unravel_index(int(np.argmin(like)), self._shape)
        if not np.isfinite(like[y]):
            return None
        corners, sign = np.zeros((len(x), 1), dtype=np.int64), np.ones(1)
        for d, at in enumerate(x):
            both = np.repeat(corners, 2, axis=1)
            both[d, ::2], both[d, 1::2] = at, y[d]
            corners = both
            sign = np.kron(sign, [1.0, 1.0 if at == 0 or y[d] == 0 else -1.0])
        return self.cells[self._place[tuple(corners)]], sign
