"""Cuts and widths in turn, until the cheapest widths that satisfy all cuts meet every requirement."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import Incumbent
from discreet.methods.core.separator import Separator, Violation
from discreet.methods.intervals.master import WidthMaster
from discreet.methods.intervals.publication import WidthCut, WidthPublication, Widths
from discreet.methods.intervals.setting import IntervalSetting
from discreet.methods.intervals.widen import Renewal, Widener
from discreet.progress import Budget, OutOfTime

FIRST_SHARE = 0.1  # of the time for the first widths
SAMPLED_REQUIREMENTS = 24  # enough to estimate how many are violated
BRIDGELESS_SHARE = 1e-3  # of an interval, by which bridgeless inequalities may be violated once there are cuts
PROVEN_WIDTH_GAP = 1e-7  # share of the cost that solvers may leave open
NO_WIDTH = 1e-7  # in median levels: cells with narrower intervals are published exactly


class WidthSearch:
    """The cheapest widths that meet all requirements, from above, and a bound from below."""

    def __init__(self, setting: IntervalSetting, run: Run, conditional: bool = True) -> None:
        self.setting, self.run = setting, run
        self.conditional = conditional and any(setting.conditional())  # whether requirements of free cells count
        self.requirements = setting.requirements
        self.master = WidthMaster(setting, setting.least(self.requirements), run.seed)
        publication, attackers = WidthPublication(setting), range(len(setting.slacks))
        self.separators = [Separator(publication, k, setting.relations) for k in attackers]
        self.wideners = [Widener(setting, k, run.seed) for k in attackers]
        self.chosen = np.zeros(len(setting.problem), dtype=bool)  # free cells whose requirements count
        self.best: Incumbent[FloatArray] = Incumbent(PROVEN_WIDTH_GAP, setting.constant)
        self.rounds = 0
        self._at_optimum = True  # whether the next point is the optimum of the master program

    def search(self) -> str:
        """Search until the incumbent is proven, or the time is over. Returns the status of the incumbent."""
        z = self._first()
        try:
            while z is not None:
                self.rounds += 1
                # Halfway to the incumbent: if that meets all requirements it is cheaper, else its cuts are deeper.
                best = self.best.solution
                point = z if best is None or self._at_optimum else (z + best) / 2
                cuts, violated = self._separate(point)
                self._at_optimum = not any(violated) and not self._at_optimum
                self._repair(point, violated)
                self.run.progress.update(self.rounds, f"{sum(map(len, violated)):,} requirements violated")
                again = bool(cuts)
                if self._nearly_proven():
                    again = self._require_conditional()
                    if not again:
                        return self.best.status(self.run.budget, finished=True)
                elif self.run.budget.over:
                    break
                if again:
                    self.master.add(cuts)
                    z = self._cheapest_widths(self.run.budget, BRIDGELESS_SHARE, 1)
        except OutOfTime:
            pass
        return self.run.budget.ending

    def work(self) -> dict[str, int]:
        """Counts for the report."""
        return {
            "requirements": sum(map(len, self.requirements)),
            "cuts": len(self.master.cuts),
            "rounds": self.rounds,
            "programs": self.master.programs,
        }

    def _first(self) -> FloatArray | None:
        """The cheapest widths that satisfy all bridgeless inequalities; None if the time limit ended the search.

        If they violate most requirements, an incumbent is made in another way.
        """
        self.run.progress.stage("intervals", 0)
        z = self._cheapest_widths(self.run.budget.share(FIRST_SHARE), 0.0, None)
        if z is not None and self._violates_most(z):
            least = self.master.lower[: z.size].reshape(z.shape)
            renewed = Renewal(self.setting, least, self.wideners, self.requirements).renewed(self.run.budget)
            if renewed is not None:
                self.best.offer(renewed, self.setting.cost(renewed))
        return z

    def _violates_most(self, z: FloatArray) -> bool:
        """Whether widths violate more than half of a sample of the requirements."""
        sampled = violated = 0
        for separator, requirements in zip(self.separators, self.requirements, strict=True):
            sample = requirements[:: max(len(requirements) // SAMPLED_REQUIREMENTS, 1)]
            try:
                violated += len(list(separator.violations(Widths(z), sample, self.run.budget)))
            except OutOfTime:
                return False
            sampled += len(sample)
        return 2 * violated > sampled

    def _cheapest_widths(self, budget: Budget, share: float, passes: int | None) -> FloatArray | None:
        """The cheapest widths after some ``passes`` in which bridgeless inequalities are added; None: until none is violated.

        Returns None if the time limit ended the search before the first widths.
        """
        best, done = None, 0
        while not budget.over or best is None:
            z = self.master.solve(budget.left)
            if z is None:
                break
            best, done = z, done + 1
            if not self.chosen.any():
                self.best.bound = self.master.bound
            if (passes is not None and done > passes) or not self.master.add_bridgeless(z, share):
                break
        return best

    def _separate(self, z: FloatArray) -> tuple[list[WidthCut], list[list[Violation]]]:
        """Cuts, and the violated requirements by attacker; raises :class:`OutOfTime`."""
        cuts, violated = [], []
        for separator, requirements in zip(self.separators, self.requirements, strict=True):
            found = separator.separate(Widths(z), requirements, self.run.budget)
            cuts += found[0]
            violated.append(found[1])
        return cuts, violated

    def _repair(self, z: FloatArray, violated: list[list[Violation]]) -> None:
        """Widen intervals until they meet all requirements, the largest missing part first. The result may be a new incumbent."""
        if self.best.solution is not None and 2 * sum(map(len, violated)) > sum(map(len, self.requirements)):
            return  # with so many extensions the widths would cost more than the incumbent
        for widener, violations in zip(self.wideners, violated, strict=True):
            for violation in sorted(violations, key=lambda one: -one.missing):
                wider = None if self.run.budget.over else widener.reach(z, violation.requirement)
                if wider is None:
                    return
                z = np.maximum(z, wider)
        self.best.offer(z, self.setting.cost(z))

    def _nearly_proven(self) -> bool:
        """Whether the bound is within the gap of the cost. True as well if no widths are known that meet all requirements."""
        cost = self.best.cost
        return cost - self.master.bound <= max(self.run.budget.gap, PROVEN_WIDTH_GAP) * cost

    def _require_conditional(self) -> bool:
        """Add the requirements of free cells that have an interval by now. Returns whether there are new ones."""
        z = self.best.solution
        if z is None or not self.conditional:
            return False
        wide = np.zeros(len(self.chosen), dtype=bool)
        wide[self.setting.cells[z.sum(axis=0) > NO_WIDTH]] = True
        new = self.setting.conditional(wide & ~self.chosen)
        if not any(new):
            return False
        self.chosen |= wide
        self.requirements = [old + more for old, more in zip(self.requirements, new, strict=True)]
        self.master.raise_least(self.setting.least(new))
        self.best = Incumbent(PROVEN_WIDTH_GAP, self.best.bound)
        return True
