"""Excel workbooks to publish: tables in rows and columns, the cells for programs, and a legend."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.hyperlink import Hyperlink
from openpyxl.xml.functions import tostring

from discreet.errors import FormatError
from discreet.io.cube import number_format, table_title
from discreet.io.table_layout import TableSheet, table_sheets
from discreet.io.table_sheet import write_table_sheet
from discreet.io.workbook_cells import put
from discreet.io.workbook_styles import read_styles, set_page
from discreet.printable import FORBIDDEN
from discreet.release import Release

RIGHT = Alignment(horizontal="right")
MAX_COLUMN_WIDTH = 60  # of the plain sheet, in letters
MAX_SHEET_ROWS = 1_048_576  # a limit of the format
PROPERTIES = "docProps/core.xml"


def write_release(release: Release, path: str | Path) -> None:
    """Sheets with the tables in rows and columns, ``cells`` with one row per cell, and a ``legend`` if it is needed.

    All names that the program chose are in the language of the release. The properties of the document name no person, and the
    file depends on nothing but the release and its presentation.
    """
    if len(release) + 1 > MAX_SHEET_ROWS:
        raise FormatError(
            f"A sheet holds {MAX_SHEET_ROWS:,} rows, the release has {len(release):,} cells: write CSV or Parquet instead."
        )
    book, about, say = Workbook(), release.presentation.metadata, release.language.say
    book.remove(book.active)
    legend, names = workbook_legend(release), plain_names(release)
    styles = read_styles(release.presentation.layout.template)
    sheets = table_sheets(release, names) or []
    if len(sheets) > 1:
        _write_contents(book.create_sheet(say("contents")), release, sheets)
    for one in sheets:
        write_table_sheet(book.create_sheet(one.name), one, styles)
    _write_cells(book.create_sheet(say("cells")), release)
    if legend:
        sheet = book.create_sheet(say("legend"))
        for row, entries in enumerate(legend, start=1):
            _append(sheet, row, entries)[1].alignment = Alignment(wrap_text=True)
        sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 30, 90
    properties = book.properties
    properties.creator, properties.lastModifiedBy = None, None
    properties.title, properties.language = FORBIDDEN.sub("", table_title(release)), release.lang
    properties.created = properties.modified = datetime.fromisoformat(about.date)
    _save(book, path)


def plain_names(release: Release) -> list[str]:
    """The names of the sheets besides those of tables."""
    return [release.language.say(name) for name in ("cells", "legend", "contents")]


def workbook_legend(release: Release) -> list[tuple[str, str]]:
    """The legend of the release; it also says if tables are not shown in rows and columns."""
    found, say = release.legend(), release.language.say
    if table_sheets(release, plain_names(release)) is None:
        found = [*found, (say("table"), say("The tables are too large to be shown in rows and columns."))]
    return found


def contents(release: Release, sheets: Iterable[TableSheet]) -> list[tuple[str, str]]:
    """The name of each sheet with a table, and what it shows."""
    found = []
    for sheet in sheets:
        words = sheet.words(sheet.blocks[0]) if len(sheet.blocks) == 1 else ""
        found.append((sheet.name, f"{sheet.title}, {words}" if words else sheet.title))
    return found


def _write_contents(sheet: Any, release: Release, sheets: Iterable[TableSheet]) -> None:
    put(sheet, 1, 1, table_title(release)).font = Font(bold=True, size=14)
    for row, (name, words) in enumerate(contents(release, sheets), start=3):
        cell = put(sheet, row, 1, name)
        quoted = name.replace("'", "''")
        cell.hyperlink = Hyperlink(ref=cell.coordinate, location=f"'{quoted}'!A1")
        cell.font = Font(color="0563C1", underline="single")
        put(sheet, row, 2, words)
    sheet.column_dimensions["A"].width, sheet.column_dimensions["B"].width = 34, 100
    sheet.sheet_view.showGridLines = False
    set_page(sheet, read_styles(None), 2)


def _write_cells(sheet: Any, release: Release) -> None:
    """The plain sheet that programs read: the names of columns, then one row per cell."""
    frame = release.in_words().frame(symbols=True)
    for cell in _append(sheet, 1, frame.columns):
        cell.font = Font(bold=True)
    shown_as = number_format(release)
    for number, row in enumerate(frame.itertuples(index=False), start=2):
        for cell in _append(sheet, number, row)[len(release.codes) :]:
            if isinstance(cell.value, str):
                cell.alignment = RIGHT
            else:
                cell.number_format = shown_as
    for column, name in enumerate(frame.columns, start=1):
        longest = max((len(str(entry)) for entry in frame[name]), default=0)
        width = min(max(longest, len(str(name))) + 3, MAX_COLUMN_WIDTH)
        sheet.column_dimensions[get_column_letter(column)].width = width
    set_page(sheet, read_styles(None), len(frame.columns))
    sheet.print_title_rows = "1:1"
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{get_column_letter(len(frame.columns))}{len(frame) + 1}"


def _append(sheet: Any, row: int, entries: Iterable[Any]) -> list[Any]:
    return [put(sheet, row, column, entry) for column, entry in enumerate(entries, start=1)]


def _save(book: Workbook, path: str | Path) -> None:
    """Save without the time, which is in every part of a zip file and in the properties."""
    buffer = io.BytesIO()
    book.save(buffer)
    book.properties.modified = book.properties.created
    properties = tostring(book.properties.to_tree())
    with zipfile.ZipFile(buffer) as made, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in made.infolist():
            content = properties if part.filename == PROPERTIES else made.read(part)
            archive.writestr(zipfile.ZipInfo(part.filename), content, zipfile.ZIP_DEFLATED)
