"""The method ``hypercube``: boxes of cells in each table of a hierarchy, then ``kelly`` for the complete one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from discreet.arrays import DOWN, UP
from discreet.errors import NoSafePatternError
from discreet.inference.boxes import LEVEL_FACTOR, Boxes
from discreet.inference.subtables import Subtable
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.pattern import Pattern, completed
from discreet.methods.suppress.top_down import TABLES_TIME_SHARE, Answer, Subproblem, TopDown, needs
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection


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
    """The suppressed cells of a table so far, and the changes that its boxes need."""

    def __init__(self, part: Subproblem) -> None:
        problem, attackers = part.problem, part.problem.attackers()
        relations, value = problem.table.relations, problem.table.value
        whole = Subtable(np.arange(len(problem)), np.arange(relations.shape[0]), part.at)
        self.boxes = Boxes(relations, [whole])
        # Down and up: the least slack and the largest levels over all attackers.
        self.slack = np.min([[value - attacker.lower, attacker.upper - value] for attacker in attackers], axis=0)
        self.slack[:, problem.status == Status.PUBLISHED] = 0.0
        lower, upper, sliding = problem.strictest
        self.level = np.stack([lower, np.maximum(upper, sliding - lower)])
        self.suppressed = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.price = np.where(self.suppressed, 0.0, problem.cost)
        self.need = np.zeros((2, len(problem)))

    def protect(self, p: int) -> bool:
        """Suppress the cheapest box around a cell; False if no box has enough slack."""
        down, up = self.level[:, p].tolist()
        box = self.boxes.around(p, (down, up), self.price, self.slack)
        if box is None:
            return False
        self.suppressed[box.cells] = True
        self.price[box.cells] = 0.0
        along = box.amount > 0
        down, up = down * LEVEL_FACTOR, up * LEVEL_FACTOR
        for moved, low, high in ((box.cells[along], down, up), (box.cells[~along], up, down)):
            self.need[DOWN, moved] = np.maximum(self.need[DOWN, moved], low)
            self.need[UP, moved] = np.maximum(self.need[UP, moved], high)
        return True
