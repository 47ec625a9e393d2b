"""Widths made of the moves that meet single demands: no wider than these, and each move chosen anew beside the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.methods.core.requirements import Requirement
from discreet.methods.intervals.setting import IntervalSetting
from discreet.methods.intervals.widen import Widener
from discreet.progress import Budget

RENEWED = 0.5  # of the time that is left for choosing moves anew


class Renewal:
    """One move a demand and attacker, none of which goes beyond the widths that all of them need together."""

    def __init__(
        self,
        setting: IntervalSetting,
        least: FloatArray,
        wideners: Sequence[Widener],
        requirements: Sequence[Sequence[Requirement]],
    ) -> None:
        self.s, self.least = setting, least
        asked = [(one, k) for k, own in enumerate(requirements) for one in own]
        self.asked = sorted(asked, key=lambda one: -one[0].level)
        self.wideners = wideners
        # Columns of widths and how far they go, one entry per demand; empty where the move of another one is far enough.
        self.moves: list[tuple[IntArray, FloatArray]] = [_columns(np.zeros(least.shape))] * len(asked)

    def renewed(self, budget: Budget) -> FloatArray | None:
        """Widths that meet all demands, and after some time narrower ones; None if there are none, or time was up before."""
        z = self.least
        waiting = []
        farthest = [np.zeros(z.shape) for _ in self.wideners]  # of all moves, by attacker
        for k, (requirement, number) in enumerate(self.asked):
            if float(farthest[number][list(requirement.sides), requirement.cell].sum()) >= requirement.level:
                waiting.append(k)
                continue
            far = None if budget.over else self.wideners[number].reach(z, requirement)
            if far is None:
                return None
            z, farthest[number] = np.maximum(z, far), np.maximum(farthest[number], far)
            self.moves[k] = _columns(far)
        budget = budget.share(RENEWED)
        for k in waiting:  # a move of its own, so that the others may be chosen anew
            far = self._reach(k, z, budget)
            if far is None:
                return z
            z = np.maximum(z, far)
            self.moves[k] = _columns(far)
        for k in range(len(self.asked)):
            others = self._without(k)
            far = self._reach(k, others, budget)
            if far is None:
                break
            before = others.copy()
            np.maximum.at(before.ravel(), *self.moves[k])
            if self.s.cost(np.maximum(others, far)) < self.s.cost(before):
                self.moves[k] = _columns(far)
        return self._without(None)

    def _reach(self, k: int, z: FloatArray, budget: Budget) -> FloatArray | None:
        requirement, number = self.asked[k]
        return None if budget.over else self.wideners[number].reach(z, requirement)

    def _without(self, number: int | None) -> FloatArray:
        """The widths that all moves but one need."""
        z = self.least.copy()
        moves = [move for k, move in enumerate(self.moves) if k != number]
        if moves:
            np.maximum.at(z.ravel(), *(np.concatenate(part) for part in zip(*moves, strict=True)))
        return z


def _columns(far: FloatArray) -> tuple[IntArray, FloatArray]:
    columns = np.flatnonzero(far)
    return columns, far.ravel()[columns]
