"""Where a published table leaves a cell too little slack, and what every safe one must fulfil instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.audit import Audit
from discreet.errors import NoSafePatternError, some
from discreet.inference.integer_system import integer_weights
from discreet.methods.perturbation.windows import Windows
from discreet.problem import Status
from discreet.solvers import new_model

PARTS = 2520  # multipliers are nearly always simple fractions, of which this is a common denominator
NOISE = 1e-9  # of a pull: beside endless slack it would count without end
AMPLE = 1e6  # this many levels of slack are as good as endless
LEAST = 1e-7  # share of a level that may be missing
HAIR = 1e-6  # share of a level that solvers can tell
SIDES = (-1.0, 1.0)


@dataclass(frozen=True, eq=False)
class TableCut:
    """``weight`` times the changes of ``cells``, in units, adds up to at least ``least``."""

    cells: IntArray
    weight: FloatArray
    least: float

    def lacking(self, change: FloatArray) -> float:
        return self.least - float(self.weight @ change[self.cells])


class TableSeparator:
    """One attacker: how far cells move, by one linear program that changes a little from question to question.

    The cut is the capacity constraint of figure 13 in Salazar-González (2002). Of the two bounds that stop a cell, what the
    attacker knows and what is told, it takes the one that stops it now.
    """

    def __init__(self, windows: Windows, attacker: Attacker) -> None:
        self.windows, self.attacker = windows, attacker
        relations = integer_weights(windows.problem.table.relations)
        self._transposed = sparse.csr_array(relations.T)
        n, zero = relations.shape[1], np.zeros(relations.shape[0])
        self._columns = np.arange(n)
        self._model = new_model("primal")
        self._model.load(np.zeros(n), np.zeros(n), np.zeros(n), relations, zero, zero)
        self._model.maximize(True)

    def cuts(self, change: IntArray, cells: IntArray, required: FloatArray) -> Iterator[TableCut]:
        """What is missed of the levels of some cells; one column of ``required`` a cell: down, up and in all."""
        value = self.windows.problem.table.value
        lower, upper = self.windows.intervals(self.windows.published(change))
        suppressed = self.windows.problem.status == Status.SUPPRESSED
        lower, upper = np.where(suppressed, -np.inf, lower), np.where(suppressed, np.inf, upper)
        slack = np.stack(
            [value - np.maximum(lower, self.attacker.lower), np.minimum(upper, self.attacker.upper) - value]
        )
        slack = np.maximum(slack, 0.0)
        knows = np.stack([self.attacker.lower >= lower, self.attacker.upper <= upper])
        for cell, (down, up, sliding) in zip(cells.tolist(), required.T.tolist(), strict=True):
            found = {side: self._push(cell, side, slack, max(down, up, sliding)) for side in SIDES}
            for sides, level in (((-1.0,), down), ((1.0,), up), (SIDES, sliding)):
                if sum(found[side][0] for side in sides) >= level * (1 - LEAST):
                    continue
                pull = [found[side][1] for side in sides]
                cut = self._cut(pull, slack, knows, level)
                short = cut.lacking(change.astype(float))
                # Where float noise suppresses what is lacking, ask for slightly more.
                yield cut if short > HAIR else TableCut(cut.cells, cut.weight, cut.least - short + HAIR)

    def _push(self, cell: int, side: float, slack: FloatArray, level: float) -> tuple[float, FloatArray]:
        """How far a cell gets, and how hard each cell stops it: positive where its upper bound does."""
        far = np.minimum(slack / level, AMPLE)
        self._model.set_bounds(self._columns, -far[0], far[1])
        self._model.set_cost(np.array([cell]), np.array([side]))
        solution = self._model.solve()
        self._model.set_cost(np.array([cell]), np.zeros(1))
        if not solution.optimal:
            label = self.windows.problem.table.label(cell)
            raise NoSafePatternError(
                f"The solver gave up on the protection of {some([label])}. Try another method.", [label]
            )
        parts = np.rint(solution.row_dual * PARTS)
        near = np.all(np.abs(solution.row_dual * PARTS - parts) < 1e-3)
        pull = -(self._transposed @ (parts if near else solution.row_dual * PARTS)) / PARTS
        pull[cell] += side
        pull[np.abs(pull) < NOISE] = 0.0
        return solution.objective * level, pull

    def _cut(self, pulls: list[FloatArray], slack: FloatArray, knows: BoolArray, level: float) -> TableCut:
        """Slacks that stop the cell must add up to its level: ``UB`` or ``d + r`` above, ``LB`` or ``r − d`` below."""
        windows = self.windows
        value = windows.problem.table.value
        weight, fixed = np.zeros(len(value)), 0.0
        far = windows.reach(value)  # without any change; with one of d it is slope · d more
        for pull in pulls:
            at = np.flatnonzero(pull)
            up, size = pull[at] > 0, np.abs(pull[at])
            known = np.where(up, knows[1, at], knows[0, at])
            own = np.where(up, slack[1, at], slack[0, at])
            fixed += float((size * np.where(known, own, far[at])).sum())
            weight[at] += np.where(known, 0.0, size * np.where(up, 1.0 + windows.slope[at], windows.slope[at] - 1.0))
        cells = np.flatnonzero(weight)
        # In units of the level, so that cuts are alike.
        return TableCut(cells, weight[cells] * windows.unit / level, 1.0 - fixed / level)


def violated(
    windows: Windows, checked: Audit, change: IntArray, separators: dict[str, TableSeparator]
) -> list[TableCut]:
    """Cuts for all cells that an audit found exposed."""
    cuts: list[TableCut] = []
    for k, who in enumerate(windows.problem.attackers()):
        rows = np.flatnonzero((checked.attacker == k) & ~checked.safe)
        if len(rows):
            if who.name not in separators:
                separators[who.name] = TableSeparator(windows, who)
            cuts += separators[who.name].cuts(change, checked.cell[rows], checked.required[:, rows])
    return cuts
