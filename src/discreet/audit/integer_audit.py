"""The audit of tables of counts: a reader who knows that all cells are integers can infer more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import cached_property
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.audit.audit import INTEGER_TOLERANCE, Audit, linear_audit
from discreet.errors import TableError, some
from discreet.inference.bound_propagation import propagate
from discreet.inference.component_search import reaches_level
from discreet.inference.congruent_tables import components, deviation_model
from discreet.inference.max_flow import network
from discreet.inference.requirements import chosen_attackers, published_primaries, required_levels, value_limits
from discreet.problem import Problem
from discreet.progress import Progress, Silent
from discreet.protection import Protection
from discreet.solvers import Model, Outcome

MAX_ROUNDING_PASSES = 30  # bounds that still become tighter after this many are left to the programs


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
    """Audit a protection.

    ``cells`` defaults to all that must be protected from the attacker in question: primaries, and suppressed ones with levels;
    then it is also checked that no other suppressed cell is exactly computable. With ``intervals=False`` only the verdict is
    computed, which is faster. With ``certify`` the congruent tables that prove it are kept for a certificate. ``whole`` says
    whether readers know that all cells are integers, by default true for tables of counts. Work is spread over an
    ``executor``, if there is one; the result is exactly the same.
    """
    progress = progress or Silent()
    checked = linear_audit(problem, protection, attackers, cells, intervals, certify, executor, progress)
    known = readers_know_integers(problem) if whole is None else whole
    return narrowed(checked, protection, attackers=attackers, progress=progress) if known else checked


def readers_know_integers(problem: Problem) -> bool:
    """Whether readers know that all cells are integers, and some cell must not be exactly computable."""
    return problem.is_integer and bool(problem.least_width.any())


def narrowed(
    checked: Audit,
    protection: Protection,
    *,
    attackers: Sequence[Attacker] | None = None,
    progress: Progress | None = None,
) -> Audit:
    """The audit with the knowledge that all cells are integers: exact intervals if it has them, else only the verdict.

    ``attackers`` are those of the audit, by default those of the problem.
    """
    progress, problem = progress or Silent(), checked.problem
    audited = chosen_attackers(problem, attackers)
    if checked.protection != protection.digest or checked.knowledge != tuple(attacker.digest for attacker in audited):
        raise TableError("The audit is about another protection or other attackers. Audit this protection first.")
    value = np.round(problem.table.value)
    nonintegral = np.flatnonzero(~np.isclose(problem.table.value, value, rtol=1e-14, atol=1e-9))
    if len(nonintegral):
        labels = problem.table.labels(nonintegral)
        raise TableError(
            f"{len(labels)} cells are not whole numbers, e.g. {some(labels)}. Leave out --whole, or whole=True in Python.",
            labels,
        )
    progress.stage("whole", len(checked.cell))
    done = count(1)
    deviations = np.zeros((2, len(checked.cell)))
    for a, attacker in enumerate(audited):
        rows = checked.attacker == a
        cells, required = checked.cell[rows], checked.required[:, rows]
        linear = np.stack([value[cells] - checked.lower[rows], checked.upper[rows] - value[cells]])
        levels = None if checked.exact else required
        deviations[:, rows] = _integer_deviations(
            problem, protection, attacker, cells, linear, levels, lambda: progress.update(next(done))
        )
    progress.update(len(checked.cell))
    down, up = deviations
    reached = [reaches_level(*one) for one in zip((down, up, down + up), checked.required, strict=True)]
    return replace(
        checked,
        lower=value[checked.cell] - down,
        upper=value[checked.cell] + up,
        safe=np.all(reached, axis=0) & ~published_primaries(problem, protection)[checked.cell] & checked.safe,
        computable=_computable(checked, protection, audited[0]),
        linear=checked,
    )


def _computable(checked: Audit, protection: Protection, outsider: Attacker) -> IntArray:
    """The other suppressed cells that are exactly computable by a reader who knows that cells are integers."""
    cells = np.setdiff1d(checked.other_suppressed, checked.computable)
    required = required_levels(checked.problem, protection, outsider)[:, cells]
    linear = np.stack([np.zeros(len(cells)), required[2]])  # proven by the linear audit
    down, up = _integer_deviations(checked.problem, protection, outsider, cells, linear, required, lambda: None)
    return np.union1d(checked.computable, cells[~reaches_level(down + up, required[2])])


def _integer_deviations(
    problem: Problem,
    protection: Protection,
    attacker: Attacker,
    audited: IntArray,
    linear: FloatArray,
    levels: FloatArray | None,
    tick: Callable[[], None],
) -> FloatArray:
    """The farthest deviations of cells down and up in integer tables, shape (2, cells), or those that ``levels`` require.

    ``linear`` are the farthest deviations in tables of any numbers; if ``levels`` are given, deviations that are proven.
    """
    value = np.round(problem.table.value)
    reach, found = np.full((2, len(value)), np.nan), np.zeros((2, len(value)))
    required = np.zeros((3, len(value)))
    reach[:, audited] = linear
    required[:, audited] = np.inf if levels is None else levels
    lowest, highest = value_limits(protection, attacker)
    low, high = np.minimum(lowest - value, 0.0), np.maximum(highest - value, 0.0)
    for cells, relations in components(problem.table.relations, high - low > INTEGER_TOLERANCE):
        targets = np.flatnonzero(~np.isnan(reach[DOWN, cells]))
        if not len(targets):
            continue
        target_cells, bounds = cells[targets], (low[cells], high[cells])
        farthest = reach[:, target_cells] if levels is None else np.full((2, len(targets)), np.inf)
        if _has_integer_vertices(relations, *bounds, farthest):
            found[:, target_cells] = np.ceil(reach[:, target_cells] - INTEGER_TOLERANCE)
            for _ in targets:
                tick()
        else:
            found[:, target_cells] = integer_bounds(
                relations, *bounds, targets, farthest, required[:, target_cells], tick
            )
    return found[:, audited]


def integer_bounds(
    relations: sparse.csr_array,
    low: FloatArray,
    high: FloatArray,
    targets: IntArray,
    reach: FloatArray,
    need: FloatArray | None = None,
    tick: Callable[[], None] = lambda: None,
) -> FloatArray:
    """The farthest integer deviations ``d`` of the targets, down and up: ``relations @ d == 0`` and ``low <= d <= high``.

    ``reach``, of shape (2, targets), are the farthest deviations of any numbers, infinite if unknown. ``need``, of shape
    (3, targets), are the required deviations down, up and in sum: the search ends there. ``tick`` is called after each target.
    """
    need = np.full((3, len(targets)), np.inf) if need is None else need
    low, high = _tighten(relations, low, high)
    search = _IntegerSearch(relations, low, high)
    limit = np.stack([-low, high])
    limit[:, targets] = np.minimum(limit[:, targets], np.floor(reach + INTEGER_TOLERANCE))
    for k, i in enumerate(targets.tolist()):
        for side in (DOWN, UP, DOWN):  # down again, if the sum is still too small
            other = search.reach[1 - side, i]
            missing = 0.0 if np.isinf(other) else np.ceil(need[2, k] - INTEGER_TOLERANCE) - other
            required = max(np.ceil(need[side, k] - INTEGER_TOLERANCE), missing)
            goal = min(limit[side, i], required)
            if np.isinf(goal):
                # Weights are rational, so a multiple of an unbounded direction is integer.
                search.reach[side, i] = np.inf
            elif search.reach[side, i] < goal:
                search.maximize(i, side, goal)
        tick()
    return search.reach[:, targets]


def _has_integer_vertices(relations: sparse.csr_array, low: FloatArray, high: FloatArray, reach: FloatArray) -> bool:
    """Whether the system is a network with integer bounds: its matrix is totally unimodular, so all vertices are integer."""
    bounds = np.concatenate([low, high, reach.ravel()])
    return np.allclose(bounds, np.round(bounds), rtol=0.0, atol=INTEGER_TOLERANCE) and network(relations) is not None


def _tighten(relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds rounded inwards and propagated through single relations, again and again."""
    low, high = _rounded_inwards(low, high)
    for _ in range(MAX_ROUNDING_PASSES):
        tighter = _rounded_inwards(*propagate(relations, low, high))
        if np.array_equal(tighter, (low, high)):
            break
        low, high = tighter
    return low, high


