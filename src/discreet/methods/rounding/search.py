"""The best safe rounding: exactly where that can be done, else piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from discreet.arrays import FloatArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.rounding.anneal import annealed
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.improve import one_pass, renewed
from discreet.methods.rounding.program import WHOLE, FoundRounding, RoundingProgram
from discreet.methods.rounding.separator import MOST, RoundingSeparator, ViolatedLevel, violated
from discreet.solvers import Outcome

EXACT = 1_500  # columns of an integer program that is solved as a whole
NODES = 20_000  # branches after which that ends, if there is no time limit
PROVEN = 1e-7  # share of the cost that may be open
LITTLE = 1e-3  # share of the cost that a pass over the pieces must save to be followed by another
ROUNDS = 20  # of passes that turned out not to be safe


@dataclass
class RoundingSearch:
    """One rounding problem: its program with the cuts so far, what is known about the best rounding, and what it took."""

    grid: RoundingGrid
    run: Run
    patient: bool = True  # there is no easier kind of rounding to try instead
    bound: float = 0.0
    audit_seconds: float = 0.0  # that the last one took
    stopped: bool = False  # by the time limit or the user
    work: dict[str, int] = field(default_factory=lambda: {"cuts": 0, "linear_programs": 0, "integer_programs": 0})

    def __post_init__(self) -> None:
        self.program, self.attack = RoundingProgram(self.grid), RoundingSeparator(self.grid)
        self.is_network = self.program.is_network()

    def best(self) -> FloatArray:
        """The steps of a safe rounding, the best one that can be found."""
        self.run.progress.stage("round", 1)
        as_a_whole = self.is_network or len(self.program.cell) <= EXACT
        steps = self._safe(self._best_so_far) if as_a_whole else self._annealed()
        if self.gap(steps) > max(self.run.budget.gap, PROVEN):
            steps = self._improved(steps)
        return steps

    def _annealed(self) -> FloatArray:
        """Large tables: from where annealing ends, or else from the first rounding that the solver finds."""
        steps, rounds = annealed(self.grid, self.run), 0
        if steps is None and not self.patient:
            raise NoSafePatternError("No rounding of this kind was found. Another kind may be easier.")
        while steps is not None and rounds < ROUNDS:
            exposed = self._violated(steps)
            if not exposed:
                return steps
            steps, rounds = self._mended(steps, self._learn(steps, exposed)), rounds + 1
        return self._safe(self._any)

    def _violated(self, steps: FloatArray) -> list[ViolatedLevel]:
        """What the audit says; it takes about as long as the last time."""
        begun = self.run.budget.spent
        found = violated(self.grid, steps, self.run.progress)
        self.audit_seconds = self.run.budget.spent - begun
        return found

    def _learn(self, steps: FloatArray, exposed: list[ViolatedLevel]) -> list[int]:
        """Take in cuts for some of the cells that are exposed; which."""
        some = exposed[:MOST]
        cuts = self.attack.cuts(steps, some)
        self.work["cuts"] += len(cuts.least)
        self.program.add(cuts)
        return [one.cell for one in some]

    def _mended(self, steps: FloatArray, cells: list[int]) -> FloatArray | None:
        """Rounded anew around cells that are exposed; None if that cannot be done for one of them."""
        for cell in cells:
            short = self.program.cuts.rows @ steps < self.program.cuts.least - WHOLE
            if not short.any():
                break
            found = renewed(self.grid, self.program.cuts, steps, cell, self.run)
            if found is None:
                return None
            steps = found
        return steps

    def gap(self, steps: FloatArray) -> float:
        cost = self.grid.deviation(steps)
        return max(cost - self.bound, 0.0) / cost if cost else 0.0

    def proven(self, steps: FloatArray) -> float:
        """What no safe rounding of this kind deviates less than."""
        cost = self.grid.deviation(steps)
        return cost if self.gap(steps) <= PROVEN else min(self.bound, cost)

    def status(self, steps: FloatArray) -> str:
        gap = self.gap(steps)
        if gap <= PROVEN:
            return "optimal"
        if gap <= self.run.budget.gap:
            return "within_gap"
        return self.run.budget.ending if self.stopped else "heuristic"

    def _safe(self, rounded: Callable[[], FoundRounding]) -> FloatArray:
        """Round, ask the attackers, forbid what they found out, until they find out nothing."""
        while True:
            found = rounded()
            if found.outcome is Outcome.INFEASIBLE:
                raise self._none()
            if found.steps is None:
                raise NoSafePatternError(
                    "No rounding was found before time, or the solver, gave out. Allow more time, or more roundings: "
                    "more steps, zero_restricted=false, or relax=true."
                )
            exposed = self._violated(found.steps)
            if not exposed:
                self.bound = max(self.bound, found.bound)
                return found.steps
            if self.run.budget.over:
                raise NoSafePatternError("The time limit ended before there was a safe rounding. Allow more time.")
            self._learn(found.steps, exposed)

    def _none(self) -> NoSafePatternError:
        again = "Allow more: more steps, zero_restricted=false, or relax=true; or choose another base."
        if self.work["cuts"] or self.grid.is_narrowed:
            labels = self.grid.problem.table.labels(self.grid.problem.primaries)
            return NoSafePatternError(
                f"No additive rounding of this kind protects all sensitive cells. {again}", labels
            )
        return NoSafePatternError(
            f"There is no additive rounding of this kind: controlled rounding may fail in tables "
            f"other than two-way ones. {again}"
        )

    def _best_so_far(self) -> FoundRounding:
        """The best rounding that the cuts leave. In networks the linear program mostly has a whole solution."""
        if self.is_network:
            self.work["linear_programs"] += 1
            found = self.program.relaxed(self.run.budget, self.run.seed)
            if found.steps is not None or found.outcome is Outcome.INFEASIBLE:
                return found
        self.work["integer_programs"] += 1
        nodes = NODES if self.run.budget.seconds is None else None
        return self.program.solve(self.run.budget, self.run.seed, nodes=nodes)

    def _any(self) -> FoundRounding:
        self.work["integer_programs"] += 1
        return self.program.solve(self.run.budget, self.run.seed, first=True)

    def _before_the_audit(self) -> Run:
        """What is left of the time if an audit is still to come."""
        return replace(self.run, budget=self.run.budget.without(self.audit_seconds))

    def _improved(self, safe: FloatArray) -> FloatArray:
        """Pass over the pieces as long as that brings something. Whoever stops it gets the best safe rounding so far."""
        with self.run.budget.interruptible():
            wish, bound = self.program.interior(self.run.budget)
            self.bound = max(self.bound, bound)
            for _ in range(ROUNDS):
                before = self.grid.deviation(safe)
                better = one_pass(self.grid, self.program.cuts, safe, wish, self._before_the_audit())
                exposed = self._violated(better)
                if exposed:  # once more, knowing what not to do
                    self._learn(better, exposed)
                else:
                    safe = better
                little = not exposed and self.grid.deviation(safe) > before * (1 - LITTLE)
                if little or self.run.budget.over or self.gap(safe) <= max(self.run.budget.gap, PROVEN):
                    break
        self.stopped |= self.run.budget.over
        return safe
