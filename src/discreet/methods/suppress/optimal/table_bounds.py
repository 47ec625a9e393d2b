"""A lower bound on the cost of all safe patterns, from linear programs of single tables: also for a million cells.

The linear relaxation of Fischetti & Salazar-González (2000) has a cut for each way in which a pattern may be too small. Here
only cuts within single tables of a hierarchy are used. Its dual program is solved by block coordinate ascent: the cost of a cell
is divided among the tables that contain it, each table maximizes its own bound, and the cost that it leaves is for the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference.cut_proofs import BridgelessProof, CapacityProof, CutProof
from discreet.inference.max_flow import network
from discreet.inference.subtables import Subtable, restrict, subtables
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal.cuts import BridgelessInequalities
from discreet.methods.suppress.optimal.master import COSTLIEST_CELL, PatternMaster
from discreet.methods.suppress.optimal.separator import PatternSeparator
from discreet.problem import Problem, Status
from discreet.progress import Budget

ROUNDS_PER_SWEEP = 8  # of cuts per table: the other tables change what it should do
MIN_SWEEP_PROGRESS = 1e-3  # share of the bound by which a sweep over all tables must raise it; else the ascent ends
FEW_CUTS = 5  # if the requirements violated before give no more, all requirements are checked
MAX_TABLE_CELLS = 2_000  # in larger tables the deviation of one cell takes too long; their slices are used instead


class TableBounds:
    """The tables of a problem, each with its cuts, and how the cost of each cell is divided among them."""

    def __init__(self, problem: Problem, run: Run) -> None:
        self.run = run
        self.is_free = problem.status == Status.FREE
        self.forced_cost = float(problem.cost[np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))].sum())
        self.unit = float(problem.cost[self.is_free].max(initial=0.0)) / COSTLIEST_CELL or 1.0
        self.left = np.where(self.is_free, problem.cost / self.unit, 0.0)  # of the cost, after all tables
        self.tables: list[_TableProgram] = []
        for cells, rows in _tables(problem):
            if run.budget.over:
                return
            if np.any(problem.status[cells] == Status.PRIMARY):
                table = _TableProgram(problem, cells, rows, run.seed)
                if table.has_requirements:
                    self.tables.append(table)

    @property
    def bound(self) -> float:
        required = sum(table.required for table in self.tables)
        return max((required + float(np.minimum(self.left, 0.0).sum())) * self.unit, 0.0) + self.forced_cost

    def climb(self, max_sweeps: float = np.inf) -> None:
        """Sweep over all tables until the bound rises too little; in the first sweep each leaves a share to those after it."""
        tables_left = np.zeros(len(self.left))
        for table in self.tables:
            tables_left[table.cells] += 1
        before, sweep = -np.inf, 0
        while not self.run.budget.over and sweep < max_sweeps:
            self.run.progress.stage("bound", len(self.tables))
            for done, table in enumerate(self.tables, start=1):
                if self.run.budget.over:
                    return
                own = self.left[table.cells] + table.used
                share = 1 / tables_left[table.cells] if not sweep else 1.0
                table.maximize(np.where(own > 0, own * share, own), self.run.budget)
                self.left[table.cells] = own - table.used
                tables_left[table.cells] -= not sweep
                self.run.progress.update(done)
            sweep += 1
            if self.bound - before < MIN_SWEEP_PROGRESS * self.bound:
                break
            before = self.bound

    def cuts(self) -> Iterator[tuple[Cut, float]]:
        """All cuts with a multiplier, which is in units of cost."""
        for table in self.tables:
            for cut, multiplier in table.cuts():
                yield cut, multiplier * self.unit


def _tables(problem: Problem) -> Iterator[tuple[IntArray, IntArray]]:
    """The cells and relations of each table; of large ones of three and more dimensions those of its slices."""
    relations = problem.table.relations
    for table in subtables(relations):
        if len(table.cells) <= MAX_TABLE_CELLS or network(sparse.csr_array(relations[table.rows])) is not None:
            yield table.cells, table.rows
        else:
            yield from _slices(relations, table)


def _slices(relations: sparse.csr_array, table: Subtable) -> Iterator[tuple[IntArray, IntArray]]:
    """The cells at each position of each dimension, with the relations among them."""
    within = sparse.csr_array(relations[table.rows])
    length = np.diff(within.indptr)
    for positions in table.at:
        for at in range(int(positions.max()) + 1):
            inside = np.zeros(relations.shape[1], dtype=bool)
            inside[table.cells[positions == at]] = True
            complete = within.astype(bool).astype(np.int64) @ inside == length
            yield table.cells[positions == at], table.rows[complete]


class _TableProgram:
    """The linear program over the cuts of one table."""

    def __init__(self, problem: Problem, cells: IntArray, rows: IntArray, seed: int) -> None:
        part = restrict(problem, cells, rows)
        self._in_all, self._rows = cells, rows
        forced = np.isin(part.status, (Status.PRIMARY, Status.SUPPRESSED))
        self._separators = [PatternSeparator(part, attacker, proves=True) for attacker in part.attackers()]
        for separator in self._separators:  # other levels are required only of patterns that suppress the cell
            separator.requirements = [one for one in separator.requirements if forced[one.cell]]
        with_slack = np.any([separator.slack.any(axis=0) for separator in self._separators], axis=0)
        free = (part.status == Status.FREE) & with_slack
        self._bridgeless = BridgelessInequalities(part.table.relations, free, forced)
        self._master = PatternMaster(part.cost, free, forced, seed)
        self.cells = cells[self._master.columns]
        self._multipliers = np.zeros(0)  # of the cuts known at the last solution
        self.has_requirements = any(separator.requirements for separator in self._separators) and len(self.cells) > 0
        self._master.add([cut for separator in self._separators for cut in separator.plain_cuts()])

    @property
    def used(self) -> FloatArray:
        """What the table uses of the cost of each of its cells."""
        return self._master.used(self._multipliers)

    @property
    def required(self) -> float:
        """The bound of the table, before what it uses beyond the cost of cells is subtracted."""
        return self._master.required(self._multipliers)

    def maximize(self, cost: FloatArray, budget: Budget) -> None:
        """Choose the multipliers that give the largest bound at these costs, with a few rounds of further cuts."""
        self._master.set_cost(cost)
        everything = [separator.requirements for separator in self._separators]
        required = everything  # requirements met by the last solution are mostly met by the next one, too
        for k in range(ROUNDS_PER_SWEEP + 1):
            relaxed = self._master.relax()
            if relaxed is None:  # no pattern of the table is safe
                return
            self._multipliers = relaxed.multipliers
            if k == ROUNDS_PER_SWEEP or budget.over:
                return
            if self._master.activate_violated(relaxed.x):
                continue
            found = [one.cuts(relaxed.x, here) for one, here in zip(self._separators, required, strict=True)]
            cuts = [cut for here, _ in found for cut in here]
            if self._master.add(cuts + self._bridgeless.cuts(relaxed.x)):
                required = [violated for _, violated in found] if len(cuts) > FEW_CUTS else everything
            elif required is everything:
                return
            else:
                required = everything

    def cuts(self) -> Iterator[tuple[Cut, float]]:
        """The cuts with a multiplier, as cuts of the complete problem."""
        for k in np.flatnonzero(self._multipliers).tolist():
            cut = self._master.cuts[k]
            proof = None if cut.proof is None else self._in_problem(cut.proof)
            yield replace(cut, columns=self._in_all[cut.columns], proof=proof), float(self._multipliers[k])

    def _in_problem(self, proof: CutProof) -> CutProof:
        if isinstance(proof, BridgelessProof):
            return BridgelessProof(int(self._in_all[proof.cell]), int(self._rows[proof.relation]))
        multipliers = tuple((self._rows[rows], values) for rows, values in proof.multipliers)
        cover = None if proof.cover is None else self._in_all[np.asarray(proof.cover)]
        return CapacityProof(proof.attacker, int(self._in_all[proof.cell]), proof.sides, multipliers, cover)
