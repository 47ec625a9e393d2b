"""The exact interval of every protected cell, for every attacker, and whether it is wide enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property

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
from discreet.inference.component_search import (
    TARGETS_PER_CHUNK,
    Component,
    initial_findings,
    open_targets,
    reaches_level,
    settle,
    survey,
)
from discreet.inference.congruent_tables import components
from discreet.inference.deviations import ComponentFindings, Deviation, Evidence
from discreet.inference.exact_reach import ExactReach
from discreet.inference.neighbourhoods import (
    LARGE_COMPONENT_COLUMNS,
    MIN_SIZE_RATIO,
    NEIGHBOURHOOD_SIZES,
    SHARING_DIVISOR,
    TRIAL_TARGETS,
    Neighbourhood,
    add_findings,
    needs_neighbourhoods,
    neighbourhoods_of,
)
from discreet.inference.presolve import PresolvedSystem, presolve
from discreet.inference.requirements import (
    cells_to_protect,
    chosen_attackers,
    other_suppressed_cells,
    required_levels,
    slacks,
    value_limits,
)
from discreet.problem import Problem, Status
from discreet.progress import Progress, Silent
from discreet.protection import Protection

INTEGER_TOLERANCE = 1e-6  # how far from a whole number a number may be and still be meant as one
NO_CELLS = np.zeros(0, dtype=np.int64)
NO_CELLS.flags.writeable = False
MAX_SMALL_COMPONENT = 200  # columns of a component that is asked about together with others,
JOINED_COMPONENT_COLUMNS = 1_000  # until there are so many


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """Per attacker and protected cell: the interval that can be inferred, and the verdict.

    With ``exact`` the bounds are the tightest that can be inferred; otherwise they are attained values,
    gone after only as far as the verdict needs. Which cells are audited may differ from attacker to attacker, and so may
    the levels they require. ``others`` are further suppressed cells, ``computable`` those among them whose value anybody can
    compute exactly.

    Where ``linear`` is given, readers know that all cells are whole numbers: bounds and verdicts are those of whole tables, and
    ``linear`` is the audit without that knowledge.
    """

    problem: Problem
    protection: str  # digest of what was audited
    attackers: tuple[str, ...]
    knowledge: tuple[str, ...]  # digests of what each attacker knows beforehand
    attacker: NDArray[np.int64]
    cell: NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    required: FloatArray  # (3, entries): lower, upper and sliding level against the attacker
    safe: BoolArray
    exact: bool
    evidence: tuple[Evidence, ...] | None = None  # one an attacker, and one of the others, if it was asked for
    others: IntArray = field(default_factory=lambda: NO_CELLS)  # suppressed cells that need no protection
    computable: IntArray = field(default_factory=lambda: NO_CELLS)
    linear: Audit | None = None

    def __repr__(self) -> str:
        audited = len(np.unique(np.concatenate([self.cell, self.computable])))
        verdict = "safe" if self.passed else f"{len(self.exposed):,} of {audited:,} cells exposed"
        return f"Audit({len(self.attackers)} attacker(s), {verdict})"

    def _repr_html_(self) -> str:
        cells = len(np.unique(self.cell))
        exposed = len(self._exposed)
        facts = {
            "verdict": "safe" if self.passed else "exposed",
            "audited cells": f"{cells:,}",
            "exposed cells": f"{exposed:,}",
            "attackers": f"{len(self.attackers):,}",
            "intervals": "exact" if self.exact else "as far as the verdict needs",
        }
        return card("Audit", facts, "Confidential: intervals are not shown.")

    @property
    def passed(self) -> bool:
        return bool(self.safe.all()) and not len(self.computable)

    @property
    def exposed(self) -> list[str]:
        """Labels of cells that can be inferred too closely."""
        return self.problem.table.labels(self._exposed)

    @property
    def _exposed(self) -> IntArray:
        return np.unique(np.concatenate([self.cell[~self.safe], self.computable]))

    @property
    def differs(self) -> BoolArray:
        """Where knowing that cells are whole numbers narrows the interval."""
        if self.linear is None:
            return np.zeros(len(self.cell), dtype=bool)
        return (self.lower > self.linear.lower + INTEGER_TOLERANCE) | (
            self.upper < self.linear.upper - INTEGER_TOLERANCE
        )

    @cached_property
    def _row(self) -> dict[tuple[int, int], int]:
        return {(int(a), int(c)): row for row, (a, c) in enumerate(zip(self.attacker, self.cell, strict=True))}

    def interval(self, label: str | Sequence[str], attacker: str | None = None) -> tuple[float, float]:
        """What an attacker (the first, unless named) can infer about one audited cell."""
        if attacker is not None and attacker not in self.attackers:
            raise InputError(f"The audit has no attacker {attacker!r}; it is about {some(self.attackers)}.", [attacker])
        who = 0 if attacker is None else self.attackers.index(attacker)
        cell = self.problem.table.index(label)
        if (who, cell) not in self._row:
            name = self.problem.table.label(cell)
            whom = "" if len(self.attackers) == 1 else f" against {self.attackers[who]!r}"
            raise TableError(f"Cell {name!r} was not audited{whom}; pass it in cells=.", [label])
        row = self._row[who, cell]
        return float(self.lower[row]), float(self.upper[row])

    def frame(self) -> pd.DataFrame:
        """One row an audited cell and attacker. Confidential: it holds true values and protection levels."""
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
    *,
    attackers: Sequence[Attacker] | None = None,
    cells: Sequence[int] | NDArray[np.integer] | None = None,
    intervals: bool = True,
    certify: bool = False,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit what would be published against readers who do not know whether cells are whole numbers.

    ``cells`` defaults to all that must be protected from the attacker in question: primaries, and suppressed ones with levels.
    With ``intervals=False`` only the verdict is worked out, which is faster. With ``certify`` the congruent tables that show
    it are kept for a certificate. Work is spread over an ``executor``, if given one; the answer is the same to the last bit.
    """
    progress = progress or Silent()
    if protection.problem.digest != problem.digest:
        raise TableError("The protection belongs to another problem. Audit it with the problem it was made for.")
    value = problem.table.value
    noise = tolerances.ROUNDING_ERROR * np.maximum(problem.table.magnitude, 1e-300)
    lies = np.flatnonzero((protection.lower > value + noise) | (protection.upper < value - noise))
    if len(lies):
        labels = problem.table.labels(lies)
        raise TableError(
            f"{len(labels)} cells are published as intervals without the true value: {some(labels)}.", labels
        )
    whom = chosen_attackers(problem, attackers)
    chosen = None if cells is None else _numbers(problem, cells)
    questions = [_question(problem, protection, attacker, chosen, intervals) for attacker in whom]
    rest = NO_CELLS if chosen is not None else other_suppressed_cells(problem, protection, whom[0])
    asked = [*questions, _Question(whom[0], rest, required_levels(problem, protection, whom[0])[:, rest], False)]
    many = [len(question.targets) for question in questions]
    progress.stage("audit", sum(many) + len(rest))
    job = _Job(problem, protection, whom, asked, certify, executor, progress)
    *seen, of_others = [job.answer(question) for question in asked]
    return Audit(
        problem=problem,
        protection=protection.digest,
        attackers=tuple(attacker.name for attacker in whom),
        knowledge=tuple(attacker.digest for attacker in whom),
        attacker=np.repeat(np.arange(len(whom)), many),
        cell=np.concatenate([question.targets for question in questions]),
        lower=np.concatenate([one.lower for one in seen]),
        upper=np.concatenate([one.upper for one in seen]),
        required=np.concatenate([question.required for question in questions], axis=1),
        safe=np.concatenate([one.safe for one in seen]),
        exact=intervals,
        evidence=tuple(one.evidence for one in (*seen, of_others)) if job.certify else None,
        others=rest,
        computable=rest[~of_others.safe],
    )


