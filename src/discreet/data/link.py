"""Linked tables: several tables as one, in which shared cells occur once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray
from discreet.data.cells_behind import cells_behind
from discreet.data.cells_behind_values import BehindSource, with_cells_behind
from discreet.data.hierarchy import Hierarchy, cell_label
from discreet.data.linked_cycles import LinkedCycles
from discreet.data.relations import additive, from_equations, stack
from discreet.data.table import PROVENANCE, Table
from discreet.errors import InputError, TableError, some

Key = tuple[int, ...]

RESPONSES = "(all responses)"  # the root of the dimension of responses; there is no such cell
SHARED_CELL_TOLERANCE = 1e-9  # relative; sums of doubles over the same records differ by less


def link(*tables: Table, equations: Sequence[str] = (), behind: BehindSource = True) -> Table:
    """One table with the cells and relations of all tables.

    Dimensions are matched by name; cells of a table without a dimension are at its total. Cells of the same response with the
    same codes are one cell, and must have the same value. Tables of different responses get a dimension ``response``, and
    ``equations`` such as ``"profit = turnover - cost"`` relate them wherever all their cells are tabulated.

    Tables that form a cycle, such as A × B, B × C and A × C, get the cells behind them, A × B × C, as further cells that are
    never published (:attr:`Table.behind`): readers know that these are not negative. ``behind`` is a table that has these
    cells, several tables, or a function that tabulates the records by given hierarchies. By default the values are those of some
    congruent table, which makes no difference to what can be inferred. ``behind=False`` leaves the cells out.

    The contributions of respondents are kept if one of the tables is finer than all others.
    """
    if not tables:
        raise InputError("link() needs at least one table.")
    if any(table.names is not None for table in tables):
        raise InputError("Tables read from JJ files have no dimensions to link by.")
    conventions = {table.weights for table in tables if table.weights is not None}
    if len(conventions) > 1:
        raise InputError("Some tables take weights to be known, others to be secret. Tabulate all of them alike.")
    if len({table.is_count for table in tables}) > 1:
        raise InputError(
            "Some tables count, others hold sums of a response. Readers know more about counts than about sums, which a table of "
            "both would not take into account. Protect the tables of counts and those of the response one after the other."
        )
    if any(table.behind is not None or (not table.complete and len(tables) > 1) for table in tables):
        raise InputError(
            "One of the tables is linked or separated already, so its cycles cannot be determined. Link all tables in one call, "
            "and remove totals afterwards, with separate()."
        )
    dimensions = _union(tables)
    responses = tuple(dict.fromkeys(table.response for table in tables))
    domains = [_Domain(table, dimensions, responses.index(table.response)) for table in tables]
    index: dict[Key, int] = {}
    where = [np.array([index.setdefault(key, len(index)) for key in domain.keys], dtype=np.int64) for domain in domains]
    _check_shared(tables, domains, where, index, dimensions)
    n = len(index)
    relations = [_renumbered(table.relations, at, n) for table, at in zip(tables, where, strict=True)]
    columns = _columns(tables, where, n)
    relations.append(_implied(dimensions, responses, index, columns["value"]))
    weights = [_parse(text, responses) for text in equations]
    if equations:
        written = [e for one in weights for e in _equations(one, responses, domains, index)]
        relations.append(from_equations(written, n))
    keys = np.array(list(index), dtype=np.int32).T
    order = np.lexsort(keys[::-1])
    cycles = LinkedCycles(
        dimensions, tables, responses, [{responses.index(r): w for r, w in e.items()} for e in weights]
    )
    mask: BoolArray | None = None
    if cycles and behind is not False:
        found = cells_behind(cycles, tables, keys.astype(np.int64))
        relations = [_renumbered(stack(relations), np.arange(n), n + len(found)), found.relations]
        if len(found):
            columns = with_cells_behind(columns, found, stack(relations), behind, tables, dimensions, responses)
            mask = np.arange(n + len(found)) >= n
        keys = np.concatenate([keys, found.codes], axis=1)
        order = np.concatenate([order, n + np.arange(len(found))])
    n = len(order)
    if len(responses) > 1:
        dimensions = {"response": Hierarchy.flat(responses, total=RESPONSES), **dimensions}
        keys[0] += 1  # code 0 is the root
    else:
        keys = keys[1:]
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    linked = Table(
        dimensions,
        keys[:, order],
        relations=_renumbered(stack(relations), rank, n),
        response=responses[0] if len(responses) == 1 else "value",
        is_count=tables[0].is_count,
        complete=len(tables) == 1 and tables[0].complete,
        weights=next(iter(conventions), None),
        counts_zeros=all(table.counts_zeros for table in tables),
        provenance={name: max(table.provenance.get(name, 0) for table in tables) for name in PROVENANCE},
        behind=mask,
        behind_drawn=mask is not None and behind is True,
        behind_left_out=bool(cycles) and behind is False,
        **{name: _take(column, order) for name, column in columns.items()},
    ).check_additive()
    # A table that is finer than all others has all contributions.
    base = np.flatnonzero(linked.is_base)
    for table, at in zip(tables, where, strict=True):
        place = rank[at]
        if table.contributions is not None and np.isin(base, place[table.is_base]).all():
            return linked.with_columns(contributions=table.contributions.renumbered(place))
    return linked


def _implied(
    dimensions: dict[str, Hierarchy], responses: tuple[str, ...], index: dict[Key, int], value: np.ndarray
) -> sparse.csr_array:
    """Relations that follow from the hierarchies of all tables together but are in no single table.

    A sum with addends that are not tabulated does not equal its total; such a relation is left out.
    """
    n = len(index)
    keys = np.array(list(index), dtype=np.int32).reshape(n, -1)
    found = []
    for response in range(len(responses)):
        at = np.flatnonzero(keys[:, 0] == response)
        matrix, _ = additive(list(dimensions.values()), keys[at, 1:].T)
        found.append(_renumbered(matrix, at, n))
    candidates = sparse.csr_array(sparse.vstack(found, format="csr"))
    off = np.abs(candidates @ value) > 1e-6 * (abs(candidates) @ np.abs(value))
    return sparse.csr_array(candidates[~off])


class _Domain:
    """The cells of one table with the codes of the linked table, and the codes that the table can have."""

    def __init__(self, table: Table, dimensions: dict[str, Hierarchy], response: int) -> None:
        self.response = response
        codes = np.zeros((len(dimensions) + 1, len(table)), dtype=np.int64)
        codes[0] = response
        self.known: list[set[int]] = []
        for d, (name, merged) in enumerate(dimensions.items(), start=1):
            if name in table.dimensions:
                place = np.array([merged.index(code) for code in table.dimensions[name].codes])
                codes[d] = place[table.codes[list(table.dimensions).index(name)]]
                self.known.append(set(place.tolist()))
            else:
                self.known.append({0})
        self.keys: list[Key] = list(map(tuple, codes.T.tolist()))

    def holds(self, key: Key) -> bool:
        return all(code in known for code, known in zip(key[1:], self.known, strict=True))

    def holding(self, keys: np.ndarray) -> np.ndarray:
        """The indices of the keys that the table can have."""
        held = np.flatnonzero(keys[:, 0] == self.response)
        for d, known in enumerate(self.known, start=1):
            held = held[np.isin(keys[held, d], list(known))]
        return held


def _union(tables: Sequence[Table]) -> dict[str, Hierarchy]:
    found: dict[str, list[Hierarchy]] = {}
    for table in tables:
        for name, hierarchy in table.dimensions.items():
            found.setdefault(name, []).append(hierarchy)
    return {name: Hierarchy.union(*hierarchies) for name, hierarchies in found.items()}


def _check_shared(
    tables: Sequence[Table],
    domains: Sequence[_Domain],
    where: Sequence[np.ndarray],
    index: dict[Key, int],
    dimensions: dict[str, Hierarchy],
) -> None:
    """Raise if a cell that several tables can have differs between them; a cell that is not stored is zero."""
    keys = np.array(list(index), dtype=np.int64).reshape(len(index), -1)
    first = np.full(len(index), np.nan)
    for table, at in zip(tables, where, strict=True):
        fresh = np.isnan(first[at])
        first[at[fresh]] = table.value[fresh]
    different: list[Key] = []
    for domain, table, at in zip(domains, tables, where, strict=True):
        value = np.zeros(len(index))
        value[at] = table.value
        off = np.abs(value - first) > SHARED_CELL_TOLERANCE * np.maximum(np.abs(first), np.abs(value))
        different += map(tuple, keys[np.flatnonzero(off)[domain.holding(keys[off])]].tolist())
    if different:
        labels = [cell_label(dimensions.values(), key[1:]) for key in dict.fromkeys(different)]
        raise TableError(
            f"{len(labels)} cells that the tables share differ between them, e.g. {some(labels)}. "
            "Tabulate all tables from the same records.",
            labels,
        )


def _equations(
    weights: Mapping[str, float], responses: tuple[str, ...], domains: Sequence[_Domain], index: dict[Key, int]
) -> list[tuple[list[int], list[float]]]:
    """One relation for each combination of codes that is tabulated for every response of the equation."""
    places = dict.fromkeys(key[1:] for key in index if responses[key[0]] in weights)
    written = []
    for place in places:
        terms = [((responses.index(name), *place), weight) for name, weight in weights.items()]
        if not all(any(d.response == key[0] and d.holds(key) for d in domains) for key, _ in terms):
            continue
        stored = [(index[key], weight) for key, weight in terms if key in index]
        written.append(([column for column, _ in stored], [weight for _, weight in stored]))
    return written


def _parse(text: str, responses: tuple[str, ...]) -> dict[str, float]:
    """``"profit = turnover - cost"`` as weights that sum to zero over the cells: profit −1, turnover 1, cost −1."""
    left, equals, right = (part.strip() for part in text.partition("="))
    well_formed = re.fullmatch(r"[+-]?[^+\-=]+([+-][^+\-=]+)*", right)
    terms = re.findall(r"([+-]?)\s*([^+\-=]+)", right)
    names = [left, *(name.strip() for _, name in terms)]
    unknown = [name for name in names if name not in responses]
    if not equals or not well_formed or unknown or len(set(names)) < len(names):
        raise InputError(
            f"Cannot use the equation {text!r}: write it as 'profit = turnover - cost' with the responses {some(responses, 9)}.",
            unknown,
        )
    return {left: -1.0} | {name.strip(): -1.0 if sign == "-" else 1.0 for sign, name in terms}


def _renumbered(matrix: sparse.csr_array, at: np.ndarray, n: int) -> sparse.csr_array:
    """The same relations with columns renumbered."""
    columns = at[matrix.indices].astype(np.int32)
    renumbered = sparse.csr_array((matrix.data.copy(), columns, matrix.indptr), shape=(matrix.shape[0], n))
    renumbered.sort_indices()  # in place, hence the copy
    return renumbered


def _columns(tables: Sequence[Table], where: Sequence[np.ndarray], n: int) -> dict[str, Any]:
    """The columns that all tables have. A cell in several tables has the entries of the first."""
    columns: dict[str, Any] = {"value": np.zeros(n), "magnitude": np.zeros(n)}
    contributors = tuple(sorted({name for table in tables for name in table.contributors}))
    place = {name: i for i, name in enumerate(contributors)}
    if all(table.count is not None for table in tables):
        columns["count"] = np.zeros(n, dtype=np.int64)
    if all(table.weighted_count is not None for table in tables):
        columns["weighted_count"] = np.zeros(n)
    if all(table.top is not None for table in tables):
        depth = min(table.top.shape[1] for table in tables if table.top is not None)
        columns["top"] = np.zeros((n, depth))
        if all(table.top_contributor is not None for table in tables):
            columns["top_contributor"] = np.full((n, depth), -1)
            columns["contributors"] = contributors
        if all(table.requested is not None for table in tables):
            columns["requested"] = np.zeros((n, depth), dtype=np.int8)
    shared = set.intersection(*(set(table.extra) for table in tables))
    columns["extra"] = {name: np.zeros(n) for name in sorted(shared)}
    for table, at in list(zip(tables, where, strict=True))[::-1]:  # the first table writes last
        renumber = np.array([*(place[name] for name in table.contributors), -1])
        for name, column in columns.items():
            if name == "extra":
                for extra, values in column.items():
                    values[at] = table.extra[extra]
            elif name == "top_contributor" and table.top_contributor is not None:
                column[at] = renumber[table.top_contributor[:, : column.shape[1]]]
            elif name != "contributors":
                entries = getattr(table, name)
                column[at] = entries[:, : column.shape[1]] if column.ndim == 2 else entries
    return columns


def _take(column: Any, order: np.ndarray) -> Any:
    if isinstance(column, dict):
        return {name: values[order] for name, values in column.items()}
    return column if isinstance(column, tuple) else column[order]
