"""Why a verdict holds: congruent tables that anybody can check by multiplication."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.solvers import Basis


@dataclass(frozen=True, eq=False, repr=False)
class Deviation:
    """A congruent table minus the true one: how far some cells move (all others stay).

    Any multiple of it, also a negative one, that keeps every cell within what the attacker knows is congruent too.
    """

    cells: IntArray
    amount: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """For each audited cell and side, which congruent table shows how far it moves down (0) or up (1)."""

    tables: tuple[Deviation, ...]
    shown: IntArray  # (2, audited cells): number of the table; -1 where the cell does not move

    def joined(self, other: Evidence) -> Evidence:
        """What shows these cells and those of another."""
        more = np.where(other.shown >= 0, other.shown + len(self.tables), -1)
        return Evidence((*self.tables, *other.tables), np.concatenate([self.shown, more], axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class StartingVertex:
    """A corner that a solver has been to, as columns of one component, and the way back to it."""

    difference: FloatArray
    basis: Basis


@dataclass(frozen=True, eq=False, repr=False)
class ComponentFindings:
    """What was found out about the columns of one connected component.

    Row 0 is down, row 1 up. ``reach`` is how far each column is shown to move, ``edge`` how far it moves at most; for a target
    that was settled exactly the two are equal. ``tables`` hold columns of the component as cells, and are congruent to the
    last digit; ``starts`` are corners to search on from.
    """

    reach: FloatArray  # (2, columns)
    edge: FloatArray  # (2, columns)
    tables: list[Deviation]
    shown: IntArray  # (2, columns): number in tables, -1: none
    starts: list[StartingVertex] = field(default_factory=list)

    def copy(self) -> ComponentFindings:
        """One that can be written to."""
        return ComponentFindings(self.reach.copy(), self.edge.copy(), list(self.tables), self.shown.copy(), self.starts)
