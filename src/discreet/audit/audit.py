"""The audit interval of every protected cell against every attacker, and whether it reaches the protection levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import call

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.data.table import digits_of
from discreet.display import card
from discreet.errors import InputError, TableError, some
from discreet.executors import in_order
from discreet.inference import tolerances
from discreet.inference.boxes import boxes_pay, reach_by_boxes
from discreet.inference.component_search import (
    TARGETS_PER_CHUNK,
    Component,
    open_targets,
    reaches_level,
    settle,
    survey,
)
from discreet.inference.congruent_tables import components
from discreet.inference.deviations import ComponentFindings, Deviation, Evidence
from discreet.inference.exact_reach import ExactReach
from discreet.inference.neighbourhoods import findings_around_targets, needs_neighbourhoods
from discreet.inference.nonzeros import ranges
from discreet.inference.presolve import PresolvedSystem, presolve
from discreet.inference.requirements import (
    cells_to_protect,
    chosen_attackers,
    other_suppressed_cells,
    published_primaries,
    required_levels,
    slacks,
    value_limits,
)
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection

INTEGER_TOLERANCE = 1e-6  # a number this close to an integer counts as that integer, because solvers are not exact
NO_CELLS = np.zeros(0, dtype=np.int64)
NO_CELLS.flags.writeable = False
MAX_SMALL_COMPONENT = 200  # columns of a component for which a program of its own takes longer than a joint one
JOINED_COMPONENT_COLUMNS = 1_000  # columns at which a joint program is large enough


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Per attacker and protected cell: the audit interval and the verdict. Cells and levels may differ between attackers."""

    problem: Problem
    protection: str  # digest of the protection
    attackers: tuple[str, ...]
    knowledge: tuple[str, ...]  # digests of the attackers
    attacker: IntArray
    cell: IntArray
    lower: FloatArray
    upper: FloatArray
    required: FloatArray  # (3, entries): lower, upper and sliding level against the attacker
    safe: BoolArray
    exact: bool  # bounds are the ends of the audit interval; otherwise values within it that suffice for the verdict
    evidence: tuple[Evidence, ...] | None = None  # with certify: one per attacker, then one for ``other_suppressed``
    # Suppressed cells that have no levels, but must not be exactly computable; and those of them that are.
    other_suppressed: IntArray = field(default_factory=lambda: NO_CELLS)
    computable: IntArray = field(default_factory=lambda: NO_CELLS)
    linear: Audit | None = None  # if readers know that cells are integers: the audit without that knowledge

    def __repr__(self) -> str:
        audited = len(np.unique(np.concatenate([self.cell, self.computable])))
        verdict = "safe" if self.passed else f"{len(self.exposed):,} of {audited:,} cells exposed"
        return f"Audit({len(self.attackers)} attacker(s), {verdict})"

    def _repr_html_(self) -> str:
        facts = {
            "verdict": "safe" if self.passed else "exposed",
            "audited cells": f"{len(np.unique(self.cell)):,}",
            "exposed cells": f"{len(self._exposed):,}",
            "attackers": f"{len(self.attackers):,}",
            "intervals": "exact" if self.exact else "inner bounds that suffice for the verdict",
        }
        return card("Audit", facts, "Confidential: intervals are not shown.")

    @property
    def passed(self) -> bool:
        return bool(self.safe.all()) and not len(self.computable)

    @property
    def exposed(self) -> list[str]:
        """Labels of exposed cells."""
        return self.problem.table.labels(self._exposed)

    @property
    def _exposed(self) -> IntArray:
        return np.unique(np.concatenate([self.cell[~self.safe], self.computable]))

    @property
    def differs(self) -> BoolArray:
        """Whether the knowledge that cells are integers narrows the interval."""
        linear = self.linear
        if linear is None:
            return np.zeros(len(self.cell), dtype=bool)
        return (self.lower > linear.lower + INTEGER_TOLERANCE) | (self.upper < linear.upper - INTEGER_TOLERANCE)

    def unaudited(self, protection: Protection) -> int:
        """The number of pairs of an attacker and a cell to protect that the audit left out."""
        knowledge = np.array(self.knowledge)[self.attacker]
        return sum(
            len(np.setdiff1d(cells_to_protect(self.problem, protection, one), self.cell[knowledge == one.digest]))
            for one in self.problem.attackers()
        )

    @cached_property
    def rows(self) -> dict[tuple[int, int], int]:
        """The row of each attacker and cell."""
        return {(int(a), int(c)): row for row, (a, c) in enumerate(zip(self.attacker, self.cell, strict=True))}

    def interval(self, label: str | Sequence[str], attacker: str | None = None) -> tuple[float, float]:
        """The audit interval of one cell against an attacker, by default the first."""
        if attacker is not None and attacker not in self.attackers:
            raise InputError(f"The audit has no attacker {attacker!r}. Choose from {some(self.attackers)}.", [attacker])
        number = 0 if attacker is None else self.attackers.index(attacker)
        cell = self.problem.table.index(label)
        if (number, cell) not in self.rows:
            name = self.problem.table.label(cell)
            against = "" if len(self.attackers) == 1 else f" against {self.attackers[number]!r}"
            raise TableError(f"Cell {name!r} was not audited{against}; pass it in cells=.", [label])
        row = self.rows[number, cell]
        return float(self.lower[row]), float(self.upper[row])

    def frame(self) -> pd.DataFrame:
        """One row per audited cell and attacker. Confidential: it contains true values and protection levels."""
        p, c = self.problem, self.cell
        value = p.table.value[c]
        columns = {
            "cell": p.table.labels(c),
            "value": value,
            "lower": self.lower,
            "upper": self.upper,
            "required_lower": value - self.required[0],
            "required_upper": value + self.required[1],
            "safe": self.safe,
        }
        if self.linear is not None:
            columns["differs"] = self.differs
        if len(self.attackers) > 1:
            columns["attacker"] = np.array(self.attackers, dtype=object)[self.attacker]
        return pd.DataFrame(columns)


