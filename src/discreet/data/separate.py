"""A table for each code of a dimension: its total is published nowhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray
from discreet.data.link import RESPONSES
from discreet.data.table import Table
from discreet.errors import InputError, some


def separate(table: Table, dimension: str, *, shown: Sequence[Sequence[str]] = ()) -> Table:
    """The table without the cells at the total of a dimension, so that each code below it has a table of its own.

    Of linked tables some may have that total all the same, because they are not classified by the dimension: ``shown`` lists
    the dimensions of these, and their cells stay.
    """
    names = list(table.dimensions)
    unknown = [name for name in (dimension, *(name for by in shown for name in by)) if name not in names]
    if unknown:
        raise InputError(f"There is no dimension {unknown[0]!r}; the table has {some(names, 12)}.", unknown)
    at_total = table.codes == 0
    # A table by other dimensions holds what is at the total of all those that it lacks. Responses have no total.
    others = [name for name, hierarchy in table.dimensions.items() if hierarchy.total != RESPONSES]
    stays = [at_total[[names.index(name) for name in others if name not in by]].all(axis=0) for by in shown]
    # What else the relations say follows: a total over the codes of one dimension adds up because each code does.
    kept = ~at_total[names.index(dimension)] | np.any([np.zeros(len(table), dtype=bool), *stays], axis=0)
    if table.behind is None:
        return table.only(np.flatnonzero(kept))
    kept |= table.behind  # published nowhere as it is
    return _in_parts(table, kept).only(np.flatnonzero(kept))


def _in_parts(table: Table, kept: BoolArray) -> Table:
    """The table with relations of cells behind written in the parts of those totals that are not kept."""
    relations, gone, behind = table.relations, ~kept, np.asarray(table.behind)
    entries = relations.tocoo()
    lost = np.bincount(entries.row[gone[entries.col]], minlength=relations.shape[0])
    tells = np.bincount(entries.row[behind[entries.col]], minlength=relations.shape[0]) > 0
    # For each total that goes a relation with its parts alone.
    sums = gone[entries.col] & (lost[entries.row] == 1) & ~tells[entries.row]
    by = np.full(len(table), -1)
    by[entries.col[sums]] = entries.row[sums]
    weight = np.zeros(len(table))
    weight[entries.col[sums]] = entries.data[sums]
    out = gone[entries.col] & tells[entries.row] & (by[entries.col] >= 0)
    row, cell = entries.row[out], entries.col[out]
    m = relations.shape[0]
    less = sparse.csr_array((entries.data[out] / weight[cell], (row, by[cell])), shape=(m, m))
    return table.with_columns(relations=sparse.csr_array(relations - less @ relations))
