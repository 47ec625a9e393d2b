"""Microdata from files, data frames, Arrow tables or a database, opened as Ibis tables."""

from __future__ import annotations

import csv
import glob
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from discreet.compressed_files import gunzipped
from discreet.data.code_order import category_order
from discreet.data.columns import Columns
from discreet.data.numerals import Expr
from discreet.data.opened_records import OpenedRecords, missing_code_advice
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.spelling import AS_WRITTEN, Spelling, check_spellings
from discreet.data.text_file import MAX_LINE_BYTES, TextFile, text_file
from discreet.data.workbook import cell_text, read_sheet
from discreet.drafts import draft_folder
from discreet.errors import FormatError, InputError, reading

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
PARQUET_SUFFIXES = (".parquet", ".pq")
# How to save files of other programs as one of these.
OTHER_PROGRAMS = dict.fromkeys((".xls", ".ods"), "Open it in Excel or LibreOffice and save it as .xlsx.") | {
    ".sav": "In SPSS save it as CSV: File > Save As.",
    ".dta": "In Stata write it with `export delimited using data.csv`.",
    ".sas7bdat": "In SAS write it with `proc export data=… outfile='data.csv' dbms=csv`.",
    ".rds": "In R write it with `write.csv`.",
}
RECORD_SUFFIXES = (*TEXT_SUFFIXES, *PARQUET_SUFFIXES, ".xlsx")
MAX_BYTES_SHARED = 2**22  # of records that are never written to disk: with all intermediate results they fit in memory


@contextmanager
def open_records(data: Any, columns: Columns, reading: Reading = DEFAULT_READING) -> Iterator[OpenedRecords]:
    """The microdata, opened as an Ibis table: on their own backend if they have one, otherwise in an embedded DuckDB."""
    reading.check()
    opened: Callable[..., OpenedRecords] = partial(OpenedRecords, columns=columns, reading=reading)
    if isinstance(data, ibis.Table):
        used = columns.find(data.columns, "The table")
        yield opened(data.select(used), place="The table", unit="record").examined()
        return
    frame = None if isinstance(data, (str, Path)) else _arrow(data, columns)
    is_small = _is_small(Path(data)) if frame is None else frame.nbytes <= MAX_BYTES_SHARED
    with _engine(shared=is_small) as (connection, spill):
        opened = partial(opened, engine=connection)
        if frame is None:
            with _readable(Path(data)):
                yield _opened_file(connection, spill, Path(data), columns, reading, opened)
        else:
            connection.con.register("records", frame)
            yield opened(
                connection.table("records"), place="The data frame", unit="record", numbered=partial(_numbered, frame)
            ).examined()


def _opened_file(
    connection: Any, spill: Path, path: Path, columns: Columns, reading: Reading, opened: Callable[..., OpenedRecords]
) -> OpenedRecords:
    """The used columns of a file."""
    name, used = checked_path(path).name.lower(), [name for _role, name in columns.roles]
    opened = partial(opened, place=str(path))
    if name.endswith(PARQUET_SUFFIXES):
        source = connection.read_parquet(_alias(spill, path), hive_partitioning=False)
        source = source.select(columns.find(list(source.columns), str(path)))
        return opened(source, unit="row", numbered=lambda: _numbered(source.to_pyarrow())).examined()
    if name.endswith(".xlsx"):
        sheet = read_sheet(path, reading, used)
        frame = pa.table(
            {
                name: pa.array(sheet.column(name, name in columns.numbers), "string")
                for name in columns.find(sheet.names, sheet.place)
            }
        )
        connection.con.register("records", frame)
        numbers = [number for number, _ in sheet.rows]
        numbered = partial(_numbered, frame, numbers)
        return opened(connection.table("records"), place=sheet.place, unit="row", numbered=numbered).examined()
    file = text_file(path, reading, used)
    names = columns.find(file.names, str(path))

    def from_text(is_plain: bool) -> OpenedRecords:
        source = _texts(connection, spill, file, is_plain)
        chosen = source.select([source[file.names.index(name)].name(name) for name in names])
        return opened(chosen, unit="line", numbered=lambda: _records_of(file)).examined()

    if file.is_plain:
        with _content_errors_ignored():
            found = from_text(True)
            if not found.blank:
                return found
    return from_text(False)


def _records_of(file: TextFile) -> Iterator[tuple[int, dict[str, str]]]:
    for number, fields in file.records():
        yield number, dict(zip(file.names, fields, strict=True))


