"""Cells of workbooks: text stays text, whatever it begins with."""

from __future__ import annotations

from typing import Any

import pandas as pd

from discreet.errors import FormatError, some
from discreet.io.csv import FORMULA_STARTS
from discreet.printable import FORBIDDEN

MAX_TEXT = 32_767  # letters of a cell: a limit of the format


def put(sheet: Any, row: int, column: int, entry: Any) -> Any:
    """Write an entry into a cell, and return the cell."""
    cell = sheet.cell(row, column)
    if isinstance(entry, float) and entry == int(entry) and abs(entry) < 2**53:
        entry = int(entry)
    if isinstance(entry, str) and len(entry) > MAX_TEXT:
        raise FormatError(f"A cell of a workbook holds {MAX_TEXT:,} letters, this text is longer: {some([entry])}.")
    cell.value = FORBIDDEN.sub("", entry) if isinstance(entry, str) else None if entry is pd.NA else entry
    if cell.data_type in "fe":  # codes such as "=1+1" or "#N/A" are text, not formulas or errors
        cell.data_type = "s"
    if isinstance(cell.value, str) and cell.value.startswith(FORMULA_STARTS):
        cell.quotePrefix = True  # it remains text if the cell is edited
    return cell
