"""Controlled tabular adjustment: sensitive cells pushed out of their intervals, others changed as little as possible."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError, RuleError
from discreet.guesses import cells_off_by_their_levels
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.method import Traits, option
from discreet.methods.perturbation.announcement import check, drawn_multiple
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.rows import Senses
from discreet.methods.perturbation.search import TableSearch, first_feasible, offers
from discreet.methods.perturbation.squares import least_squares
from discreet.methods.perturbation.windows import HAIR, Windows
from discreet.problem import Problem
from discreet.protection import Protection

DISTANCES = ("L1", "L2")
SHARES = (1.0, 1.0, 0.5, 0.5, 0.25)  # of what windows leave that distances are drawn from, one after the other
SENSES = ("best", "heuristic", "up", "down")


@dataclass(frozen=True)
class Adjustment:
    """Dandekar & Cox (2002), Castro (2006): ``v ≥ a + upper`` or ``v ≤ a − lower`` for sensitive cells, at the least distance.

    The announcement says by how much figures may be off at most; with that every sensitive cell is protected.
    How far beyond its level each sensitive cell goes at least is drawn from the secret, equally far up and down. With
    ``exact`` none goes farther than its level asks: then most are at value ± level, which is refused by ``publish``.
    """

    percent: float | None = option(None, "as in `perturb`; with `exact` the default is the least that the levels need")
    margin: float | None = option(None, "as in `perturb`; with `exact` the default is the least that the levels need")
    distance: str = option("L1", "`L1`: sum of the weighted changes; `L2`: sum of the weighted squared changes")
    senses: str = option(
        "best", "direction of sensitive cells: `best` (integer program), `heuristic` (linear program), `up` or `down`"
    )
    exact: bool = option(
        False, "sensitive cells change by no more than their levels require; `publish` refuses that unless accepted"
    )
    name = "adjust"
    traits = Traits(kind="perturbation", proves_bound=True)

    @property
    def uses_secret(self) -> bool:
        return not self.exact

    def __post_init__(self) -> None:
        check(self.percent, self.margin)
        for name, known in (("distance", DISTANCES), ("senses", SENSES)):
            if getattr(self, name) not in known:
                raise RuleError(
                    f"The option {name!r} is one of {', '.join(known)}, not {getattr(self, name)!r}.", [name]
                )

    def protect(self, problem: Problem, run: Run) -> Protection:
        run.progress.stage("adjust", 0)
        found = first_feasible(
            offers(problem, self.percent, self.margin, 1.0 if self.exact else drawn_multiple(run, problem)),
            lambda windows, note: self._drawn(TableSearch(windows, run), note),
        )
        return replace(found, report=replace(found.report, symmetric=self.exact and bool(len(problem.primaries))))

    def _drawn(self, search: TableSearch, note: str) -> Protection:
        """With distances from the whole window, and if there is no such table from less and less of it.

        By chance some are the levels themselves; where those are too many, ``publish`` would refuse the table.
        """
        if self.exact:
            return self._adjust(search, note, ways(search.windows))
        rng, cells = search.run.random(self.name, search.windows.problem), len(search.windows.problem.primaries)
        for share in SHARES[:-1]:
            with suppress(Infeasible):
                found = self._adjust(search, note, ways(search.windows, share * rng.random((2, cells))))
                if not len(cells_off_by_their_levels(found)):
                    return found
        return self._adjust(search, note, ways(search.windows, SHARES[-1] * rng.random((2, cells))))

    def _adjust(self, search: TableSearch, note: str, pushed: tuple[Windows, Senses]) -> Protection:
        windows, senses = pushed
        found = self._pushed(search, windows, senses)
        if not _goes_far_enough(windows, senses, found):
            raise ArithmeticError("sensitive cells are nearer to their values than they must be")
        if self.distance == "L1":
            return search.tell(
                self.name, found, found.bound if self.senses == "best" or not len(senses.cells) else None, note
            )
        fixed = going(windows, senses, found.change[senses.cells] > 0)
        squared, finished = least_squares(search, fixed, found)
        cost = float(windows.weight @ squared.astype(float) ** 2) * windows.unit
        result = FoundTable(squared, cost, 0.0, finished)
        return search.tell(self.name, result, None, f"{note}; the cost is the squared distance", cost)

    def _pushed(self, search: TableSearch, windows: Windows, senses: Senses) -> FoundTable:
        """Which way each sensitive cell goes, and the cheapest table then."""
        run = search.run
        if self.senses in ("up", "down"):
            return self._fixed(search, windows, senses, np.full(len(senses.cells), self.senses == "up"))
        start = self._guess(search, windows, senses)
        if self.senses == "heuristic" or not len(senses.cells):
            return start
        better = None
        with run.budget.interruptible(), suppress(NoSafePatternError):  # the table of the start is safe
            better = search.safe(TableMaster(windows, windows.weight, senses=senses, seed=run.seed), start.change)
        if better is None:
            return FoundTable(start.change, start.cost, 0.0, False)
        # Binaries have a tolerance: where windows are vast, a cell may be left nearer to its value than it must be.
        if better.cost <= start.cost and _goes_far_enough(windows, senses, better):
            return better
        return FoundTable(start.change, start.cost, min(better.bound, start.cost), better.finished)

    def _guess(self, search: TableSearch, windows: Windows, senses: Senses) -> FoundTable:
        """Ways that a program with fractions leans to; where these do not go together, the first that do."""
        master = TableMaster(windows, windows.weight, senses=senses, seed=search.run.seed)
        master.add(search.cuts)
        try:
            return self._fixed(search, windows, senses, master.lean())
        except Infeasible:
            some = TableMaster(windows, windows.weight, senses=senses, seed=search.run.seed, anything=True)
            return self._fixed(search, windows, senses, search.safe(some).change[senses.cells] > 0)

    def _fixed(self, search: TableSearch, windows: Windows, senses: Senses, up: BoolArray) -> FoundTable:
        fixed = going(windows, senses, up)
        found = search.safe(TableMaster(fixed, fixed.weight, seed=search.run.seed))
        return FoundTable(found.change, found.cost, 0.0 if len(senses.cells) else found.bound, found.finished)


def ways(windows: Windows, shares: FloatArray | None = None) -> tuple[Windows, Senses]:
    """Windows of cells that can go one way only, and the others, with how far they must go.

    That is as far as their levels, and farther by these ``shares`` of what their windows leave down and up.
    """
    problem = windows.problem
    cells = problem.primaries
    (down, up), more = distances(windows)
    low, high = windows.low.copy(), windows.high.copy()
    can_rise, can_fall = high[cells] >= up, -low[cells] >= down
    if shares is not None:
        down, up = np.stack([down, up]) + np.floor(shares * (more + 1 - HAIR))
    if not np.all(can_rise | can_fall):
        raise Infeasible
    pushed = (up > 0) | (down > 0)
    only_up, only_down = pushed & ~can_fall, pushed & ~can_rise
    low[cells[only_up]] = np.maximum(low[cells[only_up]], up[only_up])
    high[cells[only_down]] = np.minimum(high[cells[only_down]], -down[only_down])
    open_ways = pushed & can_rise & can_fall
    return windows.within(low, high), Senses(cells[open_ways], up[open_ways], down[open_ways])


def distances(windows: Windows) -> tuple[FloatArray, FloatArray]:
    """How far down and up sensitive cells must go at least, and how much farther they may: (way, cell).

    That is as far as windows let them go, and equally far both ways, or the nearer end would be cheaper, and nearly always taken.
    """
    cells = windows.problem.primaries
    least = np.stack([np.ceil(level[cells] / windows.unit - HAIR) for level in windows.problem.strictest[:2]])
    more = np.stack([-windows.low[cells], windows.high[cells]]) - least
    both = np.all(more >= 0, axis=0)
    return least, np.maximum(np.where(both, more.min(axis=0), more), 0.0)


def _goes_far_enough(windows: Windows, senses: Senses, found: FoundTable) -> bool:
    """Whether all sensitive cells are as far from their values as they must be, one way or the other."""
    change, cells = found.change, windows.problem.primaries
    inside = (change[cells] >= windows.low[cells] - HAIR) & (change[cells] <= windows.high[cells] + HAIR)
    far = (change[senses.cells] >= senses.up - HAIR) | (change[senses.cells] <= -senses.down + HAIR)
    return bool(inside.all() and far.all())


def going(windows: Windows, senses: Senses, up: BoolArray) -> Windows:
    """The same with every sensitive cell on its way."""
    low, high = windows.low.copy(), windows.high.copy()
    low[senses.cells] = np.where(up, np.maximum(low[senses.cells], senses.up), low[senses.cells])
    high[senses.cells] = np.where(up, high[senses.cells], np.minimum(high[senses.cells], -senses.down))
    return windows.within(low, high)
