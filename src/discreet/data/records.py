"""Microdata from files, data frames, Arrow tables or a database, as an Ibis table."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from discreet.compressed_files import gunzipped
from discreet.data.reading import DEFAULT_READING, DELIMITERS, Reading
from discreet.drafts import draft_folder
from discreet.errors import InputError, reading, some

Expr: TypeAlias = Any  # Ibis expressions have no static types worth naming

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
RECORD_SUFFIXES = TEXT_SUFFIXES + PARQUET_SUFFIXES
MAX_LINE_BYTES = 2_000_000  # DuckDB's own limit; it silently drops a last line that is longer, so this is checked here


@dataclass(frozen=True)
class Columns:
    """The names of the columns to use, by role."""

    by: tuple[str, ...]
    response: str | None
    weight: str | None
    extra: tuple[str, ...]
    contributor: str | None
    holding: str | None
    request: str | None

    @property
    def roles(self) -> list[tuple[str, str]]:
        """Pairs of a role and a column."""
        given = [(role, names) for role, names in vars(self).items() if names is not None]
        return [(role, name) for role, names in given for name in (names if isinstance(names, tuple) else (names,))]

    @property
    def numbers(self) -> list[str]:
        """The columns that hold numbers."""
        return [name for role, name in self.roles if role in ("response", "weight", "extra")]

    def check(self) -> None:
        if not self.by:
            raise InputError("Name at least one column to tabulate by.")
        role_of: dict[str, str] = {}
        for role, name in self.roles:
            if not isinstance(name, str):
                raise InputError(f"{role}= takes names of columns, not {type(name).__name__}.")
            if name in role_of:
                raise InputError(f"Column {name!r} is given twice, as {role_of[name]}= and as {role}=.", [name])
            if name.lower() in map(str.lower, role_of):
                raise InputError(
                    f"Column {name!r} and another one differ in capitals alone: rename one of them.", [name]
                )
            role_of[name] = role

    def find(self, present: Sequence[Any], place: str) -> list[str]:
        """The columns to use; raises unless each occurs once in ``present``."""
        used = [name for _role, name in self.roles]
        missing = [name for name in used if list(present).count(name) != 1]
        if missing and missing[0] in present:
            raise InputError(f"{place} has several columns called {missing[0]!r}. Rename all but one.", missing)
        if missing:
            similar = get_close_matches(missing[0], [str(name) for name in present], cutoff=0.5)
            # Without a header the first record takes its place: a message must not repeat anything that looks like a value.
            words = [name for name in present if not any(sign.isdigit() for sign in str(name))]
            hint = f"Did you mean {' or '.join(map(repr, similar))}?" if similar else f"It has {some(words, 8)}."
            raise InputError(f"{place} has no column {some(missing)}. {hint}", missing)
        return used


@contextmanager
def open_records(data: Any, columns: Columns, reading: Reading = DEFAULT_READING) -> Iterator[Expr]:
    """The microdata as an Ibis table: on their own backend if they have one, otherwise in an embedded DuckDB."""
    reading.check()
    if isinstance(data, ibis.Table):
        yield data.select(columns.find(data.columns, "The table"))
        return
    with _engine() as (connection, spill):
        if isinstance(data, (str, Path)):
            with _readable(Path(data)):
                names, source = _file(connection, spill, Path(data))
                yield source.select([source[names.index(name)].name(name) for name in columns.find(names, str(data))])
        else:
            connection.con.register("records", _arrow(data, columns))
            yield connection.table("records")


def column_names(path: Path, reading: Reading = DEFAULT_READING) -> list[str]:
    """The names of the columns of a file."""
    reading.check()
    with _engine() as (connection, spill), _readable(path):
        return _file(connection, spill, path)[0]


@contextmanager
def _engine() -> Iterator[tuple[Any, Path]]:
    """An embedded DuckDB, and the private folder to which it writes what does not fit in memory. Both are removed at the end."""
    with draft_folder() as spill:
        connection = ibis.duckdb.connect(temp_directory=str(spill))
        try:
            yield connection, spill
        finally:
            connection.disconnect()


def _file(connection: Any, spill: Path, path: Path) -> tuple[list[str], Expr]:
    """The names of the columns of a file, and an Ibis table in which the columns may have other names."""
    name = path.name.lower()
    if not name.endswith(RECORD_SUFFIXES):
        raise InputError(f"{path} is not a CSV or Parquet file: its name should end in {', '.join(RECORD_SUFFIXES)}.")
    if not path.is_file():
        raise InputError(f"{path} is a folder, not a file." if path.is_dir() else f"File {path} does not exist.")
    # DuckDB reads file names as patterns ("d[12].csv") and folders as columns ("year=2024/"): it gets an alias.
    suffix = ".parquet" if name.endswith(PARQUET_SUFFIXES) else ".csv"
    alias = spill / f"records{suffix}{'.gz' if name.endswith('.gz') else ''}"
    alias.symlink_to(path.resolve())
    pattern = glob.escape(str(alias))  # the private folder may have such a name
    if name.endswith(PARQUET_SUFFIXES):
        source = connection.read_parquet(pattern, hive_partitioning=False)
        return list(source.columns), source
    delimiter, names = _header(path)
    _check_lines(path)
    # All columns are read as text, so that the code 01 keeps its zero; numbers are converted later.
    kinds = {f"column{i}": "string" for i in range(len(names))}  # DuckDB refuses some names
    style = {"header": True, "delim": delimiter, "quote": '"', "escape": '"', "hive_partitioning": False}
    return names, connection.read_csv(pattern, auto_detect=False, columns=kinds, **style)


def _header(path: Path) -> tuple[str, list[str]]:
    """The delimiter of a CSV file, and the names in its first line."""
    with gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb") as file:
        # An incremental decoder accepts an end in the middle of a character.
        start = codecs.getincrementaldecoder("utf-8-sig")().decode(file.read(MAX_LINE_BYTES))
    if not start.strip():
        raise InputError(f"{path} is empty: its first line must name the columns.")
    found: dict[str, list[str]] = {}
    for sign in DELIMITERS:
        with suppress(csv.Error):  # if a quote closes before another sign, this one is not the delimiter
            found[sign] = next(csv.reader(io.StringIO(start, newline=""), delimiter=sign, strict=True))
    if not found:
        raise InputError(
            f"{path}, line 1: cannot be read as names of columns. Is it the header, with names of up to "
            f"{csv.field_size_limit():,} letters and all quotes closed?"
        )
    if io.StringIO(start, newline="").readline().endswith("\r"):
        raise InputError(f"{path}: lines end in CR alone, as on old computers. Save it with line ends LF or CR LF.")
    delimiter = max(found, key=lambda sign: len(found[sign]))
    return delimiter, found[delimiter]


def _check_lines(path: Path) -> None:
    """Raise if a line is too long, which DuckDB drops silently if it is the last, or if compressed contents are too large."""
    length = longest = 0  # bytes of the current line so far, and of the longest line
    for block in gunzipped(path) if path.name.lower().endswith(".gz") else _tail(path):
        first, last = block.find(b"\n"), block.rfind(b"\n")
        longest = max(longest, length + (len(block) if first < 0 else first))
        length = length + len(block) if first < 0 else len(block) - last - 1
    if max(longest, length) > MAX_LINE_BYTES:
        raise InputError(f"{path} has a line of more than {MAX_LINE_BYTES:,} bytes. Are line ends or quotes missing?")


def _tail(path: Path) -> Iterator[bytes]:
    """The end of a file. It suffices to find a last line that is too long; DuckDB itself refuses others that are."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2 * MAX_LINE_BYTES, 0))
        yield file.read().rstrip(b"\r\n")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Replace the error messages of readers, which quote confidential records, by messages that only give the place."""
    try:
        yield
    except (OSError, EOFError, UnicodeError, zlib.error, duckdb.Error) as error:
        if isinstance(error, duckdb.InterruptException) or "failed: KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None  # DuckDB may wrap it in an error of its own
        if isinstance(error, duckdb.OutOfMemoryException):
            raise InputError(
                f"{path}: there is not enough memory, or not enough space on disk for intermediate results, to tabulate it."
            ) from None
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        place = f"{path}, line {line[1]}" if line else str(path)
        if _mixes_line_ends(path):
            raise InputError(
                f"{place}: cannot be read. Some lines end in LF, others in CR LF: save it with one of the two."
            ) from None
        advice = f"the same fields in every line, and no line of more than {MAX_LINE_BYTES:,} bytes"
        raise InputError(
            f"{place}: cannot be read. Check that the file is complete, in UTF-8, and has {advice}."
        ) from None


def _mixes_line_ends(path: Path) -> bool:
    """Whether a text file has lines that end in LF and others that end in CR LF."""
    name = path.name.lower()
    if not name.endswith(TEXT_SUFFIXES):
        return False
    ends = set()
    with (
        suppress(OSError, EOFError, zlib.error),
        gzip.open(path, "rb") if name.endswith(".gz") else path.open("rb") as file,
    ):
        ends = {line.endswith(b"\r\n") for line in file if line.endswith(b"\n")}
    return len(ends) > 1


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
    except pa.ArrowException:  # numbers and text in one column: all become text, as in a CSV file
        return pa.array([None if gap else str(item) for item, gap in zip(column, column.isna(), strict=True)])


def as_text(column: Expr) -> Expr:
    """Codes and names as text; empty ones are missing. An integer in a column of floats reads 7, not 7.0."""
    if column.type().is_floating():
        missing, integer = column.isnan() | column.isinf(), (column == column.floor()) & (column.abs() < 1e15)
        number = ibis.ifelse(integer, column.floor().cast("int64").cast("string"), column.cast("string"))
        return ibis.ifelse(missing, ibis.null("string"), number)
    return column.cast("string").nullif("")


def as_number(column: Expr) -> Expr:
    return column.nullif("").try_cast("float64") if column.type().is_string() else column.cast("float64")


def is_marked(column: Expr) -> Expr:
    """Whether a record is marked: the column, of any type, holds something other than zero or false."""
    return as_text(column).lower().notin(["0", "0.0", "false"]).fill_null(False)


def recoded(source: Expr, recode: Mapping[str, Mapping[str, str]]) -> Expr:
    """The table with codes replaced; ``recode`` maps old to new codes, column by column."""
    taken = {name.lower() for name in source.columns}
    old, new = (next(n for n in (stem + "_" * i for i in count()) if n not in taken) for stem in ("__code", "__into"))
    for name, into in recode.items():
        if into:
            lookup = ibis.memtable(pd.DataFrame({old: list(into), new: list(into.values())}))
            found = source.mutate(as_text(source[name]).name(name)).left_join(lookup, [(name, old)])
            source = found.mutate(ibis.coalesce(found[new], found[name]).name(name)).drop(old, new)
    return source


def read_records(path: str | Path) -> pd.DataFrame:
    """All columns of a file: as text from CSV, so that the code 01 keeps its zero; with their types from Parquet."""
    path = Path(path)
    if path.name.lower().endswith(PARQUET_SUFFIXES) and path.is_file():
        fault = f"{path}: cannot be read. Check that the file is complete."
        with reading(path, fault, pa.ArrowException, OSError), path.open("rb") as file:
            table = parquet.read_table(file)
    else:
        with _engine() as (connection, spill), _readable(path):
            names, source = _file(connection, spill, path)
            table = source.to_pyarrow().rename_columns(names)
    twice = [name for i, name in enumerate(table.column_names) if name in table.column_names[:i]]
    if twice:
        raise InputError(f"{path} has several columns called {twice[0]!r}. Rename all but one.", twice)
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def write_records(frame: pd.DataFrame, path: Path) -> None:
    """Write all columns to a CSV or Parquet file, depending on its suffix."""
    if path.name.lower().endswith(PARQUET_SUFFIXES):
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, encoding="utf-8")


def distinct_codes(data: Any, columns: Sequence[str], reading: Reading = DEFAULT_READING) -> pd.DataFrame:
    """The distinct combinations of codes in some columns, as text."""
    chosen = Columns(tuple(columns), None, None, (), None, None, None)
    chosen.check()
    with open_records(data, chosen, reading) as source:
        codes = source.select([as_text(source[name]).name(name) for name in columns]).distinct().to_pandas()
    if codes.isna().any().any():
        raise InputError(f"Codes are missing in the columns {some(list(columns))}: fill or drop them first.")
    return codes
