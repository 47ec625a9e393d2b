"""Cuts and patterns in turn, until the cheapest pattern that fulfils all cuts is safe."""

from __future__ import annotations

import numpy as np

from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods.suppress.optimal.attack import Attack, Requirement
from discreet.methods.suppress.optimal.bridges import Bridges
from discreet.methods.suppress.optimal.cuts import Cut
from discreet.methods.suppress.optimal.master import Master, Relaxed
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Budget, Progress, Silent
from discreet.protection import suppress
from discreet.relations import FloatArray

LARGE = 30_000  # cells: there the first pattern is left to the integer program
GUIDE = 0.999  # of the cost of a cell that the linear program hides is waived
AGREED = 0.1  # the linear program and a pattern agree about a cell
FEW = 5  # requirements missed: time to ask all of them again
NOISE = 0.2  # in prices, to get another pattern
TRIES = 3  # patterns that follow the linear program
DEAREST = 1e6  # what the dearest cell costs
SAME = 1e-9  # costs that differ by less than this share are the same


class Search:
    """Everything known about the cheapest safe pattern: one from above, a bound from below."""

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int,
        budget: Budget,
        progress: Progress,
        at_most: int | None = None,
        fewest: bool = False,
    ) -> None:
        self.problem, self.seed, self.budget, self.progress = problem, seed, budget, progress
        self.rng = np.random.default_rng(seed)
        self.attacks = [Attack(problem, who) for who in problem.attackers()]
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.HIDDEN))
        movable = np.any([attack.room.any(axis=0) for attack in self.attacks], axis=0)
        self.free = (problem.status == Status.FREE) & movable
        # Solvers know tolerances, not units: the dearest cell costs the same in all problems.
        self.unit = float(problem.cost[self.free].max(initial=0.0)) / DEAREST or 1.0
        self.grain = _grain(problem.cost[self.free]) / self.unit
        self.cost = _with_ties(problem.cost / self.unit, self.free, self.grain, fewest)
        self.anyway = float(problem.cost[self.forced].sum()) / self.unit
        self.bridges = Bridges(problem.table.relations, self.free, self.forced)
        self.master = Master(self.cost, self.free, self.forced, seed)
        self.at_most = np.inf if at_most is None else at_most - int(self.forced.sum())
        if at_most is not None:
            cells = np.flatnonzero(self.free)
            self.master.add([Cut(cells, np.full(len(cells), -1.0), -float(self.at_most))])
        self.hidden: BoolArray | None = None  # the cheapest safe pattern found
        self.upper = np.inf  # its cost in these units, that of cells hidden anyway not counted
        self.lower = 0.0
        self.relaxed: Relaxed | None = None
        self.work = dict.fromkeys(("requirements", "open", "cuts", "relaxations", "integer_programs", "patterns"), 0)

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def gap(self) -> float:
        """How far the bound is below the pattern, as a share of the cost of all that is hidden."""
        if self.proven:
            return 0.0
        return (self.upper - self.lower) / (self.upper + self.anyway)

    @property
    def proven(self) -> bool:
        return self.hidden is not None and self.lower >= self.upper * (1 - SAME)

    @property
    def bound(self) -> float:
        """No safe pattern costs less; what was added to costs to break ties is taken off again."""
        if self.proven and self.hidden is not None:
            return float(self.problem.cost[self.hidden].sum())
        ties = float((self.cost - self.problem.cost / self.unit)[self.free].sum())
        return (self._next(max(self.lower - ties, 0.0)) + self.anyway) * self.unit

    def done(self) -> bool:
        found = self.hidden is not None and (self.proven or self.gap <= self.budget.gap)
        return found or self.budget.over or np.isinf(self.lower)

    def raise_bound(self, bound: float) -> None:
        self.lower = max(self.lower, min(bound, self.upper))
        self._tell()

    def accept(self, hidden: BoolArray) -> bool:
        """Take a pattern if it is cheaper than the best so far, and if the audit finds it safe."""
        cost = float(self.cost[hidden & self.free].sum())
        if cost >= self.upper * (1 - SAME) or (hidden & self.free).sum() > self.at_most:
            return False
        if not audit(self.problem, suppress(self.problem, hidden), intervals=False).passed:
            return False
        self.hidden, self.upper = hidden.copy(), cost
        self.work["patterns"] += 1
        self._tell()
        return True

    def _next(self, cost: float) -> float:
        """Costs are multiples of a grain, so a bound between two of them is as good as the next one."""
        return float(np.ceil(cost / self.grain - 1e-4) * self.grain) if self.grain else cost

    def _tell(self) -> None:
        cost = f"cost {(self.upper + self.anyway) * self.unit:,.6g}, " if self.hidden is not None else ""
        gap = f", gap {self.gap:.2%}" if self.hidden is not None else ""
        self.progress.update(min(int(100 * (1 - self.gap)), 100) if gap else 0, f"{cost}bound {self.bound:,.6g}{gap}")

    # -- the search --------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Until the best pattern is proven to be the cheapest, near enough to it, or time is up."""
        self.settle()
        self.progress.stage("search", 100)
        if len(self.problem) <= LARGE:
            self.grow(self.forced.astype(float))
        slice_ = 20.0 if self.budget.seconds is None else max(min(20.0, self.budget.seconds / 10), 1.0)
        self.converge(np.inf)
        for k in range(TRIES):
            if not self.done() and self.hidden is not None and self.relaxed is not None:
                self.grow(self.relaxed.x, NOISE * (k > 0))
        while not self.done():
            self.round(slice_)
            self.converge(slice_)
            self.polish(slice_)

    def settle(self) -> None:
        """Leave out requirements of primaries that protect each other: hiding more cells takes nothing away."""
        seen = audit(self.problem, suppress(self.problem, self.forced), intervals=False)
        self.work["requirements"] = sum(len(attack.requirements) for attack in self.attacks)
        for number, attack in enumerate(self.attacks):
            safe = set(seen.cell[(seen.attacker == number) & seen.safe].tolist())
            attack.requirements = [one for one in attack.requirements if one.cell not in safe]
        self.work["open"] = sum(len(attack.requirements) for attack in self.attacks)
        self._add([cut for attack in self.attacks for cut in attack.plain_cuts()])

    # -- from below --------------------------------------------------------------------------------------------

    def converge(self, seconds: float) -> None:
        """Solve the linear program and add cuts that its solution misses, until there are none or time is up."""
        until = self.budget.spent + seconds
        everything = [attack.requirements for attack in self.attacks]
        asked = everything
        while True:
            relaxed = self.master.relax()
            self.work["relaxations"] += 1
            if relaxed is None:  # no pattern is cheaper than the best one, or there is none at all
                self.raise_bound(np.inf)
                return
            self.relaxed, x = relaxed, relaxed.x
            self.raise_bound(relaxed.cost)
            self.master.tidy(x)
            self.master.fix(relaxed, self.upper)
            if self.done() or self.budget.spent > until:
                return
            if self.master.recall(x):
                continue
            cuts, missed = self._missed(x, asked)
            if self._add(cuts + self.bridges.cuts(x)):
                asked = everything if sum(map(len, missed)) <= FEW else missed
            elif asked is everything:
                return
            else:
                asked = everything

    def round(self, seconds: float) -> None:
        """Solve the integer program; its solution is safe, or misses cuts, or shows the way to a safe one."""
        tolerance = 0.1 * (self.upper - self.lower) / self.upper if np.isfinite(self.upper) else 0.01
        start = None if self.hidden is None else self.hidden.astype(float)
        found = self.master.solve(self._within(seconds), tolerance if tolerance > 1e-6 else 0.0, start)
        self.work["integer_programs"] += 1
        self.raise_bound(found.bound)
        if self.done():
            return
        if found.x is None:
            if self.hidden is None and self.relaxed is not None:
                self.grow(self.relaxed.x)
        elif not self.master.recall(found.x) and not self._learn(found.x) and len(self.problem) <= LARGE:
            self.grow(found.x)

    def _learn(self, x: FloatArray) -> bool:
        """Whether a pattern without fractions is safe; if not, it is cut off."""
        cuts, _ = self._missed(x, [attack.requirements for attack in self.attacks])
        if cuts:
            self._add(cuts + self.bridges.cuts(x))
            return False
        if not self.accept(x > 0.5):  # the audit is stricter than the programs, or it is not cheaper than the best
            self._add([self._otherwise(x > 0.5)])
        return True

    def _otherwise(self, hidden: BoolArray) -> Cut:
        """Hide some other cell, or publish one of these."""
        cells = np.flatnonzero(self.free)
        return Cut(cells, np.where(hidden[cells], -1.0, 1.0), 1.0 - float(hidden[cells].sum()))

    def _missed(self, x: FloatArray, asked: list[list[Requirement]]) -> tuple[list[Cut], list[list[Requirement]]]:
        """Cuts that a pattern misses, and the requirements they are for."""
        both = [attack.cuts(x, mine) for attack, mine in zip(self.attacks, asked, strict=True)]
        return [cut for cuts, _ in both for cut in cuts], [left for _, left in both]

    def _add(self, cuts: list[Cut]) -> int:
        new = self.master.add(cuts)
        self.work["cuts"] += new
        return new

    # -- from above --------------------------------------------------------------------------------------------

    def grow(self, x: FloatArray, noise: float = 0.0) -> bool:
        """A safe pattern that follows another one, maybe fractional or not safe: what that hides is cheap."""
        price = self.cost * (1 - GUIDE * x) * self.rng.uniform(1 - noise, 1 + noise, len(x))
        among = None if self.hidden is None else self.forced | self.hidden | (self.free & (x > 0))
        pattern = Pattern(self.problem, self.seed, price, among)
        try:
            pattern.grow(self.budget, Silent())
        except NoSafePatternError:
            if not self.budget.over:
                raise
            return False
        return self.accept(pattern.trim(self.budget, Silent())[0])

    def polish(self, seconds: float) -> None:
        """Look for a cheaper pattern among those that agree with the best one where the linear program does, too."""
        if self.hidden is None or self.relaxed is None or self.done():
            return
        until, best = self.budget.spent + seconds, self.hidden
        open_cells = self.free & (np.abs(best - self.relaxed.x) > AGREED)
        x = None
        while self.budget.spent < until and not self.done():
            found = self.master.solve(self._within(until - self.budget.spent), SAME, best.astype(float), open_cells)
            self.work["integer_programs"] += 1
            x = found.x
            if x is None or self.cost[self.free] @ x[self.free] >= self.upper * (1 - SAME):
                return
            if not self.master.recall(x) and self._learn(x):
                return
        if x is not None and not self.done():
            self.grow(x)

    def _within(self, seconds: float) -> float:
        left = np.inf if self.budget.seconds is None else self.budget.seconds - self.budget.spent
        return max(min(seconds, left), 0.1)


def _grain(cost: FloatArray) -> float:
    """The largest power of ten that all costs are multiples of; 0 if there is none."""
    cost = cost[cost > 0]
    for digits in range(-3, 7):
        scaled = cost * 10.0**digits
        near = np.rint(scaled)
        if scaled.sum() < 2**50 and np.all((near >= 1) & (np.abs(scaled - near) <= 1e-9 * near)):
            return 10.0**-digits
    return 0.0


def _with_ties(cost: FloatArray, free: BoolArray, grain: float, fewest: bool) -> FloatArray:
    """Costs with a little added, less in all than the difference between any two patterns, if costs have a grain.

    A cell that costs nothing is then not hidden without need, and of equally cheap patterns the ``fewest`` cells are.
    """
    least = float(cost[cost > 0].min()) if np.any(cost > 0) else 1.0
    little = (grain or 1e-6 * least) / (4 * (int(free.sum()) + 1))
    return cost + np.where(free & ((cost == 0) | fewest), little, 0.0)
