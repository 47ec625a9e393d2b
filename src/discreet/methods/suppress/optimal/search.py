"""The search for the cheapest safe pattern: linear and integer programs over the cuts, and heuristic patterns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError
from discreet.inference.subtables import subtables
from discreet.methods.check import is_safe, safe_cells
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.core.cutting_planes import Incumbent
from discreet.methods.core.requirements import Requirement
from discreet.methods.suppress.optimal.cuts import BridgelessInequalities
from discreet.methods.suppress.optimal.master import COSTLIEST_CELL, PatternMaster, Relaxed
from discreet.methods.suppress.optimal.separator import PatternSeparator
from discreet.methods.suppress.optimal.table_bounds import TableBounds
from discreet.methods.suppress.pattern import Pattern
from discreet.problem import Problem, Status
from discreet.progress import with_hint
from discreet.protection import Protection, suppress
from discreet.solvers import DEFAULT_SOLVER, solver_name

MAX_CELLS_FOR_PATTERNS = 30_000  # in larger tables heuristic patterns take too long, even the first one
COST_DISCOUNT = 0.999  # of cells that a solution suppresses, in heuristic patterns: the rest keeps needless cells out
AGREEMENT = 0.1  # a pattern and the linear solution agree about a cell if its entries differ by no more
MIN_GAP_PROGRESS = 0.003  # share of the gap that a round of cuts must close; else linear programs end
FEW_VIOLATIONS = (
    5  # if some requirements, or single tables, give no more cuts, all requirements and relations are checked
)
MAX_CELLS_IN_CUTS = 30_000  # cells in all cuts from one pattern: more make integer programs slow
PRICE_NOISE = 0.2  # relative random change of prices, to find another pattern
MAX_GUIDED_PATTERNS = 3  # heuristic patterns from the same solution: further ones are seldom better
MAX_INTEGRAL_COST = 1e9  # up to this cost of a cell, costs are scaled to integers, so that bounds can be rounded up
MAX_PROGRAMS_PER_NEIGHBOURHOOD = 10  # integer programs for the same open cells: later ones seldom find more
MAX_NODES_PER_PROGRAM = 1000  # of an integer program whose effort must not depend on the clock
MAX_CHEAPEST_CELLS = 300  # open cells with the least reduced costs, besides disputed ones: more make the program slow
EQUAL_COST_SHARE = 1e-9  # costs that differ by less than this share are equal up to rounding errors


class PatternSearch:
    """The search, with the cheapest safe pattern found so far and a lower bound on the cost of all safe patterns."""

    def __init__(
        self,
        problem: Problem,
        run: Run,
        *,
        at_most: int | None = None,
        fewest: bool = False,
        programs: float = np.inf,
        solver: str = DEFAULT_SOLVER,
        proves: bool = False,
    ) -> None:
        self.problem, self.seed, self.budget, self.progress = problem, run.seed, run.budget, run.progress
        self.keep = run.keep
        self.inner = Run(run.seed, run.budget, first=run.first, hint=run.hint)
        self.programs = programs  # integer programs to solve at most
        self.rng = np.random.default_rng(self.seed)
        self.separators = [PatternSeparator(problem, attacker, proves=proves) for attacker in problem.attackers()]
        relations = problem.table.relations
        tables = subtables(relations) if any(separator.net is None for separator in self.separators) else []
        self.has_tables = len(tables) > 1
        parts = [table.rows for table in tables] if self.has_tables else []
        # Per attacker, the separators of single tables.
        self.parts = [
            [separator.within(part) for part in parts if separator.net is None and separator.concerns(part)]
            for separator in self.separators
        ]
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        with_slack = np.any([separator.slack.any(axis=0) for separator in self.separators], axis=0)
        self.free = (problem.status == Status.FREE) & with_slack
        # Tolerances of solvers are absolute. So costs are scaled to integers, or the costliest one to a constant.
        grain, costliest = _grain(problem.cost[self.free]), float(problem.cost[self.free].max(initial=0.0))
        self.unit = grain if 0 < costliest <= MAX_INTEGRAL_COST * grain else costliest / COSTLIEST_CELL or 1.0
        self.grain = grain / self.unit
        self.cost = _with_ties(problem.cost / self.unit, self.free, self.grain, fewest)
        self.ties = float((self.cost - problem.cost / self.unit)[self.free].sum())  # added to costs to break ties
        self.forced_cost = float(problem.cost[self.forced].sum()) / self.unit
        self.bridgeless = BridgelessInequalities(relations, self.free, self.forced)
        self.solver = solver  # of integer programs
        self.master = PatternMaster(self.cost, self.free, self.forced, self.seed, solver)
        self.at_most = np.inf if at_most is None else at_most - int(self.forced.sum())
        if at_most is not None:
            cells = np.flatnonzero(self.free)
            self.master.add([Cut(cells, np.full(len(cells), -1.0), -float(self.at_most))])
        # Costs are in these units and without ``forced_cost``. A bound that equals the cost may be lower by rounding errors of
        # both, so a cost counts as proven if it exceeds the bound by at most twice their share.
        self.best: Incumbent[BoolArray] = Incumbent(2 * EQUAL_COST_SHARE)
        self.relaxed: Relaxed | None = None
        self.chosen: FloatArray | None = None  # the last solution of the integer program
        self.learning = True  # whether the last solution of the integer program violated cuts
        self.failed = 0  # heuristic patterns in a row that were no improvement
        # Whether heuristic patterns are found quickly.
        self.easy = len(problem) <= MAX_CELLS_FOR_PATTERNS or self.separators[0].net is not None
        self.work = dict.fromkeys(("requirements", "open", "cuts", "relaxations", "integer_programs", "patterns"), 0)

    # -- cost and bound ----------------------------------------------------------------------------------------

    @property
    def suppressed(self) -> BoolArray | None:
        """The cheapest safe pattern found."""
        return self.best.solution

    @property
    def gap(self) -> float:
        """How far the bound is below the cost of the pattern, as a share of the cost of all suppressed cells."""
        return 0.0 if self.proven else (self.best.cost - self.best.bound) / (self.best.cost + self.forced_cost)

    @property
    def proven(self) -> bool:
        return self.best.is_proven

    @property
    def bound(self) -> float:
        """A lower bound on the true cost of all safe patterns: the amounts that break ties are subtracted."""
        if self.proven and self.suppressed is not None:
            return float(self.problem.cost[self.suppressed].sum())
        return (self._rounded_up(max(self.best.bound - self.ties, 0.0)) + self.forced_cost) * self.unit

    def done(self) -> bool:
        found = self.suppressed is not None and self.gap <= self.budget.gap
        enough = self.work["integer_programs"] >= self.programs
        return found or enough or self.budget.over or np.isinf(self.best.bound)

    def raise_bound(self, bound: float) -> None:
        self.best.raise_bound(bound if self.ties else self._rounded_up(bound))
        self._report()

    def accept(self, suppressed: BoolArray) -> bool:
        """Keep a pattern if it is cheaper than the incumbent and safe according to the audit. Returns whether it is kept."""
        cost = self._costs(suppressed.astype(float))
        if not self._is_cheaper(cost) or (suppressed & self.free).sum() > self.at_most:
            return False
        if not is_safe(self.problem, suppress(self.problem, suppressed)):
            return False
        kept = suppressed.copy()
        self.best.offer(kept, cost)
        self.work["patterns"] += 1
        self.keep(kept)
        self._report()
        return True

    def protection(self, method: str) -> Protection:
        """The protection by the best pattern, with its bound and status."""
        if self.suppressed is None and self.inner.first is not None and not self.budget.cancelled:
            first = self.inner.first.suppressed
            self.best.offer(first, self._costs(first.astype(float)))
        if self.suppressed is None:
            if self.budget.cancelled:
                raise KeyboardInterrupt
            labels = self.problem.table.labels(self.problem.primaries)
            raise NoSafePatternError("The time limit ended without a safe pattern. Allow more time.", labels)
        proven = "optimal" if self.proven else "within_gap" if self.gap <= self.budget.gap else None
        status = proven or (self.budget.ending if self.budget.over else "heuristic")
        report = self.inner.report(method, status, self.bound, solver_name(self.solver))
        return suppress(self.problem, self.suppressed, **report, work=self.work)

    def _rounded_up(self, cost: float) -> float:
        """A bound rounded up to the next multiple of the grain: the costs of all patterns are such multiples."""
        if not self.grain or not np.isfinite(cost):
            return cost
        grains = cost / self.grain
        return float(np.ceil(grains - max(1e-4, EQUAL_COST_SHARE * grains)) * self.grain)

    def _report(self) -> None:
        """Report progress; without costs, which may be confidential."""
        note = "no safe pattern yet"
        if self.suppressed is not None:
            note = with_hint(f"{int(self.suppressed.sum()):,} suppressed, gap {self.gap:.2%}", self.inner.hint)
        self.progress.update(self.work["relaxations"], note)

    # -- the search --------------------------------------------------------------------------------------------

    def run(self, first: BoolArray | None = None) -> None:
        """Search until the incumbent is proven or within the gap, or the budget is spent; ``first`` need not be safe."""
        self.drop_met_requirements()
        self.progress.stage("search", 0)
        if self.easy:
            if self.suppressed is None:
                self.grow(self.forced.astype(float))
            if first is not None:
                self.grow(first.astype(float))
        self.find_guided_patterns()
        if (
            self.separators[0].net is None
            and self.relaxed is not None
            and self.suppressed is not None
            and not self.done()
        ):
            self.search_neighbourhood(self.disputed())
        self.rounds(20.0 if self.budget.seconds is None else max(min(20.0, self.budget.seconds / 10), 1.0))

    def rounds(self, slice_: float) -> None:
        """Integer programs of ``slice_`` seconds in turn with linear ones, until the search is done."""
        while not self.done():
            if self.round(slice_):
                self.converge(slice_)
                self.polish(slice_)
            else:  # the program needs more time
                slice_ *= 2

    def begin(self, first: BoolArray | None = None) -> None:
        """A first safe pattern: grown from the forced cells, or a starting pattern that is completed and then reduced."""
        self.drop_met_requirements()
        self.progress.stage("search", 0)
        if first is None:
            self.grow(self.forced.astype(float))
            return
        first = self.forced | (first & self.free)
        self.accept(first)
        self.grow(first.astype(float), start=first)

    def find_guided_patterns(self) -> None:
        """Solve the linear program, and find heuristic patterns that prefer the cells of its solution."""
        self.add_cuts_of_tables()
        self.converge(np.inf)
        for k in range(MAX_GUIDED_PATTERNS):
            if not self.done() and self.suppressed is not None and self.relaxed is not None:
                self.grow(self.relaxed.x, PRICE_NOISE * (k > 0))

    def drop_met_requirements(self) -> None:
        """Drop requirements that the forced cells meet alone: suppressing more cells never violates them."""
        settled = safe_cells(self.problem, self.forced)
        self.work["requirements"] = sum(len(separator.requirements) for separator in self.separators)
        for number, separator in enumerate(self.separators):
            safe = set(settled[number].tolist())
            for one in (separator, *self.parts[number]):
                one.requirements = [requirement for requirement in one.requirements if requirement.cell not in safe]
        self.work["open"] = sum(len(separator.requirements) for separator in self.separators)
        self.add([cut for separator in self.separators for cut in separator.plain_cuts()])

    # -- programs over the cuts --------------------------------------------------------------------------------

    def add_cuts_of_tables(self) -> None:
        """Add the cuts of single tables that together give a good bound: small programs find them sooner than a large one."""
        if self.has_tables:
            tables = TableBounds(self.problem, Run(self.seed, self.budget, self.progress))
            tables.climb()
            self.add([cut for cut, _ in tables.cuts()])
            self.raise_bound(tables.bound * (1 - EQUAL_COST_SHARE) / self.unit - self.forced_cost)

    def converge(self, seconds: float) -> None:
        """Solve linear programs, and add the cuts that each solution violates.

        This ends if a solution violates none, if the bound rises too little, or if the time is over.
        """
        until = self.budget.spent + seconds
        everything = [separator.requirements for separator in self.separators]
        required, before = everything, -np.inf
        while True:
            relaxed = self.master.relax()
            self.work["relaxations"] += 1
            if relaxed is None:  # no pattern is cheaper than the incumbent, or there is none at all
                self.raise_bound(np.inf)
                return
            self.relaxed, x = relaxed, relaxed.x
            self.raise_bound(relaxed.cost)
            self.master.deactivate_slack(x)
            self.master.fix(relaxed, self.best.cost)
            if self.done() or self.budget.spent > until:
                return
            if self.master.activate_violated(x):
                continue
            if required is everything and self.separators[0].net is None:
                open_ = self.best.bound if np.isinf(self.best.cost) else self.best.cost - self.best.bound
                if self.best.bound - before < MIN_GAP_PROGRESS * open_:
                    return
                before = self.best.bound
            cuts, violated = self._violated(x, required, FEW_VIOLATIONS)
            if self.add(cuts + self.bridgeless.cuts(x)):
                required = everything if sum(map(len, violated)) <= FEW_VIOLATIONS else violated
            elif required is everything:
                return
            else:
                required = everything

    def round(self, seconds: float) -> bool:
        """Solve the integer program and add the cuts that its solution violates; False if more time is needed for progress."""
        # As long as solutions violate cuts, an exact solution is not worth the time.
        tolerance = 0.01 if self.suppressed is None else 0.1 * (self.best.cost - self.best.bound) / self.best.cost
        tolerance *= self.learning
        start = None if self.suppressed is None else self.suppressed.astype(float)
        found = self.master.solve(self._within(seconds), tolerance if tolerance > 1e-6 else 0.0, start)
        self.work["integer_programs"] += 1
        self.raise_bound(found.bound)
        self.chosen, before = found.x, self.best.cost
        if self.done():
            return True
        if found.x is None:
            if self.suppressed is None and self.relaxed is not None:
                self.grow(self.relaxed.x)
            return False
        if self.master.activate_violated(found.x):
            return True
        self.learning = self._learn(found.x)
        if not self.learning:
            return self.best.cost < before
        if self.failed < MAX_GUIDED_PATTERNS and self.easy:
            self.grow(found.x)
        return True

    def _learn(self, x: FloatArray) -> bool:
        """Add cuts that an integral pattern violates. Returns whether there are any; if not, a cheaper safe pattern is kept.

        If there are cuts, the pattern is enlarged by the cheapest cells that satisfy them, and the cuts that the larger pattern
        violates are added as well, and so on. The first pattern violates all of them, except perhaps cuts about cells that need
        protection only if they are suppressed.
        """
        more, found, size = x.copy(), False, 0
        everything = [separator.requirements for separator in self.separators]
        required = everything
        while size <= MAX_CELLS_IN_CUTS and not self.budget.over:
            cuts, violated = self._violated(more, required)
            if cuts:
                found = True
                self.add(cuts + self.bridgeless.cuts(x))
                size += sum(len(cut.columns) for cut in cuts)
                before = more.copy()
                for cut in cuts:
                    _satisfy(cut, more, self.cost)
                if np.array_equal(more, before):  # a cell that was suppressed in addition cannot be protected
                    break
                required = violated
            elif required is everything:
                break
            else:
                required = everything
        suppressed = x > 0.5
        if not found and not self.accept(suppressed) and self._is_cheaper(self._costs(x)):
            # The audit is stricter than the programs: some other cell must be suppressed, or one of these published.
            cells, weight = np.flatnonzero(self.free), np.where(suppressed[self.free], -1.0, 1.0)
            found = self.add([Cut(cells, weight, 1.0 - float(suppressed[cells].sum()))]) > 0
        return found

    def _violated(
        self, x: FloatArray, required: list[list[Requirement]], enough: float = np.inf
    ) -> tuple[list[Cut], list[list[Requirement]]]:
        """Cuts that a pattern violates, and their requirements; if single tables give more than ``enough`` cuts, only those."""
        cuts: list[Cut] = []
        violated: list[list[Requirement]] = [[] for _ in required]
        for number, requirements in enumerate(required):
            cells = {one.cell for one in requirements}
            for part in self.parts[number]:
                found, left = part.cuts(x, [one for one in part.requirements if one.cell in cells])
                cuts += found
                violated[number] += left
        if len(cuts) > enough:
            return cuts, violated
        for number, (separator, requirements) in enumerate(zip(self.separators, required, strict=True)):
            found, violated[number] = separator.cuts(x, requirements)
            cuts += found
        return cuts, violated

    def add(self, cuts: Sequence[Cut]) -> int:
        """Add the cuts that are new; their number."""
        new = self.master.add(cuts)
        self.work["cuts"] += new
        return new

    def multipliers(self) -> Iterator[tuple[Cut, float]]:
        """The cuts with a multiplier in the last linear program: together they prove its bound."""
        if self.relaxed is not None:
            for k in np.flatnonzero(self.relaxed.multipliers).tolist():
                yield self.master.cuts[k], float(self.relaxed.multipliers[k]) * self.unit

    # -- safe patterns -----------------------------------------------------------------------------------------

    def grow(self, x: FloatArray, noise: float = 0.0, start: BoolArray | None = None) -> None:
        """Find a heuristic pattern that contains ``start`` and prefers the cells of ``x``, maybe a fractional pattern."""
        price = self.cost * (1 - COST_DISCOUNT * x) * self.rng.uniform(1 - noise, 1 + noise, len(x))
        among = None if self.suppressed is None else self.forced | self.suppressed | (self.free & (x > 0))
        pattern = Pattern(self.problem, self.seed, price, among, start)
        try:
            pattern.grow(self.inner)
        except NoSafePatternError:
            if not self.budget.over:
                raise
            return
        suppressed, _ = pattern.trim(self.inner)
        self.failed = 0 if self.accept(suppressed) else self.failed + 1

    def polish(self, seconds: float) -> None:
        """Look for cheaper patterns that differ from the incumbent in open cells only.

        Open are cells with small reduced costs, and cells on which the incumbent and a solution of the programs disagree.
        """
        if self.suppressed is None or self.relaxed is None or self.done():
            return
        open_cells = self.disputed() | self.master.cheapest(self.relaxed, MAX_CHEAPEST_CELLS)
        if self.chosen is not None:
            open_cells |= self.suppressed != (self.chosen > 0.5)
        until, best = self.budget.spent + seconds, self.suppressed
        while self.budget.spent < until:
            x = self._cheaper(best, open_cells, until - self.budget.spent)
            if x is None or not self._learn(x):
                return

    def disputed(self) -> BoolArray:
        """Cells about which the incumbent and the linear solution disagree."""
        assert self.suppressed is not None
        assert self.relaxed is not None
        return np.asarray(np.abs(self.suppressed - self.relaxed.x) > AGREEMENT)

    def search_neighbourhood(self, open_cells: BoolArray) -> None:
        """Look for a cheaper pattern that differs from the incumbent in open cells only.

        The search ends when the number of new cuts no longer falls.
        """
        assert self.suppressed is not None
        best, before = self.suppressed, MAX_CELLS_IN_CUTS
        for _ in range(MAX_PROGRAMS_PER_NEIGHBOURHOOD):
            x, known = self._cheaper(best, open_cells, np.inf, MAX_NODES_PER_PROGRAM), self.work["cuts"]
            if x is None or not self._learn(x):
                return
            new = self.work["cuts"] - known
            if new > FEW_VIOLATIONS and new >= before:
                return
            before = new

    def _cheaper(
        self, best: BoolArray, open_cells: BoolArray, seconds: float, nodes: int | None = None
    ) -> FloatArray | None:
        """The cheapest pattern that satisfies the cuts and differs from ``best`` in open cells only; None if none is cheaper."""
        known = best.astype(float)
        while not self.done():
            x = self.master.solve(self._within(seconds), EQUAL_COST_SHARE, known, open_cells & self.free, nodes).x
            self.work["integer_programs"] += 1
            if x is None or not self._is_cheaper(self._costs(x)):
                return None
            if not self.master.activate_violated(x):
                return x
        return None

    def _is_cheaper(self, cost: float) -> bool:
        return cost < self.best.cost * (1 - EQUAL_COST_SHARE)

    def _costs(self, x: FloatArray) -> float:
        return float(self.cost[self.free] @ x[self.free])

    def _within(self, seconds: float) -> float:
        return max(min(seconds, np.inf if self.budget.left is None else self.budget.left), 0.1)


def _satisfy(cut: Cut, x: FloatArray, cost: FloatArray) -> None:
    """Suppress the cheapest cells that satisfy a cut."""
    missing = cut.shortfall(x)
    helping = np.flatnonzero((cut.weight > 0) & (x[cut.columns] < 1))
    for k in helping[np.argsort(cost[cut.columns[helping]] / cut.weight[helping], kind="stable")].tolist():
        if missing <= 1e-9:
            break
        x[cut.columns[k]] = 1.0
        missing -= cut.weight[k]


def _grain(cost: FloatArray) -> float:
    """The largest power of ten of which all costs are multiples; 0 if there is none."""
    cost = cost[cost > 0]
    for digits in range(-3, 7):
        scaled = cost * 10.0**digits
        near = np.rint(scaled)
        if scaled.sum() < 2**50 and np.all((near >= 1) & (np.abs(scaled - near) <= 1e-9 * near)):
            return 10.0**-digits
    return 0.0


def _with_ties(cost: FloatArray, free: BoolArray, grain: float, fewest: bool) -> FloatArray:
    """Costs that break ties: cells without a cost, or with ``fewest`` all free cells, cost a small amount in addition.

    So they are not suppressed without need. If costs have a grain, all amounts together are less than it, so that no costlier
    pattern becomes the cheapest.
    """
    least = float(cost[cost > 0].min()) if np.any(cost > 0) else 1.0
    addition = (grain or 1e-6 * least) / (4 * (int(free.sum()) + 1))
    return cost + np.where(free & ((cost == 0) | fewest), addition, 0.0)
