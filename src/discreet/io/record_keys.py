"""Record keys added to a file of records: CSV to CSV, or Parquet to Parquet."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from discreet.compressed_files import gunzipped
from discreet.data.reading import DELIMITERS
from discreet.data.record_keys import record_keys
from discreet.data.records import PARQUET_SUFFIXES
from discreet.errors import FormatError, InputError, reading, some
from discreet.secret import Secret


def add_keys(source: Path, target: Path, identifier: str, *, secret: Secret, name: str = "key") -> int:
    """Copy the records with a further column ``name`` of keys, and return the number of records."""
    if source.name.lower().endswith(PARQUET_SUFFIXES):
        return _parquet(source, target, identifier, secret, name)
    if source.name.lower().endswith(".gz"):
        with _reading(source, OSError):
            for _ in gunzipped(source):  # raises an error if there is too much
                pass
    with _rows(source) as (delimiter, header, rows):
        at = _identifier_column(source, header, identifier, name)
        keys = record_keys((row[at] for row in rows), secret=secret)
    with _rows(source) as (delimiter, header, rows), _open_text(target, "wt") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow([*header, name])
        writer.writerows([*row, key] for row, key in zip(rows, keys.tolist(), strict=True))
    return len(keys)


def _reading(source: Path, *others: type[Exception]) -> AbstractContextManager[None]:
    fault = f"{source} cannot be read: it is not a CSV file in UTF-8, or it is damaged."
    return reading(source, fault, UnicodeDecodeError, csv.Error, EOFError, gzip.BadGzipFile, zlib.error, *others)


def _parquet(source: Path, target: Path, identifier: str, secret: Secret, name: str) -> int:
    fault = f"{source} is not a Parquet file, or it is damaged."
    with reading(source, fault, OSError, pa.ArrowException), source.open("rb") as file:
        table = parquet.read_table(file)
    at = _identifier_column(source, table.column_names, identifier, name)
    keys = record_keys(table.column(at).to_pylist(), secret=secret)
    parquet.write_table(table.append_column(name, pa.array(keys)), target)
    return len(keys)


def _identifier_column(source: Path, header: list[str], identifier: str, name: str) -> int:
    if identifier not in header:
        raise InputError(f"{source} has no column {identifier!r}. It has {some(header, 8)}.", [identifier])
    if name in header:
        raise InputError(f"{source} has a column {name!r} already. Choose another name for the keys.", [name])
    return header.index(identifier)


def _open_text(path: Path, mode: str) -> Any:
    encoding = "utf-8" if "w" in mode else "utf-8-sig"
    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    return opener(path, mode, encoding=encoding, newline="")


@contextmanager
def _rows(path: Path) -> Iterator[tuple[str, list[str], Iterator[list[str]]]]:
    """The delimiter, the header and the records of a CSV file."""
    with _reading(path), _open_text(path, "rt") as file:
        first = file.readline()
        delimiter = max(DELIMITERS, key=first.count)
        header = next(csv.reader([first], delimiter=delimiter), [])
        yield delimiter, header, _checked(path, csv.reader(file, delimiter=delimiter), len(header))


def _checked(path: Path, rows: Iterator[list[str]], fields: int) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=2):
        if row and len(row) != fields:
            raise FormatError(
                f"{path}, record {number - 1}: expected {fields} fields, found {len(row)}. Correct the record, or put "
                "fields with the delimiter in quotes."
            )
        if row:
            yield row
