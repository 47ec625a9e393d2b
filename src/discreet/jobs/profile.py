"""What the columns of a file contain: counts that suggest their roles, and the codes of columns that have few."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.data.columns import Columns
from discreet.data.opened_records import USUAL_MARKS
from discreet.data.reading import DEFAULT_READING, Reading
from discreet.data.records import as_text, column_names, open_records
from discreet.errors import InputError

# A dimension with more codes is not guessed: its table would be too long to be read, or the column identifies records.
MAX_CODES = 5_000
MAX_CODES_SHARE = 0.5  # of the number of records; nearly as many codes as records identify them
MIN_CONTINUATIONS = 1.5  # with fewer, codes that only number their items would seem to have levels
NUMBER = r"^\s*[+\-−(]?\s*\d[\d.,'’\s\x{00A0}\x{202F}]*[)\-]?\s*$"  # in any of the formats that files are read in
SEPARATOR = r"\d[.,]\d"


@dataclass(frozen=True, repr=False)
class ColumnProfile:
    """Counts of the entries of a column."""

    name: str
    records: int
    filled: int
    distinct: int  # exact where ``codes`` lists them, otherwise an estimate
    numbers: int
    separators: int  # numbers with a point or comma inside
    negative: int
    marks: int  # usual texts in place of a number, such as NA
    codes: tuple[str, ...] = ()  # sorted; none if they are too many

    def __repr__(self) -> str:
        return f"ColumnProfile({self.name!r}, {self.filled:,} of {self.records:,} entries)"

    @property
    def is_numeric(self) -> bool:
        """Whether all entries are numbers, or marks in place of them."""
        return self.numbers > 0 and self.numbers + self.marks == self.filled

    @property
    def is_constant(self) -> bool:
        return self.distinct <= 1


@dataclass(frozen=True, repr=False)
class Profile:
    """The columns of a file."""

    path: Path
    reading: Reading
    columns: dict[str, ColumnProfile]
    determined: frozenset[tuple[str, str]] = field(
        default_factory=frozenset
    )  # each code of the first has one of the second

    def __repr__(self) -> str:
        return f"Profile({str(self.path)!r}, {len(self.columns)} columns)"

    @property
    def records(self) -> int:
        return next(iter(self.columns.values())).records


def profile_records(path: Path, reading: Reading = DEFAULT_READING) -> Profile:
    """The profile of a file of records. Codes are collected only where a column has few enough to be a dimension."""
    with _opened(path, reading) as source:
        counted = source.aggregate(
            [
                source.count().name("records"),
                *(part for i, name in enumerate(source.columns) for part in _counts(source[name], i)),
            ]
        ).to_pandas()
        counts = {name: int(value) for name, value in counted.iloc[0].items()}
        if not counts["records"]:
            raise InputError(f"{path} has no records below the names of its columns.")
        columns = {name: _column(source, name, i, counts) for i, name in enumerate(source.columns)}
        return Profile(path, reading, columns, _determined(source, columns))


@contextmanager
def _opened(path: Path, reading: Reading) -> Iterator[Any]:
    """All columns of a file whose names occur once."""
    names = column_names(path, reading)
    by = tuple(
        name for name in names if name.strip() and names.count(name) == 1
    )  # names of rows have no name themselves
    repeated = [name for name in names if name.strip() and names.count(name) > 1]
    if repeated:
        raise InputError(f"{path} has several columns called {repeated[0]!r}. Rename all but one.", repeated)
    if not by:
        raise InputError(f"{path}: no column has a name. Is line 1 the header? If not, add header_row.")
    with open_records(path, Columns(by, None, None, (), None, None, None), reading) as opened:
        yield opened.rows


def _counts(column: Any, i: int) -> list[Any]:
    """Named counts of the entries of column ``i``."""
    text = as_text(column)
    if column.type().is_numeric():
        number, separator, negative = column.notnull(), column != column.floor(), column < 0
        mark = column.isnull() & False
    else:
        number, separator, negative = (
            text.re_search(pattern) for pattern in (NUMBER, SEPARATOR, r"^\s*[\-−(]|[\-)]\s*$")
        )
        mark = is_mark(text)
    return [
        text.count().name(f"filled{i}"),
        text.approx_nunique().name(f"distinct{i}"),
        number.sum().fill_null(0).name(f"numbers{i}"),
        (number & separator).sum().fill_null(0).name(f"separators{i}"),
        (number & negative).sum().fill_null(0).name(f"negative{i}"),
        mark.sum().fill_null(0).name(f"marks{i}"),
    ]


def is_mark(text: Any) -> Any:
    """Whether texts are usual marks in place of a number."""
    return text.strip().lower().isin(sorted(USUAL_MARKS))


def marks_in(profile: Profile, name: str) -> list[str]:
    """The marks in place of numbers in a column, as they are written."""
    with _opened(profile.path, profile.reading) as source:
        text = as_text(source[name]).strip()
        found = source.select(mark=text).filter(is_mark(text)).distinct().to_pandas()["mark"]
    return sorted(map(str, found))


def _column(source: Any, name: str, i: int, counts: dict[str, int]) -> ColumnProfile:
    kinds = ("filled", "distinct", "numbers", "separators", "negative", "marks")
    found = {kind: counts[f"{kind}{i}"] for kind in kinds}
    codes: tuple[str, ...] = ()
    if found["distinct"] <= min(MAX_CODES, max(MAX_CODES_SHARE * counts["records"], 20)):
        listed = source.select(as_text(source[name]).name("code")).distinct().to_pandas()["code"].dropna()
        codes = tuple(sorted(map(str, listed)))
        found["distinct"] = len(codes)
    found["distinct"] = min(found["distinct"], found["filled"])  # an estimate may be higher
    return ColumnProfile(name, counts["records"], codes=codes, **found)


def _determined(source: Any, columns: dict[str, ColumnProfile]) -> frozenset[tuple[str, str]]:
    """Pairs of a finer column and a coarser one, of which each code of the finer one has a single code."""
    listed = sorted((c for c in columns.values() if c.codes and not c.is_constant), key=lambda c: c.distinct)
    found = set()
    for position, finer in enumerate(listed):
        coarser = [c for c in listed[:position] if c.filled == c.records]
        if coarser and finer.filled == finer.records:
            by = source.group_by(as_text(source[finer.name]).name("__finer"))
            most = by.aggregate([as_text(source[c.name]).nunique().name(f"n{i}") for i, c in enumerate(coarser)])
            highest = most.aggregate([most[f"n{i}"].max().name(f"n{i}") for i in range(len(coarser))]).to_pandas()
            found |= {(finer.name, c.name) for i, c in enumerate(coarser) if highest[f"n{i}"].iloc[0] == 1}
    return frozenset(found)


def determines(profile: Profile, finer: str, coarser: str) -> bool:
    """Whether each entry of a column goes with a single entry of another; missing entries aside."""
    with _opened(profile.path, profile.reading) as source:
        pairs = source.select(finer=as_text(source[finer]), coarser=as_text(source[coarser])).drop_null()
        most = pairs.group_by("finer").aggregate(pairs.coarser.nunique().name("n"))
        highest = most.n.max().to_pandas()
    return highest is not None and highest == 1


def digit_levels(codes: Sequence[str]) -> list[int] | None:
    """Widths of digit levels if codes of one length share beginnings, such as ``[1, 1, 2]``; otherwise None.

    A width is a level if its beginnings have on average ``MIN_CONTINUATIONS`` or more at the next level.
    """
    lengths = {len(code) for code in codes}
    if len(lengths) != 1 or len(codes) < 4 or not all(code.isalnum() for code in codes):
        return None
    (length,) = lengths
    ends, below = [length], len(codes)
    # A letter and the first of several digits is no level of NACE, ISIC or ICD.
    after_letter = 2 if length > 2 and all(re.fullmatch("[A-Za-z][0-9]{2,}", code) for code in codes) else 0
    for end in (end for end in range(length - 1, 0, -1) if end != after_letter):
        beginnings = len({code[:end] for code in codes})
        if beginnings > 1 and below >= MIN_CONTINUATIONS * beginnings:
            ends.append(end)
            below = beginnings
    if (
        length > 2 and ends == [length, 1] and not after_letter
    ):  # codes that only number their items share their first digits, too
        return None
    ends = [0, *sorted(ends)]
    return [after - before for before, after in pairwise(ends)] if len(ends) > 2 else None
