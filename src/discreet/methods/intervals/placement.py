"""Intervals around a drawn congruent table: nothing that is published depends on where true values lie in them.

For each sensitive cell an interval is drawn, and with it how far its middle is from the true value. The nearest congruent table
has these middles, or the nearest that add up; the narrowest intervals around that table let each sensitive cell reach both
ends of its own. So the middles of all intervals, those of cells that protect others included, tell one and the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.audit import audit
from discreet.data.table import digits_of
from discreet.guesses import CENTRAL_HALF_WIDTH, MAX_STANDARD_DEVIATIONS, midpoint_hits
from discreet.methods.context import Run
from discreet.methods.intervals.positions import Ends, at_known_bounds, drawn_ends, sign_bounds
from discreet.methods.intervals.prepare import open_table
from discreet.methods.intervals.setting import Placement, Sides, Treatment
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import new_model

FIRST = (
    100.0  # what a width of a sensitive cell off its drawn place costs, in units of the dearest width of another cell
)
ROAM = 1e-3  # the same for cells that are suppressed anyway, in units of a usual weight
STILL = 1e-9  # shifts below this share of a usual width are the solver's noise
TOLERATED = 0.5  # standard deviations by which more values than expected may lie in the middle
REACHED = 0.95  # of what relations let a cell reach is asked for, where that is less than drawn


@dataclass(frozen=True, eq=False)
class Draw:
    """Drawn ends of the intervals of sensitive cells, and of free ones that need protection if they get an interval.

    ``beyond`` are shares, from 0 to 1, by which widths of all cells grow that would end at the value, or at a bound that
    depends on it.
    """

    problem: Problem
    cells: IntArray
    ends: Ends
    beyond: FloatArray
    tick: float | None  # of which all ends are multiples

    @classmethod
    def of(cls, problem: Problem, treatment: Treatment, rounded: bool, rng: np.random.Generator) -> Draw:
        levels = strictest(problem)
        due = (problem.status == Status.PRIMARY) | ((problem.status == Status.FREE) & levels.any(axis=0))
        cells = np.flatnonzero(due & ~treatment.fixed)
        digits = digits_of(problem.table.value) if rounded else None
        known = sign_bounds(problem)[:, cells]
        tick = None if digits is None else 10.0**-digits
        ends = drawn_ends(problem.table.value[cells], levels[:, cells], known, tick, rng)
        return cls(problem, cells, ends, rng.random((2, len(problem))), tick)

    def central(self, lower: FloatArray, upper: FloatArray) -> tuple[IntArray, float]:
        """Places of sensitive cells whose values lie in the middle fifth of their intervals, and how many are expected to."""
        wide = upper[self.cells] - lower[self.cells]
        inner = (self.problem.status[self.cells] == Status.PRIMARY) & np.isfinite(wide) & (wide > 0)
        below = (self.problem.table.value - lower)[self.cells]
        central = np.abs(below[inner] / wide[inner] - 0.5) < CENTRAL_HALF_WIDTH
        return np.flatnonzero(inner)[central], 2 * CENTRAL_HALF_WIDTH * float(inner.sum())

    def excess(self, lower: FloatArray, upper: FloatArray) -> float:
        """How many more values lie in the middle fifth than were drawn there, or are expected; not above 0 if few enough do."""
        central, expected = self.central(lower, upper)
        drawn, _ = self.central(*self.by_cell)
        refused = expected + MAX_STANDARD_DEVIATIONS * expected**0.5  # by publish, if there are more
        return float(len(central) - max(min(len(drawn), refused), expected))

    @property
    def by_cell(self) -> Ends:
        """The drawn ends by cell; without end where nothing is drawn."""
        lower, upper = np.full(len(self.problem), -np.inf), np.full(len(self.problem), np.inf)
        lower[self.cells], upper[self.cells] = self.ends
        return lower, upper

    def excess_of_hits(self, lower: FloatArray, upper: FloatArray) -> float:
        """The same of middles that are good guesses, or of the middle fifth where these are more."""
        cells = self.cells[self.problem.status[self.cells] == Status.PRIMARY]
        value, drawn = self.problem.table.value[cells], self.by_cell
        hits, expected = midpoint_hits(value, lower[cells], upper[cells], self.tick)
        before, _ = midpoint_hits(value, drawn[0][cells], drawn[1][cells], self.tick)
        most = max(float(before.sum()), max(expected, 1.0) + TOLERATED * expected**0.5)
        return float(max(self.excess(lower, upper), hits.sum() - most))

    def redrawn(self, found: Protection, treatment: Treatment, rounded: bool, rng: np.random.Generator) -> Draw | None:
        """With other intervals for some of the cells that came to lie in the middle of theirs; None if few enough did.

        Where sensitive cells add up with each other, one cell's interval has to make up for another's, and values get nearer to
        the middles than they were drawn. As many are drawn anew as are too many.
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
        """How far below and above true values the intervals reach."""
        value = self.problem.table.value[self.cells]
        return np.asarray(np.maximum(np.stack([value - self.ends[0], self.ends[1] - value]), 0.0))

    @property
    def halves(self) -> FloatArray:
        """Half the width below and above, for when it is not yet known which cells may move."""
        half = (self.ends[1] - self.ends[0]) / 2
        return np.stack([half, half])

    def placed(
        self, sides: Sides, treatment: Treatment, barred: BoolArray, run: Run, widths: FloatArray | None = None
    ) -> Placement:
        """The congruent table nearest to the middles of the drawn intervals; with ``widths`` cells move no farther than these."""
        problem, value = self.problem, self.problem.table.value
        own = problem.status[self.cells] == Status.PRIMARY
        known = sign_bounds(problem)[:, self.cells]
        own &= ~at_known_bounds(self.ends, known)
        cells, lower, upper = self.cells[own], self.ends[0][own], self.ends[1][own]
        low, high = _limits(problem, treatment, barred, widths)
        low[cells], high[cells] = (
            np.maximum(low[cells], lower - value[cells]),
            np.minimum(high[cells], upper - value[cells]),
        )
        wanted = np.zeros(len(problem))
        wanted[cells] = np.clip((lower + upper) / 2 - value[cells], low[cells], high[cells])
        weight = sides.weights(problem).min(axis=0)
        usual = float(np.median(weight[weight > 0])) if np.any(weight > 0) else 1.0
        weight = np.where(problem.status == Status.SUPPRESSED, ROAM, np.maximum(weight / usual, ROAM))
        unit = float(np.median(upper - lower)) if len(cells) else 1.0
        weight[cells] = FIRST * float(weight.max()) * unit / (upper - lower)
        shift = _nearest(problem, low / unit, high / unit, wanted / unit, weight, run) * unit
        shift[np.abs(shift) < STILL * unit] = 0.0
        cover = np.stack([np.maximum(shift, 0.0), np.maximum(-shift, 0.0)])
        drawn = np.zeros(cover.shape)
        sensitive = problem.status[self.cells] == Status.PRIMARY
        centre = (value + shift)[self.cells]
        drawn[:, self.cells[sensitive]] = np.stack([centre - self.ends[0], self.ends[1] - centre])[:, sensitive]
        return Placement(problem, shift, cover, drawn, sign_bounds(problem), self.beyond)

    def asked(self, levels: FloatArray, treatment: Treatment, barred: BoolArray, run: Run) -> Problem:
        """The problem with these levels down and up, as far as relations and what attackers know let cells reach at all.

        Against nobody less is asked for than the problem's own levels.
        """
        problem, value = self.problem, self.problem.table.value
        wanted = []
        for who in problem.attackers():
            own = problem.levels(who).copy()
            slack = np.stack([value - who.lower, who.upper - value])[:, self.cells]
            own[:2, self.cells] = np.maximum(own[:2, self.cells], np.minimum(levels, slack))
            wanted.append(own)
        asked = _with_levels(problem, wanted)
        told = open_table(asked, treatment, barred)
        seen = audit(asked, told, intervals=False, executor=run.executor)
        exposed = np.unique(seen.cell[~seen.safe])
        if len(exposed):
            seen = audit(asked, told, cells=exposed, executor=run.executor)
            for number, cell, lower, upper in zip(seen.attacker, seen.cell, seen.lower, seen.upper, strict=True):
                own = problem.levels(problem.attackers()[number])[:2, cell]
                reach = REACHED * np.array([value[cell] - lower, upper - value[cell]])
                wanted[number][:2, cell] = np.maximum(own, np.minimum(wanted[number][:2, cell], reach))
            asked = _with_levels(problem, wanted)
        return asked


