"""The sheets of a workbook that show a table in rows and columns: which codes stand where."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import FormatError, some
from discreet.io.cube import CubeAxis, axes_of, table_title
from discreet.presentation import TotalPlace
from discreet.release import Release

Where = tuple[str, ...]  # codes of several dimensions

MAX_TABLE_SHEETS = 100  # more tabs than readers can go through
MAX_SHEET_ENTRIES = 200_000  # of all sheets in rows and columns together, so that a workbook opens within seconds
MAX_TABLE_COLUMNS = 16_000  # sheets have 16,384 columns, of which some have labels
MAX_SHEET_NAME = 31  # letters: a limit of the format
FORBIDDEN_IN_SHEET_NAMES = re.compile(r"[\[\]:*?/\\\x00-\x1f]")


@dataclass(frozen=True)
class TableBlock:
    """Rows and columns of the cells that have the same codes in all further dimensions."""

    further: Where
    rows: tuple[Where, ...]
    columns: tuple[Where, ...]
    at: Mapping[tuple[Where, Where], int]  # place in the release of the cell in a row and a column


@dataclass(frozen=True)
class TableSheet:
    """A sheet with one block, or with several below each other."""

    name: str
    title: str
    release: Release  # the table that is shown
    axes: Mapping[str, CubeAxis]
    rows: tuple[str, ...]  # dimensions
    columns: tuple[str, ...]
    further: tuple[str, ...]
    blocks: tuple[TableBlock, ...]

    def words(self, block: TableBlock) -> str:
        """The codes of the further dimensions for readers."""
        return ", ".join(
            f"{self.axes[name].title}: {self.axes[name].labels[self.axes[name].index[code]]}"
            for name, code in zip(self.further, block.further, strict=True)
        )


def table_sheets(release: Release, taken: Iterable[str] = ()) -> list[TableSheet] | None:
    """The sheets of all tables, with names other than those ``taken``; None if they would be too many or too large."""
    parts = [release.part(number) for number in range(1, len(release.tables) + 1)] or [release]
    layout, say = release.presentation.layout, release.language.say
    unknown = [name for name in (*layout.rows, *layout.columns) if name not in release.codes]
    twice = [name for name in layout.rows if name in layout.columns]
    if unknown or twice:
        fault = f"there is no dimension {some(unknown)}" if unknown else f"{some(twice)} is in both rows and columns"
        raise FormatError(f"[workbook] {fault}. The release has {some(list(release.codes), 12)}.", unknown or twice)
    names, found = {name.casefold() for name in taken}, list[TableSheet]()
    for number, part in enumerate(parts, start=1):
        general = say("table") if len(parts) == 1 else f"{say('table')} {number}"
        for sheet in _sheets_of_table(part, general, len(parts) > 1):
            found.append(_renamed(sheet, names))
            if len(found) > MAX_TABLE_SHEETS:
                return None
    blocks, width = [block for sheet in found for block in sheet.blocks], 1 + len(release.ends)
    entries = sum(len(block.rows) * len(block.columns) * width for block in blocks)
    widest = max((len(block.columns) * width for block in blocks), default=0)
    return found if entries <= MAX_SHEET_ENTRIES and widest <= MAX_TABLE_COLUMNS else None


def _sheets_of_table(release: Release, general: str, is_linked: bool) -> Iterable[TableSheet]:
    layout, axes = release.presentation.layout, {axis.column: axis for axis in axes_of(release)}
    rows, columns = (tuple(name for name in given if name in axes) for given in (layout.rows, layout.columns))
    free = [name for name in axes if name not in (*rows, *columns)]
    if not rows:
        rows, free = (tuple(free[:1]), free[1:]) if free else (columns[:1], free)
        columns = tuple(name for name in columns if name not in rows)
    if not columns:
        columns, free = tuple(free[:1]), free[1:]
    blocks = _blocks(release, axes, rows, columns, tuple(free), layout.total)
    title = table_title(release, list(axes.values()))
    if is_linked and release.presentation.metadata.title:
        names = ", ".join(axis.title for axis in axes.values())
        title = release.language.say("{response} by {dimensions}", response=title, dimensions=names)
    plain = TableSheet(general, title, release, axes, rows, columns, tuple(free), tuple(blocks))
    if not free or layout.further == "blocks":
        return [plain]
    return [
        TableSheet(_short_name(plain, block), title, release, axes, rows, columns, tuple(free), (block,))
        for block in blocks
    ]


def _blocks(
    release: Release,
    axes: Mapping[str, CubeAxis],
    rows: tuple[str, ...],
    columns: tuple[str, ...],
    further: tuple[str, ...],
    total: TotalPlace,
) -> list[TableBlock]:
    """A block for each combination of codes of the further dimensions that occurs."""

    def combinations(names: tuple[str, ...]) -> list[Where]:
        return list(zip(*(release.codes[name] for name in names), strict=True)) if names else [()] * len(release)

    cells: dict[Where, dict[tuple[Where, Where], int]] = {}
    for i, (where, row, column) in enumerate(
        zip(combinations(further), combinations(rows), combinations(columns), strict=True)
    ):
        cells.setdefault(where, {})[row, column] = i
    found = []
    for where in _in_order(axes, further, cells, total):
        at = cells[where]
        in_rows = _in_order(axes, rows, {row for row, _ in at}, total)
        in_columns = _in_order(axes, columns, {column for _, column in at}, total)
        found.append(TableBlock(where, tuple(in_rows), tuple(in_columns), at))
    return found


def _in_order(
    axes: Mapping[str, CubeAxis], names: Sequence[str], occurring: Iterable[Where], total: TotalPlace
) -> list[Where]:
    """The combinations of codes that occur, in the order of the codes."""
    occurring = set(occurring)
    rank = [{code: k for k, code in enumerate(shown_order(axes[name], total))} for name in names]
    return sorted(occurring, key=lambda where: tuple(of[code] for of, code in zip(rank, where, strict=True)))


def shown_order(axis: CubeAxis, total: TotalPlace) -> list[str]:
    """The codes of an axis with each total before its parts, or after them."""
    if total == "first":
        return list(axis.codes)
    children, listed = axis.children, list[str]()
    stack = [code for code, parent in zip(axis.codes, axis.parents, strict=True) if parent < 0]
    while stack:  # from the last code to the first
        code = stack.pop()
        listed.append(code)
        stack.extend(children.get(code, ()))
    return listed[::-1]


def _short_name(sheet: TableSheet, block: TableBlock) -> str:
    """The name of the sheet of one block: its codes, after the name of the table if there are several tables."""
    labels = [
        sheet.axes[name].labels[sheet.axes[name].index[code]]
        for name, code in zip(sheet.further, block.further, strict=True)
    ]
    number = sheet.name.rpartition(" ")[2]
    return " ".join([*([number] if number.isdigit() else []), *labels])


def _renamed(sheet: TableSheet, taken: set[str]) -> TableSheet:
    """The sheet with a name that workbooks accept and no other sheet has."""
    name = FORBIDDEN_IN_SHEET_NAMES.sub(" ", sheet.name).strip(" '")[:MAX_SHEET_NAME].strip() or "table"
    number = 1
    while name.casefold() in taken:
        number += 1
        end = f" ({number})"
        name = name.removesuffix(f" ({number - 1})")[: MAX_SHEET_NAME - len(end)] + end
    taken.add(name.casefold())
    return TableSheet(
        name, sheet.title, sheet.release, sheet.axes, sheet.rows, sheet.columns, sheet.further, sheet.blocks
    )


def merged_runs(texts: Sequence[Where], depth: int) -> list[tuple[int, int]]:
    """First and last place of each run of columns with the same codes down to a depth: they share a heading."""
    runs: list[tuple[int, int]] = []
    for k, where in enumerate(texts):
        if runs and texts[runs[-1][0]][: depth + 1] == where[: depth + 1]:
            runs[-1] = (runs[-1][0], k)
        else:
            runs.append((k, k))
    return runs