def linear_audit(
    problem: Problem,
    protection: Protection,
    attackers: Sequence[Attacker] | None,
    cells: Sequence[int] | NDArray[np.integer] | None,
    intervals: bool,
    certify: bool,
    executor: Executor | None,
    progress: Progress,
) -> Audit:
    """Audit a protection against readers who do not know whether cells are integers; see :func:`discreet.audit.audit`."""
    if protection.problem.digest != problem.digest:
        raise TableError("The protection belongs to another problem. Audit it with the problem it was made for.")
    value = problem.table.value
    noise = tolerances.ROUNDING_ERROR * np.maximum(problem.table.magnitude, 1e-300)
    wrong = np.flatnonzero((protection.lower > value + noise) | (protection.upper < value - noise))
    if len(wrong):
        labels = problem.table.labels(wrong)
        raise TableError(
            f"{len(labels)} cells have intervals without the true value: {some(labels)}. "
            "Protect the problem again, or correct the intervals.",
            labels,
        )
    audited = chosen_attackers(problem, attackers)
    chosen_cells = None if cells is None else _numbers(problem, cells)
    tasks = [_task(problem, protection, attacker, chosen_cells, intervals) for attacker in audited]
    others = NO_CELLS if cells is not None else other_suppressed_cells(problem, protection, audited[0])
    counts = [len(task.targets) for task in tasks]
    progress.stage("audit", sum(counts) + len(others))
    all_tasks = [*tasks, _task(problem, protection, audited[0], others, False)]
    auditor = _Auditor(problem, protection, all_tasks, certify, executor, progress)
    *results, of_others = auditor.results()
    return Audit(
        problem=problem,
        protection=protection.digest,
        attackers=tuple(attacker.name for attacker in audited),
        knowledge=tuple(attacker.digest for attacker in audited),
        attacker=np.repeat(np.arange(len(audited)), counts),
        cell=np.concatenate([task.targets for task in tasks]),
        lower=np.concatenate([result.lower for result in results]),
        upper=np.concatenate([result.upper for result in results]),
        required=np.concatenate([task.required for task in tasks], axis=1),
        safe=np.concatenate([result.safe for result in results]),
        exact=intervals,
        evidence=tuple(result.evidence for result in (*results, of_others)) if auditor.certify else None,
        other_suppressed=others,
        computable=others[~of_others.safe],
    )


