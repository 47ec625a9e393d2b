"""Widths made of deviations that meet one requirement each, chosen again as long as that makes the widths cheaper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.methods.core.requirements import Requirement
from discreet.methods.intervals.setting import IntervalSetting
from discreet.methods.intervals.widen import Widener
from discreet.progress import Budget

RENEWAL_SHARE = 0.5  # of the time left, for choosing deviations again: the rest is for the cutting planes


class Renewal:
    """One deviation for each requirement and attacker; the widths are the largest of all deviations."""

    def __init__(
        self,
        setting: IntervalSetting,
        least: FloatArray,
        wideners: Sequence[Widener],
        requirements: Sequence[Sequence[Requirement]],
    ) -> None:
        self.s, self.least, self._wideners = setting, least, wideners
        required = [(each, attacker) for attacker, by_attacker in enumerate(requirements) for each in by_attacker]
        self._required = sorted(required, key=lambda pair: -pair[0].level)
        # Columns of widths and how far cells deviate; empty if the deviation for another requirement meets this one, too.
        self._deviations = [_nonzero(np.zeros(least.shape))] * len(required)

    def renewed(self, budget: Budget) -> FloatArray | None:
        """Widths that meet all requirements, made cheaper for some time; None if none are found in time."""
        z, met = self.least, []
        farthest = [np.zeros(z.shape) for _ in self._wideners]  # of all deviations, by attacker
        for k, (requirement, attacker) in enumerate(self._required):
            if float(farthest[attacker][list(requirement.sides), requirement.cell].sum()) >= requirement.level:
                met.append(k)
                continue
            far = self._reach(k, z, budget)
            if far is None:
                return None
            z, farthest[attacker] = np.maximum(z, far), np.maximum(farthest[attacker], far)
            self._deviations[k] = _nonzero(far)
        budget = budget.share(RENEWAL_SHARE)
        for k in met:  # a deviation for each requirement, so that the others may be chosen again
            far = self._reach(k, z, budget)
            if far is None:
                return z
            z = np.maximum(z, far)
            self._deviations[k] = _nonzero(far)
        for k in range(len(self._required)):
            others = self._widths(without=k)
            far = self._reach(k, others, budget)
            if far is None:
                break
            before = others.copy()
            np.maximum.at(before.ravel(), *self._deviations[k])
            if self.s.cost(np.maximum(others, far)) < self.s.cost(before):
                self._deviations[k] = _nonzero(far)
        return self._widths()

    def _reach(self, k: int, z: FloatArray, budget: Budget) -> FloatArray | None:
        requirement, attacker = self._required[k]
        return None if budget.over else self._wideners[attacker].reach(z, requirement)

    def _widths(self, without: int | None = None) -> FloatArray:
        """The widths that all deviations, or all but one, need."""
        z = self.least.copy()
        deviations = [each for k, each in enumerate(self._deviations) if k != without]
        if deviations:
            np.maximum.at(z.ravel(), *(np.concatenate(parts) for parts in zip(*deviations, strict=True)))
        return z


def _nonzero(far: FloatArray) -> tuple[IntArray, FloatArray]:
    columns = np.flatnonzero(far)
    return columns, far.ravel()[columns]
