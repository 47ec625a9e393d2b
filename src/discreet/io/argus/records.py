"""Records of τ-ARGUS: fixed-width or with separators, described by metadata; they have no line with names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from discreet.data.numerals import number_format
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.errors import FormatError, some
from discreet.io.argus.metadata import Metadata, Variable
from discreet.io.argus.text import data_lines, fields


def read_records(
    path: str | Path,
    metadata: Metadata,
    reading: Reading = DEFAULT_READING,
    *,
    point: bool = False,
    only: Collection[str] | None = None,
) -> pd.DataFrame:
    """The records as text and numbers, by the names of their variables; the index is the number of the line.

    Codes are stripped of blanks; those that the metadata list as missing are kept, as they may be a category of their own.
    Numbers that are listed as missing are missing. With ``point`` all numbers of the file are written alike, and where no comma
    occurs the point is their decimal separator, as in τ-ARGUS; otherwise a column with two readings is an error. ``only`` names
    the variables to read.
    """
    path = Path(path)
    numbered = [(n, line) for n, line in enumerate(data_lines(path, reading.encoding), start=1) if line.strip()]
    if not numbered:
        raise FormatError(f"{path} is empty.")
    texts = {
        variable: pd.Series(column, dtype=str)
        for variable, column in zip(metadata.variables, _columns(path, metadata, numbered), strict=True)
        if only is None or variable.name in only
    }
    numeric = {variable for variable in texts if variable.numeric and not variable.categorical}
    if point and numeric:
        reading = _settled(reading, pd.concat([_given(variable, texts[variable]) for variable in numeric]))
    columns = {}
    for variable, column in texts.items():
        if variable in numeric:
            columns[variable.name] = _numbers(path, variable, column, numbered, reading)
        else:
            columns[variable.name] = column.str.strip()
            _refuse_blanks_that_count(path, variable, column)
    return pd.DataFrame(columns).set_index(pd.Index([number for number, _ in numbered], name="line"))


def decimal_of(path: Path, metadata: Metadata, only: Collection[str]) -> str | None:
    """The decimal separator that all numbers of a file together show; None if they leave it open."""
    numbered = [(n, line) for n, line in enumerate(data_lines(path), start=1) if line.strip()]
    columns = zip(metadata.variables, _columns(path, metadata, numbered), strict=True)
    texts = [
        _given(variable, pd.Series(column, dtype=str))
        for variable, column in columns
        if variable.name in only and variable.numeric and not variable.categorical
    ]
    return _settled(DEFAULT_READING, pd.concat(texts)).decimal if texts else None


def _columns(path: Path, metadata: Metadata, numbered: Sequence[tuple[int, str]]) -> list[list[str]]:
    """The texts of each variable."""
    if metadata.kind == "records" and not metadata.separator:
        return [[line[v.start : v.start + v.width] for _, line in numbered] for v in metadata.variables]
    rows = []
    for number, line in numbered:
        row = fields(line, metadata.separator or ",")
        if len(row) == len(metadata.variables) + 1 and not row[-1]:
            row = row[:-1]  # a separator at the end of the line
        if len(row) != len(metadata.variables):
            raise FormatError(
                f"{path}, line {number}: expected {len(metadata.variables)} fields, found {len(row)}. Does "
                f"{metadata.path.name} list all variables of the file, in its order?"
            )
        rows.append(row)
    return [list(column) for column in zip(*rows, strict=True)]


def _refuse_blanks_that_count(path: Path, variable: Variable, column: pd.Series) -> None:
    """Raise if two codes differ only in the blanks before and after them: τ-ARGUS takes them for two codes."""
    written = column.drop_duplicates()
    twice = written.str.strip().duplicated(keep=False)
    if variable.categorical and twice.any():
        codes = sorted(set(written[twice].str.strip()))
        raise FormatError(
            f"{path}: codes of variable {variable.name!r} differ in nothing but blanks before or after them: {some(codes)}. "
            "Write them in one way.",
            codes,
        )


def _given(variable: Variable, column: pd.Series) -> pd.Series:
    """The texts of the numbers of a variable that are not missing."""
    column = column.str.strip()
    return column[~column.isin(["", *variable.missing])]


def _settled(reading: Reading, texts: pd.Series) -> Reading:
    """The reading with the decimal separator that all numbers of a file together show: the point where no comma occurs."""
    if reading.decimal is not None:
        return reading
    if not texts.str.contains(",", regex=False).any():
        return replace(reading, decimal=".")
    found = number_format(texts, reading)
    return reading if found is None else replace(reading, decimal=found.decimal)


def _numbers(
    path: Path, variable: Variable, column: pd.Series, numbered: Sequence[tuple[int, str]], reading: Reading
) -> pd.Series:
    texts = _given(variable, column)
    column = column.str.strip()
    missing = ~column.index.isin(texts.index)
    written = number_format(texts, reading)
    if written is None:
        raise FormatError(
            f"{path}: variable {variable.name!r} can be read in two ways, or has numbers of two kinds. Add "
            'decimal = "," if a number like 1.234 means 1234, and decimal = "." if it means a number between 1 and 2.'
        )
    numbers = pd.to_numeric(column.mask(missing).map(written.number_of, na_action="ignore"))
    bad = numbers.isna() & ~missing
    if bad.any():
        number, _ = numbered[int(bad.argmax())]
        raise FormatError(f"{path}, line {number}: variable {variable.name!r} is not a number. Is the layout right?")
    return numbers
