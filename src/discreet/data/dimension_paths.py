"""The codes and the hierarchy of a dimension of a cross-table, from its labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from discreet.data.cross_layout import TOTAL_WORDS, AxisLabels
from discreet.data.hierarchy import Hierarchy
from discreet.errors import InputError, dimension_section, some

LabelPath: TypeAlias = tuple[str, ...]  # labels from the outermost; empty for the total


@dataclass(frozen=True)
class DimensionPaths:
    """How the labels of a dimension are understood."""

    sheet: str
    dimension: str
    total: str  # the label of the total
    given: Hierarchy | None  # labels are its codes
    subtotals: str
    found: tuple[LabelPath, ...]  # of all rows or columns, in their order, each once
    source: str

    @classmethod
    def of(
        cls, sheet: str, dimension: str, axis: AxisLabels, total: str, given: Hierarchy | None, subtotals: str
    ) -> DimensionPaths:
        levels = [i for i, name in enumerate(axis.levels) if name == dimension]
        labels = dict.fromkeys(label[levels[0]] for label in axis.labels)
        named = _total_label(sheet, dimension, list(labels), total if given is None else given.total)
        source = " and ".join(axis.sources[i] for i in levels)
        first = cls(sheet, dimension, named, given, subtotals, (), source)
        return cls(sheet, dimension, named, given, subtotals, tuple(dict.fromkeys(first.paths(axis))), source)

    def paths(self, axis: AxisLabels) -> list[LabelPath]:
        """The path of each row or column of an axis."""
        levels = [i for i, name in enumerate(axis.levels) if name == self.dimension]
        if len(levels) > 1:
            return [self._nested([label[i] for i in levels]) for label in axis.labels]
        (level,) = levels
        labels = [label[level] for label in axis.labels]
        if self.given is not None or level < len(axis.levels) - 1 or not any(axis.indents):
            return [() if self._is_total(label) else (str(label),) for label in labels]
        paths: list[LabelPath] = []
        outer = [tuple(label[:level]) for label in axis.labels]
        for _, group in groupby(range(len(labels)), key=lambda i: outer[i]):
            places = list(group)
            paths += self._indented(
                [labels[i] for i in places], [axis.indents[i] for i in places], [axis.positions[i] for i in places]
            )
        return paths

    def _is_total(self, label: str | None) -> bool:
        return label is None or label == self.total

    def _nested(self, labels: Sequence[str | None]) -> LabelPath:
        """The path of labels of several levels; one that repeats its outer one, or is a word for totals, adds no level."""
        path: list[str] = []
        for level, label in enumerate(labels):
            if label is None or self._is_total(label) or (level > 0 and label.casefold() in TOTAL_WORDS):
                break
            if not path or label != path[-1]:
                path.append(label)
        return tuple(path)

    def _indented(
        self, labels: Sequence[str | None], indents: Sequence[int], positions: Sequence[int]
    ) -> list[LabelPath]:
        """The paths of indented labels: each is below the nearest one above it (or below it) with a smaller indent."""
        least = min((n for label, n in zip(labels, indents, strict=True) if not self._is_total(label)), default=0)
        order = range(len(labels)) if self.subtotals == "above" else range(len(labels) - 1, -1, -1)
        paths: dict[int, LabelPath] = {}
        stack: list[tuple[int, str]] = []
        for i in order:
            label = labels[i]
            if self._is_total(label):
                stack, paths[i] = [], ()
                continue
            while stack and stack[-1][0] >= indents[i]:
                stack.pop()
            if not stack and indents[i] > least:
                other = "below" if self.subtotals == "above" else "above"
                raise InputError(
                    f"{self.sheet}: row {positions[i]} ({label!r}) is indented, but no row {self.subtotals} it is less indented. "
                    f'If sums stand {other} their parts, add subtotals = "{other}"; otherwise name a file under '
                    f"{dimension_section(self.dimension)}: hierarchy = …",
                    [label],
                )
            stack.append((indents[i], str(label)))
            paths[i] = tuple(text for _, text in stack)
        return [paths[i] for i in range(len(labels))]

    def code(self, path: LabelPath) -> str:
        """The code of a path: its last label, after its outer ones where several paths end in this label."""
        if not path:
            return self.total if self.given is None else self.given.total
        return path[-1] if self._ends[path[-1]] < 2 and path[-1] != self.total else ": ".join(path)

    @cached_property
    def _ends(self) -> Counter[str]:
        """The number of paths that end in each label."""
        return Counter(path[-1] for path in self.found if path)

    def hierarchy(self) -> Hierarchy:
        if self.given is not None:
            return self.given
        every = dict.fromkeys(path[:n] for path in self.found for n in range(1, len(path) + 1))
        pairs = [(self.code(path), self.code(path[:-1])) for path in every]
        return Hierarchy.from_pairs(pairs, self.total) if pairs else Hierarchy.flat((), self.total)

    def sentence(self) -> str:
        """What was understood, in words."""
        depth = max((len(path) for path in self.found), default=0)
        codes = [self.code(path) for path in self.found if path]
        form = f"{len(codes)} codes on {depth} levels" if depth > 1 else f"{len(codes)} codes"
        total = f"the total {self.total!r}" if () in self.found else f"a total {self.total!r} that is not in the sheet"
        return f"{self.dimension} ({self.source}): {form} below {total}: {some(codes, 12)}"


def _total_label(sheet: str, dimension: str, labels: Sequence[str | None], named: str) -> str:
    """The label of the total: the one that is named, or the only one that is a word for totals."""
    if named in labels or None in labels:
        return named
    words = [label for label in labels if label and label.casefold() in TOTAL_WORDS]
    if len(words) > 1:
        raise InputError(
            f"{sheet}: several labels of {dimension!r} may be its total: {some(words)}. Name it under "
            f'{dimension_section(dimension)}: total = "{words[0]}".',
            words,
        )
    return words[0] if words else named
