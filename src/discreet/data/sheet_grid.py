"""The cells of a sheet with their merged ranges and indents, from a workbook or a text file."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from discreet.compressed_files import check_zip
from discreet.data.reading import DELIMITERS, Reading
from discreet.data.text_file import encoding_of, opened_text, undecodable
from discreet.errors import DiscreetError, FormatError, InputError, some

EXCEL_INDENT = 3  # spaces of text that one step of the indent of a cell looks like
FORMULA = re.compile(rb"<f[ >/]")  # in the XML of a sheet


@dataclass(frozen=True, repr=False)
class SheetGrid:
    """The contents of a sheet by row and column, from 1. Empty cells are left out; superscript text is left out of contents."""

    name: str  # of the file, and of the sheet if there are several
    contents: Mapping[tuple[int, int], Any]
    merged: Mapping[tuple[int, int], tuple[int, int]]  # every cell of a merged range, and the first cell of its range
    indents: Mapping[tuple[int, int], int]  # of cells that have one, in spaces

    def __repr__(self) -> str:
        return f"SheetGrid({self.name}: {len(self.contents):,} cells)"

    def text(self, row: int, column: int) -> str:
        """The text of a cell, also within a merged range; empty if there is none."""
        return as_label(self.contents.get(self.merged.get((row, column), (row, column))))

    @cached_property
    def rows(self) -> dict[int, list[int]]:
        """The columns that are not empty, by row; both in their order."""
        rows: dict[int, list[int]] = {}
        for row, column in sorted(self.contents):
            rows.setdefault(row, []).append(column)
        return rows


def address(row: int, column: int) -> str:
    """The name of a cell in a spreadsheet: ``C7``."""
    return f"{column_letters(column)}{row}"


def column_letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def as_label(content: Any) -> str:
    """The content of a cell as text on one line; 2024 rather than 2024.0, and dates without a time of midnight."""
    if content is None:
        return ""
    if isinstance(content, float) and content.is_integer():
        content = int(content)
    if isinstance(content, datetime | date):
        return content.isoformat().removesuffix("T00:00:00")
    return " ".join(str(content).split())


@dataclass(frozen=True, repr=False)
class SheetFile:
    """The sheets of a workbook (.xlsx), or the lines of a text file as its only sheet; each is read when it is needed."""

    path: Path
    names: tuple[str, ...]  # of the sheets; none of a text file
    filled: tuple[str, ...]  # those that have more than a single cell
    read: Callable[[str], SheetGrid]

    def __repr__(self) -> str:
        return f"SheetFile({str(self.path)!r}, {len(self.names)} sheets)"

    @classmethod
    def of(cls, path: Path, reading: Reading) -> SheetFile:
        name = path.name.lower()
        if name.endswith(".xlsx"):
            return _workbook(path)
        if name.endswith((".csv", ".tsv", ".txt", ".csv.gz")):
            return cls(path, (), (), cache(lambda _: sheet_of_lines(path, reading)))
        raise FormatError(
            f"{path}: a cross-table must be an .xlsx, .csv, .tsv or .txt file. Open this one in Excel or LibreOffice and save it "
            "as .xlsx."
        )

    @property
    def is_workbook(self) -> bool:
        return bool(self.names)

    def grid(self, sheet: str | None) -> SheetGrid:
        """A sheet; without a name the only one."""
        if not self.is_workbook:
            return self.read("")
        if sheet is None and len(self.filled) != 1:
            raise InputError(
                f"{self.path} has several sheets: {some(self.filled, 12)}. Name the one with the table: sheet = …",
                self.filled,
            )
        title = self.filled[0] if sheet is None else sheet
        if title not in self.names:
            raise InputError(f"{self.path} has no sheet {title!r}. It has {some(self.names, 12)}.", [title])
        return self.read(title)


def _workbook(path: Path) -> SheetFile:
    import openpyxl  # slow to import

    try:
        with ZipFile(path) as archive:
            check_zip(path, archive)
            sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
            has_formulas = any(FORMULA.search(archive.read(name)) for name in sheets)
        results = openpyxl.load_workbook(path, data_only=True, rich_text=True)
        formulas = openpyxl.load_workbook(path) if has_formulas else None
    except DiscreetError:
        raise
    except Exception as error:  # errors of any reader; their messages may quote the contents
        missing = isinstance(error, FileNotFoundError)
        raise FormatError(f"{path} {'does not exist' if missing else 'is not a workbook or is damaged'}.") from None

    def read(sheet: str) -> SheetGrid:
        grid = _grid(f"{path}, sheet {sheet!r}", results[sheet])
        if formulas is not None:
            _refuse_unknown_results(grid.name, results[sheet], formulas[sheet])
        return grid

    filled = [sheet.title for sheet in results.worksheets if sheet.max_row > 1 or sheet.max_column > 1]
    return SheetFile(path, tuple(sheet.title for sheet in results.worksheets), tuple(filled), cache(read))


def _grid(name: str, worksheet: Any) -> SheetGrid:
    contents, indents, merged = {}, {}, {}
    for cell in _stored(worksheet):
        content = _without_superscripts(cell.value)
        if content is not None and as_label(content):
            contents[cell.row, cell.column] = content
            steps = int(getattr(cell.alignment, "indent", 0) or 0)
            if steps or _leading_spaces(content):
                indents[cell.row, cell.column] = EXCEL_INDENT * steps + _leading_spaces(content)
    for area in worksheet.merged_cells.ranges:
        first = (area.min_row, area.min_col)
        for row in range(area.min_row, area.max_row + 1):
            for column in range(area.min_col, area.max_col + 1):
                merged[row, column] = first
    return SheetGrid(name, contents, merged, indents)


def _stored(worksheet: Any) -> list[Any]:
    """The cells in the file. Rows of the sheet would also have all others, of which a formatted column has a million."""
    return list(worksheet._cells.values())


def _without_superscripts(content: Any) -> Any:
    """The content of a cell; of text with several fonts the parts that are not superscript, which are marks of footnotes."""
    if not isinstance(content, list):  # openpyxl's CellRichText is a list of text and of blocks with fonts
        return content
    parts = [part if isinstance(part, str) else ("" if _is_superscript(part) else part.text) for part in content]
    return "".join(parts)


def _is_superscript(block: Any) -> bool:
    return getattr(block.font, "vertAlign", None) == "superscript"


def _leading_spaces(content: Any) -> int:
    return len(content) - len(content.lstrip()) if isinstance(content, str) else 0


def _refuse_unknown_results(name: str, results: Any, formulas: Any) -> None:
    """Raise if the sheet has formulas without a stored result, as programs write them that do not compute."""
    unknown = []
    for formula in _stored(formulas):
        if formula.data_type == "f":
            result = results[formula.coordinate]
            # The result "" is stored as an empty text, of type "str".
            if result.value is None and result.data_type != "str":
                unknown.append(formula.coordinate)
    if unknown:
        raise InputError(
            f"{name}: {len(unknown)} cells have formulas whose results are not stored, e.g. {some(unknown)}. Open the file in "
            "Excel or LibreOffice and save it.",
            unknown,
        )


def sheet_of_lines(path: Path, reading: Reading) -> SheetGrid:
    """The fields of a text file as a sheet."""
    try:
        encoding = encoding_of(path, reading.encoding)
        with opened_text(path, encoding) as file:
            text = file.read()
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except UnicodeError:
        raise FormatError(undecodable(path, encoding)) from None
    lines = _fields(path, text, reading.delimiter)
    fields = {(i, j): field for i, line in enumerate(lines, 1) for j, field in enumerate(line, 1) if field.strip()}
    indents = {cell: _leading_spaces(field) for cell, field in fields.items() if _leading_spaces(field)}
    return SheetGrid(str(path), fields, {}, indents)


def _fields(path: Path, text: str, delimiter: str | None) -> list[list[str]]:
    """The fields of each line; without a given delimiter with the one that gives the most fields."""
    found: dict[str, list[list[str]]] = {}
    for sign in [delimiter] if delimiter else DELIMITERS:
        with suppress(csv.Error):
            found[sign] = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True))
    if not found:
        raise FormatError(f"{path} cannot be read: quotes are not closed, or stand within a field.")
    # The lines of a table have the same number of fields, those of titles and notes may have fewer.
    counts = {sign: Counter(map(len, lines)).most_common(1)[0] for sign, lines in found.items() if lines}
    suiting = [sign for sign, (fields, _) in counts.items() if fields > 1]
    if len(suiting) > 1:
        names = " and ".join(f'"{sign}"'.replace("\t", "\\t") for sign in suiting)
        raise FormatError(f"{path}: its lines can be split at {names}. Add the one that is meant: delimiter = …")
    return found[suiting[0] if suiting else next(iter(found))]
