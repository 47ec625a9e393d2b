"""Columns of codes as integers, single and combined, for fast comparison of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from discreet.arrays import BoolArray, IntArray
from discreet.data.columns import Columns
from discreet.data.records import read_records
from discreet.errors import InputError

NO_AREA = -1  # the number of the area of records without an area


def records_of(data: Any) -> pd.DataFrame:
    """The given data frame, or all columns of a file."""
    if isinstance(data, pd.DataFrame):
        frame = data
    elif isinstance(data, str) or hasattr(data, "__fspath__"):
        frame = read_records(data)
    else:
        raise InputError(f"Cannot edit {type(data).__name__}. Pass a pandas data frame, or a CSV or Parquet file.")
    if not len(frame):
        raise InputError("There are no records to edit.")
    return frame


def as_tuple(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def check_columns(frame: pd.DataFrame, roles: dict[str, Sequence[str]], one_role: bool = True) -> None:
    """Raise an error if a column does not exist, is given twice in a role or, with ``one_role``, in several roles."""
    role_of: dict[str, str] = {}
    for role, names in roles.items():
        for name in names:
            if name in role_of and (one_role or role_of[name] == role):
                raise InputError(f"Column {name!r} is given twice, as {role_of[name]}= and as {role}=.", [name])
            role_of[name] = role
    Columns(tuple(role_of), None, None, (), None, None, None).find(list(frame.columns), "The data")


def renumbered(ids: NDArray[Any]) -> IntArray:
    """The same groups, numbered from 0 without gaps in the order in which they first occur."""
    return np.asarray(pd.factorize(ids)[0], dtype=np.int64)


def numbered(column: Any) -> IntArray:
    """The codes of a column as integers; missing codes count as one code."""
    try:
        codes = pd.factorize(column, use_na_sentinel=False)[0]
    except (TypeError, NotImplementedError):  # lists and the like
        codes = pd.factorize(column.map(str), use_na_sentinel=False)[0]
    return np.asarray(codes, dtype=np.int64)


def combined(codes: Sequence[IntArray], length: int) -> IntArray:
    """One number for each combination of codes."""
    ids = np.zeros(length, dtype=np.int64)
    for code in codes:
        ids = renumbered(ids * (int(code.max(initial=0)) + 1) + code)
    return ids


def group(frame: pd.DataFrame, columns: Sequence[str]) -> IntArray:
    """One number for each combination of codes in some columns."""
    return combined([numbered(frame[name]) for name in columns], len(frame))


def is_missing(column: Any) -> BoolArray:
    """Whether entries are missing or empty text."""
    return np.asarray(column.isna() | (column == "").fillna(False), dtype=bool)


def with_rows(column: Any, rows: IntArray) -> pd.Series:
    """The column with the values of other rows in place of its own, with the same type and index."""
    return pd.Series(column.array.take(rows), index=column.index, dtype=column.dtype)


def combined_by_unit(code: IntArray, unit: IntArray) -> IntArray:
    """One number per unit: units with the same codes of records, in any order, have the same number."""
    order = np.lexsort((code, unit))
    size = np.bincount(unit)
    place = np.arange(len(unit)) - (np.cumsum(size) - size)[unit[order]]
    by_place = np.argsort(place, kind="stable")
    ids = np.zeros(len(size), dtype=np.int64)
    # The first record of each unit, the second …
    for rows in np.split(order[by_place], np.cumsum(np.bincount(place))[:-1]):
        ids[unit[rows]] = combined([ids[unit[rows]], code[rows]], len(rows))
    return combined([ids, size], len(size))
