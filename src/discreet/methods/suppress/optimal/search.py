"""Cuts and patterns in turn, until the cheapest pattern that fulfils all cuts is safe."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError
from discreet.methods.check import is_safe, safe_cells
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.core.requirements import Requirement
from discreet.methods.suppress.optimal.bridges import Bridges
from discreet.methods.suppress.optimal.master import PatternMaster, Relaxed
from discreet.methods.suppress.optimal.separator import PatternSeparator
from discreet.methods.suppress.pattern import Pattern
from discreet.methods.suppress.subtables import subtables
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.solvers import DEFAULT_SOLVER, solver_name

LARGE = 30_000  # cells: there the first pattern is left to the integer program
GUIDE = 0.999  # of the cost of a cell that the linear program suppresses is waived
AGREED = 0.1  # the linear program and a pattern agree about a cell
SLOW = 0.003  # of the gap: where programs for all requirements bring less, there are better ways to raise the bound
FEW = 5  # requirements missed: time to ask all of them again
PLENTY = 30_000  # cells in all cuts learnt from one pattern: more make integer programs slow
NOISE = 0.2  # in prices, to get another pattern
TRIES = 3  # patterns that follow the linear program
COSTLIEST = 1e6  # what the dearest cell costs
WHOLE = 1e9  # and what it may cost where costs are whole numbers, which integer programs make use of
PROGRAMS = 10  # integer programs to decide about some cells
NODES = 1000  # of an integer program whose effort is counted, not timed
CHEAPEST = 300  # cells that are looked at for a cheaper pattern, wherever they are
SAME = 1e-9  # costs that differ by less than this share are the same


class PatternSearch:
    """Everything known about the cheapest safe pattern: one from above, a bound from below."""

    def __init__(
        self,
        problem: Problem,
        run: Run,
        *,
        at_most: int | None = None,
        fewest: bool = False,
        programs: float = np.inf,
        solver: str = DEFAULT_SOLVER,
    ) -> None:
        self.problem, self.seed, self.budget, self.progress = problem, run.seed, run.budget, run.progress
        self.keep, self.inner = run.keep, Run(run.seed, run.budget)
        self.programs = programs  # integer programs to solve at most
        self.rng = np.random.default_rng(self.seed)
        self.attacks = [PatternSeparator(problem, who) for who in problem.attackers()]
        relations = problem.table.relations
        tables = subtables(relations) if any(attack.net is None for attack in self.attacks) else []
        parts = [sparse.csr_array(relations[table.rows]) for table in tables] if len(tables) > 1 else []
        self.has_tables = bool(parts)  # more than one, of which it is made
        self.parts = [
            [attack.within(part) for part in parts if attack.net is None and attack.concerns(part)]
            for attack in self.attacks
        ]
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        movable = np.any([attack.slack.any(axis=0) for attack in self.attacks], axis=0)
        self.free = (problem.status == Status.FREE) & movable
        # Solvers know tolerances, not units: the dearest cell costs the same in all problems, or all cost whole numbers.
        grain, costliest = _grain(problem.cost[self.free]), float(problem.cost[self.free].max(initial=0.0))
        self.unit = grain if 0 < costliest <= WHOLE * grain else costliest / COSTLIEST or 1.0
        self.grain = grain / self.unit
        self.cost = _with_ties(problem.cost / self.unit, self.free, self.grain, fewest)
        self.ties = float((self.cost - problem.cost / self.unit)[self.free].sum())  # added to costs to break ties
        self.anyway = float(problem.cost[self.forced].sum()) / self.unit
        self.bridges = Bridges(problem.table.relations, self.free, self.forced)
        self.solver = solver  # of integer programs
        self.master = PatternMaster(self.cost, self.free, self.forced, self.seed, solver)
        self.at_most = np.inf if at_most is None else at_most - int(self.forced.sum())
        if at_most is not None:
            cells = np.flatnonzero(self.free)
            self.master.add([Cut(cells, np.full(len(cells), -1.0), -float(self.at_most))])
        self.suppressed: BoolArray | None = None  # the cheapest safe pattern found
        self.upper = np.inf  # its cost in these units, that of cells suppressed anyway not counted
        self.lower = 0.0
        self.relaxed: Relaxed | None = None
        self.chosen: FloatArray | None = None  # the last solution of the integer program
        self.learning = True  # the last solution of the integer program missed cuts
        self.failed = 0  # times that following the programs brought no better pattern, in a row
        self.easy = len(problem) <= LARGE or self.attacks[0].net is not None  # to find a pattern
        self.work = dict.fromkeys(("requirements", "open", "cuts", "relaxations", "integer_programs", "patterns"), 0)

    # -- what is known -----------------------------------------------------------------------------------------

    @property
    def gap(self) -> float:
        """How far the bound is below the pattern, as a share of the cost of all that is suppressed."""
        if self.proven:
            return 0.0
        return (self.upper - self.lower) / (self.upper + self.anyway)

    @property
    def proven(self) -> bool:
        # A bound at the edge of what counts as the same cost may be off by the last bit.
        return self.suppressed is not None and self.lower >= self.upper * (1 - 2 * SAME)

    @property
    def bound(self) -> float:
        """No safe pattern costs less; what was added to costs to break ties is taken off again."""
        if self.proven and self.suppressed is not None:
            return float(self.problem.cost[self.suppressed].sum())
        return (self._next(max(self.lower - self.ties, 0.0)) + self.anyway) * self.unit

    def done(self) -> bool:
        found = self.suppressed is not None and (self.proven or self.gap <= self.budget.gap)
        tired = self.work["integer_programs"] >= self.programs
        return found or tired or self.budget.over or np.isinf(self.lower)

    def raise_bound(self, bound: float) -> None:
        self.lower = max(self.lower, min(bound if self.ties else self._next(bound), self.upper))
        self._tell()

    def accept(self, suppressed: BoolArray) -> bool:
        """Take a pattern if it is cheaper than the best so far, and if the audit finds it safe."""
        cost = self._costs(suppressed.astype(float))
        if cost >= self.upper * (1 - SAME) or (suppressed & self.free).sum() > self.at_most:
            return False
        if not is_safe(self.problem, suppress(self.problem, suppressed)):
            return False
        self.suppressed, self.upper = suppressed.copy(), cost
        self.work["patterns"] += 1
        self.keep(self.suppressed)
        self._tell()
        return True

    def protection(self, method: str) -> Protection:
        """The best pattern with its bound, and how the search ended."""
        if self.suppressed is None:
            if self.budget.cancelled:
                raise KeyboardInterrupt
            labels = self.problem.table.labels(self.problem.primaries)
            raise NoSafePatternError("The time limit ended without a safe pattern. Allow more time.", labels)
        return suppress(
            self.problem,
            self.suppressed,
            method=method,
            status=self._status(),
            bound=self.bound,
            seconds=self.budget.spent,
            solver=solver_name(self.solver),
            seed=self.seed,
            work=self.work,
        )

    def _status(self) -> str:
        if self.proven:
            return "optimal"
        if self.gap <= self.budget.gap:
            return "within_gap"
        return self.budget.ending if self.budget.over else "heuristic"

    def _next(self, cost: float) -> float:
        """Costs are multiples of a grain, so a bound between two of them is as good as the next one."""
        if not self.grain or not np.isfinite(cost):
            return cost
        grains = cost / self.grain
        return float(np.ceil(grains - max(1e-4, SAME * grains)) * self.grain)

    def _tell(self) -> None:
        cost = f"cost {(self.upper + self.anyway) * self.unit:,.6g}, " if self.suppressed is not None else ""
        gap = f", gap {self.gap:.2%}" if self.suppressed is not None else ""
        self.progress.update(min(int(100 * (1 - self.gap)), 100) if gap else 0, f"{cost}bound {self.bound:,.6g}{gap}")

    # -- the search --------------------------------------------------------------------------------------------

    def run(self, first: BoolArray | None = None) -> None:
        """Until the best pattern is proven to be the cheapest, near enough to it, or time is up.

        ``first`` is a pattern to begin with, not safe perhaps.
        """
        self.settle()
        self.progress.stage("search", 100)
        if self.easy:
            if self.suppressed is None:
                self.grow(self.forced.astype(float))
            if first is not None:
                self.grow(first.astype(float))
        self.follow()
        if self.attacks[0].net is None and self.relaxed is not None and self.suppressed is not None and not self.done():
            self.decide(self.disputed(), PROGRAMS)
        self.rounds(20.0 if self.budget.seconds is None else max(min(20.0, self.budget.seconds / 10), 1.0))

    def rounds(self, slice_: float) -> None:
        """Integer programs of some seconds in turn with linear ones, until the search is done."""
        while not self.done():
            if self.round(slice_):
                self.converge(slice_)
                self.polish(slice_)
            else:  # the program needs more time
                slice_ *= 2

    def begin(self, first: BoolArray | None = None) -> None:
        """A safe pattern to improve on: from scratch, or one that was there before, with what it lacks and no more."""
        self.settle()
        self.progress.stage("search", 100)
        if first is None:
            self.grow(self.forced.astype(float))
            return
        first = self.forced | (first & self.free)
        self.accept(first)
        self.grow(first.astype(float), start=first)

    def follow(self) -> None:
        """The linear program, and patterns that follow it."""
        self.converge(np.inf)
        for k in range(TRIES):
            if not self.done() and self.suppressed is not None and self.relaxed is not None:
                self.grow(self.relaxed.x, NOISE * (k > 0))

    def settle(self) -> None:
        """Leave out requirements of primaries that protect each other: suppressing more cells takes nothing away."""
        settled = safe_cells(self.problem, self.forced)
        self.work["requirements"] = sum(len(attack.requirements) for attack in self.attacks)
        for number, attack in enumerate(self.attacks):
            safe = set(settled[number].tolist())
            for one in (attack, *self.parts[number]):
                one.requirements = [requirement for requirement in one.requirements if requirement.cell not in safe]
        self.work["open"] = sum(len(attack.requirements) for attack in self.attacks)
        self._add([cut for attack in self.attacks for cut in attack.plain_cuts()])

    # -- from below --------------------------------------------------------------------------------------------

    def converge(self, seconds: float) -> None:
        """Solve the linear program and add cuts that its solution misses, until there are none or time is up."""
        until = self.budget.spent + seconds
        everything = [attack.requirements for attack in self.attacks]
        asked, before = everything, -np.inf
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
            if asked is everything and self.attacks[0].net is None:
                if self.lower - before < SLOW * (self.upper - self.lower):
                    return
                before = self.lower
            cuts, violated = self._violated(x, asked, FEW)
            if self._add(cuts + self.bridges.cuts(x)):
                asked = everything if sum(map(len, violated)) <= FEW else violated
            elif asked is everything:
                return
            else:
                asked = everything

    def round(self, seconds: float) -> bool:
        """Solve the integer program, and learn from its solution; False if there was nothing to learn."""
        # As long as cuts are missing, an exact solution is not worth the time.
        tolerance = 0.1 * (self.upper - self.lower) / self.upper if np.isfinite(self.upper) else 0.01
        tolerance *= self.learning
        start = None if self.suppressed is None else self.suppressed.astype(float)
        found = self.master.solve(self._within(seconds), tolerance if tolerance > 1e-6 else 0.0, start)
        self.work["integer_programs"] += 1
        self.raise_bound(found.bound)
        self.chosen, before = found.x, self.upper
        if self.done():
            return True
        if found.x is None:
            if self.suppressed is None and self.relaxed is not None:
                self.grow(self.relaxed.x)
            return False
        if self.master.recall(found.x):
            return True
        self.learning = self._learn(found.x)
        if not self.learning:
            return self.upper < before
        if self.failed < TRIES and self.easy:
            self.grow(found.x)
        return True

    def _learn(self, x: FloatArray) -> bool:
        """Whether cuts were found that a pattern without fractions misses; if not, it is safe, and taken if cheaper.

        Many are found at once: where the cheapest cells are suppressed that a cut asks for, others are still missed, and the
        pattern as it was misses these, too.
        """
        more, found, terms = x.copy(), False, 0
        everything = [attack.requirements for attack in self.attacks]
        asked = everything
        while terms <= PLENTY and not self.budget.over:
            cuts, violated = self._violated(more, asked)
            if cuts:
                found = True
                self._add(cuts + self.bridges.cuts(x))
                terms += sum(len(cut.columns) for cut in cuts)
                before = more.copy()
                for cut in cuts:
                    _fulfil(cut, more, self.cost)
                if np.array_equal(more, before):  # nothing protects a cell that was suppressed on the way
                    break
                asked = violated
            elif asked is everything:
                break
            else:
                asked = everything
        if not found and not self.accept(x > 0.5) and self._costs(x) < self.upper * (1 - SAME):
            found = self._add([self._otherwise(x > 0.5)]) > 0  # the audit is stricter than the programs
        return found

    def _otherwise(self, suppressed: BoolArray) -> Cut:
        """Hide some other cell, or publish one of these."""
        cells = np.flatnonzero(self.free)
        return Cut(cells, np.where(suppressed[cells], -1.0, 1.0), 1.0 - float(suppressed[cells].sum()))

    def _violated(
        self, x: FloatArray, asked: list[list[Requirement]], few: float = np.inf
    ) -> tuple[list[Cut], list[list[Requirement]]]:
        """Cuts that a pattern misses, and the requirements they are for: from single tables, if those are not ``few``."""
        cuts: list[Cut] = []
        violated: list[list[Requirement]] = [[] for _ in asked]
        for number, mine in enumerate(asked):
            cells = {one.cell for one in mine}
            for part in self.parts[number]:
                some, left = part.cuts(x, [one for one in part.requirements if one.cell in cells])
                cuts += some
                violated[number] += left
        if len(cuts) > few:
            return cuts, violated
        for number, (attack, mine) in enumerate(zip(self.attacks, asked, strict=True)):
            some, left = attack.cuts(x, mine)
            cuts += some
            violated[number] = left
        return cuts, violated

    def _add(self, cuts: list[Cut]) -> int:
        new = self.master.add(cuts)
        self.work["cuts"] += new
        return new

    # -- from above --------------------------------------------------------------------------------------------

    def grow(self, x: FloatArray, noise: float = 0.0, start: BoolArray | None = None) -> bool:
        """A safe pattern that follows another one, maybe fractional or not safe: what that suppresses is cheap.

        It begins with what is suppressed at the ``start``, and cells that must be.
        """
        price = self.cost * (1 - GUIDE * x) * self.rng.uniform(1 - noise, 1 + noise, len(x))
        among = None if self.suppressed is None else self.forced | self.suppressed | (self.free & (x > 0))
        pattern = Pattern(self.problem, self.seed, price, among, start)
        try:
            pattern.grow(self.inner)
        except NoSafePatternError:
            if not self.budget.over:
                raise
            return False
        suppressed, _ = pattern.trim(self.inner)
        better = self.accept(suppressed)
        self.failed = 0 if better else self.failed + 1
        return better

    def polish(self, seconds: float) -> None:
        """Look for a cheaper pattern among those that agree with the best one where both programs do, too.

        Cells that cost next to nothing beside the linear program are open as well.
        """
        if self.suppressed is None or self.relaxed is None or self.done():
            return
        open_cells = self.disputed() | self.master.cheapest(self.relaxed, CHEAPEST)
        if self.chosen is not None:
            open_cells |= self.suppressed != (self.chosen > 0.5)
        until, best = self.budget.spent + seconds, self.suppressed
        while self.budget.spent < until:
            x = self._cheaper(best, open_cells, until - self.budget.spent)
            if x is None or not self._learn(x):
                return

    def disputed(self) -> BoolArray:
        """Cells about which the best pattern and the linear program do not agree."""
        assert self.suppressed is not None
        assert self.relaxed is not None
        return np.asarray(np.abs(self.suppressed - self.relaxed.x) > AGREED)

    def decide(self, open_cells: BoolArray, programs: int) -> bool:
        """The cheapest safe pattern that differs from the best one in open cells alone; whether it is cheaper.

        It is given up after so many integer ``programs``, and where one teaches no fewer cuts than the one before.
        """
        assert self.suppressed is not None
        best, before = self.suppressed, PLENTY
        for _ in range(programs):
            x, known = self._cheaper(best, open_cells, np.inf, NODES), self.work["cuts"]
            if x is None or not self._learn(x):
                break
            new = self.work["cuts"] - known
            if new > FEW and new >= before:
                break
            before = new
        return self.suppressed is not best

    def _cheaper(
        self, best: BoolArray, open_cells: BoolArray, seconds: float, nodes: int | None = None
    ) -> FloatArray | None:
        """The cheapest pattern by the cuts so far that differs from another one in open cells alone, if it is cheaper."""
        while not self.done():
            known = best.astype(float)
            x = self.master.solve(self._within(seconds), SAME, known, open_cells & self.free, nodes).x
            self.work["integer_programs"] += 1
            if x is None or self._costs(x) >= self.upper * (1 - SAME):
                return None
            if not self.master.recall(x):
                return x
        return None

    def _costs(self, x: FloatArray) -> float:
        return float(self.cost[self.free] @ x[self.free])

    def _within(self, seconds: float) -> float:
        return max(min(seconds, np.inf if self.budget.left is None else self.budget.left), 0.1)


def _fulfil(cut: Cut, x: FloatArray, cost: FloatArray) -> None:
    """Hide the cheapest cells that a cut asks for."""
    lacking = cut.shortfall(x)
    helping = np.flatnonzero((cut.weight > 0) & (x[cut.columns] < 1))
    for k in helping[np.argsort(cost[cut.columns[helping]] / cut.weight[helping], kind="stable")].tolist():
        if lacking <= 1e-9:
            break
        x[cut.columns[k]] = 1.0
        lacking -= cut.weight[k]


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

    A cell that costs nothing is then not suppressed without need, and of equally cheap patterns the ``fewest`` cells are.
    """
    least = float(cost[cost > 0].min()) if np.any(cost > 0) else 1.0
    little = (grain or 1e-6 * least) / (4 * (int(free.sum()) + 1))
    return cost + np.where(free & ((cost == 0) | fewest), little, 0.0)
