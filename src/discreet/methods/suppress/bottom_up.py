"""A hierarchy from the bottom up: what can be protected within one table, then within a few, changing no total above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.executors import in_order
from discreet.inference.deviations import Deviation
from discreet.inference.max_flow import network
from discreet.methods.context import Run
from discreet.methods.suppress.pattern import Moves, Pattern
from discreet.methods.suppress.restrict import restrict
from discreet.methods.suppress.subtables import Subtable, subtables
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import suppress

BATCH = 64  # regions at a time: between two batches there is a look at the clock
LARGE = 10_000  # cells: programs of larger regions are no quicker than those of all cells


@dataclass(frozen=True, eq=False)
class _Region:
    """Cells that are in some tables and in no others, all of which are below one total."""

    problem: Problem
    cells: IntArray
    seed: int
    seconds: float | None  # to take at most


@dataclass(frozen=True, eq=False)
class _Found:
    """What to suppress in a region, which sensitive cells that does not protect, and moves that show it of the others."""

    suppressed: BoolArray
    stuck: IntArray
    moves: list[list[Deviation]]  # by attacker who matters there


def apart(problem: Problem, run: Run) -> tuple[BoolArray, Moves]:
    """Protect what can be protected without suppressing totals of the table it is in, or else of the next larger part.

    A move that changes no total of a region is one in the whole hierarchy as well: regions without common tables can be taken
    one by one, in any order or at the same time, by small programs. Most sensitive cells of a large hierarchy are protected
    that way in their own table. Those that nothing protects there, often its largest cells, come to the next region.
    What is suppressed is told, and moves that show which cells that protects, by attacker.
    """
    suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    if run.start is not None:
        suppressed |= run.start & (problem.status == Status.FREE)
    place = {who.name: number for number, who in enumerate(problem.attackers())}
    moves: list[list[Deviation]] = [[] for _ in place]
    # Flows are as quick in all of a hierarchy as in a part of it.
    tables = [] if network(problem.table.relations) is not None else subtables(problem.table.relations)
    if len(tables) < 2:
        return suppressed, moves
    stuck = problem.status == Status.PRIMARY
    if run.start is not None:  # what that protects is left as it is
        seen = audit(problem, suppress(problem, suppressed), intervals=False)
        stuck &= np.isin(np.arange(len(problem)), seen.cell[~seen.safe])
    regions = _Regions(problem, tables)
    run.progress.stage("tables", int(stuck.sum()))
    while not run.budget.over and (batch := regions.batch(stuck)):
        work = [_region(problem, suppressed, stuck, *one, run.seed, run.budget.left) for one in batch]
        for region, found in zip(work, in_order(run.executor, _protect, work), strict=True):
            cells = region.cells
            suppressed[cells] |= found.suppressed
            stuck[cells] = False
            stuck[cells[found.stuck]] = True
            for who, new in zip(region.problem.attackers(), found.moves, strict=True):
                moves[place[who.name]] += [Deviation(cells[move.cells], move.amount) for move in new]
        run.progress.update(int((~stuck[problem.primaries]).sum()), f"{int(suppressed.sum()):,} suppressed")
        run.keep(suppressed)
    return suppressed, moves


class _Regions:
    """The tables below each total, from the bottom up."""

    def __init__(self, problem: Problem, tables: Sequence[Subtable]) -> None:
        self.relations = problem.table.relations
        self.everywhere = np.diff(self.relations.tocsc().indptr)
        self.tables = tables
        self.home = np.full(len(problem), -1)  # the table that a cell is within, not in its margins
        for k, table in enumerate(tables):
            self.home[table.cells[(table.at > 0).all(axis=0)]] = k
        self.below = _below(tables, self.home)
        size = np.array([sum(len(tables[k].cells) for k in below) for below in self.below])
        self.left = [k for k in np.argsort(size, kind="stable").tolist() if len(self.below[k]) < len(tables)]

    def batch(self, stuck: BoolArray) -> list[tuple[IntArray, IntArray]]:
        """Cells and relations of the next regions that have something to protect and no table in common."""
        homes, busy = set(self.home[np.flatnonzero(stuck)].tolist()), set[int]()
        found, left = [], []
        for place, k in enumerate(self.left):
            below = self.below[k]
            if busy & below:  # those before it come first
                left.append(k)
            elif homes & below:
                region = self._closed(sorted(below))
                if len(region[0]) <= LARGE and stuck[region[0]].any():
                    found.append(region)
                    busy |= below
            if len(found) == BATCH:
                left += self.left[place + 1 :]
                break
        self.left = left
        return found

    def _closed(self, tables: list[int]) -> tuple[IntArray, IntArray]:
        """Cells whose relations are all in these tables, and those relations."""
        rows = np.unique(np.concatenate([self.tables[k].rows for k in tables]))
        cells, here = np.unique(self.relations[rows].indices, return_counts=True)
        return cells[here == self.everywhere[cells]], rows


def _below(tables: Sequence[Subtable], home: IntArray) -> list[set[int]]:
    """For each table, itself and all tables whose margins are within it or within one below it."""
    children: list[set[int]] = [set() for _ in tables]
    for k, table in enumerate(tables):
        margin = table.cells[(table.at == 0).sum(axis=0) == 1]
        for above in np.unique(home[margin]).tolist():
            if above not in (-1, k):
                children[above].add(k)
    below: list[set[int]] = []
    for k in range(len(tables)):
        reached, left = {k}, [k]
        while left:
            new = children[left.pop()] - reached
            reached |= new
            left += new
        below.append(reached)
    return below


def _region(
    problem: Problem,
    suppressed: BoolArray,
    stuck: BoolArray,
    cells: IntArray,
    rows: IntArray,
    seed: int,
    seconds: float | None,
) -> _Region:
    """What is protected already is only suppressed; what was suppressed for that stays so."""
    part = restrict(problem, cells, rows)
    done = suppressed[cells] & ~stuck[cells]
    status = np.where(done & (part.status != Status.PUBLISHED), Status.SUPPRESSED, part.status).astype(np.int8)
    return _Region(part.with_columns(status=status), cells, seed, seconds)


def _protect(region: _Region) -> _Found:
    pattern = Pattern(region.problem, region.seed, lenient=True)
    run = Run(region.seed, Budget(region.seconds))
    try:
        pattern.grow(run)
        suppressed, _ = pattern.trim(run)
    except NoSafePatternError:  # not in time
        suppressed = pattern.suppressed
    if run.budget.cancelled:
        raise KeyboardInterrupt
    return _Found(suppressed, pattern.lacking(), pattern.moves(suppressed))
