"""The styles of a workbook: of this package, or those of a template.

A template is a workbook whose first sheet has cells with the names of styles, each formatted as such text is to look. Its page
settings, headers and footers are used as well.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from openpyxl import load_workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.worksheet.properties import PageSetupProperties

from discreet.errors import FormatError, reading

StyleName = Literal["title", "subtitle", "heading", "label", "total", "number", "symbol", "note"]
STYLE_NAMES: tuple[StyleName, ...] = get_args(StyleName)

FONT = "Arial"
THIN = Side(style="thin", color="A6A6A6")
COLUMNS_PER_PAGE = 14  # more could not be read
MAX_TEMPLATE_ROWS, MAX_TEMPLATE_COLUMNS = 200, 20  # in which names of styles are looked for


@dataclass(frozen=True)
class CellStyle:
    """How a cell looks."""

    font: Font = field(default_factory=Font)
    fill: PatternFill = field(default_factory=PatternFill)
    border: Border = field(default_factory=Border)
    alignment: Alignment = field(default_factory=Alignment)


@dataclass(frozen=True)
class Styles:
    """The style of each kind of cell, and the settings of pages, as far as a template has them."""

    cells: dict[StyleName, CellStyle]
    page: Any = None  # the first sheet of the template
    made: dict[tuple[Any, ...], Any] = field(default_factory=dict)  # styles as the workbook stores them

    def apply(self, cell: Any, name: StyleName, number_format: str = "", bold: bool = False, **alignment: Any) -> None:
        """Style a cell. The same style is made once: that takes longer than to write the cell."""
        key = (name, number_format, bold, cell.quotePrefix, *sorted(alignment.items()))
        if key not in self.made:
            style = self.cells[name]
            cell.font = copy(self.cells["total"].font if bold else style.font)
            cell.fill, cell.border = copy(style.fill), copy(style.border)
            chosen = copy(style.alignment)
            for setting, value in alignment.items():
                setattr(chosen, setting, value)
            cell.alignment = chosen
            cell.number_format = number_format or cell.number_format
            self.made[key] = copy(cell._style)
        cell._style = copy(self.made[key])


def _font(**options: Any) -> Font:
    return Font(**{"name": FONT, "size": 10, **options})


DEFAULT_STYLES: dict[StyleName, CellStyle] = {
    "title": CellStyle(_font(bold=True, size=14)),
    "subtitle": CellStyle(_font(color="404040")),
    "heading": CellStyle(
        _font(bold=True),
        PatternFill("solid", fgColor="E7ECF2"),
        Border(top=THIN, bottom=THIN, left=THIN, right=THIN),
        Alignment(horizontal="center", vertical="center", wrap_text=True),
    ),
    "label": CellStyle(_font(), border=Border(right=THIN), alignment=Alignment(vertical="top", wrap_text=True)),
    "total": CellStyle(
        _font(bold=True), border=Border(right=THIN), alignment=Alignment(vertical="top", wrap_text=True)
    ),
    "number": CellStyle(_font(), alignment=Alignment(horizontal="right", vertical="top")),
    "symbol": CellStyle(
        _font(), PatternFill("solid", fgColor="E8E8E8"), alignment=Alignment(horizontal="right", vertical="top")
    ),
    "note": CellStyle(_font(size=9), alignment=Alignment(vertical="top", wrap_text=True)),
}


def read_styles(template: str | Path | None) -> Styles:
    """The styles of a template; those of this package for the kinds of cells that it does not name."""
    if template is None:
        return Styles(DEFAULT_STYLES)
    with reading(template, f"{template} is not a workbook, or it is damaged. Save it as .xlsx.", Exception):
        sheet = load_workbook(template).worksheets[0]
        found: dict[StyleName, CellStyle] = {}
        for row in sheet.iter_rows(max_row=MAX_TEMPLATE_ROWS, max_col=MAX_TEMPLATE_COLUMNS):
            for cell in row:
                text = str(cell.value or "").strip().lower()
                name = next((one for one in STYLE_NAMES if one == text), None)
                if name is not None:
                    parts = (cell.font, cell.fill, cell.border, cell.alignment)
                    found[name] = CellStyle(*(copy(part) for part in parts))
    if not found:
        raise FormatError(
            f"{template}: no cell of the first sheet has the name of a style. Write {', '.join(STYLE_NAMES)} into cells, and "
            "format each as it is to look."
        )
    return Styles({**DEFAULT_STYLES, **found}, sheet)


def set_page(sheet: Any, styles: Styles, columns: int) -> None:
    """The settings for print: those of the template, or as many pages wide as can be read, across if there are many columns."""
    setup, page = sheet.page_setup, styles.page
    sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
    setup.fitToWidth, setup.fitToHeight = -(-columns // COLUMNS_PER_PAGE), 0
    if page is None:
        setup.orientation, setup.paperSize = ("landscape" if columns > 6 else "portrait"), int(sheet.PAPERSIZE_A4)
        sheet.oddFooter.right.text = "&P / &N"
        return
    setup.orientation = page.page_setup.orientation or "portrait"
    setup.paperSize = page.page_setup.paperSize or int(sheet.PAPERSIZE_A4)
    sheet.page_margins = copy(page.page_margins)
    for name in ("oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"):
        for part in ("left", "center", "right"):
            getattr(getattr(sheet, name), part).text = getattr(getattr(page, name), part).text
