"""Congruent tables met on the way, and which cells they show to be safe from one attacker."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from discreet.attackers import Attacker
from discreet.audit.tolerances import REACH, RESIDUAL
from discreet.methods.suppress.mover import Mover
from discreet.problem import Problem, Status
from discreet.relations import FloatArray

IntArray = NDArray[np.int64]
DOWN, UP = 0, 1
SIGN = (-1, 1)


class Evidence:
    """For each protected cell and direction the farthest move known, and the table that shows it.

    A table is kept as its difference from the true one. Any multiple of it, also a negative one, that stays within
    the bounds people know is congruent too, so one table speaks for many cells in both directions.
    """

    def __init__(self, problem: Problem, attacker: Attacker) -> None:
        value = problem.table.value
        self.relations = problem.table.relations
        self.up = np.maximum(attacker.upper - value, 0.0)
        self.down = np.maximum(value - attacker.lower, 0.0)
        self.lower, self.upper, self.sliding = problem.levels(attacker)
        # Free cells that would need protection if they were hidden count as well.
        self.is_protected = problem.protected(attacker, np.ones(len(value), dtype=bool))
        self.protected = np.flatnonzero(self.is_protected)
        self.may_go = problem.status == Status.FREE
        self.reach = np.zeros((2, len(problem)))
        self.shown_by = np.full((2, len(problem)), -1)
        self.tables = 0
        self.using: defaultdict[int, set[int]] = defaultdict(set)  # secondary -> tables in which it moves

    def reaches(self, p: int, side: int, level: float) -> bool:
        return bool(self.reach[side, p] >= level * (1 - REACH))

    def suffices(self, p: int) -> bool:
        """Whether all protection levels of ``p`` are shown to be reached."""
        wide_enough = self.reach[:, p].sum() >= self.sliding[p] * (1 - REACH)
        return bool(wide_enough and self.reaches(p, DOWN, self.lower[p]) and self.reaches(p, UP, self.upper[p]))

    def settle(self, cells: IntArray) -> None:
        """Take cells for safe that are so without any secondary."""
        self.reach[:, cells] = np.inf
        self.shown_by[:, cells] = -1

    def add(self, cells: IntArray, difference: FloatArray) -> None:
        """Learn from one congruent table, given as the differences of some cells from the true one."""
        moves = difference != 0
        support, move = cells[moves], difference[moves]
        if not len(support):
            return
        full = np.zeros(len(self.up))
        full[support] = move
        residual = float(np.abs(self.relations @ full).max(initial=0.0))
        with np.errstate(over="ignore"):  # room without end for a tiny move
            forward = np.where(move > 0, self.up[support], self.down[support]) / np.abs(move)
            backward = np.where(move > 0, self.down[support], self.up[support]) / np.abs(move)
        protected = self.is_protected[support] & (np.abs(move) * RESIDUAL >= residual)
        kept = False
        for multiple, way in ((forward.min(), 1), (backward.min(), -1)):
            for side, sign in enumerate(SIGN):
                hit = protected & (way * sign * move > 0)
                at = support[hit]
                reach = np.abs(move[hit]) * min(multiple, 1e12)
                better = reach > self.reach[side, at] * (1 + REACH)
                self.reach[side, at[better]] = reach[better]
                self.shown_by[side, at[better]] = self.tables
                kept = kept or bool(better.any())
        if kept:
            for cell in support[self.may_go[support]].tolist():
                self.using[cell].add(self.tables)
            self.tables += 1

    def relying_on(self, cell: int) -> tuple[IntArray, IntArray]:
        """The (side, protected cell) pairs whose evidence moves ``cell``."""
        tables = self.using.get(cell)
        if not tables:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        side, at = np.nonzero(np.isin(self.shown_by[:, self.protected], list(tables)))
        return side, self.protected[at]


def seek(mover: Mover, evidence: Evidence, p: int, price: FloatArray) -> list[FloatArray] | None:
    """Cheap moves that show ``p`` what it still lacks, added to the evidence; None if there are none."""
    moves: list[FloatArray] = []

    def learn(*found: FloatArray | None) -> bool:
        for move in found:
            if move is None:
                return False
            moves.append(move)
            evidence.add(mover.cells, move)
        return True

    lower, upper, sliding = float(evidence.lower[p]), float(evidence.upper[p]), float(evidence.sliding[p])
    for side, level in ((UP, upper), (DOWN, lower)):
        if not evidence.reaches(p, side, level) and not learn(mover.move(p, SIGN[side], level, price)):
            return None
    if not evidence.suffices(p):
        learn(*(mover.stretch(p, lower, upper, sliding, price) or (None,)))
    return moves if evidence.suffices(p) else None
