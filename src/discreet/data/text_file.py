"""Text files with fields between delimiters: their encoding, delimiter and header, and their lines with numbers."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from discreet.compressed_files import gunzipped
from discreet.data.foreign_files import foreign_kind
from discreet.data.reading import DELIMITERS, OR_FINISHED, Reading, has_columns
from discreet.errors import FormatError, numbers_of_lines

MAX_LINE_BYTES = 2_000_000  # DuckDB's own limit; it silently drops a last line that is longer, so this is checked here
HEAD_BYTES = 1 << 16  # from which the delimiter is found
MAX_HEADER_LINE = 50  # looked at for the names of columns
MAX_LINES_KEPT = 100  # with one fault: messages show a few of them
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
# Longest first: the mark of UTF-16 begins that of UTF-32.
MARKED_ENCODINGS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"} | {
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class TextFile:
    """A text file, as its settings and its first lines say it is to be read."""

    path: Path
    encoding: str
    delimiter: str
    header_line: int
    names: list[str]  # of the columns; without names: empty ones at the end, which hold nothing
    skip_blank: bool
    is_plain: bool  # UTF-8 with the header in the first line: a database engine can read it as it is

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """The number of its first line and the fields of each record, as many as there are names.

        All lines with too many or too few fields, and all blank lines if these are not skipped, are one error at the end.
        """
        n, uneven, blank = len(self.names), _LineNumbers(), _LineNumbers()
        for line, fields in self._numbered():
            if not any(field.strip() for field in fields):
                blank.add(line)
            elif len(fields) < n or any(field.strip() for field in fields[n:]):
                uneven.add(line)
            else:
                yield line, fields[:n]
        faults = []
        if uneven.count:
            faults.append(
                f"{self.path}, {uneven}: more or fewer than the {n} fields of the header. Delete notes, and put fields with a "
                f"{NAMES[self.delimiter]}, also as decimal separator, in quotes."
            )
        if blank.count and not self.skip_blank:
            faults.append(f"{self.path}, {blank}: blank. Delete blank lines, or leave out skip_blank = false.")
        if faults:
            raise FormatError("\n".join(faults))

    def _numbered(self) -> Iterator[tuple[int, list[str]]]:
        with opened_text(self.path, self.encoding) as file:
            for _ in range(self.header_line - 1):
                file.readline()
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            line = self.header_line
            try:
                for fields in reader:
                    if line > self.header_line:
                        yield line, fields
                    line = self.header_line + reader.line_num
            except csv.Error:
                raise FormatError(
                    f"{self.path}, line {line}: cannot be read. Quotes are not closed or stand within a field, or a field has "
                    f"more than {csv.field_size_limit():,} letters."
                ) from None
            except UnicodeError:
                raise FormatError(undecodable(self.path, self.encoding)) from None


class _LineNumbers:
    """The first numbers of lines with a fault, and how many there are."""

    def __init__(self) -> None:
        self.count, self.first = 0, list[int]()

    def add(self, line: int) -> None:
        self.count += 1
        if len(self.first) < MAX_LINES_KEPT:
            self.first.append(line)

    def __str__(self) -> str:
        return numbers_of_lines("line", self.first, self.count)


def text_file(path: Path, reading: Reading, used: Sequence[str] = ()) -> TextFile:
    """A text file with its encoding, delimiter and header; an error asks where these do not follow from the file.

    ``used`` are the names of the columns that are needed.
    """
    encoding = encoding_of(path, reading.encoding)
    lines = _first_lines(path, encoding)
    if not any(line.strip() for line in lines):
        raise FormatError(f"{path} is empty: its first line must name the columns.")
    at = reading.header_row - 1 if reading.header_row is not None else _first_with_text(lines)
    declared = re.fullmatch(r"sep=([,;\t|])\s*", lines[at], flags=re.IGNORECASE) if at < len(lines) else None
    if declared and reading.header_row is None:
        at += 1 + _first_with_text(lines[at + 1 :])
    if at >= len(lines):
        raise FormatError(
            f"{path}: there is no line {at + 1}, which would have the names of the columns. Correct header_row."
        )
    if reading.header_row is None and not used:
        _refuse_title(path, lines, at, reading.delimiter)
    sign = reading.delimiter or (declared and declared[1]) or _delimiter(path, lines[at:], used)
    names = _fields(lines[at:], sign)
    if names is None and re.fullmatch(r'"[^"]*"(?: "[^"]*")+\s*', lines[at]):
        raise FormatError(
            f"{path}, line {at + 1}: there are blanks between the names, as R's write.table writes them. Write the file with "
            "write.csv or write.csv2."
        )
    if names is None:
        raise FormatError(
            f"{path}, line {at + 1}: cannot be read as names of columns. Is it the header, with names of up to "
            f"{csv.field_size_limit():,} letters and all quotes closed?"
        )
    if not has_columns(names, used):
        names = [name.strip() for name in names]
    while len(names) > 1 and not names[-1].strip():  # spreadsheets add empty columns
        names.pop()
    if reading.header_row is None and not has_columns(names, used):
        _ask_for_header(path, lines, at, sign, used)
    is_plain = encoding == "utf-8-sig" and at == 0 and reading.skip_blank and not declared and len(names) > 1
    is_plain = is_plain and names == _fields(lines, sign) and all(line.endswith("\n") for line in lines[:1])
    return TextFile(path, encoding, sign, at + 1, names, reading.skip_blank, is_plain)


def encoding_of(path: Path, given: str | None) -> str:
    """The encoding of a text file: as given, as its byte order mark says, or UTF-8; raises if it cannot be UTF-8."""
    with _opened(path) as file:
        head = file.read(HEAD_BYTES)
    mark = next((mark for mark in MARKED_ENCODINGS if head.startswith(mark)), None)
    found = MARKED_ENCODINGS[mark] if mark else None
    if given is not None:
        name = codecs.lookup(given).name
        if found and not name.startswith(found.removesuffix("-sig")):
            shown = found.removesuffix("-sig").upper()
            raise FormatError(f"{path} begins with the byte order mark of {shown}, not {given}. Leave out encoding.")
        return found or ("utf-8-sig" if name == "utf-8" else given)
    if found is None and (other := foreign_kind(head)):
        raise FormatError(f"{path} is not a text file: it is {other}")
    if found is None and b"\0" in head[:1000]:
        guess = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
        raise FormatError(f'{path} is not UTF-8 text: it has NUL bytes. If it is UTF-16, add encoding = "{guess}".')
    return found or "utf-8-sig"


def undecodable(path: Path, encoding: str) -> str:
    """A message about the lines that are not text in an encoding."""
    lines = _LineNumbers()
    if encoding == "utf-8-sig":
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError:
                    lines.add(number)
        return (
            f"{path}, {lines}: not in UTF-8, and other bytes mean other letters in each encoding. Add the encoding that "
            'the program used, e.g. encoding = "windows-1252" for Windows in Western Europe and America (byte E9 is é), '
            '"windows-1250" in Central Europe, "windows-1251" for Cyrillic (byte E9 is й), or save the file in UTF-8.'
        )
    return f"{path} cannot be read as {encoding}: some of its bytes are no letters there. Is this its encoding?"


def opened_text(path: Path, encoding: str) -> IO[str]:
    """A text file, also compressed, with its line ends as they are; LF, CR LF and CR all end lines."""
    return io.TextIOWrapper(_opened(path), encoding=encoding, newline="")


def _opened(path: Path) -> Any:
    if not path.name.lower().endswith(".gz"):
        return path.open("rb")
    for _ in gunzipped(path):  # raises an error if there is too much
        pass
    return gzip.open(path, "rb")


def _first_lines(path: Path, encoding: str) -> list[str]:
    """The first lines of a file, complete ones if there are several."""
    with _opened(path) as file:
        head = file.read(MAX_LINE_BYTES)
    try:
        # An incremental decoder accepts an end in the middle of a character.
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except UnicodeError:
        raise FormatError(undecodable(path, encoding)) from None
    lines = list(islice(io.StringIO(text, newline=""), 1000))
    return lines[:-1] if len(head) == MAX_LINE_BYTES and 1 < len(lines) < 1000 else lines


def _first_with_text(lines: Sequence[str]) -> int:
    return next((i for i, line in enumerate(lines) if line.strip(" \t\r\n,;|")), 0)


def _fields(lines: Sequence[str], sign: str) -> list[str] | None:
    """The fields of the first record; None if quotes are not closed."""
    with suppress(csv.Error, StopIteration):  # a quote ends within a name if this sign is not the delimiter
        return next(csv.reader(iter(lines), delimiter=sign, strict=True))
    return None


def _delimiter(path: Path, lines: Sequence[str], used: Sequence[str]) -> str:
    """The sign that splits the header into the columns needed, or into several fields; raises if several signs do."""
    found = {sign: fields for sign in DELIMITERS if (fields := _fields(lines, sign)) and len(fields) > 1}
    suiting = {sign: fields for sign, fields in found.items() if has_columns(fields, used)} or found
    even = {sign: fields for sign, fields in suiting.items() if _is_even(lines, sign, len(fields))} or suiting
    if len(even) > 1:
        signs = " and at every ".join(NAMES[sign] for sign in even)
        raise FormatError(
            f"{path}: the header can be split at every {signs}. Add the delimiter that is meant, e.g. delimiter = "
            f"{json.dumps(next(iter(even)))}."
        )
    return next(iter(even), ",")


def _is_even(lines: Sequence[str], sign: str, n: int) -> bool:
    """Whether the first lines all have as many fields as the header, if blank ones are left out."""
    try:
        rows = [row for row in csv.reader(iter(lines[:50]), delimiter=sign, strict=True) if row]
    except csv.Error:
        return False
    return all(len(row) == n for row in rows)


def _refuse_title(path: Path, lines: Sequence[str], at: int, given: str | None) -> None:
    """Raise if the first line is a title: it has one entry at most, and the lines below have many.

    This is for files of which no names of columns are known; titles with several entries are then taken for the header.
    """
    head = lines[at : at + MAX_HEADER_LINE]
    by_sign = [[_fields([line], sign) or [] for line in head] for sign in ([given] if given else DELIMITERS)]
    n, rows = max(((_usual_width(rows), rows) for rows in by_sign), key=lambda found: found[0])
    entries = [sum(bool(field.strip()) for field in row) for row in rows]
    if n < 2 or entries[0] > 1 or (n == 2 and len(rows[0]) == n):
        return
    # A column of row numbers has no name.
    header = next((i for i in range(1, len(rows)) if len(rows[i]) == n and entries[i] >= n - 1), None)
    if header is not None:
        number = at + 1 + header
        raise FormatError(
            f"{path}: line {at + 1} is a title, and line {number} seems to be the header. "
            f"Add header_row = {number}. {OR_FINISHED}"
        )


def _usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The number of fields that most lines have; 0 if no number is that of most."""
    width, count = Counter(map(len, rows[1:])).most_common(1)[0] if len(rows) > 1 else (0, 0)
    return width if 2 * count > len(rows) - 1 else 0


def _ask_for_header(path: Path, lines: Sequence[str], at: int, sign: str, used: Sequence[str]) -> None:
    """Raise if a later line has the names of all columns."""
    for i, line in enumerate(lines[at + 1 : MAX_HEADER_LINE], start=at + 2):
        if any(has_columns(_fields([line], other) or [], used) for other in DELIMITERS):
            raise FormatError(f"{path}: line {at + 1} is not the header, but line {i} is. Add header_row = {i}.")
