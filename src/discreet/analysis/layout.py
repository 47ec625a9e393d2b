"""The layout of pandas, filled with published numbers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from discreet.analysis.columns import Key, is_missing
from discreet.analysis.measures import Cell, Measure
from discreet.errors import InputError

Share = Literal["all", "index", "columns"]
LAYOUT_TOLERANCE = 1e-9  # relative, between sums of pandas, which depend on the order of records, and exact ones

Term = tuple[Measure, Cell]  # a number that a figure is made of


@dataclass(frozen=True)
class Figure:
    """What a block of cells shows: published numbers, or with ``bottom`` their ratio to others: a mean or a share."""

    top: Measure
    bottom: Measure | None = None
    share: Share | None = None  # of which total; None for a mean

    def terms(self, row: Cell, column: Cell, totals: Axes) -> list[Term]:
        """The numerator, and the denominator if there is one."""
        if self.bottom is None:
            return [(self.top, row + column)]
        rows = totals.rows_total if self.share in ("all", "columns") else row
        columns = totals.columns_total if self.share in ("all", "index") else column
        return [(self.top, row + column), (self.bottom, rows + columns)]


@dataclass(frozen=True)
class Axes:
    """The keys of rows and columns, and the name of margins if there are any."""

    rows: Sequence[Key]
    columns: Sequence[Key]
    margins: bool
    margins_name: str

    @property
    def keys(self) -> list[Key]:
        return [*self.rows, *self.columns]

    @property
    def rows_total(self) -> Cell:
        return tuple(key.total for key in self.rows)

    @property
    def columns_total(self) -> Cell:
        return tuple(key.total for key in self.columns)

    def check(self) -> None:
        """Refuse margins that have the name of a category: it would not be clear which row or column is which."""
        same = [key.dimension for key in self.keys if self.margins and self.margins_name in map(str, key.labels)]
        if same:
            raise InputError(
                f"{self.margins_name!r} is the name of the margins and an entry of {same[0]!r}: choose another margins_name."
            )

    def row(self, label: Any) -> Cell:
        return self._cell(self.rows, self.rows_total, _parts(label, len(self.rows)))

    def column(self, label: Any) -> tuple[Any, Cell]:
        """The name of the values of a column of the layout, None without one, and its codes."""
        parts = label if isinstance(label, tuple) else (label,)
        n = len(self.columns)
        name = parts[0] if len(parts) > n else None
        return name, self._cell(self.columns, self.columns_total, parts[len(parts) - n :])

    def _cell(self, keys: Sequence[Key], total: Cell, parts: Sequence[Any]) -> Cell:
        if self.margins and len(parts) and isinstance(parts[0], str) and parts[0] == self.margins_name:
            return total
        return tuple(key.code(part) for key, part in zip(keys, parts, strict=True))


def _parts(label: Any, levels: int) -> tuple[Any, ...]:
    return (label,) if levels == 1 else tuple(label)


@dataclass(frozen=True, eq=False, repr=False)
class Filled:
    """Published numbers in the layout of pandas; true in ``suppressed`` where a number is not published.

    ``terms`` holds for each suppressed position, as row and column, the cells of which at least one is suppressed.
    """

    shown: pd.DataFrame
    suppressed: pd.DataFrame
    terms: dict[tuple[int, int], list[Term]] = field(default_factory=dict)


def filled(
    layout: pd.DataFrame, axes: Axes, figure_of: Callable[[Any], Figure], fill_value: Any, compare: bool
) -> Filled:
    """The layout with published numbers; pandas' own numbers are only compared with the audited table, if ``compare``."""
    rows = [axes.row(label) for label in layout.index]
    columns: list[pd.Series] = []
    masks: list[list[bool]] = []
    terms: dict[tuple[int, int], list[Term]] = {}
    different = 0
    for c, label in enumerate(layout.columns):
        name, column = axes.column(label)
        figure = figure_of(name)
        given = layout.iloc[:, c]
        entries: list[Any] = []
        mask: list[bool] = []
        for r, (row, own) in enumerate(zip(rows, given.tolist(), strict=True)):
            of = figure.terms(row, column, axes)
            if figure.top.exact and row + column not in figure.top.cells:
                different += not _is_empty(own, fill_value)
                entries.append(own)
                mask.append(False)
                continue
            number = _ratio([measure.released(cell) for measure, cell in of])
            if compare and figure.top.exact:
                different += not _agrees(own, of)
            entries.append(number)
            mask.append(bool(np.isnan(number)))
            if mask[-1]:
                terms[r, c] = of
        columns.append(_column(entries, mask, given.dtype))
        masks.append(mask)
    if different:
        raise InputError(
            f"pandas lays out {different:,} cells in another way than the audited table, so they cannot be filled safely. "
            "Leave out margins=True or dropna=False, or fill missing entries first."
        )
    return Filled(_framed(columns, layout), _framed([pd.Series(m, dtype=bool) for m in masks], layout), terms)


