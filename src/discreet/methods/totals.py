"""Totals from the finest cells: which add up to which, in what order, and whether that is all there is to the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import Table
from discreet.errors import TableError


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals in steps, each from cells that are known by then."""

    table: Table
    steps: tuple[tuple[IntArray, sparse.csr_array, FloatArray], ...]  # totals, their parts, and what is added to those

    @classmethod
    def of(cls, table: Table) -> Totals:
        """Refused if the finest cells do not determine the table, or are not free to change one by one."""
        found = cls(table, tuple(_steps(table)))
        trial = np.zeros(len(table))
        trial[table.is_base] = np.random.default_rng(0).integers(1, 1 << 20, int(table.is_base.sum()))
        known = table.is_base.copy()
        for totals, _, _ in found.steps:
            known[totals] = True
        if not known.all() or np.any(table.relations @ found.add_up(trial) != table.rhs):
            raise TableError(
                "The finest cells of the table cannot change one by one: they classify the same records in several ways, or "
                "are tied by other equations than sums. Tabulate by all dimensions together, and link the tables to that one."
            )
        return found

    def add_up(self, value: FloatArray) -> FloatArray:
        """The values of the finest cells as they are given, and of all totals as they follow."""
        value = np.where(self.table.is_base, value, 0.0)
        for totals, parts, more in self.steps:
            value[totals] = parts @ value + more
        return value

    def holding(self, cells: IntArray) -> sparse.csc_array:
        """One column for each of some of the finest cells: which cells it counts in, itself first of all."""
        here = (np.ones(len(cells)), (cells, np.arange(len(cells))))
        counts = sparse.csr_array(sparse.coo_array(here, shape=(len(self.table), len(cells))))
        for totals, parts, _ in self.steps:
            place = (np.ones(len(totals)), (totals, np.arange(len(totals))))
            spread = sparse.csr_array(sparse.coo_array(place, shape=(len(self.table), len(totals))))
            counts = sparse.csr_array(counts + spread @ (parts @ counts))
        return sparse.csc_array(counts)


def _steps(table: Table) -> Iterator[tuple[IntArray, sparse.csr_array, FloatArray]]:
    parts = sparse.csr_array(table.relations.maximum(0.0))
    parts.eliminate_zeros()
    totals = sparse.csr_array(parts - table.relations)
    totals.eliminate_zeros()
    is_sum = (np.diff(totals.indptr) == 1) & _all_one(parts) & _all_one(totals)
    many, known = np.diff(parts.indptr), table.is_base.copy()
    while True:
        missing = (~known).astype(float)
        ready = np.flatnonzero(is_sum & (parts @ missing == 0) & (totals @ missing > 0))
        if not len(ready):
            return
        ready = ready[np.argsort(many[ready], kind="stable")]  # of several ways to a total, that with the fewest parts
        cells, first = np.unique(totals.indices[totals.indptr[ready]], return_index=True)
        rows = ready[first]
        yield cells.astype(np.int64), sparse.csr_array(parts[rows]), -table.rhs[rows]
        known[cells] = True


def _all_one(matrix: sparse.csr_array) -> NDArray[np.bool_]:
    """Rows without weights other than one."""
    other = sparse.csr_array((np.abs(matrix.data - 1), matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.asarray(other @ np.ones(matrix.shape[1]) == 0)
