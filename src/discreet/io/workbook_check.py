"""Check of written workbooks: every sheet shows what the release says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from openpyxl import load_workbook

from discreet.io.cube import table_title
from discreet.io.excel import contents, plain_names, workbook_legend
from discreet.io.refusal import WRITTEN_TOLERANCE, refuse
from discreet.io.table_layout import TableBlock, TableSheet, table_sheets
from discreet.io.table_sheet import note_lines, shown_kinds, shown_text
from discreet.printable import FORBIDDEN
from discreet.release import Release


def check_sheets(release: Release, path: Path) -> list[list[Any]]:
    """Check all sheets but the one with all cells, whose rows are returned."""
    cells, legend, listed = plain_names(release)
    tables = {sheet.name: sheet for sheet in table_sheets(release, plain_names(release)) or []}
    book = load_workbook(path, read_only=True)
    try:
        rows = {name: [list(row) for row in book[name].iter_rows(values_only=True)] for name in book.sheetnames}
    finally:
        book.close()
    notes = workbook_legend(release)
    expected = [*([listed] if len(tables) > 1 else []), *tables, cells, *([legend] if notes else [])]
    if list(rows) != expected:
        refuse("sheets", [name for name in rows if name not in expected] or expected)
    if notes and [[str(entry) for entry in row] for row in rows[legend]] != [list(map(legal, row)) for row in notes]:
        refuse("sheets", [legend])
    if len(tables) > 1:
        named = [*map(list, contents(release, tables.values()))]
        if [row[:2] for row in rows[listed]][2:] != [list(map(legal, row)) for row in named] or (
            rows[listed][0][0] != legal(table_title(release))
        ):
            refuse("sheets", [listed])
    for name, table in tables.items():
        _check_table(table, rows[name])
    return rows[cells]


def _check_table(table: TableSheet, rows: list[list[Any]]) -> None:
    """Raise unless each block shows its cells at their codes, and all other entries are texts of the presentation."""
    release, texts = table.release, _texts(table)
    place, n_rows = 0, len(rows)
    for block in table.blocks:
        place = _find_block(table, block, rows, place)
        heads = sum(len(shown_kinds(release, table.axes[name])) for name in table.rows)
        for where in block.rows:
            if place >= n_rows or [_text(entry) for entry in rows[place][:heads]] != list(_row_heads(table, where)):
                refuse("rows", [where])
            _check_row(table, block, where, rows[place][heads:])
            rows[place] = []
            place += 1
    for row in rows:
        other = [entry for entry in row if entry is not None and not (isinstance(entry, str) and entry in texts)]
        if other:
            refuse("texts", other)


def _find_block(table: TableSheet, block: TableBlock, rows: list[list[Any]], start: int) -> int:
    """The first row of a block: the one after its headings, which are checked."""
    release = table.release
    headings = list(_headings(table, block))
    heads = sum(len(shown_kinds(release, table.axes[name])) for name in table.rows)
    for place in range(start, len(rows) - len(headings) + 1):
        found = [_filled(rows[place + k][heads:], len(expected)) for k, expected in enumerate(headings)]
        if found == headings:
            for k in range(len(headings)):
                rows[place + k][heads:] = []
            return place + len(headings)
    refuse("headings", [table.name])


def _headings(table: TableSheet, block: TableBlock) -> Iterator[list[str]]:
    """The lines of headings, with the text of each at the first of the columns that share it and empty texts after it."""
    release, width = table.release, 1 + len(table.release.ends)
    for depth, name in enumerate(table.columns):
        axis = table.axes[name]
        for is_label in reversed(shown_kinds(release, axis)):
            line, before = list[str](), None
            for where in block.columns:
                text = shown_text(axis, where[depth], is_label, len(shown_kinds(release, axis)) > 1)
                line += ["" if where[: depth + 1] == before else legal(text), *[""] * (width - 1)]
                before = where[: depth + 1]
            yield line
    if width > 1 or not table.columns:
        names = (release.title(release.response), *release.in_words().sides)[:width]
        yield [legal(name) for _ in block.columns for name in names]


def _filled(entries: list[Any], length: int) -> list[str]:
    found = [_text(entry) for entry in entries[:length]]
    return found + [""] * (length - len(found))


def _row_heads(table: TableSheet, where: tuple[str, ...]) -> Iterator[str]:
    for name, code in zip(table.rows, where, strict=True):
        axis = table.axes[name]
        kinds = shown_kinds(table.release, axis)
        for is_label in kinds:
            yield legal(shown_text(axis, code, is_label, len(kinds) > 1))


def _check_row(table: TableSheet, block: TableBlock, where: tuple[str, ...], entries: list[Any]) -> None:
    release = table.release
    columns = [release.value, *release.ends.values()]
    expected: list[Any] = []
    for column in block.columns:
        i = block.at.get((where, column))
        if i is None:
            expected += [0.0 if release.complete else None, *[None] * (len(columns) - 1)]
            continue
        codes = [code for name in (*table.rows, *table.columns, *table.further) for code in [release.codes[name][i]]]
        if codes != [*where, *column, *block.further]:
            refuse("cells", [where + column])
        for m, values in enumerate(columns):
            value = float(values[i])
            expected.append(value if value == value else release.symbol if m == 0 else None)
    found = entries[: len(expected)] + [None] * (len(expected) - len(entries))
    wrong = any(not _same(one, other) for one, other in zip(found, expected, strict=True))
    if wrong or any(entry is not None for entry in entries[len(expected) :]):
        refuse("cells", [where])


def _same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, int | float):
        return abs(found - expected) <= WRITTEN_TOLERANCE * abs(expected)
    return type(found) is type(expected) and found == (legal(expected) if isinstance(expected, str) else expected)


def _texts(table: TableSheet) -> set[str]:
    """All texts besides codes, labels and numbers that a sheet may have."""
    release, about, say = table.release, table.release.presentation.metadata, table.release.language.say
    titles = [axis.title for axis in table.axes.values()]
    found = [
        table.title,
        about.subtitle,
        say("Unit: {unit}", unit=about.unit),
        say("Code"),
        *note_lines(release),
        *titles,
    ]
    found += [
        ", ".join(table.axes[name].title for name in table.columns),
        *(table.words(block) for block in table.blocks),
    ]
    return set(map(legal, found))


def _text(entry: Any) -> str:
    return "" if entry is None else str(entry)


def legal(text: str) -> str:
    """Without characters that workbooks cannot hold."""
    return FORBIDDEN.sub("", text)
