"""The layouts that a sheet may have: where the header, the labels of rows and the numbers of a cross-table may be."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product

from discreet.data.cross_layout import CrossLayout, CrossSettings, find_layout, looks_like_header
from discreet.data.cross_numbers import looks_like_number
from discreet.data.sheet_grid import SheetGrid, column_letters
from discreet.errors import InputError
from discreet.jobs.roles import is_share

MAX_HEADER_ROWS = 4
MIN_COVERED = 0.6  # of the numbers in a sheet; a reading with fewer misses the table
MAX_HEADER_SEARCHED = 25  # rows in which the header may begin


def possible_layouts(grid: SheetGrid, header_row: int | None) -> Iterator[CrossLayout]:
    """The layouts that fit a sheet; levels of labels have no names yet."""
    numbers = {
        (row, c) for row, columns in grid.rows.items() for c in columns if looks_like_number(grid.contents[row, c])
    }
    headers = [row for row in list(grid.rows)[:MAX_HEADER_SEARCHED] if _may_be_header(grid, row)]
    for stub, first in product(_widths_of_stub(grid), [header_row] if header_row else [None, *headers]):
        yield from (
            layout
            for layout in _with_header(grid, stub, first)
            if len(numbers) * MIN_COVERED <= _n_numbers(layout, numbers)
        )


def _may_be_header(grid: SheetGrid, row: int) -> bool:
    """Whether a row has several texts, or years or consecutive numbers, and no other numbers."""
    numbers = [grid.contents[row, column] for column in grid.rows[row] if looks_like_number(grid.contents[row, column])]
    return len(grid.rows[row]) > 1 and (not numbers or looks_like_header(numbers))


def _n_numbers(layout: CrossLayout, numbers: Collection[tuple[int, int]]) -> int:
    """How many of the numbers of a sheet are in the body."""
    rows, columns = set(layout.rows.positions), set(layout.columns.positions)
    return sum(row in rows and column in columns for row, column in numbers)


def _with_header(grid: SheetGrid, stub: int, first: int | None) -> Iterator[CrossLayout]:
    """The layouts with a number of columns of labels, and a first row of the header."""
    for headers in range(1, MAX_HEADER_ROWS + 1):
        settings = CrossSettings(_levels("row", stub), _levels("column", headers), first)
        layout = _layout(grid, settings) or _layout(grid, replace(settings, skip=_columns_of_texts(grid, stub)))
        if layout is not None:
            settings = layout.settings
            yield layout
            shares = [c for c in layout.columns.positions if is_share(grid.text(layout.header_rows[-1], c))]
            skip = (*settings.skip, *map(column_letters, shares))
            without = _layout(grid, replace(settings, skip=skip)) if shares else None
            if without is not None:
                yield without
            return  # further rows above the header are titles
    yield from _with_headings(grid, stub, first)


def _columns_of_texts(grid: SheetGrid, stub: int) -> tuple[str, ...]:
    """The columns on the right of those of labels that have texts only, such as remarks."""
    columns = sorted({column for filled in grid.rows.values() if len(filled) > 1 for column in filled})[stub:]
    with_numbers = {column for (_, column), content in grid.contents.items() if looks_like_number(content)}
    return tuple(column_letters(column) for column in columns if column not in with_numbers)


def _with_headings(grid: SheetGrid, stub: int, first: int | None) -> Iterator[CrossLayout]:
    """The layouts if rows with a label and no numbers are codes of a further dimension, and if they are left out."""
    numbers = {row for row, columns in grid.rows.items() for c in columns if looks_like_number(grid.contents[row, c])}
    between = [
        row for row in grid.rows if row not in numbers and min(numbers, default=0) < row < max(numbers, default=0)
    ]
    for headers in range(1, MAX_HEADER_ROWS + 1):
        settings = CrossSettings(_levels("row", stub), _levels("column", headers), first)
        for variant in (
            replace(settings, headings="heading"),
            replace(settings, skip=tuple(map(str, between))),
        ):
            layout = _layout(grid, variant) if between else None
            if layout is not None:
                yield layout


def _layout(grid: SheetGrid, settings: CrossSettings) -> CrossLayout | None:
    try:
        return find_layout(grid, settings, looks_like_number)
    except InputError:
        return None


def _levels(kind: str, number: int) -> tuple[str, ...]:
    return tuple(f"{kind} {i + 1}" for i in range(number))


def _widths_of_stub(grid: SheetGrid) -> list[int]:
    """How many columns of labels there may be: those before the first one that has mostly numbers, or one more."""
    rows = [row for row, columns in grid.rows.items() if len(columns) > 1]
    columns = sorted({column for row in rows for column in grid.rows[row]})

    def numeric(column: int) -> bool:
        filled = [cell for row in rows if (cell := grid.contents.get((row, column))) is not None]
        numbers = [cell for cell in filled if looks_like_number(cell)]
        return 2 * len(numbers) > len(filled) and not looks_like_header(numbers)  # rather years or numbers of rows

    leading = next((i for i, column in enumerate(columns) if numeric(column)), len(columns))
    return [width for width in (leading, leading + 1) if 0 < width < len(columns)]
