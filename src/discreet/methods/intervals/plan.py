"""From a problem to intervals: drawn ones, or the narrowest."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError
from discreet.guesses import cells_with_central_values
from discreet.methods.context import Run
from discreet.methods.intervals.choices import Choices
from discreet.methods.intervals.placement import Draw
from discreet.methods.intervals.prepare import REMEDY, prepared
from discreet.methods.intervals.publish import published
from discreet.methods.intervals.recentre import recentred
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import IntervalSetting, Sides, Treatment
from discreet.problem import Problem
from discreet.progress import ENDED_EARLY, Budget
from discreet.protection import Protection
from discreet.solvers import solver_name

MEDIAN_OF = 10  # sensitive cells: of fewer, how much wider intervals are than levels ask would tell single levels
CHOOSING = 0.6  # of the time for choosing cells, where that is a question, before intervals are drawn
CORRECTIONS = 2  # times that some intervals are drawn anew
PROVEN = 1e-6  # share of the cost that solvers leave open where nothing is
DRAWS = 5  # tries to place intervals around other tables, where the chosen cells leave no way


@dataclass(frozen=True, eq=False)
class IntervalPlan:
    """What is to be found: for a problem, prices of widths, limits, and cells that are treated otherwise."""

    problem: Problem
    sides: Sides
    width: float = 0.0
    at_most: int | None = None
    fixed: float = 0.0
    rounded: bool = True
    treatment: Treatment | None = None
    barred: BoolArray | None = None
    remedy: str = REMEDY

    def protect(self, run: Run, method: str, exact: bool) -> Protection:
        """Intervals that passed the audit."""
        if not exact and len(self.problem.primaries):
            return self._drawn(run, method)
        found = finished(self._search(self._prepared(self.problem), run), run, method, self.rounded, self.fixed)
        return replace(found, report=replace(found.report, symmetric=exact and bool(len(self.problem.primaries))))

    def _drawn(self, run: Run, method: str) -> Protection:
        rng, treatment = run.random(method, self.problem), self.treatment or Treatment.none(self.problem)
        barred = self._prepared(self.problem).barred
        for left in reversed(range(DRAWS)):
            draw = Draw.of(self.problem, treatment, self.rounded, rng)
            try:
                found = self._recentred(draw, *self._placed(draw, treatment, barred, run, method), run, rng)
            except NoSafePatternError:
                if not left or run.budget.over:
                    raise
            else:
                break
        found, draw = self._corrected(found, draw, treatment, barred, run, method, rng)
        return _noted(found, len(cells_with_central_values(found)) > 0)

    def _corrected(
        self,
        found: Protection,
        draw: Draw,
        treatment: Treatment,
        barred: BoolArray,
        run: Run,
        method: str,
        rng: np.random.Generator,
    ) -> tuple[Protection, Draw]:
        """The same, or with some intervals drawn anew, so that no more values lie in the middles than by chance."""
        for _ in range(CORRECTIONS):
            if found.report.status in ENDED_EARLY:
                break
            again = draw.redrawn(found, treatment, self.rounded, rng)
            if again is None:
                break
            draw = again
            with suppress(NoSafePatternError):
                found = self._recentred(draw, *self._placed(draw, treatment, barred, run, method), run, rng)
        return found, draw

    def _recentred(
        self, draw: Draw, found: Protection, search: WidthSearch, run: Run, rng: np.random.Generator
    ) -> Protection:
        """The same, or with the same widths around another table, where too many values lie in the middles."""
        z = search.best.solution
        assert z is not None
        if draw.excess_of_hits(found.lower, found.upper) <= 0:
            return found
        placement = recentred(search.setting, z, found, draw.excess_of_hits, rng, run)
        if placement is None:
            return found
        moved = published(search.setting.around(placement), z, self.rounded, run, self.fixed)
        if moved is None:
            return found
        report, cost = found.report, moved.report.cost
        bound = None if report.bound is None else min(report.bound, cost)
        return replace(moved, report=replace(report, cost=cost, bound=bound))

    def _placed(
        self, draw: Draw, treatment: Treatment, barred: BoolArray, run: Run, method: str
    ) -> tuple[Protection, WidthSearch]:
        chosen, widths, work, ended = None, None, {}, ""
        if self._chooses:
            around = draw.asked(draw.halves, treatment, barred, run)
            search = self._search(
                IntervalSetting(around, self.sides, barred, self.width, None, treatment), run.for_step(CHOOSING)
            )
            if isinstance(search, Choices):
                ended = _run(search)
                work, barred, chosen = search.work(), search.setting.barred, search.setting.chosen
                widths = _widths(search)
        placement = draw.placed(self.sides, treatment, barred, run, widths)
        asked = draw.asked(draw.levels, treatment, barred, run)
        setting = IntervalSetting(asked, self.sides, barred, self.width, chosen, treatment, placement)
        if chosen is None:
            found = finished(final := WidthSearch(setting, run), run, method, self.rounded, self.fixed)
            return found, final
        late = replace(run, budget=Budget(None, 1.0)) if run.budget.over else run  # the first intervals are completed
        found = finished(final := WidthSearch(setting, late), run, method, self.rounded, self.fixed)
        # Which cells are best was found out around other values, so that the bound is one of these cells alone.
        early = late is not run or found.report.status in ENDED_EARLY or ended in ENDED_EARLY
        status = run.budget.ending if early else "heuristic"
        report = replace(found.report, status=status, bound=None, work={**work, **found.report.work})
        return replace(found, report=report), final

    def _prepared(self, problem: Problem) -> IntervalSetting:
        return prepared(problem, self.sides, self.width, self.treatment, self.barred, self.remedy)

    @property
    def _limited(self) -> bool:
        return self.at_most is not None or self.fixed > 0 or self.width > 0

    @property
    def _chooses(self) -> bool:
        """Whether it may be a question which cells are not told exactly."""
        return self._limited or self.treatment is not None

    def _search(self, setting: IntervalSetting, run: Run) -> WidthSearch | Choices:
        if not self._chooses:
            return WidthSearch(setting, run)
        choices = Choices(setting, run, self.at_most, self.fixed)
        return choices if self._limited or len(choices.choices) else WidthSearch(setting, run)


def _widths(search: Choices) -> FloatArray:
    """How far chosen cells may go, by side; none of the others."""
    setting = search.setting
    widths = np.zeros((2, len(setting.problem)))
    z = search.best.solution
    assert z is not None
    # What is suppressed goes anywhere, if it is.
    untold = (setting.suppressed | setting.treatment.fixed)[setting.cells]
    widths[:, setting.cells] = np.where(untold, np.inf, np.where(setting.settled, 0.0, z * setting.unit))
    return widths


def _noted(found: Protection, gives_away: bool) -> Protection:
    """With a note what unpredictable positions cost in width, what is proven, and whether they are unpredictable.

    The program bounds what intervals with the drawn positions cost. Others are safe, too, and may cost less: nothing is optimal,
    and there is no bound of all safe intervals.
    """
    problem, cells = found.problem, found.problem.primaries
    levels = np.max([problem.levels(who) for who in problem.attackers()], axis=0)[:, cells]
    needed = np.maximum(levels[0] + levels[1], levels[2])
    wide = (found.upper - found.lower)[cells]
    known = (needed > 0) & np.isfinite(wide)
    notes = []
    if known.sum() >= MEDIAN_OF:
        times = float(np.median(wide[known] / needed[known]))
        notes.append(f"intervals of sensitive cells are {times:.1f} times as wide as their levels ask (median)")
    if found.report.gap is not None:
        notes.append(_proven(found.report.gap))
    if gives_away:
        notes.append("too many values lie in the middle of their intervals: allow more time")
    status = "heuristic" if found.report.status in ("optimal", "within_gap") else found.report.status
    report = replace(found.report, status=status, bound=None, note="; ".join(notes), symmetric=gives_away)
    return replace(found, report=report)


def _proven(gap: float) -> str:
    """What the bound says about the positions that were drawn."""
    permille = math.ceil(1000 * (gap - PROVEN))  # a share that is rounded down would promise too much
    less = f"cost at most {permille / 10:.1f}% less" if permille > 0 else "cost no less"
    return f"the cheapest intervals for the positions drawn {less}"


def finished(search: WidthSearch | Choices, run: Run, method: str, rounded: bool, fixed: float = 0.0) -> Protection:
    """What a search ends with, also if it is interrupted."""
    status = _run(search)
    best = search.best
    assert best.solution is not None
    return told(
        search.setting, best.solution, rounded, run, method, status, best.bound, fixed=fixed, work=search.work()
    )


def _run(search: WidthSearch | Choices) -> str:
    """Search; how it ended, if it found intervals."""
    budget = search.run.budget
    status = "interrupted"
    with budget.interruptible():
        status = search.search()
    if budget.cancelled and search.best.solution is None:
        raise KeyboardInterrupt
    if search.best.solution is None:
        problem = search.setting.problem
        labels = problem.table.labels(problem.primaries)
        raise NoSafePatternError("The time limit ended before all cells were protected. Allow more time.", labels)
    return status


def told(
    setting: IntervalSetting,
    z: FloatArray,
    rounded: bool,
    run: Run,
    method: str,
    status: str,
    bound: float,
    **more: Any,
) -> Protection:
    """The protection of these widths, audited."""
    found = published(
        setting,
        z,
        rounded,
        run,
        method=method,
        status=status,
        bound=bound,
        seconds=run.budget.spent,
        solver=solver_name(),
        seed=run.seed,
        **more,
    )
    if found is None:
        labels = setting.problem.table.labels(setting.problem.primaries)
        raise NoSafePatternError(
            "The audit found the intervals too narrow, by more than rounding errors explain. Run it again.", labels
        )
    return replace(found, report=replace(found.report, bound=min(bound, found.report.cost)))
