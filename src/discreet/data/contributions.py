"""Contributions of respondents to the base cells of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import TableError


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """Absolute contributions to base cells, one row per cell and respondent, weighted unless weights are secret.

    ``contributor`` holds indices into ``names``; a holding is one respondent. All contributions of respondents in several base
    cells are listed. Of the respondents in a single cell the largest suffice: a smaller one cannot infer more than they can.
    """

    cell: IntArray
    contributor: IntArray
    amount: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        # By cell, then the largest first, ties by index: the order of the input has no effect.
        order = np.lexsort((self.contributor, -np.asarray(self.amount), self.cell))
        for name, kind in (("cell", np.int64), ("contributor", np.int64), ("amount", np.float64)):
            column = np.asarray(getattr(self, name), dtype=kind)[order]
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def check(self, base: BoolArray) -> None:
        """Raise if the contributions do not belong to a table with these base cells."""
        exists = (
            (self.cell >= 0) & (self.cell < len(base)) & (self.contributor >= 0) & (self.contributor < len(self.names))
        )
        if not exists.all():
            raise TableError("Contributions name cells or respondents that the table does not have. Tabulate it anew.")
        if not np.all(np.isfinite(self.amount) & (self.amount >= 0)):
            raise TableError("The contributions are not all numbers, or some are negative: they are absolute amounts.")
        if not base[self.cell].all():
            raise TableError("Contributions name totals, but belong to the finest cells only. Tabulate it anew.")

    def __len__(self) -> int:
        return len(self.cell)

    def __repr__(self) -> str:
        return f"Contributions({len(self):,} of {len(np.unique(self.contributor)):,} respondents)"

    @cached_property
    def _by_respondent(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.contributor, kind="stable")
        return order, np.searchsorted(self.contributor[order], np.arange(len(self.names) + 1))

    def of(self, respondent: int) -> tuple[IntArray, FloatArray]:
        """The base cells of a respondent, and its contribution to each."""
        order, first = self._by_respondent
        mine = order[first[respondent] : first[respondent + 1]]
        return self.cell[mine], self.amount[mine]

    @cached_property
    def is_single(self) -> BoolArray:
        """Respondents in at most one base cell."""
        _, first = self._by_respondent
        return np.asarray(np.diff(first) <= 1)

    def only(self, cells: IntArray) -> Contributions:
        """The contributions to some cells of the table, which are numbered anew."""
        place = np.full(int(max(self.cell.max(initial=-1), cells.max(initial=-1))) + 1, -1)
        place[cells] = np.arange(len(cells))
        here = place[self.cell] >= 0
        return Contributions(place[self.cell[here]], self.contributor[here], self.amount[here], self.names)

    def renumbered(self, place: IntArray) -> Contributions:
        """The same contributions in a table in which cell ``i`` has the index ``place[i]``."""
        return Contributions(place[self.cell], self.contributor, self.amount, self.names)


def named(
    cell: IntArray, contributor: IntArray, amount: FloatArray, names: tuple[str, ...], label: Callable[[int], str]
) -> Contributions:
    """Contributions of respondents with and without a name (−1). Each of the latter is a respondent in this cell only."""
    order = np.lexsort((contributor, -amount, cell))  # engines return rows in any order
    cell, contributor, amount = cell[order], contributor[order], amount[order]
    nameless = contributor < 0
    contributor = np.where(nameless, len(names) + np.cumsum(nameless) - 1, contributor)
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    new_names = [f"respondent {rank[k] + 1} of {label(int(cell[k]))}" for k in np.flatnonzero(nameless)]
    return Contributions(cell, contributor, amount, (*names, *new_names))


def largest(
    base: BoolArray,
    top: FloatArray,
    top_contributor: IntArray | None,
    names: tuple[str, ...],
    label: Callable[[int], str],
) -> Contributions:
    """The largest contributions to each base cell. They suffice if all other respondents are in one cell each."""
    cells = np.flatnonzero(base)
    amount = np.abs(top[cells])
    row, rank = np.nonzero(amount)
    unnamed = np.full(len(row), -1)
    contributor = unnamed if top_contributor is None else top_contributor[cells[row], rank].astype(np.int64)
    return named(cells[row], contributor, amount[row, rank], names, label)
