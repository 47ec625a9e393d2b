"""Microdata, whatever they come in: files, data frames, Arrow tables or a database, as an Ibis table."""

from __future__ import annotations

import csv
import gzip
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from discreet.errors import InputError, some

Expr: TypeAlias = Any  # Ibis expressions have no static types worth naming

TEXT = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET = (".parquet", ".pq")


@dataclass(frozen=True)
class Columns:
    """Which column plays which part."""

    by: tuple[str, ...]
    response: str | None
    weight: str | None
    extra: tuple[str, ...]
    contributor: str | None
    holding: str | None
    request: str | None

    @property
    def parts(self) -> list[tuple[str, str]]:
        given = [(part, names) for part, names in vars(self).items() if names is not None]
        return [(part, name) for part, names in given for name in (names if isinstance(names, tuple) else (names,))]

    @property
    def used(self) -> list[str]:
        return [name for _part, name in self.parts]

    @property
    def numbers(self) -> list[str]:
        return [name for part, name in self.parts if part in ("response", "weight", "extra")]

    def check(self) -> None:
        if not self.by:
            raise InputError("Name at least one column to tabulate by.")
        played: dict[str, str] = {}
        for part, name in self.parts:
            if not isinstance(name, str):
                raise InputError(f"{part}= takes names of columns, not {type(name).__name__}.")
            if name in played:
                raise InputError(f"Column {name!r} is given twice, as {played[name]}= and as {part}=.", [name])
            played[name] = part

    def find(self, present: Sequence[Any], place: str) -> list[str]:
        """The columns used, if all are there."""
        missing = [name for name in self.used if list(present).count(name) != 1]
        if missing and missing[0] in present:
            raise InputError(f"{place} has several columns called {missing[0]!r}. Rename all but one.", missing)
        if missing:
            close = get_close_matches(missing[0], [str(name) for name in present], cutoff=0.5)
            # Where the header is missing the "names" are a record: nothing that looks like a value is repeated.
            words = [name for name in present if not any(sign.isdigit() for sign in str(name))]
            hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"It has {some(words, 8)}."
            raise InputError(f"{place} has no column {some(missing)}. {hint}", missing)
        return self.used


@contextmanager
def opened(data: Any, columns: Columns) -> Iterator[Expr]:
    """The microdata as an Ibis table: on its own backend if it has one, else in an embedded DuckDB."""
    if isinstance(data, ibis.Table):
        yield data.select(columns.find(data.columns, "The table"))
        return
    # What does not fit in memory goes to disk: somewhere private, and no longer than needed.
    with tempfile.TemporaryDirectory(prefix="discreet-") as spill:
        connection = ibis.duckdb.connect(temp_directory=spill)
        try:
            if isinstance(data, (str, Path)):
                with _readable(Path(data)):
                    source = _file(connection, Path(data), columns)
                    yield source.select(columns.find(source.columns, str(data)))
            else:
                connection.con.register("records", _arrow(data, columns))
                yield connection.table("records")
        finally:
            connection.disconnect()


def _file(connection: Any, path: Path, columns: Columns) -> Expr:
    name = path.name.lower()
    if not name.endswith(TEXT + PARQUET):
        raise InputError(f"{path} is not a CSV or Parquet file: its name should end in {', '.join(TEXT + PARQUET)}.")
    if not path.is_file():
        raise InputError(f"{path} is a folder, not a file." if path.is_dir() else f"File {path} does not exist.")
    if name.endswith(PARQUET):
        return connection.read_parquet(path)
    with gzip.open(path, "rb") if name.endswith(".gz") else path.open("rb") as lines:
        header = lines.readline().decode("utf-8-sig")
    if not header.strip():
        raise InputError(f"{path} is empty: its first line must name the columns.")
    delimiter = max(",;\t|", key=lambda sign: len(next(csv.reader([header], delimiter=sign))))
    names = next(csv.reader([header], delimiter=delimiter))
    columns.find(names, str(path))
    # Nothing is left to guessing: all is text, so that the code 01 keeps its zero, and numbers are converted later.
    kinds = {name if names.index(name) == i else f"{name} ({i})": "string" for i, name in enumerate(names)}
    style = {"header": True, "delim": delimiter, "quote": '"', "escape": '"'}
    return connection.read_csv(path, auto_detect=False, columns=kinds, **style)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Say that a file cannot be read, and where, in words of our own: the engine's messages quote the record."""
    try:
        yield
    except (OSError, EOFError, UnicodeError, duckdb.IOException, duckdb.InvalidInputException) as error:
        if "failed: KeyboardInterrupt" in str(error):  # which is what DuckDB makes of Ctrl-C at times
            raise KeyboardInterrupt from None
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        place = f"{path}, line {line[1]}" if line else str(path)
        advice = "Check that the file is whole, in UTF-8, and has the same fields in every line."
        raise InputError(f"{place}: cannot be read. {advice}") from None


