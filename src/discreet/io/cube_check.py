"""Check of written PC-Axis and JSON-stat files: every combination of codes shows what the release says about it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from discreet.errors import NotSafeError
from discreet.io.csvw import description, read_metadata
from discreet.io.jsonstat import read_jsonstat
from discreet.io.pcaxis import SUPPRESSED_SIGN, read_px
from discreet.io.refusal import WRITTEN_TOLERANCE, refuse
from discreet.release import Release


def check_px(release: Release, path: Path) -> None:
    found = read_px(path)
    variables = [*found.texts("STUB"), *found.texts("HEADING")]
    codes = [found.texts("CODES", name) for name in variables]
    columns, listed = _by_measure(release, codes)
    if [set(axis) for axis in columns] != [set(listed) for listed in release.codes.values()]:
        refuse("codes", [name for axis in columns for name in axis][:3])
    numbers = [None if set(entry) <= {"."} else float(entry) for entry in found.data]
    _check(release, columns, listed, numbers)
    for i, (cell, _) in enumerate(_entries(release, columns, listed)):
        wrong = found.data[i] == SUPPRESSED_SIGN and not release.suppressed[_place(release).get(cell, 0)]
        if wrong:
            refuse("cells", [cell])


def check_jsonstat(release: Release, path: Path) -> None:
    datasets = read_jsonstat(path)
    parts = [release.part(number) for number in range(1, len(release.tables) + 1)] or [release]
    if len(datasets) != len(parts):
        refuse("tables", [len(datasets)])
    for part, found in zip(parts, datasets, strict=True):
        codes = [list(found["dimension"][name]["category"]["index"]) for name in found["id"]]
        if found["id"][:-1] != list(part.codes):
            refuse("columns", found["id"])
        _check(part, codes[:-1], codes[-1], found["value"])


def check_csvw(release: Release, path: Path) -> None:
    found = read_metadata(path)
    if found != description(release, "") | {"url": found.get("url")}:
        refuse("metadata", [name for name, part in found.items() if part != description(release, "").get(name)])


def _by_measure(release: Release, codes: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """The codes of each dimension, and of the measures: the last axis if intervals are published."""
    if len(codes) > len(release.codes):
        return codes[:-1], codes[-1]
    return codes, [release.response]


def _place(release: Release) -> dict[tuple[str, ...], int]:
    return {cell: i for i, cell in enumerate(zip(*release.codes.values(), strict=True))}


def _entries(
    release: Release, codes: Sequence[Sequence[str]], measures: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    for *cell, measure in product(*codes, measures):
        yield tuple(cell), measure


def _check(release: Release, codes: Sequence[Sequence[str]], measures: Sequence[str], numbers: Sequence[Any]) -> None:
    """Raise unless there is a number for each published cell, and none for others; cells that are not listed may be zero."""
    columns = {release.response: release.value, **release.ends}
    if list(measures) != list(columns):
        refuse("columns", measures)
    size = math.prod(len(axis) for axis in (*codes, measures))
    if len(numbers) != size:
        refuse("cells", [f"{len(numbers)} entries instead of {size}"])
    place, seen = _place(release), 0
    for (cell, measure), number in zip(_entries(release, codes, measures), numbers, strict=True):
        i = place.get(cell)
        seen += i is not None
        if i is None:
            expected = 0.0 if release.complete and measure == release.response else math.nan
        else:
            expected = float(columns[measure][i])
        given = math.nan if number is None else float(number)
        same = abs(given - expected) <= WRITTEN_TOLERANCE * abs(expected) or (given != given and expected != expected)
        if not same:
            refuse("cells", [cell])
    if seen != len(release) * len(columns):
        raise NotSafeError(
            "Not published: as written the release leaves out cells. This is a fault of the program: please report it."
        )
