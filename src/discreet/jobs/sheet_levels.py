"""What the labels of a cross-table are: codes of which dimensions, names of measures, totals."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from discreet.data.cross_layout import AxisLabels, CrossLayout, CrossSettings
from discreet.data.cross_numbers import ANY_FORMAT, looks_like_number
from discreet.data.cross_table import MEASURES
from discreet.data.spelling import TOTAL_WORDS
from discreet.jobs.roles import is_share, named
from discreet.jobs.sheet_texts import SheetTexts, distinct, names_in_title, names_of_labels

YEAR = re.compile("(19|20)[0-9]{2}")
ROUNDING = 0.01  # share of the values of a sum that a rounded total may differ by
USUAL_NAMES = frozenset(("rows", "columns", "group"))  # of dimensions that have no name in the sheet
NAMELESS = "\0"  # begins the names of levels that have none in the sheet


def named_levels(layout: CrossLayout, title: str) -> Iterator[CrossSettings]:
    """The settings of a layout with names for its levels: what they are, the likely ones first."""
    settings = layout.settings
    stub = sorted({column for _, column in layout.label_cells if column < layout.columns.positions[0]})
    inner = layout.rows if settings.headings is None else _without_headings(layout.rows)
    rows, columns = names_of_labels(layout, stub)
    given = list(distinct((name or f"{NAMELESS}{i}" for i, name in enumerate([*rows, *columns])), [MEASURES]))
    row_levels = _dimensions_of(inner, given[: len(rows)])
    column_levels = _dimensions_of(layout.columns, given[len(rows) :])
    for in_rows, in_columns in _choices_of_measures(inner, row_levels, layout.columns, column_levels):
        headings = f"{NAMELESS}group" if settings.headings else None
        levels = [headings or "", *in_rows, *in_columns]
        nameless = list(dict.fromkeys(name for name in levels if name.startswith(NAMELESS)))
        from_title = names_in_title(title, levels)
        usual = [_usual_name(layout, name, headings, in_rows, in_columns) for name in nameless]
        names = from_title if len(from_title) == len(nameless) else usual
        new = dict(zip(nameless, distinct(names, [*levels, MEASURES]), strict=True))
        yield renamed(replace(settings, rows=in_rows, columns=in_columns, headings=headings), new)


def _usual_name(
    layout: CrossLayout, name: str, headings: str | None, in_rows: Sequence[str], in_columns: Sequence[str]
) -> str:
    """The name of a level that has none in the sheet."""
    if name == headings:
        return "group"
    if name in in_rows:
        return "rows"
    labels = [str(label[in_columns.index(name)]) for label in layout.columns.labels]
    return "year" if all(YEAR.fullmatch(label) or is_total(label) for label in labels) else "columns"


def renamed(settings: CrossSettings, names: Mapping[str, str]) -> CrossSettings:
    """The settings with other names of dimensions."""
    rows, columns = (tuple(names.get(level, level) for level in axis) for axis in (settings.rows, settings.columns))
    headings = None if settings.headings is None else names.get(settings.headings, settings.headings)
    return replace(settings, rows=rows, columns=columns, headings=headings)


def _without_headings(axis: AxisLabels) -> AxisLabels:
    return replace(
        axis, levels=axis.levels[1:], labels=tuple(label[1:] for label in axis.labels), sources=axis.sources[1:]
    )


def _dimensions_of(axis: AxisLabels, names: Sequence[str]) -> list[str]:
    """The name of each level: "" for those that say nothing about the cells, and that of the outer level for its parts."""
    levels = list(names)
    found = [[label[level] for label in axis.labels] for level in range(len(names))]
    for level, labels in enumerate(found):
        if len(names) > 1 and (len(set(labels)) == 1 or _counts_on(labels)):
            levels[level] = ""
    for outer, inner in ((i, i + 1) for i in range(len(names) - 1)):
        if not (levels[outer] and levels[inner]):
            continue
        pairs = {(a, b) for a, b in zip(found[outer], found[inner], strict=True) if a is not None and b is not None}
        pairs = {pair for pair in pairs if not is_total(pair[0]) and not is_total(pair[1])}
        groups, parts = {a for a, _ in pairs}, {b for _, b in pairs}
        if len(pairs) == len(groups) == len(parts) > 1:
            levels[outer] = ""  # codes beside their names
        elif len(pairs) == len(parts) and 1 < len(groups) < len(parts):
            levels[inner] = levels[outer]
    return levels


def _counts_on(labels: Sequence[str | None]) -> bool:
    """Whether labels are the numbers of rows or columns: 1, 2, 3 …"""
    return list(labels) == [str(i) for i in range(1, len(labels) + 1)]


def _choices_of_measures(
    rows: AxisLabels, row_levels: list[str], columns: AxisLabels, column_levels: list[str]
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The levels with and without one of them for measures, the likely choices first."""
    with_words: list[tuple[list[str], list[str]]] = []
    without: list[tuple[list[str], list[str]]] = []
    for axis, levels in ((columns, column_levels), (rows, row_levels)):
        for level, name in enumerate(levels):
            labels = {str(label[level]) for label in axis.labels} - {"None"}
            if not name or levels.count(name) > 1 or any(map(is_total, labels)) or any(map(looks_like_number, labels)):
                continue
            changed = [MEASURES if i == level else other for i, other in enumerate(levels)]
            choice = (row_levels, changed) if axis is columns else (changed, column_levels)
            if any(map(_is_measure, labels)):
                with_words.append(choice)
            elif changed == [MEASURES] and len(row_levels) > 1:
                without.append(choice)  # a list of cells
    for in_rows, in_columns in (*with_words, (row_levels, column_levels), *without):
        if any(name not in ("", MEASURES) for name in in_rows):
            yield tuple(in_rows), tuple(in_columns)


