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
OTHER_DELIMITERS = ";\t|"  # of spreadsheets in other countries: text that holds one is quoted


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula. A single sign is none."""
    begins = text.startswith(FORMULA) and len(text) > 1
    return f"'{text}" if begins or text.startswith("'") else text


def unguarded(text: str) -> str:
    """What :func:`guarded` was given."""
    return text.removeprefix("'")


def release_text(release: Release) -> str:
    """The release as CSV: one row a cell; hidden values are written as the suppression symbol."""
    frame = release.frame(symbols=True)
    frame.columns = frame.columns.map(guarded)
    text = frame.select_dtypes(exclude="number").columns
    frame[text] = frame[text].map(lambda entry: guarded(entry) if isinstance(entry, str) else entry)
    entries = [*frame.columns, *(entry for name in text for entry in frame[name] if isinstance(entry, str))]
    is_quoted = any(sign in entry for entry in entries for sign in OTHER_DELIMITERS)
    return str(
        frame.to_csv(index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC if is_quoted else csv.QUOTE_MINIMAL)
    )


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
