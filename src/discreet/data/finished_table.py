"""Finished tables: cells and totals that were computed elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.data.code_order import by_category, category_order, is_by_size
from discreet.data.columns import Columns, same_names
from discreet.data.hierarchy import Hierarchy
from discreet.data.opened_records import Fault, Kind
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.records import as_text, open_records
from discreet.data.relations import additive, after_elimination
from discreet.data.respondent_names import merged_names
from discreet.data.spelling import AS_WRITTEN, Names, Spelling, check_codes
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table
from discreet.errors import InputError, TableError, dimension_section, plural, some

ROUNDED_TOTAL_SHARE = (
    0.01  # of the values of a sum; a code that differs by less from the sum of the others is their rounded total
)
MIN_SUMS = 2  # a single sum may come about by chance


def read_table(
    source: Any,
    by: Sequence[str] | Mapping[str, Hierarchy | None],
    value: str,
    *,
    count: str | None = None,
    top: Sequence[str] = (),
    who: Sequence[str] = (),
    extra: Sequence[str] = (),
    total: str = "Total",
    tolerance: float = TABLE_ADDITIVITY_TOLERANCE,
    unpublished_totals: bool = False,
    spelling: Mapping[str, Spelling] | None = None,
    names: Names | None = None,
    reading: Reading = DEFAULT_READING,
) -> Table:
    """A table from a CSV, Parquet or Excel file or a data frame with one row per cell, totals included.

    ``by`` names the dimensions, with a hierarchy or, for ``None`` or a plain list, the flat one of the codes that occur, below
    the code ``total``. ``top`` and ``who`` name columns with the largest contributions and their contributors, largest first.
    Totals may differ from the sums of their parts by ``tolerance`` × the absolute values involved. A missing total is an error,
    as readers may know it, unless ``unpublished_totals`` says that it is not published anywhere. ``spelling`` and ``names`` say,
    as for :func:`tabulate`, whether codes and names that differ only in their spelling are the same. ``reading`` states how a
    file is to be read where that does not follow from the file.
    """
    reading.check()
    hierarchies = dict(by) if isinstance(by, Mapping) else dict.fromkeys(by)
    if not hierarchies:
        raise InputError("Name at least one dimension in by=.")
    if who and len(who) != len(top):
        raise InputError(f"who= names {len(who)} columns and top= {len(top)}: they belong together.")
    sums = (*([count] if count else []), *extra)
    roles = Columns((*hierarchies, *who), value, None, sums, None, None, None, top=tuple(top))
    named = {"value": [value], "count": [count] if count else [], "top": top, "who": who, "extra": extra}
    _check_names(hierarchies, named)
    frame, left_out, zeros = _frame(source, roles, reading)
    if frame.empty:
        raise TableError("The table has no cells.")
    for name, h in hierarchies.items():
        given = (spelling or {}).get(name, AS_WRITTEN)
        frame[name] = frame[name].map(given.spelled, na_action="ignore")
        if given.no_code is not None:
            frame[name] = frame[name].fillna(given.no_code)
        _check_codes_are_given(name, frame[name], total if h is None else h.total)
        observed = frame[name].dropna().value_counts().index.tolist()
        check_codes(name, observed, h or Hierarchy.flat([], total), given)
    dimensions = {
        name: h or _flat(name, frame, category_order(source, name), total, [value, *sums])
        for name, h in hierarchies.items()
    }
    codes = np.array([_coded(name, h, frame[name]) for name, h in dimensions.items()], dtype=np.int32)
    order = np.lexsort(codes[::-1])
    codes, frame = codes[:, order], frame.iloc[order].reset_index(drop=True)
    columns: dict[str, Any] = {"response": value}
    if count:
        numbers = frame[count].to_numpy()
        if np.any(numbers != np.round(numbers)):
            raise TableError(f"Column {count!r} counts contributors, but not all of its numbers are integers.")
        columns["count"] = numbers.astype(np.int64)
    if top:
        contributions = np.column_stack([frame[column] for column in top])
        largest = np.argsort(-np.abs(contributions), axis=1, kind="stable")
        columns["top"] = np.take_along_axis(contributions, largest, 1)
        if who:
            columns["top_contributor"], columns["contributors"] = _names(frame, who, largest, names)
    columns["extra"] = {name: frame[name].to_numpy() for name in extra}
    values = frame[value].to_numpy()
    columns["is_count"] = "count" in columns and np.array_equal(values, columns["count"])
    counted = len(frame) if "count" in columns and not columns["is_count"] else 0
    columns["provenance"] = {"cells_left_out": left_out, "cells_zero": zeros, "counts_given": counted}
    if not unpublished_totals:
        table = Table.from_cells(dimensions, codes, values, **columns)
    else:
        _refuse_sums_as_codes(dimensions, codes, values)
        relations, missing = _relations(dimensions, codes)
        columns["provenance"]["totals_unpublished"] = missing
        table = Table(dimensions, codes, values, relations, complete=not missing, **columns)
    return table.check_additive(tolerance)


def _check_names(by: Mapping[str, Any], columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse columns whose names are the same but for capitals: the engine that reads them ignores capitals."""
    entry_of: dict[str, str] = dict.fromkeys(by, "a dimension")
    for entry, names in columns.items():
        for name in names:
            entry_of.setdefault(name, entry)  # one column may be both value and count
    same = same_names((entry, name) for name, entry in entry_of.items())
    if same is not None:
        raise InputError(f"{same[1]} Rename one of the two columns.", [same[0]])