def computable_cells(problem: Problem, protection: Protection, executor: Executor | None = None) -> IntArray:
    """Suppressed cells without levels that are exactly computable."""
    outsider = problem.attackers()[0]
    others = other_suppressed_cells(problem, protection, outsider)
    task = _task(problem, protection, outsider, others, False)
    (result,) = _Auditor(problem, protection, [task], False, executor, Silent()).results()
    return others[~result.safe]


@dataclass(frozen=True, eq=False)
class _Task:
    """The cells to audit against one attacker, and their required levels."""

    attacker: Attacker
    targets: IntArray
    required: FloatArray  # (3, targets): lower, upper and sliding level
    intervals: bool  # whether to compute the audit intervals, or only the verdict


def _task(
    problem: Problem, protection: Protection, attacker: Attacker, cells: IntArray | None, intervals: bool
) -> _Task:
    targets = cells_to_protect(problem, protection, attacker) if cells is None else cells
    return _Task(attacker, targets, required_levels(problem, protection, attacker)[:, targets], intervals)


@dataclass(frozen=True, eq=False)
class _Result:
    """The audit intervals and verdicts of the targets against one attacker."""

    lower: FloatArray
    upper: FloatArray
    safe: BoolArray
    evidence: Evidence


@dataclass(eq=False)
class _Auditor:
    """Audits one protection, task by task."""

    problem: Problem
    protection: Protection
    tasks: Sequence[_Task]
    certify: bool
    executor: Executor | None
    progress: Progress
    done: int = 0

    def results(self) -> list[_Result]:
        return [self._result(task) for task in self.tasks]

    def _result(self, task: _Task) -> _Result:
        problem, protection, attacker, targets = self.problem, self.protection, task.attacker, task.targets
        if not task.intervals and not self.certify and not task.required.any():
            return self._result_without_levels(targets)
        low, high = slacks(problem, protection, attacker)
        reduced = presolve(problem.table.relations, low, high)
        relations, left, boxed = problem.table.relations, np.ones(len(targets), dtype=bool), None
        if not task.intervals and boxes_pay(relations, low, high, len(targets)):
            boxed = reach_by_boxes(relations, low, high, targets, task.required)
            left = ~_suffices(task, boxed.reach)
        parts = list(self._components(task, reduced, left))
        found = self._search([component for _, component in parts])
        reach, limit, shown, tables = self._by_cell(targets, reduced, [columns for columns, _ in parts], found)
        if boxed is not None:
            shown = np.where(boxed.reach > reach, np.where(boxed.shown >= 0, boxed.shown + len(tables), -1), shown)
            reach, limit = np.maximum(reach, boxed.reach), np.maximum(limit, boxed.reach)
            tables.extend(boxed.boxes if self.certify else ())
        undecided = np.flatnonzero(_is_undecided(task, reach, limit))
        if len(undecided):
            exact, witnesses = ExactReach.against(problem, protection, attacker).reach(targets[undecided])
            shown[:, undecided] = len(tables) + np.arange(exact.size).reshape(-1, 2).T
            reach[:, undecided] = exact
            tables.extend(witnesses if self.certify else ())
        safe = _suffices(task, reach) & ~published_primaries(problem, protection)[targets]
        value = problem.table.value
        lower, upper = (_rounded_ends(value, targets, deviation) for deviation in (-reach[0], reach[1]))
        # Correct rounding errors: the interval must contain the true value and lie within the prior bounds.
        lowest, highest = (bound[targets] for bound in value_limits(protection, attacker))
        lower = np.minimum(np.maximum(lower, lowest), value[targets])
        upper = np.maximum(np.minimum(upper, highest), value[targets])
        return _Result(lower, upper, safe, Evidence(tuple(tables), shown))

    def _result_without_levels(self, targets: IntArray) -> _Result:
        """The verdict if no level is required: safe unless a primary is published."""
        value = self.problem.table.value[targets]
        self._advance(len(targets))
        safe = ~published_primaries(self.problem, self.protection)[targets]
        return _Result(value, value, safe, Evidence((), np.full((2, len(targets)), -1)))

    def _components(
        self, task: _Task, reduced: PresolvedSystem, left: BoolArray
    ) -> Iterator[tuple[IntArray, Component]]:
        """The connected components with targets that are left: their columns, and the required deviations."""
        # For a verdict, cells without required levels are left out.
        needed = left & (task.intervals | task.required.any(axis=0))
        uncertain = np.flatnonzero((reduced.column[task.targets] >= 0) & needed)
        cells = task.targets[uncertain]
        *ends, sliding = task.required[:, uncertain]
        level = np.where(reduced.sign[cells] > 0, ends, ends[::-1])
        by_column = np.argsort(reduced.column[cells], kind="stable")
        columns = reduced.column[cells][by_column]
        digits = digits_of(self.problem.table.value)
        value_unit = 0.0 if digits is None else 10.0**-digits
        self._advance(len(task.targets) - len(uncertain))
        for members, relations in _joined_components(reduced, columns, bool(value_unit)):
            begin, end = np.searchsorted(columns, members, "left"), np.searchsorted(columns, members, "right")
            chosen = by_column[ranges(begin, end - begin)]
            yield (
                members,
                Component(
                    relations,
                    reduced.low[members],
                    reduced.high[members],
                    targets=np.repeat(np.arange(len(members)), end - begin),
                    level=level[:, chosen],
                    sliding=sliding[chosen],
                    value_unit=value_unit,
                    intervals=task.intervals,
                    certify=self.certify,
                ),
            )

    def _search(self, searched: list[Component]) -> list[ComponentFindings]:
        """Survey every component; then settle the targets that the surveys left open, in chunks of equal size."""
        surveyed, left = [], []
        protection = self.protection
        # No intervals are published, or most cells are published exactly.
        mostly_exact = protection.only_suppresses or bool(np.mean(protection.lower < protection.upper) < 0.5)
        work = [
            partial(survey, c, self._around_targets(c) if needs_neighbourhoods(c, mostly_exact) else None)
            for c in searched
        ]
        for component, found in zip(searched, in_order(self.executor, call, work), strict=True):
            surveyed.append(found)
            left.append(open_targets(component, found))
            self._advance(len(component.targets) - len(left[-1]))
        chunks = [
            (k, chosen[i : i + TARGETS_PER_CHUNK])
            for k, chosen in enumerate(left)
            for i in range(0, len(chosen), TARGETS_PER_CHUNK)
        ]
        # Each chunk starts from the survey alone, so that their order has no effect.
        to_settle = [partial(settle, searched[k], surveyed[k], chosen) for k, chosen in chunks]
        findings = [found.copy() for found in surveyed]
        for (k, chosen), settled in zip(chunks, in_order(self.executor, call, to_settle), strict=True):
            _merge(findings[k], settled, np.unique(searched[k].targets[chosen]), len(surveyed[k].tables))
            self._advance(len(chosen))
        return findings

    def _around_targets(self, component: Component) -> ComponentFindings:
        return findings_around_targets(component, self.executor, lambda done: self.progress.update(self.done + done))

    def _advance(self, targets: int) -> None:
        self.done += targets
        self.progress.update(self.done)

    def _by_cell(
        self, targets: IntArray, reduced: PresolvedSystem, columns: list[IntArray], found: list[ComponentFindings]
    ) -> tuple[FloatArray, FloatArray, IntArray, list[Deviation]]:
        """How far each target is proven to deviate and can deviate at most, and the numbers of the deviations that prove it."""
        n = len(reduced.low)
        # The last column is that of cells that do not deviate.
        (reach, limit), shown = np.zeros((2, 2, n + 1)), np.full((2, n + 1), -1)
        tables: list[Deviation] = []
        if self.certify:
            at = np.flatnonzero(reduced.column >= 0)
            members = at[np.argsort(reduced.column[at], kind="stable")]
            starts = np.searchsorted(reduced.column[members], np.arange(n + 1))
        for of_component, findings in zip(columns, found, strict=True):
            reach[:, of_component], limit[:, of_component] = findings.reach, findings.limit
            if self.certify:
                shown[:, of_component] = np.where(findings.shown >= 0, findings.shown + len(tables), -1)
                for table in findings.tables:
                    column = of_component[table.cells]
                    sizes = starts[column + 1] - starts[column]
                    cells = members[ranges(starts[column], sizes)]
                    tables.append(Deviation(cells, reduced.sign[cells] * np.repeat(table.amount, sizes)))
        column = reduced.column[targets]
        side = np.where(reduced.sign[targets] > 0, [[0], [1]], [[1], [0]])
        return reach[side, column], limit[side, column], shown[side, column], tables


