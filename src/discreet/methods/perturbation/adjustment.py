"""Controlled tabular adjustment: sensitive cells leave their required intervals, others change as little as possible."""

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
from discreet.methods.perturbation.search import TableSearch, first_feasible, offers
from discreet.methods.perturbation.squares import least_squares
from discreet.methods.perturbation.windows import WINDOW_TOLERANCE, Senses, Windows
from discreet.problem import Problem
from discreet.protection import Protection

DISTANCES = ("L1", "L2")
DISTANCE_SHARES = (1.0, 1.0, 0.5, 0.5, 0.25)  # shares of the windows from which distances are drawn, tried in turn
SENSES = ("best", "heuristic", "up", "down")


@dataclass(frozen=True)
class Adjustment:
    """Dandekar & Cox (2002), Castro (2006): ``v ≥ a + upper`` or ``v ≤ a − lower`` for sensitive cells, at the least distance.

    The announcement, the largest possible change of figures, protects every sensitive cell. The least distance of each sensitive
    cell beyond its level is drawn from the secret, with equal chances up and down. With ``exact`` no distance is added: then
    most sensitive cells are published as value ± level, which ``publish`` refuses.
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
                raise RuleError(f"Option {name!r} is one of {', '.join(known)}, not {getattr(self, name)!r}.", [name])

    def protect(self, problem: Problem, run: Run) -> Protection:
        run.progress.stage("adjust", 0)
        found = first_feasible(
            offers(problem, self.percent, self.margin, 1.0 if self.exact else drawn_multiple(run, problem)),
            lambda windows, note: self._drawn(TableSearch(windows, run), note),
        )
        return replace(found, report=replace(found.report, symmetric=self.exact and bool(len(problem.primaries))))

    def _drawn(self, search: TableSearch, note: str) -> Protection:
        """With distances drawn from the entire windows; if there is no such table, from smaller and smaller shares of them.

        Some distances may be 0 by chance; if too many are, ``publish`` would refuse the table, and others are drawn.
        """
        windows = search.windows
        if self.exact:
            return self._adjust(search, note, *with_senses(windows))
        rng, cells = search.run.random(self.name, windows.problem), len(windows.problem.primaries)
        for share in DISTANCE_SHARES[:-1]:
            with suppress(Infeasible):
                found = self._adjust(search, note, *with_senses(windows, share * rng.random((2, cells))))
                if not len(cells_off_by_their_levels(found)):
                    return found
        return self._adjust(search, note, *with_senses(windows, DISTANCE_SHARES[-1] * rng.random((2, cells))))

    def _adjust(self, search: TableSearch, note: str, windows: Windows, senses: Senses) -> Protection:
        found = self._cheapest(search, windows, senses)
        if not _far_enough(windows, senses, found):
            raise ArithmeticError("sensitive cells are nearer to their values than they must be")
        if self.distance == "L1":
            bound = found.bound if self.senses == "best" or not len(senses.cells) else None
            return search.protection(self.name, found, bound, note)
        squared, finished = least_squares(search, windows.directed(senses, found.change[senses.cells] > 0), found)
        cost = float(windows.weight @ squared.astype(float) ** 2) * windows.unit
        result = FoundTable(squared, cost, 0.0, finished)
        return search.protection(self.name, result, None, f"{note}; the cost is the squared distance", cost)

    def _cheapest(self, search: TableSearch, windows: Windows, senses: Senses) -> FoundTable:
        """The cheapest table, with the direction of each sensitive cell chosen as the option says."""
        if self.senses in ("up", "down"):
            return _directed(search, windows, senses, np.full(len(senses.cells), self.senses == "up"))
        start = _heuristic(search, windows, senses)
        if self.senses == "heuristic" or not len(senses.cells):
            return start
        better = replace(start, bound=0.0, finished=False)
        with search.run.budget.interruptible(), suppress(NoSafePatternError):  # the starting table is safe
            better = search.safe(
                TableMaster(windows, windows.weight, senses=senses, seed=search.run.seed), start.change
            )
        # Binaries have a tolerance: in very wide windows a cell may end nearer to its value than it must be.
        if better.cost <= start.cost and _far_enough(windows, senses, better):
            return better
        return FoundTable(start.change, start.cost, min(better.bound, start.cost), better.finished)


def _heuristic(search: TableSearch, windows: Windows, senses: Senses) -> FoundTable:
    """The cheapest table with the rounded senses of the linear relaxation; if there is none, with those of any safe table."""
    master = TableMaster(windows, windows.weight, senses=senses, seed=search.run.seed)
    master.add(search.cuts)
    try:
        return _directed(search, windows, senses, master.relaxed_senses())
    except Infeasible:
        master = TableMaster(windows, windows.weight, senses=senses, seed=search.run.seed, anything=True)
        return _directed(search, windows, senses, search.safe(master).change[senses.cells] > 0)


def _directed(search: TableSearch, windows: Windows, senses: Senses, up: BoolArray) -> FoundTable:
    """The cheapest table with these senses; nothing is proven about others."""
    found = search.safe(TableMaster(windows.directed(senses, up), windows.weight, seed=search.run.seed))
    return replace(found, bound=0.0) if len(senses.cells) else found


def with_senses(windows: Windows, shares: FloatArray | None = None) -> tuple[Windows, Senses]:
    """Windows without the required interval for cells that can change in one direction only, and the senses of the others.

    The least distance is the protection level, plus these ``shares`` of what the windows allow beyond it down and up.
    """
    cells = windows.problem.primaries
    (down, up), more = distances(windows)
    low, high = windows.low.copy(), windows.high.copy()
    can_rise, can_fall = high[cells] >= up, -low[cells] >= down
    if shares is not None:
        down, up = np.stack([down, up]) + np.floor(shares * (more + 1 - WINDOW_TOLERANCE))
    if not np.all(can_rise | can_fall):
        raise Infeasible
    must_change = (up > 0) | (down > 0)
    only_up, only_down, both = (must_change & chosen for chosen in (~can_fall, ~can_rise, can_rise & can_fall))
    low[cells[only_up]] = np.maximum(low[cells[only_up]], up[only_up])
    high[cells[only_down]] = np.minimum(high[cells[only_down]], -down[only_down])
    return windows.within(low, high), Senses(cells[both], up[both], down[both])


def distances(windows: Windows) -> tuple[FloatArray, FloatArray]:
    """The least distances of sensitive cells, and how much larger they may be at most: one row down, one up.

    Windows limit them. They are equal down and up where both are possible: otherwise the smaller one would be cheaper, and
    nearly always chosen.
    """
    cells = windows.problem.primaries
    least = np.stack(
        [np.ceil(level[cells] / windows.unit - WINDOW_TOLERANCE) for level in windows.problem.strictest[:2]]
    )
    more = np.stack([-windows.low[cells], windows.high[cells]]) - least
    both = np.all(more >= 0, axis=0)
    return least, np.maximum(np.where(both, more.min(axis=0), more), 0.0)


def _far_enough(windows: Windows, senses: Senses, found: FoundTable) -> bool:
    """Whether all sensitive cells are at least at the required distance from their values."""
    cells, change, directed = windows.problem.primaries, found.change, found.change[senses.cells]
    inside = (change >= windows.low - WINDOW_TOLERANCE) & (change <= windows.high + WINDOW_TOLERANCE)
    far = (directed >= senses.up - WINDOW_TOLERANCE) | (directed <= -senses.down + WINDOW_TOLERANCE)
    return bool(inside[cells].all() and far.all())
