"""The slack that a rounded table leaves each cell, and the cuts that follow: Salazar-González (2002), figure 10."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray
from discreet.methods.check import verdicts
from discreet.methods.core.cuts import Cut
from discreet.methods.core.deviations import limits_by_cell, without_noise
from discreet.methods.core.requirements import Requirement, exposed_requirements
from discreet.methods.core.separator import Violation
from discreet.methods.rounding.grid import RoundingGrid
from discreet.progress import Progress
from discreet.protection import Protection, publish_intervals

LEAST_CUT_SHORTFALL = 1e-5  # share of a level: a cut requires this much more if the program does not show a shortfall


class RoundingPublication:
    """The point is the number of steps of each cell above the multiple below it."""

    def __init__(self, grid: RoundingGrid) -> None:
        self._grid, self._attackers = grid, grid.problem.attackers()

    def slack(self, attacker: int, point: FloatArray) -> FloatArray:
        return self._grid.slack(self._attackers[attacker], point)

    def cut(self, attacker: int, point: FloatArray, violation: Violation) -> Cut:
        """No cell contributes more than the level; the cut is tangent, at integers, to its contribution, which is concave."""
        grid, pulls = self._grid, [without_noise(each) for each in violation.pulls]
        cells, _ = limits_by_cell(pulls, self.slack(attacker, point))

        def contribution(steps: FloatArray) -> FloatArray:
            limits = limits_by_cell(pulls, self.slack(attacker, steps))[1]
            return np.minimum(limits / violation.requirement.level, 1.0)

        here, at, finite = contribution(point), point[cells], np.isfinite(grid.least[cells])
        ahead = np.where(finite & (at < grid.most[cells]), contribution(point + 1) - here, -np.inf)
        back = np.where(finite & (at > grid.least[cells]), here - contribution(point - 1), np.inf)
        slope = np.where(ahead > 0, ahead, np.where(back < 0, back, 0.0))
        slope = np.where(np.isfinite(slope), slope, 0.0)
        constant = float((here - slope * np.where(finite, at, 0.0)).sum())
        shortfall = 1.0 - float(here.sum())
        return Cut(cells, slope, 1.0 - constant + (0.0 if shortfall > 0 else LEAST_CUT_SHORTFALL - shortfall))


def exposed(grid: RoundingGrid, steps: FloatArray, progress: Progress | None = None) -> dict[int, list[Requirement]]:
    """The requirements that a rounding violates according to the audit, by the number of the attacker."""
    problem = grid.problem
    if not any(problem.levels(attacker)[:, grid.protected(attacker)].any() for attacker in problem.attackers()):
        return {}
    return exposed_requirements(verdicts(problem, protection(grid, steps), progress=progress))


def protection(grid: RoundingGrid, steps: FloatArray, **report: object) -> Protection:
    """The protection that publishes a rounding."""
    return publish_intervals(grid.problem, *grid.published(steps), cost=grid.deviation(steps), **report)  # type: ignore[arg-type]
