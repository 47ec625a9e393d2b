"""A hierarchy from the top down: one table without hierarchy at a time, and back where cells below had to be suppressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.audit import audit
from discreet.executors import in_order
from discreet.methods.context import Run
from discreet.methods.suppress.movers import movers
from discreet.methods.suppress.restrict import restrict
from discreet.methods.suppress.subtables import Subtable, subtables
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import suppress

VISITS = 4  # to one table; what is then still open is left to the end
MORE = 1 + 1e-6  # a need that grew by less is the same
HALF = 0.5  # of the time for single tables: what they lack together takes time, too
BATCH = 64  # tables that share no cell, at a time


@dataclass(frozen=True, eq=False)
class Subproblem:
    """One table: what is suppressed in it must be able to move as far as it does in others."""

    problem: Problem
    at: IntArray  # (breakdown, cell): where a cell is, 0 the total
    tables: IntArray  # how many tables a cell is in
    seed: int
    seconds: float | None  # to take at most


@dataclass(frozen=True, eq=False)
class Answer:
    """What to suppress in one table, and how far each suppressed cell moves to protect the others."""

    suppressed: BoolArray
    need: FloatArray  # (side, cell)


class Parts:
    """What is suppressed so far in all tables, and how far each suppressed cell must be able to move."""

    def __init__(self, problem: Problem, run: Run) -> None:
        self.problem, self.run = problem, run
        self.suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        if run.start is not None:
            self.suppressed |= run.start & (problem.status == Status.FREE)
        self.need = np.where(problem.status == Status.PRIMARY, np.stack([problem.lower, problem.upper]), 0.0)
        self.tables = subtables(problem.table.relations)
        self.holders: list[list[int]] = [[] for _ in range(len(problem))]
        for k, table in enumerate(self.tables):
            for cell in table.cells.tolist():
                self.holders[cell].append(k)
        self.visits = np.zeros(len(self.tables), dtype=np.int64)
        self.dirty = np.array([bool(self.suppressed[table.cells].any()) for table in self.tables], dtype=bool)
        if run.start is not None and audit(problem, suppress(problem, self.suppressed), intervals=False).passed:
            self.dirty[:] = False  # tables by themselves would only suppress more

    def protect(self, solve: Callable[[Subproblem], Answer | None], budget: Budget) -> None:
        """Visit tables until each has what its suppressed cells need, several at a time where they share no cell."""
        progress = self.run.progress
        progress.stage("tables", len(self.tables))
        while self.dirty.any() and not budget.over:
            batch = list(self._batch())
            left = None if budget.left is None else budget.left / len(batch)
            answers = in_order(self.run.executor, solve, [self._part(self.tables[k], left) for k in batch])
            for k, answer in zip(batch, answers, strict=True):
                self.dirty[k] = False
                self.visits[k] += 1
                if answer is not None:
                    self._take(k, answer)
            self.dirty &= self.visits < VISITS
            progress.update(int((~self.dirty).sum()), f"{int(self.suppressed.sum()):,} suppressed")
            self.run.keep(self.suppressed)

    def _batch(self) -> Iterator[int]:
        """The first tables that have to be visited, of those that share no cell."""
        taken, size = np.zeros(len(self.problem), dtype=bool), 0
        for k in np.flatnonzero(self.dirty).tolist():
            cells = self.tables[k].cells
            if size < BATCH and not taken[cells].any():
                yield k
                size += 1
            taken[cells] = True  # those above come first

    def _part(self, table: Subtable, seconds: float | None) -> Subproblem:
        cells = table.cells
        part = restrict(self.problem, cells, table.rows)
        suppressed = self.suppressed[cells]
        need = np.where(suppressed, self.need[:, cells], 0.0)
        extra = np.vstack([need, np.zeros(len(cells))])
        others = [
            who if who.levels is None else replace(who, levels=np.maximum(who.levels, extra)) for who in part.others
        ]
        part = part.with_columns(
            status=np.where(suppressed & (part.status == Status.FREE), Status.PRIMARY, part.status),
            lower=np.maximum(part.lower, need[DOWN]),
            upper=np.maximum(part.upper, need[UP]),
            others=tuple(others),
        )
        tables = np.array([len(self.holders[cell]) for cell in cells.tolist()])
        return Subproblem(part, table.at, tables, self.run.seed, seconds)

    def _take(self, k: int, answer: Answer) -> None:
        """Hide what was found; other tables of cells that are new, or must move farther, have to be visited."""
        cells = self.tables[k].cells
        old = self.need[:, cells]
        more = (answer.suppressed & ~self.suppressed[cells]) | (answer.need > old * MORE).any(axis=0)
        self.suppressed[cells] |= answer.suppressed
        self.need[:, cells] = np.maximum(old, answer.need)
        for cell in cells[more].tolist():
            for other in self.holders[cell]:
                self.dirty[other] |= other != k


def needs(part: Subproblem, suppressed: BoolArray) -> FloatArray:
    """How far suppressed cells move where each protected one moves by its level; rather those that are in no other table."""
    problem = part.problem
    need = np.zeros((2, len(problem)))
    found = movers(problem, suppressed, part.tables.astype(float), part.seed)
    for who, mover in zip(problem.attackers(), found, strict=True):
        lower, upper, _ = problem.levels(who)
        for p in np.flatnonzero(problem.protected(who, suppressed)).tolist():
            for side, level in ((DOWN, lower[p]), (UP, upper[p])):
                move = mover.move(p, side, float(level)) if level > 0 else None
                if move is not None:
                    need[UP, move.cells] = np.maximum(need[UP, move.cells], move.amount)
                    need[DOWN, move.cells] = np.maximum(need[DOWN, move.cells], -move.amount)
    return need
