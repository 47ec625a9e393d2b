"""Comma-separated values.

Spreadsheets evaluate text that begins like a formula. An apostrophe is written before such text, and before text that begins
with an apostrophe: without one leading apostrophe, the text is the original. Numbers are not changed.
"""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd

from discreet.errors import reading
from discreet.release import Release

FORMULA_STARTS = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets may evaluate text that begins with one of these
OTHER_DELIMITERS = ";\t|"  # of spreadsheets with other settings: all text is quoted if it contains one


def guarded(text: str) -> str:
    """Text that no spreadsheet evaluates as a formula."""
    return f"'{text}" if text.startswith((*FORMULA_STARTS, "'")) else text


def unguarded(text: str) -> str:
    """The text before :func:`guarded`."""
    return text.removeprefix("'")


def release_text(release: Release) -> str:
    """The release as CSV: one row per cell; suppressed values are written as the suppression symbol."""
    frame = release.frame(symbols=True)
    codes = {name: [guarded(code) for code in column] for name, column in release.codes.items()}
    # A single sign is not a formula.
    symbol = release.symbol if release.symbol in FORMULA_STARTS else guarded(release.symbol)
    frame = frame.assign(**codes, **{release.response: frame[release.response].where(~release.suppressed, symbol)})
    frame.columns = frame.columns.map(guarded)
    texts = [symbol, *frame.columns, *(code for column in codes.values() for code in column)]
    is_quoted = any(sign in text for text in texts for sign in OTHER_DELIMITERS)
    quoting = csv.QUOTE_NONNUMERIC if is_quoted else csv.QUOTE_MINIMAL
    return str(frame.to_csv(index=False, lineterminator="\n", quoting=quoting))


def write_release(release: Release, path: str | Path) -> None:
    Path(path).write_bytes(release_text(release).encode("utf-8"))


def read_release(path: str | Path) -> pd.DataFrame:
    """The columns of a release as text, without the apostrophes that were added."""
    fault = f"{path} cannot be read: it is not a CSV file in UTF-8, or it is damaged."
    with reading(path, fault, ValueError, OSError):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, compression=None)
    frame.columns = frame.columns.map(unguarded)
    return frame.map(unguarded)
