"""The search for cheap deviations: by flows if relations form a network, otherwise by linear programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.boxes import Boxes
from discreet.inference.deviations import Deviation
from discreet.inference.max_flow import Network, network
from discreet.inference.subtables import subtables
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.suppress.deviation_flow_kernel import circulate, release, residual_network, search_state
from discreet.methods.suppress.deviation_program import SURCHARGES, DeviationProgram
from discreet.problem import Problem
from discreet.progress import Budget

QUICK_SEARCH_CELLS = (300, 2_000)  # around the cell in question, the smaller program first; then all cells


class PricedNetwork:
    """A network of cells with the price of each; common to all attackers, who differ only in their prior bounds."""

    def __init__(self, net: Network, cells: IntArray, price: FloatArray) -> None:
        self.cells = cells
        self.column = np.full(len(price), -1)
        self.column[cells] = np.arange(len(cells))
        self.pinned = net.pinned
        self.residual = residual_network(net.tail, net.head, net.nodes, price[cells])
        self.state = search_state(net.nodes, len(cells))


class DeviationFlow:
    """Like ``DeviationProgram``: the change of a cell returns as a flow through others, along successive cheapest paths."""

    solver = "network flow"

    def __init__(self, problem: Problem, attacker: Attacker, net: PricedNetwork) -> None:
        self.net = net
        self.slack = problem.slack(attacker)[:, net.cells]
        self.slack[:, net.pinned] = 0.0
        self.left = self.slack.copy()

    def within(self, budget: Budget) -> None:
        """Flows are found in a moment, so no budget is needed."""

    def bar(self, i: int, barred: bool) -> None:
        """Fix a cell, as if it were published, or free it again."""
        at = self.net.column[i]
        self.left[:, at] = 0.0 if barred else self.slack[:, at]

    def release(self, cells: IntArray) -> None:
        """Set the price of these cells to zero, for all attackers."""
        release(self.net.residual, self.net.column[cells])

    def move(self, p: int, side: int, level: float) -> Deviation | None:
        """A cheap deviation that moves ``p`` by ``level``; None if there is none."""
        if self.left[side, self.net.column[p]] < level * (1 - LEVEL_TOLERANCE):
            return None
        reached, deviation = self._move(p, side, level, 1 - LEVEL_TOLERANCE)
        return deviation if reached >= level * (1 - LEVEL_TOLERANCE) else None

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """Two deviations, ``p`` at least ``upper`` up and ``lower`` down, at least ``sliding`` in all; None if impossible.

        The cheapest of three pairs: the deviation up is as large as the width allows, as small as possible, or halfway between.
        """
        largest = max(sliding - lower, upper)
        found = [self._pair(p, lower, goal, sliding) for goal in (largest, (upper + largest) / 2, upper)]
        return min((pair for pair in found if pair is not None), key=self._price, default=None)

    def _pair(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """A deviation with ``p`` up to ``upper`` up, and one with ``p`` as far down as is still required."""
        reached, up = self._move(p, UP, upper)
        down = self.move(p, DOWN, max(lower, sliding - reached))
        return None if down is None else (up, down)

    def _move(self, p: int, side: int, level: float, least: float = 0.0) -> tuple[float, Deviation]:
        """Change a cell by a level, or by the largest possible part of it, at least ``least``: the change and the deviation."""
        if not level:
            return 0.0, Deviation(np.zeros(0, np.int64), np.zeros(0))
        arc = self.net.column[p]
        reached, arcs, change = circulate(self.net.residual, self.net.state, self.left, arc, side, level, least)
        return reached * level, Deviation(self.net.cells[arcs], change * level)

    def _price(self, pair: tuple[Deviation, Deviation]) -> float:
        """The cost of suppressing all cells that two deviations move."""
        arcs = self.net.column[np.union1d(pair[0].cells, pair[1].cells)]
        residual = self.net.residual
        return float(residual.price[arcs[~residual.is_free[arcs]]].sum())


class QuickSearch:
    """Deviations that are found quickly and may be expensive: boxes, then linear programs around the cell."""

    def __init__(self, problem: Problem, attacker: Attacker, boxes: Boxes, program: DeviationProgram) -> None:
        self.boxes, self.program = boxes, program
        self.solver = program.solver
        self.lower, self.upper, _ = problem.levels(attacker)
        self.price = np.zeros(len(problem))
        self.price[program.cells] = program.price
        self.slack = np.zeros((2, len(problem)))
        self.slack[:, program.cells] = program.slack

    def within(self, budget: Budget) -> None:
        """From now on raise :class:`OutOfTime` if this budget ends during a search."""
        self.program.within(budget)

    def bar(self, i: int, barred: bool) -> None:
        """Fix a cell, as if it were published, or free it again."""
        self.program.bar(i, barred)
        self.slack[:, i] = self.program.left[:, self.program.column[i]]

    def release(self, cells: IntArray) -> None:
        """Set the price of these cells to zero."""
        self.program.release(cells)
        self.price[cells] = 0.0

    def move(self, p: int, side: int, level: float) -> Deviation | None:
        """A deviation that moves ``p`` by ``level``, if possible one that reaches both levels of ``p``; None if there is none."""
        down, up = max(self.lower[p], level * (side == DOWN)), max(self.upper[p], level * (side == UP))
        box = self.boxes.around(p, (down, up), self.price, self.slack)
        return self.program.move(p, side, level) if box is None else box

    def stretch(self, p: int, lower: float, upper: float, sliding: float) -> tuple[Deviation, Deviation] | None:
        """Two deviations, ``p`` at least ``upper`` up and ``lower`` down, at least ``sliding`` in all; None if impossible."""
        return self.program.stretch(p, lower, upper, sliding)


DeviationSearch = DeviationProgram | DeviationFlow | QuickSearch


def deviation_searches(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int, surcharges: tuple[float, ...] = SURCHARGES
) -> Sequence[DeviationSearch]:
    """One search per attacker over the given cells: flows if relations form a network, otherwise linear programs."""
    indices = np.flatnonzero(cells)
    net = network(problem.table.relations[:, indices])
    if net is None:
        return deviation_programs(problem, cells, price, seed, surcharges)
    priced = PricedNetwork(net, indices, price)
    return [DeviationFlow(problem, attacker, priced) for attacker in problem.attackers()]


def quick_searches(problem: Problem, cells: BoolArray, price: FloatArray, seed: int) -> Sequence[DeviationSearch]:
    """One quick search per attacker; flows are quick enough."""
    found = deviation_searches(problem, cells, price, seed, SURCHARGES[-2:])
    programs = [search for search in found if isinstance(search, DeviationProgram)]
    if not programs:
        return found
    relations = problem.table.relations
    boxes = Boxes(relations, subtables(relations))
    for program in programs:
        program.sizes = QUICK_SEARCH_CELLS
    attackers = zip(problem.attackers(), programs, strict=True)
    return [QuickSearch(problem, attacker, boxes, program) for attacker, program in attackers]


def deviation_programs(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int = 0, surcharges: tuple[float, ...] = SURCHARGES
) -> list[DeviationProgram]:
    """Linear programs per attacker over the given cells, for any relations."""
    indices = np.flatnonzero(cells)
    relations = problem.table.relations_of(indices)
    return [DeviationProgram(problem, one, indices, relations, price, seed, surcharges) for one in problem.attackers()]
