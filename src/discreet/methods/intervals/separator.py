"""One attacker's side: whether widths let cells move as far as they must, and what stops them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import DOWN, SIGN, UP, BoolArray, FloatArray, IntArray
from discreet.methods.intervals.master import WidthCut
from discreet.methods.intervals.setting import IntervalSetting, WidthRequirement
from discreet.progress import Budget, OutOfTime
from discreet.solvers import new_model

PARTS = 2520  # multipliers of relations are simple fractions
NOISE = 1e-9  # of a multiplier
REACHED = 1e-8  # share of a level that may be missing


@dataclass(frozen=True, eq=False)
class ViolatedRequirement:
    """A demand that widths do not meet, and by how much of its level."""

    requirement: WidthRequirement
    lacking: float


class WidthSeparator:
    """The programs of one attacker, over cells that widths let move."""

    def __init__(self, setting: IntervalSetting, number: int) -> None:
        self.s = setting
        self.slack = setting.slacks[number]
        self.relations = setting.relations
        self.alone = np.bincount(self.relations.indices, minlength=self.relations.shape[1]) == 0
        self.whole = bool(np.all(self.relations.data == np.rint(self.relations.data)))

    def separate(
        self,
        z: FloatArray,
        requirements: Sequence[WidthRequirement],
        budget: Budget | None = None,
        share: FloatArray | None = None,
        snug: bool = False,
    ) -> tuple[list[WidthCut], list[ViolatedRequirement]] | None:
        """Cuts that widths miss and the demands they do not meet; None if time was up.

        Of the slack of settled cells only a ``share`` counts, if given, and where that is ``snug`` only as much of it as is
        demanded: what is missed then makes good cuts of choices that are not whole, though it need not really be missed.
        """
        cuts, violated = [], []
        try:
            for unmet, rows, duals in self._unmet(z, requirements, budget, share, snug):
                violated.append(unmet)
                cuts.append(self._cut(z, unmet.requirement, rows, duals))
        except OutOfTime:
            return None
        return cuts, violated

    def meets(
        self,
        z: FloatArray,
        requirements: Sequence[WidthRequirement],
        budget: Budget | None = None,
        share: FloatArray | None = None,
    ) -> bool | None:
        """Whether widths meet all demands; None if time was up. The first that is missed settles it."""
        try:
            return next(self._unmet(z, requirements, budget, share, False), None) is None
        except OutOfTime:
            return None

    def _unmet(
        self,
        z: FloatArray,
        requirements: Sequence[WidthRequirement],
        budget: Budget | None,
        share: FloatArray | None,
        snug: bool,
    ) -> Iterator[tuple[ViolatedRequirement, IntArray, list[FloatArray]]]:
        """The demands that widths do not meet, with relations and multipliers that show it; raises :class:`OutOfTime`."""
        slack = self.slack if share is None else self.slack * share
        limit = np.where(self.s.settled, slack, np.minimum(z, self.slack))
        by_cell: dict[int, list[WidthRequirement]] = {}
        for requirement in requirements:
            by_cell.setdefault(requirement.cell, []).append(requirement)
        nothing = np.zeros(0, dtype=np.int64)
        for requirement in (requirement for cell in by_cell if self.alone[cell] for requirement in by_cell[cell]):
            lacking = 1 - float(sum(limit[side, requirement.cell] for side in requirement.sides)) / requirement.level
            if lacking > REACHED:  # in no relation: nothing but its width stops it
                yield ViolatedRequirement(requirement, lacking), nothing, [np.zeros(0)] * len(requirement.sides)
        asked = np.zeros(limit.shape[1], dtype=bool)
        asked[list(by_cell)] = True
        asked &= ~self.alone
        for columns, rows in _components(self.relations, np.asarray(limit.any(axis=0)), asked):
            program = _Program(self.relations, columns, rows, limit)
            if snug and share is not None:
                program.partly(np.flatnonzero(self.s.whole[columns]), share)
            for cell in columns[asked[columns]].tolist():
                if budget is not None and budget.over:
                    raise OutOfTime
                for requirement in by_cell[cell]:
                    reach, duals = program.reach(requirement)
                    lacking = 1 - reach / requirement.level
                    if lacking > REACHED:
                        yield ViolatedRequirement(requirement, lacking), rows, duals

    def _cut(
        self, z: FloatArray, requirement: WidthRequirement, rows: IntArray, duals: Sequence[FloatArray]
    ) -> WidthCut:
        """What widths must add up to, as the multipliers of the relations tell; any multipliers tell the truth."""
        c = len(self.s.cells)
        total: dict[int, float] = {}
        stopped: dict[int, float] = {}
        for side, dual in zip(requirement.sides, duals, strict=True):
            cells, pull = self._pulls(requirement.cell, side, rows, dual)
            way = np.where(pull > 0, UP, DOWN)
            by_slack = self.s.settled[cells] | (self.slack[way, cells] < z[way, cells])
            amount = np.abs(pull) * self.slack[way, cells]
            for cell, far in zip(cells[by_slack].tolist(), amount[by_slack].tolist(), strict=True):
                stopped[cell] = stopped.get(cell, 0.0) + far
            for column, weight in zip(
                (way * c + cells)[~by_slack].tolist(), np.abs(pull)[~by_slack].tolist(), strict=True
            ):
                total[column] = total.get(column, 0.0) + weight
        if len(requirement.sides) == 1 and not stopped and not self.s.settled[requirement.cell]:
            # Whoever stops a cell at some width stops it there whatever is demanded of it.
            own = requirement.sides[0] * c + requirement.cell
            total[own] = total.get(own, 0.0) - 1.0
            return WidthCut(*_columns(total), *_columns(stopped), 0.0, 0.0, requirement.cell)
        return WidthCut(*_columns(total), *_columns(stopped), requirement.level, requirement.level, requirement.cell)

    def _pulls(self, cell: int, side: int, rows: IntArray, dual: FloatArray) -> tuple[IntArray, FloatArray]:
        """By how much each cell helps the demanding one along, as the multipliers tell."""
        parts = np.rint(dual * PARTS)
        exact = self.whole and bool(np.all(np.abs(dual * PARTS - parts) < 1e-3))
        used = np.flatnonzero(parts if exact else dual)
        terms = sparse.csr_array(self.relations[rows[used]])
        cells = np.unique(np.append(terms.indices, cell))
        pull = np.zeros(len(cells))
        weight = (parts if exact else dual)[used]
        np.add.at(pull, np.searchsorted(cells, terms.indices), -terms.data * np.repeat(weight, np.diff(terms.indptr)))
        pull[np.searchsorted(cells, cell)] += SIGN[side] * (PARTS if exact else 1.0)
        pull = np.rint(pull) / PARTS if exact else np.where(np.abs(pull) < NOISE, 0.0, pull)
        return cells[pull != 0], pull[pull != 0]


def _columns(terms: dict[int, float]) -> tuple[IntArray, FloatArray]:
    columns = np.array(sorted(terms), dtype=np.int64)
    return columns, np.array([terms[column] for column in columns.tolist()])


class _Program:
    """Cells that can only move together, pushed in changing directions."""

    def __init__(self, relations: sparse.csr_array, columns: IntArray, rows: IntArray, limit: FloatArray) -> None:
        self.columns, self.limit = columns, limit[:, columns]
        self.part, self.share = np.zeros(0, dtype=np.int64), np.zeros(0)
        own = sparse.csr_array(relations[rows][:, columns])
        zero = np.zeros(len(rows))
        self.model = new_model("primal")
        self.model.load(np.zeros(len(columns)), -limit[DOWN, columns], limit[UP, columns], own, zero, zero)
        self.model.maximize(True)
        self.aim = np.zeros(1, dtype=np.int64)

    def partly(self, part: IntArray, share: FloatArray) -> None:
        """Of these columns no more counts than a share of what is demanded."""
        self.part, self.share = part, share[self.columns[part]]

    def reach(self, requirement: WidthRequirement) -> tuple[float, list[FloatArray]]:
        """How far a cell gets, and the multipliers that stop it there, one set a side."""
        if len(self.part):
            snug = np.minimum(self.limit[:, self.part], self.share * requirement.level)
            self.model.set_bounds(self.part, -snug[DOWN], snug[UP])
        far, duals = 0.0, []
        for side in requirement.sides:
            self.model.set_cost(self.aim, np.zeros(1))
            self.aim = np.searchsorted(self.columns, [requirement.cell])
            self.model.set_cost(self.aim, np.array([SIGN[side]]))
            solution = self.model.solve()
            if not solution.optimal:
                raise ArithmeticError(f"HiGHS could not solve an attacker's program: {solution.outcome.value}.")
            far += float(solution.objective)
            duals.append(solution.row_dual)
        return far, duals


def _components(
    relations: sparse.csr_array, moving: BoolArray, asked: BoolArray
) -> Iterator[tuple[IntArray, IntArray]]:
    """Columns and rows of cells that can only move together, where something is asked."""
    m, n = relations.shape
    if not m:
        return
    entries = relations.tocoo()
    kept = moving[entries.col]
    graph = sparse.csr_array((np.ones(kept.sum()), (entries.row[kept], m + entries.col[kept])), shape=(m + n, m + n))
    count, label = csgraph.connected_components(graph, directed=False)
    of_row, of_column = label[:m], label[m:]
    wanted = np.zeros(count, dtype=bool)
    wanted[of_column[asked]] = True
    rows, columns = np.argsort(of_row, kind="stable"), np.argsort(of_column, kind="stable")
    row_at = np.searchsorted(of_row[rows], np.arange(count + 1))
    column_at = np.searchsorted(of_column[columns], np.arange(count + 1))
    for k in np.flatnonzero(wanted).tolist():
        yield columns[column_at[k] : column_at[k + 1]], rows[row_at[k] : row_at[k + 1]]
