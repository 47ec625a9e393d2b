"""Cell-key perturbation: the same records get the same noise in every table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.record_keys import N_KEYS
from discreet.data.table import Table
from discreet.errors import NoSafePatternError, RuleError, TableError
from discreet.methods.context import Run
from discreet.methods.counts.integer_counts import counts_of
from discreet.methods.counts.ptable import PTable, perturbation_table
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals
from discreet.solvers import Outcome, new_model

MAX_EXACT_SUM = 2.0**53  # larger sums of keys are not exact in double precision
MIN_RESTORE_GAP = 0.01  # relative gap at which the solver stops: closing the rest takes longest
MAX_ANNOUNCED = 10**9  # largest change that can be announced: the ends of intervals stay exact in double precision


@dataclass(frozen=True)
class CellKey:
    """Cell-key perturbation of counts: noise from a table of probabilities, the same for the same records in every table.

    Every record has a key, an integer below 2²⁴. The table contains their sums, and the key of a cell is its sum modulo 2²⁴.
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
        self._ptable  # noqa: B018  # refuses impossible options
        limit = self.announced
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < self.deviation):
            raise RuleError(
                f"announced is an integer, at least the deviation, {self.deviation}: a smaller limit would be false."
            )
        if limit is not None and limit > MAX_ANNOUNCED:
            raise RuleError(f"announced is an integer up to {MAX_ANNOUNCED:,}.")
        if self.restore and self.skip:
            raise RuleError("skip= and restore= exclude each other: restored counts may be any numbers.")

    @cached_property
    def _ptable(self) -> PTable:
        return perturbation_table(self.deviation, self.variance, self.skip, self.mono)

    def protect(self, problem: Problem, run: Run) -> Protection:
        count = counts_of(problem, self.name)
        run.progress.stage("perturb", 1)
        # Cells that must be published with their values get no noise; zeros never do.
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
        # If counts add up, a suppressed one can be computed from the others.
        unknown = suppressed & (not self.restore)
        return publish_intervals(
            problem,
            published=np.where(suppressed, np.nan, shown),
            lower=np.where(unknown, -np.inf, low),
            upper=np.where(unknown, np.inf, high),
            cost=float(np.abs(shown - count)[~suppressed].sum()),
            **run.report(self.name, status, solver=solver),
            work={"changed": int((shown != count)[~suppressed].sum())},
            note=self._note(problem),
            secret_limit=self._limit > self.deviation,
        )

    @property
    def _limit(self) -> int:
        """The largest change that is published."""
        return self.deviation if self.announced is None else self.announced

    def _interval(self, shown: IntArray) -> tuple[IntArray, IntArray]:
        """The counts that a published number can stand for. Zeros stay zero, so a positive number stands for at least one."""
        if self.announced is None and not self.restore:
            return self._ptable.counts_behind(shown)
        return np.maximum(shown - self._limit, np.minimum(shown, 1)), shown + self._limit

    def _note(self, problem: Problem) -> str:
        guaranteed = self._limit - self.deviation
        beyond = np.any(problem.strictest[:, problem.primaries] > guaranteed)
        advice = f"; levels above {guaranteed} are not guaranteed" if beyond else ""
        return f"counts change by {self.deviation} at most, the published limit is {self._limit}{advice}"


def cell_keys(table: Table, column: str) -> IntArray:
    """The keys of all cells: the sums of the keys of their records, modulo 2²⁴."""
    if column not in table.extra:
        raise TableError(
            f"The table has no column {column!r} with the sums of record keys. Give every record a key, with record_keys() or "
            f"`discreet keys`, and add the keys up: extra=[{column!r}] when tabulating."
        )
    total = table.extra[column]
    if np.any((total < 0) | (total != np.round(total)) | (total >= MAX_EXACT_SUM)):
        raise TableError(
            f"The column {column!r} does not contain sums of record keys: keys are integers from 0 to {N_KEYS - 1:,}, and "
            "some sums are negative, not integers or too large. Multiply keys between 0 and 1 by "
            f"{N_KEYS:,} and round them down."
        )
    return (total.astype(np.int64) % N_KEYS).astype(np.int64)


def restored(problem: Problem, count: IntArray, noisy: IntArray, deviation: int, run: Run) -> tuple[IntArray, str, str]:
    """Counts that add up, within ``deviation`` of the true ones, with nearly the least sum of differences from noisy counts.

    Zeros and cells that must be published with their values do not change. Also the status and the solver.
    """
    run.progress.stage("restore", 1)
    table = problem.table
    variable = np.flatnonzero((count > 0) & (problem.status != Status.PUBLISHED))
    low, high = np.maximum(count - deviation, 0), count + deviation
    relations = sparse.csr_array(table.relations[:, variable])
    gap = table.rhs - table.relations @ noisy
    # Columns for increases, then for decreases; no optimal solution uses both for a cell.
    is_integer = np.tile(table.is_base[variable], 2)  # totals of integers are integral
    model = new_model(seed=run.seed)
    model.load(
        np.ones(2 * len(variable)),
        np.zeros(2 * len(variable)),
        np.concatenate([high - noisy, noisy - low], dtype=float)[np.r_[variable, variable + len(count)]],
        sparse.csr_array(sparse.hstack([relations, -relations], format="csr")),
        gap,
        gap,
        is_integer,
    )
    budget = run.budget
    solution = model.solve(budget.left, gap=max(budget.gap, MIN_RESTORE_GAP))
    found = noisy.copy()
    if solution.outcome in (Outcome.OPTIMAL, Outcome.STOPPED) and len(solution.primal) == 2 * len(variable):
        up, down = np.rint(solution.primal).astype(np.int64).reshape(2, -1)
        found[variable] += up - down
    # The solver has tolerances, but published counts must add up exactly.
    adds_up = not np.any(table.relations @ found - table.rhs)
    stopped = solution.outcome is Outcome.STOPPED
    if not adds_up or np.any(found < low) or np.any(found > high):
        if solution.outcome is Outcome.INFEASIBLE:
            raise TableError("The true counts do not add up themselves: correct the table, or leave out restore=.")
        reason = "The time limit ended" if stopped else "The solver failed"
        raise NoSafePatternError(f"{reason} before an additive table was found. Allow more time or leave out restore=.")
    run.progress.update(1)
    return found, budget.ending if stopped else "heuristic", model.name
