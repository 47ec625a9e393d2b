"""A hierarchy from the top down, one table without hierarchy at a time; tables are visited again if their cells change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.executors import in_order
from discreet.inference.subtables import Subtable, restrict, subtables
from discreet.methods.check import is_safe
from discreet.methods.context import Run
from discreet.methods.suppress.deviation_search import deviation_searches
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import suppress

MAX_VISITS_PER_TABLE = 4  # requirements still open then are left to the step for all tables together
MIN_GROWTH = 1 + 1e-6  # a table is not visited again for a need that grew by a smaller factor
TABLES_TIME_SHARE = 0.5  # of the time for single tables; the step for all tables together takes time, too
MAX_TABLES_PER_BATCH = 64  # the time limit is checked between batches


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One table, whose levels include the changes that its suppressed cells need for the protection of other tables."""

    problem: Problem
    at: IntArray  # (breakdown, cell): position of a cell, 0 for the total
    tables: IntArray  # per cell the number of tables that contain it
    seed: int
    seconds: float | None  # time limit


@dataclass(frozen=True, eq=False)
class Answer:
    """The pattern of one table, and the largest change of each suppressed cell in the deviations that protect the others."""

    suppressed: BoolArray
    need: FloatArray  # (side, cell)


class TopDown:
    """The cells suppressed so far in all tables, and the changes of each suppressed cell that other cells need."""

    def __init__(self, problem: Problem, run: Run) -> None:
        self.problem, self.run = problem, run
        self.suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        if run.start is not None:
            self.suppressed |= run.start & (problem.status == Status.FREE)
        self.need = np.where(problem.status == Status.PRIMARY, np.stack([problem.lower, problem.upper]), 0.0)
        self.tables = subtables(problem.table.relations)
        self.tables_of: list[list[int]] = [[] for _ in range(len(problem))]
        for k, table in enumerate(self.tables):
            for cell in table.cells.tolist():
                self.tables_of[cell].append(k)
        self.visits = np.zeros(len(self.tables), dtype=np.int64)
        self.is_due = np.array([bool(self.suppressed[table.cells].any()) for table in self.tables], dtype=bool)
        if run.start is not None and is_safe(problem, suppress(problem, self.suppressed)):
            self.is_due[:] = False  # single tables would only suppress more cells

    def protect(self, solve: Callable[[Subproblem], Answer | None], budget: Budget) -> None:
        """Visit tables until each meets the needs of its suppressed cells; tables without common cells at the same time."""
        progress = self.run.progress
        progress.stage("tables", len(self.tables))
        while self.is_due.any() and not budget.over:
            batch = list(self._batch())
            left = None if budget.left is None else budget.left / len(batch)
            answers = in_order(self.run.executor, solve, [self._part(self.tables[k], left) for k in batch])
            for k, answer in zip(batch, answers, strict=True):
                self.is_due[k] = False
                self.visits[k] += 1
                if answer is not None:
                    self._take(k, answer)
            self.is_due &= self.visits < MAX_VISITS_PER_TABLE
            progress.update(int((~self.is_due).sum()), f"{int(self.suppressed.sum()):,} suppressed")
            self.run.keep(self.suppressed)

    def _batch(self) -> Iterator[int]:
        """The first tables to visit that have no common cells."""
        taken, size = np.zeros(len(self.problem), dtype=bool), 0
        for k in np.flatnonzero(self.is_due).tolist():
            cells = self.tables[k].cells
            if size < MAX_TABLES_PER_BATCH and not taken[cells].any():
                yield k
                size += 1
            taken[cells] = True  # also if not chosen: tables above come first

    def _part(self, table: Subtable, seconds: float | None) -> Subproblem:
        cells = table.cells
        part = restrict(self.problem, cells, table.rows)
        suppressed = self.suppressed[cells]
        need = np.where(suppressed, self.need[:, cells], 0.0)
        extra = np.vstack([need, np.zeros(len(cells))])
        others = [
            one if one.levels is None else replace(one, levels=np.maximum(one.levels, extra)) for one in part.others
        ]
        part = part.with_columns(
            status=np.where(suppressed & (part.status == Status.FREE), Status.PRIMARY, part.status),
            lower=np.maximum(part.lower, need[DOWN]),
            upper=np.maximum(part.upper, need[UP]),
            others=tuple(others),
        )
        tables = np.array([len(self.tables_of[cell]) for cell in cells.tolist()])
        return Subproblem(part, table.at, tables, self.run.seed, seconds)

    def _take(self, k: int, answer: Answer) -> None:
        """Add the pattern of a table; other tables with cells that are new or need larger changes become due."""
        cells = self.tables[k].cells
        old = self.need[:, cells]
        more = (answer.suppressed & ~self.suppressed[cells]) | (answer.need > old * MIN_GROWTH).any(axis=0)
        self.suppressed[cells] |= answer.suppressed
        self.need[:, cells] = np.maximum(old, answer.need)
        for cell in cells[more].tolist():
            for other in self.tables_of[cell]:
                self.is_due[other] |= other != k


def needs(part: Subproblem, suppressed: BoolArray) -> FloatArray:
    """The largest changes of suppressed cells in deviations for each level; cells in few tables are preferred."""
    problem = part.problem
    need = np.zeros((2, len(problem)))
    found = deviation_searches(problem, suppressed, part.tables.astype(float), part.seed)
    for attacker, search in zip(problem.attackers(), found, strict=True):
        lower, upper, _ = problem.levels(attacker)
        for p in np.flatnonzero(problem.protected(attacker, suppressed)).tolist():
            for side, level in ((DOWN, lower[p]), (UP, upper[p])):
                deviation = search.move(p, side, float(level)) if level > 0 else None
                if deviation is not None:
                    cells, amount = deviation.cells, deviation.amount
                    need[UP, cells] = np.maximum(need[UP, cells], amount)
                    need[DOWN, cells] = np.maximum(need[DOWN, cells], -amount)
    return need
