"""Totals as sums of base cells, for tables in which base cells determine all other cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import Table
from discreet.errors import TableError


@dataclass(frozen=True, eq=False)
class Totals:
    """Totals in steps: each step adds up cells that are base cells or totals of earlier steps."""

    table: Table
    steps: tuple[tuple[IntArray, sparse.csr_array, FloatArray], ...]  # totals, their parts, and constants to add

    @classmethod
    def of(cls, table: Table) -> Totals:
        """The totals of a table; refused unless base cells determine all other cells and can change independently."""
        found = cls(table, tuple(_steps(table)))
        trial = np.zeros(len(table))
        trial[table.is_base] = np.random.default_rng(0).integers(1, 1 << 20, int(table.is_base.sum()))
        known = table.is_base.copy()
        for totals, _, _ in found.steps:
            known[totals] = True
        if not known.all() or np.any(table.relations @ found.add_up(trial) != table.rhs):
            raise TableError(
                "The base cells of the table cannot change independently: they classify the same records in several ways, or "
                "have relations other than sums. Tabulate by all dimensions together, and link the tables to that one."
            )
        return found

    def add_up(self, value: FloatArray) -> FloatArray:
        """The given values of base cells, and the totals that follow from them."""
        value = np.where(self.table.is_base, value, 0.0)
        for totals, parts, constant in self.steps:
            value[totals] = parts @ value + constant
        return value

    def incidence(self, cells: IntArray) -> sparse.csc_array:
        """One column per given base cell: how often the cell counts in each cell of the table, itself included."""
        counts = self._unit_columns(cells)
        for totals, parts, _ in self.steps:
            counts = sparse.csr_array(counts + self._unit_columns(totals) @ (parts @ counts))
        return sparse.csc_array(counts)

    def _unit_columns(self, cells: IntArray) -> sparse.csr_array:
        """One column per given cell, with a one in its row."""
        ones = (np.ones(len(cells)), (cells, np.arange(len(cells))))
        return sparse.csr_array(sparse.coo_array(ones, shape=(len(self.table), len(cells))))


def _steps(table: Table) -> Iterator[tuple[IntArray, sparse.csr_array, FloatArray]]:
    parts = sparse.csr_array(table.relations.maximum(0.0))
    parts.eliminate_zeros()
    totals = sparse.csr_array(parts - table.relations)
    distance_from_one = abs(table.relations)
    distance_from_one.data = np.abs(distance_from_one.data - 1)
    is_sum = (np.diff(totals.indptr) == 1) & (distance_from_one.sum(axis=1) == 0)
    n_parts, known = np.diff(parts.indptr), table.is_base.copy()
    while True:
        missing = (~known).astype(float)
        ready = np.flatnonzero(is_sum & (parts @ missing == 0) & (totals @ missing > 0))
        if not len(ready):
            return
        # Of several relations of a total, the one with the fewest parts.
        ready = ready[np.argsort(n_parts[ready], kind="stable")]
        cells, first = np.unique(totals.indices[totals.indptr[ready]], return_index=True)
        rows = ready[first]
        yield cells.astype(np.int64), sparse.csr_array(parts[rows]), -table.rhs[rows]
        known[cells] = True