def _suffices(task: _Task, reach: FloatArray) -> BoolArray:
    """Whether these deviations down and up reach the required levels."""
    *levels, sliding = task.required
    return np.asarray(reaches_level(reach, np.stack(levels)).all(axis=0) & reaches_level(reach.sum(axis=0), sliding))


def _is_undecided(task: _Task, reach: FloatArray, limit: FloatArray) -> BoolArray:
    """The targets whose reach and limit are too far apart to determine the verdict, or the interval if it is required."""
    least, most = reach * (1 - tolerances.EXACT_DECISION_MARGIN), limit * (1 + tolerances.EXACT_DECISION_MARGIN)
    undecided = _suffices(task, least) != _suffices(task, most)
    if task.intervals:
        undecided |= np.any(most > reach * (1 + 2 * tolerances.LEVEL_TOLERANCE), axis=0)
    return np.asarray(undecided)


def _joined_components(
    reduced: PresolvedSystem, columns: IntArray, is_round: bool
) -> Iterator[tuple[IntArray, sparse.csr_array]]:
    """The connected components with targets; if values have few digits (``is_round``), small ones are joined to save programs."""
    small: list[tuple[IntArray, sparse.csr_array]] = []
    for members, relations in components(reduced.relations, np.ones(len(reduced.low), dtype=bool)):
        begin, end = np.searchsorted(columns, members, "left"), np.searchsorted(columns, members, "right")
        if np.array_equal(begin, end):
            continue
        if len(members) > MAX_SMALL_COMPONENT or not is_round:
            yield members, relations
            continue
        small.append((members, relations))
        if sum(len(members) for members, _ in small) > JOINED_COMPONENT_COLUMNS:
            yield _joined(small)
            small = []
    if small:
        yield _joined(small)


