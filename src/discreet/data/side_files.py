"""Side files: small files of text beside the data, such as hierarchies, statuses, waivers and patterns."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from discreet.data.reading import DELIMITERS
from discreet.errors import FormatError, reading, some

BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
FALLBACK_ENCODING = "windows-1252"  # of text that is not UTF-8: the default of spreadsheets in Western Europe

SideRows: TypeAlias = list[tuple[int, dict[str, str]]]  # the number of each line, and its fields by column


def side_text(path: str | Path) -> str:
    """The text of a side file in UTF-8, in UTF-16 with its mark, or in Windows-1252.

    The encoding of a side file may be guessed: its codes must be those of the data, so that a wrong guess is an error.
    """
    with reading(path, f"{path} cannot be read. Save it as text in UTF-8.", ValueError, OSError):
        content = Path(path).read_bytes()
        if content.startswith(BYTE_ORDER_MARKS):
            return _with_line_feeds(content.decode("utf-16"))
        with suppress(UnicodeDecodeError):
            return _with_line_feeds(content.decode("utf-8-sig"))
        return _with_line_feeds(content.decode(FALLBACK_ENCODING))


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_side_file(
    path: str | Path, required: Sequence[str], optional: Sequence[str] = (), *, others: bool = False
) -> SideRows:
    """The lines of a side file with these columns, in any order and with any usual separator; ``others`` allows more columns.

    Blank lines are left out. Capitals and blanks in the names of columns do not matter.
    """
    lines = list(side_lines(path))
    number, header = lines[0] if lines else (1, [])
    columns = [_column(name, [*required, *optional]) for name in header]
    known = [name for name in columns if name is not None]
    missing = [name for name in required if name not in known]
    if missing or len(set(known)) < len(known):
        also = f", and may name {some(optional, 9)}" if optional else ""
        fault = f"{missing[0]!r} is missing" if missing else f"{_repeated(known)!r} occurs twice"
        raise FormatError(f"{path}: the first line must name the columns {some(required, 9)}{also}; {fault}.")
    if len(known) < len(header) and not others:
        unknown = header[columns.index(None)].strip()
        similar = get_close_matches(unknown.lower(), [*required, *optional], n=1)
        hint = f"Did you mean {similar[0]!r}?" if similar else f"Columns are {some([*required, *optional], 9)}."
        raise FormatError(f"{path}, line {number}: there is no column {unknown!r} in such a file. {hint}", [unknown])
    rows: SideRows = []
    for number, fields in lines[1:]:
        if len(fields) != len(header):
            raise FormatError(f"{path}, line {number}: expected {len(header)} fields, found {len(fields)}.")
        rows.append((number, {name: field for name, field in zip(columns, fields, strict=True) if name is not None}))
    return rows


def side_lines(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """The number and the fields of each line that is not blank, without the empty fields after the last column."""
    text = side_text(path)
    with reading(path, f"{path} cannot be read as CSV. Save it as comma-separated text in UTF-8.", csv.Error):
        first, _, rest = text.partition("\n")
        separator = max(DELIMITERS, key=lambda sign: len(next(csv.reader([first], delimiter=sign), [])))
        if first.strip().lower().startswith("sep="):  # a line with which spreadsheets are given the separator
            separator, text = first.strip()[4:5] or separator, f"\n{rest}"
        width = 0
        reader = csv.reader(io.StringIO(text), delimiter=separator, strict=True)
        for fields in reader:
            while len(fields) > width and not fields[-1].strip():
                fields.pop()
            if any(field.strip() for field in fields):
                width = width or len(fields)
                yield reader.line_num, fields


def _column(name: str, known: Sequence[str]) -> str | None:
    """The known column with a name, or with this name in other capitals."""
    name = name.strip()
    alike = [one for one in known if one.casefold() == name.casefold()]
    return name if name in known else alike[0] if len(alike) == 1 else None


def _repeated(names: Sequence[str]) -> str:
    return next(name for i, name in enumerate(names) if name in names[:i])
