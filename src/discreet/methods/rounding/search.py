"""The best safe rounding: one integer program for all cells, or for large tables one for each piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.arrays import FloatArray
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.core.cutting_planes import Incumbent, Infeasible, cutting_planes
from discreet.methods.core.requirements import Requirement
from discreet.methods.core.separator import Separator, Violation
from discreet.methods.rounding.anneal import annealed
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.improve import one_pass, renewed
from discreet.methods.rounding.program import ROUNDING_TOLERANCE, FoundRounding, RoundingProgram
from discreet.methods.rounding.publication import RoundingPublication, exposed
from discreet.solvers import Outcome

MAX_EXACT_COLUMNS = 1_500  # of an integer program of all cells; larger ones take too long
MAX_NODES = 20_000  # of the integer program if there is no time limit
PROVEN_ROUNDING_GAP = 1e-7  # share of the cost that solvers may leave open
LEAST_SAVING = 1e-3  # share of the cost that a pass over the pieces must save to be followed by another
MAX_PIECE_PASSES = 20  # over the pieces, and repairs of a first rounding
MAX_CUT_CELLS = 200  # exposed cells that get a cut at a time


@dataclass
class RoundingSearch:
    """The program of a rounding problem with the cuts found so far, the best safe rounding, and counts for the report."""

    grid: RoundingGrid
    run: Run
    patient: bool = True  # there is no easier kind of rounding to try instead
    audit_seconds: float = 0.0  # of the last audit
    stopped: bool = False  # by the time limit or the user
    work: dict[str, int] = field(default_factory=lambda: {"cuts": 0, "linear_programs": 0, "integer_programs": 0})

    def __post_init__(self) -> None:
        self.best: Incumbent[FloatArray] = Incumbent(PROVEN_ROUNDING_GAP)
        self.program = RoundingProgram(self.grid)
        self.is_network = self.program.is_network()
        publication, problem = RoundingPublication(self.grid), self.grid.problem
        self._separators = [Separator(publication, k, problem.table.relations) for k in range(len(problem.attackers()))]

    def search(self) -> FloatArray:
        """The steps of the best safe rounding found."""
        self.run.progress.stage("round", 1)
        is_small = self.is_network or len(self.program.cell) <= MAX_EXACT_COLUMNS
        steps = self._safe(self._cheapest) if is_small else self._annealed()
        self.best.offer(steps, self.grid.deviation(steps))
        if not self.best.within(self.run.budget):
            self._improve()
        assert self.best.solution is not None
        return self.best.solution

    def _annealed(self) -> FloatArray:
        """A safe rounding of a large table: the annealed one repaired, or else the first that the solver finds."""
        steps = annealed(self.grid, self.run)
        if steps is None and not self.patient:
            raise NoSafePatternError("No rounding of this kind was found. Another kind may be easier.")
        for _ in range(MAX_PIECE_PASSES):
            if steps is None:
                break
            violated = self._exposed(steps)
            if not violated:
                return steps
            self.program.add(self._cuts(steps, violated))
            steps = self._repaired(steps, _first_cells(violated))
        return self._safe(self._any)

    def _exposed(self, steps: FloatArray) -> dict[int, list[Requirement]]:
        """The requirements that a rounding violates according to the audit, by the number of the attacker."""
        begun = self.run.budget.spent
        found = exposed(self.grid, steps, self.run.progress)
        self.audit_seconds = self.run.budget.spent - begun
        return found

    def _cuts(self, steps: FloatArray, violated: Mapping[int, Sequence[Requirement]]) -> list[Cut]:
        """A cut for the requirement with the largest shortfall of each of the first exposed cells."""
        cuts, cells = [], set(_first_cells(violated))
        for attacker, requirements in violated.items():
            separator, worst = self._separators[attacker], dict[int, Violation]()
            first = [each for each in requirements if each.cell in cells]
            for found in separator.violations(steps, first, min_shortfall=-np.inf):
                cell = found.requirement.cell
                if cell not in worst or found.shortfall > worst[cell].shortfall:
                    worst[cell] = found
            cuts += [separator.cut(steps, violation) for violation in worst.values()]
        self.work["cuts"] += len(cuts)
        return cuts

    def _repaired(self, steps: FloatArray, cells: Sequence[int]) -> FloatArray | None:
        """Rounded again around exposed cells; None if that is impossible for one of them."""
        for cell in cells:
            if all(cut.shortfall(steps) <= ROUNDING_TOLERANCE for cut in self.program.cuts):
                break
            found = renewed(self.grid, self.program.cuts, steps, cell, self.run)
            if found is None:
                return None
            steps = found
        return steps

    def _safe(self, rounded: Callable[[], FoundRounding]) -> FloatArray:
        """Roundings and cuts in turn, until a rounding is safe."""

        def solve() -> tuple[FloatArray, float]:
            found = rounded()
            if found.outcome is Outcome.INFEASIBLE:
                raise Infeasible
            if found.steps is None:
                raise NoSafePatternError(
                    "No rounding was found before the time limit, or the solver failed. Allow more time, or more roundings: "
                    "more steps, zero_restricted=false, or relax=true."
                )
            return found.steps, found.bound

        def violated(found: tuple[FloatArray, float]) -> list[Cut]:
            return self._cuts(found[0], self._exposed(found[0]))

        try:
            steps, bound = cutting_planes(solve, violated, self.program.add, self.run.budget, "rounding")
        except Infeasible:
            raise self._no_rounding() from None
        self.best.raise_bound(bound)
        return steps

    def _no_rounding(self) -> NoSafePatternError:
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

    def _cheapest(self) -> FoundRounding:
        """The cheapest rounding that satisfies the cuts. In networks the linear program mostly has an integral solution."""
        if self.is_network:
            self.work["linear_programs"] += 1
            found = self.program.relaxed(self.run.budget, self.run.seed)
            if found.steps is not None or found.outcome is Outcome.INFEASIBLE:
                return found
        self.work["integer_programs"] += 1
        nodes = MAX_NODES if self.run.budget.seconds is None else None
        return self.program.solve(self.run.budget, self.run.seed, nodes=nodes)

    def _any(self) -> FoundRounding:
        self.work["integer_programs"] += 1
        return self.program.solve(self.run.budget, self.run.seed, first=True)

    def _improve(self) -> None:
        """Round piece by piece again as long as that saves enough. An interrupt keeps the best safe rounding."""
        with self.run.budget.interruptible():
            relaxed, bound = self.program.interior(self.run.budget)
            self.best.raise_bound(bound)
            for _ in range(MAX_PIECE_PASSES):
                before, safe = self.best.cost, self.best.solution
                assert safe is not None
                before_audit = replace(self.run, budget=self.run.budget.without(self.audit_seconds))
                steps = one_pass(self.grid, self.program.cuts, safe, relaxed, before_audit)
                violated = self._exposed(steps)
                if violated:  # the next pass satisfies the new cuts
                    self.program.add(self._cuts(steps, violated))
                else:
                    self.best.offer(steps, self.grid.deviation(steps))
                is_done = not violated and self.best.cost > before * (1 - LEAST_SAVING)
                if is_done or self.run.budget.over or self.best.within(self.run.budget):
                    break
        self.stopped |= self.run.budget.over


def _first_cells(violated: Mapping[int, Sequence[Requirement]]) -> list[int]:
    """The exposed cells that get a cut next."""
    cells = dict.fromkeys(each.cell for requirements in violated.values() for each in requirements)
    return list(cells)[:MAX_CUT_CELLS]
