"""Cuts and widths in turn, until the cheapest widths that fulfil all cuts meet every demand."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray
from discreet.methods.context import Run
from discreet.methods.intervals.master import WidthCut, WidthMaster
from discreet.methods.intervals.renew import Renewal
from discreet.methods.intervals.separator import ViolatedRequirement, WidthSeparator
from discreet.methods.intervals.setting import IntervalSetting
from discreet.methods.intervals.widen import Widener
from discreet.progress import Budget

FIRST = 0.1  # of the time for the first widths
TRIAL = 24  # demands that tell how many are missed
BRIDGED = 1e-3  # share of an interval that bridges may miss once there are cuts
PROVEN = 1e-7  # share of the cost that a bound may miss
WIDE = 1e-7  # in usual levels: narrower intervals are none


class WidthSearch:
    """The cheapest widths that meet all demands, from above, and a bound from below."""

    def __init__(self, setting: IntervalSetting, run: Run, conditional: bool = True) -> None:
        self.s = self.setting = setting
        self.conditional = conditional and setting.has_conditional  # whether demands of free cells count
        self.run = run
        self.requirements = [list(own) for own in setting.requirements]
        self.master = WidthMaster(setting, setting.least(self.requirements), run.seed)
        self.attacks = [WidthSeparator(setting, k) for k in range(len(setting.attackers))]
        self.wideners = [Widener(setting, k, run.seed) for k in range(len(setting.attackers))]
        self.chosen = np.zeros(len(setting.problem), dtype=bool)  # free cells whose demands count
        self.z: FloatArray | None = None  # the best that meets all
        self.cost = np.inf
        self.bound = setting.constant
        self.rounds = 0
        self.alone = True  # whether to look at the cheapest widths by themselves

    def search(self) -> str:
        """How it ended."""
        z = self._first()
        while z is not None:
            self.rounds += 1
            # Half-way to the best so far: where that meets all demands it is better, and what it misses makes deeper cuts.
            at = z if self.z is None or self.alone else (z + self.z) / 2
            found = self._separate(at)
            if found is None:
                break
            cuts, violated = found
            self.alone = not any(violated) and not self.alone
            self._offer(at, violated)
            self.run.progress.update(self.rounds, f"{sum(map(len, violated)):,} demands missed")
            again = bool(cuts)
            if self._near():
                again = self._choose()
                if not again:
                    return self._proven()
            elif self.run.budget.over:
                break
            if again:
                self.master.add(cuts)
                z = self._bridged(self.run.budget, BRIDGED, 1)
        return self.run.budget.ending

    def work(self) -> dict[str, int]:
        """What it took."""
        requirements = sum(map(len, self.requirements))
        return {
            "demands": requirements,
            "cuts": len(self.master.cuts),
            "rounds": self.rounds,
            "programs": self.master.programs,
        }

    def _first(self) -> FloatArray | None:
        """Widths that are as good as bridges can make them.

        Where these miss most demands, the first that meet all are better made of what single demands need.
        """
        self.run.progress.stage("intervals", 0)
        z = self._bridged(self.run.budget.share(FIRST), 0.0, None)
        if z is not None and self._misses_most(z):
            least = self.master.low[: z.size].reshape(z.shape)
            renewed = Renewal(self.s, least, self.wideners, self.requirements).renewed(self.run.budget)
            if renewed is not None:
                self._keep(renewed)
        return z

    def _misses_most(self, z: FloatArray) -> bool:
        """By a few of the demands."""
        asked = violated = 0
        for attack, requirements in zip(self.attacks, self.requirements, strict=True):
            some = requirements[:: max(len(requirements) // TRIAL, 1)]
            found = attack.separate(z, some, self.run.budget)
            asked, violated = asked + len(some), violated + (0 if found is None else len(found[1]))
        return 2 * violated > asked

    def _bridged(self, budget: Budget, share: float, passes: int | None) -> FloatArray | None:
        """The cheapest widths, with so many passes of bridges; the last ones if time is up, None if there are none."""
        best, done = None, 0
        while not budget.over or best is None:
            z = self.master.solve(budget.left)
            if z is None:
                break
            best, done = z, done + 1
            if not self.chosen.any():
                self.bound = self.master.bound
            if (passes is not None and done > passes) or not self.master.bridge(z, share):
                break
        return best

    def _separate(self, z: FloatArray) -> tuple[list[WidthCut], list[list[ViolatedRequirement]]] | None:
        cuts, violated = [], []
        for attack, requirements in zip(self.attacks, self.requirements, strict=True):
            found = attack.separate(z, requirements, self.run.budget)
            if found is None:
                return None
            cuts += found[0]
            violated.append(found[1])
        return cuts, violated

    def _offer(self, z: FloatArray, violated: list[list[ViolatedRequirement]]) -> None:
        """Widen intervals until they meet all demands, the largest first; keep the cheapest."""
        if self.z is not None and 2 * sum(map(len, violated)) > sum(map(len, self.requirements)):
            return  # too far away to become better
        for widener, own in zip(self.wideners, violated, strict=True):
            for one in sorted(own, key=lambda one: -one.lacking * one.requirement.level):
                if self.run.budget.over:
                    return
                far = widener.reach(z, one.requirement)
                if far is None:
                    return
                z = np.maximum(z, far)
        self._keep(z)

    def _keep(self, z: FloatArray) -> None:
        if self.s.cost(z) < self.cost:
            self.z, self.cost = z, self.s.cost(z)

    def _proven(self) -> str:
        open_part = self.cost - self.bound
        if open_part <= PROVEN * self.cost:
            return "optimal"
        # Cells that need protection only because they got an interval may be there without need.
        return "within_gap" if open_part <= self.run.budget.gap * self.cost else "heuristic"

    def _near(self) -> bool:
        return self.cost - self.master.bound <= max(self.run.budget.gap, PROVEN) * self.cost

    def _choose(self) -> bool:
        """Whether free cells got an interval whose own demands did not count so far; from now on they do."""
        if self.z is None or not self.conditional:
            return False
        wide = np.zeros(len(self.chosen), dtype=bool)
        wide[self.s.cells[self.z.sum(axis=0) > WIDE]] = True
        new = self.s.conditional(wide & ~self.chosen)
        if not any(new):
            return False
        self.chosen |= wide
        self.requirements = [old + more for old, more in zip(self.requirements, new, strict=True)]
        self.master.raise_least(self.s.least(new))
        self.z, self.cost = None, np.inf
        return True