def _numbered(frame: pa.Table, numbers: Iterable[int] | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The records of a table with their numbers, from 1 if none are given."""
    records = (record for batch in frame.to_batches(10_000) for record in batch.to_pylist())
    return zip(count(1) if numbers is None else numbers, records, strict=False)


def column_names(path: Path, reading: Reading = DEFAULT_READING) -> list[str]:
    """The names of the columns of a file."""
    reading.check()
    name = checked_path(path).name.lower()
    with _readable(path):
        if name.endswith(PARQUET_SUFFIXES):
            return list(parquet.read_schema(path).names)
        return read_sheet(path, reading).names if name.endswith(".xlsx") else text_file(path, reading).names


@contextmanager
def _engine(shared: bool = False) -> Iterator[tuple[Any, Path]]:
    """An embedded DuckDB, and the private folder to which it writes what does not fit in memory. Both are removed at the end.

    A ``shared`` one is a connection to the engine of this process, which writes nothing to disk.
    """
    with draft_folder() as spill:
        if shared:
            connection = ibis.duckdb.from_connection(_shared_engine(os.getpid()).cursor())
        else:
            connection = ibis.duckdb.connect(temp_directory=str(spill))
        try:
            yield connection, spill
        finally:
            connection.disconnect()


@cache
def _shared_engine(process: int) -> Any:
    """The engine of a process: starting one takes as long as several queries. A forked process cannot use that of its parent."""
    return duckdb.connect(config={"temp_directory": ""})


def _is_small(path: Path) -> bool:
    """Whether a file has so few records that the shared engine can work on them. The size of a compressed one does not tell."""
    return (
        path.name.lower().endswith((".csv", ".tsv", ".txt"))
        and path.is_file()
        and path.stat().st_size <= MAX_BYTES_SHARED
    )


def checked_path(path: Path) -> Path:
    if not path.name.lower().endswith(RECORD_SUFFIXES):
        raise FormatError(
            f"{path} is not a CSV, Excel or Parquet file: its name should end in {', '.join(RECORD_SUFFIXES)}. "
            + OTHER_PROGRAMS.get(path.suffix.lower(), "If it is text, rename it, e.g. to .txt.")
        )
    if not path.is_file():
        raise FormatError(f"{path} is a folder, not a file." if path.is_dir() else f"File {path} does not exist.")
    return path


def _alias(spill: Path, path: Path) -> str:
    """Another path of a file: DuckDB reads file names as patterns ("d[12].csv") and folders as columns ("year=2024/")."""
    suffix = ".parquet" if path.name.lower().endswith(PARQUET_SUFFIXES) else ".csv"
    alias = spill / f"records{suffix}{'.gz' if path.name.lower().endswith('.gz') else ''}"
    alias.symlink_to(path.resolve())
    return glob.escape(str(alias))  # the private folder may have such a name


def _texts(connection: Any, spill: Path, file: TextFile, is_plain: bool) -> Expr:
    """The columns of a text file, from itself or from a copy that every database engine can read."""
    style = {"quote": '"', "escape": '"', "hive_partitioning": False, "auto_detect": False}
    # All columns are read as text, so that the code 01 keeps its zero; numbers are converted later.
    kinds = {f"column{i}": "string" for i in range(len(file.names))}  # DuckDB refuses some names
    if is_plain:
        _check_lines(file.path)
        return connection.read_csv(_alias(spill, file.path), columns=kinds, header=True, delim=file.delimiter, **style)
    copy = spill / "copy.csv"
    with copy.open("w", encoding="utf-8", newline="") as target:
        # Quotes around everything: a copy of a single column has no blank lines, which would be skipped.
        writer = csv.writer(target, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows(fields for _, fields in file.records())
    return connection.read_csv(glob.escape(str(copy)), columns=kinds, header=False, delim=",", **style)


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
    """The end of a file, long enough to find a last line that is too long; DuckDB itself refuses other lines that are."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 2 * MAX_LINE_BYTES, 0))
        yield file.read().rstrip(b"\r\n")


@contextmanager
def _content_errors_ignored() -> Iterator[None]:
    """Ignore errors about the contents of a file: the caller then reads it line by line, which gives better messages."""
    try:
        yield
    except duckdb.Error as error:
        if _is_interrupt(error) or isinstance(error, duckdb.OutOfMemoryException):
            raise


def _is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C: DuckDB may wrap it in an error of its own."""
    return isinstance(error, duckdb.InterruptException) or "failed: KeyboardInterrupt" in str(error)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Replace the error messages of readers, which quote confidential records, by messages that only give the place."""
    try:
        yield
    except (OSError, EOFError, UnicodeError, zlib.error, duckdb.Error, pa.ArrowException) as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from None
        if isinstance(error, duckdb.OutOfMemoryException):
            raise InputError(
                f"{path}: there is not enough memory, or not enough space on disk for intermediate results, to tabulate it. "
                "Use fewer dimensions, or a machine with more."
            ) from None
        raise FormatError(f"{path} cannot be read. Check that the file is complete.") from None


def _arrow(data: Any, columns: Columns) -> pa.Table:
    if type(data).__module__.partition(".")[0] == "polars":
        frame = data.lazy().collect()
        data = frame.select(columns.find(frame.columns, "The data frame")).to_arrow()
    elif isinstance(data, pd.DataFrame):
        used = columns.find(list(data.columns), "The data frame")
        data = pa.table({name: _arrow_column(data[name], name in columns.numbers) for name in used})
    elif not isinstance(data, pa.Table):
        raise InputError(
            f"Cannot read microdata from {type(data).__name__}. "
            "Pass a CSV, Excel or Parquet file, a pandas or polars data frame, a pyarrow table or an Ibis table."
        )
    found = {name: data[name] for name in columns.find(data.column_names, "The table")}
    return pa.table({n: c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for n, c in found.items()})


def _arrow_column(column: Any, is_number: bool) -> pa.Array:
    try:
        return pa.array(column, from_pandas=True)
    except pa.ArrowException:  # numbers and text in one column: all become text, as in a workbook
        return pa.array(
            [None if gap else cell_text(item, is_number) for item, gap in zip(column, column.isna(), strict=True)]
        )


def as_text(column: Expr) -> Expr:
    """Codes and names as text; empty ones are missing. An integer in a column of floats reads 7, not 7.0."""
    if column.type().is_floating():
        missing, integer = column.isnan() | column.isinf(), (column == column.floor()) & (column.abs() < 1e15)
        number = ibis.ifelse(integer, column.floor().cast("int64").cast("string"), column.cast("string"))
        return ibis.ifelse(missing, ibis.null("string"), number)
    text = column.cast("string")
    return ibis.ifelse(text.strip() == "", ibis.null("string"), text) if column.type().is_string() else text


def marks(column: Expr, entries: Sequence[str]) -> list[Expr]:
    """Whether a record is marked by each of these entries; without entries by anything other than zero or false."""
    text = as_text(column)
    if not entries:
        return [text.lower().notin(["0", "0.0", "false"]).fill_null(False)]
    return [(text.strip() == entry).fill_null(False) for entry in entries]


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
        with _engine(shared=_is_small(path)) as (connection, spill), _readable(path):
            text, table = text_file(checked_path(path), DEFAULT_READING), None
            if text.is_plain:
                with _content_errors_ignored():
                    table = _texts(connection, spill, text, True).to_pyarrow()
            table = _texts(connection, spill, text, False).to_pyarrow() if table is None else table
            table = table.rename_columns(text.names)
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


def distinct_codes(
    data: Any,
    columns: Sequence[str],
    reading: Reading = DEFAULT_READING,
    spelling: Spelling = AS_WRITTEN,
    total: str | None = None,
) -> pd.DataFrame:
    """The distinct combinations of codes in some columns, as text; raises if codes of a column differ in spelling only.

    They are in the order of the category types of the columns, the first column first, otherwise in that of the codes.
    """
    chosen = Columns(tuple(columns), None, None, (), None, None, None)
    chosen.check()
    with open_records(data, chosen, reading) as source:
        texts = source.rows.select([as_text(source.rows[name]).name(name) for name in columns])
        n = next(
            n for n in ("records" + "_" * i for i in count()) if n.lower() not in {name.lower() for name in columns}
        )
        # The most frequent codes first: their spelling is proposed for the others.
        codes = texts.group_by(list(columns)).agg(**{n: texts.count()}).to_pandas()
        if spelling.no_code is not None:
            codes[list(columns)] = codes[list(columns)].fillna(spelling.no_code)
        codes = codes.sort_values([n, *columns], ascending=[False, *[True for _ in columns]])[list(columns)]
        gaps = [name for name in columns if codes[name].isna().any()]
        if gaps:
            missing, records = int(texts[gaps[0]].isnull().sum().to_pandas()), int(texts.count().to_pandas())
            raise source.without_entry(gaps[:1], missing, records, "code", missing_code_advice(columns[-1]))
    codes = codes.map(spelling.spelled).drop_duplicates()
    for name in columns:
        check_spellings(columns[-1], list(codes[name].unique()), spelling, total=total)
    found = codes.sort_values(list(columns), ignore_index=True)
    for name in reversed(columns):  # sorts are stable
        order = category_order(data, name)
        if order is not None:
            rank = {code: i for i, code in enumerate(order)}
            found = found.sort_values(name, key=lambda of, rank=rank: of.map(rank), kind="stable", ignore_index=True)
    return found
