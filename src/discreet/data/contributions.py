"""Who reported what to the finest cells of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import FloatArray, IntArray
from discreet.errors import TableError


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """Absolute contributions to base cells, weighted unless weights are secret; ``who`` numbers respondents, a holding being one.

    Of a respondent who is in several base cells all contributions are listed. Of those who are in one cell alone, the largest
    are enough: whatever a smaller one can work out, so can they.
    """

    cell: IntArray
    who: IntArray
    amount: FloatArray
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        # By cell, and within it the largest first: ties go by number, so that nothing depends on how they came.
        order = np.lexsort((self.who, -np.asarray(self.amount), self.cell))
        for name, kind in (("cell", np.int64), ("who", np.int64), ("amount", np.float64)):
            column = np.asarray(getattr(self, name), dtype=kind)[order]
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def check(self, base: NDArray[np.bool_]) -> None:
        """Refuse what does not fit a table with these base cells."""
        known = (self.cell >= 0) & (self.cell < len(base)) & (self.who >= 0) & (self.who < len(self.names))
        if not known.all():
            raise TableError(
                "The contributions name cells or respondents that the table does not have. Tabulate it anew."
            )
        if not np.all(np.isfinite(self.amount) & (self.amount >= 0)):
            raise TableError("The contributions are not all numbers, or some are negative: they are absolute amounts.")
        if not base[self.cell].all():
            raise TableError(
                "The contributions name totals: they are listed with the finest cells only. Tabulate it anew."
            )

    def __len__(self) -> int:
        return len(self.cell)

    def __repr__(self) -> str:
        return f"Contributions({len(self):,} of {len(np.unique(self.who)):,} respondents)"

    @cached_property
    def _by_respondent(self) -> tuple[IntArray, IntArray]:
        order = np.argsort(self.who, kind="stable")
        return order, np.searchsorted(self.who[order], np.arange(len(self.names) + 1))

    def of(self, who: int) -> tuple[IntArray, FloatArray]:
        """The base cells of a respondent, and how much it contributes to each."""
        order, first = self._by_respondent
        mine = order[first[who] : first[who + 1]]
        return self.cell[mine], self.amount[mine]

    @cached_property
    def is_single(self) -> NDArray[np.bool_]:
        """Respondents who are in one base cell at most."""
        _, first = self._by_respondent
        return np.asarray(np.diff(first) <= 1)

    def only(self, cells: IntArray) -> Contributions:
        """Those to some cells of the table, which are numbered anew."""
        place = np.full(int(max(self.cell.max(initial=-1), cells.max(initial=-1))) + 1, -1)
        place[cells] = np.arange(len(cells))
        here = place[self.cell] >= 0
        return Contributions(place[self.cell[here]], self.who[here], self.amount[here], self.names)

    def moved(self, place: IntArray) -> Contributions:
        """The same in a table where each cell has another place."""
        return Contributions(place[self.cell], self.who, self.amount, self.names)


def named(
    cell: IntArray, who: IntArray, amount: FloatArray, names: tuple[str, ...], label: Callable[[int], str]
) -> Contributions:
    """Contributions, also of those without a name (−1): each is by somebody else, who is in one cell only."""
    order = np.lexsort((who, -amount, cell))  # the same in whatever order an engine gives them
    cell, who, amount = cell[order], who[order], amount[order]
    nameless = who < 0
    number = np.where(nameless, len(names) + np.cumsum(nameless) - 1, who)
    rank = np.arange(len(cell)) - np.searchsorted(cell, cell)
    called = [f"respondent {rank[k] + 1} of {label(int(cell[k]))}" for k in np.flatnonzero(nameless)]
    return Contributions(cell, number, amount, (*names, *called))


def largest(
    base: NDArray[np.bool_], top: FloatArray, who: IntArray | None, names: tuple[str, ...], label: Callable[[int], str]
) -> Contributions:
    """What the largest contributions to each cell tell: all there is to know if nobody else is in several cells."""
    cells = np.flatnonzero(base)
    amount = np.abs(top[cells])
    row, rank = np.nonzero(amount)
    number = np.full(len(row), -1) if who is None else np.asarray(who)[cells[row], rank]
    return named(cells[row], number, amount[row, rank], names, label)
