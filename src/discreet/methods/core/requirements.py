"""Protection requirements, one for each level of a cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.check import Audit


@dataclass(frozen=True)
class Requirement:
    """A cell must be able to deviate by ``level``: down, up, or down and up together (the sliding level)."""

    cell: int
    sides: tuple[int, ...]
    level: float


def requirements(levels: FloatArray, cells: Iterable[int]) -> list[Requirement]:
    """The requirements of cells by levels down, up and sliding; a sliding level that the others imply makes none."""
    found = []
    for cell, (down, up, sliding) in zip(cells, levels.T.tolist(), strict=True):
        for sides, level in (((DOWN,), down), ((UP,), up), ((DOWN, UP), sliding)):
            if level > 0 and (len(sides) == 1 or level > down + up):
                found.append(Requirement(int(cell), sides, level))
    return found


def exposed_requirements(checked: Audit) -> dict[int, list[Requirement]]:
    """The requirements of the cells that an audit found exposed, by the number of the attacker."""
    found = {}
    for attacker in np.unique(checked.attacker[~checked.safe]).tolist():
        rows = np.flatnonzero((checked.attacker == attacker) & ~checked.safe)
        levels = checked.required[:, rows] * (1 - LEVEL_TOLERANCE)
        found[attacker] = requirements(levels, checked.cell[rows].tolist())
    return found
