"""Sheets of Excel workbooks, as rows of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from discreet.compressed_files import check_zip
from discreet.data.foreign_files import foreign_kind
from discreet.data.numerals import written_one_way
from discreet.data.reading import OR_FINISHED, Reading, has_columns
from discreet.errors import DiscreetError, FormatError, numbers_of_lines, plural, some

DAMAGED = "it is damaged or not what its name says. Open it in a spreadsheet and save it again, or ask for it again."
MAX_HEADER_ROW = 50  # looked at for the names of columns
Cells = tuple[Any, ...]
Row = tuple[int, Cells]  # with its number


@dataclass(frozen=True)
class Sheet:
    """The rows below the header of a sheet, with their numbers; rows without any content are left out."""

    path: Path
    title: str
    names: list[str]
    rows: list[Row]

    @property
    def place(self) -> str:
        return f"{self.path}, sheet {self.title!r}"

    def places(self, used: Sequence[str]) -> list[tuple[int, str]]:
        """The columns used, by number and name."""
        return [(at, name) for at, name in enumerate(self.names) if name in used]

    def column(self, name: str, is_number: bool) -> list[str | None]:
        """The cells of a column as texts. Numbers among numbers are written so that they have one reading."""
        at = self.names.index(name)
        return [cell_text(cells[at], is_number) for _, cells in self.rows]


def read_sheet(path: Path, reading: Reading, used: Sequence[str] = ()) -> Sheet:
    """The sheet of a workbook that has the columns needed; an error asks if several sheets have them, or another row does."""
    from openpyxl import load_workbook

    try:
        with ZipFile(path) as archive:
            check_zip(path, archive)
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            sheets = {name: _rows(book[name]) for name in _sheets(path, book, reading)}
        finally:
            book.close()
        sheet = _chosen(path, sheets, reading, used)
        _refuse_formulas(path, sheet, used)
    except DiscreetError:
        raise
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except Exception as error:  # errors of the reader of any kind; their messages may quote the contents
        failure = getattr(error, "strerror", None)
        raise FormatError(f"{path} cannot be read: {f'{failure}.' if failure else _what_it_is(path)}") from None
    _refuse_dates(sheet, used)
    return sheet


def _what_it_is(path: Path) -> str:
    """What a file is that is not a workbook, and what to do."""
    with path.open("rb") as file:
        head = file.read(1000)
    if head.startswith(b"PK"):
        is_other = b"application/vnd.oasis.opendocument" in head
        return "it is an OpenDocument file. Open it in a spreadsheet and save it as .xlsx." if is_other else DAMAGED
    return f"it is {kind}" if (kind := foreign_kind(head)) else DAMAGED


def _sheets(path: Path, book: Any, reading: Reading) -> list[str]:
    names = [sheet.title for sheet in book.worksheets]
    if reading.sheet is None:
        return names
    if reading.sheet not in names:
        raise FormatError(f"{path} has no sheet {reading.sheet!r}. It has {some(names, 12)}.")
    return [reading.sheet]


def _rows(sheet: Any) -> list[Row]:
    sheet.reset_dimensions()  # other programs may state a wrong size
    return list(enumerate(sheet.iter_rows(values_only=True), start=1))


def _chosen(path: Path, sheets: dict[str, list[Row]], reading: Reading, used: Sequence[str]) -> Sheet:
    """The only sheet that has the columns; the first one with any content if none has."""
    headers = {name: _header(rows, reading) for name, rows in sheets.items()}
    filled = [name for name, (_number, names) in headers.items() if names]
    if not filled:
        raise FormatError(f"{path} is empty: its first row must name the columns.")
    if not used and reading.header_row is None:
        _refuse_title(path, filled[0], sheets[filled[0]])
    suiting = [name for name in filled if has_columns(headers[name][1], used)]
    if len(suiting) > 1:
        raise FormatError(
            f"{path}: several sheets have these columns: {some(suiting, 12)}. Add the one that is meant, e.g. "
            f'sheet = "{suiting[0]}".'
        )
    if not suiting and reading.header_row is None:
        for name, rows in sheets.items():
            for number, cells in rows[:MAX_HEADER_ROW]:
                if has_columns(_names(cells), used):
                    raise FormatError(
                        f"{path}: row {number} of sheet {name!r} is the header. Add header_row = {number}."
                    )
    title = suiting[0] if suiting else filled[0]
    number, names = headers[title]
    return _below_header(Sheet(path, title, names, sheets[title][number:]), reading.skip_blank)


def _refuse_title(path: Path, title: str, rows: list[Row]) -> None:
    """Raise if the first row with any content is a title: it has one entry, and the rows below have several."""
    filled = [(number, sum(_is_filled((cell,)) for cell in cells)) for number, cells in rows if _is_filled(cells)]
    most = max(entries for _number, entries in filled[:MAX_HEADER_ROW])
    if filled[0][1] == 1 < most:
        number = next(number for number, entries in filled if entries == most)
        raise FormatError(
            f"{path}: row {filled[0][0]} of sheet {title!r} is a title, and row {number} seems to be the header. Add "
            f"header_row = {number}. {OR_FINISHED}"
        )


def _header(rows: list[Row], reading: Reading) -> tuple[int, list[str]]:
    """The number of the header, by default the first row with any content, and the names in it."""
    first = next((number for number, cells in rows if _is_filled(cells)), 1)
    number = reading.header_row or first
    return number, _names(rows[number - 1][1]) if number <= len(rows) else []


def _below_header(sheet: Sheet, skip_blank: bool) -> Sheet:
    """The sheet without blank rows, and with as many cells in each row as there are columns."""
    n, kept, blank, beyond = len(sheet.names), list[Row](), list[int](), list[int]()
    for number, cells in sheet.rows:
        if not _is_filled(cells):
            blank.append(number)
        elif _is_filled(cells[n:]):
            beyond.append(number)
        else:
            kept.append((number, (*cells[:n], *[None] * (n - len(cells)))))
    faults = []
    if beyond:
        lines = numbers_of_lines("row", beyond, len(beyond))
        faults.append(f"{sheet.place}, {lines}: content to the right of the columns. Name all columns, or delete it.")
    if blank and not skip_blank:
        lines = numbers_of_lines("row", blank, len(blank))
        faults.append(f"{sheet.place}, {lines}: blank. Delete blank rows, or leave out skip_blank = false.")
    if faults:
        raise FormatError("\n".join(faults))
    return replace(sheet, rows=kept)


def _is_filled(cells: Cells) -> bool:
    return any(cell is not None and str(cell).strip() for cell in cells)


def _names(cells: Cells) -> list[str]:
    """The names of columns; spreadsheets add empty columns at the end."""
    names = ["" if cell is None else str(cell) for cell in cells]
    while names and not names[-1].strip():
        names.pop()
    return names


def cell_text(cell: Any, is_number: bool) -> str | None:
    """A cell as text; in columns of numbers, a number as text that has one reading."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool) or not hasattr(cell, "__float__"):
        return str(cell)
    if is_number:
        return written_one_way(float(cell))
    return str(int(cell)) if float(cell).is_integer() else str(cell)


