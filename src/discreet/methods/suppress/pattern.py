"""A growing set of hidden cells, and what it is known to protect."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.errors import NoSafePatternError, some
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import Evidence, seek
from discreet.methods.suppress.mover import Mover
from discreet.problem import BoolArray, Problem, Status
from discreet.progress import Budget, Progress
from discreet.protection import suppress
from discreet.relations import FloatArray


@dataclass(frozen=True, eq=False)
class _Defence:
    """Against one attacker."""

    attacker: Attacker
    mover: Mover
    evidence: Evidence


class Pattern:
    """Cells hidden so far. ``price`` says what hiding another one costs, ``among`` which cells may be: if not given, the
    costs of the problem, and all that it allows.
    """

    def __init__(
        self, problem: Problem, seed: int, price: FloatArray | None = None, among: BoolArray | None = None
    ) -> None:
        self.problem = problem
        self.seed = seed
        self._begin(problem.status != Status.PUBLISHED if among is None else among)
        # Ties between equally cheap patterns are broken by the seed, far below any real difference in cost.
        price = problem.cost if price is None else price
        least = float(price[price > 0].min()) if np.any(price > 0) else 1.0
        self.price = np.maximum(price, least * 1e-3) * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(price))

    def _begin(self, among: BoolArray) -> None:
        problem = self.problem
        self.among = among
        self.hidden = np.isin(problem.status, (Status.PRIMARY, Status.HIDDEN))
        self.defences = [
            _Defence(who, Mover(problem, who, among, self.seed), Evidence(problem, who)) for who in problem.attackers()
        ]
        self.solver = self.defences[0].mover.model.name

    def grow(self, budget: Budget, progress: Progress) -> None:
        """Hide what it takes to protect every cell that needs it, the largest requirement first."""
        while not self._grown(budget, progress):
            pass

    def _grown(self, budget: Budget, progress: Progress) -> bool:
        """False if a cell was hidden that cannot be protected: it is left alone then, for another try."""
        problem = self.problem
        self._learn_what_protects_itself()
        done = np.zeros(len(problem), dtype=bool)
        progress.stage("protect", len(problem.primaries))
        while True:  # cells hidden on the way may need protection, too
            left = np.flatnonzero(self._protected() & ~done)
            if not len(left):
                return True
            need = np.max([np.maximum(d.evidence.lower, d.evidence.upper)[left] for d in self.defences], axis=0)
            for p in left[np.argsort(-need, kind="stable")].tolist():
                if budget.over:
                    raise NoSafePatternError(
                        f"The time limit ended with {int(done.sum()):,} of {int(self._protected().sum()):,} cells "
                        "protected: there is no safe pattern yet. Allow more time."
                    )
                if not all(self._protect(p, defence) for defence in self.defences):
                    self._begin(self.among & (np.arange(len(problem)) != p))
                    return False
                done[p] = True
                progress.update(min(int(done.sum()), len(problem.primaries)), f"{int(self.hidden.sum()):,} hidden")

    def trim(self, budget: Budget, progress: Progress) -> tuple[BoolArray, str]:
        """Publish again what is hidden without need."""
        defences = [(defence.attacker, defence.evidence) for defence in self.defences]
        return eliminate(self.problem, self.hidden, defences, seed=self.seed, budget=budget, progress=progress)

    def _protected(self) -> BoolArray:
        return np.asarray(np.any([self.problem.protected(d.attacker, self.hidden) for d in self.defences], axis=0))

    def _learn_what_protects_itself(self) -> None:
        """Dense primaries protect each other: the audit says which ones need nothing else."""
        seen = audit(self.problem, suppress(self.problem, self.hidden), intervals=False)
        for number, defence in enumerate(self.defences):
            defence.evidence.settle(seen.cell[(seen.attacker == number) & seen.safe])

    def _protect(self, p: int, defence: _Defence) -> bool:
        """Hide what it takes to give ``p`` its protection against one attacker; False if it need not be hidden itself."""
        if defence.evidence.suffices(p):
            return True
        cells = defence.mover.cells
        price = np.where(self.hidden[cells], 0.0, self.price[cells])
        moves = seek(defence.mover, defence.evidence, p, price)
        if moves is None and self.problem.status[p] == Status.FREE:
            return False
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
        return True
