"""Columns of any data frame, and arrays, as pandas series; and the classifications made of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from discreet.data.hierarchy import Hierarchy
from discreet.errors import InputError, some

MISSING_CODE = "(missing)"  # of records without an entry in a column to classify by, with dropna=False


class DataColumns:
    """The columns of a data frame, of any kind that narwhals reads."""

    def __init__(self, data: Any) -> None:
        if isinstance(data, pd.DataFrame):
            self._native, self._frame = data, None
            self.names = list(data.columns)
            return
        import narwhals as nw

        try:
            frame = nw.from_native(data)
        except TypeError:
            raise InputError(
                f"Cannot read records from {type(data).__name__}. Pass a data frame of pandas, polars, pyarrow or another "
                "library that narwhals reads."
            ) from None
        self._frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self.names = list(self._frame.columns)

    def __getitem__(self, name: Any) -> pd.Series:
        if self.names.count(name) != 1:
            fault = "several columns" if name in self.names else "no column"
            raise InputError(f"The data frame has {fault} {name!r}. Its columns are {some(self.names, 8)}.", [name])
        if self._frame is None:
            return self._native[name].reset_index(drop=True)
        return _to_pandas(self._frame[name]).rename(name)

    @property
    def index(self) -> pd.Index | None:
        """The index of the records, which only pandas has."""
        return self._native.index if self._frame is None else None


def _to_pandas(column: Any) -> pd.Series:
    """A series of narwhals as one of pandas; ordered categories keep their order, integers stay integers."""
    import narwhals as nw

    kind = column.dtype
    if isinstance(kind, nw.Enum):
        return pd.Series(pd.Categorical(column.to_list(), categories=list(kind.categories), ordered=True))
    if kind.is_integer() and column.null_count():
        return pd.Series(column.to_list(), dtype="Int64")
    native = column.to_native()
    arrow = native if isinstance(native, pa.ChunkedArray) else column  # narwhals reads ordered dictionaries as text
    found = pd.Series(arrow.to_pandas()).reset_index(drop=True)
    if isinstance(found.dtype, pd.CategoricalDtype) and not found.dtype.ordered:
        return pd.Series(column.cast(nw.String()).to_pandas()).reset_index(drop=True)
    return found


def is_array(given: Any) -> bool:
    """Whether something holds one entry per record, and is not the name of a column."""
    return pd.api.types.is_list_like(given) and not isinstance(given, tuple | dict | set)


def as_series(given: Any, use: str) -> pd.Series:
    """An array or series of any library as a series of pandas."""
    if isinstance(given, pd.Series):
        return given
    if not is_array(given):
        raise InputError(
            f"{use} is an array or series with one entry per record, not {given!r}. "
            "For names of columns use pivot_table(data, …)."
        )
    if isinstance(given, list | np.ndarray | pd.Index | pd.api.extensions.ExtensionArray):
        return pd.Series(given, name=getattr(given, "name", None))
    import narwhals as nw

    try:
        column = nw.from_native(given, series_only=True)
    except TypeError:
        raise InputError(f"{use} cannot be read from {type(given).__name__}. Pass a series or an array.") from None
    return _to_pandas(column).rename(column.name or None)


def aligned(given: Mapping[str, Any]) -> tuple[dict[str, pd.Series], pd.Index | None]:
    """Arrays and series by their use, by position, and the index they share; raises if they may be of different records."""
    series = {use: as_series(one, use) for use, one in given.items()}
    if len({len(one) for one in series.values()}) > 1:
        lengths = ", ".join(f"{use} {len(one):,}" for use, one in series.items())
        raise InputError(f"The columns have different lengths: {lengths}. Pass columns of the same records.")
    indexes = {use: one.index for use, one in given.items() if isinstance(one, pd.Series)}
    index = next(iter(indexes.values()), None)
    other = [use for use, own in indexes.items() if not own.equals(index)]
    if other:
        raise InputError(
            f"The index of {some(other)} is not that of {next(iter(indexes))!r}: it is not clear which entries belong to the "
            "same record. Take all series from one data frame, or reset their indexes."
        )
    return {use: one.reset_index(drop=True) for use, one in series.items()}, index


@dataclass(frozen=True, eq=False, repr=False)
class Key:
    """A classification of the records: a column by which the rows or columns of a table are formed."""

    column: str  # its name in the data given to pandas, unique
    dimension: str  # its name in the table of cells, unique
    name: Hashable  # its name in the result
    entries: pd.Series

    @cached_property
    def labels(self) -> list[Hashable]:
        """The entries that occur, sorted as text; for categories all of them, in their order."""
        if isinstance(self.entries.dtype, pd.CategoricalDtype):
            return list(self.entries.cat.categories)
        return sorted(self.entries.dropna().unique(), key=str)

    @cached_property
    def codes(self) -> dict[Hashable, str]:
        """The code of each label: its text, with a number if that is not unique."""
        codes: dict[Hashable, str] = {}
        taken = {MISSING_CODE}
        for label in self.labels:
            codes[label] = unused(str(label), taken)
            taken.add(codes[label])
        return codes

    @property
    def total(self) -> str:
        """The code of the total, whatever the margins are called: outputs of a session are linked by their codes."""
        return unused("Total", {MISSING_CODE, *self.codes.values()})

    def hierarchy(self) -> Hierarchy:
        missing = [MISSING_CODE] if self.entries.isna().any() else []
        return Hierarchy.flat([*self.codes.values(), *missing], total=self.total)

    def code(self, label: Any) -> str:
        return MISSING_CODE if is_missing(label) else self.codes[label]

    def coded(self) -> pd.Series:
        """The code of each record."""
        return self.entries.astype(object).map(self.codes).where(self.entries.notna(), MISSING_CODE)


def is_missing(label: Any) -> bool:
    return bool(pd.api.types.is_scalar(label) and pd.isna(label))


def unused(name: str, taken: Any) -> str:
    """The name, with the first number that makes it differ from those taken."""
    found, number = name, 2
    while found in taken:
        found, number = f"{name} ({number})", number + 1
    return found


def keys_of(columns: Sequence[tuple[str, Hashable, pd.Series]]) -> list[Key]:
    """Keys from names in the data, names in the result, and entries; dimensions get unique names."""
    keys: list[Key] = []
    for column, name, entries in columns:
        text = str(column if name is None else name)
        taken = {key.dimension.lower() for key in keys}
        number = next(n for n in range(1, len(keys) + 2) if (text if n == 1 else f"{text} ({n})").lower() not in taken)
        keys.append(Key(column, text if number == 1 else f"{text} ({number})", name, entries))
    return keys
