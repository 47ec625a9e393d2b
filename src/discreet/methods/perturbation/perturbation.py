"""Cell perturbation: an additive table of other values, with sensitive cells at given or drawn ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import NoSafePatternError, RuleError, some
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.method import Traits, option
from discreet.methods.perturbation.announcement import check, drawn_multiple
from discreet.methods.perturbation.draws import Draws
from discreet.methods.perturbation.large import Finest
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.search import Offer, TableSearch, first_feasible, offers
from discreet.methods.perturbation.windows import WINDOW_TOLERANCE, Windows
from discreet.problem import Problem
from discreet.protection import Protection

MAX_WEIGHT_RATIO = (
    1e4  # of a cell in the first table, to the median: the solver fails on weights of very different size
)
SENSITIVE_CHANGE_WEIGHT = 100.0  # factor on the cost of sensitive cells in the first table, near the drawn values


@dataclass(frozen=True)
class Perturbation:
    """Salazar-González (2002), figure 13: sensitive cells are published at given values, others change as little as possible.

    With ``floor`` and ``ceiling`` sensitive cells are published at their ceilings, and readers know the difference of the two.
    Without them the largest possible change is announced, and the values of sensitive cells are drawn within it and then moved to
    the nearest ones that are additive.
    """

    percent: float | None = option(
        None, "largest change in percent of the published value, from 0 to below 100; by default a multiple of 5"
    )
    margin: float | None = option(
        None, "largest change in addition to `percent`; by default the least that small sensitive cells need"
    )
    at_most: int | None = option(None, "upper limit on the number of changed cells, sensitive ones included")
    floor: FloatArray | None = option(None, "lowest value of each cell, instead of `percent` and `margin`; Python only")
    ceiling: FloatArray | None = option(
        None, "highest value of each cell, at which sensitive cells are published; Python only"
    )
    name = "perturb"
    traits = Traits(kind="perturbation", proves_bound=True)
    uses_secret = True

    def __post_init__(self) -> None:
        check(self.percent, self.margin)
        if self.at_most is not None and self.at_most < 0:
            raise RuleError(
                f"At most {self.at_most} cells cannot be changed: give a number of cells, 0 or more.", ["at_most"]
            )
        given = [part is not None for part in (self.floor, self.ceiling)]
        if any(given) and (not all(given) or self.percent is not None or self.margin is not None):
            raise RuleError("Give floor and ceiling together, or percent and margin, not both.", ["floor", "ceiling"])

    def protect(self, problem: Problem, run: Run) -> Protection:
        run.progress.stage("perturb", 0)
        return first_feasible(
            self.windows(problem, run), lambda windows, note: self._perturb(TableSearch(windows, run), note)
        )

    def windows(self, problem: Problem, run: Run) -> list[Offer]:
        """Windows to try, each with the note for readers."""
        if self.floor is None or self.ceiling is None:
            return offers(problem, self.percent, self.margin, drawn_multiple(run, problem))
        windows, cells = Windows.given(problem, self.floor, self.ceiling), problem.primaries
        change = np.floor((np.asarray(self.ceiling) - problem.table.value) / windows.unit + WINDOW_TOLERANCE)[cells]
        outside = cells[(change < windows.low[cells]) | (change > windows.high[cells])]
        if len(outside):
            labels = problem.table.labels(outside)
            raise NoSafePatternError(
                f"At their ceilings {some(labels)} have no slack for their levels. Widen windows.", labels
            )
        return [lambda: (windows.pinned(cells, change), "readers know how wide windows are")]

    def _perturb(self, search: TableSearch, note: str) -> Protection:
        finest = Finest.of(search.windows) if self.at_most is None else None
        found = self._cheapest(search, self.start(search, finest), finest)
        return search.protection(self.name, found, found.bound, note)

    def start(self, search: TableSearch, finest: Finest | None = None) -> FoundTable | None:
        """A safe table with drawn values of sensitive cells; None if their values are given."""
        if self.floor is not None:
            return None
        windows, problem, cells = search.windows, search.windows.problem, search.windows.problem.primaries
        draws = Draws(windows, search.run.random(self.name, problem))
        wanted = np.zeros(len(problem))
        wanted[cells] = draws.all()
        drawn = None if finest is None else finest.change(wanted)
        if drawn is not None and np.array_equal(drawn[cells], wanted[cells]) and search.is_safe(drawn):
            return FoundTable(drawn, windows.cost(drawn), 0.0, False)
        weight = np.where(windows.weight > 0, windows.unit / np.maximum(np.abs(problem.table.value), windows.unit), 0)
        weight = np.minimum(weight, MAX_WEIGHT_RATIO * np.median(weight[weight > 0])) if weight.any() else weight
        weight[cells] *= SENSITIVE_CHANGE_WEIGHT
        master = TableMaster(windows, weight, reference=wanted, at_most=self.at_most, seed=search.run.seed)
        found = search.safe(master)
        if self.at_most is not None or not np.any(draws.in_the_middle(found.change) & ~draws.in_the_middle(wanted)):
            return found
        again = windows.pinned(cells, draws.again(wanted, found.change, search.cuts, search.run.budget))
        try:
            return search.safe(TableMaster(again, weight, reference=wanted, seed=search.run.seed))
        except (Infeasible, NoSafePatternError):  # the values drawn again allow no safe integral table
            return found

    def _cheapest(self, search: TableSearch, start: FoundTable | None, finest: Finest | None) -> FoundTable:
        """The cheapest change of all other cells, with sensitive cells as in the starting table."""
        windows, seed = search.windows, search.run.seed
        if start is None:
            return search.safe(TableMaster(windows, windows.weight, at_most=self.at_most, seed=seed))
        fixed = windows.pinned(windows.problem.primaries, start.change[windows.problem.primaries])
        least = windows.cost(np.where(fixed.low == fixed.high, start.change, 0))
        safe = FoundTable(start.change, windows.cost(start.change), least, False)
        with search.run.budget.interruptible(), suppress(Infeasible, NoSafePatternError):  # the starting table is safe
            if finest is None:
                found = search.safe(TableMaster(fixed, fixed.weight, at_most=self.at_most, seed=seed), start.change)
                return found if found.cost <= safe.cost else safe
            near, bound = finest.cheapest(fixed, search.run.budget, seed)
            safe = replace(safe, bound=min(max(least, bound), safe.cost))
            return near if near is not None and near.cost < safe.cost and search.is_safe(near.change) else safe
        return safe
