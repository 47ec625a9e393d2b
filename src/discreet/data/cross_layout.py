"""The layout of a cross-table in a sheet: header, stub, body, notes, and the labels of every row and column of the body."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise, product

from discreet.data.sheet_grid import SheetGrid, address, as_label, column_letters
from discreet.data.spelling import TOTAL_WORDS
from discreet.errors import InputError, plural, some

# Marks of footnotes at the end of a label: 1) ¹ [2] * ** † (3)
FOOTNOTE = re.compile(r"(\s*(\d{1,2}\)|[¹²³⁴-⁹]+\)?|\*+\)?|†+|‡+|\[\d{1,2}\]|\s\(\d{1,2}\))\s*,?)+$")
FIRST_YEAR, LAST_YEAR = 1800, 2200  # whole numbers between them look like years
MAX_MARK_LETTERS = 4  # a text of at most so many letters in the body is a mark in place of a number: "x", "..", "n.a."


@dataclass(frozen=True)
class CrossSettings:
    """How a cross-table is to be read."""

    rows: tuple[str, ...]  # what the stub columns are, from the left: a dimension, "measures", or "" for none
    columns: tuple[str, ...]  # what the header rows are, from the top
    header_row: int | None = None  # the first of them; None: those right above the body
    headings: str | None = None  # the dimension whose codes stand in rows of their own between the rows of the body
    skip: tuple[str, ...] = ()  # rows and columns to leave out: "7", "12:15", "F"
    subtotals: str = "above"  # or "below": where the subtotals of indented rows stand


@dataclass(frozen=True)
class AxisLabels:
    """The labels of the rows or of the columns of the body: for each of them one per level, None for a total."""

    levels: tuple[str, ...]  # dimensions, outermost first
    positions: tuple[int, ...]  # rows or columns of the sheet
    labels: tuple[tuple[str | None, ...], ...]
    indents: tuple[int, ...]  # of the last level
    sources: tuple[str, ...]  # in words: where the labels of each level are


@dataclass(frozen=True)
class CrossLayout:
    """Where the parts of a cross-table are in its sheet."""

    grid: SheetGrid
    settings: CrossSettings
    rows: AxisLabels
    columns: AxisLabels
    header_rows: tuple[int, ...]
    ignored_rows: tuple[int, ...]
    ignored_columns: tuple[int, ...]
    label_cells: tuple[tuple[int, int], ...]  # of rows and columns of the body
    footnotes: tuple[str, ...]  # labels from which marks of footnotes were removed


def find_layout(grid: SheetGrid, settings: CrossSettings, is_number: Callable[[object], bool]) -> CrossLayout:
    """The layout of the cross-table in a sheet; raises where it can be read in several ways."""
    return _Finder(grid, settings, is_number).layout()


def skipped(texts: Sequence[str]) -> tuple[set[int], set[int]]:
    """The rows and the columns in texts like "7", "12:15", "F" and "F:H"."""
    rows: set[int] = set()
    columns: set[int] = set()
    for text in texts:
        first, _, last = (part.strip() for part in text.partition(":"))
        last = last or first
        if re.fullmatch("[0-9]{1,7}", first) and re.fullmatch("[0-9]{1,7}", last):
            rows |= set(range(int(first), int(last) + 1))
        elif re.fullmatch("[A-Za-z]{1,3}", first) and re.fullmatch("[A-Za-z]{1,3}", last):
            columns |= set(range(_column_number(first), _column_number(last) + 1))
        else:
            raise InputError(
                f'skip names rows and columns as a spreadsheet does: "7", "12:15" or "F", not {text!r}.', [text]
            )
    return rows, columns


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def ranges(numbers: Iterable[int], name: Callable[[int], str] = str) -> str:
    """Numbers in words: ``1–3, 7``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(name(a) if a == b else f"{name(a)}–{name(b)}" for a, b in runs)


