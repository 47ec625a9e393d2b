"""Suppression as one mixed-integer program: slow, but simple enough to check other methods against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray
from discreet.errors import NoSafePatternError, some
from discreet.inference.bound_propagation import propagate
from discreet.inference.max_flow import network
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.context import Run
from discreet.methods.core.compact_model import CompactModel, Limits
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP, Infeasible, cutting_planes, status_of
from discreet.methods.core.requirements import Requirement, requirements
from discreet.methods.core.separator import Separator, Violation
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.solvers import DEFAULT_SOLVER, Solution, check_solver, solver_name

MAX_RATIO_OF_DEVIATIONS = 100.0  # largest deviation, in levels, if relations are not those of a network: see below
COST_RANGE = 1e6  # cells cheaper than the costliest by more than this factor count as if they cost nothing
ADVICE = "Let more cells be suppressed, widen the prior bounds of attackers"


@dataclass(frozen=True)
class FirstModel:
    """Salazar-González (2002), figure 3: an oracle for small problems and for teaching; too slow beyond about 10 × 10.

    A binary ``x`` says for each cell whether it is suppressed. For each attacker, each protected cell ``p`` and each side there
    are deviations ``f`` of all cells from the true table to one that the attacker must hold possible: ``A f = 0`` and
    ``−LB x ≤ f ≤ UB x``, with ``f_p`` as large as the protection level. The deviations of both sides together reach the sliding
    level. The level of a free cell counts only if it is suppressed: ``f_p ≥ level · x_p``.

    ``LB`` and ``UB`` must be finite, although attackers may know no bounds. A deviation that changes ``p`` by its level is a sum
    of elementary ones with the same signs (Rockafellar 1969). Those that do not change ``p`` can be left out, and the others
    change a cell ``i`` by at most the level times the largest ratio ``|c_i| / |c_p|`` in any elementary deviation ``c``. In a
    network this ratio is 1. In other tables it is small, although no bound is proven: in 60,000 random elementary deviations of
    three- and four-way, hierarchical and overlapping tables no ratio was above 4; the model allows 100. Bounds that single
    relations imply are used where they are tighter.

    A binary within the tolerance of the solver counts as 0, and thus allows small deviations. Every pattern is therefore checked
    by one linear program per requirement. If it violates one, the model must suppress some other cell.
    """

    solver: str = option(DEFAULT_SOLVER, "solver of the integer program: `highs` or `scip`")

    name = "first-model"
    traits = Traits(splits=True, proves_bound=True)

    def __post_init__(self) -> None:
        check_solver(self.solver)

    def protect(self, problem: Problem, run: Run) -> Protection:
        model = _PatternModel(problem, run, self.solver)
        _refuse_infeasible(model)
        run.progress.stage("solve", 1)
        solution = cutting_planes(model.solve, model.violated, model.enlarge, run.budget, "pattern")
        run.progress.update(1)
        suppressed = model.pattern(solution)
        cost = float(problem.cost[suppressed].sum())
        bound = min(max(solution.bound * model.unit, model.forced_cost), cost)
        status = status_of(cost, bound, run.budget, solution.optimal, INTEGER_PROGRAM_GAP)
        bound = cost if status == "optimal" else bound
        return suppress(problem, suppressed, **run.report(self.name, status, bound, solver_name(self.solver)))


def _refuse_infeasible(model: _PatternModel) -> None:
    """Refuse primaries that are not protected if every cell that may be is suppressed."""
    cells = [violation.requirement.cell for violation in model.violations(model.suppressible)]
    label = next((model.problem.table.label(cell) for cell in cells if not model.is_free[cell]), None)
    if label is not None:
        raise NoSafePatternError(
            f"No pattern protects {some([label])}: even the suppression of all cells that may be does not give it slack. "
            f"{ADVICE}, or lower its protection level.",
            [label],
        )


class _PatternModel:
    """Figure 3: a column for each cell, 1 if it is suppressed, then the deviations."""

    def __init__(self, problem: Problem, run: Run, solver: str) -> None:
        self.problem, self._budget = problem, run.budget
        self.suppressible = problem.status != Status.PUBLISHED
        self.is_free = problem.status == Status.FREE
        self.forced_cost = float(problem.cost[self.suppressible & ~self.is_free].sum())
        cost = np.where(self.suppressible, problem.cost, 0.0)
        # Solvers also stop at an absolute gap, which must be small compared with the cheapest cell.
        costliest = float(cost.max(initial=0.0))
        self.unit = max(float(cost[cost > 0].min()), costliest / COST_RANGE) if costliest > 0 else 1.0
        self._attackers = problem.attackers()
        relations = problem.table.relations
        protected = np.flatnonzero(self.is_free | (problem.status == Status.PRIMARY))
        self.requirements = [
            requirements(problem.levels(attacker)[:, protected] * (1 - LEVEL_TOLERANCE), protected.tolist())
            for attacker in self._attackers
        ]
        self._separators = [Separator(self, k, relations) for k in range(len(self._attackers))]
        self._model = CompactModel()
        forced = (self.suppressible & ~self.is_free).astype(float)
        self._model.columns(forced, self.suppressible.astype(float), cost / self.unit, True)
        ratio = (
            1.0 if network(sparse.csr_array(relations[:, self.suppressible])) is not None else MAX_RATIO_OF_DEVIATIONS
        )
        for number, required in enumerate(self.requirements):
            down, up = self.slack(number, self.suppressible)
            low, high = propagate(relations, -down, up)
            for cell, group in groupby(required, key=lambda one: one.cell):
                of_cell = list(group)
                unit = max(one.level for one in of_cell)  # small levels beside large values stay exact
                prior = np.minimum(np.stack([-low, high]), ratio * unit)
                condition = {cell: cell} if self.is_free[cell] else {}
                self._model.require(of_cell, relations, prior, self._limits(prior), condition, unit)
        self._model.load(run.seed, solver)

    def slack(self, attacker: int, point: BoolArray) -> FloatArray:
        """The slack of suppressed cells; that of published cells is 0."""
        return np.where(point, self.problem.slack(self._attackers[attacker]), 0.0)

    def cut(self, attacker: int, point: BoolArray, violation: Violation) -> Violation:
        """Violations themselves: :meth:`enlarge` makes a row of each."""
        return violation

    def _limits(self, prior: FloatArray) -> Limits:
        """Free cells deviate only if they are suppressed."""
        cells = np.flatnonzero(self.is_free)
        zero = np.zeros(len(cells))
        down, up = (sparse.csr_array(sparse.diags_array(prior[side], format="csr")[cells]) for side in (DOWN, UP))
        return Limits(cells, (zero, zero), ([(0, down)], [(0, up)]))

    def solve(self) -> Solution:
        try:
            return self._model.solve(self._budget)
        except Infeasible:
            labels = self.problem.table.labels(self.problem.primaries)
            raise NoSafePatternError(
                f"No pattern protects {some(labels)} and all cells that would have to be suppressed for it. {ADVICE}, or lower "
                "the protection levels.",
                labels,
            ) from None

    def pattern(self, solution: Solution) -> BoolArray:
        """The cells that a solution suppresses."""
        chosen = solution.primal[: len(self.problem)] > 0.5
        return np.asarray(self.suppressible & (~self.is_free | chosen))

    def violations(self, suppressed: BoolArray) -> Iterator[Violation]:
        """The requirements that a pattern violates; those of free cells only if they are suppressed."""
        for separator, required in zip(self._separators, self.requirements, strict=True):
            yield from separator.violations(suppressed, [one for one in required if suppressed[one.cell]])

    def violated(self, solution: Solution) -> list[tuple[BoolArray, Requirement]]:
        """The requirements that the pattern of a solution violates, with the pattern."""
        suppressed = self.pattern(solution)
        return [(suppressed, violation.requirement) for violation in self.violations(suppressed)]

    def enlarge(self, violated: Sequence[tuple[BoolArray, Requirement]]) -> None:
        """Some other cell must be suppressed, or the cell of the requirement published."""
        for suppressed, requirement in violated:
            row = (self.is_free & ~suppressed).astype(float)
            is_free = self.is_free[requirement.cell]
            row[requirement.cell] -= is_free
            self._model.rows([(0, sparse.csr_array(row[np.newaxis]))], 1.0 - is_free)
