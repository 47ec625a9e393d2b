"""Tables of counts: a reader who knows that all cells are whole numbers infers more than linear programs say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from discreet.attackers import Attacker
from discreet.audit import tolerances
from discreet.audit.audit import Audit
from discreet.audit.congruent import components
from discreet.audit.flow import network
from discreet.audit.known import against, limits
from discreet.audit.propagate import propagate
from discreet.errors import TableError, some
from discreet.problem import BoolArray, Status
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.relations import FloatArray
from discreet.solvers import HighsModel, Outcome

NEAR = 1e-6  # how far from a whole number a number may be and still be meant as one
ROUNDS = 30  # of rounding; bounds that creep on for longer are left to the programs
DOWN, UP = 0, 1
SIGN = (-1.0, 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class IntegerAudit:
    """An audit against readers who know that every cell is a whole number; one entry for each of the audit's.

    The bounds are the lowest and highest value of the cell in any *whole* table that agrees with what is published and known
    beforehand, which may be fewer tables than the linear programs consider.
    """

    checked: Audit
    lower: FloatArray
    upper: FloatArray
    safe: BoolArray

    def __repr__(self) -> str:
        verdict = "safe" if self.passed else f"{len(self.exposed):,} of {len(np.unique(self.cell)):,} cells exposed"
        return f"IntegerAudit({verdict}, {self.differs.sum():,} intervals narrower than without whole numbers)"

    @property
    def cell(self) -> NDArray[np.int64]:
        return self.checked.cell

    @property
    def passed(self) -> bool:
        return bool(self.safe.all())

    @property
    def exposed(self) -> list[str]:
        """Labels of cells that can be inferred too closely."""
        return self.checked.problem.table.labels(np.unique(self.checked.cell[~self.safe]))

    @property
    def differs(self) -> BoolArray:
        """Where knowing that cells are whole narrows the interval."""
        return (self.lower > self.checked.lower + NEAR) | (self.upper < self.checked.upper - NEAR)

    def frame(self) -> pd.DataFrame:
        """The audit's data frame with these bounds and verdicts. Confidential."""
        columns = {"lower": self.lower, "upper": self.upper, "safe": self.safe, "differs": self.differs}
        return self.checked.frame().assign(**columns)


def whole(
    checked: Audit,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    progress: Progress | None = None,
) -> IntegerAudit:
    """Narrow the exact intervals of an audit to what whole tables allow.

    ``attackers`` are those the audit was made with, if it was not made with the problem's own.
    """
    progress = progress or Silent()
    problem = checked.problem
    whom = against(problem, attackers)
    if not checked.exact:
        raise TableError("Whole numbers narrow exact intervals: audit with intervals=True.")
    if checked.protection != protection.digest or checked.knowledge != tuple(who.digest for who in whom):
        raise TableError("The audit is about another protection or other attackers. Audit this protection first.")
    value = np.round(problem.table.value)
    off = np.flatnonzero(~np.isclose(problem.table.value, value, rtol=1e-14, atol=1e-9))
    if len(off):
        labels = problem.table.labels(off)
        raise TableError(f"{len(labels)} cells are not whole numbers, e.g. {some(labels)}.", labels)

    progress.stage("whole", len(checked.cell))
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        progress.update(done)

    found = np.zeros((2, len(checked.cell)))
    for a, who in enumerate(whom):
        rows = checked.attacker == a
        asked = checked.cell[rows]
        reach, moved = np.full((2, len(value)), np.nan), np.zeros((2, len(value)))
        reach[:, asked] = value[asked] - checked.lower[rows], checked.upper[rows] - value[asked]
        lowest, highest = limits(protection, who)
        low, high = np.minimum(lowest - value, 0.0), np.maximum(highest - value, 0.0)
        for cells, relations in components(problem.table.relations, high - low > NEAR):
            targets = np.flatnonzero(~np.isnan(reach[DOWN, cells]))
            mine = cells[targets]
            moved[:, mine] = integer_bounds(relations, low[cells], high[cells], targets, reach[:, mine], tick)
        found[:, rows] = moved[:, asked]
    progress.update(len(checked.cell))
    return _verdict(checked, protection, value, found)


def _verdict(checked: Audit, protection: Protection, value: FloatArray, found: FloatArray) -> IntegerAudit:
    problem, cell = checked.problem, checked.cell
    down, up = found
    reached = [
        reach >= level * (1 - tolerances.REACH)
        for reach, level in zip((down, up, down + up), checked.required, strict=True)
    ]
    told = (protection.lower == protection.upper) & (problem.status == Status.PRIMARY)
    return IntegerAudit(checked, value[cell] - down, value[cell] + up, np.all(reached, axis=0) & ~told[cell])


