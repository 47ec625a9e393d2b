"""The numbers in the cells of a cross-table, and marks in place of numbers, which are asked about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any, TypeAlias

import numpy as np

from discreet.data.numerals import NumberFormat, evidence_of, formats
from discreet.data.reading import Reading
from discreet.data.sheet_grid import SheetGrid, address, as_label
from discreet.errors import TableError, plural

Place: TypeAlias = tuple[SheetGrid, int, int]  # a cell: its sheet, row and column

# Marks of footnotes after a number: 12¹ 12* and, after a blank, 12 1)
FOOTNOTE_ON_NUMBER = re.compile(r"\s*(?:[¹²³⁴-⁹]+\)?|\*+|†+|\s\d{1,2}\))$")
MAX_SHOWN_PLACES = 3  # of the cells with the same mark
ANY_FORMAT = [NumberFormat(decimal, parentheses=True) for decimal in (".", ",")]


def looks_like_number(content: object) -> bool:
    """Whether a cell has a number, or a text that is one in some notation."""
    if isinstance(content, str):
        return any(one.number_of(_without_footnote(content)) is not None for one in ANY_FORMAT)
    return isinstance(content, int | float) and not isinstance(content, bool)


class CellNumbers:
    """Reads the numbers in cells of a cross-table. All cells without a number are reported together, in ``finish``."""

    def __init__(self, sheet: str, reading: Reading) -> None:
        self.sheet, self.reading = sheet, reading
        self.unknown: dict[str, list[str]] = {}  # the cells with each mark that no setting explains
        self.known: dict[
            tuple[str, str], int
        ] = {}  # how many cells of each measure have each mark that settings explain
        self.measures: list[str] = []
        self.faults: dict[str, list[str]] = {}  # the cells with each kind of other content

    def read(self, measure: str, places: Iterable[Place | None], *, optional: bool) -> list[float]:
        """The numbers in cells; not a number for those that settings explain, and for empty ones if numbers are optional."""
        self.measures.append(measure)
        given = list(places)
        form = self._format(measure, given)
        return [np.nan if place is None else self._number(place, form, optional=optional) for place in given]

    def finish(self) -> Iterator[str]:
        """What was made of marks, in sentences; raises if there are marks or contents that no setting explains."""
        faults = [f"{what} in place of a number in {_cells(where)}" for what, where in self.faults.items()]
        if self.unknown:
            shown = ", ".join(f"{_marked(mark)} in {_cells(where)}" for mark, where in self.unknown.items())
            listed = ", ".join(f'"{mark}"' for mark in self.unknown if mark)
            answer = f'missing = [{listed}] and no_value = "zero"' if listed else 'no_value = "zero"'
            faults.append(
                f"cells without a number: {shown}. If all of them mean zero or that there is nothing, add {answer}. If they "
                "are suppressed or not known, the table cannot be protected as it is: use the one before suppression"
            )
        if faults:
            raise TableError(
                f"{self.sheet}: {'; '.join(faults)}.", [place for found in self.unknown.values() for place in found]
            )
        for (measure, mark), times in self.known.items():
            treated = "taken as zero" if self.reading.no_value == "zero" else "left out of the table"
            of = f" of {measure!r}" if len(self.measures) > 1 else ""
            yield f"{plural(times, 'cell')}{of} without a number, with {_marked(mark)}, {'is' if times == 1 else 'are'} {treated}"

    def _number(self, place: Place, form: NumberFormat, *, optional: bool) -> float:
        grid, row, column = place
        content = grid.contents.get((row, column), "")
        where = address(row, column) if grid.name == self.sheet else f"{address(row, column)} of {grid.name}"
        if isinstance(content, bool | date):
            what = "a date" if isinstance(content, date) else "true or false"
            self.faults.setdefault(what, []).append(where)
            return np.nan
        if isinstance(content, int | float):
            return float(content)
        text = str(content).strip()
        number = form.number_of(_without_footnote(text))
        if number is not None:
            return number
        if not text and optional:
            return np.nan
        if self.reading.no_value != "error" and (not text or text in self.reading.missing):
            of = self.measures[-1], text
            self.known[of] = self.known.get(of, 0) + 1
            return np.nan
        if any(sign.isdigit() for sign in text):  # a message must not show it: it may be a value
            in_parentheses = text.startswith("(") and looks_like_number(text)
            what = (
                'parentheses (is it negative? parentheses = "negative")' if in_parentheses else "other text with digits"
            )
            self.faults.setdefault(what, []).append(where)
        else:
            self.unknown.setdefault(as_label(text), []).append(where)
        return np.nan

    def _format(self, measure: str, places: Iterable[Place | None]) -> NumberFormat:
        """The notation of the numbers that are stored as text."""
        allowed = formats(self.reading)
        if len(allowed) == 1:
            return allowed[0]
        found: dict[str, list[str]] = {}
        for grid, row, column in filter(None, places):
            content: Any = grid.contents.get((row, column))
            says = evidence_of(_without_footnote(content), *allowed) if isinstance(content, str) else None
            found.setdefault(says or "", []).append(address(row, column))
        if "point" in found and "comma" in found:
            raise TableError(
                f"{self.sheet}: some numbers of {measure!r} are written with a decimal point (e.g. {found['point'][0]}), others "
                f"with a decimal comma (e.g. {found['comma'][0]}). Correct them."
            )
        if "either" in found and not found.keys() & {"point", "comma"}:
            raise TableError(
                f"{self.sheet}: the numbers of {measure!r} can be read in two ways, e.g. {found['either'][0]}: with a decimal "
                'point, or with a decimal comma and points between thousands. Add decimal = "." or decimal = ",".',
                found["either"],
            )
        return allowed[1] if "comma" in found else allowed[0]


def _without_footnote(text: str) -> str:
    return FOOTNOTE_ON_NUMBER.sub("", text)


def _marked(mark: str) -> str:
    return repr(mark) if mark else "nothing"


def _cells(places: list[str]) -> str:
    more = len(places) - MAX_SHOWN_PLACES
    return ", ".join(places[:MAX_SHOWN_PLACES]) + (f" and {more:,} more" if more > 0 else "")
