"""The slack that a published table of other values leaves each cell, and the cuts that follow."""

from __future__ import annotations

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import without_noise
from discreet.methods.core.separator import Violation
from discreet.methods.perturbation.windows import Windows
from discreet.problem import Status

VIOLATED = 1e-6  # share of a level by which every cut is violated: what solvers can tell


class TablePublication:
    """Points are changes of all cells, in units; cuts are the capacity constraints of Salazar-González (2002), figure 13.

    A cell has two bounds, what the attacker knows and what is published. Slack and tangent are those of the tighter one.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows, self._attackers = windows, windows.problem.attackers()

    def slack(self, attacker: int, point: IntArray) -> FloatArray:
        return self._ends(attacker, point)[0]

    def cut(self, attacker: int, point: IntArray, violation: Violation) -> Cut:
        windows, level = self._windows, violation.requirement.level
        slack, prior_is_tighter = self._ends(attacker, point)
        reach = windows.reach(
            windows.problem.table.value
        )  # without any change; ``slope`` times the change is added to it
        weight, constant = np.zeros(len(reach)), 0.0
        for pulls in map(without_noise, violation.pulls):
            cells, up, size = pulls.cells, pulls.weight > 0, np.abs(pulls.weight)
            side = np.where(up, UP, DOWN)
            prior = prior_is_tighter[side, cells]
            constant += float((size * np.where(prior, slack[side, cells], reach[cells])).sum())
            tangent = np.where(up, 1.0 + windows.slope[cells], windows.slope[cells] - 1.0)
            weight[cells] += np.where(prior, 0.0, size * tangent)
        columns = np.flatnonzero(weight)
        # In units of the level, so that all cuts are of the same size.
        cut = Cut(columns, weight[columns] * windows.unit / level, 1.0 - constant / level)
        return cut.violated_by(point.astype(float), VIOLATED)

    def _ends(self, attacker: int, point: IntArray) -> tuple[FloatArray, BoolArray]:
        """The slack of each cell, and where the attacker's prior bounds are tighter than what is published."""
        windows, who = self._windows, self._attackers[attacker]
        lower, upper = windows.intervals(windows.published(point))
        suppressed = windows.problem.status == Status.SUPPRESSED
        lower, upper = np.where(suppressed, -np.inf, lower), np.where(suppressed, np.inf, upper)
        value = windows.problem.table.value
        slack = np.stack([value - np.maximum(lower, who.lower), np.minimum(upper, who.upper) - value])
        return np.maximum(slack, 0.0), np.stack([who.lower >= lower, who.upper <= upper])
