"""What the cells behind linked tables hold: from a table that has them, or from some table that fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.arrays import FloatArray, IntArray
from discreet.data.cells_behind import Behind
from discreet.data.cross_classification import numbered
from discreet.data.hierarchy import Hierarchy
from discreet.data.linked_cycles import is_signed
from discreet.data.table import Table, digits_of
from discreet.errors import InputError, TableError

Given = Table | Sequence[Table] | Callable[[Mapping[str, Hierarchy]], Table] | bool
Columns = dict[str, Any]

SECONDS = 10.0  # for a search among whole numbers: beyond that, giving the true cells is quicker
WHOLE = 1e-6  # a vertex this near to whole numbers is one


def with_cells_behind(
    columns: Columns,
    found: Behind,
    relations: sparse.csr_array,
    behind: Given,
    tables: Sequence[Table],
    dimensions: Mapping[str, Hierarchy],
    responses: Sequence[str],
) -> Columns:
    """The columns of linked tables with those of the cells behind: values and counts, as no rule applies to these cells."""
    n = len(columns["value"])
    longer = _padded(columns, len(found))
    if isinstance(behind, bool):
        signed = np.array([any(is_signed(t) for t in tables if t.response == name) for name in responses])
        counts = tables[0].is_count
        low = np.where(signed[found.codes[0]], -np.inf, 0.0)
        value = drawn(relations, columns["value"], low, counts=counts)
        longer["value"][n:], longer["magnitude"][n:] = value, np.abs(value)
        if counts and "count" in longer:
            longer["count"][n:] = value
        return longer
    given = [behind] if isinstance(behind, Table) else [] if callable(behind) else list(behind)
    told = np.zeros(len(found), dtype=bool)
    for crossing in found.crossings:
        names, response = [list(dimensions)[d] for d in crossing.dimensions], responses[crossing.response]
        codes = [[dimensions[name].codes[c] for c in row] for name, row in zip(names, crossing.codes, strict=True)]
        table = next((t for t in given if _holds(t, response, names, codes)), None)
        if table is None and callable(behind):
            table = behind({name: _to_tabulate(dimensions[name], row) for name, row in zip(names, codes, strict=True)})
            given.append(table)
        if table is None or not _holds(table, response, names, codes):
            raise InputError(
                f"The cells behind the linked tables are those of {response!r} by {' × '.join(names)}: give a table that has "
                "them with behind=, tabulated from the same records."
            )
        place = _places(table, names, codes)
        cells, here = crossing.cells[place >= 0], place[place >= 0]
        for name in ("value", "magnitude", "count"):
            if name in longer and getattr(table, name) is not None:
                longer[name][cells] = getattr(table, name)[here]
        told[crossing.cells - n] = True
    if not told.all():
        raise InputError(
            "Groupings of a dimension that have nothing in common are behind the linked tables, and no table has both. Leave "
            "behind= out."
        )
    return longer


def _padded(columns: Columns, cells: int) -> Columns:
    """Columns with so many more entries: nothing, and by nobody."""

    def longer(name: str, column: NDArray[Any]) -> NDArray[Any]:
        shape = (cells, *column.shape[1:])
        return np.concatenate([column, np.full(shape, -1 if name == "top_contributor" else 0, dtype=column.dtype)])

    return {
        name: {extra: longer(extra, values) for extra, values in column.items()}
        if isinstance(column, dict)
        else column
        if isinstance(column, tuple)
        else longer(name, column)
        for name, column in columns.items()
    }


def _to_tabulate(hierarchy: Hierarchy, codes: Sequence[str]) -> Hierarchy:
    """What to tabulate by: the finest codes alone, as no totals are needed; all of them where records have finer codes."""
    leaves = [hierarchy.codes[i] for i in np.flatnonzero(hierarchy.is_leaf)]
    return Hierarchy.flat(leaves, hierarchy.total) if set(codes) <= set(leaves) else hierarchy


def _holds(table: Table, response: str, names: Sequence[str], codes: Sequence[Sequence[str]]) -> bool:
    return table.response == response and all(
        name in table.dimensions and all(code in table.dimensions[name] for code in set(row))
        for name, row in zip(names, codes, strict=True)
    )


def _places(table: Table, names: Sequence[str], codes: Sequence[Sequence[str]]) -> IntArray:
    """Where cells with these codes are in a table, at the total of its other dimensions; −1 for empty ones."""
    mine = [list(table.dimensions).index(name) for name in names]
    others = [d for d in range(len(table.dimensions)) if d not in mine]
    here = np.flatnonzero(~table.codes[others].any(axis=0))
    wanted = [
        np.array([table.dimensions[name].index(code) for code in row], dtype=np.int64)
        for name, row in zip(names, codes, strict=True)
    ]
    wish, have = numbered(wanted, table.codes[mine][:, here].astype(np.int64))
    order = np.argsort(have, kind="stable")
    place = np.searchsorted(have[order], wish)
    return np.where(np.append(have[order], -1)[place] == wish, np.append(here[order], -1)[place], -1)


def drawn(relations: sparse.csr_array, value: FloatArray, low: FloatArray, *, counts: bool) -> FloatArray:
    """Values of the cells after those of ``value``, none below ``low``, as round as these are; counts are whole."""
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
    near = np.round(found)
    if np.all(matrix @ near == right) and np.all(np.abs(near - found) <= WHOLE * np.maximum(1.0, np.abs(near))):
        return np.asarray(near / scale)
    exact = milp(
        np.zeros(len(low)),
        constraints=LinearConstraint(matrix, right, right),
        bounds=Bounds(low, np.inf),
        integrality=np.ones(len(low)),
        options={"time_limit": SECONDS},
    )
    if exact.x is not None and np.all(matrix @ np.round(exact.x) == right):
        return np.asarray(np.round(exact.x) / scale)
    if counts:
        raise InputError(
            "No table of whole numbers behind the linked tables was found: give the true one with behind=."
        )
    return np.asarray(found / scale)
