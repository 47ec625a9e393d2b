"""Columns of codes as numbers, alone and in combination, so that records can be compared by the million."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discreet.data.records import Columns, read_records
from discreet.errors import InputError

IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]

NOWHERE = -1  # the area of a record that has none


def records_of(data: Any) -> pd.DataFrame:
    """A data frame as it is, or all columns of a file."""
    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, str) or hasattr(data, "__fspath__"):
        frame = read_records(data)
    else:
        raise InputError(f"Cannot edit {type(data).__name__}. Pass a pandas data frame, or a CSV or Parquet file.")
    if not len(frame):
        raise InputError("There are no records to edit.")
    return frame


def listed(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def check_columns(frame: pd.DataFrame, parts: dict[str, Sequence[str]], apart: bool = True) -> None:
    """All columns are there; ``apart``, each plays one part only."""
    played: dict[str, str] = {}
    for part, names in parts.items():
        for name in names:
            if name in played and (apart or played[name] == part):
                raise InputError(f"Column {name!r} is given twice, as {played[name]}= and as {part}=.", [name])
            played[name] = part
    Columns(tuple(played), None, None, (), None, None, None).find(list(frame.columns), "The data")


def condensed(ids: NDArray[Any]) -> IntArray:
    """The same grouping, numbered from 0 without gaps, in the order groups are first met."""
    return np.asarray(pd.factorize(ids)[0], dtype=np.int64)


def number(column: Any) -> IntArray:
    """The codes of a column as numbers; what is missing is a code of its own."""
    try:
        codes = pd.factorize(column, use_na_sentinel=False)[0]
    except (TypeError, NotImplementedError):  # lists and the like
        codes = pd.factorize(column.map(str), use_na_sentinel=False)[0]
    return np.asarray(codes, dtype=np.int64)


def combined(codes: Sequence[IntArray], length: int) -> IntArray:
    """One number for each combination of codes."""
    ids = np.zeros(length, dtype=np.int64)
    for code in codes:
        ids = condensed(ids * (int(code.max(initial=0)) + 1) + code)
    return ids


def group(frame: pd.DataFrame, columns: Sequence[str]) -> IntArray:
    """One number for each combination of codes in some columns."""
    return combined([number(frame[name]) for name in columns], len(frame))


def is_missing(column: Any) -> BoolArray:
    """Nothing, or empty text."""
    return np.asarray(column.isna() | (column == "").fillna(False), dtype=bool)


def taken(column: Any, rows: IntArray) -> pd.Series:
    """The values of other rows in place of a column's own, of the same type."""
    return pd.Series(column.array.take(rows), index=column.index, dtype=column.dtype)


def together(code: IntArray, unit: IntArray) -> IntArray:
    """One number a unit for what its records are together, in whatever order they come."""
    order = np.lexsort((code, unit))
    size = np.bincount(unit)
    place = np.arange(len(unit)) - (np.cumsum(size) - size)[unit[order]]
    by_place = np.argsort(place, kind="stable")
    ids = np.zeros(len(size), dtype=np.int64)
    for rows in np.split(order[by_place], np.cumsum(np.bincount(place))[:-1]):  # all first records, all second ones …
        ids[unit[rows]] = combined([ids[unit[rows]], code[rows]], len(rows))
    return combined([ids, size], len(size))