def _joined(blocks: list[tuple[IntArray, sparse.csr_array]]) -> tuple[IntArray, sparse.csr_array]:
    """Components as one system, with columns in order."""
    members = np.concatenate([members for members, _ in blocks])
    relations = sparse.csr_array(sparse.block_diag([relations for _, relations in blocks], format="csr"))
    order = np.argsort(members)
    return members[order], sparse.csr_array(relations[:, order])


def _numbers(problem: Problem, cells: Sequence[int] | NDArray[np.integer]) -> IntArray:
    """The cell numbers as an array. Booleans are refused, because a mask would be read as the numbers 0 and 1."""
    numbers = np.asarray(cells)
    if len(numbers) and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= len(problem)):
        raise InputError(f"cells= takes numbers of cells from 0 to {len(problem) - 1}; np.flatnonzero converts a mask.")
    return numbers.astype(np.int64)


def _merge(found: ComponentFindings, settled: ComponentFindings, columns: IntArray, surveyed: int) -> None:
    """Add what was settled about these columns. It numbers the ``surveyed`` tables of the survey first, then its own."""
    found.reach[:, columns] = settled.reach[:, columns]
    found.limit[:, columns] = settled.limit[:, columns]
    shown = settled.shown[:, columns]
    found.shown[:, columns] = np.where(shown >= surveyed, shown + len(found.tables) - surveyed, shown)
    found.tables.extend(settled.tables)


def _rounded_ends(value: FloatArray, cells: IntArray, deviation: FloatArray) -> FloatArray:
    """The ends of intervals, rounded to the decimals of the table within rounding error: 1262, not 1261.9999999928."""
    end, digits = value[cells] + deviation, digits_of(value)
    if digits is None:
        return end
    rounded = np.round(end, digits)
    error = 1e-9 * np.abs(deviation) + np.minimum(4 * np.finfo(float).eps * np.abs(value[cells]), 1e-3 * 10.0**-digits)
    with np.errstate(invalid="ignore"):  # infinite ends stay infinite
        return np.where(np.abs(rounded - end) <= error, rounded, end)
