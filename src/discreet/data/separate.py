"""Tables separated by a dimension whose total is not published."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray
from discreet.data.link import RESPONSES
from discreet.data.table import Table
from discreet.errors import InputError, some


def separate(table: Table, dimension: str, *, shown: Sequence[Sequence[str]] = ()) -> Table:
    """The table without the cells at the total of a dimension: each code below the total then has a table of its own.

    Cells of linked tables that are not classified by the dimension stay: ``shown`` lists the dimensions of each such table.
    """
    names = list(table.dimensions)
    unknown = [name for name in (dimension, *(name for by in shown for name in by)) if name not in names]
    if unknown:
        raise InputError(f"There is no dimension {unknown[0]!r}; the table has {some(names, 12)}.", unknown)
    at_total = table.codes == 0
    # Cells of a table are at the total of all dimensions that it is not classified by. Responses have no total.
    others = [name for name, hierarchy in table.dimensions.items() if hierarchy.total != RESPONSES]
    stays = [at_total[[names.index(name) for name in others if name not in by]].all(axis=0) for by in shown]
    # Relations between removed cells follow from the others: a total over codes is additive because each code is.
    kept = ~at_total[names.index(dimension)] | np.any([np.zeros(len(table), dtype=bool), *stays], axis=0)
    if table.behind is not None:
        kept |= table.behind  # these cells are not published anyway
        table = _in_addends(table, kept)
    removed = table.provenance.get("totals_unpublished", 0) + int((~kept).sum())
    return table.only(np.flatnonzero(kept)).with_columns(provenance={**table.provenance, "totals_unpublished": removed})


def _in_addends(table: Table, kept: BoolArray) -> Table:
    """The table with removed totals replaced by their addends in the relations of cells behind."""
    relations, removed, behind = table.relations, ~kept, np.asarray(table.behind)
    entries, m = relations.tocoo(), relations.shape[0]
    n_removed = np.bincount(entries.row[removed[entries.col]], minlength=m)
    has_behind = np.bincount(entries.row[behind[entries.col]], minlength=m) > 0
    # For each removed total, a relation between it and cells that are kept.
    sums = removed[entries.col] & (n_removed[entries.row] == 1) & ~has_behind[entries.row]
    relation = np.full(len(table), -1)
    relation[entries.col[sums]] = entries.row[sums]
    weight = np.zeros(len(table))
    weight[entries.col[sums]] = entries.data[sums]
    replaced = removed[entries.col] & has_behind[entries.row] & (relation[entries.col] >= 0)
    row, cell = entries.row[replaced], entries.col[replaced]
    factors = sparse.csr_array((entries.data[replaced] / weight[cell], (row, relation[cell])), shape=(m, m))
    return table.with_columns(relations=sparse.csr_array(relations - factors @ relations))
