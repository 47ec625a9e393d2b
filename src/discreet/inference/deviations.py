"""Deviations of congruent tables, which prove how far cells can deviate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.solvers import Basis


@dataclass(frozen=True, eq=False, repr=False)
class Deviation:
    """A congruent table minus the true one; cells that are not listed do not deviate.

    Every multiple, also a negative one, that keeps all cells within the bounds of the attacker is a deviation too.
    """

    cells: IntArray
    amount: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """For each audited cell, the deviations that show how far it can deviate down (0) and up (1)."""

    tables: tuple[Deviation, ...]
    shown: IntArray  # (2, audited cells): number of the deviation in ``tables``; -1 if the cell cannot deviate

    def joined(self, other: Evidence) -> Evidence:
        """The evidence about these cells, then about those of ``other``."""
        more = np.where(other.shown >= 0, other.shown + len(self.tables), -1)
        return Evidence((*self.tables, *other.tables), np.concatenate([self.shown, more], axis=1))


def tables_in_use(shown: IntArray) -> tuple[list[int], IntArray]:
    """The numbers of the deviations that are used, and ``shown`` with these numbered from 0."""
    used = np.unique(shown[shown >= 0])
    return used.tolist(), np.where(shown >= 0, np.searchsorted(used, shown), -1)


@dataclass(frozen=True, eq=False, repr=False)
class StartingVertex:
    """A vertex that a solver visited: the deviation of the columns of one component, and the basis to restart from."""

    difference: FloatArray
    basis: Basis


@dataclass(frozen=True, eq=False, repr=False)
class ComponentFindings:
    """Bounds on the farthest deviations, down and up, of the columns of one connected component."""

    reach: FloatArray  # (2, columns): proven to be possible
    limit: FloatArray  # (2, columns): cannot be exceeded; equal to the reach of a target that is settled exactly
    tables: list[Deviation]  # exactly congruent; their cells are columns of the component
    shown: IntArray  # (2, columns): number of the deviation in ``tables`` that reaches it; -1: no deviation
    starts: list[StartingVertex] = field(default_factory=list)  # for further searches

    def copy(self) -> ComponentFindings:
        """A copy whose arrays and list of tables can be changed."""
        reach, limit, shown = self.reach.copy(), self.limit.copy(), self.shown.copy()
        return ComponentFindings(reach, limit, list(self.tables), shown, self.starts)
