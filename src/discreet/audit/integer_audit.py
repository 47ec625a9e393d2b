"""Tables of counts: a reader who knows that all cells are whole numbers infers more than linear programs say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray
from discreet.attackers import Attacker
from discreet.audit.audit import INTEGER_TOLERANCE, Audit, linear_audit
from discreet.errors import TableError, some
from discreet.inference import tolerances
from discreet.inference.bound_propagation import propagate
from discreet.inference.congruent_tables import components
from discreet.inference.max_flow import network
from discreet.inference.requirements import chosen_attackers, required_levels, value_limits
from discreet.problem import Problem, Status
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.solvers import Model, Outcome, new_model

MAX_ROUNDING_PASSES = 30  # of rounding; bounds that creep on for longer are left to the programs


def audit(
    problem: Problem,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    cells: Sequence[int] | NDArray[np.integer] | None = None,
    intervals: bool = True,
    certify: bool = False,
    whole: bool | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Audit what would be published.

    ``cells`` defaults to all that must be protected from the attacker in question: primaries, and suppressed ones with levels;
    then it is also checked that no other suppressed cell is exactly computable. With ``intervals=False`` only the verdict is
    worked out, which is faster. With ``certify`` the congruent tables that show it are kept for a certificate. ``whole`` says
    whether readers know that all cells are whole numbers, by default where the table counts. Work is spread over an
    ``executor``, if given one; the answer is the same to the last bit.
    """
    checked = linear_audit(
        problem,
        protection,
        attackers=attackers,
        cells=cells,
        intervals=intervals,
        certify=certify,
        executor=executor,
        progress=progress,
    )
    known = readers_know_integers(problem) if whole is None else whole
    return narrowed(checked, protection, attackers=attackers, progress=progress) if known else checked


def readers_know_integers(problem: Problem) -> bool:
    """Whether readers compare whole tables only, and something must be kept from them."""
    return problem.is_integer and bool(problem.least.any())


