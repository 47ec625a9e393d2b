"""The slack that a published table of other values leaves each cell, and the cuts that follow."""

from __future__ import annotations

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import without_noise
from discreet.methods.core.separator import Violation
from discreet.methods.perturbation.windows import Windows

MIN_CUT_VIOLATION = 1e-6  # share of a level by which every cut is violated: smaller violations are lost in solvers


class TablePublication:
    """Points are changes of all cells, in units; cuts are the capacity constraints of Salazar-González (2002), figure 13.

    A cell has two bounds, the prior bound of the attacker and the end of the published interval. Slack and tangent are those of
    the tighter one.
    """

    def __init__(self, windows: Windows) -> None:
        self._windows, self._attackers = windows, windows.problem.attackers()

    def slack(self, attacker: int, point: IntArray) -> FloatArray:
        return self._bounds(attacker, point)[0]

    def cut(self, attacker: int, point: IntArray, violation: Violation) -> Cut:
        windows, level = self._windows, violation.requirement.level
        slack, prior_is_tighter = self._bounds(attacker, point)
        unchanged = windows.half_width(windows.problem.table.value)  # ``slope`` times the change is added
        weight, constant = np.zeros(len(unchanged)), 0.0
        for pulls in map(without_noise, violation.pulls):
            cells, up, size = pulls.cells, pulls.weight > 0, np.abs(pulls.weight)
            side = np.where(up, UP, DOWN)
            prior = prior_is_tighter[side, cells]
            constant += float((size * np.where(prior, slack[side, cells], unchanged[cells])).sum())
            tangent = np.where(up, 1.0 + windows.slope[cells], windows.slope[cells] - 1.0)
            weight[cells] += np.where(prior, 0.0, size * tangent)
        columns = np.flatnonzero(weight)
        # In units of the level, so that all cuts are of the same size.
        cut = Cut(columns, weight[columns] * windows.unit / level, 1.0 - constant / level)
        return cut.violated_by(point.astype(float), MIN_CUT_VIOLATION)

    def _bounds(self, attacker: int, point: IntArray) -> tuple[FloatArray, BoolArray]:
        """The slack of each cell, and where the prior bounds of an attacker are tighter than the published interval."""
        windows, prior, value = self._windows, self._attackers[attacker], self._windows.problem.table.value
        lower, upper = windows.intervals(windows.published(point))
        slack = np.stack([value - np.maximum(lower, prior.lower), np.minimum(upper, prior.upper) - value])
        return np.maximum(slack, 0.0), np.stack([prior.lower >= lower, prior.upper <= upper])
