"""Protect primaries one at a time by a minimum-cost linear program, then publish again what was not needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.audit.congruent import CongruentTables, components
from discreet.audit.propagate import propagate
from discreet.errors import NoSafePatternError, some
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import DOWN, SIGN, UP, Evidence, seek
from discreet.methods.suppress.mover import Mover
from discreet.problem import Problem, Status
from discreet.progress import Budget, Progress
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class Kelly:
    """Kelly, Golden & Assad (1992), as restated by Serpell et al. (2013).

    For the primary with the largest requirement, find the cheapest way to move it by its level while all relations
    hold, where cells hidden already move for free; hide every cell that moves. The congruent tables found on the way
    often show other primaries safe, which then need no program of their own.
    """

    name = "kelly"

    def protect(self, problem: Problem, *, seed: int, budget: Budget, progress: Progress) -> Protection:
        pattern = _Pattern(problem, seed)
        pattern.learn_what_protects_itself(budget, progress)
        order = np.argsort(-np.maximum(problem.lower, problem.upper)[problem.primaries], kind="stable")
        progress.stage("protect", len(order))
        for done, p in enumerate(problem.primaries[order].tolist()):
            if budget.over:
                raise NoSafePatternError(
                    f"The time limit ended with {done:,} of {len(order):,} primary cells protected: "
                    "there is no safe pattern yet. Allow more time."
                )
            pattern.protect(p)
            progress.update(done + 1, f"{int(pattern.hidden.sum()):,} hidden")
        hidden, status = eliminate(
            problem, pattern.hidden, pattern.evidence, seed=seed, budget=budget, progress=progress
        )
        solver = pattern.mover.model.name
        return suppress(
            problem, hidden, method=self.name, status=status, seconds=budget.spent, solver=solver, seed=seed
        )


class _Pattern:
    """The growing set of hidden cells, and what it is known to protect."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.hidden = np.isin(problem.status, (Status.PRIMARY, Status.HIDDEN))
        self.mover = Mover(problem, problem.status != Status.PUBLISHED, seed)
        self.evidence = Evidence(problem)
        # Ties between equally cheap patterns are broken by the seed, far below any real difference in cost.
        cost = problem.cost[self.mover.cells]
        least = float(cost[cost > 0].min()) if np.any(cost > 0) else 1.0
        self.price = np.maximum(cost, least * 1e-3) * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(cost))

    def learn_what_protects_itself(self, budget: Budget, progress: Progress) -> None:
        """Dense primaries protect each other: pushing them among themselves is far cheaper than a program for each."""
        problem, evidence = self.problem, self.evidence
        progress.stage("look", len(problem.primaries))
        done = 0
        for cells, relations in components(problem.table.relations, self.hidden):
            done += len(cells)
            tables = None
            low, high = propagate(relations, -evidence.down[cells], evidence.up[cells])
            for place, p in enumerate(cells.tolist()):
                for side, level in ((DOWN, problem.lower[p]), (UP, problem.upper[p])):
                    room = -low[place] if side == DOWN else high[place]
                    if budget.over or evidence.reaches(p, side, level) or room < level:
                        continue
                    tables = tables or CongruentTables(relations, low, high, float(level))
                    evidence.add(cells, tables.push(place, SIGN[side]).difference)
            progress.update(min(done, len(problem.primaries)))

    def protect(self, p: int) -> None:
        """Hide what it takes to give ``p`` its protection."""
        if self.evidence.suffices(p):
            return
        price = np.where(self.hidden[self.mover.cells], 0.0, self.price)
        moves = seek(self.problem, self.mover, self.evidence, p, price)
        if moves is None:
            label = self.problem.table.label(p)
            raise NoSafePatternError(
                f"No pattern protects {some([label])}: even hiding every cell that may be hidden does not give it room. "
                "Let more cells be hidden, widen the bounds people are said to know, or lower its protection level.",
                [label],
            )
        for move in moves:
            self.hidden[self.mover.cells[move != 0]] = True
