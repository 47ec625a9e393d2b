"""The method ``kelly``: a deviation per sensitive cell, in hierarchies from the bottom up, then a clean-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.executors import in_order
from discreet.inference.deviations import Deviation
from discreet.inference.max_flow import network
from discreet.inference.subtables import Subtable, restrict, subtables
from discreet.methods.check import exposed_cells
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import DeviationsByAttacker, Pattern, completed
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection, suppress

MAX_REGIONS_PER_BATCH = 64  # the time limit is checked between batches
MAX_REGION_CELLS = 10_000  # programs of larger regions are no faster than those of all cells


@dataclass(frozen=True)
class Kelly:
    """Kelly, Golden & Assad (1992), as restated by Serpell et al. (2013).

    The primaries are protected one by one, the one with the largest requirement first: the cheapest deviation by its level is
    found, and every cell that deviates is suppressed. Cells that are suppressed already cost nothing. A deviation often shows
    other primaries to be safe as well; these need no deviation of their own. If relations form a network, as in tables of two
    dimensions with at most one hierarchy, deviations are flows along cheapest paths, otherwise solutions of linear programs.
    """

    name = "kelly"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        suppressed, deviations = protected_by_regions(problem, run)
        return completed(problem, self.name, run.with_start(suppressed), deviations)


def protected_by_regions(problem: Problem, run: Run) -> tuple[BoolArray, DeviationsByAttacker]:
    """Suppress cells region by region. A region is a single table with all tables below it.

    In a region only cells without other relations deviate, so a deviation in it is also a deviation of the complete hierarchy.
    Regions without common tables are solved by small programs, in any order or at the same time. Most sensitive cells of a
    large hierarchy are protected within their own table. Those that cannot be, often its largest cells, are left to the next
    larger region. Returns the suppressed cells and, per attacker, the deviations that protect sensitive cells.
    """
    suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
    if run.start is not None:
        suppressed |= run.start & (problem.status == Status.FREE)
    deviations: dict[str, list[Deviation]] = {attacker.name: [] for attacker in problem.attackers()}
    # Flows are as fast in a complete hierarchy as in a part of it.
    tables = [] if network(problem.table.relations) is not None else subtables(problem.table.relations)
    if len(tables) < 2:
        return suppressed, list(deviations.values())
    unprotected = problem.status == Status.PRIMARY
    if run.start is not None:  # cells that the starting pattern protects need no further protection
        exposed = exposed_cells(problem, suppress(problem, suppressed))
        unprotected &= np.isin(np.arange(len(problem)), exposed)
    regions = _Regions(problem, tables)
    run.progress.stage("tables", int(unprotected.sum()))
    while not run.budget.over and (batch := regions.batch(unprotected)):
        parts = [_region(problem, suppressed, unprotected, cells, rows) for cells, rows in batch]
        work = [(part, run.seed, run.budget.left) for part in parts]
        for (cells, _), part, found in zip(batch, parts, in_order(run.executor, _protect, work), strict=True):
            pattern, not_protected, by_attacker = found
            suppressed[cells] |= pattern
            unprotected[cells] = False
            unprotected[cells[not_protected]] = True
            for attacker, new in zip(part.attackers(), by_attacker, strict=True):
                deviations[attacker.name] += [Deviation(cells[one.cells], one.amount) for one in new]
        run.progress.update(int((~unprotected[problem.primaries]).sum()), f"{int(suppressed.sum()):,} suppressed")
        run.keep(suppressed)
    return suppressed, list(deviations.values())


class _Regions:
    """The regions of a hierarchy, each a table with all tables below it; small ones first."""

    def __init__(self, problem: Problem, tables: Sequence[Subtable]) -> None:
        self.relations = problem.table.relations
        self.n_relations = np.diff(self.relations.tocsc().indptr)
        self.tables = tables
        self.home = np.full(len(problem), -1)  # the table that has the cell in its interior
        for k, table in enumerate(tables):
            self.home[table.cells[(table.at > 0).all(axis=0)]] = k
        self.below = _below(tables, self.home)
        size = np.array([sum(len(tables[k].cells) for k in below) for below in self.below])
        # The tables whose regions are not solved yet; the region of all tables is left out.
        self.left = [k for k in np.argsort(size, kind="stable").tolist() if len(self.below[k]) < len(tables)]

    def batch(self, unprotected: BoolArray) -> list[tuple[IntArray, IntArray]]:
        """The cells and relations of the next regions: they contain unprotected cells, and have no table in common."""
        homes, busy = set(self.home[np.flatnonzero(unprotected)].tolist()), set[int]()
        found, left = [], []
        for place, k in enumerate(self.left):
            below = self.below[k]
            if busy & below:  # it shares a table with a region of this batch, and waits for the next batch
                left.append(k)
            elif homes & below:
                region = self._closed(sorted(below))
                if len(region[0]) <= MAX_REGION_CELLS and unprotected[region[0]].any():
                    found.append(region)
                    busy |= below
            if len(found) == MAX_REGIONS_PER_BATCH:
                left += self.left[place + 1 :]
                break
        self.left = left
        return found

    def _closed(self, tables: list[int]) -> tuple[IntArray, IntArray]:
        """Cells whose relations are all in these tables, and those relations."""
        rows = np.unique(np.concatenate([self.tables[k].rows for k in tables]))
        cells, n_inside = np.unique(self.relations[rows].indices, return_counts=True)
        return cells[n_inside == self.n_relations[cells]], rows


def _below(tables: Sequence[Subtable], home: IntArray) -> list[set[int]]:
    """Per table, itself and the tables below it: their margins are in its interior, or in that of a table below it."""
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
    problem: Problem, suppressed: BoolArray, unprotected: BoolArray, cells: IntArray, rows: IntArray
) -> Problem:
    """The problem of a region; suppressed cells that need no further protection have the status ``SUPPRESSED``."""
    part = restrict(problem, cells, rows)
    done = suppressed[cells] & ~unprotected[cells]
    status = np.where(done & (part.status != Status.PUBLISHED), Status.SUPPRESSED, part.status).astype(np.int8)
    return part.with_columns(status=status)


def _protect(work: tuple[Problem, int, float | None]) -> tuple[BoolArray, IntArray, DeviationsByAttacker]:
    """The pattern in a region, the sensitive cells that it does not protect, and deviations that protect the others."""
    problem, seed, seconds = work
    pattern, run = Pattern(problem, seed, lenient=True), Run(seed, Budget(seconds))
    try:
        pattern.grow(run)
        suppressed, _ = pattern.trim(run)
    except NoSafePatternError:  # the time was too short
        suppressed = pattern.suppressed
    if run.budget.cancelled:
        raise KeyboardInterrupt
    return suppressed, pattern.unprotected(), pattern.deviations(suppressed)
