"""Cells of a cross-classification that may hold something, as far as its published margins tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import IntArray
from discreet.errors import InputError

MOST = 2_000_000  # cells behind linked tables: more do not fit into memory together with the programs about them


@dataclass(frozen=True, order=True)
class Axis:
    """One classification of a cross-classification: a dimension, or the trees of it that share codes below the total."""

    dimension: int
    kin: int


@dataclass(frozen=True, eq=False)
class Margin:
    """Published cells by some axes; ``up[axis]`` has for each finest code of the axis its codes in the margin.

    Usually that is one; groupings that do not nest, without the codes below them, make several: one row each, −1 for none.
    """

    cells: IntArray
    codes: Mapping[Axis, IntArray]  # of each cell
    up: Mapping[Axis, IntArray]  # (choice, finest code)

    @property
    def axes(self) -> frozenset[Axis]:
        return frozenset(self.codes)

    def ups(self, axes: Sequence[Axis]) -> list[tuple[IntArray, ...]]:
        """Every choice of codes in the margin for the finest codes of these axes."""
        return list(product(*(list(self.up[axis]) for axis in axes)))


@dataclass(frozen=True, eq=False)
class Crossed:
    """Cells by some axes: ``at[i]`` numbers the finest codes of axis ``i``."""

    axes: tuple[Axis, ...]
    at: IntArray

    def __len__(self) -> int:
        return int(self.at.shape[1])

    def by(self, axes: Sequence[Axis]) -> IntArray:
        return self.at[[self.axes.index(axis) for axis in axes]]

    def only(self, keep: NDArray[np.bool_]) -> Crossed:
        return Crossed(self.axes, self.at[:, keep])

    def margin(self, axes: Sequence[Axis]) -> Crossed:
        """The combinations that occur by some of the axes, each once."""
        return Crossed(tuple(axes), np.unique(self.by(axes), axis=1))

    def places(self, within: Crossed) -> IntArray:
        """Where each cell is within a margin; −1 if it is not there."""
        mine, theirs = numbered(self.by(within.axes), within.at)
        order = np.argsort(theirs, kind="stable")
        place = np.searchsorted(theirs[order], mine)
        found = np.append(theirs[order], -1)[place] == mine
        return np.where(found, np.append(order, -1)[place], -1)


def crossed(axes: Sequence[Axis], finest: Mapping[Axis, IntArray], margins: Sequence[Margin]) -> Crossed:
    """All combinations of finest codes that no margin shows to be empty, axis by axis."""
    at = np.zeros((0, 1), dtype=np.int64)
    for k, axis in enumerate(axes):
        told = [_told(margin, axes[: k + 1]) for margin in margins if axis in margin.codes]
        parts: list[IntArray] = []
        many = 0
        for code in range(len(finest[axis])):
            longer = np.concatenate([at, np.full((1, at.shape[1]), code)])
            for among, choices, codes in told:
                for ups in choices:
                    mine, theirs = numbered([up[longer[i]] for up, i in zip(ups, among, strict=True)], codes)
                    longer = longer[:, np.isin(mine, theirs)]
            parts.append(longer)
            many += longer.shape[1]
            refuse_too_many(many)
        at = np.concatenate([np.zeros((k + 1, 0), dtype=np.int64), *parts], axis=1)
    return Crossed(tuple(axes), at)


def _told(margin: Margin, axes: Sequence[Axis]) -> tuple[list[int], list[tuple[IntArray, ...]], IntArray]:
    """What a margin says about the first axes: which of them it has, its codes for their finest ones, and its cells."""
    among = [i for i, axis in enumerate(axes) if axis in margin.codes]
    mine = [axes[i] for i in among]
    codes = np.unique(np.stack([margin.codes[axis] for axis in mine]), axis=1)
    return among, margin.ups(mine), codes


def refuse_too_many(cells: int) -> None:
    if cells > MOST:
        raise InputError(
            f"The linked tables form a cycle, and more than {MOST:,} cells of the cross-classification behind them may hold "
            "something. Link coarser or fewer tables; or leave the cells behind out (behind=False in Python, "
            "behind = false in [data]): a reader who uses them may then infer more than the audit says."
        )


def numbered(one: Sequence[IntArray] | IntArray, two: Sequence[IntArray] | IntArray) -> tuple[IntArray, IntArray]:
    """A number for each column of two arrays: equal columns get the same one."""
    columns = [np.concatenate([a, b]) for a, b in zip(one, two, strict=True)]
    n = len(one[0]) if len(one) else 0
    number = np.zeros(len(columns[0]) if columns else 0, dtype=np.int64)
    slack = 1
    for column in columns:
        size = int(column.max(initial=0)) + 2
        slack *= size
        if slack >= 2**62:  # renumber before the product overflows
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
            slack = (int(number.max(initial=0)) + 1) * size
        number = number * size + column + 1
    return number[:n], number[n:]
