"""Congruent tables: how far a cell can deviate if all relations hold and every cell stays within its bounds."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.arrays import SIGN, BoolArray, FloatArray, IntArray
from discreet.inference.deviations import StartingVertex
from discreet.inference.integer_system import Correction, IntegerSystem
from discreet.solvers import Model, Outcome, Solution, new_model

# Unit of the grid, as a share of a typical deviation: so fine that few different bounds are rounded to the same multiple.
UNIT_SHARE = 2.0**-27
MIN_SOLVER_SECONDS = 2.0  # time limit of the smallest program
MAX_ROUNDS_WITHOUT_GAIN = 20  # rounds of simplex steps without a better objective after which a search ends


def components(relations: sparse.csr_array, uncertain: BoolArray) -> Iterator[tuple[IntArray, sparse.csr_array]]:
    """The connected components of the uncertain cells, those that can deviate: the cells of each, and its relations."""
    cells = np.flatnonzero(uncertain)
    if not len(cells):
        return
    rows = relations if len(cells) == len(uncertain) else sparse.csr_array(relations[:, cells])
    nonempty = np.diff(rows.indptr) > 0
    rows = rows if nonempty.all() else sparse.csr_array(rows[nonempty])
    m, n = rows.shape
    # The bipartite graph of relations and cells; its arrays are made directly, because this function is called very often.
    ends = np.append(rows.indptr, np.full(n, rows.indptr[-1]))
    graph = sparse.csr_array((np.ones(len(rows.indices)), rows.indices + m, ends), shape=(m + n, m + n))
    count, label = csgraph.connected_components(graph, directed=False)
    if count == 1:
        yield cells, rows
        return
    by_row, by_cell = np.argsort(label[:m], kind="stable"), np.argsort(label[m : m + n], kind="stable")
    # With rows and columns in the order of their components, each component is a block of the matrix.
    rows = sparse.csr_array(sparse.csr_array(rows[by_row])[:, by_cell])
    row_at = np.searchsorted(label[:m][by_row], np.arange(count + 1))
    cell_at = np.searchsorted(label[m : m + n][by_cell], np.arange(count + 1))
    for k in np.argsort(by_cell[cell_at[:-1]], kind="stable").tolist():
        entries = slice(rows.indptr[row_at[k]], rows.indptr[row_at[k + 1]])
        block = (
            rows.data[entries],
            rows.indices[entries] - cell_at[k],
            rows.indptr[row_at[k] : row_at[k + 1] + 1] - rows.indptr[row_at[k]],
        )
        shape = (row_at[k + 1] - row_at[k], cell_at[k + 1] - cell_at[k])
        yield cells[by_cell[cell_at[k] : cell_at[k + 1]]], sparse.csr_array(block, shape=shape)


@dataclass(frozen=True, eq=False, repr=False)
class CandidateDeviation:
    """A table that a solver found, as its difference from the true one."""

    difference: FloatArray
    proven: bool  # whether the table is exactly congruent; else only up to the tolerance of the solver
    optimal: bool  # whether according to the solver no table has a larger objective
    dual: FloatArray  # if optimal, the multipliers of the relations that prove it


class CongruentTables:
    """The congruent tables of one component, as a linear program whose objective changes from call to call.

    Solvers satisfy relations and bounds only up to a tolerance, and relations may amplify such errors without limit. So
    bounds are rounded to multiples of a unit, the grid. Vertices are then simple fractions, and sums of integers prove that
    a table is congruent.
    """

    def __init__(self, relations: sparse.csr_array, low: FloatArray, high: FloatArray, scale: float = 1.0) -> None:
        self.low, self.high = (_representable(bound, scale) for bound in (low, high))  # differences: low <= 0 <= high
        self.grid = IntegerSystem.of(relations, self.low, self.high, scale * UNIT_SHARE)
        # The unit of the program is a power of two times that of the grid, so that conversion is exact.
        self._unit = 2.0 ** np.rint(np.log2(scale * self.grid.scale))
        self._lower, self._upper = self.grid.low / self._unit, self.grid.high / self._unit
        self._model = deviation_model("primal", self.grid.relations, self._lower, self._upper)
        self._time_limit = solver_time_limit(relations)
        self._objective_cells = np.zeros(0, dtype=np.int64)

    @contextmanager
    def narrowed(self, cells: IntArray, low: FloatArray, high: FloatArray) -> Iterator[None]:
        """A context in which some cells have less slack; tables that are congruent in it are also congruent outside it."""
        before = [bound[cells] for bound in (self.low, self.high, self._lower, self._upper)]
        self.low[cells], self.high[cells] = np.maximum(before[0], low), np.minimum(before[1], high)
        on_grid = np.ceil(self.low[cells] * self.grid.scale), np.floor(self.high[cells] * self.grid.scale)
        self._lower[cells] = np.maximum(before[2], on_grid[0] / self._unit)
        self._upper[cells] = np.minimum(before[3], on_grid[1] / self._unit)
        self._model.set_bounds(cells, self._lower[cells], self._upper[cells])
        try:
            yield
        finally:
            self.low[cells], self.high[cells], self._lower[cells], self._upper[cells] = before
            self._model.set_bounds(cells, self._lower[cells], self._upper[cells])

    def maximize(
        self,
        cell: int,
        sign: float,
        goal: float = np.inf,
        starts: Sequence[StartingVertex] = (),
        steps: int | None = None,
    ) -> CandidateDeviation:
        """The deviation that takes ``cell`` farthest up (``sign`` 1) or down (−1), but not beyond ``goal``.

        On that side the deviation of the cell must be bounded. The search starts from the vertex in ``starts`` that takes the
        cell farthest; without ``starts``, from the last vertex of the previous search. If the solver failed or was stopped after
        ``steps``, its last vertex is returned if it can be proven, otherwise a deviation of zero.
        """
        if starts:
            self._model.start_from(max(starts, key=lambda start: sign * float(start.difference[cell])).basis)
        candidates = self.maximize_sum(np.array([cell]), sign, np.array([goal]), np.ones(1), steps)
        last = next(candidates)
        candidates.close()
        if last.optimal or last.proven:
            return last
        return CandidateDeviation(np.zeros(len(self.low)), True, False, last.dual)

    def nearest_reaching(self, cell: int, sign: float, goal: float) -> CandidateDeviation:
        """The deviation of least absolute sum that takes ``cell`` to ``goal``: mostly of few cells, and so easy to prove.

        It is zero if none is found.
        """
        n, at = len(self.low), cell if sign > 0 else len(self.low) + cell
        slack, least = self._slack[at], np.ceil(goal * self.grid.scale) / self._unit
        zero = CandidateDeviation(np.zeros(n), True, False, np.zeros(0))
        if least > slack:
            return zero
        reverse = cell if sign < 0 else n + cell
        model = self._distance_model
        model.restart()
        model.set_bounds(np.array([at, reverse]), np.array([least, 0.0]), np.array([slack, 0.0]))
        solution = model.solve(self._time_limit)
        model.set_bounds(np.array([at, reverse]), np.zeros(2), self._slack[[at, reverse]])
        if not solution.optimal:
            return zero
        up, down = solution.primal.reshape(2, n)

        def correction(residual: FloatArray) -> FloatArray | None:
            found = model.correction(residual)
            return None if found is None else found[:n] - found[n:]

        difference = self._proven(up - down, correction)
        return zero if difference is None else CandidateDeviation(difference, True, False, np.zeros(0))

    @cached_property
    def _slack(self) -> FloatArray:
        """The slack of each cell up, then down."""
        return np.concatenate([self._upper, -self._lower])

    @cached_property
    def _distance_model(self) -> Model:
        """A program with the deviations up and down of each cell as separate variables, all at cost 1."""
        both = sparse.hstack([self.grid.relations, -self.grid.relations], format="csr")
        return deviation_model("dual", both, np.zeros(len(self._slack)), self._slack, np.ones(len(self._slack)))

    def starting_vertex(self, candidate: CandidateDeviation) -> StartingVertex:
        """The last vertex that the solver visited; the candidate is its deviation."""
        return StartingVertex(candidate.difference, self._model.basis())

    def maximize_sum(
        self, cells: IntArray, sign: float | FloatArray, goal: FloatArray, weight: FloatArray, steps: int | None = None
    ) -> Generator[CandidateDeviation]:
        """Maximize a weighted sum of deviations, none beyond its goal: one candidate after every ``steps``, the best last."""
        self._model.set_cost(self._objective_cells, np.zeros(len(self._objective_cells)))
        self._model.set_cost(cells, sign * weight)
        self._objective_cells = cells
        lower, upper = self._lower[cells], self._upper[cells]
        goal = np.ceil(goal * self.grid.scale) / self._unit  # vertices stay on the grid
        down = np.less(sign, 0)
        self._model.set_bounds(
            cells, np.where(down, np.maximum(lower, -goal), lower), np.where(down, upper, np.minimum(upper, goal))
        )
        best, idle = -np.inf, 0
        try:
            while True:
                solution = self._model.solve(self._time_limit, steps)
                yield self._candidate(solution)
                idle = 0 if solution.objective > best else idle + 1
                best = max(best, solution.objective)
                out_of_time = steps is None or solution.iterations < steps
                if solution.outcome is not Outcome.STOPPED or out_of_time or idle == MAX_ROUNDS_WITHOUT_GAIN:
                    return
        finally:
            self._model.set_bounds(cells, lower, upper)

    def _candidate(self, solution: Solution) -> CandidateDeviation:
        difference = self._proven(solution.primal, self._model.correction)
        proven = difference is not None
        if difference is None:
            difference = np.clip(solution.primal * (self._unit / self.grid.scale), self.low, self.high)
        return CandidateDeviation(difference, proven, solution.optimal, solution.row_dual)

    def _proven(self, primal: FloatArray, correction: Correction) -> FloatArray | None:
        """A congruent table close to a solution, as its difference from the true one; None if no such table is found."""
        proven = self.grid.congruent(primal * self._unit, correction)
        if proven is None:
            return None
        difference = proven / self.grid.scale
        return np.asarray(difference * min(1.0, largest_multiple(difference, self.low, self.high)))


def largest_multiple(deviation: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The largest multiple of a deviation within the bounds."""
    at = np.flatnonzero(deviation)
    with np.errstate(over="ignore"):  # the quotient of a slack and a tiny deviation may be infinite
        multiples = np.where(deviation[at] > 0, high[at], -low[at]) / np.abs(deviation[at])
    return float(multiples.min(initial=np.inf))


