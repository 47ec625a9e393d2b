"""How far the columns of one connected component can move: as few linear programs as possible."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, SIGN, UP, BoolArray, FloatArray, IntArray
from discreet.inference import tolerances
from discreet.inference.congruent_tables import (
    CandidateDeviation,
    CongruentTables,
    largest_multiple,
    unbounded_directions,
)
from discreet.inference.deviations import ComponentFindings, Deviation
from discreet.inference.integer_system import MAX_INTEGER_SUM, IntegerSystem
from discreet.inference.max_flow import Network, fits_integers, network, search_network

SIMPLEX_STEPS_PER_ROUND = 5_000  # of the simplex method between looks at what a burst has shown so far
FIRST_SIMPLEX_STEPS = (
    1_000  # of the simplex method in which a verdict needs its first corners, or tables near the truth are quicker
)
TARGETS_PER_CHUNK = (
    128  # single programs on one model, whatever the number of workers: the same answers to the last bit
)
MULTIPLIER_DENOMINATORS = (2520, 2**40)  # multipliers are simple fractions, and else rounded
MIN_NETWORK_WORK = 10_000  # columns × targets from which on a compiled network algorithm is worth loading


@dataclass(frozen=True, eq=False, repr=False)
class Component:
    """Columns that can only move together, and what is asked about them.

    Several audited cells may be one column: ``targets`` may name a column more than once, with other levels each time.
    """

    relations: sparse.csr_array
    low: FloatArray
    high: FloatArray
    targets: IntArray
    level: FloatArray  # (2, targets): how far each should get down and up
    sliding: FloatArray  # (targets,): how far in both directions together
    grain: float  # of the numbers in the table: 1 for whole numbers, 0 if they are not round at all
    intervals: bool  # whether to go as far as possible, or only as far as the verdict needs
    certify: bool  # whether to keep the tables that show it


def survey(component: Component, before: ComponentFindings | None = None) -> ComponentFindings:
    """Settle as many targets as possible together: by network flows, or by pushing many of them at once.

    What was found ``before``, in parts, holds; networks have none.
    """
    c = component
    if before is None:
        net = as_network(c)
        if net is not None:
            level, sliding = np.zeros((2, len(c.low))), np.zeros(len(c.low))
            for side in (DOWN, UP):
                np.maximum.at(level[side], c.targets, c.level[side])
            np.maximum.at(sliding, c.targets, c.sliding)
            targets = np.unique(c.targets)
            return search_network(net, c.low, c.high, targets, level, sliding, c.intervals, c.certify)
    explorer = _Explorer(c, before)
    if before is not None and not explorer.open().any():
        return before
    for direction in unbounded_directions(c.relations, c.low, c.high, np.unique(c.targets)):
        explorer.learn_direction(direction)
    explorer.burst()
    return explorer.found()


def as_network(c: Component) -> Network | None:
    """The network it is, if that helps."""
    return (
        network(c.relations)
        if len(c.targets) * len(c.low) >= MIN_NETWORK_WORK and fits_integers(c.low, c.high)
        else None
    )


def initial_findings(component: Component) -> ComponentFindings:
    """What is known before any search."""
    return _Explorer(component).found()


def open_targets(component: Component, found: ComponentFindings) -> IntArray:
    """Which targets the survey left open."""
    return np.flatnonzero(_Explorer(component, found).open().any(axis=0))


def settle(component: Component, found: ComponentFindings, chosen: IntArray, near: bool = False) -> ComponentFindings:
    """Settle the chosen targets one by one; of ``tables`` only those are returned that were not found before.

    With ``near`` tables next to the truth are tried first, not only after a corner that could not be proven.
    """
    c = component
    some = replace(c, targets=c.targets[chosen], level=c.level[:, chosen], sliding=c.sliding[chosen])
    explorer = _Explorer(some, found)
    explorer.intricate = near
    explorer.one_by_one()
    new = explorer.tables[len(found.tables) :]
    return ComponentFindings(explorer.reach, explorer.edge, new, explorer.shown)


def reaches_level(reach: FloatArray, level: FloatArray) -> BoolArray:
    """Whether a reach is enough for a level: with the tolerance for rounding error."""
    return np.asarray(reach >= level * (1 - tolerances.LEVEL_TOLERANCE))


def _enough(c: Component, reach: FloatArray) -> BoolArray:
    """Per side: the level is reached, and so is the sliding level by both together."""
    return reaches_level(reach, c.level) & reaches_level(reach.sum(axis=0), c.sliding)


class _Explorer:
    """What has been shown so far about one component."""

    def __init__(self, component: Component, before: ComponentFindings | None = None) -> None:
        self.c = c = component
        self.edge = np.stack([-c.low, c.high]) if before is None else before.edge.copy()
        self.reach = np.zeros((2, len(c.low))) if before is None else before.reach.copy()
        self.shown = np.full((2, len(c.low)), -1) if before is None else before.shown.copy()
        self.tables = [] if before is None else list(before.tables)
        self.starts = [] if before is None else list(before.starts)
        self.needed = np.maximum(c.level.max(axis=0, initial=0.0), c.sliding / 2)
        self.unit = _typical(self.needed, c.low, c.high)
        self.intricate = False  # whether corners take long to find, or cannot be proven

    # -- what is known -----------------------------------------------------------------------------------------

    def open(self) -> BoolArray:
        """Which targets are not settled yet, per side."""
        c = self.c
        reach, edge = self.reach[:, c.targets], self.edge[:, c.targets]
        left: BoolArray = reach < edge * (1 - tolerances.LEVEL_TOLERANCE)
        if not c.intervals:
            out_of_reach = 1 - 2 * tolerances.LEVEL_TOLERANCE
            lost = np.any(edge < c.level * out_of_reach, axis=0) | (edge.sum(axis=0) < c.sliding * out_of_reach)
            left &= ~lost & ~_enough(c, reach)
        return left

    def learn(self, push: CandidateDeviation) -> None:
        """Credit every open column with its move, forwards and, as far as the bounds allow, backwards."""
        c = self.c
        if not push.proven:
            return
        moving = np.flatnonzero(push.difference)
        move = push.difference[moving]
        # A table on a grid may go a little farther than that.
        ahead, back = (largest_multiple(way * move, c.low[moving], c.high[moving]) for way in (1, -1))
        number = len(self.tables) if c.certify else -1
        open_columns = np.zeros(self.reach.shape, dtype=bool)
        side_of, target = np.nonzero(self.open())
        open_columns[side_of, c.targets[target]] = True
        for multiple in (ahead if ahead < np.inf else 1.0, -back if back < np.inf else 0.0):
            for side, sign in enumerate(SIGN):
                farther = np.minimum(sign * multiple * move, self.edge[side, moving])
                better = open_columns[side, moving] & (farther > self.reach[side, moving] * (1 + 1e-12))
                at = moving[better]
                self.reach[side, at] = farther[better]
                self.shown[side, at] = number
        if c.certify and np.any(self.shown == number):
            self.tables.append(Deviation(moving, move))

    def learn_direction(self, direction: FloatArray) -> None:
        """Credit the cells that a direction without end moves."""
        for side, sign in enumerate(SIGN):
            at = np.flatnonzero(sign * direction > 0)
            self.reach[side, at] = np.inf
            self.shown[side, at] = len(self.tables) if self.c.certify else -1
        if self.c.certify:
            moving = np.flatnonzero(direction)
            self.tables.append(Deviation(moving, direction[moving]))

    def found(self) -> ComponentFindings:
        """The outcome, with the tables that are still needed."""
        wanted = np.zeros(self.shown.shape, dtype=bool)
        wanted[:, self.c.targets] = True
        shown = np.where(wanted, self.shown, -1)
        used = np.unique(shown[shown >= 0])
        place = np.full(len(self.tables) + 1, -1)  # the last entry stands for -1
        place[used] = np.arange(len(used))
        tables = [self.tables[k] for k in used]
        return ComponentFindings(self.reach, self.edge, tables, place[shown], self.starts)

    # -- many at once ------------------------------------------------------------------------------------------

    def burst(self) -> None:
        """Push all open targets up together, then down, as long as that settles more than single programs would."""
        worth = 15 if self.c.intervals else 3
        sides = {UP, DOWN}
        tables = None
        while sides:
            for side in (UP, DOWN):
                if side not in sides:
                    continue
                before = self.open()
                if before[side].sum() < worth:
                    sides.discard(side)
                    continue
                tables = tables or self._program()
                if not tables.grid.is_whole:
                    return
                columns, goal = self._goals(before, side)
                finite = np.isfinite(goal)
                weight = self.unit / np.where(finite, goal, 1e3 * max(self.unit, goal[finite].max(initial=0.0)))
                pushes = tables.burst(columns, SIGN[side], goal, weight, SIMPLEX_STEPS_PER_ROUND)
                for push in pushes:
                    self.learn(push)
                    if not push.proven:  # and neither will be what follows from there
                        break
                pushes.close()
                self.starts.append(tables.here(push))
                if before.sum() - self.open().sum() < worth:
                    sides.discard(side)

    def _goals(self, left: BoolArray, side: int) -> tuple[IntArray, FloatArray]:
        """The columns of open targets, and how far each should go: in a verdict no farther than it needs."""
        c = self.c
        columns, at = np.unique(c.targets[left[side]], return_inverse=True)
        goal = self.edge[side, columns]
        if not c.intervals:
            missing = np.maximum(c.level[side], c.sliding - self.reach[1 - side, c.targets])[left[side]]
            # Round goals make round tables, which are easier to certify.
            need = np.zeros(len(columns))
            np.maximum.at(need, at, np.ceil(missing / c.grain) * c.grain if c.grain else missing)
            goal = np.minimum(goal, need)
        return columns, goal

    # -- one at a time -----------------------------------------------------------------------------------------

    def one_by_one(self) -> None:
        """The largest requirement first: what moves it moves others, too."""
        tables = self._program()
        if not tables.grid.is_whole:
            return
        for k in np.argsort(-self.needed, kind="stable").tolist():
            for side in (DOWN, UP):
                left = self.open()
                if left[side, k]:
                    left[:, np.arange(len(self.needed)) != k] = False
                    (column,), (goal,) = self._goals(left, side)
                    self._settle(tables, k, int(column), side, float(goal))

    def _settle(self, tables: CongruentTables, k: int, column: int, side: int, goal: float) -> None:
        c = self.c
        if self.intricate:
            self._go(tables, k, column, side, goal)
            if not self.open()[side, k]:
                return
        first = not c.intervals and not self.intricate
        push = tables.push(column, SIGN[side], goal, self.starts, FIRST_SIMPLEX_STEPS if first else None)
        self.learn(push)
        if first and not (push.proven and push.optimal):
            self.intricate = True
            self._go(tables, k, column, side, goal)
            if self.open()[side, k] and not push.optimal:
                push = tables.push(column, SIGN[side], goal, self.starts)
                self.learn(push)
        if not push.optimal or not self.open()[side, k]:
            return
        self._bound(column, side, tables.grid, push.dual)
        if not push.proven and self.open()[side, k]:  # an intricate corner: a simple table may go as far
            self._go(tables, k, column, side, float(min(goal, self.edge[side, column])))
        stake = max(c.level[side, k], c.sliding[k] / 2)
        for unit, slack in _ladder(stake, self.edge[side, column]):
            if not self.open()[side, k]:
                return
            near = np.maximum(c.low, -slack), np.minimum(c.high, slack)
            self.learn(CongruentTables(c.relations, *near, unit).push(column, SIGN[side], goal))

    def _go(self, tables: CongruentTables, k: int, column: int, side: int, goal: float) -> None:
        """The table nearest to the truth; if none reaches the level, one within the tolerance of it: levels often just fit."""
        for far in (goal, goal * (1 - tolerances.LEVEL_TOLERANCE / 2)):
            if self.open()[side, k]:
                self.learn(tables.shortest(column, SIGN[side], far))

    def _bound(self, column: int, side: int, grid: IntegerSystem, dual: FloatArray) -> None:
        """How far a column goes at most, by the relations times these multipliers: all others do their best for it.

        Any multipliers give a bound. Rounded, they are whole multiples of a fraction, so that columns cancel out exactly.
        """
        c = self.c
        for parts in MULTIPLIER_DENOMINATORS:
            times = np.rint(dual * parts)
            if not np.abs(times).max(initial=0.0) * grid.tallest < MAX_INTEGER_SUM - parts:
                return
            left = -(grid.relations.T @ times.astype(np.int64))
            left[column] += int(SIGN[side]) * parts
            at = np.flatnonzero(left)
            terms = left[at] / parts * np.where(left[at] > 0, c.high[at], c.low[at])
            limit = float(terms.sum() * (1 + tolerances.ROUNDING_ERROR))
            self.edge[side, column] = max(self.reach[side, column], min(self.edge[side, column], limit))
            if self.reach[side, column] >= self.edge[side, column] * (1 - tolerances.LEVEL_TOLERANCE):
                return

    def _program(self) -> CongruentTables:
        return CongruentTables(self.c.relations, self.c.low, self.c.high, self.unit)


def _ladder(stake: float, edge: float) -> list[tuple[float, float]]:
    """Units to try again in, and how far cells may move: moves far larger than what is at stake blur it."""
    own = [(edge, np.inf)] if 0 < edge < np.inf else []
    return [*own, (stake, np.inf), (stake, 1e9 * stake), (stake, 1e6 * stake)] if stake > 0 else own


def _typical(needed: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """The unit of a program: the usual level, or where there are none the usual slack."""
    sizes = needed if np.any(needed > 0) else np.concatenate([-low, high])
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    return float(np.median(sizes)) if len(sizes) else 1.0
