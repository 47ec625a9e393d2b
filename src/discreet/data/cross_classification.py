"""Cells of a cross-classification that its published margins do not show to be empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.data.relations import numbers_of_combinations
from discreet.errors import InputError

MAX_CELLS_BEHIND = 2_000_000  # more do not fit into memory together with the linear programs of the audit


@dataclass(frozen=True, order=True)
class Axis:
    """One classification of a cross-classification: a dimension, or those of its trees that share codes below the total."""

    dimension: int
    component: int


@dataclass(frozen=True, eq=False)
class Margin:
    """Published cells by some axes; ``above[axis]`` holds, for each finest code of the axis, the codes of the margin above it.

    There is one such code, except in groupings that do not nest and are tabulated without their finest codes: these have
    several, one per row, and −1 stands for none.
    """

    cells: IntArray
    codes: Mapping[Axis, IntArray]  # of each cell
    above: Mapping[Axis, IntArray]  # (choice, finest code)

    @property
    def axes(self) -> frozenset[Axis]:
        return frozenset(self.codes)

    def choices(self, axes: Sequence[Axis]) -> list[tuple[IntArray, ...]]:
        """All combinations of codes of the margin above the finest codes, with one array per axis."""
        return list(product(*(list(self.above[axis]) for axis in axes)))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Cells by some axes: ``at[i]`` holds the number of the finest code of each cell in axis ``i``."""

    axes: tuple[Axis, ...]
    at: IntArray

    def __len__(self) -> int:
        return int(self.at.shape[1])

    def by(self, axes: Sequence[Axis]) -> IntArray:
        return self.at[[self.axes.index(axis) for axis in axes]]

    def only(self, keep: BoolArray) -> Crossed:
        return Crossed(self.axes, self.at[:, keep])

    def margin(self, axes: Sequence[Axis]) -> Crossed:
        """The combinations of codes that occur in some of the axes, each once."""
        return Crossed(tuple(axes), np.unique(self.by(axes), axis=1))

    def places(self, within: Crossed) -> IntArray:
        """The index of each cell in a margin; −1 if the margin does not have it."""
        return index_in(*numbered(self.by(within.axes), within.at))


def crossed(axes: Sequence[Axis], finest: Mapping[Axis, IntArray], margins: Sequence[Margin]) -> Crossed:
    """All combinations of finest codes that no margin shows to be empty, axis by axis."""
    at = np.zeros((0, 1), dtype=np.int64)
    for k, axis in enumerate(axes):
        occurring = [_occurring(margin, axes[: k + 1]) for margin in margins if axis in margin.codes]
        blocks: list[IntArray] = []
        n_cells = 0
        for code in range(len(finest[axis])):
            block = np.concatenate([at, np.full((1, at.shape[1]), code)])
            for places, choices, codes in occurring:
                for above in choices:
                    cells, margin_cells = numbered([up[block[i]] for up, i in zip(above, places, strict=True)], codes)
                    block = block[:, np.isin(cells, margin_cells)]
            blocks.append(block)
            n_cells += block.shape[1]
            refuse_too_many(n_cells)
        at = np.concatenate([np.zeros((k + 1, 0), dtype=np.int64), *blocks], axis=1)
    return Crossed(tuple(axes), at)


def _occurring(margin: Margin, axes: Sequence[Axis]) -> tuple[list[int], list[tuple[IntArray, ...]], IntArray]:
    """The positions of the axes that a margin has, the codes above their finest ones, and the combinations that occur."""
    positions = [i for i, axis in enumerate(axes) if axis in margin.codes]
    shared = [axes[i] for i in positions]
    codes = np.unique(np.stack([margin.codes[axis] for axis in shared]), axis=1)
    return positions, margin.choices(shared), codes


def refuse_too_many(n_cells: int) -> None:
    if n_cells > MAX_CELLS_BEHIND:
        raise InputError(
            f"The linked tables form a cycle, and more than {MAX_CELLS_BEHIND:,} cells of the cross-classification behind them "
            "may be nonempty. Link coarser or fewer tables; or leave the cells behind out (behind=False in Python, "
            "behind = false in [data]): a reader who uses them may then infer more than the audit says."
        )


def numbered(first: Sequence[IntArray] | IntArray, second: Sequence[IntArray] | IntArray) -> tuple[IntArray, IntArray]:
    """A number for each column of two arrays: equal columns get the same number."""
    rows = [np.concatenate([a, b]) + 1 for a, b in zip(first, second, strict=True)]
    n = len(first[0]) if len(first) else 0
    number = numbers_of_combinations(rows, [int(row.max(initial=0)) + 1 for row in rows], len(rows[0]) if rows else 0)
    return number[:n], number[n:]


def index_in(wanted: IntArray, numbers: IntArray) -> IntArray:
    """The index of each wanted number in an array; −1 if it does not occur."""
    order = np.argsort(numbers, kind="stable")
    place = np.searchsorted(numbers[order], wanted)
    found = np.append(numbers[order], -1)[place] == wanted
    return np.where(found, np.append(order, -1)[place], -1)