def _arrow(data: Any, columns: Columns) -> pa.Table:
    if type(data).__module__.partition(".")[0] == "polars":
        frame = data.lazy().collect()
        data = frame.select(columns.find(frame.columns, "The data frame")).to_arrow()
    elif isinstance(data, pd.DataFrame):
        used = columns.find(list(data.columns), "The data frame")
        data = pa.table({name: _arrow_column(data[name]) for name in used})
    elif not isinstance(data, pa.Table):
        raise InputError(
            f"Cannot read microdata from {type(data).__name__}. "
            "Pass a CSV or Parquet file, a pandas or polars data frame, a pyarrow table or an Ibis table."
        )
    found = {name: data[name] for name in columns.find(data.column_names, "The table")}
    return pa.table({n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for n, c in found.items()})


def _arrow_column(column: Any) -> pa.Array:
    try:
        return pa.array(column, from_pandas=True)
    except pa.ArrowException:  # numbers and text in one column: all as text, as if from a CSV file
        return pa.array([None if gap else str(item) for item, gap in zip(column, column.isna(), strict=True)])


def as_text(column: Expr) -> Expr:
    """Codes and names. Empty ones are missing; floats are whole numbers in a column with gaps: 7, not 7.0."""
    if column.type().is_floating():
        missing, whole = column.isnan() | column.isinf(), (column == column.floor()) & (column.abs() < 1e15)
        number = ibis.ifelse(whole, column.floor().cast("int64").cast("string"), column.cast("string"))
        return ibis.ifelse(missing, ibis.null("string"), number)
    return column.cast("string").nullif("")


def as_number(column: Expr) -> Expr:
    return column.nullif("").try_cast("float64") if column.type().is_string() else column.cast("float64")


def is_marked(column: Expr) -> Expr:
    """Whether the record is marked: anything but nothing, zero and false, in whatever type."""
    return as_text(column).lower().notin(["0", "0.0", "false"]).fill_null(False)


def recoded(source: Expr, recode: Mapping[str, Mapping[str, str]]) -> Expr:
    """The table with other codes in place of some."""
    for name, into in recode.items():
        if into:
            lookup = ibis.memtable(pd.DataFrame({"__code": list(into), "__into": list(into.values())}))
            found = source.mutate(**{name: as_text(source[name])}).left_join(lookup, [(name, "__code")])
            source = found.mutate(**{name: ibis.coalesce(found["__into"], found[name])}).drop("__code", "__into")
    return source


def read_records(path: str | Path) -> pd.DataFrame:
    """All columns of a file as they are: text from CSV, so that the code 01 keeps its zero, and the types of Parquet."""
    path = Path(path)
    if path.name.lower().endswith(PARQUET) and path.is_file():
        try:
            table = parquet.read_table(path)
        except (pa.ArrowException, OSError):  # without their words, which may quote what is in the file
            raise InputError(f"{path}: cannot be read. Check that the file is whole.") from None
    else:
        connection = ibis.duckdb.connect()
        try:
            with _readable(path):
                table = _file(connection, path, Columns((), None, None, (), None, None, None)).to_pyarrow()
        finally:
            connection.disconnect()
    for i, name in enumerate(table.column_names):
        first = name.removesuffix(f" ({i})")
        if first in table.column_names[:i]:
            raise InputError(f"{path} has several columns called {first!r}. Rename all but one.", [first])
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def write_records(frame: pd.DataFrame, path: Path) -> None:
    """All columns, to CSV or Parquet by the name of the file."""
    if path.name.lower().endswith(PARQUET):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, encoding="utf-8")


def distinct_codes(data: Any, columns: Sequence[str]) -> pd.DataFrame:
    """The combinations of codes that occur in some columns, as text."""
    chosen = Columns(tuple(columns), None, None, (), None, None, None)
    chosen.check()
    with opened(data, chosen) as source:
        codes = source.select(**{name: as_text(source[name]) for name in columns}).distinct().to_pandas()
    if codes.isna().any().any():
        raise InputError(f"Codes are missing in the columns {some(list(columns))}: fill or drop them first.")
    return codes
