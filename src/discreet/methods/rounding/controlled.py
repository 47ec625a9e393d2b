"""Controlled rounding: additive multiples of a base near to the true values, and safe."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import NoSafePatternError, RuleError
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.methods.rounding.grid import Base, RoundingGrid, check, refuse_relations
from discreet.methods.rounding.publication import exposed, protection
from discreet.methods.rounding.search import RoundingSearch
from discreet.methods.rounding.unbiased import unbiased
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.solvers import solver_name

STRICT_SHARE = 0.6  # of the time left, for a rounding before a relaxed one is tried: that may be easier to find
MAX_EXTRA_STEPS = 2  # that are tried in excess of the required ones


@dataclass(frozen=True)
class ControlledRounding:
    """Controlled rounding: multiples of a base that add up and protect all sensitive cells, at the least sum of changes.

    With one step a cell is rounded to one of the two multiples next to it, and multiples of the base stay. Without
    ``zero_restricted`` multiples of the base, zeros included, may change by ``steps`` bases.
    """

    base: float | Base = option(5.0, "cells are published as multiples of this base; in Python also one base per cell")
    zero_restricted: bool = option(
        True, "zeros stay zero, and other multiples of the base change by less than `steps` bases"
    )
    steps: int = option(1, "a cell is rounded to a multiple less than this many bases away")
    unbiased: bool = option(False, "draw a rounding whose expected value is the true table; for networks only")
    relax: bool = option(False, "try more `steps`, then without `zero_restricted`, if no safe rounding is found")
    name = "round"
    traits = Traits(kind="rounding", proves_bound=True)

    @property
    def uses_secret(self) -> bool:
        return self.unbiased

    def __post_init__(self) -> None:
        check(self.base, self.steps)
        if self.unbiased and (self.steps > 1 or not self.zero_restricted or self.relax):
            raise RuleError(
                "An unbiased rounding goes to the multiples next to a cell: leave out steps, zero_restricted and relax."
            )

    def protect(self, problem: Problem, run: Run) -> Protection:
        if self.unbiased:
            return self._drawn(problem, run)
        *kinds, last = self._kinds()
        for kind in kinds:
            try:
                return self._rounded(problem, run, *kind, is_last=False)
            except NoSafePatternError:
                if run.budget.over:
                    raise
        return self._rounded(problem, run, *last, is_last=True)

    def _kinds(self) -> list[tuple[int, bool]]:
        """The steps and ``zero_restricted`` to try: zeros stay zero as long as possible."""
        if not self.relax:
            return [(self.steps, self.zero_restricted)]
        restricted = (True, False) if self.zero_restricted else (False,)
        return [(self.steps + extra, zeros) for zeros in restricted for extra in range(MAX_EXTRA_STEPS + 1)]

    def _rounded(self, problem: Problem, run: Run, steps: int, zero_restricted: bool, is_last: bool) -> Protection:
        grid = RoundingGrid.of(problem, self.base, steps, zero_restricted)
        refuse_relations(grid)
        search = RoundingSearch(grid.narrowed(), run if is_last else run.with_time_share(STRICT_SHARE), is_last)
        found = search.search()
        status = search.best.status(search.run.budget, finished=not search.stopped)
        report = run.report(self.name, status, search.best.reported_bound, solver_name())
        return protection(grid, found, **report, work=search.work, note=self._note(steps, zero_restricted))

    def _note(self, steps: int, zero_restricted: bool) -> str:
        """For the report: by how much the rounding is relaxed."""
        if (steps, zero_restricted) == (self.steps, self.zero_restricted):
            return ""
        zeros = "" if zero_restricted else ", zero_restricted=false"
        return f"no rounding as required was found; this one has steps={steps}{zeros}"

    def _drawn(self, problem: Problem, run: Run) -> Protection:
        grid = RoundingGrid.of(problem, self.base, 1, True)
        refuse_relations(grid)
        grid.narrowed()
        steps = unbiased(grid, run)
        violated = exposed(grid, steps, run.progress).values()
        cells = sorted({requirement.cell for required in violated for requirement in required})
        if cells:
            labels = problem.table.labels(cells)
            raise NoSafePatternError(
                f"The rounding that was drawn exposes {len(cells)} cells, e.g. {labels[0]!r}. To draw until one is safe would "
                "bias it: choose a larger base, lower the levels, or round with unbiased=false.",
                labels,
            )
        return protection(grid, steps, **run.report(self.name), note="unbiased")
