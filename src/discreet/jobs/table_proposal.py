"""Proposes how a sheet can be read as a finished table. Whether its totals are sums decides between several readings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path

from discreet.data.cross_layout import CrossLayout, CrossSettings, cleaned_label
from discreet.data.cross_numbers import looks_like_number
from discreet.data.cross_table import MEASURES, CrossReader, CrossTable
from discreet.data.reading import Reading
from discreet.data.sheet_grid import SheetFile, SheetGrid, address
from discreet.errors import InputError
from discreet.jobs.roles import named
from discreet.jobs.sheet_layouts import possible_layouts
from discreet.jobs.sheet_levels import (
    dimensions_of,
    has_grand_total,
    is_total,
    labels_of_measures,
    measures_of,
    named_levels,
    renamed,
    totals_of,
)
from discreet.jobs.sheet_texts import SheetTexts, distinct, texts_around

MAX_BYTES = 3_000_000  # larger files have records
MAX_NUMBERS = 30_000  # in a sheet; more are records
MAX_WITHOUT_WORD = 3_000  # numbers in a sheet without a word for totals; more are records
MAX_READINGS = 80  # that are tried per sheet; the likely ones come first


@dataclass(frozen=True)
class TableProposal:
    """A reading of a sheet as a finished table."""

    sheet: str | None
    layout: CrossLayout
    settings: CrossSettings
    value: str
    count: str | None = None  # the same as ``value`` if the values are counts
    top: tuple[str, ...] = ()
    totals: Mapping[str, str] = field(default_factory=dict)  # of dimensions whose total has a name of its own
    without_total: tuple[str, ...] = ()  # dimensions that have no total in the sheet
    unpublished_totals: bool = False  # the user says that these totals are not published anywhere
    texts: SheetTexts = field(default_factory=SheetTexts)
    adds_up: bool = False  # in all totals that are there
    sheets: tuple[str, ...] = ()  # other sheets with any content
    others: tuple[str, ...] = ()  # those of them that the proposal does not use

    @property
    def is_count(self) -> bool:
        """Whether the values are counts of contributors."""
        return self.count == self.value

    @property
    def codes(self) -> dict[str, list[str]]:
        """The labels of each dimension, totals included; of several levels those of all."""
        codes: dict[str, dict[str, None]] = {name: {} for name in self.dimensions}
        rows = (*([self.settings.headings] if self.settings.headings else []), *self.settings.rows)
        for axis, levels in ((self.layout.rows, rows), (self.layout.columns, self.settings.columns)):
            for label in axis.labels:
                for name, code in zip(levels, label, strict=True):
                    if code is not None and name in codes:
                        codes[name][code] = None
        return {name: list(found) for name, found in codes.items()}

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of the dimensions: those of rows first."""
        return dimensions_of(self.settings)

    @property
    def has_measures(self) -> bool:
        """Whether labels in the sheet say what the numbers are."""
        return MEASURES in (*self.settings.rows, *self.settings.columns)

    @property
    def is_list(self) -> bool:
        """Whether the sheet has one row per cell, and columns with measures."""
        return self.settings.columns == (MEASURES,)

    @property
    def labels_of_measures(self) -> list[str]:
        """The labels that say what the numbers are."""
        return list(labels_of_measures(self.layout, self.settings))

    @property
    def marks(self) -> dict[str, list[str]]:
        """The cells without a number, by the text that they have; empty cells are among them."""
        marks: dict[str, list[str]] = {}
        for row, column in product(self.layout.rows.positions, self.layout.columns.positions):
            if not looks_like_number(self.layout.grid.contents.get((row, column))):
                marks.setdefault(self.layout.grid.text(row, column), []).append(address(row, column))
        return marks

    def renamed(self, names: Mapping[str, str]) -> TableProposal:
        """The proposal with other names of dimensions."""
        return replace(
            self,
            settings=renamed(self.settings, names),
            totals={names.get(name, name): total for name, total in self.totals.items()},
            without_total=tuple(names.get(name, name) for name in self.without_total),
        )

    def read(self, sheets: SheetFile, reading: Reading) -> CrossTable:
        """The table as this proposal reads it."""
        reading = replace(reading, sheet=self.sheet)
        return CrossReader(sheets, self.settings, reading, {}, self.totals, self.value, self.count, self.top).read()


