"""Which suppressed cells protect which sensitive ones: those in the same relations."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.arrays import BoolArray
from discreet.inference.requirements import withheld
from discreet.problem import Status
from discreet.protection import Decision, Protection
from discreet.report.templates import Row
from discreet.report.view import MARKS

# Sensitive cells, other cells, and cells per relation that are listed.
MAX_PRIMARIES, MAX_BUSIEST, MAX_NAMES = 60, 20, 6


def protecting_cells(protection: Protection, listed: list[int]) -> Row | None:
    """For each sensitive cell the other cells without exact value, per relation; None if there is no sensitive cell."""
    problem = protection.problem
    unpublished = withheld(protection)
    primary = (problem.status == Status.PRIMARY) & unpublished
    if not primary.any():
        return None
    incidence = (abs(problem.table.relations)[:, np.flatnonzero(unpublished)] > 0).astype(np.float64)
    # One graph of cells and relations, whose size is linear in that of the table, also if relations have many cells.
    graph = sparse.block_array([[None, incidence.T], [incidence, None]])
    n_groups, group = connected_components(graph, directed=False)
    group = group[: incidence.shape[1]]
    is_primary = primary[unpublished]
    n_shared = incidence.T @ (incidence @ is_primary.astype(np.float64))  # relations shared with sensitive cells
    protects = np.bincount(group, is_primary, minlength=n_groups)[group] > 0
    cells = [i for i in listed if primary[i]]
    columns = problem.table.relations.tocsc()
    # The secondary cells that share most relations with sensitive ones, and the numbers of these relations.
    n_shared[is_primary] = 0
    order = np.argsort(-n_shared, kind="stable")[:MAX_BUSIEST]
    busiest = zip(problem.table.labels(np.flatnonzero(unpublished)[order]), n_shared[order].tolist(), strict=True)
    return {
        "rows": [_protection_of(protection, columns, unpublished, i) for i in cells[:MAX_PRIMARIES]],
        "of": int(primary.sum()),
        "groups": len(np.unique(group)),
        "largest": int(np.bincount(group).max()),
        "indirect": int((~is_primary & (n_shared == 0) & protects).sum()),
        "needless": int((~is_primary & ~protects).sum()),
        "busiest": [(label, int(n)) for label, n in busiest if n > 0],
    }


def _protection_of(protection: Protection, columns: sparse.csc_array, unpublished: BoolArray, cell: int) -> Row:
    """The relations of a cell, each with the other cells in it that are not published with their values."""
    table, sums = protection.problem.table, []
    for row in columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]].tolist():
        in_relation = table.relations.indices[table.relations.indptr[row] : table.relations.indptr[row + 1]]
        others = [int(i) for i in in_relation if unpublished[i] and i != cell]
        names = [(table.label(i), MARKS[Decision(protection.decision[i])]) for i in others[:MAX_NAMES]]
        sums.append((table.relation_label(row), names, max(len(others) - MAX_NAMES, 0)))
    return {"label": table.label(cell), "sums": sums}