def integer_bounds(
    relations: sparse.csr_array,
    low: FloatArray,
    high: FloatArray,
    targets: NDArray[np.int64],
    reach: FloatArray,
    tick: Callable[[], None] = lambda: None,
) -> FloatArray:
    """How far, down and up, the targets move in whole steps ``d`` with ``relations @ d == 0`` and ``low <= d <= high``.

    ``reach``, of shape (2, targets), is how far they move in steps of any size. ``tick`` is called after each target.
    """
    if _is_whole_anyway(relations, low, high, reach):
        for _ in targets:
            tick()
        return np.round(reach)
    low, high = _tighten(relations, low, high)
    steps = _Steps(relations, low, high)
    edge = np.stack([-low, high])
    edge[:, targets] = np.minimum(edge[:, targets], np.floor(reach + NEAR))
    for i in targets.tolist():
        for side in (DOWN, UP):
            if np.isinf(edge[side, i]):
                steps.shown[side, i] = np.inf  # weights are rational: some multiple of an endless move is whole
            elif steps.shown[side, i] < edge[side, i]:
                steps.push(i, side, edge[side, i])
        tick()
    return steps.shown[:, targets]


def _is_whole_anyway(relations: sparse.csr_array, low: FloatArray, high: FloatArray, reach: FloatArray) -> bool:
    """In a network with whole bounds the farthest moves are whole: its matrix is totally unimodular."""
    bounds = np.concatenate([low, high, reach.ravel()])
    return np.allclose(bounds, np.round(bounds), rtol=0.0, atol=NEAR) and network(relations) is not None


def _tighten(relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds rounded inwards, and what follows from them in single relations, rounded inwards again."""
    low, high = _inwards(low, high)
    for _ in range(ROUNDS):
        tighter = _inwards(*propagate(relations, low, high))
        if np.array_equal(tighter, (low, high)):
            break
        low, high = tighter
    return low, high


def _inwards(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.minimum(np.ceil(low - NEAR), 0.0), np.maximum(np.floor(high + NEAR), 0.0)


class _Steps:
    """Whole tables of one component, as differences from the true one. Each that is met shows how far all cells move."""

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.relations, self.low, self.high = relations, low, high
        self.shown = np.zeros((2, len(low)))
        self._aim = 0

    @cached_property
    def _linear(self) -> HighsModel:
        return self._model(None)

    @cached_property
    def _integer(self) -> HighsModel:
        return self._model(np.ones(len(self.low), dtype=bool))

    def _model(self, integer: NDArray[np.bool_] | None) -> HighsModel:
        model = HighsModel("primal" if integer is None else "dual")
        zero = np.zeros(self.relations.shape[0])
        model.load(np.zeros(len(self.low)), self.low, self.high, self.relations, zero, zero, integer)
        model.maximize(True)
        return model

    def push(self, cell: int, side: int, edge: float) -> None:
        """Move a cell as far as it goes, which is at most to ``edge``, and show it."""
        aim = np.array([cell])
        self._linear.set_cost(np.array([self._aim]), np.zeros(1))
        self._linear.set_cost(aim, np.array([SIGN[side]]))
        self._aim = cell
        solution = self._linear.solve()
        if solution.optimal:
            edge = min(edge, float(np.floor(solution.objective + NEAR)))
            self._credit(solution.primal)
        if self.shown[side, cell] >= edge:
            return
        # The best point is not whole. Each program asks for one step more than is shown, so that no gap is left over.
        self._integer.set_cost(aim, np.array([SIGN[side]]))
        while self.shown[side, cell] < edge:
            before = float(self.shown[side, cell])
            ends = SIGN[side] * np.array([[before + 1], [edge]])
            self._integer.set_bounds(aim, ends.min(axis=0), ends.max(axis=0))
            solution = self._integer.solve()
            if solution.outcome is Outcome.OPTIMAL:
                edge = min(edge, float(np.floor(solution.bound + NEAR)))
                self._credit(solution.primal)
            if self.shown[side, cell] == before:  # there is none, or the solver gave up: then nothing is claimed
                break
        self._integer.set_cost(aim, np.zeros(1))
        self._integer.set_bounds(aim, self.low[aim], self.high[aim])

    def _credit(self, point: FloatArray) -> None:
        """Credit every cell with its move in the whole table next to a point, if that is congruent by multiplication."""
        move = np.rint(point)
        size = abs(self.relations) @ np.abs(move)
        holds = np.abs(self.relations @ move) <= 1e-12 * size
        if holds.all() and np.all((self.low <= move) & (move <= self.high)):
            np.maximum(self.shown[DOWN], -move, out=self.shown[DOWN])
            np.maximum(self.shown[UP], move, out=self.shown[UP])
