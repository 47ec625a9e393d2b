"""Fixed-width microdata with a τ-ARGUS ``.rda`` layout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from discreet.data.numerals import number_format
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.errors import FormatError


@dataclass
class _Variable:
    name: str
    start: int
    width: int
    missing: tuple[str, ...]
    numeric: bool = False


def read_microdata(path: str | Path, layout: str | Path, reading: Reading = DEFAULT_READING) -> pd.DataFrame:
    """The records of a fixed-width file, as text and numbers according to its ``.rda`` layout.

    Codes are stripped of blanks; numbers have their decimal separator in the file. Codes that the layout lists as missing are
    kept, as they may be a category of their own; numbers that it lists as missing are missing.
    """
    variables = _layout(Path(layout))
    numbered = [
        (number, line) for number, line in enumerate(_lines(Path(path), reading.encoding), start=1) if line.strip()
    ]
    if not numbered:
        raise FormatError(f"{path} is empty.")
    lines = [line for _, line in numbered]
    columns = {}
    for v in variables:
        column = pd.Series([line[v.start : v.start + v.width].strip() for line in lines], dtype=str)
        if v.numeric:
            missing = column.isin(["", *v.missing])
            written = number_format(column[~missing], reading)
            if written is None:
                raise FormatError(
                    f"{path}: variable {v.name!r} can be read in two ways, or has numbers of two kinds. Add "
                    'decimal = "," if a number like 1.234 means 1234, and decimal = "." if it means a number between 1 and 2.'
                )
            numbers = pd.to_numeric(column.mask(missing).map(written.number_of, na_action="ignore"))
            bad = numbers.isna() & ~missing
            if bad.any():
                number, _ = numbered[int(bad.argmax())]
                raise FormatError(f"{path}, line {number}: variable {v.name!r} is not a number. Is the layout right?")
            columns[v.name] = numbers
        else:
            columns[v.name] = column
    return pd.DataFrame(columns)


def _lines(path: Path, encoding: str | None = None) -> list[str]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} cannot be read: {getattr(error, 'strerror', error)}.") from None
    try:
        text = raw.decode(encoding or "utf-8-sig")
    except UnicodeDecodeError:
        if encoding is not None:
            raise FormatError(f"{path} cannot be read as {encoding}. Is this its encoding?") from None
        text = raw.decode("latin-1")
    # Not splitlines(), which ends lines at some letters of Windows code pages.
    return [line.rstrip("\r") for line in text.split("\n")]


def _layout(path: Path) -> list[_Variable]:
    variables: list[_Variable] = []
    for number, line in enumerate(_lines(path), start=1):
        words = line.split()
        if not words:
            continue
        if words[0].upper() == "<SEPARATOR>":
            raise FormatError(
                f"{path}, line {number}: the layout is for a file with separators. Read that as CSV, with names in line 1."
            )
        if words[0].startswith("<"):
            if not variables:
                raise FormatError(f"{path}, line {number}: an option before the first variable.")
            variables[-1].numeric |= words[0].upper() in ("<NUMERIC>", "<WEIGHT>")
            continue
        if len(words) < 3 or not all(word.isdecimal() and int(word) for word in words[1:3]):
            raise FormatError(f"{path}, line {number}: a variable reads 'name start width [missing codes]'.")
        if words[0] in {v.name for v in variables}:
            raise FormatError(f"{path}, line {number}: variable {words[0]!r} occurs a second time.", [words[0]])
        variables.append(_Variable(words[0], int(words[1]) - 1, int(words[2]), tuple(words[3:])))
    if not variables:
        raise FormatError(f"{path} lists no variables.")
    return variables