def computable_cells(problem: Problem, protection: Protection, executor: Executor | None = None) -> IntArray:
    """Suppressed cells that need no protection, but whose value anybody can compute exactly."""
    outsider = problem.attackers()[0]
    rest = other_suppressed_cells(problem, protection, outsider)
    question = _Question(outsider, rest, required_levels(problem, protection, outsider)[:, rest], False)
    return rest[~_Job(problem, protection, (outsider,), [question], False, executor, Silent()).answer(question).safe]


@dataclass(frozen=True, eq=False)
class _Question:
    """What is asked about one attacker."""

    attacker: Attacker
    targets: IntArray
    required: FloatArray  # (3, targets): down, up, and in all
    intervals: bool  # whether to go as far as possible, or only as far as the verdict needs


def _question(
    problem: Problem, protection: Protection, attacker: Attacker, cells: IntArray | None, intervals: bool
) -> _Question:
    targets = cells_to_protect(problem, protection, attacker) if cells is None else cells
    return _Question(attacker, targets, required_levels(problem, protection, attacker)[:, targets], intervals)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What one attacker finds out about the targets."""

    lower: FloatArray
    upper: FloatArray
    safe: BoolArray
    evidence: Evidence


@dataclass(eq=False)
class _Job:
    """One audit: what to ask, and where to work."""

    problem: Problem
    protection: Protection
    attackers: Sequence[Attacker]
    questions: Sequence[_Question]
    certify: bool
    executor: Executor | None
    progress: Progress
    done: int = 0

    def answer(self, question: _Question) -> _Seen:
        problem, protection, attacker, targets = self.problem, self.protection, question.attacker, question.targets
        if not question.intervals and not self.certify and not question.required.any():
            return self._told(question)
        low, high = slacks(problem, protection, attacker)
        reduced = presolve(problem.table.relations, low, high, low < high)
        found_components = list(self._parts(question, reduced))
        found = self._explore([component for _, component in found_components])
        reach, edge, shown, tables = self._gather(targets, reduced, [columns for columns, _ in found_components], found)
        hinges = np.flatnonzero(self._hinges(question, reach, edge))
        if len(hinges):
            exact, witnesses = ExactReach.against(problem, protection, attacker).reach(targets[hinges])
            shown[:, hinges] = len(tables) + np.arange(exact.size).reshape(-1, 2).T
            reach[:, hinges] = exact
            tables.extend(witnesses if self.certify else ())
        safe = _suffices(question, reach) & ~self._is_told(targets)
        value = problem.table.value
        lower, upper = (_tidy(value, targets, move) for move in (-reach[0], reach[1]))
        # The truth is possible, and what was known beforehand is no news, whatever the last digit of a sum.
        lowest, highest = (limit[targets] for limit in value_limits(protection, attacker))
        lower = np.minimum(np.maximum(lower, lowest), value[targets])
        upper = np.maximum(np.minimum(upper, highest), value[targets])
        return _Seen(lower, upper, safe, Evidence(tuple(tables), shown))

    def _is_told(self, targets: IntArray) -> BoolArray:
        """A primary whose value is simply told is exposed, however little protection it asked for."""
        told = (self.protection.lower == self.protection.upper) & (self.problem.status == Status.PRIMARY)
        return np.asarray(told[targets])

    def _told(self, question: _Question) -> _Seen:
        """Where nothing is asked for but not to be told."""
        value, targets = self.problem.table.value, question.targets
        self._advance(len(targets))
        shown = np.full((2, len(targets)), -1)
        return _Seen(value[targets], value[targets], ~self._is_told(targets), Evidence((), shown))

    def _hinges(self, question: _Question, reach: FloatArray, edge: FloatArray) -> BoolArray:
        """Which answers are not known yet: between how far a cell is proven to go and where it must stop."""
        least, most = reach * (1 - tolerances.EXACT_DECISION_MARGIN), edge * (1 + tolerances.EXACT_DECISION_MARGIN)
        hinges = _suffices(question, least) != _suffices(question, most)
        if question.intervals:
            hinges |= np.any(most > reach * (1 + 2 * tolerances.LEVEL_TOLERANCE), axis=0)
        return np.asarray(hinges)

    def _parts(self, question: _Question, reduced: PresolvedSystem) -> Iterator[tuple[IntArray, Component]]:
        """The connected components with targets in them: their columns, and what is asked about them."""
        # Cells that need not move are of no interest, unless it is asked how far they do.
        asked = question.intervals | question.required.any(axis=0)
        moving = np.flatnonzero((reduced.column[question.targets] >= 0) & asked)
        cells = question.targets[moving]
        *ends, sliding = question.required[:, moving]
        level = np.where(reduced.sign[cells] > 0, ends, ends[::-1])
        by_column = np.argsort(reduced.column[cells], kind="stable")
        columns = reduced.column[cells][by_column]
        digits = digits_of(self.problem.table.value)
        grain = 0.0 if digits is None else 10.0**-digits
        self._advance(len(question.targets) - len(moving))
        for members, relations in self._together(reduced, columns, bool(grain)):
            # members are in order, and so are columns: a merge of the two finds the targets among them
            begin, end = np.searchsorted(columns, members, "left"), np.searchsorted(columns, members, "right")
            many = end - begin
            mine = by_column[np.repeat(begin - np.cumsum(many) + many, many) + np.arange(many.sum())]
            yield (
                members,
                Component(
                    relations,
                    reduced.low[members],
                    reduced.high[members],
                    targets=np.repeat(np.arange(len(members)), many),
                    level=level[:, mine],
                    sliding=sliding[mine],
                    grain=grain,
                    intervals=question.intervals,
                    certify=self.certify,
                ),
            )

    def _together(
        self, reduced: PresolvedSystem, columns: IntArray, is_round: bool
    ) -> Iterator[tuple[IntArray, sparse.csr_array]]:
        """The connected components with targets in them; small ones, of round numbers, are asked about together.

        That saves the trouble of a program for each.
        """
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

    def _explore(self, whole: list[Component]) -> list[ComponentFindings]:
        """Survey every component, then settle what is left in pieces of the same size, wherever they are worked on."""
        found, left = [], []
        told = self.protection
        loose = told.only_suppresses or bool(np.mean(told.lower < told.upper) < 0.5)
        begun = [(part, self._from_parts(part) if needs_neighbourhoods(part, loose) else None) for part in whole]
        for part, one in zip(whole, in_order(self.executor, _survey, begun), strict=True):
            found.append(one)
            left.append(open_targets(part, one))
            self._advance(len(part.targets) - len(left[-1]))
        chunks = [
            (k, chosen[i : i + TARGETS_PER_CHUNK])
            for k, chosen in enumerate(left)
            for i in range(0, len(chosen), TARGETS_PER_CHUNK)
        ]
        work = [(whole[k], found[k], chosen) for k, chosen in chunks]
        # Each piece starts from the survey alone, so that their order does not matter.
        everything = [one.copy() for one in found]
        for (k, chosen), settled in zip(chunks, in_order(self.executor, _settle, work), strict=True):
            _put_in(everything[k], settled, np.unique(whole[k].targets[chosen]), len(found[k].tables))
            self._advance(len(chosen))
        return everything

    def _from_parts(self, component: Component) -> ComponentFindings:
        """What ever larger parts of a component show, around targets that are still open.

        In a component that one program is not too large for, they must be small beside it, and a few of them show much.
        """
        found = initial_findings(component)
        is_large = len(component.low) > LARGE_COMPONENT_COLUMNS
        for size in (size for size in NEIGHBOURHOOD_SIZES if is_large or MIN_SIZE_RATIO * size <= len(component.low)):
            left = open_targets(component, found)
            if not is_large and len(left) > TRIAL_TARGETS:
                few = left[np.linspace(0, len(left) - 1, TRIAL_TARGETS).astype(np.int64)]
                self._settle_around(component, found, few, size, size)
                left = open_targets(component, found)
                if 2 * np.isin(few, left).sum() > TRIAL_TARGETS:
                    continue
            self._settle_around(
                component, found, left, size, SHARING_DIVISOR if size == NEIGHBOURHOOD_SIZES[0] else size
            )
        return found

    def _settle_around(
        self, component: Component, found: ComponentFindings, chosen: IntArray, size: int, share: int
    ) -> None:
        seen = self.done + len(component.targets) - len(open_targets(component, found))
        cut = neighbourhoods_of(component, chosen, size, share)
        for part, settled in zip(cut, in_order(self.executor, Neighbourhood.settle, cut), strict=True):
            add_findings(found, part, settled)
            seen += len(part.component.targets)
            self.progress.update(seen)

    def _advance(self, targets: int) -> None:
        self.done += targets
        self.progress.update(self.done)

    def _gather(
        self, targets: IntArray, reduced: PresolvedSystem, columns: list[IntArray], found: list[ComponentFindings]
    ) -> tuple[FloatArray, FloatArray, IntArray, list[Deviation]]:
        """From columns back to cells: how far each target moves, at least and at most, and the tables that show it."""
        n = len(reduced.low)
        # The last column stands for what does not move.
        (reach, edge), shown = np.zeros((2, 2, n + 1)), np.full((2, n + 1), -1)
        tables: list[Deviation] = []
        if self.certify:
            at = np.flatnonzero(reduced.column >= 0)
            members = at[np.argsort(reduced.column[at], kind="stable")]
            starts = np.searchsorted(reduced.column[members], np.arange(n + 1))
        for mine, one in zip(columns, found, strict=True):
            reach[:, mine], edge[:, mine] = one.reach, one.edge
            if self.certify:
                shown[:, mine] = np.where(one.shown >= 0, one.shown + len(tables), -1)
                for table in one.tables:
                    column = mine[table.cells]
                    many = starts[column + 1] - starts[column]
                    cells = members[np.repeat(starts[column] - np.cumsum(many) + many, many) + np.arange(many.sum())]
                    tables.append(Deviation(cells, reduced.sign[cells] * np.repeat(table.amount, many)))
        column = reduced.column[targets]
        turned = np.where(reduced.sign[targets] > 0, [[0], [1]], [[1], [0]])
        reach, edge = (far[turned, column] for far in (reach, edge))
        return reach, edge, shown[turned, column], tables


def _suffices(question: _Question, reach: FloatArray) -> BoolArray:
    """Whether moves so far down and up are enough."""
    *levels, sliding = question.required
    return np.asarray(reaches_level(reach, np.stack(levels)).all(axis=0) & reaches_level(reach.sum(axis=0), sliding))


def _joined(blocks: list[tuple[IntArray, sparse.csr_array]]) -> tuple[IntArray, sparse.csr_array]:
    """Components side by side, their columns in order."""
    members = np.concatenate([members for members, _ in blocks])
    relations = sparse.csr_array(sparse.block_diag([relations for _, relations in blocks], format="csr"))
    order = np.argsort(members)
    return members[order], sparse.csr_array(relations[:, order])


def _numbers(problem: Problem, cells: Sequence[int] | NDArray[np.integer]) -> IntArray:
    """Cells given by number. A mask of booleans would be taken for the numbers 0 and 1."""
    given = np.asarray(cells)
    if len(given) and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= len(problem)):
        raise InputError(
            f"cells= takes numbers of cells from 0 to {len(problem) - 1}; np.flatnonzero makes them of a mask."
        )
    return given.astype(np.int64)


def _survey(work: tuple[Component, ComponentFindings | None]) -> ComponentFindings:
    return survey(*work)


def _settle(work: tuple[Component, ComponentFindings, IntArray]) -> ComponentFindings:
    return settle(*work)


def _put_in(found: ComponentFindings, settled: ComponentFindings, columns: IntArray, surveyed: int) -> None:
    """Put what was settled about some columns into the findings about a component; of ``tables`` it has only new ones."""
    for name in ("reach", "edge"):
        getattr(found, name)[:, columns] = getattr(settled, name)[:, columns]
    shown = settled.shown[:, columns]
    found.shown[:, columns] = np.where(shown >= surveyed, shown + len(found.tables) - surveyed, shown)
    found.tables.extend(settled.tables)


def _tidy(value: FloatArray, cells: IntArray, move: FloatArray) -> FloatArray:
    """Where cells get to. A hair from a number as round as the table's own they are there: at 1262, not 1261.9999999928."""
    end, digits = value[cells] + move, digits_of(value)
    if digits is None:
        return end
    near = np.round(end, digits)
    hair = 1e-9 * np.abs(move) + np.minimum(4 * np.finfo(float).eps * np.abs(value[cells]), 1e-3 * 10.0**-digits)
    with np.errstate(invalid="ignore"):  # infinite ends stay what they are
        return np.where(np.abs(near - end) <= hair, near, end)
