"""The tables without hierarchy in a system of relations, and the problem restricted to one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.table import Table
from discreet.problem import Problem

MAX_DEPTH = 50  # levels of a hierarchy: relations that seem deeper form a circle


@dataclass(frozen=True, eq=False)
class Subtable:
    """Some cells, the relations among them, and the position of each cell in each breakdown, 0 for the total."""

    cells: IntArray
    rows: IntArray
    at: IntArray  # (breakdown, cell)


def subtables(relations: sparse.csr_array) -> list[Subtable]:
    """One table per total, from the top down, with its parts by all breakdowns together; every relation is in a table.

    A part of a total by k breakdowns together is in k relations, whose totals are parts by k − 1 of these breakdowns. So the
    dimensions need not be known, and linked tables are treated like one table.
    """
    system = _System(relations)
    found: list[Subtable] = []
    within: list[set[int]] = [set() for _ in range(relations.shape[0])]  # per relation, the tables that contain it
    for top in system.tops():
        rows = system.rows_below(np.array([top]))
        if set.intersection(*(within[row] for row in rows.tolist())):
            continue  # within a table already found
        table = system.below(top)
        for row in table.rows.tolist():
            within[row].add(len(found))
        found.append(table)
    for row in [row for row, tables in enumerate(within) if not tables]:  # equations without a total
        cells = np.sort(system.cells(row))
        found.append(Subtable(cells, np.array([row]), np.arange(len(cells))[np.newaxis]))
    return found


def restrict(problem: Problem, cells: IntArray, rows: IntArray) -> Problem:
    """The problem of these cells and relations, where all other cells are published."""
    table = problem.table
    here = sparse.csr_array(table.relations[rows][:, cells])
    rhs = here @ table.value[cells]
    names = tuple(map(str, cells.tolist()))
    small = Table({}, np.zeros((0, len(cells)), dtype=np.int32), table.value[cells], here, names=names, rhs=rhs)
    part = problem.only(cells, small)
    # Attackers that require no level of these cells are left out.
    others = tuple(attacker for attacker in part.others if attacker.levels is None or attacker.levels.any())
    return part.with_columns(others=others)


class _System:
    """Relations as totals and their parts."""

    def __init__(self, relations: sparse.csr_array) -> None:
        self.relations = relations
        self.total = _totals(relations)
        rows = np.flatnonzero(self.total >= 0)
        self.by_total = rows[np.argsort(self.total[rows], kind="stable")]
        self.first = np.searchsorted(self.total[self.by_total], np.arange(relations.shape[1] + 1))

    def cells(self, row: int) -> IntArray:
        return np.asarray(self.relations.indices[self.relations.indptr[row] : self.relations.indptr[row + 1]])

    def rows_below(self, cells: IntArray) -> IntArray:
        """All relations whose totals are these cells."""
        return np.concatenate([self.by_total[self.first[cell] : self.first[cell + 1]] for cell in cells.tolist()])

    def tops(self) -> list[int]:
        """All totals, each before the totals below it."""
        totals = np.unique(self.total[self.total >= 0])
        return [int(cell) for cell in totals[np.argsort(self.depths()[totals], kind="stable")]]

    def depths(self) -> IntArray:
        """The number of totals above each cell, along the longest path."""
        depth = np.zeros(self.relations.shape[1], dtype=np.int64)
        rows = np.flatnonzero(self.total >= 0)
        terms = sparse.csr_array(self.relations[rows])
        total = np.repeat(self.total[rows], np.diff(terms.indptr))
        below = terms.indices != total
        total, part = total[below], terms.indices[below]
        for _ in range(len(depth)):  # ends after as many rounds as there are levels, unless relations form a circle
            before = depth.copy()
            np.maximum.at(depth, part, before[total] + 1)
            if np.array_equal(depth, before) or depth.max() > MAX_DEPTH:
                break
        return depth

    def below(self, top: int) -> Subtable:
        """The table of a total and its parts by all its breakdowns together."""
        breakdowns = self.rows_below(np.array([top]))
        at = {top: np.zeros(len(breakdowns), dtype=np.int64)}
        level, rows, n_breakdowns = [top], [], 0
        while level:
            n_breakdowns += 1
            new: dict[int, IntArray] = {}
            count: Counter[int] = Counter()
            for row in self.rows_below(np.array(level)).tolist():
                total = int(self.total[row])
                rows.append(row)
                for k, part in enumerate(self.cells(row).tolist(), start=1):
                    if part != total and part not in at:
                        count[part] += 1
                        where = at[total] if n_breakdowns > 1 else np.where(breakdowns == row, k, 0)
                        new[part] = np.maximum(new[part], where) if part in new else where
            level = [cell for cell in new if count[cell] >= n_breakdowns]
            at |= {cell: new[cell] for cell in level}
        cells = np.array(sorted(at))
        inside = [row for row in sorted(set(rows)) if all(cell in at for cell in self.cells(row).tolist())]
        return Subtable(cells, np.array(inside, dtype=np.int64), np.array([at[cell] for cell in cells.tolist()]).T)


def _totals(relations: sparse.csr_array) -> IntArray:
    """Per relation the cell that is the sum of the others; −1 if there is no such cell."""
    row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    total = np.full(relations.shape[0], -1)
    for sign in (1, -1):  # the usual sign of totals last: it decides for relations of two cells
        alone = np.bincount(row, np.sign(relations.data) == sign, relations.shape[0]) == 1
        at = alone[row] & (np.sign(relations.data) == sign)
        total[row[at]] = relations.indices[at]
    return total