def _refuse_dates(sheet: Sheet, used: Sequence[str]) -> None:
    """Raise for dates: a code such as 02-03 that a spreadsheet took for one cannot be restored."""
    for at, name in sheet.places(used):
        numbers = [number for number, cells in sheet.rows if isinstance(cells[at], date | time | timedelta)]
        if numbers:
            raise FormatError(
                f"{sheet.place}: column {name!r} has {plural(len(numbers), 'date')} "
                f"({numbers_of_lines('row', numbers, len(numbers))}). If they were codes or numbers, format the column as text "
                "and type them again; if they are dates, write them as text."
            )


def _refuse_formulas(path: Path, sheet: Sheet, used: Sequence[str]) -> None:
    """Raise for formulas without results, which look like empty cells."""
    from openpyxl import load_workbook

    empty = {(number, at) for number, cells in sheet.rows for at, _ in sheet.places(used) if cells[at] is None}
    if not empty:
        return
    book = load_workbook(path, read_only=True)
    try:
        found = sorted({number for number, at in _formulas(book[sheet.title]) if (number, at) in empty})
    finally:
        book.close()
    if found:
        raise FormatError(
            f"{sheet.place}: {plural(len(found), 'row')} ({numbers_of_lines('row', found, len(found))}) with formulas without "
            "results. Open the workbook in a spreadsheet and save it again."
        )


def _formulas(sheet: Any) -> Iterator[tuple[int, int]]:
    sheet.reset_dimensions()
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        for at, cell in enumerate(cells):
            if cell.data_type == "f":
                yield number, at
