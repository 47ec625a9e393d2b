"""One attacker's side: whether widths let cells move as far as they must, and what stops them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import DOWN, SIGN, UP, BoolArray, FloatArray, IntArray
from discreet.methods.intervals.master import WidthCut
from discreet.methods.intervals.setting import Demand, IntervalSetting
from discreet.progress import Budget, OutOfTime
from discreet.solvers import new_model

PARTS = 2520  # multipliers of relations are simple fractions
NOISE = 1e-9  # of a multiplier
REACHED = 1e-8  # share of a level that may be missing


@dataclass(frozen=True, eq=False)
class ViolatedRequirement:
    """A demand that widths do not meet, and by how much of its level."""

    demand: Demand
    lacking: float


class WidthSeparator:
    """The programs of one attacker, over cells that widths let move."""

    def __init__(self, setting: IntervalSetting, number: int) -> None:
        self.s = setting
        self.room = setting.rooms[number]
        self.relations = setting.relations
        self.alone = np.bincount(self.relations.indices, minlength=self.relations.shape[1]) == 0
        self.whole = bool(np.all(self.relations.data == np.rint(self.relations.data)))

    def separate(
        self,
        z: FloatArray,
        demands: Sequence[Demand],
        budget: Budget | None = None,
        share: FloatArray | None = None,
        snug: bool = False,
    ) -> tuple[list[WidthCut], list[ViolatedRequirement]] | None:
        """Cuts that widths miss and the demands they do not meet; None if time was up.

        Of the room of settled cells only a ``share`` counts, if given, and where that is ``snug`` only as much of the room as is
        demanded: what is missed then makes good cuts of choices that are not whole, though it need not really be missed.
        """
        cuts, missed = [], []
        try:
            for unmet, rows, duals in self._unmet(z, demands, budget, share, snug):
                missed.append(unmet)
                cuts.append(self._cut(z, unmet.demand, rows, duals))
        except OutOfTime:
            return None
        return cuts, missed

    def meets(
        self, z: FloatArray, demands: Sequence[Demand], budget: Budget | None = None, share: FloatArray | None = None
    ) -> bool | None:
        """Whether widths meet all demands; None if time was up. The first that is missed settles it."""
        try:
            return next(self._unmet(z, demands, budget, share, False), None) is None
        except OutOfTime:
            return None

    def _unmet(
        self, z: FloatArray, demands: Sequence[Demand], budget: Budget | None, share: FloatArray | None, snug: bool
    ) -> Iterator[tuple[ViolatedRequirement, IntArray, list[FloatArray]]]:
        """The demands that widths do not meet, with relations and multipliers that show it; raises :class:`OutOfTime`."""
        room = self.room if share is None else self.room * share
        limit = np.where(self.s.settled, room, np.minimum(z, self.room))
        by_cell: dict[int, list[Demand]] = {}
        for demand in demands:
            by_cell.setdefault(demand.cell, []).append(demand)
        nothing = np.zeros(0, dtype=np.int64)
        for demand in (demand for cell in by_cell if self.alone[cell] for demand in by_cell[cell]):
            lacking = 1 - float(sum(limit[side, demand.cell] for side in demand.sides)) / demand.level
            if lacking > REACHED:  # in no relation: nothing but its width stops it
                yield ViolatedRequirement(demand, lacking), nothing, [np.zeros(0)] * len(demand.sides)
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
                for demand in by_cell[cell]:
                    reach, duals = program.reach(demand)
                    lacking = 1 - reach / demand.level
                    if lacking > REACHED:
                        yield ViolatedRequirement(demand, lacking), rows, duals

    def _cut(self, z: FloatArray, demand: Demand, rows: IntArray, duals: Sequence[FloatArray]) -> WidthCut:
        """What widths must add up to, as the multipliers of the relations tell; any multipliers tell the truth."""
        c = len(self.s.cells)
        total: dict[int, float] = {}
        stopped: dict[int, float] = {}
        for side, dual in zip(demand.sides, duals, strict=True):
            cells, pull = self._pulls(demand.cell, side, rows, dual)
            way = np.where(pull > 0, UP, DOWN)
            by_room = self.s.settled[cells] | (self.room[way, cells] < z[way, cells])
            amount = np.abs(pull) * self.room[way, cells]
            for cell, far in zip(cells[by_room].tolist(), amount[by_room].tolist(), strict=True):
                stopped[cell] = stopped.get(cell, 0.0) + far
            for column, weight in zip(
                (way * c + cells)[~by_room].tolist(), np.abs(pull)[~by_room].tolist(), strict=True
            ):
                total[column] = total.get(column, 0.0) + weight
        if len(demand.sides) == 1 and not stopped and not self.s.settled[demand.cell]:
            # Whoever stops a cell at some width stops it there whatever is demanded of it.
            own = demand.sides[0] * c + demand.cell
            total[own] = total.get(own, 0.0) - 1.0
            return WidthCut(*_columns(total), *_columns(stopped), 0.0, 0.0, demand.cell)
        return WidthCut(*_columns(total), *_columns(stopped), demand.level, demand.level, demand.cell)

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

    def reach(self, demand: Demand) -> tuple[float, list[FloatArray]]:
        """How far a cell gets, and the multipliers that stop it there, one set a side."""
        if len(self.part):
            snug = np.minimum(self.limit[:, self.part], self.share * demand.level)
            self.model.set_bounds(self.part, -snug[DOWN], snug[UP])
        far, duals = 0.0, []
        for side in demand.sides:
            self.model.set_cost(self.aim, np.zeros(1))
            self.aim = np.searchsorted(self.columns, [demand.cell])
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