def deviation_model(
    simplex: Literal["primal", "dual"],
    relations: sparse.csr_array,
    low: FloatArray,
    high: FloatArray,
    cost: FloatArray | None = None,
    integer: BoolArray | None = None,
) -> Model:
    """A model of all deviations within bounds: it minimizes their cost, or without one maximizes an objective set later."""
    model = new_model(simplex)
    rows, zero = sparse.csr_array(relations, dtype=float), np.zeros(relations.shape[0])
    model.load(np.zeros(len(low)) if cost is None else cost, low, high, rows, zero, zero, integer)
    model.maximize(cost is None)
    return model


def typical_size(sizes: FloatArray) -> float:
    """The median of the positive finite sizes, 1 if there are none; it is the unit of a program."""
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if len(sizes) else 1.0


def solver_time_limit(rows: sparse.csr_array) -> float:
    """Seconds after which a solver counts as cycling. Exact arithmetic then decides, so results do not depend on the machine."""
    return MIN_SOLVER_SECONDS + 0.005 * float(sum(rows.shape))


def unbounded_directions(
    relations: sparse.csr_array, low: FloatArray, high: FloatArray, cells: IntArray
) -> Iterator[FloatArray]:
    """Proven unbounded directions, one for each of ``cells`` and each side on which it can deviate without limit.

    An unbounded direction satisfies all relations, and cells deviate in it only on sides without a bound. In the program every
    entry is at most 1, so all its numbers are of similar size, whatever the values in the table.
    """
    slack = np.stack([np.where(np.isinf(low), -1.0, 0.0), np.where(np.isinf(high), 1.0, 0.0)])
    if not slack[:, cells].any():
        return
    grid = IntegerSystem.of(relations, *slack)
    if not grid.is_integral:
        return
    found = np.zeros((2, len(low)), dtype=bool)
    model = deviation_model("primal", grid.relations, *slack)

    def new_direction(chosen: IntArray, sign: float) -> FloatArray | None:
        """A direction that takes the chosen cells farthest in sum; None if it contains no further cell or side."""
        objective = np.zeros(len(low))
        objective[chosen] = sign
        model.set_cost(np.arange(len(low)), objective)
        solution = model.solve(solver_time_limit(relations))
        direction = grid.congruent(solution.primal) if solution.optimal else None
        if direction is None:
            return None
        before = int(found.sum())
        found[0] |= direction < 0
        found[1] |= direction > 0
        return direction if found.sum() > before else None

    for side, sign in enumerate(SIGN):
        open_cells = cells[slack[side, cells] != 0]
        # Many cells in one objective, as long as a further cell is found.
        while len(left := open_cells[~found[side, open_cells]]):
            direction = new_direction(left, sign)
            if direction is None:
                break
            yield direction
        if slack[1 - side, open_cells].any():  # cells unbounded on both sides may cancel out in a sum
            for i in range(len(open_cells)):
                at = open_cells[i : i + 1]
                direction = None if found[side, at].all() else new_direction(at, sign)
                if direction is not None:
                    yield direction


def _representable(bound: FloatArray, scale: float) -> FloatArray:
    """The bounds; those so large that the solver would take them for infinite are reduced, which only reduces the slack."""
    most = min(1e15 * float(scale), np.finfo(float).max)
    return np.where(np.isfinite(bound), np.clip(bound, -most, most), bound)