class _Finder:
    """Finds the layout of one sheet."""

    def __init__(self, grid: SheetGrid, settings: CrossSettings, is_number: Callable[[object], bool]) -> None:
        self.settings, self.grid = settings, grid
        self.skip_rows, self.skip_columns = skipped(settings.skip)
        self.filled = {
            row: left
            for row, columns in grid.rows.items()
            if row not in self.skip_rows and (left := [column for column in columns if column not in self.skip_columns])
        }
        self.numbers = {
            (row, column)
            for row, columns in self.filled.items()
            for column in columns
            if is_number(grid.contents[row, column])
        }
        self.by_column: dict[int, list[int]] = {}
        for row, columns in self.filled.items():
            for column in columns:
                self.by_column.setdefault(column, []).append(row)
        self.removed: dict[str, None] = {}

    def layout(self) -> CrossLayout:
        stub = self._stub()
        first = self._first_body_row(stub)
        header = self._header_rows(stub, first)
        values = self._value_columns(stub, header, first)
        body = self._body_rows(stub, first, values)
        outer = self._heading_labels(stub, header, body)
        return CrossLayout(
            self.grid,
            self.settings,
            self._axis(self.settings.rows, body, stub, of_rows=True, headings=outer),
            self._axis(self.settings.columns, values, list(header), of_rows=False),
            tuple(header),
            tuple(row for row in self.grid.rows if row not in {*header, *body, *outer}),
            tuple(sorted({c for columns in self.grid.rows.values() for c in columns} - {*stub, *values})),
            (*product(body, stub), *product(header, values)),
            tuple(self.removed),
        )

    def _error(self, text: str, offenders: Sequence[object] = ()) -> InputError:
        return InputError(f"{self.grid.name}: {text}", offenders)

    # -- parts ------------------------------------------------------------------------------------------------

    def _stub(self) -> list[int]:
        """The columns of the row labels: the first ones that are filled between the first and last row with several cells."""
        several = [row for row, filled in self.filled.items() if len(filled) > 1]
        within = [self.filled[row] for row in self.filled if several and several[0] <= row <= several[-1]]
        columns = sorted({column for filled in within for column in filled})
        stub = columns[: len(self.settings.rows)]
        if len(columns) <= len(stub) or not self.numbers:
            raise self._error(
                f"no table with {plural(len(stub), 'column')} of labels and numbers on their right was found."
            )
        return stub

    def _first_body_row(self, stub: Sequence[int]) -> int:
        """The first row below the header that has numbers and a label."""
        given = self.settings.header_row
        rows = sorted({row for row, column in self.numbers if column > stub[-1]})
        if given is not None:
            below = [row for row in self.filled if row >= given]
            header = below[: len(self.settings.columns)]
            rows = [row for row in rows if row > header[-1]] if header else []
            if not rows:
                raise self._error(f"there are no numbers below the header, which begins in row {given} (header_row).")
            return rows[0]
        for row in rows:
            label = any(self._own_label(row, column) for column in stub)
            numbers = [
                self.grid.contents[row, c] for c in self.filled[row] if (row, c) in self.numbers and c > stub[-1]
            ]
            if looks_like_header(numbers):
                above = max((other for other in self.filled if other < row), default=None)
                if label and above is not None and len(self._labels_right_of(stub, above)) > 1:
                    first = row - len(self.settings.columns) + 1
                    raise self._error(
                        f"row {row} has years or consecutive numbers: it is the last row of the header or the first row of the "
                        f"table. Add header_row = {first} if it is in the header, otherwise header_row = {first - 1}.",
                        [row],
                    )
            elif label:
                return row
            else:
                raise self._error(
                    f"row {row} has numbers but no label. Write one into the sheet, or leave the row out: "
                    f'skip = ["{row}"].',
                    [row],
                )
        raise self._error("no row with a label and numbers was found.")

    def _own_label(self, row: int, column: int) -> str:
        """The label of a cell, without that of a merged range that begins in a row above."""
        first = self.grid.merged.get((row, column), (row, column))
        return self.grid.text(row, column) if first[0] == row else ""

    def _header_rows(self, stub: Sequence[int], first: int) -> list[int]:
        """The rows of the header: those right above the body with labels on the right of the stub."""
        n, given = len(self.settings.columns), self.settings.header_row
        above = [row for row in self.filled if row < first and self._labels_right_of(stub, row)]
        while len(above) > n and len(self._labels_right_of(stub, above[-1])) == 1:
            above.pop()  # a heading within the table
        if given is not None:
            header = [row for row in above if row >= given][:n]
        else:
            header = above[-n:]
            left = [row for row in above[:-n] if len(self._labels_right_of(stub, row)) > 1]
            adjacent = [
                row
                for row in left
                if all(
                    between in left or between in header or between not in self.filled
                    for between in range(row + 1, first)
                )
            ]
            if adjacent:
                raise self._error(
                    f"rows {ranges([*adjacent, *header])} look like {len(adjacent) + n} header rows, but "
                    f"the setting columns has {plural(n, 'entry', 'entries')}. Write one entry for each header row: a dimension, "
                    '"measures" for the row with kinds of numbers, or "" for a row that says nothing about the cells, '
                    'e.g. columns = ["", "region"].',
                    adjacent,
                )
        if len(header) < n:
            raise self._error(
                f"there are {plural(len(header), 'header row')} with labels above row {first}, the first one with numbers, but "
                f"the setting columns has {plural(n, 'entry', 'entries')}. If the table begins further down, leave this row out: "
                f'skip = ["{first}"]. Otherwise write one entry for each header row.',
                [first],
            )
        return header

    def _labels_right_of(self, stub: Sequence[int], row: int) -> set[str]:
        last = max(self.by_column)
        merged = self.grid.merged
        texts = {
            self.grid.text(row, column)
            for column in range(stub[-1] + 1, last + 1)
            # A title that is merged from the stub on is no label of columns.
            if merged.get((row, column), (row, column))[1] > stub[-1] and column not in self.skip_columns
        }
        return texts - {""}

    def _value_columns(self, stub: Sequence[int], header: Sequence[int], first: int) -> list[int]:
        """The columns with a label in the header and something in the body."""
        last = max(self.by_column)
        values = []
        for column in range(stub[-1] + 1, last + 1):
            if column in self.skip_columns:
                continue
            label = next((text for row in reversed(header) if (text := self.grid.text(row, column))), "")
            below = [row for row in self.by_column.get(column, ()) if row >= first]
            numbers = any((row, column) in self.numbers for row in below)
            letters = column_letters(column)
            if numbers and not label:
                raise self._error(
                    f"column {letters} has numbers but no label in the header. Write one into the sheet, or leave the column "
                    f'out: skip = ["{letters}"].',
                    [letters],
                )
            if not label or not (
                below or self.grid.text(header[-1], column)
            ):  # or an empty column below a merged label
                continue
            texts = [self.grid.text(row, column) for row in below]
            if not numbers and any(len(text) > MAX_MARK_LETTERS for text in texts):
                raise self._error(
                    f'column {letters} ({label!r}) has text but no numbers. Leave it out: skip = ["{letters}"].',
                    [letters],
                )
            values.append(column)
        return values

    def _body_rows(self, stub: Sequence[int], first: int, values: Sequence[int]) -> list[int]:
        """The rows from the first to the last one that has numbers or marks in the columns of values."""
        chosen = set(values)

        def in_body(row: int) -> bool:
            filled = [column for column in self.filled[row] if column in chosen]
            if any((row, column) in self.numbers for column in filled):
                return True
            single = [column for column in filled if (row, column) not in self.grid.merged]
            marks = [column for column in single if len(self.grid.text(row, column)) <= MAX_MARK_LETTERS]
            labelled = any(self.grid.text(row, column) for column in stub)
            return labelled and (bool(marks) or 2 * len(single) >= len(values))

        body = [row for row in self.filled if row >= first and in_body(row)]
        between = [row for row in self.filled if first <= row <= body[-1] and row not in body]
        for row in (row for row in between if chosen & set(self.filled[row])):
            if len({self.grid.text(row, column) for column in self.filled[row]}) > 1:
                raise self._error(
                    f'row {row} has text in place of numbers. Correct it, or leave the row out: skip = ["{row}"].',
                    [row],
                )
        return body

    def _heading_labels(self, stub: Sequence[int], header: Sequence[int], body: Sequence[int]) -> dict[int, str]:
        """The rows between those of the body with a label and no numbers, except rows that have only an outer label."""
        found = {}
        for row in self.filled:
            if header[-1] < row < body[-1] and row not in body:
                texts = {self.grid.text(row, column) for column in self.filled[row]}
                outer_only = len(stub) > 1 and max(self.filled[row]) < stub[-1]
                if not outer_only or self.settings.headings:
                    found[row] = " ".join(sorted(texts))
        if self.settings.headings is None:
            if all(row < body[0] and max(self.filled[row]) <= stub[-1] for row in found):
                return {}  # the names of the columns of labels, in a line of their own
            raise self._error(
                f"{plural(len(found), 'row')} within the table with a label but no numbers: row {ranges(found)}, e.g. "
                f'{some(list(found.values()))}. If they are codes of a further dimension, name it: headings = "…". If they '
                f"are remarks, or rows without any value, leave them out: skip = {_skip_text(found)}.",
                list(found.values()),
            )
        return found

    # -- labels -----------------------------------------------------------------------------------------------

    def _axis(
        self,
        levels: Sequence[str],
        positions: Sequence[int],
        lines: Sequence[int],
        *,
        of_rows: bool,
        headings: dict[int, str] | None = None,
    ) -> AxisLabels:
        """The labels of the rows or columns in ``positions``, from the columns or rows in ``lines``, one per level."""
        used = [(name, line) for name, line in zip(levels, lines, strict=True) if name]
        names = [name for name, _ in used]
        labels = []
        carried: list[str | None] = [None] * len(used)
        for position in positions:
            labels.append(self._labels_at(position, used, carried, of_rows=of_rows))
            if self.settings.headings and of_rows:
                labels[-1] = (self._heading(position, headings or {}), *labels[-1])
        sources = [f"column {column_letters(line)}" if of_rows else f"row {line}" for _, line in used]
        if self.settings.headings and of_rows:
            names, sources = [self.settings.headings, *names], ["headings", *sources]
        indents = [self.grid.indents.get((p, used[-1][1]), 0) if of_rows and used else 0 for p in positions]
        return AxisLabels(tuple(names), tuple(positions), tuple(labels), tuple(indents), tuple(sources))

    def _heading(self, row: int, headings: dict[int, str]) -> str:
        above = [heading for heading in headings if heading < row]
        if not above:
            raise self._error(
                f"row {row} stands above the first heading, so that its code of {self.settings.headings!r} is not known. Write a "
                "heading above it into the sheet."
            )
        return self._cleaned(headings[max(above)])

    def _labels_at(
        self, position: int, used: Sequence[tuple[str, int]], carried: list[str | None], *, of_rows: bool
    ) -> tuple[str | None, ...]:
        """The labels of one row or column. An outer label that is empty continues the one before it."""
        found: list[str | None] = []
        fresh = False  # whether an outer label begins here, so that an empty inner one is its total
        for level, (_, line) in enumerate(used):
            cell = (position, line) if of_rows else (line, position)
            first = self.grid.merged.get(cell, cell)
            self._check_label(*first)
            begins = (first[0] if of_rows else first[1]) == position
            across = (first[1] if of_rows else first[0]) != line  # merged with an outer level, whose total it is
            text = "" if across else self._cleaned(self.grid.text(*cell))
            before = carried[level]
            last = level == len(used) - 1
            if text and not last and before is not None and _is_total_of(text, before):
                text, begins = before, True  # "North Total", as pivot tables write it
            if text:
                fresh |= begins
                found.append(text)
                carried[level] = text
                if begins:
                    carried[level + 1 :] = [None] * (len(used) - level - 1)
            elif not last and not fresh and before is not None:
                found.append(before)
            elif fresh or across:
                found.append(None)
            else:
                where = address(*cell)
                raise self._error(
                    f"{where} has no label, and its {'row' if of_rows else 'column'} has numbers. Write it into the "
                    "sheet.",
                    [where],
                )
        return tuple(found)

    def _check_label(self, row: int, column: int) -> None:
        content, where = self.grid.contents.get((row, column)), address(row, column)
        if isinstance(content, date):
            raise self._error(
                f"{where} has a date in place of a label. If it was a code such as 1-5, format the cell as text and type it "
                "again; if it is a date, write it as text.",
                [where],
            )
        if isinstance(content, float) and not content.is_integer():
            raise self._error(
                f"{where} has a number with decimals in place of a label. Check the settings rows and columns: they have one "
                "entry for each column of labels and each header row, and no others.",
                [where],
            )

    def _cleaned(self, label: str) -> str:
        """A label without marks of footnotes, which are remembered."""
        short = cleaned_label(label)
        if short != label:
            self.removed[label] = None
        return short


