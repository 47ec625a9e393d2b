"""Deviations found so far, and the cells that they show to be safe from one attacker."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.deviations import Deviation
from discreet.inference.nonzeros import terms
from discreet.inference.tolerances import LEVEL_TOLERANCE, RESIDUAL_TOLERANCE
from discreet.methods.suppress.deviation_search import DeviationSearch
from discreet.problem import Problem, Status


class KnownDeviations:
    """Per protected cell and side the largest change known, and the deviation that shows it.

    Any multiple of a deviation, also a negative one, within the bounds of the attacker is a deviation, too. So one deviation
    shows changes of many cells on both sides.
    """

    def __init__(self, problem: Problem, attacker: Attacker) -> None:
        value = problem.table.value
        self.relations = problem.table.relations.tocsc()
        self.slack = problem.slack(attacker)
        self.lower, self.upper, self.sliding = problem.levels(attacker)
        # Free cells that need protection if they are suppressed are included.
        self.needs_protection = problem.protected(attacker, np.ones(len(value), dtype=bool))
        self.is_free = problem.status == Status.FREE
        self.reach = np.zeros((2, len(problem)))
        self.shown_by = np.full((2, len(problem)), -1)
        self.deviations: list[Deviation] = []
        self.shows: list[tuple[IntArray, IntArray]] = []  # per deviation: sides and cells that it showed when added
        self.using: defaultdict[int, list[int]] = defaultdict(list)  # free cell -> deviations that move it

    def reaches(self, p: int, side: int, level: float) -> bool:
        """Whether a change of ``p`` by this level is known."""
        return bool(self.reach[side, p] >= level * (1 - LEVEL_TOLERANCE))

    def suffices(self, p: int) -> bool:
        """Whether the known deviations reach all protection levels of ``p``."""
        wide_enough = self.reach[:, p].sum() >= self.sliding[p] * (1 - LEVEL_TOLERANCE)
        return bool(wide_enough and self.reaches(p, DOWN, self.lower[p]) and self.reaches(p, UP, self.upper[p]))

    def counts(self, cells: IntArray, suppressed: BoolArray, without: int) -> BoolArray:
        """Which of these cells need protection in a pattern without one of its cells."""
        return np.asarray(self.needs_protection[cells] & suppressed[cells] & (cells != without))

    def settle(self, cells: IntArray) -> None:
        """Mark cells as safe that are safe without any secondary."""
        self.reach[:, cells] = np.inf
        self.shown_by[:, cells] = -1

    def add(self, deviation: Deviation) -> None:
        """Add a deviation with everything that its multiples show."""
        moves = deviation.amount != 0
        support, amount = deviation.cells[moves], deviation.amount[moves]
        if not len(support):
            return
        size, up = np.abs(amount), amount > 0
        with np.errstate(over="ignore"):  # unlimited slack divided by a tiny change
            multiple = [(self.slack[np.where(up, side, 1 - side), support] / size).min() for side in (DOWN, UP)]
        residual = self._residual(support, amount)
        at = np.flatnonzero(self.needs_protection[support] & (size * RESIDUAL_TOLERANCE >= residual))
        # The positive multiples, then the negative ones.
        side = np.concatenate([np.where(up[at], UP, DOWN), np.where(up[at], DOWN, UP)])
        reach = np.concatenate([size[at] * min(multiple[UP], 1e12), size[at] * min(multiple[DOWN], 1e12)])
        cell = np.tile(support[at], 2)
        better = reach > self.reach[side, cell] * (1 + LEVEL_TOLERANCE)
        if not better.any():
            return
        side, cell = side[better], cell[better]
        self.reach[side, cell], self.shown_by[side, cell] = reach[better], len(self.shows)
        for i in support[self.is_free[support]].tolist():
            self.using[i].append(len(self.shows))
        self.deviations.append(deviation)
        self.shows.append((side, cell))

    def in_use(self, suppressed: BoolArray) -> list[Deviation]:
        """The deviations that show changes of protected suppressed cells."""
        ids = np.unique(self.shown_by[:, self.needs_protection & suppressed])
        return [self.deviations[k] for k in ids[ids >= 0].tolist()]

    def _residual(self, cells: IntArray, amount: FloatArray) -> float:
        """The largest violation of a relation by changes of these cells."""
        at, length = terms(self.relations, cells)
        rows, row = np.unique(self.relations.indices[at], return_inverse=True)
        violated = np.bincount(row, self.relations.data[at] * np.repeat(amount, length), len(rows))
        return float(np.abs(violated).max(initial=0.0))

    def relying_on(self, cell: int) -> tuple[IntArray, IntArray]:
        """The pairs of side and protected cell whose deviation moves ``cell``."""
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none)]
        for number in self.using.get(cell, ()):
            side, p = self.shows[number]
            current = self.shown_by[side, p] == number
            pairs.append((side[current], p[current]))
        sides, cells = zip(*pairs, strict=True)
        return np.concatenate(sides), np.concatenate(cells)


def find_deviations(search: DeviationSearch, evidence: KnownDeviations, p: int) -> list[Deviation] | None:
    """Cheap deviations for the levels that ``p`` does not yet reach, added to those known; None if there are none."""
    deviations: list[Deviation] = []

    def add(*found: Deviation | None) -> bool:
        for deviation in found:
            if deviation is None:
                return False
            deviations.append(deviation)
            evidence.add(deviation)
        return True

    lower, upper, sliding = float(evidence.lower[p]), float(evidence.upper[p]), float(evidence.sliding[p])
    for side, level in ((UP, upper), (DOWN, lower)):
        if not evidence.reaches(p, side, level) and not add(search.move(p, side, level)):
            return None
    if not evidence.suffices(p):
        add(*(search.stretch(p, lower, upper, sliding) or (None,)))
    return deviations if evidence.suffices(p) else None
