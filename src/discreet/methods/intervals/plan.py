"""From a problem to intervals: random ones, or the narrowest."""

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
from discreet.methods.intervals.prepare import INTERVALS_REMEDY, prepared
from discreet.methods.intervals.publish import published
from discreet.methods.intervals.recentre import recentred
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import IntervalSetting, Sides, Treatment
from discreet.problem import Problem
from discreet.progress import ENDED_EARLY, Budget
from discreet.protection import Protection
from discreet.solvers import solver_name

MIN_CELLS_FOR_MEDIAN = 10  # sensitive cells: the median width of fewer cells would disclose the levels of single cells
CHOICE_TIME_SHARE = 0.6  # of the time, for the choice of cells before intervals are placed
MAX_CORRECTIONS = 2  # times that some intervals are drawn again
GAP_IGNORED = 1e-6  # relative gap that solvers leave for proven optima
MAX_DRAWS = 5  # of intervals, if the chosen cells allow no safe intervals around the first tables


@dataclass(frozen=True, eq=False)
class IntervalPlan:
    """A problem with prices of widths, limits, and cells with other treatments."""

    problem: Problem
    sides: Sides
    width: float = 0.0
    at_most: int | None = None
    fixed: float = 0.0
    rounded: bool = True
    treatment: Treatment | None = None
    barred: BoolArray | None = None
    remedy: str = INTERVALS_REMEDY

    def protect(self, run: Run, method: str, exact: bool) -> Protection:
        """The protection by intervals that passed the audit."""
        has_primaries = bool(len(self.problem.primaries))
        if has_primaries and not exact:
            return _RandomIntervals(self, run, method).protect()
        found = finished(self.search(self.prepared(), run), run, method, self.rounded, self.fixed)
        return replace(found, report=replace(found.report, symmetric=has_primaries))

    def prepared(self) -> IntervalSetting:
        """The setting without cells that cannot have intervals."""
        return prepared(self.problem, self.sides, self.width, self.treatment, self.barred, self.remedy)

    @property
    def _limited(self) -> bool:
        return self.at_most is not None or self.fixed > 0 or self.width > 0

    @property
    def chooses(self) -> bool:
        """Whether the cells that are not published exactly have to be chosen."""
        return self._limited or self.treatment is not None

    def search(self, setting: IntervalSetting, run: Run) -> WidthSearch | Choices:
        """The search for widths, with a choice of cells if necessary."""
        if not self.chooses:
            return WidthSearch(setting, run)
        choices = Choices(setting, run, self.at_most, self.fixed)
        return choices if self._limited or len(choices.choices) else WidthSearch(setting, run)


class _RandomIntervals:
    """Intervals at drawn positions, drawn again if too many values lie in the middles."""

    def __init__(self, plan: IntervalPlan, run: Run, method: str) -> None:
        self.plan, self.run, self.method = plan, run, method
        self.rng = run.random(method, plan.problem)
        self.treatment = plan.treatment or Treatment.none(plan.problem)
        self.barred = plan.prepared().barred

    def protect(self) -> Protection:
        """The protection after all corrections."""
        for left in reversed(range(MAX_DRAWS)):
            draw = Draw.of(self.plan.problem, self.treatment, self.plan.rounded, self.rng)
            try:
                found = self._placed(draw)
            except NoSafePatternError:
                if not left or self.run.budget.over:
                    raise
            else:
                break
        found = self._corrected(found, draw)
        return _noted(found, len(cells_with_central_values(found)) > 0)

    def _corrected(self, found: Protection, draw: Draw) -> Protection:
        """The protection, with some intervals drawn again if more values lie in the middles than expected by chance."""
        for _ in range(MAX_CORRECTIONS):
            if found.report.status in ENDED_EARLY:
                break
            again = draw.redrawn(found, self.treatment, self.plan.rounded, self.rng)
            if again is None:
                break
            draw = again
            with suppress(NoSafePatternError):
                found = self._placed(draw)
        return found

    def _placed(self, draw: Draw) -> Protection:
        """The protection by drawn intervals, around another table if too many values lie in the middles."""
        plan, run, treatment, barred = self.plan, self.run, self.treatment, self.barred
        chosen, widths, work, ended = None, None, {}, ""
        if plan.chooses:
            half = (draw.ends[1] - draw.ends[0]) / 2  # of each width on either side, as positions are not known yet
            posed = draw.problem_with(np.stack([half, half]), treatment, barred, run)
            setting = IntervalSetting(posed, plan.sides, barred, plan.width, None, treatment)
            search = plan.search(setting, run.with_time_share(CHOICE_TIME_SHARE))
            if isinstance(search, Choices):
                ended = _run(search)
                work, barred, chosen = search.work(), search.setting.barred, search.setting.chosen
                widths = _widths(search)
        placement = draw.placed(plan.sides, treatment, barred, run, widths)
        posed = draw.problem_with(draw.levels, treatment, barred, run)
        setting = IntervalSetting(posed, plan.sides, barred, plan.width, chosen, treatment, placement)
        # If the time is over after the choice of cells, the first intervals for them are still completed.
        is_late = chosen is not None and run.budget.over
        final = WidthSearch(setting, replace(run, budget=Budget(None, 1.0)) if is_late else run)
        found = finished(final, run, self.method, plan.rounded, plan.fixed)
        if chosen is not None:
            # The cells were chosen for other positions of intervals, so the bound is only valid for these cells.
            early = is_late or found.report.status in ENDED_EARLY or ended in ENDED_EARLY
            status = run.budget.ending if early else "heuristic"
            report = replace(found.report, status=status, bound=None, work={**work, **found.report.work})
            found = replace(found, report=report)
        return self._recentred(draw, found, final)

    def _recentred(self, draw: Draw, found: Protection, search: WidthSearch) -> Protection:
        """The protection, with the same widths around another table if too many values lie in the middles."""
        z = search.best.solution
        assert z is not None
        if draw.excess_of_hits(found.lower, found.upper) <= 0:
            return found
        placement = recentred(search.setting, z, found, draw.excess_of_hits, self.rng, self.run)
        if placement is None:
            return found
        setting = search.setting.around(placement)
        moved = published(setting, z, self.plan.rounded, self.run, self.plan.fixed)
        if moved is None:
            return found
        report, cost = found.report, moved.report.cost
        bound = None if report.bound is None else min(report.bound, cost)
        return replace(moved, report=replace(report, cost=cost, bound=bound))


