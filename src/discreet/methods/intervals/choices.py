"""The search for the cells that are not published exactly, by integer programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP, Incumbent
from discreet.methods.core.requirements import Requirement
from discreet.methods.core.separator import Violation
from discreet.methods.intervals.program import ChoiceProgram
from discreet.methods.intervals.publication import WidthCut, Widths
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import IntervalSetting
from discreet.problem import Status
from discreet.progress import Budget, OutOfTime
from discreet.solvers import Outcome, Solution

RELAXED_SHARE = 0.3  # of the time for the program without choices
FRACTIONAL_SHARE = 0.4  # of what is left then for fractional choices
INTEGER_SHARE = 0.9  # of what is left then for an integer program, so that there is time to compute its widths
MAX_STALLED_ROUNDS = 4  # with next to no gain before choices become integral
LEAST_BOUND_GAIN = 1e-4  # share of the bound: a round that raises it by less counts as stalled
MAX_COMPLETION_PASSES = 30  # over all requirements; choices that violate some after that are refused later
LEAST_FRACTION = 0.05  # cells whose fractional choice is larger need protection when partial cuts are separated


class Choices:
    """Sections 4.3 and 7: the cuts of the linear program, and a binary for each free cell with a choice.

    Programs and the cuts that their solutions violate, in turn, first with fractional choices. The widths of a choice are always
    computed by a linear program over the chosen cells alone, so that a binary that is only nearly 0 has no effect.
    """

    def __init__(self, setting: IntervalSetting, run: Run, at_most: int | None, fixed: float) -> None:
        relaxed = Run(run.seed, run.budget.share(RELAXED_SHARE), run.progress)
        self.relaxed = WidthSearch(setting, relaxed, conditional=False)
        self.s, self.run, self.at_most, self.fixed = setting, run, at_most, fixed
        problem, treatment = setting.problem, setting.treatment
        limited = at_most is not None or fixed > 0 or setting.width_share > 0
        self.conditional = setting.conditional()
        required = np.zeros(len(setting.cells), dtype=bool)
        required[[one.cell for by_attacker in self.conditional for one in by_attacker]] = True
        free = (problem.status == Status.FREE) & ~treatment.fixed
        self.choices = np.flatnonzero(free[setting.cells] & (setting.suppressible | limited | required))
        self.cost_of = problem.cost[setting.cells] * np.where(setting.suppressible, 1.0, fixed)
        in_intervals = problem.primaries[~(treatment.suppressible | treatment.fixed)[problem.primaries]]
        self.constant = fixed * float(problem.cost[in_intervals].sum())
        self.forced = int(setting.unconditional.sum())
        self.completer = Completer(self.relaxed, self.choices, self.conditional)
        self.best: Incumbent[FloatArray] = Incumbent(INTEGER_PROGRAM_GAP)
        self.setting = setting  # of the best choices
        self.programs = 0
        self.tried: set[bytes] = set()
        if at_most is not None and at_most < self.forced:
            raise NoSafePatternError(
                f"{self.forced:,} cells must not be published exactly, and each needs an interval{self._counted()}: "
                f"at most {at_most:,} are too few.",
                problem.table.labels(np.flatnonzero(setting.unconditional)),
            )

    def work(self) -> dict[str, int]:
        return {**self.relaxed.work(), "integer_programs": self.programs}

    def search(self) -> str:
        """The status of the best choices."""
        self.relaxed.search()
        self.best.bound = self.relaxed.best.bound + self.constant
        z = self.relaxed.best.solution
        z = np.zeros(self.s.cap.shape) if z is None else z
        self._offer(np.asarray(z.any(axis=0))[self.choices].astype(float), z)
        limit = None if self.at_most is None else self.at_most - self.forced
        fixed = self.cost_of[self.choices]
        program = ChoiceProgram(self.relaxed.master, self.choices, fixed, self.conditional, limit)
        self._tighten(program)
        if not self.best.within(self.run.budget):
            self._choose(program)
        return self.best.status(self.run.budget)

    def _tighten(self, program: ChoiceProgram) -> None:
        """Cuts for fractional choices."""
        budget = self.run.budget.share(FRACTIONAL_SHARE)
        program.load(self.run.seed, relaxed=True)
        self.run.progress.stage("cuts", 0)
        done = stalled = 0
        while stalled < MAX_STALLED_ROUNDS and not budget.over:
            solution = program.solution(budget.left)
            if not solution.optimal:
                return
            before = self.best.bound
            self._raise_bound(solution)
            if self.best.within(self.run.budget):
                return
            stalled = stalled + 1 if self.best.bound - before <= LEAST_BOUND_GAIN * self.best.bound else 0
            z, x = program.split(solution)
            cuts = self._separate(z, x, budget, partial=True)
            done += 1
            self.run.progress.update(done, f"{len(cuts):,} cuts")
            if not program.add(cuts, solution.primal) + program.add_bridgeless(solution.primal):
                self._offer(x, z)
                return
        if done:
            self._offer(x, z)

    def _choose(self, program: ChoiceProgram) -> None:
        """Integral choices, until no requirement is violated or the time limit ends the search."""
        program.load(self.run.seed)
        self.run.progress.stage("choices", 0)
        budget = self.run.budget
        while True:
            self.programs += 1
            solution = program.solution(budget.share(INTEGER_SHARE).left, max(budget.gap / 2, INTEGER_PROGRAM_GAP / 10))
            if solution.outcome is Outcome.INFEASIBLE:  # all other choices were tried
                if self.best.solution is None:
                    raise self._no_safe_choices()
                self.best.bound = self.best.cost
                return
            self._raise_bound(solution)
            if len(solution.primal) != program.width:
                return
            z, share = program.split(solution)
            x = share > 0.5
            self._offer(x.astype(float), z)
            if self.best.within(budget) or solution.outcome is Outcome.STOPPED or budget.over:
                return
            z[:, self.choices] *= x
            cuts = self._separate(z, x.astype(float), None)
            if program.add(cuts):
                program.add(self._separate(z, x.astype(float), budget, partial=True), solution.primal)
            elif not program.add_bridgeless(solution.primal):
                program.forbid(x)
            self.run.progress.update(self.programs, f"{int(x.sum()):,} chosen")

    def _raise_bound(self, solution: Solution) -> None:
        self.best.raise_bound(solution.bound * self.s.price + self.s.constant + self.constant)

    def _no_safe_choices(self) -> NoSafePatternError:
        limit = "" if self.at_most is None else f" with {self.at_most:,} intervals or fewer{self._counted()}"
        return NoSafePatternError(
            f"Nothing protects all cells at once{limit}. Allow more of them, widen the prior bounds of attackers, "
            "or lower protection levels, also of cells that need protection only if they are not published exactly.",
            self.s.problem.table.labels(self.s.problem.primaries),
        )

    def _counted(self) -> str:
        """What else the limit counts, for messages."""
        treatment = self.s.treatment
        return " (suppressed and rounded cells count)" if (treatment.suppressible | treatment.fixed).any() else ""

    def _separate(self, z: FloatArray, x: FloatArray, budget: Budget | None, partial: bool = False) -> list[WidthCut]:
        """Cuts that widths and choices violate.

        With ``partial`` a suppressed cell contributes no more than its choice times the level: sharper cuts for fractional
        choices, which integral ones need not violate.
        """
        share = np.ones(len(self.s.cells))
        share[self.choices] = np.where(self.s.suppressible[self.choices], x, 1.0)
        chosen = set(self.choices[x > (LEAST_FRACTION if partial else 0.5)].tolist())
        limited = (np.flatnonzero(self.s.suppressible), share) if partial else None
        cuts: list[WidthCut] = []
        for separator, always, more in zip(self.relaxed.separators, self.s.requirements, self.conditional, strict=True):
            required = always + [one for one in more if one.cell in chosen]
            try:
                cuts += separator.separate(Widths(z, share), required, budget, limited)[0]
            except OutOfTime:
                continue
        return cuts

    def _offer(self, x: FloatArray, z: FloatArray) -> None:
        """Offer choices, and choices completed to protect all cells; the larger a fractional choice, the cheaper its cell."""
        is_first = self.best.solution is None
        if not is_first and self.run.budget.over:
            return
        chosen = np.zeros(len(self.s.cells), dtype=bool)
        chosen[self.choices] = x > 0.5
        price, widths = self.cost_of / self.s.price, z.copy()
        price[self.choices] *= 1.0 - 0.99 * x
        widths[:, self.choices] *= x > 0.5
        budget = self.run.budget
        found = self.completer.complete(chosen, widths, price, Budget() if is_first else budget, budget)
        self._offer_exactly(chosen[self.choices])
        if found is not None:
            self._offer_exactly((chosen | found)[self.choices])

    def _offer_exactly(self, x: BoolArray) -> None:
        """Offer the cheapest intervals if these cells and no others are chosen, provided that they protect all."""
        problem, s = self.s.problem, self.s
        key = x.tobytes()
        if key in self.tried or (self.at_most is not None and x.sum() + self.forced > self.at_most):
            return
        self.tried.add(key)
        chosen, barred = np.zeros(len(problem), dtype=bool), s.barred.copy()
        chosen[s.cells[self.choices[x]]] = True
        barred[s.cells[self.choices[~x]]] = True
        setting = IntervalSetting(problem, s.sides, barred, s.width_share, chosen, s.treatment)
        late = self.best.solution is None and self.run.budget.over
        search = WidthSearch(setting, Run(self.run.seed, Budget(None, 1.0) if late else self.run.budget))
        try:
            search.search()
        except NoSafePatternError:
            return
        z = search.best.solution
        if z is None:
            return
        setting.forget(z)
        wide = setting.cells[z.any(axis=0) & ~setting.primary & ~setting.settled]
        cost = setting.cost(z) + self.constant + self.fixed * float(problem.cost[wide].sum())
        if self.best.offer(z, cost):
            self.setting = setting


class Completer:
    """Choices completed one requirement at a time, each at the least cost, as if cells could be suppressed in part.

    The levels of a free cell count as soon as it gets an interval.
    """

    def __init__(self, search: WidthSearch, choices: IntArray, conditional: Sequence[Sequence[Requirement]]) -> None:
        self.s, self.conditional = search.setting, conditional
        self.separators, self.wideners = search.separators, search.wideners
        self.open = np.zeros(len(self.s.cells), dtype=bool)  # suppressible cells with a choice
        self.open[choices] = self.s.suppressible[choices]

    def complete(
        self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget, clean_up: Budget
    ) -> BoolArray | None:
        """The cells not published exactly in the end, if suppression has these prices; None if the time limit ended it.

        The budget of the clean-up is separate, because choices are complete without it.
        """
        chosen, z = chosen & self.open, np.where(self.s.settled, 0.0, z)
        try:
            for _ in range(MAX_COMPLETION_PASSES):
                is_complete = True
                for attacker in range(len(self.separators)):
                    violations = list(self._violations(attacker, chosen, z, budget))
                    is_complete &= not violations
                    for violation in sorted(violations, key=lambda one: -one.missing):
                        wider = self._meet(attacker, chosen, z, violation.requirement, price)
                        if wider is None or budget.over:
                            return None
                        chosen = chosen | (self.open & wider.any(axis=0))
                        z = np.where(self.s.settled, 0.0, wider)
                if is_complete:
                    chosen = self._without_needless(chosen, z, price, clean_up)
                    break
        except OutOfTime:
            return None
        return np.asarray(chosen | z.any(axis=0))

    def _violations(self, attacker: int, chosen: BoolArray, z: FloatArray, budget: Budget) -> Iterator[Violation]:
        """The requirements against an attacker that choices and widths do not meet; raises :class:`OutOfTime`.

        Some requirements exist only for cells that are not published exactly. Settled cells that are published exactly after all
        contribute no slack.
        """
        wide = chosen | z.any(axis=0)
        required = [*self.s.requirements[attacker], *(one for one in self.conditional[attacker] if wide[one.cell])]
        share = np.where(self.open & ~chosen, 0.0, 1.0)
        return self.separators[attacker].violations(Widths(z, share), required, budget)

    def _without_needless(self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget) -> BoolArray:
        """Without suppressed cells that no requirement needs, the costliest first."""
        cells = np.flatnonzero(chosen)
        for cell in cells[np.argsort(-price[cells], kind="stable")].tolist():
            fewer = chosen.copy()
            fewer[cell] = False
            try:
                violated = (next(self._violations(k, fewer, z, budget), None) for k in range(len(self.separators)))
                if all(violation is None for violation in violated):
                    chosen = fewer
            except OutOfTime:
                break
        return chosen

    def _meet(
        self, attacker: int, chosen: BoolArray, z: FloatArray, requirement: Requirement, price: FloatArray
    ) -> FloatArray | None:
        """Widths that meet one more requirement, where cells that are not chosen can be suppressed; None if none do."""
        widener, published = self.wideners[attacker], self.open & ~chosen
        widener.settled = self.s.settled & ~published
        widener.weight = np.where(published, price / requirement.level, self.s.weight)
        wider = widener.reach(z, requirement)
        return None if wider is None else np.maximum(z, wider)
