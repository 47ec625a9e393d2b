"""The tables without hierarchy that a system of relations is made of."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Subtable:
    """Some cells, the relations that hold between them alone, and where each cell is along each breakdown, 0 the total."""

    cells: IntArray
    rows: IntArray
    at: IntArray  # (breakdown, cell)


def subtables(relations: sparse.csr_array) -> list[Subtable]:
    """From the top down: one total with what it is broken down into, across all breakdowns; every relation is in one.

    A cell that a total is broken down into by k breakdowns at once is part of k relations, whose totals are those broken down
    by one less. So no dimensions need be known, and tables that are linked are no different from one.
    """
    system = _System(relations)
    found: list[Subtable] = []
    within: list[set[int]] = [set() for _ in range(relations.shape[0])]  # the tables found that hold a relation
    for top in system.tops():
        rows = system.rows_below(np.array([top]))
        if set.intersection(*(within[row] for row in rows.tolist())):
            continue  # a part of a table already found
        one = system.below(top)
        for row in one.rows.tolist():
            within[row].add(len(found))
        found.append(one)
    for row in [row for row, tables in enumerate(within) if not tables]:  # equations without a total
        cells = np.sort(system.cells(row))
        found.append(Subtable(cells, np.array([row]), np.arange(len(cells))[np.newaxis]))
    return found


class _System:
    """Relations as totals and parts."""

    def __init__(self, relations: sparse.csr_array) -> None:
        self.relations = relations
        self.total = _totals(relations)
        rows = np.flatnonzero(self.total >= 0)
        order = rows[np.argsort(self.total[rows], kind="stable")]
        self.down = order  # rows in the order of their totals
        self.first = np.searchsorted(self.total[order], np.arange(relations.shape[1] + 1))
        self.size = np.diff(relations.indptr)

    def cells(self, row: int) -> IntArray:
        return np.asarray(self.relations.indices[self.relations.indptr[row] : self.relations.indptr[row + 1]])

    def rows_below(self, cells: IntArray) -> IntArray:
        """All relations of which these cells are the totals."""
        return np.concatenate([self.down[self.first[cell] : self.first[cell + 1]] for cell in cells.tolist()])

    def tops(self) -> list[int]:
        """All totals, those above before those below."""
        totals = np.unique(self.total[self.total >= 0])
        return [int(cell) for cell in totals[np.argsort(self.depths()[totals], kind="stable")]]

    def depths(self) -> IntArray:
        """How many totals are above each cell, along the longest way."""
        depth = np.zeros(self.relations.shape[1], dtype=np.int64)
        rows = np.flatnonzero(self.total >= 0)
        terms = sparse.csr_array(self.relations[rows])
        total = np.repeat(self.total[rows], np.diff(terms.indptr))
        below = terms.indices != total
        total, part = total[below], terms.indices[below]
        for _ in range(len(depth)):  # as many times as there are levels; relations in a circle have none
            before = depth.copy()
            np.maximum.at(depth, part, before[total] + 1)
            if np.array_equal(depth, before) or depth.max() > LEVELS:
                break
        return depth

    def below(self, top: int) -> Subtable:
        breakdowns = self.rows_below(np.array([top]))
        at = {top: np.zeros(len(breakdowns), dtype=np.int64)}
        level, rows, times = [top], [], 0
        while level:
            times += 1
            new: dict[int, IntArray] = {}
            count: Counter[int] = Counter()
            for row in self.rows_below(np.array(level)).tolist():
                total = int(self.total[row])
                rows.append(row)
                for k, part in enumerate(self.cells(row).tolist(), start=1):
                    if part != total and part not in at:
                        count[part] += 1
                        where = at[total] if times > 1 else np.where(breakdowns == row, k, 0)
                        new[part] = np.maximum(new[part], where) if part in new else where
            level = [cell for cell in new if count[cell] >= times]
            at |= {cell: new[cell] for cell in level}
        cells = np.array(sorted(at))
        whole = [row for row in sorted(set(rows)) if all(cell in at for cell in self.cells(row).tolist())]
        return Subtable(cells, np.array(whole, dtype=np.int64), np.array([at[cell] for cell in cells.tolist()]).T)


LEVELS = 50  # deeper hierarchies are circles


def _totals(relations: sparse.csr_array) -> IntArray:
    """The one cell in each relation that the others add up to; −1 if there is none."""
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    total = np.full(relations.shape[0], -1)
    for sign in (1, -1):  # the usual sign last: it decides where a relation has two cells
        alone = np.bincount(row, np.sign(relations.data) == sign, relations.shape[0]) == 1
        at = alone[row] & (np.sign(relations.data) == sign)
        total[row[at]] = relations.indices[at]
    return total
