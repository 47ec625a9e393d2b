"""A table for each code of a dimension: its total is published nowhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import InputError, some
from discreet.link import RESPONSES
from discreet.table import Table

BoolArray = NDArray[np.bool_]


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
    relations, gone = table.relations, ~kept
    behind = np.asarray(table.behind)
    lost = abs(relations) @ gone
    sums = np.flatnonzero((lost == 1) & (abs(relations) @ behind == 0))
    total = {int(c): row for row in sums for c in _entries(relations, row) if gone[c]}
    told = np.flatnonzero((lost > 0) & (abs(relations) @ behind > 0))
    replaced = relations.tolil()
    for row in told:
        for cell in _entries(relations, row):
            if gone[cell] and int(cell) in total:
                by = total[int(cell)]
                factor = relations[row, cell] / relations[by, cell]
                replaced[row] = replaced[row] - factor * relations[by]
    return table.with_columns(relations=sparse.csr_array(replaced.tocsr()))


def _entries(relations: sparse.csr_array, row: int) -> NDArray[np.integer]:
    return relations.indices[relations.indptr[row] : relations.indptr[row + 1]]
