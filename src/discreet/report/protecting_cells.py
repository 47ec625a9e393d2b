"""Which suppressed cells stand by which sensitive ones: those in the same sums, as far as the relations tell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from discreet.arrays import BoolArray, FloatArray
from discreet.data.table import Table
from discreet.inference.requirements import withheld
from discreet.problem import Status
from discreet.protection import Decision, Protection
from discreet.report.view import MARKS

Row = dict[str, Any]

MAX_PRIMARIES, MAX_BUSIEST, MAX_NAMES = 60, 20, 6


def protecting_cells(protection: Protection, listed: list[int]) -> Row | None:
    """For each sensitive cell the others that are not told, sum by sum; nothing if there is no sensitive cell.

    Two cells stand by each other if a relation holds both. Cells that no chain of relations connects do nothing for each other.
    """
    problem = protection.problem
    blurred = withheld(protection)
    primary = (problem.status == Status.PRIMARY) & blurred
    if not primary.any():
        return None
    held = (abs(problem.table.relations)[:, np.flatnonzero(blurred)] > 0).astype(np.float64)
    # Cells and relations as one graph: linear in the table, however many cells a relation has.
    n_groups, group = connected_components(sparse.block_array([[None, held.T], [held, None]]), directed=False)
    group = group[: held.shape[1]]
    is_primary = primary[blurred]
    beside = held.T @ (held @ is_primary.astype(np.float64))
    needed = np.bincount(group, is_primary, minlength=n_groups)[group] > 0
    cells = [i for i in listed if primary[i]]
    columns = problem.table.relations.tocsc()
    return {
        "rows": [_beside(protection, columns, blurred, i) for i in cells[:MAX_PRIMARIES]],
        "of": int(primary.sum()),
        "groups": len(np.unique(group)),
        "largest": int(np.bincount(group).max()),
        "second_hand": int((~is_primary & (beside == 0) & needed).sum()),
        "idle": int((~is_primary & ~needed).sum()),
        "busiest": _busiest(problem.table, np.flatnonzero(blurred), np.where(is_primary, 0, beside)),
    }


def _beside(protection: Protection, columns: sparse.csc_array, blurred: BoolArray, cell: int) -> Row:
    """The relations of a cell, each with the other cells in it that are not told."""
    table, sums = protection.problem.table, []
    for row in columns.indices[columns.indptr[cell] : columns.indptr[cell + 1]].tolist():
        inside = table.relations.indices[table.relations.indptr[row] : table.relations.indptr[row + 1]]
        names = [_named(table, protection, int(i)) for i in inside if blurred[i] and i != cell]
        sums.append((table.relation_label(row), names[:MAX_NAMES], max(len(names) - MAX_NAMES, 0)))
    return {"label": table.label(cell), "sums": sums}


def _named(table: Table, protection: Protection, cell: int) -> tuple[str, str]:
    return table.label(cell), MARKS[Decision(protection.decision[cell])]


def _busiest(table: Table, cells: NDArray[np.int64], beside: FloatArray) -> list[tuple[str, int]]:
    """Cells that are not sensitive and not told, by how often they are in a sum with a sensitive one."""
    order = np.argsort(-beside, kind="stable")[:MAX_BUSIEST]
    return [(table.label(int(cells[i])), int(beside[i])) for i in order.tolist() if beside[i] > 0]
