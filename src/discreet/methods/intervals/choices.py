"""Choices which cells are not told exactly: they make an integer program."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.intervals.complete import Completer
from discreet.methods.intervals.master import WidthCut
from discreet.methods.intervals.program import ChoiceProgram
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import IntervalSetting
from discreet.problem import Status
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution

RELAXED = 0.3  # of the time for the program without choices
TIGHTENED = 0.4  # of what is left then for choices that are not whole
INTEGER = 0.9  # of what is left then for an integer program, so that there is time for what comes of it
STALLED = 4  # rounds with next to no gain before choices are made whole
GAIN = 1e-4  # share of the bound that is next to nothing
PROVEN = 1e-6  # share of the cost that a solver may leave open
SOME = 0.05  # of a choice that is not whole counts as one that may be made


class Choices:
    """Sections 4.3 and 7: the cuts of the linear program, and a binary for each free cell of which one has to be chosen.

    Programs and the cuts that their solutions miss, in turn, first with choices that need not be whole. What is chosen is always
    worked out anew by a linear program over the chosen cells alone, so that a binary that is only nearly 0 lets nothing through.
    """

    def __init__(self, setting: IntervalSetting, run: Run, at_most: int | None, fixed: float) -> None:
        self.relaxed = WidthSearch(setting, Run(run.seed, run.budget.share(RELAXED), run.progress), conditional=False)
        self.s = self.setting = setting
        self.run, self.at_most, self.fixed = run, at_most, fixed
        problem, treatment = setting.problem, setting.treatment
        limited = at_most is not None or fixed > 0 or setting.share > 0
        self.conditional = setting.conditional(problem.status == Status.FREE)
        asked = np.zeros(len(setting.cells), dtype=bool)
        asked[[one.cell for own in self.conditional for one in own]] = True
        free = (problem.status == Status.FREE) & ~treatment.fixed
        self.choices = np.flatnonzero(free[setting.cells] & (setting.whole | limited | asked))
        self.cost_of = problem.cost[setting.cells] * np.where(setting.whole, 1.0, fixed)
        told = problem.primaries[~(treatment.whole | treatment.fixed)[problem.primaries]]
        self.anyway = fixed * float(problem.cost[told].sum())
        self.forced = int(setting.unconditional.sum())
        self.completer = Completer(setting, self.relaxed.attacks, self.relaxed.wideners, self.choices, self.conditional)
        self.z: FloatArray | None = None
        self.cost, self.bound = np.inf, 0.0
        self.programs = 0
        self.tried: set[bytes] = set()
        if at_most is not None and at_most < self.forced:
            raise NoSafePatternError(
                f"There are {self.forced:,} cells that are not to be told exactly, and each needs an interval{self._counted()}: "
                f"at most {at_most:,} are too few.",
                problem.table.labels(np.flatnonzero(setting.unconditional)),
            )

    def work(self) -> dict[str, int]:
        return {**self.relaxed.work(), "integer_programs": self.programs}

    def search(self) -> str:
        """How it ended."""
        self.relaxed.search()
        self.bound = self.relaxed.bound + self.anyway
        z = np.zeros(self.s.cap.shape) if self.relaxed.z is None else self.relaxed.z
        self._offer(np.asarray(z.any(axis=0))[self.choices].astype(float), z)
        limit = None if self.at_most is None else self.at_most - self.forced
        fixed = self.cost_of[self.choices]
        program = ChoiceProgram(self.relaxed.master, self.choices, fixed, self.conditional, limit, self.run.seed)
        self._tighten(program)
        return self._near() or self._choose(program)

    def _near(self) -> str:
        """How it ended if the cost is near enough to the bound; else nothing."""
        open_part = self.cost - self.bound
        if self.z is None:
            return ""
        if open_part <= PROVEN * self.cost:
            return "optimal"
        return "within_gap" if open_part <= self.run.budget.gap * self.cost else ""

    def _tighten(self, program: ChoiceProgram) -> None:
        """Cuts for choices that need not be whole."""
        budget = self.run.budget.share(TIGHTENED)
        program.load(integer=False)
        self.run.progress.stage("cuts", 0)
        done = stalled = 0
        while stalled < STALLED and not budget.over:
            solution = program.solve(budget.left)
            if not solution.optimal:
                return
            before = self.bound
            self._raise(solution)
            if self._near():
                return
            stalled = stalled + 1 if self.bound - before <= GAIN * self.bound else 0
            z, x = program.split(solution)
            cuts = self._separate(z, x, budget, snug=True)
            done += 1
            self.run.progress.update(done, f"{len(cuts):,} cuts")
            if not program.add(cuts, solution.primal) + program.bridge(solution.primal):
                self._offer(x, z)
                return
        if done:
            self._offer(x, z)

    def _choose(self, program: ChoiceProgram) -> str:
        """Whole choices, until nothing is missing."""
        program.load(integer=True)
        self.run.progress.stage("choices", 0)
        while True:
            self.programs += 1
            solution = program.solve(self.run.budget.share(INTEGER).left, gap=max(self.run.budget.gap / 2, PROVEN / 10))
            if solution.outcome is Outcome.INFEASIBLE:
                return self._nothing_better()
            self._raise(solution)
            if len(solution.primal) != program.width:
                return self.run.budget.ending
            z, share = program.split(solution)
            x = share > 0.5
            self._offer(x.astype(float), z)
            ended = self._near()
            if ended:
                return ended
            if solution.outcome is Outcome.STOPPED or self.run.budget.over:
                return self.run.budget.ending
            z[:, self.choices] *= x
            cuts = self._separate(z, x.astype(float), None)
            if program.add(cuts):
                program.add(self._separate(z, x.astype(float), self.run.budget, snug=True), solution.primal)
            elif not program.bridge(solution.primal):
                program.forbid(x)
            self.run.progress.update(self.programs, f"{int(x.sum()):,} chosen")

    def _raise(self, solution: Solution) -> None:
        bound = solution.bound * self.s.price + self.s.constant + self.anyway
        self.bound = max(self.bound, min(bound, self.cost))

    def _nothing_better(self) -> str:
        if self.z is None:
            few = "" if self.at_most is None else f" with {self.at_most:,} intervals or fewer{self._counted()}"
            raise NoSafePatternError(
                f"Nothing protects all cells at once{few}. Allow more of them, widen the bounds people are said to know, "
                "or lower protection levels, also of cells that need protection only if they are not told exactly.",
                self.s.problem.table.labels(self.s.problem.primaries),
            )
        self.bound = self.cost
        return "optimal"

    def _counted(self) -> str:
        treatment = self.s.treatment
        return " (suppressed and rounded cells count)" if (treatment.whole | treatment.fixed).any() else ""

    def _separate(self, z: FloatArray, x: FloatArray, budget: Budget | None, snug: bool = False) -> list[WidthCut]:
        """Cuts that widths and choices miss; snug ones are for choices that are not whole, but help with others, too."""
        share = np.ones(len(self.s.cells))
        whole = self.s.whole[self.choices]
        share[self.choices[whole]] = x[whole]
        chosen = set(self.choices[x > (SOME if snug else 0.5)].tolist())
        cuts: list[WidthCut] = []
        for attack, own, more in zip(self.relaxed.attacks, self.s.requirements, self.conditional, strict=True):
            asked = own + [one for one in more if one.cell in chosen]
            found = attack.separate(z, asked, budget, share, snug)
            cuts += found[0] if found is not None else []
        return cuts

    # -- what choices are worth --------------------------------------------------------------------------------

    def _offer(self, x: FloatArray, z: FloatArray) -> None:
        """Choices, completed if they do not protect all, as cheaply as the cells that are chosen in part suggest."""
        chosen = np.zeros(len(self.s.cells), dtype=bool)
        chosen[self.choices] = x > 0.5
        price = self.cost_of / self.s.price
        price[self.choices] *= 1.0 - 0.99 * x
        wide = np.where(np.isin(np.arange(len(chosen)), self.choices) & ~chosen, 0.0, z)
        budget = Budget() if self.z is None else self.run.budget
        if self.z is not None and budget.over:
            return
        found = self.completer.complete(chosen, wide, price, budget)
        for one in (chosen,) if found is None else (chosen, chosen | found):
            self._work_out(one[self.choices])

    def _work_out(self, x: BoolArray) -> None:
        """The cheapest intervals if these cells and no others are chosen, if they protect all."""
        problem, s = self.s.problem, self.s
        key = x.tobytes()
        if key in self.tried or (self.at_most is not None and x.sum() + self.forced > self.at_most):
            return
        self.tried.add(key)
        chosen, barred = np.zeros(len(problem), dtype=bool), s.barred.copy()
        chosen[s.cells[self.choices[x]]] = True
        barred[s.cells[self.choices[~x]]] = True
        setting = IntervalSetting(problem, s.sides, barred, s.share, chosen, s.treatment)
        late = self.z is None and self.run.budget.over
        search = WidthSearch(setting, Run(self.run.seed, Budget(None, 1.0) if late else self.run.budget))
        try:
            search.search()
        except NoSafePatternError:
            return
        if search.z is None:
            return
        setting.forget(search.z)
        wide = setting.cells[search.z.any(axis=0) & ~setting.primary & ~setting.settled]
        cost = setting.cost(search.z) + self.anyway + self.fixed * float(problem.cost[wide].sum())
        if cost < self.cost:
            self.setting, self.z, self.cost = setting, search.z, cost