def cleaned_label(label: str) -> str:
    """A label without marks of footnotes."""
    return FOOTNOTE.sub("", label).strip() or label


def _is_total_of(text: str, outer: str) -> bool:
    """Whether a label is the total of an outer label in words: ``North Total`` or ``Total North``."""
    words, label = text.casefold(), outer.casefold()
    return (words.startswith(label + " ") and words[len(label) + 1 :] in TOTAL_WORDS) or (
        words.endswith(" " + label) and words[: -len(label) - 1] in TOTAL_WORDS
    )


def looks_like_header(numbers: Sequence[object]) -> bool:
    """Whether the numbers of a row are years, or 1, 2, 3 …, as below the names of columns."""
    texts = [as_label(number) for number in numbers]  # also of text files
    whole = [int(text) for text in texts if text.isascii() and text.isdigit()]
    if len(whole) < len(numbers) or len(whole) < 2:
        return False
    consecutive = all(b == a + 1 for a, b in pairwise(whole))
    return (consecutive and whole[0] in (1, 2)) or all(FIRST_YEAR <= number <= LAST_YEAR for number in whole)


def _skip_text(rows: Iterable[int]) -> str:
    return "[" + ", ".join(f'"{part}"' for part in ranges(rows).replace("–", ":").split(", ")) + "]"
