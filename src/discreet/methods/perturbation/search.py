"""The cheapest safe table: the master program, the audit of its tables and cuts for the requirements that they violate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import NoSafePatternError, some
from discreet.inference.integer_system import integer_weights
from discreet.methods.check import verdicts
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP, Infeasible, cutting_planes, status_of
from discreet.methods.core.requirements import exposed_requirements
from discreet.methods.core.separator import Separator
from discreet.methods.perturbation.announcement import Announcement, announcements
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.publication import TablePublication
from discreet.methods.perturbation.windows import NoSlackError, Windows
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals
from discreet.solvers import solver_name


@dataclass(eq=False)
class TableSearch:
    """The cuts found for a problem, which hold for every safe table and thus in every program, and the rounds so far."""

    windows: Windows
    run: Run
    cuts: list[Cut] = field(default_factory=list)
    rounds: int = 0

    def __post_init__(self) -> None:
        publication, problem = TablePublication(self.windows), self.windows.problem
        relations = integer_weights(problem.table.relations)
        self._separators = [Separator(publication, k, relations) for k in range(len(problem.attackers()))]

    def safe(self, master: TableMaster, start: IntArray | None = None) -> FoundTable:
        """The cheapest safe table; raises :class:`Infeasible`."""
        master.add(self.cuts)

        def add(cuts: Sequence[Cut]) -> None:
            self.cuts += cuts
            master.add(cuts)

        def solve() -> FoundTable:
            return master.solve(self.run.budget, next(starts, None))

        starts = iter([start])
        return cutting_planes(solve, lambda found: self.violated(found.change), add, self.run.budget, "table")

    def is_safe(self, change: IntArray) -> bool:
        """Whether a table is safe; if not, the cuts that it violates are kept."""
        new = self.violated(change)
        self.cuts += new
        return not new

    def violated(self, change: IntArray) -> list[Cut]:
        """Cuts that a table violates; none if it is safe."""
        checked = verdicts(self.windows.problem, self.windows.protection(change), executor=self.run.executor)
        self.rounds += 1
        note = f"{len(checked.exposed):,} cells with too little slack, {len(self.cuts):,} cuts"
        self.run.progress.update(self.rounds, note)
        cuts = []
        for attacker, required in exposed_requirements(checked).items():
            cuts += self._separators[attacker].separate(change, required)[0]
        if not checked.passed and not cuts:
            raise NoSafePatternError(
                f"It cannot be decided how to protect {some(checked.exposed)}. Allow larger changes, or choose another method.",
                checked.exposed,
            )
        return cuts

    def protection(
        self, method: str, found: FoundTable, bound: float | None, note: str, cost: float | None = None
    ) -> Protection:
        """The protection with its report; by default the cost is the weighted sum of all changes."""
        cost = self.windows.cost(found.change) if cost is None else cost
        status = status_of(cost, bound, self.run.budget, found.finished, INTEGER_PROGRAM_GAP)
        work = {"rounds": self.rounds, "cuts": len(self.cuts), "changed": int(np.count_nonzero(found.change))}
        report = self.run.report(method, status, bound, solver_name())
        return self.windows.protection(found.change, cost=cost, **report, work=work, note=note)


Offer = Callable[[], tuple[Windows, str]]


def offers(problem: Problem, percent: float | None, margin: float | None, multiple: float) -> list[Offer]:
    """For each announcement to try a function that returns its windows and its text."""

    def offer(announcement: Announcement) -> Offer:
        return lambda: (Windows.announced(problem, announcement), announcement.text())

    return [offer(announcement) for announcement in announcements(problem, percent, margin, multiple)]


def first_feasible(offered: Sequence[Offer], protect: Callable[[Windows, str], Protection]) -> Protection:
    """The protection within the first windows that allow one; if none do, the error for the last windows is raised."""
    *others, last = offered
    for offer in others:
        with suppress(Infeasible, NoSlackError):
            return protect(*offer())
    windows, note = last()
    try:
        return protect(windows, note)
    except Infeasible:
        raise _infeasible(windows) from None


def _infeasible(windows: Windows) -> NoSafePatternError:
    """The error that there is no table: it names cells that even the widest intervals do not protect, or all sensitive ones."""
    problem, value = windows.problem, windows.problem.table.value
    lower, upper = (
        windows.intervals(value + np.where(problem.status == Status.SUPPRESSED, 0.0, bound) * windows.unit)[side]
        for side, bound in enumerate((windows.low, windows.high))
    )
    widest = publish_intervals(problem, np.where(lower == upper, value, np.nan), lower, upper, cost=0.0)
    exposed = verdicts(problem, widest).exposed
    advice = "Allow larger changes, free cells that must stay as they are, or lower the protection levels."
    if exposed:
        return NoSafePatternError(
            f"No published table protects {some(exposed)}: the intervals of other cells are too narrow. {advice}",
            exposed,
        )
    labels = problem.table.labels(problem.primaries[:1000])
    return NoSafePatternError(
        f"No table adds up, stays within its windows and protects all of {some(labels)}. {advice}", labels
    )
