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
from discreet.io.csv import FORMULA_STARTS
from discreet.release import Release

MAX_SHEET_ROWS, MAX_SHEET_COLUMNS = 1_048_576, 16_384  # limits of the format


def write_release(release: Release, path: str | Path) -> None:
    """A sheet ``cells`` with one row per cell, for two dimensions a sheet ``table``, and a ``legend`` if it is needed.

    All names that the program chose are in the language of the release.
    """
    if len(release) + 1 > MAX_SHEET_ROWS:
        raise FormatError(
            f"A sheet holds {MAX_SHEET_ROWS:,} rows, the release has {len(release):,} cells: write CSV or Parquet instead."
        )
    book = Workbook()
    cells = book.active
    say, legend, release = release.language.say, release.legend(), release.in_words()
    book.properties.language = release.lang
    cells.title = say("cells")
    frame = release.frame(symbols=True)
    _append(cells, frame.columns)
    for row in frame.itertuples(index=False):
        _append(cells, row)
    _embolden_header(cells)
    if len(release.codes) == 2:
        _cross_table(book, release)
    if legend:
        sheet = book.create_sheet(say("legend"))
        for row in legend:
            _append(sheet, row)[1].alignment = Alignment(wrap_text=True)
        sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 30, 90
    book.save(path)


def _cross_table(book: Workbook, release: Release) -> None:
    (row_name, rows), (_, columns) = release.codes.items()
    row_codes, column_codes = list(dict.fromkeys(rows)), list(dict.fromkeys(columns))
    if len(column_codes) + 1 > MAX_SHEET_COLUMNS:
        return
    sheet = book.create_sheet(release.language.say("table"), 0)
    _append(sheet, [row_name, *column_codes])
    at = dict(zip(zip(rows, columns, strict=True), release.value, strict=True))
    missing = 0.0 if release.complete else None  # cells that linked tables do not have are not zero
    grey = PatternFill("solid", fgColor="DDDDDD")
    for code in row_codes:
        values = [at.get((code, column), missing) for column in column_codes]
        for cell in _append(sheet, [code, *(release.symbol if value != value else value for value in values)])[1:]:
            if cell.value == release.symbol:
                cell.fill, cell.alignment = grey, Alignment(horizontal="right")
    _embolden_header(sheet)
    sheet.freeze_panes = "B2"


def _append(sheet: Any, row: Iterable[Any]) -> list[Cell]:
    entries = [None if entry is pd.NA else entry for entry in row]  # suppressed cells may have no interval
    cells = [Cell(sheet, value=ILLEGAL_CHARACTERS_RE.sub("", v) if isinstance(v, str) else v) for v in entries]
    for cell in cells:
        if cell.data_type in "fe":  # codes such as "=1+1" or "#N/A" are text, not formulas or errors
            cell.data_type = "s"
        if isinstance(cell.value, str) and cell.value.startswith(FORMULA_STARTS):
            cell.quotePrefix = True  # it remains text if the cell is edited
    sheet.append(cells)
    return cells


def _embolden_header(sheet: Any) -> None:
    for cell in sheet[1]:
        cell.font = Font(bold=True)
