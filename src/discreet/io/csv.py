"""Comma-separated values.

Spreadsheets take text that begins like a formula for one. Such text gets an apostrophe before it, and so does text that begins
with an apostrophe: whoever takes away one apostrophe at the beginning has the text as it was. Numbers stay as they are.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from discreet.errors import FormatError
from discreet.release import Release

FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # how text begins that a spreadsheet may take for a formula
OTHER_DELIMITERS = ";\t|"  # of spreadsheets in other countries: where text holds one, all text is quoted


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith((*FORMULA, "'")) else text


def unguarded(text: str) -> str:
    """What :func:`guarded` was given."""
    return text.removeprefix("'")


def release_text(release: Release) -> str:
    """The release as CSV: one row a cell; suppressed values are written as the suppression symbol."""
    frame = release.frame(symbols=True)
    codes = {name: [guarded(code) for code in column] for name, column in release.codes.items()}
    symbol = release.symbol if release.symbol in FORMULA else guarded(release.symbol)  # a sign alone is no formula
    frame = frame.assign(**codes, **{release.response: frame[release.response].where(~release.suppressed, symbol)})
    frame.columns = frame.columns.map(guarded)
    texts = [symbol, *frame.columns, *(code for column in codes.values() for code in column)]
    is_quoted = any(sign in text for text in texts for sign in OTHER_DELIMITERS)
    quoting = csv.QUOTE_NONNUMERIC if is_quoted else csv.QUOTE_MINIMAL
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=quoting))


def write_release(release: Release, path: str | Path) -> None:
    Path(path).write_bytes(release_text(release).encode("utf-8"))


def read_release(path: str | Path) -> pd.DataFrame:
    """A release in the words it was written from: all columns as text, without apostrophes that were added."""
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, compression=None)
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (ValueError, OSError):  # without their words, which may quote what is in the file
        raise FormatError(f"{path} cannot be read: it is no CSV file in UTF-8, or damaged.") from None
    frame.columns = frame.columns.map(unguarded)
    return frame.map(unguarded)
