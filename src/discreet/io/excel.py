"""Excel workbooks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from openpyxl import Workbook
from openpyxl.cell import Cell
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.properties import PageSetupProperties

from discreet.data.table import digits_of
from discreet.errors import FormatError
from discreet.io.csv import FORMULA_STARTS
from discreet.release import Release

MAX_MEASURED_ROWS = (
    10_000  # of which the widths of columns follow: measuring longer lists would take longer than writing them
)
MIN_WIDTH, MAX_WIDTH = 8, 40  # of columns, in letters
RIGHT = Alignment(horizontal="right")
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
    shown_as = _number_format(release)
    for row in frame.itertuples(index=False):
        _show(_append(cells, row)[len(release.codes) :], shown_as)
    _lay_out(cells, len(release.codes))
    cells.freeze_panes = "A2"
    if len(release.codes) == 2:
        _cross_table(book, release)
    if legend:
        sheet = book.create_sheet(say("legend"))
        for row in legend:
            _append(sheet, row)[1].alignment = Alignment(wrap_text=True)
        sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 30, 90
        _fit_to_page(sheet)
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
    grey, shown_as = PatternFill("solid", fgColor="DDDDDD"), _number_format(release)
    for code in row_codes:
        values = [at.get((code, column), missing) for column in column_codes]
        row = _append(sheet, [code, *(release.symbol if value != value else value for value in values)])[1:]
        _show(row, shown_as)
        for cell in row:
            if cell.value == release.symbol:
                cell.fill = grey
    _lay_out(sheet, 1)
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


def _number_format(release: Release) -> str:
    """A format with as many decimals as the published values have, and a sign between thousands; readers see their own signs."""
    published = np.concatenate([release.value, *release.ends.values()])
    digits = digits_of(published[np.isfinite(published)])
    return "General" if digits is None else f"#,##0.{'0' * digits}".rstrip(".")


def _show(cells: Iterable[Cell], number_format: str) -> None:
    """Format values and symbols."""
    for cell in cells:
        if isinstance(cell.value, str):
            cell.alignment = RIGHT
        else:
            cell.number_format = number_format


def _lay_out(sheet: Any, n_codes: int) -> None:
    """Columns as wide as their entries, a bold header that is repeated on each page, and pages as wide as the sheet."""
    for at, column in enumerate(sheet.iter_cols(max_row=min(sheet.max_row, MAX_MEASURED_ROWS)), start=1):
        width = max(len(_as_shown(cell)) for cell in column) + 2
        sheet.column_dimensions[get_column_letter(at)].width = min(max(width, MIN_WIDTH), MAX_WIDTH)
        column[0].font = Font(bold=True)
        column[0].alignment = Alignment(
            horizontal="left" if at <= n_codes else "right", vertical="bottom", wrap_text=width > MAX_WIDTH
        )
    sheet.print_title_rows = "1:1"
    _fit_to_page(sheet)


def _as_shown(cell: Cell) -> str:
    """About what a cell shows."""
    if isinstance(cell.value, str) or cell.value is None:
        return cell.value or ""
    digits = len(cell.number_format.partition(".")[2])
    return f"{cell.value:,}" if cell.number_format == "General" else f"{cell.value:,.{digits}f}"


def _fit_to_page(sheet: Any) -> None:
    sheet.page_setup.orientation = "landscape"
    sheet.page_setup.paperSize = sheet.PAPERSIZE_A4
    sheet.page_setup.fitToHeight = 0  # as many pages as needed
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
