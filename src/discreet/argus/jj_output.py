"""The problem that a JJ file of a job holds: after protection, secondary cells are suppressed already."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from discreet.argus.work import Work, problem_of
from discreet.arrays import IntArray
from discreet.data.table import Table
from discreet.problem import Problem, Status
from discreet.protection import Decision


def jj_problem(work: Work, *, trivial: bool) -> Problem:
    """The problem of a table; without ``trivial`` levels, cells that are the same are one cell."""
    problem = work.problem or problem_of(work)
    if work.protection is not None and work.protection.only_suppresses:
        secondary = work.protection.decision == Decision.SECONDARY
        problem = problem.with_columns(
            status=np.where(secondary, Status.SUPPRESSED, problem.status).astype(np.int8),
            **{side: np.where(secondary, 0.0, getattr(problem, side)) for side in ("lower", "upper")},
        )
    problem = replace(problem, overrides=(), must_suppress=())
    return problem if trivial else without_trivial(problem)


def without_trivial(problem: Problem) -> Problem:
    """The problem in which cells with a relation of their own, "one equals the other", are one cell.

    Such cells occur where a code is the only one below another. The cell has the strictest status and the largest levels.
    """
    table = problem.table
    relations, into = sparse.csr_array(table.relations), np.arange(len(table))
    while len(pairs := np.flatnonzero(np.diff(relations.indptr) == 2)):
        at = relations.indptr[pairs[0]]
        kept, merged = sorted(relations.indices[at : at + 2].tolist())
        into = np.where(into == merged, kept, into)
        relations = _with_merged(relations, into)
    cells = np.unique(into)
    order = np.array([0, 3, 1, 2])  # of the statuses free, primary, published and suppressed: primary is the strictest
    strictest = np.zeros(len(table), dtype=np.int64)
    np.maximum.at(strictest, into, order[problem.status])
    levels = {side: np.zeros(len(table)) for side in ("lower", "upper", "sliding")}
    for side, level in levels.items():
        np.maximum.at(level, into, getattr(problem, side))
    whole = Table(
        table.dimensions,
        table.codes[:, cells],
        table.value[cells],
        relations[:, cells],
        response=table.response,
        is_count=table.is_count,
        complete=False,
    )
    return problem.only(cells, whole).with_columns(
        status=np.argsort(order)[strictest[cells]].astype(np.int8),
        **{side: level[cells] for side, level in levels.items()},
    )


def _with_merged(relations: sparse.csr_array, into: IntArray) -> sparse.csr_array:
    """The relations with the columns of merged cells added up, each relation once, and without those that become empty."""
    rows = sparse.coo_array(relations)
    merged = sparse.csr_array((rows.data, (rows.row, into[rows.col])), shape=rows.shape)
    merged.sum_duplicates()
    merged.eliminate_zeros()
    merged = sparse.csr_array(merged[np.diff(merged.indptr) > 0])
    seen: dict[bytes, int] = {}
    for row in range(merged.shape[0]):
        terms = slice(merged.indptr[row], merged.indptr[row + 1])
        seen.setdefault(merged.indices[terms].tobytes() + merged.data[terms].tobytes(), row)
    return sparse.csr_array(merged[sorted(seen.values())])