def narrowed(
    checked: Audit,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """An audit narrowed to what whole tables allow; with exact intervals as far as that goes, else as the verdict needs.

    ``attackers`` are those the audit was made with, if it was not made with the problem's own.
    """
    progress, problem = progress or Silent(), checked.problem
    whom = chosen_attackers(problem, attackers)
    if checked.protection != protection.digest or checked.knowledge != tuple(attacker.digest for attacker in whom):
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
    for a, attacker in enumerate(whom):
        rows = checked.attacker == a
        seen = np.stack(
            [value[checked.cell[rows]] - checked.lower[rows], checked.upper[rows] - value[checked.cell[rows]]]
        )
        cells, need = checked.cell[rows], checked.required[:, rows]
        found[:, rows] = _moves(problem, protection, attacker, cells, seen, None if checked.exact else need, tick)
    progress.update(len(checked.cell))
    down, up = found
    reached = [
        reach >= level * (1 - tolerances.LEVEL_TOLERANCE)
        for reach, level in zip((down, up, down + up), checked.required, strict=True)
    ]
    told = (protection.lower == protection.upper) & (problem.status == Status.PRIMARY)
    at = value[checked.cell]
    return replace(
        checked,
        lower=at - down,
        upper=at + up,
        safe=np.all(reached, axis=0) & ~told[checked.cell] & checked.safe,
        computable=_computable(checked, protection, whom[0]),
        linear=checked,
    )


def _computable(checked: Audit, protection: Protection, outsider: Attacker) -> NDArray[np.int64]:
    """Suppressed cells, beside those audited, that have but one value in all whole tables."""
    cells = np.setdiff1d(checked.others, checked.computable)
    need = required_levels(checked.problem, protection, outsider)[:, cells]
    reach = np.stack([np.zeros(len(cells)), need[2]])  # shown by the linear audit
    down, up = _moves(checked.problem, protection, outsider, cells, reach, need, lambda: None)
    return np.union1d(checked.computable, cells[down + up < need[2] * (1 - tolerances.LEVEL_TOLERANCE)])


def _moves(
    problem: Problem,
    protection: Protection,
    attacker: Attacker,
    asked: NDArray[np.int64],
    seen: FloatArray,
    need: FloatArray | None,
    tick: Callable[[], None],
) -> FloatArray:
    """How far cells go down and up in whole tables, shape (2, cells), or at least as far as they need to.

    ``seen`` is how far they go in tables of any numbers; with ``need``, how far they are shown to go at least.
    """
    value = np.round(problem.table.value)
    reach, moved = np.full((2, len(value)), np.nan), np.zeros((2, len(value)))
    needs = np.zeros((3, len(value)))
    reach[:, asked] = seen
    needs[:, asked] = np.inf if need is None else need
    lowest, highest = value_limits(protection, attacker)
    low, high = np.minimum(lowest - value, 0.0), np.maximum(highest - value, 0.0)
    for cells, relations in components(problem.table.relations, high - low > INTEGER_TOLERANCE):
        targets = np.flatnonzero(~np.isnan(reach[DOWN, cells]))
        if not len(targets):
            continue
        mine, bounds = cells[targets], (low[cells], high[cells])
        if _is_whole_anyway(relations, *bounds, reach[:, mine] if need is None else np.zeros(0)):
            moved[:, mine] = np.ceil(reach[:, mine] - INTEGER_TOLERANCE)
            for _ in targets:
                tick()
        else:
            farthest = reach[:, mine] if need is None else np.full((2, len(targets)), np.inf)
            moved[:, mine] = integer_bounds(relations, *bounds, targets, farthest, needs[:, mine], tick)
    return moved[:, asked]


def integer_bounds(
    relations: sparse.csr_array,
    low: FloatArray,
    high: FloatArray,
    targets: NDArray[np.int64],
    reach: FloatArray,
    need: FloatArray | None = None,
    tick: Callable[[], None] = lambda: None,
) -> FloatArray:
    """How far, down and up, the targets move in whole steps ``d`` with ``relations @ d == 0`` and ``low <= d <= high``.

    ``reach``, of shape (2, targets), is how far they move in steps of any size, infinite where that is not known. ``need``, of
    shape (3, targets), is how far they have to move down, up and in all: no more is looked for. ``tick`` is called after each.
    """
    need = np.full((3, len(targets)), np.inf) if need is None else need
    low, high = _tighten(relations, low, high)
    steps = _Steps(relations, low, high)
    edge = np.stack([-low, high])
    edge[:, targets] = np.minimum(edge[:, targets], np.floor(reach + INTEGER_TOLERANCE))
    for k, i in enumerate(targets.tolist()):
        for side in (DOWN, UP, DOWN):  # the second look down is for what both sides still lack together
            other = steps.shown[1 - side, i]
            left = 0.0 if np.isinf(other) else np.ceil(need[2, k] - INTEGER_TOLERANCE) - other
            far = max(np.ceil(need[side, k] - INTEGER_TOLERANCE), left)
            goal = min(edge[side, i], far)
            if np.isinf(goal):
                steps.shown[side, i] = np.inf  # weights are rational: some multiple of an endless move is whole
            elif steps.shown[side, i] < goal:
                steps.push(i, side, goal)
        tick()
    return steps.shown[:, targets]


def _is_whole_anyway(relations: sparse.csr_array, low: FloatArray, high: FloatArray, reach: FloatArray) -> bool:
    """In a network with whole bounds the farthest moves are whole: its matrix is totally unimodular."""
    bounds = np.concatenate([low, high, reach.ravel()])
    return np.allclose(bounds, np.round(bounds), rtol=0.0, atol=INTEGER_TOLERANCE) and network(relations) is not None


def _tighten(relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds rounded inwards, and what follows from them in single relations, rounded inwards again."""
    low, high = _inwards(low, high)
    for _ in range(MAX_ROUNDING_PASSES):
        tighter = _inwards(*propagate(relations, low, high))
        if np.array_equal(tighter, (low, high)):
            break
        low, high = tighter
    return low, high


def _inwards(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.minimum(np.ceil(low - INTEGER_TOLERANCE), 0.0), np.maximum(np.floor(high + INTEGER_TOLERANCE), 0.0)


class _Steps:
    """Whole tables of one component, as differences from the true one. Each that is met shows how far all cells move."""

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.relations, self.low, self.high = relations, low, high
        self.shown = np.zeros((2, len(low)))
        self._aim = 0

    @cached_property
    def _linear(self) -> Model:
        return self._model(None)

    @cached_property
    def _integer(self) -> Model:
        return self._model(np.ones(len(self.low), dtype=bool))

    def _model(self, integer: NDArray[np.bool_] | None) -> Model:
        model = new_model("primal" if integer is None else "dual")
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
            edge = min(edge, float(np.floor(solution.objective + INTEGER_TOLERANCE)))
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
                edge = min(edge, float(np.floor(solution.bound + INTEGER_TOLERANCE)))
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