def _widths(search: Choices) -> FloatArray:
    """The largest shifts of chosen cells per side; zero for the others."""
    setting = search.setting
    widths = np.zeros((2, len(setting.problem)))
    z = search.best.solution
    assert z is not None
    # Suppressed cells and those with fixed intervals are not limited by widths.
    unlimited = (setting.suppressed | setting.treatment.fixed)[setting.cells]
    widths[:, setting.cells] = np.where(unlimited, np.inf, np.where(setting.settled, 0.0, z * setting.unit))
    return widths


def _noted(found: Protection, is_symmetric: bool) -> Protection:
    """The protection with a note on the widths, on the bound for the drawn positions, and on values in the middles.

    The program bounds the cost of intervals with the drawn positions. Other safe intervals may cost less, so the status is not
    optimal, and there is no bound.
    """
    cells = found.problem.primaries
    levels = found.problem.strictest[:, cells]
    needed = np.maximum(levels[0] + levels[1], levels[2])
    width = (found.upper - found.lower)[cells]
    comparable = (needed > 0) & np.isfinite(width)
    notes = []
    if comparable.sum() >= MIN_CELLS_FOR_MEDIAN:
        times = float(np.median(width[comparable] / needed[comparable]))
        notes.append(f"intervals of sensitive cells are {times:.1f} times as wide as their levels require (median)")
    if found.report.gap is not None:
        notes.append(_proven(found.report.gap))
    if is_symmetric:
        notes.append("too many values lie in the middle of their intervals: allow more time")
    status = "heuristic" if found.report.status in ("optimal", "within_gap") else found.report.status
    report = replace(found.report, status=status, bound=None, note="; ".join(notes), symmetric=is_symmetric)
    return replace(found, report=report)


def _proven(gap: float) -> str:
    """The note on the bound for the drawn positions."""
    permille = math.ceil(1000 * (gap - GAP_IGNORED))  # rounded up: rounded down, the statement would be false
    less = f"cost at most {permille / 10:.1f}% less" if permille > 0 else "cost no less"
    return f"the cheapest intervals for the positions drawn {less}"


def finished(search: WidthSearch | Choices, run: Run, method: str, rounded: bool, fixed: float = 0.0) -> Protection:
    """The protection by a search, also if it is interrupted."""
    status = _run(search)
    best = search.best
    assert best.solution is not None
    return audited(
        search.setting, best.solution, rounded, run, method, status, best.bound, fixed=fixed, work=search.work()
    )


def _run(search: WidthSearch | Choices) -> str:
    """Run the search; its status, or an error if it found no intervals."""
    budget = search.run.budget
    status = "interrupted"
    with budget.interruptible():
        status = search.search()
    if budget.cancelled and search.best.solution is None:
        raise KeyboardInterrupt
    if search.best.solution is None:
        problem = search.setting.problem
        labels = problem.table.labels(problem.primaries)
        raise NoSafePatternError(
            "The time limit ended before there were intervals that protect all cells. Allow more time.", labels
        )
    return status


def audited(
    setting: IntervalSetting,
    z: FloatArray,
    rounded: bool,
    run: Run,
    method: str,
    status: str,
    bound: float,
    **more: Any,
) -> Protection:
    """The protection by these widths; an error unless it passes the audit."""
    found = published(setting, z, rounded, run, **run.report(method, status, bound, solver_name()), **more)
    if found is None:
        labels = setting.problem.table.labels(setting.problem.primaries)
        raise NoSafePatternError(
            "The audit found the intervals too narrow, by more than rounding errors explain. "
            "Run it again, or choose another method.",
            labels,
        )
    return replace(found, report=replace(found.report, bound=min(bound, found.report.cost)))
