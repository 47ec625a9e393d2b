"""The method ``hypercube``: boxes of cells in each table of a hierarchy, then ``kelly`` for the complete one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import Pattern, completed
from discreet.methods.suppress.top_down import TABLES_TIME_SHARE, Answer, Subproblem, TopDown, needs
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection

MAX_PLACES_PER_CELL = 100  # in a sparser grid the breakdowns are not dimensions but several groupings of the same cells
LEVEL_FACTOR = 1 + 1e-9  # a box moves a cell by slightly more than its level, so that rounding errors do not matter


@dataclass(frozen=True)
class Hypercube:
    """Repsilber (1994), Giessing (2001): a sensitive cell is a corner of a box whose corners move up and down alternately.

    The cheapest such box is suppressed, table by table from the top down. Cells that no box protects are left to ``kelly``.
    """

    name = "hypercube"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        tables = TopDown(problem, run)
        tables.protect(by_boxes, run.budget.share(TABLES_TIME_SHARE))
        return completed(problem, self.name, run.with_start(tables.suppressed))


def by_boxes(part: Subproblem) -> Answer:
    """The cheapest box around each cell that needs one, the largest requirement first."""
    boxes, problem = _Boxes(part), part.problem
    attackers = problem.attackers()
    done = np.zeros(len(problem), dtype=bool)
    failed = False
    while True:  # secondaries may need protection, too
        protected = np.any([problem.protected(attacker, boxes.suppressed) for attacker in attackers], axis=0)
        left = np.flatnonzero(protected & ~done)
        if not len(left):
            break
        for p in left[np.argsort(-boxes.level[:, left].max(axis=0), kind="stable")].tolist():
            failed |= not boxes.protect(p)
            done[p] = True
    if failed:
        pattern = Pattern(problem, part.seed, start=boxes.suppressed)
        with suppress(NoSafePatternError):  # not in this table, or not in time: left to all tables together
            pattern.grow(Run(budget=Budget(part.seconds)))
            return Answer(pattern.suppressed, np.maximum(boxes.need, needs(part, pattern.suppressed)))
    return Answer(boxes.suppressed, boxes.need)


class _Boxes:
    """A table as a grid, and its suppressed cells so far."""

    def __init__(self, part: Subproblem) -> None:
        problem, attackers = part.problem, part.problem.attackers()
        self.at = part.at
        self.columns = sparse.csc_array(problem.table.relations)
        value = problem.table.value
        # Down and up: the least slack and the largest levels over all attackers.
        self.slack = np.min([[value - attacker.lower, attacker.upper - value] for attacker in attackers], axis=0)
        self.slack[:, problem.status == Status.PUBLISHED] = 0.0
        lower, upper, sliding = problem.strictest
        self.level = np.stack([lower, np.maximum(upper, sliding - lower)]) * LEVEL_FACTOR
        self.suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.price = np.where(self.suppressed, 0.0, problem.cost)
        self.need = np.zeros((2, len(problem)))
        shape = self.at.max(axis=1) + 1
        self.is_grid = bool(np.prod(shape, dtype=float) <= MAX_PLACES_PER_CELL * len(problem))
        if self.is_grid:
            self.cell = np.full(shape, -1)
            self.cell[tuple(self.at)] = np.arange(len(problem))
            dims = range(len(shape))
            # The dimensions in which a corner of a box differs from the sensitive one.
            self.faces = [moved for size in dims for moved in combinations(dims, size + 1)]

    def protect(self, p: int) -> bool:
        """Suppress the cheapest box around a cell; False if no box has enough slack."""
        down, up = self.level[:, p]
        can_follow = (self.slack[UP] >= up) & (self.slack[DOWN] >= down)
        can_oppose = (self.slack[DOWN] >= up) & (self.slack[UP] >= down)
        if not can_follow[p] or not self.is_grid:
            return False
        # The last entry is for places without a cell.
        along = np.append(np.where(can_follow, self.price, np.inf), np.inf)
        opposed = np.append(np.where(can_oppose, self.price, np.inf), np.inf)
        x = tuple(self.at[:, p].tolist())
        dims = range(len(x))
        flips = [np.where((np.arange(n) == 0) | (x[d] == 0), 1, -1) for d, n in enumerate(self.cell.shape)]
        total = np.zeros(self.cell.shape)
        for moved in self.faces:
            corners = self.cell[tuple(slice(None) if d in moved else slice(x[d], x[d] + 1) for d in dims)]
            sign = np.ones([1] * len(x))
            for d in moved:
                sign = sign * flips[d].reshape([-1 if k == d else 1 for k in dims])
            total = total + np.where(sign > 0, along[corners], opposed[corners])
        for d in dims:
            total[tuple(x[d] if k == d else slice(None) for k in dims)] = np.inf
        y = np.unravel_index(int(np.argmin(total)), total.shape)
        return bool(np.isfinite(total[y])) and self._take(x, y, flips, p)

    def _take(self, x: tuple[int, ...], y: tuple[np.intp, ...], flips: list[IntArray], p: int) -> bool:
        """Suppress the box between two corners; False if its changes violate a relation."""
        dims = range(len(x))
        corners, signs = [p], [1.0]
        for face in self.faces:
            corners.append(int(self.cell[tuple(y[d] if d in face else x[d] for d in dims)]))
            signs.append(float(np.prod([flips[d][y[d]] for d in face])))
        cells, sign = np.array(corners), np.array(signs)
        if np.any(self.columns[:, cells] @ sign):
            return False
        self.suppressed[cells] = True
        self.price[cells] = 0.0
        along = sign > 0
        down, up = self.level[:, p]
        for moved, low, high in ((cells[along], down, up), (cells[~along], up, down)):
            self.need[DOWN, moved] = np.maximum(self.need[DOWN, moved], low)
            self.need[UP, moved] = np.maximum(self.need[UP, moved], high)
        return True
