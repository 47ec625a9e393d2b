"""Cells behind linked tables that form a cycle: the cross-classification that no table shows.

Three tables A × B, B × C and A × C of one survey are margins of a table A × B × C, whose cells are not negative either. A reader
who uses this infers more than from the published cells alone. Without a cycle the cells behind add no information: any tables
that agree where they overlap are margins of a nonnegative table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray, SmallIntArray
from discreet.data.cross_classification import Axis, Crossed, Margin, crossed, refuse_too_many
from discreet.data.hypergraph import cliques, overlaps
from discreet.data.linked_cycles import Edge, Equation, LinkedCycles
from discreet.data.relations import additive
from discreet.data.table import Table
from discreet.errors import InputError


@dataclass(frozen=True, eq=False)
class Crossing:
    """Cells behind, cross-classified by some dimensions: their numbers, and their codes in these dimensions."""

    response: int
    dimensions: tuple[int, ...]
    cells: IntArray
    codes: IntArray  # (dimension, cell)


@dataclass(frozen=True, eq=False)
class Behind:
    """Cells behind linked tables, numbered after the published ones, and relations between all of them."""

    codes: SmallIntArray  # (response and dimensions, cell)
    relations: sparse.csr_array
    crossings: tuple[Crossing, ...]

    def __len__(self) -> int:
        return int(self.codes.shape[1])


def cells_behind(cycles: LinkedCycles, tables: Sequence[Table], keys: IntArray) -> Behind:
    """The cells behind the cycles of linked tables.

    ``keys`` has a column for each published cell: the number of the response, then the codes.
    """
    build = _Builder(cycles, keys)
    for response, core in cycles.single:
        build.cross(response, core)
    for edges, equations in cycles.tied:
        build.cross_together(edges, equations)
    found = build.finish()
    for table in tables if len(found) else ():
        _, missing = additive(list(table.dimensions.values()), table.codes)
        if missing:
            raise InputError(
                f"The linked tables form a cycle, and {len(missing)} totals of {table!r} are missing. Give them, and leave "
                "them out of the linked table with separate(); or leave the cells behind out (behind=False)."
            )
    return found


class _Builder:
    """Collects cells behind and their relations."""

    def __init__(self, cycles: LinkedCycles, keys: IntArray) -> None:
        self.splits, self.ancestors, self.keys = cycles.splits, cycles.ancestors if cycles else [], keys
        self.index: dict[tuple[int, ...], int] = {key: i for i, key in enumerate(map(tuple, keys.T.tolist()))}
        self.n_published, self.n_behind, self.n_rows = keys.shape[1], 0, 0
        self.codes: list[IntArray] = []
        self.crossings: list[Crossing] = []
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []  # row, column, coefficient

    def cross(self, response: int, core: Sequence[Edge]) -> None:
        """Add the cells behind one cycle: tables over cliques, which agree where they overlap."""
        finest = self._finest(core)
        margins = [self._margin(response, edge, finest) for edge in core]
        found = cliques([margin.axes for margin in margins], {axis: len(codes) for axis, codes in finest.items()})
        tables = [crossed(sorted(clique), finest, margins) for clique in found]
        shared = [(i, j, sorted(axes)) for i, j, axes in overlaps(found)]
        pruned = True
        while pruned:  # cells that are empty in one clique are empty in the others
            pruned = False
            for i, j, axes in [*shared, *((j, i, axes) for i, j, axes in shared)]:
                keep = tables[i].places(tables[j].margin(axes)) >= 0
                pruned |= not keep.all()
                tables[i] = tables[i].only(keep)
        numbers = [self._add(response, cells, finest) for cells in tables]
        for clique, cells, number in zip(found, tables, numbers, strict=True):
            for margin in margins:
                if margin.axes <= clique:
                    self._sums(cells, number, margin)
        for i, j, axes in shared:
            common = tables[i].margin(axes)
            totals = self._add(response, common, finest)
            for k in (i, j):
                self._append(tables[k].places(common), numbers[k], np.arange(len(common)), totals)

    def cross_together(self, edges: Mapping[int, Sequence[Edge]], equations: Sequence[Equation]) -> None:
        """Add the cells behind responses tied by equations, each by all dimensions of any of these responses."""
        finest = self._finest([edge for response_edges in edges.values() for edge in response_edges])
        tables: dict[int, tuple[Crossed, IntArray]] = {}
        for response, response_edges in edges.items():
            margins = [self._margin(response, edge, finest) for edge in response_edges]
            cells = crossed(sorted(finest), finest, margins)
            tables[response] = cells, self._add(response, cells, finest)
            for margin in margins:
                self._sums(*tables[response], margin)
        for equation in equations:
            at = np.concatenate([tables[r][0].at for r in equation], axis=1)
            row = np.unique(at, axis=1, return_inverse=True)[1].ravel()
            weight = np.repeat(list(equation.values()), [len(tables[r][1]) for r in equation])
            self.entries.append((self.n_rows + row, np.concatenate([tables[r][1] for r in equation]), weight))
            self.n_rows += int(row.max(initial=-1)) + 1

    def _finest(self, edges: Sequence[Edge]) -> dict[Axis, IntArray]:
        """The finest codes of each axis that can be nonempty: below a parent, a code is below exactly one of its children."""
        found: dict[Axis, IntArray] = {}
        used = [self.splits[s] for s in sorted(frozenset[int]().union(*edges))]
        for axis in sorted({split.axis for split in used}):
            splits = [split for split in used if split.axis == axis]
            codes = np.setdiff1d(np.concatenate([s.children for s in splits]), [s.parent for s in splits])
            above = [self.ancestors[axis.dimension][code] for code in codes]
            possible = np.ones(len(codes), dtype=bool)
            for split in splits:
                children = set(split.children.tolist())
                possible &= [split.parent not in up or len(up & children) == 1 for up in above]
            found[axis] = codes[possible]
        return found

    def _margin(self, response: int, edge: Edge, finest: Mapping[Axis, IntArray]) -> Margin:
        """The published cells by the finest codes of some splits."""
        inside = self.keys[0] == response
        above: dict[Axis, IntArray] = {}
        for axis in sorted({self.splits[s].axis for s in edge}):
            splits = [self.splits[s] for s in edge if self.splits[s].axis == axis]
            codes = np.setdiff1d(np.concatenate([s.children for s in splits]), [s.parent for s in splits])
            inside &= np.isin(self.keys[axis.dimension + 1], codes)
            margin_codes = set(codes.tolist())
            found = [sorted(self.ancestors[axis.dimension][code] & margin_codes) for code in finest[axis].tolist()]
            n_choices = max(map(len, found), default=1)
            # Codes with fewer choices repeat the last one, which adds no condition; −1 stands for no choice.
            padded = [(ups + ups[-1:] * n_choices)[:n_choices] or [-1] * n_choices for ups in found]
            above[axis] = np.array(padded).reshape(-1, n_choices).T
        outside = np.setdiff1d(np.arange(1, len(self.keys)), [axis.dimension + 1 for axis in above])
        cells = np.flatnonzero(inside & ~self.keys[outside].any(axis=0))
        return Margin(cells, {axis: self.keys[axis.dimension + 1, cells] for axis in above}, above)

    def _sums(self, cells: Crossed, number: IntArray, margin: Margin) -> None:
        """Add relations: each cell of a margin is the sum of the cells behind it, and zero if there are none."""
        axes = sorted(margin.axes)
        stored = Crossed(tuple(axes), np.stack([margin.codes[axis] for axis in axes]))
        rows = []
        for above in margin.choices(axes):
            codes = np.stack([up[at] for up, at in zip(above, cells.by(axes), strict=True)])
            rows.append(Crossed(stored.axes, codes).places(stored))
        pair = np.unique(np.stack([np.concatenate(rows), np.tile(number, len(rows))]), axis=1)
        self._append(pair[0], pair[1], np.arange(len(stored)), margin.cells)

    def _append(self, row: IntArray, addends: IntArray, total_row: IntArray, totals: IntArray) -> None:
        weight = np.concatenate([np.ones(len(addends)), -np.ones(len(totals))])
        rows = self.n_rows + np.concatenate([row, total_row])
        self.entries.append((rows, np.concatenate([addends, totals]), weight))
        self.n_rows += len(totals)

    def _add(self, response: int, cells: Crossed, finest: Mapping[Axis, IntArray]) -> IntArray:
        """The numbers of cells; cells that do not exist yet are added."""
        rows = [axis.dimension + 1 for axis in cells.axes]
        codes = np.zeros((len(self.keys), len(cells)), dtype=np.int64)
        codes[0] = response
        # In reverse order: of two axes of a dimension, the first names the cell.
        for axis, at in list(zip(cells.axes, cells.at, strict=True))[::-1]:
            codes[axis.dimension + 1] = finest[axis][at]
        number = np.full(len(cells), -1)
        named_uniquely = len(set(rows)) == len(rows)
        if named_uniquely:
            number = np.array([self.index.get(key, -1) for key in map(tuple, codes.T.tolist())], dtype=np.int64)
        new = np.flatnonzero(number < 0)
        number[new] = self.n_published + self.n_behind + np.arange(len(new))
        self.n_behind += len(new)
        refuse_too_many(self.n_behind)
        self.codes.append(codes[:, new])
        if named_uniquely:
            self.index |= dict(zip(map(tuple, codes[:, new].T.tolist()), number[new].tolist(), strict=True))
            dimensions = tuple(axis.dimension for axis in cells.axes)
            self.crossings.append(Crossing(response, dimensions, number[new], codes[rows][:, new]))
        return number

    def finish(self) -> Behind:
        row, column, weight = (
            np.concatenate([np.zeros(0, kind), *(entry[k] for entry in self.entries)])
            for k, kind in enumerate((np.int64, np.int64, np.float64))
        )
        shape = (self.n_rows, self.n_published + self.n_behind)
        relations = sparse.csr_array((weight, (row, column)), shape=shape)
        relations.sum_duplicates()
        relations.eliminate_zeros()  # a cell that is the sum of itself alone
        relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
        codes = np.concatenate([np.zeros((len(self.keys), 0), np.int64), *self.codes], axis=1)
        return Behind(codes.astype(np.int32), relations, tuple(c for c in self.crossings if len(c.cells)))
