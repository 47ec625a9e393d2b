"""Cell-key perturbation: the same records get the same noise in every table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import IntArray
from discreet.data.record_keys import N_KEYS
from discreet.data.table import Table
from discreet.errors import RuleError, TableError
from discreet.methods.context import Run
from discreet.methods.counts.ptable import PTable, perturbation_table
from discreet.methods.counts.restore import restored
from discreet.methods.counts.whole import counts_of
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals

EXACT = 2.0**53  # whole numbers up to here are told apart by doubles
MOST = 10**9  # that readers can be told counts are off by


@dataclass(frozen=True)
class CellKey:
    """Cell-key perturbation of counts: noise from a table of probabilities, the same for the same records in every table.

    Every record has a key, a whole number below 2²⁴; the table holds their sums, and a cell's key is the remainder of its sum.
    """

    name = "cell-key"
    traits = Traits(kind="counts", needs_counts=True)

    deviation: int = option(3, "D, the largest change of a count")
    variance: float = option(1.0, "variance of the changes, above 0 and below D; an upper limit if `mono` is true")
    skip: int = option(0, "counts from 1 to this number are never published")
    mono: bool = option(True, "larger decreases are never more likely than smaller ones")
    announced: int | None = option(
        None, "largest change that is published, at least D; by default the perturbation table is public"
    )
    restore: bool = option(False, "publish the nearest additive table of integers")
    key: str = option("key", "column of the table with the sums of the record keys")

    def __post_init__(self) -> None:
        self._ptable  # noqa: B018  # refuses what is not possible
        told = self.announced
        if told is not None and (isinstance(told, bool) or not isinstance(told, int) or told < self.deviation):
            raise RuleError(
                f"announced is a whole number, at least the deviation, {self.deviation}: less would be a lie."
            )
        if told is not None and told > MOST:
            raise RuleError(f"announced is a whole number up to {MOST:,}.")
        if self.restore and self.skip:
            raise RuleError("Restored counts may be anything: skip= and restore= do not go together.")

    @cached_property
    def _ptable(self) -> PTable:
        return perturbation_table(self.deviation, self.variance, self.skip, self.mono)

    def protect(self, problem: Problem, run: Run) -> Protection:
        count = counts_of(problem, self.name)
        run.progress.stage("perturb", 1)
        # What must be published as it is has no noise; zeros have none anyway.
        fixed = problem.status == Status.PUBLISHED
        shown = count + np.where(fixed, 0, self._ptable.change(count, cell_keys(problem.table, self.key)))
        run.progress.update(1)
        status, solver = "heuristic", ""
        if self.restore:
            shown, status, solver = restored(problem, count, shown, self.deviation, run)
        low, high = self._interval(shown)
        exactly = fixed & (count > 0)
        low, high = np.where(exactly, count, low), np.where(exactly, count, high)
        suppressed = problem.status == Status.SUPPRESSED
        # Where counts add up, one that is not shown follows from the others.
        unknown = suppressed & (not self.restore)
        return publish_intervals(
            problem,
            published=np.where(suppressed, np.nan, shown),
            lower=np.where(unknown, -np.inf, low),
            upper=np.where(unknown, np.inf, high),
            cost=float(np.abs(shown - count)[~suppressed].sum()),
            method=self.name,
            status=status,
            seconds=run.budget.spent,
            solver=solver,
            seed=run.seed,
            work={"changed": int((shown != count)[~suppressed].sum())},
            note=self._note(problem),
            secret_limit=self._told > self.deviation,
        )

    @property
    def _told(self) -> int:
        return self.deviation if self.announced is None else self.announced

    def _interval(self, shown: IntArray) -> tuple[IntArray, IntArray]:
        """What a published count can stand for. Zeros stay zero, so that whatever is shown as more is at least one."""
        if self.announced is None and not self.restore:
            return self._ptable.counts_behind(shown)
        return np.maximum(shown - self._told, np.minimum(shown, 1)), shown + self._told

    def _note(self, problem: Problem) -> str:
        kept = self._told - self.deviation
        levels = [problem.levels(who)[:, problem.primaries] for who in problem.attackers()]
        beyond = any(bool((level > kept).any()) for level in levels)
        advice = f"; levels above {kept} are kept up by luck, not by design" if beyond else ""
        return f"counts change by {self.deviation} at most, readers are told {self._told}{advice}"


def cell_keys(table: Table, column: str) -> IntArray:
    """The keys of all cells: what is left of the sum of their records' keys modulo 2²⁴."""
    if column not in table.extra:
        raise TableError(
            f"The table has no column {column!r} with the sums of record keys. Give every record a key, with record_keys() or "
            f"`discreet keys`, and add the keys up: extra=[{column!r}] when tabulating."
        )
    total = table.extra[column]
    if np.any((total < 0) | (total != np.round(total)) | (total >= EXACT)):
        raise TableError(
            f"The column {column!r} does not hold sums of record keys: these are whole numbers from 0 to {N_KEYS - 1:,}, and "
            "negative, broken or too large sums cannot come of them. Keys between 0 and 1 are to be multiplied by "
            f"{N_KEYS:,} and rounded down."
        )
    return (total.astype(np.int64) % N_KEYS).astype(np.int64)
