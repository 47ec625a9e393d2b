"""Intervals around a random congruent table, so that the intervals do not depend on the positions of the true values in them.

For each sensitive cell an interval is drawn, and with it the distance of its middle from the true value. The closest congruent
table has these middles, or the closest ones that add up. The narrowest intervals around this table let each sensitive cell
reach both ends of its drawn interval. So the middles of all intervals, of other cells as well, form one congruent table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.data.table import digits_of
from discreet.guesses import CENTRAL_HALF_WIDTH, MAX_STANDARD_DEVIATIONS, midpoint_hits
from discreet.methods.check import audit, exposed_cells
from discreet.methods.context import Run
from discreet.methods.intervals.positions import Ends, drawn_ends, sign_bounds
from discreet.methods.intervals.prepare import open_table
from discreet.methods.intervals.setting import Placement, Sides, Treatment
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import new_model

SENSITIVE_WEIGHT = 100.0  # of a shift of a sensitive cell by its width, in largest weights of other cells
LEAST_WEIGHT = 1e-3  # of shifts of suppressed and cheap cells, in units of the median weight
SHIFT_IGNORED = 1e-9  # share of the median width: smaller shifts are noise of the solver
TOLERATED_EXCESS = 0.5  # standard deviations by which more values than expected may lie in the middle
REQUIRED_SHARE = 0.95  # of the reach of a cell is required where relations do not allow the drawn levels


@dataclass(frozen=True, eq=False)
class Draw:
    """Drawn ends of the intervals of sensitive cells, and of free cells that need protection if they get an interval.

    ``beyond`` are random shares from 0 to 1 by which intervals of any cell are extended if they would end at the value, or at
    a bound that depends on it.
    """

    problem: Problem
    cells: IntArray
    ends: Ends
    beyond: FloatArray
    tick: float | None  # unit of all ends

    @classmethod
    def of(cls, problem: Problem, treatment: Treatment, rounded: bool, rng: np.random.Generator) -> Draw:
        """A draw for all cells without a fixed interval."""
        levels = problem.strictest
        needs_protection = (problem.status == Status.PRIMARY) | ((problem.status == Status.FREE) & levels.any(axis=0))
        cells = np.flatnonzero(needs_protection & ~treatment.fixed)
        digits = digits_of(problem.table.value) if rounded else None
        known = sign_bounds(problem)[:, cells]
        tick = None if digits is None else 10.0**-digits
        ends = drawn_ends(problem.table.value[cells], levels[:, cells], known, tick, rng)
        return cls(problem, cells, ends, rng.random((2, len(problem))), tick)

    def central(self, lower: FloatArray, upper: FloatArray) -> tuple[IntArray, float]:
        """Positions of sensitive cells with values in the middle fifth of their intervals, and the expected number of them."""
        width = upper[self.cells] - lower[self.cells]
        proper = (self.problem.status[self.cells] == Status.PRIMARY) & np.isfinite(width) & (width > 0)
        below = (self.problem.table.value - lower)[self.cells]
        central = np.abs(below[proper] / width[proper] - 0.5) < CENTRAL_HALF_WIDTH
        return np.flatnonzero(proper)[central], 2 * CENTRAL_HALF_WIDTH * float(proper.sum())

    def excess(self, lower: FloatArray, upper: FloatArray) -> float:
        """The number of values in the middle fifth beyond those drawn there or expected; at most 0 if there are few enough."""
        central, expected = self.central(lower, upper)
        drawn, _ = self.central(*self.by_cell)
        limit = expected + MAX_STANDARD_DEVIATIONS * expected**0.5  # publish refuses more
        return float(len(central) - max(min(len(drawn), limit), expected))

    @property
    def by_cell(self) -> Ends:
        """The drawn ends per cell; infinite for cells without a draw."""
        lower, upper = np.full(len(self.problem), -np.inf), np.full(len(self.problem), np.inf)
        lower[self.cells], upper[self.cells] = self.ends
        return lower, upper

    def excess_of_hits(self, lower: FloatArray, upper: FloatArray) -> float:
        """The excess of middles that are close guesses of the value, or that of the middle fifth if it is larger."""
        cells = self.cells[self.problem.status[self.cells] == Status.PRIMARY]
        value, drawn = self.problem.table.value[cells], self.by_cell
        hits, expected = midpoint_hits(value, lower[cells], upper[cells], self.tick)
        before, _ = midpoint_hits(value, drawn[0][cells], drawn[1][cells], self.tick)
        limit = max(float(before.sum()), max(expected, 1.0) + TOLERATED_EXCESS * expected**0.5)
        return float(max(self.excess(lower, upper), hits.sum() - limit))

    def redrawn(self, found: Protection, treatment: Treatment, rounded: bool, rng: np.random.Generator) -> Draw | None:
        """The draw with new intervals for some cells whose values are in the middle; None if there are few enough.

        If sensitive cells add up with each other, the shift of one interval is limited by the others, and values are closer to
        the middles than drawn. On average as many cells are drawn again as are in excess.
        """
        if self.excess(found.lower, found.upper) <= 0:
            return None
        central, expected = self.central(found.lower, found.upper)
        chosen = central[rng.random(len(central)) > expected / len(central)]
        fresh = Draw.of(self.problem, treatment, rounded, rng)
        ends = tuple(old.copy() for old in self.ends)
        for old, new in zip(ends, fresh.ends, strict=True):
            old[chosen] = new[chosen]
        return replace(self, ends=(ends[0], ends[1]))

    @property
    def levels(self) -> FloatArray:
        """The distances of the ends from the true values, down and up."""
        value = self.problem.table.value[self.cells]
        return np.asarray(np.maximum(np.stack([value - self.ends[0], self.ends[1] - value]), 0.0))

    def placed(
        self, sides: Sides, treatment: Treatment, barred: BoolArray, run: Run, widths: FloatArray | None = None
    ) -> Placement:
        """The congruent table closest to the middles of the drawn intervals; shifts are limited by ``widths`` if given."""
        problem, value = self.problem, self.problem.table.value
        known = sign_bounds(problem)
        sensitive = problem.status[self.cells] == Status.PRIMARY
        # Intervals from one known bound to the other give no information.
        at_bounds = (self.ends[0] <= known[0, self.cells]) & (self.ends[1] >= known[1, self.cells])
        inside = sensitive & ~at_bounds
        cells, lower, upper = self.cells[inside], self.ends[0][inside], self.ends[1][inside]
        low, high = _limits(problem, treatment, barred, widths)
        low[cells] = np.maximum(low[cells], lower - value[cells])
        high[cells] = np.minimum(high[cells], upper - value[cells])
        wanted = np.zeros(len(problem))
        wanted[cells] = np.clip((lower + upper) / 2 - value[cells], low[cells], high[cells])
        weight = sides.weights(problem).min(axis=0)
        usual = float(np.median(weight[weight > 0])) if np.any(weight > 0) else 1.0
        weight = np.where(problem.status == Status.SUPPRESSED, LEAST_WEIGHT, np.maximum(weight / usual, LEAST_WEIGHT))
        unit = float(np.median(upper - lower)) if len(cells) else 1.0
        weight[cells] = SENSITIVE_WEIGHT * float(weight.max()) * unit / (upper - lower)
        shift = _nearest(problem, low / unit, high / unit, wanted / unit, weight, run) * unit
        shift[np.abs(shift) < SHIFT_IGNORED * unit] = 0.0
        cover = np.stack([np.maximum(shift, 0.0), np.maximum(-shift, 0.0)])
        drawn = np.zeros(cover.shape)
        centre = (value + shift)[self.cells]
        drawn[:, self.cells[sensitive]] = np.stack([centre - self.ends[0], self.ends[1] - centre])[:, sensitive]
        return Placement(problem, shift, cover, drawn, known, self.beyond)

    def problem_with(self, levels: FloatArray, treatment: Treatment, barred: BoolArray, run: Run) -> Problem:
        """The problem with levels raised to these, down and up, as far as relations and prior bounds allow."""
        problem, value = self.problem, self.problem.table.value
        required = []
        for attacker in problem.attackers():
            raised = problem.levels(attacker).copy()
            slack = np.stack([value - attacker.lower, attacker.upper - value])[:, self.cells]
            raised[:2, self.cells] = np.maximum(raised[:2, self.cells], np.minimum(levels, slack))
            required.append(raised)
        posed = _with_levels(problem, required)
        open_ = open_table(posed, treatment, barred)
        exposed = exposed_cells(posed, open_, run.executor)
        if len(exposed):
            seen = audit(posed, open_, cells=exposed, executor=run.executor)
            for number, cell, lower, upper in zip(seen.attacker, seen.cell, seen.lower, seen.upper, strict=True):
                original = problem.levels(problem.attackers()[number])[:2, cell]
                reach = REQUIRED_SHARE * np.array([value[cell] - lower, upper - value[cell]])
                required[number][:2, cell] = np.maximum(original, np.minimum(required[number][:2, cell], reach))
            posed = _with_levels(problem, required)
        return posed


def _limits(
    problem: Problem, treatment: Treatment, barred: BoolArray, widths: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """The largest shifts of all cells down and up, within the prior bounds of all attackers and fixed intervals."""
    value = problem.table.value
    low = np.max([attacker.lower for attacker in problem.attackers()], axis=0) - value
    high = np.min([attacker.upper for attacker in problem.attackers()], axis=0) - value
    low = np.where(treatment.fixed, np.maximum(low, treatment.lower - value), low)
    high = np.where(treatment.fixed, np.minimum(high, treatment.upper - value), high)
    if widths is not None:
        low, high = np.maximum(low, -widths[DOWN]), np.minimum(high, widths[UP])
    fixed = (problem.status == Status.PUBLISHED) | barred
    return np.where(fixed, 0.0, np.minimum(low, 0.0)), np.where(fixed, 0.0, np.maximum(high, 0.0))


def _with_levels(problem: Problem, levels: list[FloatArray]) -> Problem:
    others = tuple(replace(other, levels=new) for other, new in zip(problem.others, levels[1:], strict=True))
    return problem.with_columns(lower=levels[0][0], upper=levels[0][1], sliding=levels[0][2], others=others)


def _nearest(
    problem: Problem, low: FloatArray, high: FloatArray, wanted: FloatArray, weight: FloatArray, run: Run
) -> FloatArray:
    """The congruent shifts closest to the wanted ones; zero if the time is over."""
    cells = np.flatnonzero(low < high)
    rows = problem.table.relations_of(cells)
    gap = -(rows @ wanted[cells])
    model = new_model("dual", seed=run.seed)
    model.load(
        np.tile(weight[cells], 2),
        np.zeros(2 * len(cells)),
        np.r_[high[cells] - wanted[cells], wanted[cells] - low[cells]],
        sparse.csr_array(sparse.hstack([rows, -rows], format="csr")),
        gap,
        gap,
    )
    left = None if run.budget.left is None else max(run.budget.left, 1.0)
    solution = model.solve(left)
    shift = np.zeros(len(problem))
    if solution.optimal:
        up, down = solution.primal.reshape(2, len(cells))
        shift[cells] = wanted[cells] + up - down
    return shift
