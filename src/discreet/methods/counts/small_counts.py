"""The method ``small-counts``: small counts of base cells are rounded, and totals are sums of the results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.errors import RuleError, TableError, some
from discreet.methods.context import Run
from discreet.methods.counts.integer_counts import counts_of
from discreet.methods.counts.rounding import Rounding
from discreet.methods.method import Traits, option
from discreet.methods.totals import Totals
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals


@dataclass(frozen=True)
class SmallCounts:
    """Small-count rounding: counts below the base in base cells become 0 or the base, and all totals are sums of the results.

    The directions are chosen for a small sum of squared changes over all cells, totals included.
    """

    name = "small-counts"
    traits = Traits(kind="counts", needs_counts=True)
    uses_secret = True

    base: int = option(3, "counts from 1 to base − 1 in the finest cells become 0 or the base; from 2 to 1000")

    def __post_init__(self) -> None:
        if isinstance(self.base, bool) or not isinstance(self.base, int) or not 2 <= self.base <= 1000:
            raise RuleError("base is what small counts are rounded to: an integer from 2 to 1000.")

    def protect(self, problem: Problem, run: Run) -> Protection:
        count = counts_of(problem, self.name)
        sums = Totals.of(problem.table)
        fixed = problem.status == Status.PUBLISHED
        small = np.flatnonzero(problem.table.is_base & (count > 0) & (count < self.base) & ~fixed)
        rounding = Rounding(sums.incidence(small), count[small], self.base)
        _refuse_fixed_totals(problem, rounding.touched & fixed)
        stopped = rounding.search(run, run.random(self.name, problem))
        shown = sums.add_up((count + rounding.off).astype(float)).astype(np.int64)
        low, high = self._intervals(sums, shown, fixed)
        suppressed = problem.status == Status.SUPPRESSED
        change = np.abs(shown - count)
        totals = change[~problem.table.is_base & (count > 0)]
        return publish_intervals(
            problem,
            published=np.where(suppressed, np.nan, shown),
            lower=low,
            upper=high,
            cost=float((change.astype(float) ** 2).sum()),
            **run.report(self.name, run.budget.ending if stopped else "heuristic"),
            work={"rounded": len(small), "sweeps": rounding.sweeps, "largest_change": int(change.max(initial=0))},
            note=_note(totals),
        )

    def _intervals(self, sums: Totals, shown: IntArray, fixed: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The counts that published numbers can stand for: 0 for 0 to b − 1, b for 1 to b; other base cells are true.

        Suppressed cells get intervals, too, because their values can be computed from the others.
        """
        low = np.where((shown == self.base) & ~fixed, 1, shown).astype(float)
        high = np.where(shown == 0, self.base - 1, shown).astype(float)
        return sums.add_up(low), sums.add_up(high)


def _refuse_fixed_totals(problem: Problem, changed: BoolArray) -> None:
    """Refuse totals that change although they must be published with their values."""
    cells = np.flatnonzero(changed)
    if len(cells):
        labels = problem.table.labels(cells[:1000])
        raise TableError(
            f"{len(cells):,} totals of small counts must be published with their values, e.g. {some(labels)}, but all "
            "totals are sums of rounded counts. Give them the status free.",
            labels,
        )


def _note(change: IntArray) -> str:
    if not len(change):
        return "there are no totals"
    mean, root = float(change.mean()), float(np.sqrt((change.astype(float) ** 2).mean()))
    return f"totals change by {int(change.max())} at most, {mean:.2f} on average ({root:.2f} root mean square)"
