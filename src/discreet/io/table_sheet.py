"""A sheet that shows a table to readers: title, headings, labels, numbers, legend and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any

from openpyxl.styles import Alignment, Border
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.pagebreak import Break

from discreet.io.cube import CubeAxis, decimals_of, number_format
from discreet.io.table_layout import TableBlock, TableSheet, merged_runs
from discreet.io.workbook_cells import put
from discreet.io.workbook_styles import StyleName, Styles, set_page
from discreet.release import TOTAL, Release

MAX_LABEL_WIDTH, MIN_NUMBER_WIDTH, MAX_NUMBER_WIDTH = 48, 9, 24  # in letters; longer labels are wrapped
NOTE_WIDTH = 66  # least width of notes, in letters of the table
TEXT_HEIGHT = 13.5  # of a line of text in points
LABEL_LETTERS, NOTE_LETTERS = 1.1, 1.35  # letters of labels, and of notes, in the width of one digit
ROWS_PER_PAGE = 48  # of several blocks; one that does not fit on the rest of a page begins on the next


@dataclass
class SheetWriter:
    """Writes a sheet from the top down; ``row`` is the next free row."""

    sheet: Any
    table: TableSheet
    styles: Styles
    row: int = 1
    page: int = 1  # the first row of the current page
    widths: dict[int, int] = field(default_factory=dict)
    headings: list[tuple[int, int, int, str]] = field(default_factory=list)  # row, first column, columns, text

    @property
    def release(self) -> Release:
        return self.table.release

    def text(self, column: int, text: str, style: StyleName, **alignment: Any) -> Any:
        cell = put(self.sheet, self.row, column, text)
        self.styles.apply(cell, style, **alignment)
        return cell

    def widen(self, column: int, letters: int) -> None:
        self.widths[column] = max(self.widths.get(column, 0), letters)


def write_table_sheet(sheet: Any, table: TableSheet, styles: Styles) -> None:
    """Write a sheet with all its blocks; headings stay in view, and the rows of a single block have filters."""
    writer = SheetWriter(sheet, table, styles)
    sheet.sheet_view.showGridLines = False
    heads = _row_heads(table)
    _write_title(writer)
    for number, block in enumerate(table.blocks):
        _write_block(writer, block, heads, number, len(table.blocks))
    _write_notes(writer, len(heads) + _n_columns(table))
    _set_heading_heights(writer)
    for column, letters in writer.widths.items():
        sheet.column_dimensions[get_column_letter(column)].width = letters + 2
    set_page(sheet, styles, len(heads) + _n_columns(table))
    sheet.print_title_cols = f"A:{get_column_letter(len(heads))}"


def _write_title(writer: SheetWriter) -> None:
    about, say, table = writer.release.presentation.metadata, writer.release.language.say, writer.table
    writer.text(1, table.title, "title", wrap_text=False)
    lines = [about.subtitle, say("Unit: {unit}", unit=about.unit) if about.unit else ""]
    if len(table.blocks) == 1 and table.further:
        lines.insert(0, table.words(table.blocks[0]))
    for line in filter(None, lines):
        writer.row += 1
        writer.text(1, line, "subtitle", wrap_text=False)
    writer.row += 2


@dataclass(frozen=True)
class RowHead:
    """A column with codes or labels of a dimension."""

    axis: CubeAxis
    place: int  # of the dimension among those of the rows
    is_label: bool
    is_beside: bool  # the label stands beside the code

    def text(self, code: str) -> str:
        return shown_text(self.axis, code, self.is_label, self.is_beside)


def _row_heads(table: TableSheet) -> list[RowHead]:
    found = []
    for place, name in enumerate(table.rows):
        axis = table.axes[name]
        kinds = shown_kinds(table.release, axis)
        found += [RowHead(axis, place, is_label, len(kinds) > 1) for is_label in kinds]
    return found


def shown_kinds(release: Release, axis: CubeAxis) -> tuple[bool, ...]:
    """What is shown of codes: themselves (False), their labels (True), or both."""
    style = release.presentation.layout.labels
    if axis.labels == axis.codes or style == "codes":
        return (False,)
    hierarchy = release.hierarchies.get(axis.column)
    if style == "instead" or hierarchy is None or not hierarchy.labels:  # only the total has another name
        return (True,)
    return False, True


def shown_text(axis: CubeAxis, code: str, is_label: bool, is_beside: bool) -> str:
    """The label of a code, or the code; nothing for a code that the program gave to a total whose label stands beside it."""
    label = axis.labels[axis.index[code]]
    return label if is_label else "" if is_beside and code == axis.total and code in (label, TOTAL) else code


def _n_columns(table: TableSheet) -> int:
    return max((len(block.columns) for block in table.blocks), default=0) * (1 + len(table.release.ends))


def _write_block(writer: SheetWriter, block: TableBlock, heads: Sequence[RowHead], number: int, of: int) -> None:
    sheet, first = writer.sheet, len(heads) + 1
    if of > 1:
        if number and writer.row + len(block.rows) + 4 > writer.page + ROWS_PER_PAGE:
            sheet.row_breaks.append(Break(writer.row - 1))
            writer.page = writer.row
        writer.text(1, writer.table.words(block), "subtitle", bold=True, wrap_text=False)
        writer.row += 1
    top = writer.row
    _write_headings(writer, block, heads, first)
    body = writer.row
    for row in block.rows:
        _write_row(writer, block, row, heads, first)
    last_row, last_column = writer.row - 1, first - 1 + len(block.columns) * (1 + len(writer.release.ends))
    for column in range(1, last_column + 1):  # a line below the last row
        cell = sheet.cell(last_row, column)
        cell.border = Border(left=cell.border.left, right=cell.border.right, top=cell.border.top, bottom=_line(writer))
    if number == 0:
        sheet.freeze_panes = sheet.cell(body, first)
        sheet.print_title_rows = f"{top}:{body - 1}"
        if of == 1:
            sheet.auto_filter.ref = f"A{body - 1}:{get_column_letter(last_column)}{last_row}"
    writer.row += 1


def _line(writer: SheetWriter) -> Any:
    return writer.styles.cells["heading"].border.bottom


def _write_headings(writer: SheetWriter, block: TableBlock, heads: Sequence[RowHead], first: int) -> None:
    """Headings of columns: for each dimension labels, codes or both, then what the columns have if there are intervals."""
    table, release, sheet = writer.table, writer.release, writer.sheet
    width = 1 + len(release.ends)
    top = writer.row
    lines: list[tuple[int, CubeAxis, bool]] = []  # depth, dimension, labels
    for depth, name in enumerate(table.columns):
        axis = table.axes[name]
        lines += [(depth, axis, is_label) for is_label in reversed(shown_kinds(release, axis))]
    if table.columns:
        titles = ", ".join(table.axes[name].title for name in table.columns)
        _across(writer, first, len(block.columns) * width, titles, horizontal="left")
        writer.row += 1
    for depth, axis, is_label in lines:
        for start, end in merged_runs(block.columns, depth):
            code = block.columns[start][depth]
            text = shown_text(axis, code, is_label, len(shown_kinds(release, axis)) > 1)
            _across(writer, first + start * width, (end - start + 1) * width, text)
        writer.row += 1
    title, sides = release.title(release.response), release.in_words().sides
    if width > 1 or not table.columns:
        for k in range(len(block.columns)):
            for m, name in enumerate((title, *sides)[:width]):
                _across(writer, first + k * width + m, 1, name)
        writer.row += 1
    bottom = writer.row - 1
    for column, head in enumerate(heads, start=1):
        for row in range(top, bottom + 1):
            cell = sheet.cell(row, column)
            writer.styles.apply(cell, "heading")
            lines_of = cell.border
            cell.border = Border(
                left=lines_of.left,
                right=lines_of.right,
                top=lines_of.top if row == top else None,
                bottom=lines_of.bottom if row == bottom else None,
            )
        writer.row = bottom
        text = release.language.say("Code") if head.is_beside and not head.is_label else head.axis.title
        put(sheet, bottom, column, text).alignment = Alignment(horizontal="left", vertical="bottom", wrap_text=True)
        writer.widen(column, min(len(text) + 3, MAX_LABEL_WIDTH))
    writer.row = bottom + 1


def _across(writer: SheetWriter, column: int, width: int, text: str, **alignment: Any) -> None:
    """A heading across several columns."""
    for k in range(width):
        writer.styles.apply(writer.sheet.cell(writer.row, column + k), "heading")
    writer.text(column, text, "heading", **alignment)
    writer.headings.append((writer.row, column, width, text))
    if width > 1:
        writer.sheet.merge_cells(
            start_row=writer.row, end_row=writer.row, start_column=column, end_column=column + width - 1
        )
    else:
        longest = max(map(len, text.split()), default=0)  # words are not broken
        writer.widen(column, min(max(len(text) // 2, longest, MIN_NUMBER_WIDTH), MAX_NUMBER_WIDTH))


def _set_heading_heights(writer: SheetWriter) -> None:
    """Rows of headings are as high as their texts need: not every program adapts them."""
    lines: dict[int, int] = {}
    for row, column, width, text in writer.headings:
        letters = sum(writer.widths.get(column + k, MIN_NUMBER_WIDTH) + 2 for k in range(width))
        lines[row] = max(lines.get(row, 1), len(wrap(text, letters - 1)))  # bold letters are wider
    for row, n in lines.items():
        if n > 1:
            writer.sheet.row_dimensions[row].height = TEXT_HEIGHT * n


def _write_row(
    writer: SheetWriter, block: TableBlock, row: tuple[str, ...], heads: Sequence[RowHead], first: int
) -> None:
    release, styles = writer.release, writer.styles
    is_total = any(row[head.place] == head.axis.total for head in heads)
    lines = 1
    for column, head in enumerate(heads, start=1):
        code = row[head.place]
        depth = head.axis.depths[head.axis.index[code]] if head.is_label or not head.is_beside else 0
        text = head.text(code)
        style: StyleName = "total" if code == head.axis.total else "label"
        writer.text(column, text, style, horizontal="left", indent=depth)
        writer.widen(column, min(len(text) + 2 * depth, MAX_LABEL_WIDTH))
        lines = max(lines, -(-(len(text) + 2 * depth) // int(MAX_LABEL_WIDTH * LABEL_LETTERS)))
    if lines > 1:
        writer.sheet.row_dimensions[writer.row].height = TEXT_HEIGHT * lines
    columns, decimals, shown_as = [release.value, *release.ends.values()], decimals_of(release), number_format(release)
    for k, where in enumerate(block.columns):
        i = block.at.get((row, where))
        for m, values in enumerate(columns):
            column = first + k * len(columns) + m
            value: Any = float(values[i]) if i is not None else (0.0 if m == 0 and release.complete else None)
            is_symbol = value is not None and value != value
            shown = release.symbol if is_symbol and m == 0 else None if is_symbol else value
            cell = put(writer.sheet, writer.row, column, shown)
            style = "symbol" if is_symbol and m == 0 else "number"
            styles.apply(cell, style, shown_as, bold=is_total and not is_symbol)
            if value is not None and not is_symbol:
                writer.widen(column, min(max(len(f"{value:,.{decimals}f}"), MIN_NUMBER_WIDTH), MAX_NUMBER_WIDTH))
    writer.row += 1


def _write_notes(writer: SheetWriter, columns: int) -> None:
    for line in note_lines(writer.release):
        writer.text(1, line, "note")
        # Merged across the table, so that the text is not wrapped into the first column.
        across = max(columns, 1)
        width = sum(writer.widths.get(column, MIN_NUMBER_WIDTH) + 2 for column in range(1, across + 1))
        while width < NOTE_WIDTH:
            across += 1
            width += MIN_NUMBER_WIDTH + 2
        if across > 1:
            writer.sheet.merge_cells(start_row=writer.row, end_row=writer.row, start_column=1, end_column=across)
        writer.sheet.row_dimensions[writer.row].height = TEXT_HEIGHT * -(-len(line) // int(width * NOTE_LETTERS))
        writer.row += 1


def note_lines(release: Release) -> list[str]:
    """The legend, notes and source below a table."""
    about, say = release.presentation.metadata, release.language.say
    legend = [f"{mark} = {meaning}" for mark, meaning in release.legend(codes=False)]
    source = [say("Source: {source}", source=about.source)] if about.source else []
    contact = [say("Contact: {contact}", contact=about.contact)] if about.contact else []
    return [*legend, *about.notes, *source, *contact]
