"""Releases as written: what each line says about its cell."""

from __future__ import annotations

import csv
import itertools
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tests.oracles.records import Codes, Survey


@dataclass(frozen=True)
class Line:
    """One cell of a release: its value unless suppressed, and the ends of its interval where some are told."""

    value: Fraction | None
    lower: Fraction | None = None
    upper: Fraction | None = None

    @property
    def suppressed(self) -> bool:
        return self.value is None


@dataclass(frozen=True)
class Release:
    """The lines of a release by codes."""

    lines: dict[Codes, Line]
    with_intervals: bool

    @property
    def lists_zeros(self) -> bool:
        return any(line.value == 0 for line in self.lines.values())


def read_release(survey: Survey, path: Path) -> Release:
    """``release.csv``: a column for each dimension, the response, and perhaps the ends of intervals."""
    symbol = survey.output.get("symbol", "×")
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    names = list(survey.trees)
    places = [header.index(name) for name in names]
    ends = [k for k, name in enumerate(header) if name.endswith((" lower", " upper")) and k not in places]
    (value,) = (k for k in range(len(header)) if k not in (*places, *ends))
    lines = {}
    for row in rows:
        number = None if row[value] == symbol else Fraction(row[value])
        told = [Fraction(row[k]) if row[k] else None for k in ends]
        lines[tuple(row[k] for k in places)] = Line(number, *told)
    return Release(lines, bool(ends))


def differs_from_workbook(release: Release, survey: Survey, path: Path) -> str | None:
    """What the workbook says that the CSV file does not, None if they agree."""
    from openpyxl import load_workbook

    symbol = survey.output.get("symbol", "×")
    book = load_workbook(path)
    header, *rows = book["cells"].iter_rows(values_only=True)
    n = len(survey.trees)
    seen = {tuple(map(str, row[:n])): [None if v == symbol else v for v in row[n:]] for row in rows}
    told = {place: [line.value, line.lower, line.upper][: len(header) - n] for place, line in release.lines.items()}
    if seen.keys() != told.keys():
        return "the sheet 'cells' lists other cells than the CSV file"
    for place, values in told.items():
        if not all(map(_same, values, seen[place])):
            return f"the sheet 'cells' says something else about {' × '.join(place)} than the CSV file"
    if "table" in book.sheetnames and n <= 2:
        return _differs_from_table(
            release, survey, list(book["table"].iter_rows(values_only=True)), len(header) - n, symbol
        )
    return None


def _differs_from_table(release: Release, survey: Survey, rows: list[tuple], measures: int, symbol: str) -> str | None:
    """What the sheet in rows and columns says that the CSV file does not. A column has one number, or three with intervals."""
    start = next(i for i, row in enumerate(rows) if row[0] == next(iter(survey.trees)))  # below the title
    codes = (
        [()] if len(survey.trees) == 1 else [(code,) for code in rows[start - (measures > 1)][1:] if code is not None]
    )
    for row in itertools.takewhile(lambda row: row[0] is not None, rows[start + 1 :]):
        for k, column in enumerate(codes):
            place = (str(row[0]), *map(str, column))
            shown = row[1 + k * measures : 1 + (k + 1) * measures]
            line = release.lines.get(place)
            if line is None:
                if any(v not in (0, None) and not isinstance(v, str) for v in shown):
                    return f"the sheet 'table' shows {shown} for {place}, which is not listed"
            elif not all(
                _same(number, None if v == symbol else v)
                for number, v in zip((line.value, line.lower, line.upper), shown, strict=False)
            ):
                return f"the sheet 'table' shows {shown} for {place}"
    return None


def _same(told: Fraction | None, shown: float | None) -> bool:
    """Workbooks keep 15 digits of a number."""
    if told is None or shown is None:
        return told is None and shown is None
    return abs(float(told) - shown) <= 1e-14 * abs(shown)


def surplus_digits(release: Release, decimals: int) -> list[Codes]:
    """Cells for which a number has more decimals than the job asks for: what is left of rounding in floating point."""
    unit = Fraction(10) ** -decimals
    return [
        place
        for place, line in release.lines.items()
        if any(n is not None and (n / unit).denominator != 1 for n in (line.value, line.lower, line.upper))
    ]
