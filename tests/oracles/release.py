"""Releases as written: what each line says about its cell."""

from __future__ import annotations

import csv
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
    seen = {}
    for row in rows:
        told = [None if v is None else Fraction(str(v)) for v in row[n + 1 :]]
        seen[tuple(map(str, row[:n]))] = Line(None if row[n] == symbol else Fraction(str(row[n])), *told)
    if seen != release.lines:
        return f"the sheet 'cells' differs from the CSV file ({len(header)} columns)"
    if "table" in book.sheetnames:
        (_, *columns), *rows = book["table"].iter_rows(values_only=True)
        for code, *values in rows:
            for column, v in zip(columns, values, strict=True):
                line = release.lines.get((str(code), str(column)))
                if line is None:
                    if v not in (0, None) and not isinstance(v, str):
                        return f"the sheet 'table' shows {v} for ({code}, {column}), which is not listed"
                elif (line.value is None) != (v == symbol) or (
                    line.value is not None and Fraction(str(v)) != line.value
                ):
                    return f"the sheet 'table' shows {v} for ({code}, {column})"
    return None
