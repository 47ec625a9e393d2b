"""A growing set of suppressed cells, and what it is known to protect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.errors import NoSafePatternError, some
from discreet.inference.deviations import Deviation
from discreet.methods.context import Run
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations, seek
from discreet.methods.suppress.movers import AnyMover, movers
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

Moves = Sequence[Sequence[Deviation]]  # by attacker


@dataclass(frozen=True, eq=False)
class _Defence:
    """Against one attacker."""

    attacker: Attacker
    mover: AnyMover
    evidence: KnownDeviations


class Pattern:
    """Cells suppressed so far. ``price`` says what suppressing another one costs, ``among`` which cells may be: if not given, the
    costs of the problem, and all that it allows. It begins with cells that must be suppressed, and others to ``start`` with.
    ``moves`` among those, by attacker, may be known already. A ``lenient`` one leaves sensitive cells as they are that
    nothing protects. Where attackers have ``few`` targets each, deviations are sought at once instead of an audit first.
    """

    def __init__(
        self,
        problem: Problem,
        seed: int,
        price: FloatArray | None = None,
        among: BoolArray | None = None,
        start: BoolArray | None = None,
        *,
        moves: Moves = (),
        lenient: bool = False,
        few: bool = False,
    ) -> None:
        self.problem = problem
        self.seed = seed
        # Ties between equally cheap patterns are broken by the seed, far below any real difference in cost.
        price = problem.cost if price is None else price
        least = float(price[price > 0].min()) if np.any(price > 0) else 1.0
        self.price = np.maximum(price, least * 1e-3) * np.random.default_rng(seed).uniform(1.0, 1.0 + 1e-6, len(price))
        self.among = problem.status != Status.PUBLISHED if among is None else among.copy()
        self.start = np.zeros(len(problem), dtype=bool) if start is None else start
        self.known = moves
        self.lenient = lenient
        self.few = few
        self.hopeless: list[int] = []  # cells that nothing protects once they are suppressed
        self._begin()

    def _begin(self) -> None:
        problem = self.problem
        self.forced = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        self.suppressed = self.forced | (self.start & self.among & (problem.status == Status.FREE))
        self.size = int(self.suppressed.sum())
        self.defences = self._defences(self.among)
        self.solver = self.defences[0].mover.solver

    def _defences(self, among: BoolArray) -> list[_Defence]:
        problem = self.problem
        found = movers(problem, among, np.where(self.suppressed, 0.0, self.price), self.seed)
        return [
            _Defence(who, mover, KnownDeviations(problem, who))
            for who, mover in zip(problem.attackers(), found, strict=True)
        ]

    def grow(self, run: Run) -> None:
        """Hide what it takes to protect every cell that needs it, the largest requirement first."""
        while not self._grown(run):
            pass

    def _grown(self, run: Run) -> bool:
        """False if a cell was suppressed that cannot be protected: it is left alone then, for another try."""
        problem = self.problem
        for number, cells in enumerate(
            [] if self.few else self._safe(self.forced)
        ):  # dense primaries protect each other
            self.defences[number].evidence.settle(cells)
        done = np.zeros(len(problem), dtype=bool)
        for defence, moves in zip(self.defences, self.known, strict=False):
            for move in moves:
                if self.suppressed[move.cells].all():  # not if one of them turned out to be hopeless
                    defence.evidence.add(move)
        if self.start.any() and not any(self.known):
            safe = self._safe(self.suppressed)
            done[safe[0]] = True
            for cells in safe[1:]:
                done &= np.isin(np.arange(len(done)), cells)
        count = int(done.sum())
        run.progress.stage("protect", len(problem.primaries))
        while True:  # cells suppressed on the way may need protection, too
            left = np.flatnonzero(self._protected() & ~done)
            if not len(left):
                return True
            need = np.max([np.maximum(d.evidence.lower, d.evidence.upper)[left] for d in self.defences], axis=0)
            for p in left[np.argsort(-need, kind="stable")].tolist():
                if run.budget.over:
                    raise NoSafePatternError(
                        f"The time limit ended with {count:,} of {int(self._protected().sum()):,} cells "
                        "protected: there is no safe pattern yet. Allow more time."
                    )
                if not all(self._protect(p, defence) for defence in self.defences):
                    self.hopeless.append(p)
                    self.among[p] = False
                    self._begin()
                    return False
                done[p] = True
                count += 1
                run.progress.update(min(count, len(problem.primaries)), f"{self.size:,} suppressed")
                run.keep(self.suppressed)

    def trim(self, run: Run) -> tuple[BoolArray, str]:
        """Publish again what is suppressed without need."""
        evidence = [defence.evidence for defence in self.defences]
        return eliminate(self.problem, self.suppressed, evidence, replace(run, seed=self.seed))

    def moves(self, suppressed: BoolArray) -> list[list[Deviation]]:
        """What shows cells of a pattern to be safe, by attacker."""
        return [defence.evidence.in_use(suppressed) for defence in self.defences]

    def lacking(self) -> IntArray:
        """Sensitive cells that are not shown to be safe."""
        primaries = self.problem.primaries.tolist()
        return np.array(
            [p for p in primaries if not all(d.evidence.suffices(p) for d in self.defences)], dtype=np.int64
        )

    def _protected(self) -> BoolArray:
        return np.asarray(np.any([self.problem.protected(d.attacker, self.suppressed) for d in self.defences], axis=0))

    def _safe(self, suppressed: BoolArray) -> list[IntArray]:
        """The cells that an audit finds safe where these are suppressed, by attacker."""
        seen = audit(self.problem, suppress(self.problem, suppressed), intervals=False)
        return [seen.cell[(seen.attacker == number) & seen.safe] for number in range(len(self.defences))]

    def _protect(self, p: int, defence: _Defence) -> bool:
        """Hide what it takes to give ``p`` its protection against one attacker; False if it need not be suppressed itself."""
        if defence.evidence.suffices(p):
            return True
        known = len(defence.evidence.tables)
        moves = seek(defence.mover, defence.evidence, p)
        if moves is None and self.problem.status[p] == Status.FREE:
            return False
        if moves is None and self.lenient:
            defence.evidence.give_up(p)
            moves = defence.evidence.tables[
                known:
            ]  # what they show of other cells holds only where all they move is suppressed
        if moves is None:
            raise self._error(p, defence.attacker)
        for move in moves:
            new = move.cells[~self.suppressed[move.cells]]
            self.suppressed[new] = True
            self.size += len(new)
            for each in self.defences:
                each.mover.release(new)
        return True

    def _error(self, p: int, attacker: Attacker) -> NoSafePatternError:
        label = self.problem.table.label(p)
        whom = "" if len(self.defences) == 1 else f" from attacker {attacker.name!r}"
        others = self.problem.table.labels(self._hopeless_ones_that_protect(p, attacker))
        if others:
            return NoSafePatternError(
                f"No pattern protects {some([label])}{whom}: it takes cells that cannot be protected themselves once they are "
                f"suppressed, {some(others)}. Lower their protection levels or that of {label!r}, suppress more cells, or "
                "widen the bounds people are said to know.",
                [label, *others],
            )
        return NoSafePatternError(
            f"No pattern protects {some([label])}{whom}: even suppressing every cell that may be suppressed does not give it "
            "slack. Let more cells be suppressed, widen the bounds people are said to know, or lower its protection level.",
            [label],
        )

    def _hopeless_ones_that_protect(self, p: int, attacker: Attacker) -> list[int]:
        """Those that together with others give a cell slack that nothing else protects; none if they cannot either."""
        if not self.hopeless:
            return []
        among = self.among.copy()
        among[self.hopeless] = True
        defence = next(d for d in self._defences(among) if d.attacker.name == attacker.name)
        moves = seek(defence.mover, defence.evidence, p) or []
        moving = {i for move in moves for i in move.cells.tolist()}
        return [i for i in self.hopeless if i in moving]


def together(problem: Problem, method: str, run: Run, moves: Moves = ()) -> Protection:
    """Hide what it takes to make the pattern safe that a run starts with, and publish again what it suppresses without need."""
    pattern = Pattern(problem, run.seed, start=run.start, moves=moves)
    pattern.grow(run)
    suppressed, status = pattern.trim(run)
    return suppress(
        problem,
        suppressed,
        method=method,
        status=status,
        seconds=run.budget.spent,
        solver=pattern.solver,
        seed=run.seed,
    )
