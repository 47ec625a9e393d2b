"""Releases as cubes: one axis per dimension with the codes that occur, and an entry for every combination of codes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.errors import FormatError
from discreet.release import Release

MAX_CUBE_CELLS = 20_000_000  # a text file with more entries has hundreds of megabytes
# What an entry without a number is.
WITH_NUMBER, SUPPRESSED, NOT_IN_TABLE = 0, 1, 2


@dataclass(frozen=True)
class CubeAxis:
    """The codes of a dimension that occur in a release, in the order in which they are shown."""

    column: str  # as in the CSV file
    title: str  # for readers
    codes: tuple[str, ...]
    labels: tuple[str, ...]  # for readers
    parents: tuple[int, ...]  # the place of the code above that occurs; −1: none
    total: str | None  # the code of the total, if it occurs

    @cached_property
    def index(self) -> dict[str, int]:
        return {code: i for i, code in enumerate(self.codes)}

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """The number of codes above each code."""
        found: list[int] = []
        for parent in self.parents:  # a parent stands before its children
            found.append(0 if parent < 0 else found[parent] + 1)
        return tuple(found)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """The codes right below each code that has some."""
        found: dict[str, list[str]] = {}
        for code, parent in zip(self.codes, self.parents, strict=True):
            if parent >= 0:
                found.setdefault(self.codes[parent], []).append(code)
        return found

    @cached_property
    def distinct_labels(self) -> tuple[str, ...]:
        """Labels, followed by their code where several codes have the same."""
        times = Counter(self.labels)
        return tuple(
            label if times[label] == 1 else f"{label} ({code})"
            for code, label in zip(self.codes, self.labels, strict=True)
        )


def axes_of(release: Release) -> tuple[CubeAxis, ...]:
    """The axes of a release."""
    return tuple(_axis(release, column) for column in release.codes)


def _axis(release: Release, column: str) -> CubeAxis:
    occurring = dict.fromkeys(release.codes[column])
    hierarchy = release.hierarchies.get(column)
    if hierarchy is None:
        codes, parents, total = tuple(occurring), (-1,) * len(occurring), None
    else:
        order = [i for i in hierarchy.order().tolist() if hierarchy.codes[i] in occurring]
        place = {i: k for k, i in enumerate(order)}
        above = [_above(hierarchy.parents, i, place) for i in order]
        codes, total = tuple(hierarchy.codes[i] for i in order), hierarchy.total
        # A code of a further tree may stand before the code above it; it is then shown without one.
        parents = tuple(up if up < k else -1 for k, up in enumerate(above))
    labels = tuple(release.label(column, code) for code in codes)
    return CubeAxis(column, release.title(column), codes, labels, parents, total if total in occurring else None)


def _above(parents: IntArray, code: int, place: dict[int, int]) -> int:
    """The place of the nearest code above one that occurs, in the first tree that has it; −1 if there is none."""
    for tree in parents:
        up = int(tree[code])
        while up >= 0:
            if up in place:
                return place[up]
            up = int(tree[up])
    return -1


@dataclass(frozen=True)
class Cube:
    """The entries of a release for all combinations of codes, the last axis fastest; one column per measure."""

    release: Release
    axes: tuple[CubeAxis, ...]
    measures: tuple[str, ...]  # column names: the response, then the ends of intervals

    @classmethod
    def of(cls, release: Release) -> Cube:
        if release.tables:
            raise FormatError(
                "This format holds one table, and the release has several linked ones: write them one by one with "
                "release.part(1), release.part(2) and so on, or as CSV, Parquet or Excel."
            )
        axes = axes_of(release)
        cells = math.prod(len(axis.codes) for axis in axes)
        if cells > MAX_CUBE_CELLS:
            raise FormatError(
                f"All combinations of codes are {cells:,} entries, more than {MAX_CUBE_CELLS:,}: write CSV or Parquet instead."
            )
        return cls(release, axes, (release.response, *release.ends))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis.codes) for axis in self.axes)

    @cached_property
    def place(self) -> IntArray:
        """The place of each cell of the release in the cube."""
        indices = [
            np.array([axis.index[code] for code in self.release.codes[axis.column]], dtype=np.int64)
            for axis in self.axes
        ]
        return np.asarray(np.ravel_multi_index(tuple(indices), self.shape), dtype=np.int64)

    @cached_property
    def kinds(self) -> IntArray:
        """Of each combination WITH_NUMBER, SUPPRESSED or NOT_IN_TABLE. Cells that a complete release does not list are zero."""
        kinds = np.full(math.prod(self.shape), WITH_NUMBER if self.release.complete else NOT_IN_TABLE, dtype=np.int64)
        kinds[self.place] = np.where(self.release.suppressed, SUPPRESSED, WITH_NUMBER)
        return kinds

    def values(self, measure: str) -> FloatArray:
        """The numbers of a measure, NaN where there is none."""
        is_value = measure == self.release.response
        # A cell that is not listed may be rounded to zero, so that the ends of its interval are not known.
        values = np.full(math.prod(self.shape), 0.0 if is_value and self.release.complete else np.nan)
        values[self.place] = self.release.value if is_value else self.release.ends[measure]
        return values

    @cached_property
    def decimals(self) -> int:
        """The number of decimals of published values."""
        return decimals_of(self.release)

    def combinations(self) -> Iterator[tuple[str, ...]]:
        """The codes of each combination."""
        for where in np.ndindex(*self.shape):
            yield tuple(axis.codes[i] for axis, i in zip(self.axes, where, strict=True))


def decimals_of(release: Release) -> int:
    """The number of decimals with which values are shown: as stated, otherwise as many as the values have, six at most."""
    if release.decimals is not None:
        return max(release.decimals, 0)
    columns = [release.value, *release.ends.values()]
    numbers = np.concatenate([column[~np.isnan(column)] for column in columns])
    found = digits_of(numbers) if len(numbers) else 0
    return 6 if found is None else found


def cube_legend(cube: Cube, sign: str) -> list[tuple[str, str]]:
    """The legend of the release, and the ``sign`` of entries without a figure that are not suppressed, if there are any."""
    found, listed = cube.release.legend(), np.zeros(math.prod(cube.shape), dtype=bool)
    listed[cube.place] = True
    if not listed.all() and (len(cube.measures) > 1 or not cube.release.complete):
        found = [*found, (sign, cube.release.language.say("The table has no figure here."))]
    return found


def number_format(release: Release) -> str:
    """How workbooks show values: with all published decimals, and a sign between thousands; readers see their own signs."""
    columns = [release.value, *release.ends.values()]
    numbers = np.concatenate([column[~np.isnan(column)] for column in columns])
    if release.decimals is None and len(numbers) and digits_of(numbers) is None:
        return "General"
    decimals = decimals_of(release)
    return "#,##0" + ("." + "0" * decimals if decimals else "")


def number_text(value: float) -> str:
    """A number in full, without a decimal point if it is an integer and without an exponent."""
    if value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return np.format_float_positional(value, trim="-")


def unused(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores after it until it is none of those taken."""
    names = {one.casefold() for one in taken}
    while name.casefold() in names:
        name += "_"
    return name


def table_title(release: Release, axes: Sequence[CubeAxis] | None = None) -> str:
    """The title of the table: as given, otherwise the response by the dimensions."""
    given = release.presentation.metadata.title
    if given:
        return given
    names = [axis.title for axis in (axes_of(release) if axes is None else axes)]
    return release.language.say(
        "{response} by {dimensions}", response=release.title(release.response), dimensions=", ".join(names)
    )