def propose_table(path: Path, reading: Reading) -> TableProposal | None:
    """The reading of a sheet that adds up; otherwise one with totals in rows and in columns; None if there is neither."""
    if path.stat().st_size > MAX_BYTES or not path.name.lower().endswith((".xlsx", ".csv", ".tsv", ".txt")):
        return None
    try:
        sheets = SheetFile.of(path, reading)
    except InputError:  # the reader of records says what is wrong with the file
        return None
    names = [reading.sheet] if reading.sheet is not None or not sheets.is_workbook else list(sheets.filled)
    found = [proposal for name in names if (proposal := _of_sheet(sheets, name, reading)) is not None]
    found.sort(key=lambda proposal: not proposal.adds_up)  # stable: the first sheet comes first
    return _with_sheets_of_measures(sheets, found) if found else None


def _of_sheet(sheets: SheetFile, name: str | None, reading: Reading) -> TableProposal | None:
    """The best reading of a sheet, if it is one of a finished table."""
    try:
        grid = sheets.grid(name)
    except InputError:
        return None
    numbers = sum(map(looks_like_number, grid.contents.values()))
    if numbers > MAX_NUMBERS or (
        numbers > MAX_WITHOUT_WORD and not any(is_total(grid.text(*at)) for at in grid.contents)
    ):
        return None
    partial: TableProposal | None = None  # it adds up as far as it has totals
    likely: TableProposal | None = None  # it has all totals, but does not add up
    for proposal in islice(_readings(name, grid, reading), MAX_READINGS):
        if proposal.is_list and any(named(name, "contributor") for name in proposal.dimensions):
            continue  # records and a line of sums
        if _adds_up(sheets, proposal, reading):
            found = replace(proposal, adds_up=True)
            if not found.without_total:
                return found
            partial = partial or found
        elif not (likely or proposal.has_measures or proposal.without_total):
            likely = proposal
    return partial or likely


def _adds_up(sheets: SheetFile, proposal: TableProposal, reading: Reading) -> bool:
    """Whether all totals are there and are the sums of their parts. Marks in place of numbers count as zero for this."""
    for decimal in [reading.decimal] if reading.decimal else [None, ","]:
        explained = replace(reading, missing=(*reading.missing, *proposal.marks), no_value="zero", decimal=decimal)
        try:
            table = proposal.read(sheets, explained).table(unpublished_totals=bool(proposal.without_total))
        except InputError:
            continue
        return all(len(hierarchy) > 2 for hierarchy in table.dimensions.values())
    return False


def _readings(name: str | None, grid: SheetGrid, reading: Reading) -> Iterator[TableProposal]:
    """Ways to read a sheet, the likely ones first."""
    for layout in possible_layouts(grid, reading.header_row):
        texts = texts_around(layout)
        for settings in named_levels(layout, texts.title):
            value, count, top = measures_of(layout, settings, texts)
            totals, without = totals_of(layout, settings)
            if has_grand_total(layout, settings, totals, without):
                found = TableProposal(name, layout, settings, value, count, top, totals, without, texts=texts)
                yield found
                if any(layout.rows.indents):
                    yield replace(found, settings=replace(settings, subtotals="below"))


# -- sheets --------------------------------------------------------------------------------------------------------


def _with_sheets_of_measures(sheets: SheetFile, found: Sequence[TableProposal]) -> TableProposal:
    """The first proposal; if other sheets have other measures of the same cells, that of the sheet with the values."""
    first = found[0]
    same = [proposal for proposal in found if not proposal.has_measures and _same_labels(proposal.layout, first.layout)]
    if first.has_measures or len(same) < 2:
        used = {first.sheet}
    else:
        kinds = {
            str(one.sheet): next((k for k in ("largest", "count") if named(str(one.sheet), k)), "value") for one in same
        }
        values = [one for one in same if kinds[str(one.sheet)] == "value"] or same
        counts = [name for name, kind in kinds.items() if kind == "count" and name != values[0].sheet]
        top = [name for name, kind in kinds.items() if kind == "largest"]
        given = values[0]
        first = replace(
            given,
            value=given.texts.response or next(distinct([str(given.sheet)], [*given.dimensions, *counts, *top])),
            count=counts[0] if counts else given.count,
            top=tuple(top),
        )
        used = {first.sheet, *counts[:1], *top}
    return replace(
        first,
        sheets=tuple(name for name in sheets.filled if name != first.sheet),
        others=tuple(name for name in sheets.filled if name not in used),
    )


def _same_labels(one: CrossLayout, other: CrossLayout) -> bool:
    return one.label_cells == other.label_cells and all(
        cleaned_label(one.grid.text(*cell)) == cleaned_label(other.grid.text(*cell)) for cell in one.label_cells
    )
