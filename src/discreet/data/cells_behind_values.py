"""Values of the cells behind linked tables: from a table that has these cells, or from some congruent table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.arrays import FloatArray, IntArray
from discreet.data.cells_behind import Behind
from discreet.data.cross_classification import index_in, numbered
from discreet.data.hierarchy import Hierarchy
from discreet.data.linked_cycles import is_signed
from discreet.data.table import Table, digits_of
from discreet.errors import InputError, TableError

BehindSource = Table | Sequence[Table] | Callable[[Mapping[str, Hierarchy]], Table] | bool
Columns = dict[str, Any]

INTEGER_SEARCH_SECONDS = 10.0  # for a congruent table of integers: after that, tabulating the true cells is quicker
VERTEX_TOLERANCE = 1e-6  # a vertex that is this near to integers is rounded to them


def with_cells_behind(
    columns: Columns,
    found: Behind,
    relations: sparse.csr_array,
    behind: BehindSource,
    tables: Sequence[Table],
    dimensions: Mapping[str, Hierarchy],
    responses: Sequence[str],
) -> Columns:
    """The columns of linked tables with values and counts of the cells behind, to which no rule applies."""
    n = len(columns["value"])
    longer = _padded(columns, len(found))
    if isinstance(behind, bool):
        signed = np.array([any(is_signed(t) for t in tables if t.response == name) for name in responses])
        counts = tables[0].is_count
        low = np.where(signed[found.codes[0]], -np.inf, 0.0)
        value = congruent_values(relations, columns["value"], low, counts=counts)
        longer["value"][n:], longer["magnitude"][n:] = value, np.abs(value)
        if counts and "count" in longer:
            longer["count"][n:] = value
        return longer
    given = [behind] if isinstance(behind, Table) else [] if callable(behind) else list(behind)
    filled = np.zeros(len(found), dtype=bool)
    for crossing in found.crossings:
        names, response = [list(dimensions)[d] for d in crossing.dimensions], responses[crossing.response]
        codes = [[dimensions[name].codes[c] for c in row] for name, row in zip(names, crossing.codes, strict=True)]
        table = next((t for t in given if _has_cells(t, response, names, codes)), None)
        if table is None and callable(behind):
            table = behind({name: _tabulated_by(dimensions[name], row) for name, row in zip(names, codes, strict=True)})
            given.append(table)
        if table is None or not _has_cells(table, response, names, codes):
            raise InputError(
                f"The cells behind the linked tables are those of {response!r} by {' × '.join(names)}: give a table that has "
                "them with behind=, tabulated from the same records."
            )
        place = _places(table, names, codes)
        cells, stored = crossing.cells[place >= 0], place[place >= 0]
        for name in ("value", "magnitude", "count"):
            if name in longer and getattr(table, name) is not None:
                longer[name][cells] = getattr(table, name)[stored]
        filled[crossing.cells - n] = True
    if not filled.all():
        raise InputError(
            "Some cells behind the linked tables combine groupings of one dimension that have no codes in common, and no table "
            "has both groupings. Leave behind= out."
        )
    return longer


def _padded(columns: Columns, n_cells: int) -> Columns:
    """Columns with entries for further cells: zeros, and no contributors."""

    def padded(name: str, column: Any) -> Any:
        if isinstance(column, dict):
            return {extra: padded(extra, values) for extra, values in column.items()}
        if isinstance(column, tuple):
            return column
        padding = -1 if name == "top_contributor" else 0
        return np.concatenate([column, np.full((n_cells, *column.shape[1:]), padding, dtype=column.dtype)])

    return {name: padded(name, column) for name, column in columns.items()}


def _tabulated_by(hierarchy: Hierarchy, codes: Sequence[str]) -> Hierarchy:
    """The hierarchy to tabulate these codes by: flat if all are leaves, as no totals are needed; otherwise the original."""
    leaves = [hierarchy.codes[i] for i in np.flatnonzero(hierarchy.is_leaf)]
    return Hierarchy.flat(leaves, hierarchy.total) if set(codes) <= set(leaves) else hierarchy


def _has_cells(table: Table, response: str, names: Sequence[str], codes: Sequence[Sequence[str]]) -> bool:
    return table.response == response and all(
        name in table.dimensions and all(code in table.dimensions[name] for code in set(row))
        for name, row in zip(names, codes, strict=True)
    )


def _places(table: Table, names: Sequence[str], codes: Sequence[Sequence[str]]) -> IntArray:
    """The indices of cells with these codes at the total of all other dimensions; −1 for cells that are not stored."""
    crossed = [list(table.dimensions).index(name) for name in names]
    others = [d for d in range(len(table.dimensions)) if d not in crossed]
    stored = np.flatnonzero(~table.codes[others].any(axis=0))
    wanted = [
        np.array([table.dimensions[name].index(code) for code in row], dtype=np.int64)
        for name, row in zip(names, codes, strict=True)
    ]
    return np.append(stored, -1)[index_in(*numbered(wanted, table.codes[crossed][:, stored].astype(np.int64)))]


def congruent_values(relations: sparse.csr_array, value: FloatArray, low: FloatArray, *, counts: bool) -> FloatArray:
    """Values of at least ``low`` for the cells after those of ``value``, with the same decimals if such values are found.

    Counts must be integers.
    """
    n = len(value)
    rows = sparse.csr_array(relations[np.diff(relations[:, n:].indptr) > 0])
    digits = digits_of(value)
    scale = 1.0 if digits is None else 10.0**digits
    matrix, right = sparse.csr_array(rows[:, n:]), -(rows[:, :n] @ value) * scale
    right = right if digits is None else np.round(right)
    bounds = np.stack([low, np.full(len(low), np.inf)], axis=1)
    solved = linprog(np.zeros(len(low)), A_eq=matrix, b_eq=right, bounds=bounds, method="highs-ds")
    if solved.status == 2:
        raise TableError(
            "The linked tables form a cycle, and no table without negative cells lies behind them: they are not of the same "
            "records. Tabulate all of them from the same records."
        )
    if solved.status != 0:
        raise InputError("No table behind the linked tables was found: give the true one with behind=.")
    found = np.maximum(solved.x, low)
    if digits is None:
        return np.asarray(found)
    rounded = np.round(found)
    integral = np.all(np.abs(rounded - found) <= VERTEX_TOLERANCE * np.maximum(1.0, np.abs(rounded)))
    if integral and np.all(matrix @ rounded == right):
        return np.asarray(rounded / scale)
    exact = milp(
        np.zeros(len(low)),
        constraints=LinearConstraint(matrix, right, right),
        bounds=Bounds(low, np.inf),
        integrality=np.ones(len(low)),
        options={"time_limit": INTEGER_SEARCH_SECONDS},
    )
    if exact.x is not None and np.all(matrix @ np.round(exact.x) == right):
        return np.asarray(np.round(exact.x) / scale)
    if counts:
        raise InputError("No table of integers behind the linked tables was found: give the true one with behind=.")
    return np.asarray(found / scale)