def _is_measure(label: str) -> bool:
    """Whether a label says what numbers are."""
    return is_share(label) or any(named(label, kind) for kind in ("count", "response", "largest"))


def measures_of(
    layout: CrossLayout, settings: CrossSettings, texts: SheetTexts
) -> tuple[str, str | None, tuple[str, ...]]:
    """The names of the values, of the numbers of contributors and of the largest contributions."""
    labels = list(labels_of_measures(layout, settings))
    if not labels:
        value = next(
            distinct([texts.response or "value"], [*settings.rows, *settings.columns, settings.headings or ""])
        )
        return value, value if texts.are_counts and _are_counts(layout) else None, ()
    top = [label for label in labels if named(label, "largest")]
    counts = [label for label in labels if named(label, "count") and label not in top]
    shares = [label for label in labels if is_share(label)]
    values = [label for label in labels if label not in (*top, *counts, *shares)]
    values.sort(key=lambda label: not named(label, "response"))
    value = (values or counts or labels)[0]
    return value, counts[0] if counts else None, tuple(top) if values else ()


def labels_of_measures(layout: CrossLayout, settings: CrossSettings) -> Iterable[str]:
    """The labels at the level of measures, each once."""
    rows = ("",) * (settings.headings is not None) + settings.rows
    for axis, levels in ((layout.rows, rows), (layout.columns, settings.columns)):
        if MEASURES in levels:
            return dict.fromkeys(str(label[levels.index(MEASURES)] or "") for label in axis.labels)
    return ()


def _are_counts(layout: CrossLayout) -> bool:
    """Whether no number in the body is negative or has decimals."""
    body = product(layout.rows.positions, layout.columns.positions)
    numbers = [content for cell in body if isinstance(content := layout.grid.contents.get(cell), int | float)]
    return all(number >= 0 and float(number).is_integer() for number in numbers)