def _rounded_inwards(low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.minimum(np.ceil(low - INTEGER_TOLERANCE), 0.0), np.maximum(np.floor(high + INTEGER_TOLERANCE), 0.0)


class _IntegerSearch:
    """Integer deviations of one component. ``reach`` is how far those found so far take each cell."""

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.relations, self.low, self.high = relations, low, high
        self.reach = np.zeros((2, len(low)))

    @cached_property
    def _linear(self) -> Model:
        return deviation_model("primal", self.relations, self.low, self.high)

    @cached_property
    def _integer(self) -> Model:
        integer = np.ones(len(self.low), dtype=bool)
        return deviation_model("dual", self.relations, self.low, self.high, integer=integer)

    def maximize(self, cell: int, side: int, limit: float) -> None:
        """Find the farthest deviation of a cell, which is at most ``limit``."""
        at = np.array([cell])
        self._linear.set_cost(at, np.array([SIGN[side]]))
        solution = self._linear.solve()
        self._linear.set_cost(at, np.zeros(1))
        if solution.optimal:
            limit = min(limit, float(np.floor(solution.objective + INTEGER_TOLERANCE)))
            self._credit(solution.primal)
        if self.reach[side, cell] >= limit:
            return
        # Each integer program requires 1 more than was reached, so that the gap of a solver cannot hide a better table.
        self._integer.set_cost(at, np.array([SIGN[side]]))
        while self.reach[side, cell] < limit:
            before = float(self.reach[side, cell])
            ends = SIGN[side] * np.array([[before + 1], [limit]])
            self._integer.set_bounds(at, ends.min(axis=0), ends.max(axis=0))
            solution = self._integer.solve()
            if solution.outcome is Outcome.OPTIMAL:
                limit = min(limit, float(np.floor(solution.bound + INTEGER_TOLERANCE)))
                self._credit(solution.primal)
            if self.reach[side, cell] == before:  # infeasible, or not solved
                break
        self._integer.set_cost(at, np.zeros(1))
        self._integer.set_bounds(at, self.low[at], self.high[at])

    def _credit(self, point: FloatArray) -> None:
        """Update the reach of all cells by the integer deviation next to a point, if it satisfies relations and bounds."""
        deviation = np.rint(point)
        size = abs(self.relations) @ np.abs(deviation)
        holds = np.abs(self.relations @ deviation) <= 1e-12 * size
        if holds.all() and np.all((self.low <= deviation) & (deviation <= self.high)):
            np.maximum(self.reach[DOWN], -deviation, out=self.reach[DOWN])
            np.maximum(self.reach[UP], deviation, out=self.reach[UP])
