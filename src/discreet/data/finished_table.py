"""Finished tables: cells and totals that were computed elsewhere."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.arrays import FloatArray
from discreet.compressed_files import check_zip, read_bytes
from discreet.data.hierarchy import Hierarchy
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.relations import additive, after_elimination
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table
from discreet.errors import DiscreetError, FormatError, InputError, TableError, some


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
    reading: Reading = DEFAULT_READING,
) -> Table:
    """A table from a CSV, Parquet or Excel file or a data frame with one row per cell, totals included.

    ``by`` names the dimensions, with a hierarchy or, for ``None`` or a plain list, the flat one of the codes that occur, below
    the code ``total``. ``top`` and ``who`` name columns with the largest contributions and their contributors, largest first.
    Totals may differ from the sums of their parts by ``tolerance`` × the absolute values involved. A missing total is an error,
    as readers may know it, unless ``unpublished_totals`` says that it is not published anywhere. ``reading`` states how a file is
    to be read where that does not follow from the file.
    """
    reading.check()
    hierarchies = dict(by) if isinstance(by, Mapping) else dict.fromkeys(by)
    if not hierarchies:
        raise InputError("Name at least one dimension in by=.")
    if who and len(who) != len(top):
        raise InputError(f"who= names {len(who)} columns and top= {len(top)}: they belong together.")
    frame = _frame(source, [*hierarchies, *who])
    for column in (*hierarchies, value, *([count] if count else []), *top, *who, *extra):
        if column not in frame:
            # Without a header, the names are the first cell of the file: a message must not repeat its numbers.
            names = [name for name in frame if np.isnan(pd.to_numeric(str(name), errors="coerce"))]
            raise InputError(f"There is no column {column!r}; the table has {some(names, 12)}.", [column])
    if frame.empty:
        raise TableError("The table has no cells.")
    text = {name: _text(frame[name]) for name in hierarchies}
    dimensions = {name: h or _flat(name, text[name], total) for name, h in hierarchies.items()}
    codes = np.array([_coded(name, h, text[name]) for name, h in dimensions.items()], dtype=np.int32)
    order = np.lexsort(codes[::-1])
    codes, frame = codes[:, order], frame.iloc[order].reset_index(drop=True)
    columns: dict[str, Any] = {"response": value}
    if count:
        numbers = _numbers(frame, count)
        if np.any(numbers != np.round(numbers)):
            raise TableError(f"Column {count!r} counts contributors, but not all of its numbers are integers.")
        columns["count"] = numbers.astype(np.int64)
    if top:
        contributions = np.column_stack([_numbers(frame, column, missing=0.0) for column in top])
        largest = np.argsort(-np.abs(contributions), axis=1, kind="stable")
        columns["top"] = np.take_along_axis(contributions, largest, 1)
        if who:
            columns["top_contributor"], columns["contributors"] = _names(frame, who, largest)
    columns["extra"] = {name: _numbers(frame, name) for name in extra}
    values = _numbers(frame, value)
    columns["is_count"] = "count" in columns and np.array_equal(values, columns["count"])
    if not unpublished_totals:
        table = Table.from_cells(dimensions, codes, values, **columns)
    else:
        relations, missing = _relations(dimensions, codes)
        unpublished = {"totals_unpublished": missing}
        table = Table(dimensions, codes, values, relations, complete=not missing, provenance=unpublished, **columns)
    return table.check_additive(tolerance)


def _relations(dimensions: Mapping[str, Hierarchy], codes: np.ndarray) -> tuple[sparse.csr_array, int]:
    """The relations, and the number of missing totals. A missing total is eliminated: it is replaced by its parts."""
    cells = codes.shape[1]
    relations, missing = additive(list(dimensions.values()), codes)
    while missing:
        codes = np.concatenate([codes, np.array(missing, dtype=np.int32).T], axis=1)
        relations, missing = additive(list(dimensions.values()), codes)
    n_missing = codes.shape[1] - cells
    return (after_elimination(relations, cells) if n_missing else relations), n_missing


def _frame(source: Any, text: list[str]) -> pd.DataFrame:
    """Any source as a pandas frame, with codes as text so that leading zeros survive."""
    if isinstance(source, (str, Path)):
        path = Path(source)
        try:
            name = path.name.lower()
            as_text: dict[str, Any] = {"dtype": dict.fromkeys(text, str), "keep_default_na": False, "na_values": [""]}
            if name.endswith(".parquet"):
                frame = pd.read_parquet(path)
            elif name.endswith(".xlsx"):
                with ZipFile(path) as archive:
                    check_zip(path, archive)
                frame = pd.read_excel(path, **as_text)
            elif name.endswith((".csv", ".csv.gz")):
                frame = pd.read_csv(io.BytesIO(read_bytes(path)), **as_text)
            else:
                raise FormatError(f"{path}: a finished table must be a .csv, .csv.gz, .parquet or .xlsx file.")
        except FileNotFoundError:
            raise FormatError(f"{path} does not exist.") from None
        except pd.errors.EmptyDataError:
            raise FormatError(f"{path} is empty.") from None
        except pd.errors.ParserError as error:
            raise FormatError(f"{path} cannot be read: {str(error).strip()}.") from None
        except UnicodeDecodeError:
            raise FormatError(f"{path} is not UTF-8 text. Convert it, e.g. with `iconv -f latin1 -t utf-8`.") from None
        except DiscreetError:
            raise
        except Exception as error:  # errors of any reader; their messages may quote the contents
            reason = getattr(error, "strerror", None) or "it is damaged or not what its name says"
            raise FormatError(f"{path} cannot be read: {reason}.") from None
        return frame
    try:
        return pd.DataFrame(source.to_pandas() if hasattr(source, "to_pandas") else source)
    except (ValueError, TypeError):
        raise InputError(
            f"Cannot make a table of this {type(source).__name__}: pass a file, a data frame or equally long columns."
        ) from None


def _text(column: pd.Series) -> pd.Series:
    """Codes and names as text, empty ones missing. Integers stored as floats, because others are missing, read 7, not 7.0."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    text = column.astype(object).map(str, na_action="ignore")
    return text.where(text != "", None)


