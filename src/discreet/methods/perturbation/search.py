"""Publish the cheapest table; while it leaves some cell too little slack, forbid that and begin again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import NoSafePatternError, some
from discreet.inference.integer_system import integer_weights
from discreet.methods.check import verdicts
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.core.cutting_planes import Infeasible, cutting_planes, status_of
from discreet.methods.core.requirements import exposed_requirements
from discreet.methods.core.separator import Separator
from discreet.methods.perturbation.announcement import Announcement, announcements
from discreet.methods.perturbation.master import PROVEN, FoundTable, TableMaster
from discreet.methods.perturbation.publication import TablePublication
from discreet.methods.perturbation.windows import NoSlackError, Windows
from discreet.problem import Problem, Status
from discreet.progress import OutOfTime
from discreet.protection import Protection, publish_intervals
from discreet.solvers import solver_name


@dataclass(eq=False)
class TableSearch:
    """What is known about one problem: cuts hold for every table, whatever program they are added to."""

    windows: Windows
    run: Run
    cuts: list[Cut] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        publication, problem = TablePublication(self.windows), self.windows.problem
        relations = integer_weights(problem.table.relations)
        self._separators = [Separator(publication, k, relations) for k in range(len(problem.attackers()))]

    def safe(self, master: TableMaster, start: IntArray | None = None) -> FoundTable:
        """The cheapest table that leaves every cell its slack; raises :class:`Infeasible`."""
        master.add(self.cuts)

        def add(cuts: Sequence[Cut]) -> None:
            self.cuts += cuts
            master.add(cuts)

        budget, starts = self.run.budget, iter([start])
        try:
            return cutting_planes(
                lambda: master.solve(budget, next(starts, None)), lambda found: self.violated(found.change), add, budget
            )
        except OutOfTime:
            raise NoSafePatternError("The time limit ended before there was a safe table. Allow more time.") from None

    def is_safe(self, change: IntArray) -> bool:
        """Whether a table leaves every cell its slack; what it misses is known from then on."""
        new = self.violated(change)
        self.cuts += new
        return not new

    def violated(self, change: IntArray) -> list[Cut]:
        """Cuts that a table violates; none if it is safe."""
        problem = self.windows.problem
        told = self.windows.tell(change)
        self.rounds += 1
        checked = verdicts(problem, told, executor=self.run.executor)
        note = f"{len(checked.exposed):,} cells with too little slack, {len(self.cuts):,} conditions"
        self.run.progress.update(self.rounds, note)
        cuts = []
        for attacker, required in exposed_requirements(checked).items():
            cuts += self._separators[attacker].separate(change, required)[0]
        if not checked.passed and not cuts:
            raise NoSafePatternError(f"It cannot be decided how to protect {some(checked.exposed)}.", checked.exposed)
        return cuts

    def tell(
        self, method: str, found: FoundTable, bound: float | None, note: str, cost: float | None = None
    ) -> Protection:
        """The protection, and how good it is; the cost is what changes cost in all, unless it is counted otherwise."""
        cost = self.windows.cost(found.change) if cost is None else cost
        return self.windows.tell(
            found.change,
            cost=cost,
            method=method,
            status=status_of(cost, bound, self.run.budget, found.finished, PROVEN),
            bound=bound,
            seconds=self.run.budget.spent,
            solver=solver_name(),
            seed=self.run.seed,
            work={"rounds": self.rounds, "cuts": len(self.cuts), "changed": int(np.count_nonzero(found.change))},
            note=note,
        )


Offer = Callable[[], tuple[Windows, str]]


def offers(problem: Problem, percent: float | None, margin: float | None, multiple: float) -> list[Offer]:
    """Windows for each announcement to try, made when it is its turn, and its text."""

    def offer(said: Announcement) -> Offer:
        return lambda: (Windows.announced(problem, said), said.text())

    return [offer(said) for said in announcements(problem, percent, margin, multiple)]


def first_feasible(offered: Sequence[Offer], protect: Callable[[Windows, str], Protection]) -> Protection:
    """The protection within the first windows that hold one; if none do, what is wrong with the last."""
    *others, last = offered
    for offer in others:
        with suppress(Infeasible, NoSlackError):
            return protect(*offer())
    windows, note = last()
    try:
        return protect(windows, note)
    except Infeasible:
        raise hopeless(windows) from None


def hopeless(windows: Windows) -> NoSafePatternError:
    """Why there is no table: cells that even the widest intervals do not protect, or else all sensitive ones together."""
    problem = windows.problem
    suppressed = problem.status == Status.SUPPRESSED
    far = [np.where(suppressed, 0.0, bound) * windows.unit for bound in (windows.low, windows.high)]
    ends = [windows.intervals(problem.table.value + bound) for bound in far]
    lower, upper = np.where(suppressed, -np.inf, ends[0][0]), np.where(suppressed, np.inf, ends[1][1])
    exposed = _exposed(windows, lower, upper)
    advice = "Let figures be off by more, free cells that must stay as they are, or ask for less protection."
    if exposed:
        return NoSafePatternError(
            f"No published table protects {some(exposed)}: what is told about other cells stops them. {advice}", exposed
        )
    labels = problem.table.labels(problem.primaries[:1000])
    return NoSafePatternError(
        f"No table adds up, stays within its windows and protects all of {some(labels)}. {advice}", labels
    )


def _exposed(windows: Windows, lower: FloatArray, upper: FloatArray) -> list[str]:
    problem = windows.problem
    value = problem.table.value
    exactly = lower == upper
    told = publish_intervals(problem, np.where(exactly, value, np.nan), lower, upper, cost=0.0)
    return verdicts(problem, told).exposed
