"""Excel workbooks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Alignment, Font, PatternFill

from discreet.errors import FormatError
from discreet.io.csv import FORMULA
from discreet.release import Release

ROWS = 1_048_576  # what a sheet can hold
COLUMNS = 16_384


def write_release(release: Release, path: str | Path) -> None:
    """A sheet ``cells`` with one row a cell and, for two dimensions, a sheet ``table`` laid out as readers expect it."""
    if len(release) + 1 > ROWS:
        raise FormatError(
            f"A sheet holds {ROWS:,} rows, the release has {len(release):,} cells: write CSV or Parquet instead."
        )
    book = Workbook()
    cells = book.active
    cells.title = "cells"
    frame = release.frame(symbols=True)
    _append(cells, frame.columns)
    for row in frame.itertuples(index=False):
        _append(cells, row)
    _head(cells)
    if len(release.codes) == 2:
        _cross_table(book, release)
    book.save(path)


def _cross_table(book: Workbook, release: Release) -> None:
    (row_name, rows), (_, columns) = release.codes.items()
    row_codes, column_codes = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
    if len(column_codes) + 1 > COLUMNS:
        return
    sheet = book.create_sheet("table", 0)
    _append(sheet, [row_name, *column_codes])
    at = dict(zip(zip(rows, columns, strict=True), release.value, strict=True))
    missing = 0.0 if release.complete else None  # what linked tables do not hold is not zero
    grey = PatternFill("solid", fgColor="DDDDDD")
    for code in row_codes:
        shown = [_shown(at.get((code, column), missing), release.symbol) for column in column_codes]
        for cell in _append(sheet, [code, *shown])[1:]:
            if cell.value == release.symbol:
                cell.fill, cell.alignment = grey, Alignment(horizontal="right")
    _head(sheet)
    sheet.freeze_panes = "B2"


def _shown(value: float | None, symbol: str) -> float | str | None:
    return symbol if value != value else value


def _append(sheet: Any, row: Iterable[Any]) -> list[Cell]:
    shown = [None if v is pd.NA else v for v in row]  # suppressed cells without an interval beside others that have one
    cells = [Cell(sheet, value=ILLEGAL_CHARACTERS_RE.sub("", v) if isinstance(v, str) else v) for v in shown]
    for cell in cells:
        if cell.data_type in "fe":  # a code such as "=1+1" or "#N/A" is text, neither a formula nor an error
            cell.data_type = "s"
        if isinstance(cell.value, str) and cell.value.startswith(FORMULA):
            cell.quotePrefix = True  # it stays text when somebody edits it
    sheet.append(cells)
    return cells


def _head(sheet: Any) -> None:
    for cell in sheet[1]:
        cell.font = Font(bold=True)
