"""How far the columns of one connected component can deviate, by as few linear programs as possible."""

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
    typical_size,
    unbounded_directions,
)
from discreet.inference.deviations import ComponentFindings, Deviation, tables_in_use
from discreet.inference.integer_system import MAX_INTEGER_SUM, IntegerSystem
from discreet.inference.max_flow import Network, fits_integers, network, search_network

SIMPLEX_STEPS_PER_ROUND = 5_000  # after which the vertex of a program for many columns is examined
FIRST_SIMPLEX_STEPS = 1_000  # for a verdict; if they do not suffice, the nearest table is usually found faster
TARGETS_PER_CHUNK = 128  # targets per task; fixed, so that results do not depend on the number of workers
MULTIPLIER_DENOMINATORS = (2520, 2**40)  # 2520 is a multiple of 1 to 10, the usual denominators of multipliers
MIN_NETWORK_WORK = 10_000  # columns × targets; with less, loading the compiled network algorithm does not pay


@dataclass(frozen=True, eq=False, repr=False)
class Component:
    """The columns of one connected component, and the deviations required of its targets."""

    relations: sparse.csr_array
    low: FloatArray
    high: FloatArray
    targets: IntArray  # columns; one is listed several times if audited cells with different levels were merged into it
    level: FloatArray  # (2, targets): required deviation down and up
    sliding: FloatArray  # (targets,): required sum of the deviations down and up
    value_unit: float  # unit of the last digit of the values in the table; 0 if they have too many digits
    intervals: bool  # whether to compute the farthest deviations, or only what the verdict needs
    certify: bool  # whether to keep the deviations that prove the result


