"""Congruent tables met on the way, and which cells they show to be safe from one attacker."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.tolerances import LEVEL_TOLERANCE, RESIDUAL_TOLERANCE
from discreet.methods.suppress.movers import AnyMover
from discreet.methods.suppress.nonzeros import terms
from discreet.problem import Problem, Status


class KnownDeviations:
    """For each protected cell and direction the farthest move known, and the table that shows it.

    Any multiple of a difference, also a negative one, that stays within the bounds people know is congruent too, so one
    table speaks for many cells in both directions.
    """

    def __init__(self, problem: Problem, attacker: Attacker) -> None:
        value = problem.table.value
        self.relations = problem.table.relations.tocsc()
        self.slack = np.stack([value - attacker.lower, attacker.upper - value]).clip(min=0.0)
        self.lower, self.upper, self.sliding = problem.levels(attacker)
        # Free cells that would need protection if they were suppressed count as well.
        self.is_protected = problem.protected(attacker, np.ones(len(value), dtype=bool))
        self.may_go = problem.status == Status.FREE
        self.reach = np.zeros((2, len(problem)))
        self.shown_by = np.full((2, len(problem)), -1)
        self.tables: list[Deviation] = []
        self.shows: list[tuple[IntArray, IntArray]] = []  # by table: sides and cells it spoke for at first
        self.using: defaultdict[int, list[int]] = defaultdict(list)  # secondary -> tables in which it moves

    def reaches(self, p: int, side: int, level: float) -> bool:
        return bool(self.reach[side, p] >= level * (1 - LEVEL_TOLERANCE))

    def suffices(self, p: int) -> bool:
        """Whether all protection levels of ``p`` are shown to be reached."""
        wide_enough = self.reach[:, p].sum() >= self.sliding[p] * (1 - LEVEL_TOLERANCE)
        return bool(wide_enough and self.reaches(p, DOWN, self.lower[p]) and self.reaches(p, UP, self.upper[p]))

    def counts(self, cells: IntArray, suppressed: BoolArray, without: int) -> BoolArray:
        """Whether cells need protection in a pattern without one of its cells."""
        return np.asarray(self.is_protected[cells] & suppressed[cells] & (cells != without))

    def settle(self, cells: IntArray) -> None:
        """Take cells for safe that are so without any secondary."""
        self.reach[:, cells] = np.inf
        self.shown_by[:, cells] = -1

    def give_up(self, p: int) -> None:
        """Ask no more of a cell that nothing protects."""
        self.is_protected[p] = False

    def add(self, difference: Deviation) -> None:
        """Learn from one congruent table."""
        moves = difference.amount != 0
        support, move = difference.cells[moves], difference.amount[moves]
        if not len(support):
            return
        size, up = np.abs(move), move > 0
        with np.errstate(over="ignore"):  # slack without end for a tiny move
            multiple = [(self.slack[np.where(up, way, 1 - way), support] / size).min() for way in (DOWN, UP)]
        at = np.flatnonzero(self.is_protected[support] & (size * RESIDUAL_TOLERANCE >= self._residual(support, move)))
        # Each goes its own way, or all go back.
        side = np.concatenate([np.where(up[at], UP, DOWN), np.where(up[at], DOWN, UP)])
        reach = np.concatenate([size[at] * min(multiple[UP], 1e12), size[at] * min(multiple[DOWN], 1e12)])
        cell = np.tile(support[at], 2)
        better = reach > self.reach[side, cell] * (1 + LEVEL_TOLERANCE)
        if not better.any():
            return
        side, cell = side[better], cell[better]
        self.reach[side, cell], self.shown_by[side, cell] = reach[better], len(self.shows)
        for i in support[self.may_go[support]].tolist():
            self.using[i].append(len(self.shows))
        self.tables.append(difference)
        self.shows.append((side, cell))

    def in_use(self, suppressed: BoolArray) -> list[Deviation]:
        """The tables that show suppressed cells to be safe."""
        ids = np.unique(self.shown_by[:, self.is_protected & suppressed])
        return [self.tables[k] for k in ids[ids >= 0].tolist()]

    def _residual(self, cells: IntArray, move: FloatArray) -> float:
        """By how much relations are missed at most, by moves of these cells alone."""
        at, length = terms(self.relations, cells)
        rows, row = np.unique(self.relations.indices[at], return_inverse=True)
        violated = np.bincount(row, self.relations.data[at] * np.repeat(move, length), len(rows))
        return float(np.abs(violated).max(initial=0.0))

    def relying_on(self, cell: int) -> tuple[IntArray, IntArray]:
        """The (side, protected cell) pairs whose evidence moves ``cell``."""
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none)]
        for table in self.using.get(cell, ()):
            side, p = self.shows[table]
            still = self.shown_by[side, p] == table
            pairs.append((side[still], p[still]))
        sides, cells = zip(*pairs, strict=True)
        return np.concatenate(sides), np.concatenate(cells)


def seek(mover: AnyMover, evidence: KnownDeviations, p: int) -> list[Deviation] | None:
    """Cheap moves that show ``p`` what it still lacks, added to the evidence; None if there are none."""
    moves: list[Deviation] = []

    def learn(*found: Deviation | None) -> bool:
        for move in found:
            if move is None:
                return False
            moves.append(move)
            evidence.add(move)
        return True

    lower, upper, sliding = float(evidence.lower[p]), float(evidence.upper[p]), float(evidence.sliding[p])
    for side, level in ((UP, upper), (DOWN, lower)):
        if not evidence.reaches(p, side, level) and not learn(mover.move(p, side, level)):
            return None
    if not evidence.suffices(p):
        learn(*(mover.stretch(p, lower, upper, sliding) or (None,)))
    return moves if evidence.suffices(p) else None
