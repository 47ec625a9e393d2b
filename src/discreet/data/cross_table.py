"""Cross-tables: sheets with labels of rows and columns, as finished tables with one row per cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from discreet.data.columns import same_names
from discreet.data.cross_layout import AxisLabels, CrossLayout, CrossSettings, cleaned_label, find_layout, ranges
from discreet.data.cross_numbers import CellNumbers, Place, looks_like_number
from discreet.data.dimension_paths import DimensionPaths, LabelPath
from discreet.data.finished_table import read_table
from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy
from discreet.data.reading import DEFAULT_READING, NoValue, Reading
from discreet.data.sheet_grid import SheetFile, address, column_letters
from discreet.data.spelling import Names, Spelling
from discreet.data.table import TABLE_ADDITIVITY_TOLERANCE, Table
from discreet.errors import InputError, TableError, some

MEASURES = "measures"  # the level of labels that are no codes of a dimension but names of columns of the finished table
MAX_SHOWN_ADDRESSES = 12  # of cells in a message

Key: TypeAlias = tuple[LabelPath, ...]  # the labels of a cell, per dimension from the outermost; empty for a total


@dataclass(frozen=True, repr=False)
class CrossTable:
    """What was understood of a cross-table. Values are in ``frame``, which is confidential, with one row per cell."""

    name: str  # of the file and the sheet
    frame: pd.DataFrame
    by: Mapping[str, Hierarchy]
    columns: Mapping[str, Any]  # value, count, top, who and extra, as for read_table
    addresses: Mapping[str, str]  # of each cell by label: C7
    understood: tuple[str, ...]  # in sentences
    no_value: NoValue = "error"  # what to do with cells without a number

    def __repr__(self) -> str:
        return f"CrossTable({self.columns['value']} by {LABEL_SEPARATOR.join(self.by)}: {len(self.frame):,} cells)"

    def table(
        self,
        *,
        tolerance: float = TABLE_ADDITIVITY_TOLERANCE,
        unpublished_totals: bool = False,
        spelling: Mapping[str, Spelling] | None = None,
        names: Names | None = None,
    ) -> Table:
        """The finished table. Errors name cells by label and as in the sheet."""
        try:
            return read_table(
                self.frame,
                self.by,
                **self.columns,
                tolerance=tolerance,
                unpublished_totals=unpublished_totals,
                spelling=spelling,
                names=names,
                reading=Reading(no_value=self.no_value),
            )
        except TableError as error:
            labels = dict.fromkeys(map(str, error.offenders))  # a cell may be the total of several sums
            found = [self.addresses[label] for label in labels if label in self.addresses]
            rest = f" and {len(found) - MAX_SHOWN_ADDRESSES} more" if len(found) > MAX_SHOWN_ADDRESSES else ""
            where = f" In the sheet: {', '.join(found[:MAX_SHOWN_ADDRESSES])}{rest}." if found else ""
            raise TableError(f"{self.name}: {error}{where}", error.offenders) from None

    def write_preview(self, path: Path) -> None:
        """Write the finished table as CSV, with the place of each cell in the sheet. It is confidential."""
        preview = self.frame.assign(**{"cell in the sheet": list(self.addresses.values())})
        preview.to_csv(path, index=False, encoding="utf-8")


def read_cross_table(
    source: str | Path,
    rows: Sequence[str],
    columns: Sequence[str],
    value: str,
    *,
    by: Mapping[str, Hierarchy | None] | None = None,
    totals: Mapping[str, str] | None = None,
    count: str | None = None,
    top: Sequence[str] = (),
    who: Sequence[str] = (),
    extra: Sequence[str] = (),
    headings: str | None = None,
    skip: Sequence[str] = (),
    subtotals: str = "above",
    reading: Reading = DEFAULT_READING,
) -> CrossTable:
    """A cross-table from a sheet of a workbook (.xlsx), or from a text file laid out like one.

    ``rows`` and ``columns`` say what the columns of row labels (from the left) and the header rows (from the top) are: each is a
    dimension, ``"measures"`` for names like those in ``value``, ``count``, ``top``, ``who`` and ``extra``, or ``""`` if it says
    nothing about the cells. The same dimension twice means two levels of its hierarchy. Without ``"measures"`` in them, ``count``
    and the others name further sheets with the same layout; ``count`` is the same as ``value`` if the values are counts. Indented
    labels of rows form a hierarchy, unless ``by`` has one.
    ``totals`` names the label of the total of each dimension; well-known words are recognized. ``headings`` is the dimension
    whose codes stand in rows of their own. ``skip`` lists rows and columns to leave out, as ``"7"``, ``"12:15"`` or ``"F"``.
    """
    settings = CrossSettings(tuple(rows), tuple(columns), reading.header_row, headings, tuple(skip), subtotals)
    sheets = SheetFile.of(Path(source), reading)
    return CrossReader(sheets, settings, reading, by or {}, totals or {}, value, count, top, who, extra).read()


class CrossReader:
    """Reads the sheets of one cross-table."""

    def __init__(
        self,
        sheets: SheetFile,
        settings: CrossSettings,
        reading: Reading,
        by: Mapping[str, Hierarchy | None],
        totals: Mapping[str, str],
        value: str,
        count: str | None,
        top: Sequence[str] = (),
        who: Sequence[str] = (),
        extra: Sequence[str] = (),
    ) -> None:
        self.sheets, self.settings, self.reading, self.totals = sheets, settings, reading, totals
        levels = [name for name in (settings.headings, *settings.rows, *settings.columns) if name]
        found = list(dict.fromkeys(name for name in levels if name != MEASURES))
        self.by: dict[str, Hierarchy | None] = dict(by) or dict.fromkeys(found)
        self.has_measures = MEASURES in levels
        self.value, self.who = value, list(who)
        self.columns: dict[str, Any] = {
            "value": value,
            "count": count,
            "top": list(top),
            "who": list(who),
            "extra": list(extra),
        }
        counts = [count] if count and count != value else []  # a table of counts has one measure for both
        self.measures = [value, *counts, *top, *who, *extra]
        self.understood: list[str] = []
        self._check(levels, found)

    def _check(self, levels: Sequence[str], found: Sequence[str]) -> None:
        if not any(self.settings.rows) or not any(self.settings.columns):
            raise InputError(
                'rows and columns each name at least one dimension of a cross-table, e.g. rows = ["branch"] for the labels of '
                'rows, and columns = ["region"] for those of columns.'
            )
        if set(found) != set(self.by):
            raise InputError(
                f"The dimensions are {some(list(self.by), 12)}, but rows and columns of the cross-table name {some(found, 12)}. "
                "Name the same in both.",
                sorted(set(found) ^ set(self.by)),
            )
        for name in (*found, MEASURES):
            places = [name in axis for axis in (self.settings.rows, self.settings.columns, (self.settings.headings,))]
            if sum(places) > 1:
                raise InputError(f"{name!r} is named in several of rows, columns and headings: name it in one.", [name])
        if levels.count(MEASURES) > 1:
            raise InputError(f"{MEASURES!r} stands once in rows or columns.")
        self._check_names(found)
        if self.settings.subtotals not in ("above", "below"):
            raise InputError('subtotals is "above" or "below", where subtotals stand.')

    def _check_names(self, found: Sequence[str]) -> None:
        """Refuse entries with the same name; capitals do not count, as the engine that reads the cells ignores them."""
        counts = self.columns["count"] == self.value
        entries = [
            (entry, given) for entry, given in self.columns.items() if given and not (counts and entry == "count")
        ]
        named = [(entry, name) for entry, given in entries for name in ([given] if isinstance(given, str) else given)]
        same = same_names([*(("a dimension", name) for name in found), *named])
        if same is None:
            repeated = [name for name in self.measures if self.measures.count(name) > 1]
            if repeated:
                raise InputError(f"{repeated[0]!r} stands twice in an entry: name it once.", repeated)
            return
        name, fault = same
        if name.lower() == self.value.lower() and not self.has_measures:
            advice = 'value may be any name, such as value = "number".'
        else:
            advice = "Rename one of them, in the sheet as well if it stands there."
        raise InputError(f"{fault} {advice}", [name])

    def read(self) -> CrossTable:
        grid = self.sheets.grid(self.reading.sheet)
        is_sheet = self.value in self.sheets.names and not self.has_measures
        if self.columns["count"] == self.value and is_sheet and self.reading.sheet not in (None, self.value):
            raise InputError(
                f"value and count are both called {self.value!r}, which is also another sheet. If this sheet has the numbers of "
                'contributors, give value another name, such as value = "number". If the values are counts themselves, use a '
                "name for both that no sheet has.",
                [self.value],
            )
        layout = find_layout(grid, self.settings, looks_like_number)
        self._describe(layout)
        dimensions = {name: self._paths(name, layout) for name in self.by}
        places = self._places(layout, dimensions, grid.name)
        if not self.has_measures:
            places = self._with_further_sheets(places, layout)
        self._describe_other_sheets()
        return self._cross_table(grid.name, places, dimensions)

    # -- labels and places ------------------------------------------------------------------------------------

    def _paths(self, name: str, layout: CrossLayout) -> DimensionPaths:
        axis = layout.rows if name in layout.rows.levels else layout.columns
        paths = DimensionPaths.of(
            layout.grid.name, name, axis, self.totals.get(name, "Total"), self.by[name], self.settings.subtotals
        )
        self.understood.append(paths.sentence())
        return paths

    def _places(
        self, layout: CrossLayout, dimensions: Mapping[str, DimensionPaths], name: str
    ) -> dict[str, dict[Key, Place]]:
        """The place of each cell, by measure and labels."""
        places: dict[str, dict[Key, Place]] = {measure: {} for measure in self.measures}
        keys = {}
        for axis in (layout.rows, layout.columns):
            for dimension, paths in dimensions.items():
                if dimension in axis.levels:
                    keys[dimension] = dict(zip(axis.positions, paths.paths(axis), strict=True))
        measures = {**self._measures(layout.rows), **self._measures(layout.columns)}
        by_row = MEASURES in layout.rows.levels
        seen: dict[str, None] = {}
        for row in layout.rows.positions:
            for column in layout.columns.positions:
                measure = measures[row if by_row else column] if measures else self.value
                seen[measure] = None
                if measure not in places:
                    continue
                key = tuple(keys[d][row if d in layout.rows.levels else column] for d in dimensions)
                old = places[measure].setdefault(key, (layout.grid, row, column))
                if old[1:] != (row, column):
                    twice = [address(*old[1:]), address(row, column)]
                    raise TableError(
                        f"{name}: {twice[0]} and {twice[1]} have the same labels. Correct them in the sheet, or name what "
                        "distinguishes them in rows, columns or headings.",
                        twice,
                    )
        missing = [measure for measure, found in places.items() if not found] if self.has_measures else []
        if missing:
            raise InputError(f"{name}: no label says {some(missing)}. There are {some(list(seen), 12)}.", missing)
        others = [measure for measure in seen if measure not in places]
        if others:
            self.understood.append(f"columns or rows with other measures are left out: {some(others, 12)}")
        return places

    def _measures(self, axis: AxisLabels) -> dict[int, str]:
        """The measure of each row or column; empty if this axis has no level for them."""
        if MEASURES not in axis.levels:
            return {}
        level = axis.levels.index(MEASURES)
        return {at: labels[level] or "" for at, labels in zip(axis.positions, axis.labels, strict=True)}

    def _with_further_sheets(
        self, places: dict[str, dict[Key, Place]], layout: CrossLayout
    ) -> dict[str, dict[Key, Place]]:
        """The places of the measures that have sheets of their own, which are laid out like that of the values."""
        for measure in self.measures[1:]:
            if not self.sheets.is_workbook:
                raise InputError(
                    f"{measure!r} would be a sheet, which {self.sheets.path} does not have. Write the numbers beside the "
                    f'values, under a header row that you call "{MEASURES}" in columns.',
                    [measure],
                )
            grid = self.sheets.grid(measure)
            different = [
                address(row, column)
                for row, column in layout.label_cells
                if cleaned_label(grid.text(row, column)) != cleaned_label(layout.grid.text(row, column))
            ]
            if different:
                raise InputError(
                    f"{grid.name} must have the same labels in the same cells as {layout.grid.name}: {some(different)} differ.",
                    different,
                )
            places[measure] = {key: (grid, row, column) for key, (_, row, column) in places[self.value].items()}
        return places

    # -- values -----------------------------------------------------------------------------------------------

    def _cross_table(
        self,
        name: str,
        places: Mapping[str, Mapping[Key, Place]],
        dimensions: Mapping[str, DimensionPaths],
    ) -> CrossTable:
        cells = {key: place[1:] for key, place in places[self.value].items()}
        data: dict[str, list[Any]] = {}
        for d, (dimension, paths) in enumerate(dimensions.items()):
            data[dimension] = [paths.code(key[d]) for key in cells]
        numbers = CellNumbers(name, self.reading)
        for measure in self.measures:
            found = [places[measure].get(key) for key in cells]
            if measure in self.who:
                data[measure] = [place[0].text(*place[1:]) or None if place else None for place in found]
            else:
                data[measure] = numbers.read(measure, found, optional=measure in self.columns["top"])
        self.understood += numbers.finish()
        frame = pd.DataFrame(data)
        hierarchies = {d: paths.hierarchy() for d, paths in dimensions.items()}
        labels = map(LABEL_SEPARATOR.join, zip(*(frame[dimension] for dimension in dimensions), strict=True))
        addresses = dict(zip(labels, (address(*cell) for cell in cells.values()), strict=True))
        return CrossTable(
            name, frame, hierarchies, self.columns, addresses, tuple(self.understood), self.reading.no_value
        )

    def _describe_other_sheets(self) -> None:
        """Say which sheets are not used, as readers may get them too."""
        used = {self.reading.sheet, *(() if self.has_measures else self.measures[1:])}
        others = [name for name in self.sheets.filled if name not in used]
        if others and self.reading.sheet is not None:
            self.understood.append(f"sheets that are not part of the job, and not protected by it: {some(others, 12)}")

    def _describe(self, layout: CrossLayout) -> None:
        rows, columns = layout.rows.positions, layout.columns.positions
        self.understood.append(
            f"{layout.grid.name}: values in {ranges(columns, column_letters)}, rows {ranges(rows)}; header in "
            f"{'row' if len(layout.header_rows) == 1 else 'rows'} {ranges(layout.header_rows)}"
        )
        if layout.ignored_rows:
            self.understood.append(f"rows that are no part of the table: {ranges(layout.ignored_rows)}")
        if layout.ignored_columns:
            self.understood.append(
                f"columns that are no part of the table: {ranges(layout.ignored_columns, column_letters)}"
            )
        if layout.footnotes:
            self.understood.append(f"marks of footnotes are removed from labels: {some(layout.footnotes, 12)}")