def _is_empty(own: Any, fill_value: Any) -> bool:
    """Whether pandas shows a cell without records as such."""
    return is_missing(own) or own == 0 or (fill_value is not None and own == fill_value)


def _ratio(numbers: Sequence[float]) -> float:
    """The only number, or the first divided by the second; NaN if one is suppressed. As in pandas 0/0 is a share of 0."""
    if len(numbers) == 1 or np.isnan(numbers).any():
        return float(np.sum(numbers)) if len(numbers) == 1 else np.nan
    if numbers[1] == 0:
        return 0.0 if numbers[0] == 0 else np.nan
    return numbers[0] / numbers[1]


def _agrees(own: Any, of: Sequence[Term]) -> bool:
    """Whether pandas' number is that of the audited table."""
    if is_missing(own) or not isinstance(own, int | float | np.number):
        return False
    measure, cell = of[0]
    size = float(measure.table.magnitude[measure.cells[cell]])
    below = of[1][0].true(of[1][1]) if len(of) > 1 else 1.0
    if below == 0:
        return True
    return bool(abs(float(own) - measure.true(cell) / below) <= LAYOUT_TOLERANCE * max(size / abs(below), 1e-300))


def _column(entries: list[Any], mask: list[bool], kind: Any) -> pd.Series:
    """A column of the type that pandas gives it, of a type with missing values if some are suppressed."""
    suppressed = np.array(mask, dtype=bool)
    if not pd.api.types.is_numeric_dtype(kind):
        return pd.Series(entries, dtype=object).where(~suppressed, np.nan)
    numbers = np.array([np.nan if is_missing(entry) else entry for entry in entries], dtype=np.float64)
    if not pd.api.types.is_integer_dtype(kind):
        return pd.Series(numbers).astype(kind)
    if np.all(numbers[~suppressed] == np.round(numbers[~suppressed])):
        return pd.Series(numbers).astype("Int64" if suppressed.any() else kind)
    return pd.Series(numbers)


def _framed(columns: Sequence[pd.Series], layout: pd.DataFrame) -> pd.DataFrame:
    frame = pd.DataFrame(dict(enumerate(columns)), index=range(len(layout)))
    frame.index, frame.columns = layout.index, layout.columns
    return frame


def side_by_side(pieces: Sequence[Filled], headings: Sequence[Any]) -> Filled:
    """Several blocks of columns, with a heading each."""
    shown = pd.concat([piece.shown for piece in pieces], keys=headings, axis=1)
    suppressed = pd.concat([piece.suppressed for piece in pieces], keys=headings, axis=1)
    if len(shown) != len(pieces[0].shown) or any(not piece.shown.index.equals(shown.index) for piece in pieces):
        raise InputError("The functions of aggfunc= lead to different rows. Call once for each of them.")
    terms: dict[tuple[int, int], list[Term]] = {}
    offset = 0
    for piece in pieces:
        terms |= {(r, c + offset): of for (r, c), of in piece.terms.items()}
        offset += piece.shown.shape[1]
    return Filled(shown, suppressed, terms)