def _relations(dimensions: Mapping[str, Hierarchy], codes: np.ndarray) -> tuple[sparse.csr_array, int]:
    """The relations, and the number of missing totals. A missing total is eliminated: it is replaced by its parts."""
    cells = codes.shape[1]
    relations, missing = additive(list(dimensions.values()), codes)
    while missing:
        codes = np.concatenate([codes, np.array(missing, dtype=np.int32).T], axis=1)
        relations, missing = additive(list(dimensions.values()), codes)
    n_missing = codes.shape[1] - cells
    return (after_elimination(relations, cells) if n_missing else relations), n_missing


def _refuse_sums_as_codes(dimensions: Mapping[str, Hierarchy], codes: np.ndarray, values: np.ndarray) -> None:
    """Raise for a total under a name of its own in a dimension without a total: readers know that it is the sum of the others.

    As one code among others it would be in no relation, and suppressed values could be computed from it.
    """
    for d, (name, hierarchy) in enumerate(dimensions.items()):
        groups = next((below for _, total, below in hierarchy.equations() if total == 0), np.empty(0, dtype=np.intp))
        if len(groups) < 3 or np.any(codes[d] == 0):
            continue
        others = np.delete(codes, d, axis=0)
        row = np.unique(others, axis=1, return_inverse=True)[1].ravel()
        within = np.isin(codes[d], groups)
        sums = np.bincount(row[within], values[within], minlength=row.max() + 1)
        sizes = np.bincount(row[within], np.abs(values[within]), minlength=row.max() + 1)
        for group in groups:
            mine = np.flatnonzero(codes[d] == group)
            gap = np.abs(2 * values[mine] - sums[row[mine]])
            if np.count_nonzero(values[mine]) >= MIN_SUMS and np.all(gap <= ROUNDED_TOTAL_SHARE * sizes[row[mine]]):
                code = hierarchy.codes[group]
                raise TableError(
                    f"Dimension {name!r} has no total {hierarchy.total!r}, but its code {code!r} is the sum of all others. "
                    f"Name it as the total: total = {_toml(code)} under {dimension_section(name)} of a job, total= in Python.",
                    [code],
                )


def _frame(source: Any, columns: Columns, reading: Reading) -> tuple[pd.DataFrame, int, int]:
    """Codes as texts and numbers of any source; how many cells without a value are left out, and how many are zero."""
    if not isinstance(source, (str, Path)):
        try:
            source = pd.DataFrame(source.to_pandas() if hasattr(source, "to_pandas") else source)
        except (ValueError, TypeError):
            raise InputError(
                f"Cannot make a table of this {type(source).__name__}: pass a file, a data frame or equally long columns."
            ) from None
    with open_records(source, columns, reading) as opened:
        rows = opened.rows
        read = {name: as_text(rows[name]) for name in columns.by}
        read |= {name: opened.number(rows, name) for name in columns.numbers}
        frame = rows.select(
            **read, **{f"given {name}": opened.is_given(rows, name) for name in columns.numbers}
        ).to_pandas()
        faults = []
        for name in columns.numbers:
            given, undefined = frame[f"given {name}"].to_numpy(bool), ~np.isfinite(frame[name].to_numpy(float))
            unreadable: Kind = "text" if name in opened.formats else "infinite"
            for kind, bad in ((unreadable, given & undefined), ("missing", ~given)):
                if bad.any():
                    faults.append(Fault(kind, name, int(bad.sum())))
        opened.refuse(faults, len(frame))
    return frame, opened.left_out, opened.zeros


def _flat(name: str, frame: pd.DataFrame, order: list[str] | None, total: str, numbers: Sequence[str]) -> Hierarchy:
    """The flat hierarchy of codes in the order of a category type, or of the file unless that is one of ``numbers``."""
    rows = frame[frame[name].notna() & (frame[name] != total)]
    if order is None and is_by_size(rows, name, numbers):
        frame = frame.sort_values(name, kind="stable")
    found = by_category(frame[name].dropna().unique().tolist(), order)
    if total not in found:
        raise TableError(
            f"Column {name!r} has no code {total!r} for its total. Name the total with total=, or give the column a hierarchy."
        )
    return Hierarchy.flat((code for code in found if code != total), total)


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _check_codes_are_given(name: str, codes: pd.Series, total: str) -> None:
    missing = codes.isna()
    if missing.any():
        row = int(np.argmax(missing)) + 1
        raise TableError(
            f"Column {name!r} has {plural(int(missing.sum()), 'empty code')}, first in row {row}. If they mean the total, as "
            f'databases write it, add merge = {{"" = {_toml(total)}}} under {dimension_section(name)} (in Python: Spelling); '
            "otherwise fill them in."
        )


def _coded(name: str, hierarchy: Hierarchy, codes: pd.Series) -> np.ndarray:
    unknown = sorted({code for code in codes if code not in hierarchy})
    if unknown:
        raise TableError(
            f"{len(unknown)} codes in column {name!r} are not in its hierarchy, e.g. {some(unknown)}. Add them to it.",
            unknown,
        )
    return np.array([hierarchy.index(code) for code in codes], dtype=np.int32)


def _names(
    frame: pd.DataFrame, who: Sequence[str], largest: np.ndarray, how: Names | None
) -> tuple[np.ndarray, tuple[str, ...]]:
    replaced = merged_names(who[0], [frame[column].dropna() for column in who], how)
    names = [frame[column].replace(replaced) for column in who]
    contributors = tuple(sorted({name for column in names for name in column.dropna()}))
    index = {name: i for i, name in enumerate(contributors)}
    coded = np.column_stack([column.map(index).fillna(-1).to_numpy(dtype=np.int64) for column in names])
    return np.take_along_axis(coded, largest, 1), contributors
