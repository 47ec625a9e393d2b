"""Cells behind linked tables: the cross-classification that no table shows, where the tables form a cycle.

Three tables A × B, B × C and A × C of one survey have a table A × B × C behind them, which is not negative either. A reader who
uses this infers more than from the published cells alone. Sets of tables without a cycle have nothing to add: any tables
that agree where they overlap have a nonnegative table behind them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.data.cross_classification import Axis, Crossed, Margin, crossed, refuse_too_many
from discreet.data.hypergraph import cliques, overlaps
from discreet.data.linked_cycles import Edge, Equation, LinkedCycles
from discreet.data.relations import additive
from discreet.data.table import Table
from discreet.errors import InputError


@dataclass(frozen=True, eq=False)
class Crossing:
    """Cells behind by some dimensions: their numbers, and their codes in these dimensions."""

    response: int
    dimensions: tuple[int, ...]
    cells: IntArray
    codes: IntArray  # (dimension, cell)


@dataclass(frozen=True, eq=False)
class Behind:
    """Cells behind linked tables, numbered after the published ones, and relations between all of them."""

    codes: NDArray[np.int32]  # (response and dimensions, cell)
    relations: sparse.csr_array
    crossings: tuple[Crossing, ...]

    def __len__(self) -> int:
        return int(self.codes.shape[1])


def cells_behind(cycles: LinkedCycles, tables: Sequence[Table], keys: IntArray) -> Behind:
    """The cells behind the cycles of linked tables.

    ``keys`` has the codes of the published cells, one column each, below the number of the response.
    """
    build = _Builder(cycles, keys)
    for response, core in cycles.alone:
        build.cross(response, core)
    for edges, equations in cycles.tied:
        build.cross_together(edges, equations)
    found = build.finish()
    if len(found):
        _refuse_missing_totals(tables)
    return found


def _refuse_missing_totals(tables: Sequence[Table]) -> None:
    for table in tables:
        _, missing = additive(list(table.dimensions.values()), table.codes)
        if missing:
            raise InputError(
                f"The linked tables form a cycle, and {len(missing)} totals of {table!r} are missing. Give them, and leave "
                "them out of the linked table with separate(); or leave the cells behind out (behind=False)."
            )


class _Builder:
    """Collects cells behind and their relations."""

    def __init__(self, cycles: LinkedCycles, keys: IntArray) -> None:
        self.splits, self.ups, self.keys = cycles.splits, cycles.ups if cycles else [], keys
        self.index: dict[tuple[int, ...], int] = {key: i for i, key in enumerate(map(tuple, keys.T.tolist()))}
        self.published, self.many, self.rows = keys.shape[1], 0, 0
        self.codes: list[IntArray] = []
        self.crossings: list[Crossing] = []
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []

    def cross(self, response: int, core: Sequence[Edge]) -> None:
        """The cells behind one cycle: tables over cliques, which agree where they overlap."""
        finest = self._finest(core)
        margins = [self._margin(response, edge, finest) for edge in core]
        found = cliques([margin.axes for margin in margins], {axis: len(codes) for axis, codes in finest.items()})
        made = [crossed(sorted(clique), finest, margins) for clique in found]
        shared = [(i, j, sorted(axes)) for i, j, axes in overlaps(found)]
        pruned = True
        while pruned:  # what is empty in one clique is so in the others
            pruned = False
            for i, j, axes in [*shared, *((j, i, axes) for i, j, axes in shared)]:
                keep = made[i].places(made[j].margin(axes)) >= 0
                pruned |= not keep.all()
                made[i] = made[i].only(keep)
        numbers = [self._add(response, cells, finest) for cells in made]
        for clique, cells, number in zip(found, made, numbers, strict=True):
            for margin in margins:
                if margin.axes <= clique:
                    self._sums(cells, number, margin)
        for i, j, axes in shared:
            common = made[i].margin(axes)
            totals = self._add(response, common, finest)
            for k in (i, j):
                self._append(made[k].places(common), numbers[k], np.arange(len(common)), totals)

    def cross_together(self, edges: Mapping[int, Sequence[Edge]], equations: Sequence[Equation]) -> None:
        """The cells behind responses that equations tie together, each by all dimensions that any of them has."""
        finest = self._finest([edge for own in edges.values() for edge in own])
        made: dict[int, tuple[Crossed, IntArray]] = {}
        for response, own in edges.items():
            margins = [self._margin(response, edge, finest) for edge in own]
            cells = crossed(sorted(finest), finest, margins)
            made[response] = cells, self._add(response, cells, finest)
            for margin in margins:
                self._sums(*made[response], margin)
        for one in equations:
            at = np.concatenate([made[r][0].at for r in one], axis=1)
            row = np.unique(at, axis=1, return_inverse=True)[1].ravel()
            weight = np.repeat(list(one.values()), [len(made[r][1]) for r in one])
            self.entries.append((self.rows + row, np.concatenate([made[r][1] for r in one]), weight))
            self.rows += int(row.max(initial=-1)) + 1

    def _finest(self, edges: Sequence[Edge]) -> dict[Axis, IntArray]:
        """The finest codes of each axis, without those that hold nothing because another grouping has no place for them."""
        found: dict[Axis, IntArray] = {}
        used = [self.splits[s] for s in sorted(frozenset[int]().union(*edges))]
        for axis in sorted({split.axis for split in used}):
            mine = [split for split in used if split.axis == axis]
            codes = np.setdiff1d(np.concatenate([s.children for s in mine]), [s.parent for s in mine])
            ups = [self.ups[axis.dimension][code] for code in codes]
            possible = np.ones(len(codes), dtype=bool)
            for split in mine:
                parts = set(split.children.tolist())
                possible &= [split.parent not in up or len(up & parts) == 1 for up in ups]
            found[axis] = codes[possible]
        return found

    def _margin(self, response: int, edge: Edge, finest: Mapping[Axis, IntArray]) -> Margin:
        """The published cells by the finest codes of some splits."""
        at = self.keys[0] == response
        up: dict[Axis, IntArray] = {}
        for axis in sorted({self.splits[s].axis for s in edge}):
            mine = [self.splits[s] for s in edge if self.splits[s].axis == axis]
            codes = np.setdiff1d(np.concatenate([s.children for s in mine]), [s.parent for s in mine])
            at &= np.isin(self.keys[axis.dimension + 1], codes)
            mine_too = set(codes.tolist())
            found = [sorted(self.ups[axis.dimension][code] & mine_too) for code in finest[axis].tolist()]
            most = max(map(len, found), default=1)
            # Fewer codes than others have: the last one again, which says nothing new; none at all: nowhere.
            up[axis] = np.array([(ups + ups[-1:] * most)[:most] or [-1] * most for ups in found]).reshape(-1, most).T
        outside = np.setdiff1d(np.arange(1, len(self.keys)), [axis.dimension + 1 for axis in up])
        cells = np.flatnonzero(at & ~self.keys[outside].any(axis=0))
        return Margin(cells, {axis: self.keys[axis.dimension + 1, cells] for axis in up}, up)

    def _sums(self, cells: Crossed, number: IntArray, margin: Margin) -> None:
        """Each cell of a margin is the sum of the cells behind it; it is zero where there are none."""
        axes = sorted(margin.axes)
        stored = Crossed(tuple(axes), np.stack([margin.codes[axis] for axis in axes]))
        pairs = [
            Crossed(stored.axes, np.stack([up[row] for up, row in zip(ups, cells.by(axes), strict=True)])).places(
                stored
            )
            for ups in margin.ups(axes)
        ]
        row = np.concatenate(pairs)
        pair = np.unique(np.stack([row, np.tile(number, len(pairs))]), axis=1)
        self._append(pair[0], pair[1], np.arange(len(stored)), margin.cells)

    def _append(self, row: IntArray, parts: IntArray, total_row: IntArray, totals: IntArray) -> None:
        weight = np.concatenate([np.ones(len(parts)), -np.ones(len(totals))])
        self.entries.append((self.rows + np.concatenate([row, total_row]), np.concatenate([parts, totals]), weight))
        self.rows += len(totals)

    def _add(self, response: int, cells: Crossed, finest: Mapping[Axis, IntArray]) -> IntArray:
        """The numbers of cells: those that are there already are not added again."""
        places = [axis.dimension + 1 for axis in cells.axes]
        codes = np.zeros((len(self.keys), len(cells)), dtype=np.int64)
        codes[0] = response
        for axis, at in list(zip(cells.axes, cells.at, strict=True))[
            ::-1
        ]:  # the first of two in a dimension names the cell
            codes[axis.dimension + 1] = finest[axis][at]
        number = np.full(len(cells), -1)
        plain = len(set(places)) == len(places)
        if plain:
            number = np.array([self.index.get(key, -1) for key in map(tuple, codes.T.tolist())], dtype=np.int64)
        new = np.flatnonzero(number < 0)
        number[new] = self.published + self.many + np.arange(len(new))
        if plain:
            self.index |= dict(zip(map(tuple, codes[:, new].T.tolist()), number[new].tolist(), strict=True))
        self.many += len(new)
        refuse_too_many(self.many)
        self.codes.append(codes[:, new])
        if plain:
            dimensions = tuple(axis.dimension for axis in cells.axes)
            self.crossings.append(Crossing(response, dimensions, number[new], codes[places][:, new]))
        return number

    def finish(self) -> Behind:
        row, column, weight = (
            np.concatenate([np.zeros(0, kind), *(entry[k] for entry in self.entries)])
            for k, kind in enumerate((np.int64, np.int64, np.float64))
        )
        shape = (self.rows, self.published + self.many)
        relations = sparse.csr_array((weight, (row, column)), shape=shape)
        relations.sum_duplicates()
        relations.eliminate_zeros()  # a cell that is its own sum
        relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
        codes = np.concatenate([np.zeros((len(self.keys), 0), np.int64), *self.codes], axis=1)
        return Behind(codes.astype(np.int32), relations, tuple(c for c in self.crossings if len(c.cells)))