def dimensions_of(settings: CrossSettings) -> tuple[str, ...]:
    levels = (settings.headings or "", *settings.rows, *settings.columns)
    return tuple(dict.fromkeys(name for name in levels if name not in ("", MEASURES)))


def totals_of(layout: CrossLayout, settings: CrossSettings) -> tuple[dict[str, str], tuple[str, ...]]:
    """The labels of totals that are no words for totals, and the dimensions that have no total."""
    own: dict[str, str] = {}
    without: list[str] = []
    rows = (*([settings.headings] if settings.headings else []), *settings.rows)
    for axis, levels in ((layout.rows, rows), (layout.columns, settings.columns)):
        for level, name in enumerate(levels):
            if name in ("", MEASURES) or name in levels[:level]:
                continue
            labels = [label[level] for label in axis.labels]
            words = list(dict.fromkeys(label for label in labels if label is not None and is_total(label)))
            if None in labels or len(words) == 1:
                continue
            nested = levels.count(name) > 1
            total = words[0] if words else None if nested else _label_of_sums(layout, axis, level)
            if total is None:
                without.append(name)
            else:
                own[name] = total
    return own, tuple(without)


def has_grand_total(
    layout: CrossLayout, settings: CrossSettings, own: Mapping[str, str], without: Collection[str]
) -> bool:
    """Whether some row, and some column, is that of the totals of all its dimensions that have one."""
    if len(without) == len(dimensions_of(settings)):
        return False
    rows = (*([settings.headings] if settings.headings else []), *settings.rows)
    for axis, levels in ((layout.rows, rows), (layout.columns, settings.columns)):
        used = [(i, name) for i, name in enumerate(levels) if name not in ("", MEASURES, *without)]
        if not any(
            all(label[i] is None or is_total(label[i]) or label[i] == own.get(name) for i, name in used)
            for label in axis.labels
        ):
            return False
    return True


def _label_of_sums(layout: CrossLayout, axis: AxisLabels, level: int) -> str | None:
    """The label of a level at which the numbers are the sums of those at its other labels, as those of a country are."""
    blocks: dict[tuple[str | None, ...], dict[str | None, int]] = {}  # the rows with the same other labels
    for i, label in enumerate(axis.labels):
        blocks.setdefault((*label[:level], *label[level + 1 :]), {})[label[level]] = i
    for candidate in dict.fromkeys(label[level] for label in axis.labels):
        having = [block for block in blocks.values() if candidate in block and len(block) > 2]
        for numbers in _numbers(layout):
            along = numbers if axis is layout.rows else numbers.T
            # Largest contributions and percentages, which may stand beside the values, are no sums.
            if 2 * sum(_is_sum(along, block, candidate) for block in having) > len(having):
                return candidate
    return None


def _numbers(layout: CrossLayout) -> Iterator[np.ndarray]:
    """The numbers of the body, zero where there is none: texts with a decimal point, then texts with a decimal comma."""
    for written in ANY_FORMAT:
        numbers = np.zeros((len(layout.rows.positions), len(layout.columns.positions)))
        for i, row in enumerate(layout.rows.positions):
            for j, column in enumerate(layout.columns.positions):
                content = layout.grid.contents.get((row, column))
                numbers[i, j] = (written.number_of(content) or 0.0) if isinstance(content, str) else _as_number(content)
        yield numbers


def _as_number(content: object) -> float:
    """The number in a cell, and zero for other content."""
    return float(content) if isinstance(content, int | float) else 0.0


def _is_sum(numbers: np.ndarray, block: Mapping[str | None, int], candidate: str | None) -> bool:
    rows = numbers[list(block.values())]
    total = numbers[block[candidate]]
    gap = np.abs(rows.sum(axis=0) - 2 * total)
    return bool(rows.any() and (gap <= ROUNDING * np.abs(rows).sum(axis=0)).all())


def is_total(text: str | None) -> bool:
    return text is not None and text.casefold() in TOTAL_WORDS