def _flat(name: str, codes: pd.Series, total: str) -> Hierarchy:
    found = sorted(set(codes.dropna()))
    if total not in found:
        raise TableError(
            f"Column {name!r} has no code {total!r} for its total. Name the total with total=, or give the column a hierarchy."
        )
    return Hierarchy.flat((code for code in found if code != total), total)


def _coded(name: str, hierarchy: Hierarchy, codes: pd.Series) -> np.ndarray:
    missing = int(codes.isna().sum())
    if missing:
        raise TableError(f"Column {name!r} has {missing} empty codes, first in row {int(np.argmax(codes.isna())) + 1}.")
    unknown = sorted({code for code in codes if code not in hierarchy})
    if unknown:
        raise TableError(
            f"{len(unknown)} codes in column {name!r} are not in its hierarchy, e.g. {some(unknown)}. Add them to it.",
            unknown,
        )
    return np.array([hierarchy.index(code) for code in codes], dtype=np.int32)


def _numbers(frame: pd.DataFrame, column: str, missing: float | None = None) -> FloatArray:
    numbers = pd.to_numeric(frame[column], errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    blank = frame[column].isna().to_numpy()
    text = np.flatnonzero(np.isnan(numbers) & ~blank)
    if len(text):
        raise TableError(f"Column {column!r} holds text where numbers are expected, in {len(text)} rows.")
    if missing is not None:
        numbers = np.where(blank, missing, numbers)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise TableError(f"Column {column!r} is empty or infinite in {len(bad)} rows. Leave empty cells out.")
    return np.asarray(numbers)


def _names(frame: pd.DataFrame, who: Sequence[str], largest: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    names = [_text(frame[column]) for column in who]
    contributors = tuple(sorted({name for column in names for name in column.dropna()}))
    index = {name: i for i, name in enumerate(contributors)}
    coded = np.column_stack([column.map(index).fillna(-1).to_numpy(dtype=np.int64) for column in names])
    return np.take_along_axis(coded, largest, 1), contributors