def _limits(
    problem: Problem, treatment: Treatment, barred: BoolArray, widths: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """How far the values of all cells may move down and up: within what all attackers know, and what is told in any case."""
    value = problem.table.value
    low = np.max([who.lower for who in problem.attackers()], axis=0) - value
    high = np.min([who.upper for who in problem.attackers()], axis=0) - value
    low = np.where(treatment.fixed, np.maximum(low, treatment.lower - value), low)
    high = np.where(treatment.fixed, np.minimum(high, treatment.upper - value), high)
    if widths is not None:
        low, high = np.maximum(low, -widths[DOWN]), np.minimum(high, widths[UP])
    still = (problem.status == Status.PUBLISHED) | barred
    return np.where(still, 0.0, np.minimum(low, 0.0)), np.where(still, 0.0, np.maximum(high, 0.0))


def strictest(problem: Problem) -> FloatArray:
    """Levels down, up and sliding against whoever each cell must be protected from most."""
    return np.asarray(np.max([problem.levels(who) for who in problem.attackers()], axis=0))


def _with_levels(problem: Problem, levels: list[FloatArray]) -> Problem:
    others = tuple(replace(who, levels=own) for who, own in zip(problem.others, levels[1:], strict=True))
    return problem.with_columns(lower=levels[0][0], upper=levels[0][1], sliding=levels[0][2], others=others)


def _nearest(
    problem: Problem, low: FloatArray, high: FloatArray, wanted: FloatArray, weight: FloatArray, run: Run
) -> FloatArray:
    """The shifts nearest to those wanted that keep all relations; none at all if the time is up."""
    cells = np.flatnonzero(low < high)
    rows = sparse.csr_array(problem.table.relations[:, cells])
    rows = sparse.csr_array(rows[np.diff(rows.indptr) > 0])
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
