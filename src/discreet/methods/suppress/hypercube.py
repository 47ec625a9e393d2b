"""Each table of a hierarchy by boxes of cells that move together; then what they lack together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import Pattern, together
from discreet.methods.suppress.top_down import HALF, Answer, Parts, Subproblem, needs
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection

SPARSE = 100  # times as many places as cells: the breakdowns are no dimensions, but many groupings of the same
ROOM = 1 + 1e-9  # a box has so much more than the level


@dataclass(frozen=True)
class Hypercube:
    """Repsilber (1994), Giessing (2001): a sensitive cell is one corner of a box whose corners move up and down in turn.

    The cheapest such box is suppressed, table by table from the top down. What boxes cannot do is left to ``kelly``.
    """

    name = "hypercube"
    traits = Traits(takes_start=True, splits=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        parts = Parts(problem, run)
        parts.protect(by_boxes, run.budget.share(HALF))
        return together(problem, self.name, run.beginning(parts.suppressed))


def by_boxes(part: Subproblem) -> Answer:
    """The cheapest box around each cell that needs one, the largest requirement first."""
    boxes, problem = _Boxes(part), part.problem
    everybody = problem.attackers()
    done = np.zeros(len(problem), dtype=bool)
    stuck = False
    while True:  # cells suppressed on the way may need protection, too
        protected = np.any([problem.protected(who, boxes.suppressed) for who in everybody], axis=0)
        left = np.flatnonzero(protected & ~done)
        if not len(left):
            break
        for p in left[np.argsort(-boxes.level[:, left].max(axis=0), kind="stable")].tolist():
            stuck |= not boxes.protect(p)
            done[p] = True
    if not stuck:
        return Answer(boxes.suppressed, boxes.need)
    pattern = Pattern(problem, part.seed, start=boxes.suppressed)
    try:
        pattern.grow(Run(budget=Budget(part.seconds)))
    except NoSafePatternError:  # not in this table or in time, perhaps in all together
        return Answer(boxes.suppressed, boxes.need)
    return Answer(pattern.suppressed, np.maximum(boxes.need, needs(part, pattern.suppressed)))


class _Boxes:
    """A table as a grid, and what is suppressed in it so far."""

    def __init__(self, part: Subproblem) -> None:
        problem, everybody = part.problem, part.problem.attackers()
        self.at = part.at
        self.columns = sparse.csc_array(problem.table.relations)
        value = problem.table.value
        # Down and up: what the best informed attacker leaves, and what the most demanding levels ask for.
        self.slack = np.min([[value - who.lower, who.upper - value] for who in everybody], axis=0)
        self.slack[:, problem.status == Status.PUBLISHED] = 0.0
        lower, upper, sliding = np.max([problem.levels(who) for who in everybody], axis=0)
        self.level = np.stack([lower, np.maximum(upper, sliding - lower)]) * ROOM
        self.suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.price = np.where(self.suppressed, 0.0, problem.cost)
        self.need = np.zeros((2, len(problem)))
        shape = self.at.max(axis=1) + 1
        self.is_grid = bool(np.prod(shape, dtype=float) <= SPARSE * len(problem))
        if self.is_grid:
            self.cell = np.full(shape, -1)
            self.cell[tuple(self.at)] = np.arange(len(problem))

    def protect(self, p: int) -> bool:
        """Hide the cheapest box around a cell; False if there is none with enough slack."""
        down, up = self.level[:, p]
        with_it = (self.slack[UP] >= up) & (self.slack[DOWN] >= down)
        against = (self.slack[DOWN] >= up) & (self.slack[UP] >= down)
        if not with_it[p] or not self.is_grid:
            return False
        # The last entry stands for cells that are not there.
        along = np.append(np.where(with_it, self.price, np.inf), np.inf)
        opposed = np.append(np.where(against, self.price, np.inf), np.inf)
        x = tuple(self.at[:, p].tolist())
        dims = range(len(x))
        flips = [np.where((np.arange(n) == 0) | (x[d] == 0), 1, -1) for d, n in enumerate(self.cell.shape)]
        total = np.zeros(self.cell.shape)
        for moved in chain.from_iterable(combinations(dims, size) for size in range(1, len(x) + 1)):
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
        """Hide a box between two corners, if it keeps all relations."""
        dims = range(len(x))
        corners, signs = [p], [1.0]
        for moved in chain.from_iterable(combinations(dims, size) for size in range(1, len(x) + 1)):
            corners.append(int(self.cell[tuple(y[d] if d in moved else x[d] for d in dims)]))
            signs.append(float(np.prod([flips[d][y[d]] for d in moved])))
        cells, sign = np.array(corners), np.array(signs)
        if np.any(self.columns[:, cells] @ sign):
            return False
        self.suppressed[cells] = True
        self.price[cells] = 0.0
        along = sign > 0
        down, up = self.level[:, p]
        self._needs(cells[along], down, up)
        self._needs(cells[~along], up, down)
        return True

    def _needs(self, cells: IntArray, down: float, up: float) -> None:
        self.need[DOWN, cells] = np.maximum(self.need[DOWN, cells], down)
        self.need[UP, cells] = np.maximum(self.need[UP, cells], up)
