"""A growing set of hidden cells, and what it is known to protect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attackers import Attacker
from discreet.audit.congruent import CongruentTables, components
from discreet.audit.propagate import propagate
from discreet.errors import NoSafePatternError, some
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import DOWN, SIGN, UP, Evidence, seek
from discreet.methods.suppress.mover import Mover
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Budget, Progress
from discreet.relations import FloatArray


@dataclass(frozen=True, eq=False)
class _Defence:
    """Against one attacker."""

    attacker: Attacker
    mover: Mover
    evidence: Evidence


class Pattern:
    """Cells hidden so far. ``price`` says what hiding another one costs, the costs of the problem if not given."""

    def __init__(self, problem: Problem, seed: int, price: FloatArray | None = None) -> None:
        self.problem = problem
        self.seed = seed
        self.hidden = np.isin(problem.status, (Status.PRIMARY, Status.HIDDEN))
        may_move = problem.status != Status.PUBLISHED
        self.defences = [
            _Defence(who, Mover(problem, who, may_move, seed), Evidence(problem, who)) for who in problem.attackers()
        ]
        self.solver = self.defences[0].mover.model.name
        # Ties between equally cheap patterns are broken by the seed, far below any real difference in cost.
        price = problem.cost if price is None else price
        least = float(price[price > 0].min()) if np.any(price > 0) else 1.0
        self.price = np.maximum(price, least * 1e-3) * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(price))

    def grow(self, budget: Budget, progress: Progress) -> None:
        """Hide what it takes to protect every cell that needs it, the largest requirement first."""
        problem = self.problem
        for defence in self.defences:
            self._learn_what_protects_itself(defence, budget, progress)
        done = np.zeros(len(problem), dtype=bool)
        progress.stage("protect", len(problem.primaries))
        while True:  # cells hidden on the way may need protection, too
            left = np.flatnonzero(self._protected() & ~done)
            if not len(left):
                return
            need = np.max([np.maximum(d.evidence.lower, d.evidence.upper)[left] for d in self.defences], axis=0)
            for p in left[np.argsort(-need, kind="stable")].tolist():
                if budget.over:
                    raise NoSafePatternError(
                        f"The time limit ended with {int(done.sum()):,} of {int(self._protected().sum()):,} cells "
                        "protected: there is no safe pattern yet. Allow more time."
                    )
                for defence in self.defences:
                    self._protect(p, defence)
                done[p] = True
                progress.update(min(int(done.sum()), len(problem.primaries)), f"{int(self.hidden.sum()):,} hidden")

    def trim(self, budget: Budget, progress: Progress) -> tuple[BoolArray, str]:
        """Publish again what is hidden without need."""
        defences = [(defence.attacker, defence.evidence) for defence in self.defences]
        return eliminate(self.problem, self.hidden, defences, seed=self.seed, budget=budget, progress=progress)

    def _protected(self) -> BoolArray:
        return np.asarray(np.any([self.problem.protected(d.attacker, self.hidden) for d in self.defences], axis=0))

    def _learn_what_protects_itself(self, defence: _Defence, budget: Budget, progress: Progress) -> None:
        """Dense primaries protect each other: pushing them among themselves is far cheaper than a program for each."""
        problem, evidence = self.problem, defence.evidence
        progress.stage("look", len(problem.primaries))
        done = 0
        for cells, relations in components(problem.table.relations, self.hidden):
            done += len(cells)
            tables = None
            low, high = propagate(relations, -evidence.down[cells], evidence.up[cells])
            for place, p in enumerate(cells.tolist()):
                for side, level in ((DOWN, evidence.lower[p]), (UP, evidence.upper[p])):
                    room = -low[place] if side == DOWN else high[place]
                    if budget.over or evidence.reaches(p, side, level) or room < level:
                        continue
                    tables = tables or CongruentTables(relations, low, high, float(level))
                    evidence.add(cells, tables.push(place, SIGN[side]).difference)
            progress.update(min(done, len(problem.primaries)))

    def _protect(self, p: int, defence: _Defence) -> None:
        """Hide what it takes to give ``p`` its protection against one attacker."""
        if defence.evidence.suffices(p):
            return
        cells = defence.mover.cells
        price = np.where(self.hidden[cells], 0.0, self.price[cells])
        moves = seek(defence.mover, defence.evidence, p, price)
        if moves is None:
            label = self.problem.table.label(p)
            whom = "" if len(self.defences) == 1 else f" from attacker {defence.attacker.name!r}"
            raise NoSafePatternError(
                f"No pattern protects {some([label])}{whom}: even hiding every cell that may be hidden does not give it "
                "room. Let more cells be hidden, widen the bounds people are said to know, or lower its protection level.",
                [label],
            )
        for move in moves:
            self.hidden[cells[move != 0]] = True
