"""The same where relations form a network: what goes through a cell comes back as a cheap flow through others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.max_flow import Network
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.suppress.mover import slacks
from discreet.problem import Problem

if TYPE_CHECKING:
    from discreet.methods.suppress.network_mover_kernel import MoverMarks, Streets


class Map:
    """A network of cells and what it costs each to move: one for all attackers, who differ only in what they know."""

    def __init__(self, net: Network, cells: IntArray, price: FloatArray) -> None:
        from discreet.methods.suppress.network_mover_kernel import marks, streets  # takes half a second

        self.cells = cells
        self.column = np.full(len(price), -1)
        self.column[cells] = np.arange(len(cells))
        self.pinned = net.pinned
        self.streets: Streets = streets(net.tail, net.head, net.nodes, price[cells])
        self.marks: MoverMarks = marks(net.nodes, len(cells))


class NetworkMover:
    """What ``Mover`` does, by one cheapest path after the other."""

    solver = "network flow"

    def __init__(self, problem: Problem, attacker: Attacker, on: Map) -> None:
        self.map = on
        self.slack = slacks(problem, attacker, on.cells)
        self.slack[:, on.pinned] = 0.0
        self.left = self.slack.copy()

    def bar(self, i: int, barred: bool) -> None:
        """Take a cell out of play, as if it were published, or put it back."""
        at = self.map.column[i]
        self.left[:, at] = 0.0 if barred else self.slack[:, at]

    def release(self, cells: IntArray) -> None:
        """These cells cost nothing any more, whoever asks."""
        from discreet.methods.suppress.network_mover_kernel import release

        release(self.map.streets, self.map.column[cells])

    def move(self, p: int, side: int, level: float) -> Deviation | None:
        """A cheap congruent table that moves ``p`` by ``level``; None if there is none."""
        if self.left[side, self.map.column[p]] < level * (1 - LEVEL_TOLERANCE):
            return None
        far, difference = self._move(p, side, level, 1 - LEVEL_TOLERANCE)
        return difference if far >= level * (1 - LEVEL_TOLERANCE) else None

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """Two tables, one with ``p`` at least ``lower`` below and one ``upper`` above, ``sliding`` apart in all.

        The cheapest of three: the one above does as much of the width as it can, no more than it must, or half of that.
        """
        most = max(sliding - lower, upper)
        found = [self._apart(p, lower, goal, sliding) for goal in (most, (upper + most) / 2, upper)]
        return min((pair for pair in found if pair is not None), key=self._price, default=None)

    def _apart(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """One table with ``p`` up to ``upper`` above, and one with ``p`` so far below that it is enough."""
        far, above = self._move(p, UP, upper)
        below = self.move(p, DOWN, max(lower, sliding - far))
        return None if below is None else (above, below)

    def _move(self, p: int, side: int, level: float, least: float = 0.0) -> tuple[float, Deviation]:
        """Move a cell by a level, or as far as it goes if that can be ``least`` of it; how far."""
        from discreet.methods.suppress.network_mover_kernel import circulate

        if not level:
            return 0.0, Deviation(np.zeros(0, np.int64), np.zeros(0))
        at = self.map.column[p]
        far, arcs, move = circulate(self.map.streets, self.map.marks, self.left, at, side, level, least)
        return far * level, Deviation(self.map.cells[arcs], move * level)

    def _price(self, pair: tuple[Deviation, Deviation]) -> float:
        """What it costs to suppress all that moves in one of two tables."""
        at = self.map.column[np.union1d(pair[0].cells, pair[1].cells)]
        streets = self.map.streets
        return float(streets.price[at[~streets.is_free[at]]].sum())