def survey(component: Component, before: ComponentFindings | None = None) -> ComponentFindings:
    """Settle as many targets as possible together: by network flows, or by programs with many targets in the objective.

    ``before`` contains findings from neighbourhoods; if it is given, the component is not tried as a network.
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
    search = _ComponentSearch(c, before)
    if before is not None and not search.open().any():
        return before
    for direction in unbounded_directions(c.relations, c.low, c.high, np.unique(c.targets)):
        search.credit_direction(direction)
    search.maximize_together()
    return search.findings()


def as_network(c: Component) -> Network | None:
    """The component as a network; None if it is not one, or too small for the network algorithm to pay."""
    if len(c.targets) * len(c.low) < MIN_NETWORK_WORK or not fits_integers(c.low, c.high):
        return None
    return network(c.relations)


def initial_findings(component: Component) -> ComponentFindings:
    """What is known before any search."""
    limit = np.stack([-component.low, component.high])
    return ComponentFindings(np.zeros(limit.shape), limit, [], np.full(limit.shape, -1))


def open_targets(component: Component, found: ComponentFindings) -> IntArray:
    """The positions of the targets that are not settled yet."""
    return np.flatnonzero(_ComponentSearch(component, found).open().any(axis=0))


def settle(
    component: Component, found: ComponentFindings, chosen: IntArray, nearest_first: bool = False
) -> ComponentFindings:
    """Settle the chosen targets one by one; the result contains only the ``tables`` that are not in ``found``.

    Vertices of a program are tried first, and if one takes many steps or cannot be proven, the tables nearest to the true one.
    With ``nearest_first`` these are tried first.
    """
    c = component
    of_chosen = replace(c, targets=c.targets[chosen], level=c.level[:, chosen], sliding=c.sliding[chosen])
    search = _ComponentSearch(of_chosen, found)
    search.vertices_are_hard = nearest_first
    search.maximize_one_by_one()
    return ComponentFindings(search.reach, search.limit, search.tables[len(found.tables) :], search.shown)


def reaches_level(reach: FloatArray, level: FloatArray) -> BoolArray:
    """Whether a deviation reaches a level, up to rounding error."""
    return np.asarray(reach >= level * (1 - tolerances.LEVEL_TOLERANCE))


class _ComponentSearch:
    """The findings about one component while they are collected."""

    def __init__(self, component: Component, before: ComponentFindings | None = None) -> None:
        self.component = c = component
        found = before.copy() if before else initial_findings(c)
        self.reach, self.limit, self.shown = found.reach, found.limit, found.shown
        self.tables, self.starts = found.tables, list(found.starts)
        self.needed = np.maximum(c.level.max(axis=0, initial=0.0), c.sliding / 2)
        # The median level, or if no level is required the median slack.
        self.unit = typical_size(self.needed if np.any(self.needed > 0) else np.concatenate([-c.low, c.high]))
        self.vertices_are_hard = False  # whether vertices take many steps to find, or cannot be proven

    def open(self) -> BoolArray:
        """Per side and target, whether it is not settled yet."""
        c = self.component
        reach, limit = self.reach[:, c.targets], self.limit[:, c.targets]
        is_open: BoolArray = reach < limit * (1 - tolerances.LEVEL_TOLERANCE)
        if not c.intervals:
            share = 1 - 2 * tolerances.LEVEL_TOLERANCE
            exposed = np.any(limit < c.level * share, axis=0) | (limit.sum(axis=0) < c.sliding * share)
            reached = reaches_level(reach, c.level) & reaches_level(reach.sum(axis=0), c.sliding)
            is_open &= ~exposed & ~reached
        return is_open

    def credit(self, candidate: CandidateDeviation) -> None:
        """Update the reach of all open columns by the largest multiples of a proven deviation and of its reverse."""
        c = self.component
        if not candidate.proven:
            return
        columns = np.flatnonzero(candidate.difference)
        deviation = candidate.difference[columns]
        # Slacks were rounded inwards to the grid, so a multiple above 1 may be feasible. See credit_direction for infinite ones.
        forwards, backwards = (largest_multiple(sign * deviation, c.low[columns], c.high[columns]) for sign in (1, -1))
        number = len(self.tables) if c.certify else -1
        is_open = np.zeros(self.reach.shape, dtype=bool)
        side_of, target = np.nonzero(self.open())
        is_open[side_of, c.targets[target]] = True
        for multiple in (forwards if forwards < np.inf else 1.0, -backwards if backwards < np.inf else 0.0):
            for side, sign in enumerate(SIGN):
                reach = np.minimum(sign * multiple * deviation, self.limit[side, columns])
                better = is_open[side, columns] & (reach > self.reach[side, columns] * (1 + 1e-12))
                self.reach[side, columns[better]] = reach[better]
                self.shown[side, columns[better]] = number
        if c.certify and np.any(self.shown == number):
            self.tables.append(Deviation(columns, deviation))

    def credit_direction(self, direction: FloatArray) -> None:
        """Record that an unbounded direction takes its columns infinitely far."""
        for side, sign in enumerate(SIGN):
            at = np.flatnonzero(sign * direction > 0)
            self.reach[side, at] = np.inf
            self.shown[side, at] = len(self.tables) if self.component.certify else -1
        if self.component.certify:
            columns = np.flatnonzero(direction)
            self.tables.append(Deviation(columns, direction[columns]))

    def findings(self) -> ComponentFindings:
        """The findings, with only those deviations that prove the reach of a target."""
        is_target = np.zeros(self.shown.shape, dtype=bool)
        is_target[:, self.component.targets] = True
        used, shown = tables_in_use(np.where(is_target, self.shown, -1))
        return ComponentFindings(self.reach, self.limit, [self.tables[k] for k in used], shown, self.starts)

    # -- many targets in one program ---------------------------------------------------------------------------

    def maximize_together(self) -> None:
        """Maximize the sum of the deviations of all open targets, up and down in turn, as long as a program settles several."""
        # A program that settles fewer targets takes longer than a program for each of them.
        worthwhile = 15 if self.component.intervals else 3
        sides = {UP, DOWN}
        program = None
        while sides:
            for side in (UP, DOWN):
                if side not in sides:
                    continue
                before = self.open()
                if before[side].sum() < worthwhile:
                    sides.discard(side)
                    continue
                program = program or self._program()
                if not program.grid.is_integral:
                    return
                columns, goal = self._goals(before, side)
                finite = np.isfinite(goal)
                # Each deviation counts as a share of its goal; without a goal, of a thousand times the largest one.
                weight = self.unit / np.where(finite, goal, 1e3 * max(self.unit, goal[finite].max(initial=0.0)))
                candidates = program.maximize_sum(columns, SIGN[side], goal, weight, SIMPLEX_STEPS_PER_ROUND)
                for candidate in candidates:
                    self.credit(candidate)
                    if not candidate.proven:  # then later vertices of this program cannot be proven either
                        break
                candidates.close()
                self.starts.append(program.starting_vertex(candidate))
                if before.sum() - self.open().sum() < worthwhile:
                    sides.discard(side)

    def _goals(self, is_open: BoolArray, side: int) -> tuple[IntArray, FloatArray]:
        """The columns of the open targets on one side, and how far each should deviate: for a verdict only as far as required."""
        c = self.component
        columns, at = np.unique(c.targets[is_open[side]], return_inverse=True)
        goal = self.limit[side, columns]
        if not c.intervals:
            missing = np.maximum(c.level[side], c.sliding - self.reach[1 - side, c.targets])[is_open[side]]
            # Goals with few digits give deviations with few digits, which are easier to certify.
            required = np.zeros(len(columns))
            np.maximum.at(required, at, np.ceil(missing / c.value_unit) * c.value_unit if c.value_unit else missing)
            goal = np.minimum(goal, required)
        return columns, goal

    # -- one target per program --------------------------------------------------------------------------------

    def maximize_one_by_one(self) -> None:
        """Settle targets one by one, those with the largest levels first: their deviations often settle others, too."""
        program = self._program()
        if not program.grid.is_integral:
            return
        for k in np.argsort(-self.needed, kind="stable").tolist():
            for side in (DOWN, UP):
                is_open = self.open()
                if is_open[side, k]:
                    is_open[:, np.arange(len(self.needed)) != k] = False
                    (column,), (goal,) = self._goals(is_open, side)
                    self._settle(program, k, int(column), side, float(goal))

    def _settle(self, program: CongruentTables, k: int, column: int, side: int, goal: float) -> None:
        """Settle target ``k`` on one side, by other programs in turn as long as it is open; maybe none succeeds."""
        c = self.component
        if self.vertices_are_hard:
            self._credit_nearest(program, k, column, side, goal)
            if not self.open()[side, k]:
                return
        limited = not c.intervals and not self.vertices_are_hard
        candidate = program.maximize(column, SIGN[side], goal, self.starts, FIRST_SIMPLEX_STEPS if limited else None)
        self.credit(candidate)
        if limited and not (candidate.proven and candidate.optimal):
            self.vertices_are_hard = True
            self._credit_nearest(program, k, column, side, goal)
            if self.open()[side, k] and not candidate.optimal:
                candidate = program.maximize(column, SIGN[side], goal, self.starts)
                self.credit(candidate)
        if not candidate.optimal or not self.open()[side, k]:
            return
        self._tighten_limit(column, side, program.grid, candidate.dual)
        if not candidate.proven and self.open()[side, k]:  # deviations of few cells may reach as far, and can be proven
            self._credit_nearest(program, k, column, side, float(min(goal, self.limit[side, column])))
        required = max(c.level[side, k], c.sliding[k] / 2)
        for unit, max_slack in _units_and_slacks(required, self.limit[side, column]):
            if not self.open()[side, k]:
                return
            bounds = np.maximum(c.low, -max_slack), np.minimum(c.high, max_slack)
            self.credit(CongruentTables(c.relations, *bounds, unit).maximize(column, SIGN[side], goal))

    def _credit_nearest(self, program: CongruentTables, k: int, column: int, side: int, goal: float) -> None:
        """Try the nearest table that reaches the goal, then one that reaches it within the tolerance of levels."""
        for least in (goal, goal * (1 - tolerances.LEVEL_TOLERANCE / 2)):
            if self.open()[side, k]:
                self.credit(program.nearest_reaching(column, SIGN[side], least))

    def _tighten_limit(self, column: int, side: int, grid: IntegerSystem, dual: FloatArray) -> None:
        """Bound the deviation of a column by relations times dual values, rounded to fractions so that columns cancel out."""
        c = self.component
        for denominator in MULTIPLIER_DENOMINATORS:
            multipliers = np.rint(dual * denominator)
            if not np.abs(multipliers).max(initial=0.0) * grid.largest_column_sum < MAX_INTEGER_SUM - denominator:
                return
            left = -(grid.relations.T @ multipliers.astype(np.int64))
            left[column] += int(SIGN[side]) * denominator
            at = np.flatnonzero(left)
            terms = left[at] / denominator * np.where(left[at] > 0, c.high[at], c.low[at])
            bound = float(terms.sum() * (1 + tolerances.ROUNDING_ERROR))
            self.limit[side, column] = max(self.reach[side, column], min(self.limit[side, column], bound))
            if self.reach[side, column] >= self.limit[side, column] * (1 - tolerances.LEVEL_TOLERANCE):
                return

    def _program(self) -> CongruentTables:
        return CongruentTables(self.component.relations, self.component.low, self.component.high, self.unit)


def _units_and_slacks(required: float, limit: float) -> list[tuple[float, float]]:
    """Further units of the program, each with a largest slack: far larger slacks make the program inaccurate."""
    at_limit = [(limit, np.inf)] if 0 < limit < np.inf else []
    if not required > 0:
        return at_limit
    return [*at_limit, (required, np.inf), (required, 1e9 * required), (required, 1e6 * required)]
