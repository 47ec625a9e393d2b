"""The slack that widths of intervals leave each cell, and the cuts that follow: Salazar-González (2002), figure 7."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import without_noise
from discreet.methods.core.separator import Violation
from discreet.methods.intervals.setting import IntervalSetting


class Widths(NamedTuple):
    """Widths down and up of each cell, and the share of their slack that settled cells contribute."""

    z: FloatArray
    share: FloatArray | float = 1.0


@dataclass(frozen=True, eq=False)
class WidthCut(Cut):
    """A cut whose columns are the widths down of all cells, then the widths up.

    The slack of ``cells`` does not depend on widths: they contribute ``amount`` each, unless they are published exactly. The cut
    is ``conditional`` if it holds only as long as the cell ``required`` is not published exactly.
    """

    cells: IntArray
    amount: FloatArray
    required: int
    conditional: bool


@dataclass(frozen=True, eq=False)
class WidthPublication:
    """Points are widths; what is published of settled cells, and what attackers know, limits the slack as well."""

    setting: IntervalSetting

    def slack(self, attacker: int, point: Widths) -> FloatArray:
        known = self.setting.slacks[attacker]
        return np.where(self.setting.settled, known * point.share, np.minimum(point.z, known))

    def cut(self, attacker: int, point: Widths, violation: Violation) -> WidthCut:
        s, requirement = self.setting, violation.requirement
        columns: list[tuple[IntArray, FloatArray]] = []
        fixed: list[tuple[IntArray, FloatArray]] = []
        for pulls in map(without_noise, violation.pulls):
            cells, size, side = pulls.cells, np.abs(pulls.weight), np.where(pulls.weight > 0, UP, DOWN)
            known = s.slacks[attacker][side, cells]
            is_fixed = s.settled[cells] | (known < point.z[side, cells])
            fixed.append((cells[is_fixed], (size * known)[is_fixed]))
            columns.append(((side * len(s.cells) + cells)[~is_fixed], size[~is_fixed]))
        cells, amount = _added_up(fixed)
        one_side = len(requirement.sides) == 1 and not s.settled[requirement.cell]
        if one_side and not len(cells):
            # The width of the cell itself limits its deviation whatever its level.
            width = np.array([requirement.sides[0] * len(s.cells) + requirement.cell])
            return WidthCut(*_added_up([*columns, (width, -np.ones(1))]), 0.0, cells, amount, requirement.cell, False)
        return WidthCut(*_added_up(columns), requirement.level, cells, amount, requirement.cell, True)


def _added_up(terms: list[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray]:
    """Columns in ascending order, with their weights added up."""
    column, weight = (np.concatenate(each) for each in zip(*terms, strict=True))
    columns, place = np.unique(column, return_inverse=True)
    total = np.zeros(len(columns))
    np.add.at(total, place, weight)
    return columns, total
