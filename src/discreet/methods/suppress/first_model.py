"""The whole problem as one mixed-integer program: slow, but simple enough to check other methods against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.attackers import Attacker
from discreet.errors import NoSafePatternError, some
from discreet.inference.bound_propagation import propagate
from discreet.inference.max_flow import network
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.methods.context import Run
from discreet.methods.method import Traits, option
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection, suppress
from discreet.solvers import DEFAULT_SOLVER, Outcome, Solution, check_solver, new_model, solver_name

AMPLE = 100.0  # this many levels of slack are as good as endless where relations are not those of a network
SPREAD = 1e6  # cells cheaper than the dearest by more than this factor cost as good as nothing
PROVEN = 1e-6  # share of the cheapest cost that a solver may leave open


@dataclass(frozen=True)
class FirstModel:
    """Salazar-González (2002), figure 3: an oracle for small problems and for teaching; hopeless beyond about 10 × 10.

    A binary ``x`` says for each cell whether it is suppressed. For each attacker, each protected cell ``p`` and each side there
    are flows ``f`` over all cells, the difference between the true table and one that the attacker must hold possible:
    ``A f = 0`` and ``−LB x ≤ f ≤ UB x``, with ``f_p`` as large as the protection level. Two flows of opposite sides together
    reach the sliding level. The level of a free cell counts only if it is suppressed: ``f_p ≥ level · x_p``.

    ``LB`` and ``UB`` must be finite, although attackers may know no bounds. A flow that moves ``p`` by its level is a sum of
    elementary flows with the same signs (Rockafellar 1969); those that do not move ``p`` can be left out, and what is left
    moves a cell ``i`` by at most the level times the largest ratio ``|c_i| / |c_p|`` in any elementary flow ``c``. In a
    network that is 1. In other tables it is small, though nothing is proven: in 60,000 random elementary flows of three-
    and four-way, hierarchical and overlapping tables no ratio was above 4, and 100 are allowed for. Bounds that single
    relations imply are used where they are tighter.

    A solver takes a binary for 0 that is only nearly so, and lets a little flow through. So every pattern is looked at
    again, one linear program a requirement. If it is too small for one, the model is told that it must suppress some other cell.
    """

    solver: str = option(DEFAULT_SOLVER, "solver of the integer program: `highs` or `scip`")

    name = "first-model"
    traits = Traits(splits=True, proves_bound=True)

    def __post_init__(self) -> None:
        check_solver(self.solver)

    def protect(self, problem: Problem, run: Run) -> Protection:
        requirements = [requirement for who in problem.attackers() for requirement in _requirements(problem, who)]
        _refuse_hopeless(problem, requirements)
        model = _Model(problem, requirements, run.seed, self.solver)
        run.progress.stage("solve", 1)
        while True:
            solution = model.solve(run.budget)
            suppressed = model.pattern(solution)
            violated = [requirement for requirement in requirements if not requirement.met(suppressed)]
            if not violated:
                break
            if solution.outcome is Outcome.STOPPED:
                raise NoSafePatternError("The time limit ended before there was a safe pattern. Allow more time.")
            model.enlarge(suppressed, violated)
        run.progress.update(1)
        status, bound = model.proven(solution, suppressed, run.budget)
        return suppress(
            problem,
            suppressed,
            method=self.name,
            status=status,
            bound=bound,
            seconds=run.budget.spent,
            solver=solver_name(self.solver),
            seed=run.seed,
        )


@dataclass(frozen=True, eq=False)
class _Requirement:
    """What one attacker must hold possible of one cell, as flows in units of the level; two flows for a sliding level."""

    cell: int
    conditional: bool  # only if the cell is suppressed
    cells: NDArray[np.int64]  # which may be suppressed; each flow has a column for each
    keep: sparse.csr_array  # times flows: nothing gained or lost in any relation
    need: sparse.csr_array  # times flows: how far the cell moves
    least: FloatArray  # how far it must
    down: FloatArray  # slack of each flow and cell
    up: FloatArray

    def met(self, suppressed: BoolArray) -> bool:
        """Whether this pattern leaves the cell its slack."""
        if not suppressed[self.cell]:
            return self.conditional
        model = new_model()
        moves = np.tile(suppressed[self.cells], len(self.up) // len(self.cells))
        rows = sparse.csr_array(sparse.vstack([self.keep, self.need]))
        zero, endless = np.zeros(self.keep.shape[0]), np.full(len(self.least), np.inf)
        model.load(
            np.zeros(len(self.up)),
            -self.down * moves,
            self.up * moves,
            rows,
            np.r_[zero, self.least],
            np.r_[zero, endless],
        )
        return model.solve().optimal


def _requirements(problem: Problem, who: Attacker) -> Iterator[_Requirement]:
    """All protection levels against one attacker."""
    value, cells = problem.table.value, np.flatnonzero(problem.status != Status.PUBLISHED)
    relations = sparse.csr_array(problem.table.relations[:, cells])
    relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
    low, high = propagate(
        relations, -np.maximum(value - who.lower, 0.0)[cells], np.maximum(who.upper - value, 0.0)[cells]
    )
    ample = 1.0 if network(relations) is not None else AMPLE
    levels = problem.levels(who)
    for place, cell in enumerate(cells.tolist()):
        if problem.status[cell] == Status.SUPPRESSED:
            continue
        lower, upper, sliding = levels[:, cell].tolist()
        asked = [[(-1.0, lower)], [(1.0, upper)]]
        if sliding > lower + upper:  # otherwise it says nothing new
            asked = [[(-1.0, lower), (1.0, upper)]]
        for sides in asked:
            width = sliding if len(sides) == 2 else 0.0
            unit = max(width, *(level for _, level in sides))
            if unit == 0:
                continue
            # One row a side, and one for both together.
            at = place + len(cells) * np.arange(len(sides))
            signs = np.array([sign for sign, _ in sides])
            rows = sparse.csr_array((signs, (np.arange(len(sides)), at)), shape=(len(sides), len(cells) * len(sides)))
            least = np.array([level for _, level in sides])
            if width:
                rows, least = sparse.csr_array(sparse.vstack([rows, rows.sum(axis=0)[None, :]])), np.r_[least, width]
            yield _Requirement(
                cell=cell,
                conditional=bool(problem.status[cell] == Status.FREE),
                cells=cells,
                keep=sparse.csr_array(sparse.block_diag([relations] * len(sides))),
                need=rows,
                least=least / unit * (1 - LEVEL_TOLERANCE),
                down=np.tile(np.minimum(-low / unit, ample), len(sides)),
                up=np.tile(np.minimum(high / unit, ample), len(sides)),
            )


def _refuse_hopeless(problem: Problem, requirements: Sequence[_Requirement]) -> None:
    everything = problem.status != Status.PUBLISHED
    for requirement in requirements:
        if not requirement.conditional and not requirement.met(everything):
            label = problem.table.label(requirement.cell)
            raise NoSafePatternError(
                f"No pattern protects {some([label])}: even suppressing every cell that may be does not give it slack. "
                "Let more cells be suppressed, widen the bounds people are said to know, or lower its protection level.",
                [label],
            )


class _Model:
    """Figure 3: first a column for each cell that may be suppressed, then the flows."""

    def __init__(self, problem: Problem, requirements: Sequence[_Requirement], seed: int, solver: str) -> None:
        self.problem = problem
        self.cells = np.flatnonzero(problem.status != Status.PUBLISHED)
        self.free = problem.status[self.cells] == Status.FREE
        n, cost = len(self.cells), problem.cost[self.cells]
        # Solvers stop at an absolute gap, too: it must be small beside the cheapest cell.
        costliest = float(cost.max(initial=0.0))
        self.unit = max(float(cost[cost > 0].min()), costliest / SPREAD) if costliest > 0 else 1.0
        lower, upper = [np.where(self.free, 0.0, 1.0)], [np.ones(n)]
        pattern: list[sparse.csr_array] = [sparse.csr_array((0, n))]  # the part of the rows that is about x
        flows: list[sparse.csr_array] = [sparse.csr_array((0, 0))]  # and the part about flows, a block a demand
        least, most = [np.zeros(0)], [np.zeros(0)]
        for requirement in requirements:
            lower.append(-requirement.down)
            upper.append(requirement.up)
            m, linked = requirement.keep.shape[0], np.flatnonzero(np.tile(self.free, len(requirement.up) // n))
            link = sparse.eye_array(len(requirement.up), format="csr")[linked]
            x, rows = linked % n, np.arange(len(linked))
            down, up = (
                sparse.csr_array((r[linked], (rows, x)), shape=(len(rows), n))
                for r in (requirement.down, requirement.up)
            )
            flows.append(sparse.csr_array(sparse.vstack([requirement.keep, link, link, requirement.need])))
            at = np.searchsorted(self.cells, requirement.cell)
            level = sparse.csr_array(np.outer(requirement.least, np.arange(n) == at) * requirement.conditional)
            pattern.append(sparse.csr_array(sparse.vstack([sparse.csr_array((m, n)), down, -up, -level])))
            endless = np.full(len(linked), np.inf)
            floor = np.zeros(len(requirement.least)) if requirement.conditional else requirement.least
            least.append(np.r_[np.zeros(m), np.zeros(len(linked)), -endless, floor])
            most.append(np.r_[np.zeros(m), endless, np.zeros(len(linked)), np.full(len(floor), np.inf)])
        rows = sparse.csr_array(sparse.hstack([sparse.vstack(pattern), sparse.block_diag(flows)]))
        total = rows.shape[1]
        self.model = new_model(seed=seed, solver=solver)
        self.model.load(
            np.r_[cost / self.unit, np.zeros(total - n)],
            np.concatenate(lower),
            np.concatenate(upper),
            rows,
            np.concatenate(least),
            np.concatenate(most),
            np.arange(total) < n,
        )
        self.total = total

    def solve(self, budget: Budget) -> Solution:
        solution = self.model.solve(budget.left, gap=budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            labels = self.problem.table.labels(self.problem.primaries)
            raise NoSafePatternError(
                f"No pattern protects {some(labels)} and all cells that would have to be suppressed for it. Let more cells be "
                "suppressed, widen the bounds people are said to know, or lower the protection levels.",
                labels,
            )
        if solution.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED):
            raise NoSafePatternError("The solver gave up before there was a safe pattern. Try another method.")
        return solution

    def pattern(self, solution: Solution) -> BoolArray:
        """What the solution suppresses; if there is none, only what must be suppressed."""
        suppressed = np.isin(self.problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        if len(solution.primal) == self.total:
            suppressed[self.cells] |= self.free & (solution.primal[: len(self.cells)] > 0.5)
        return suppressed

    def enlarge(self, suppressed: BoolArray, violated: Sequence[_Requirement]) -> None:
        """With this pattern or fewer cells these demands are not met: suppress some other cell, or not the one that demands."""
        others = np.zeros((len(violated), self.total))
        others[:, : len(self.cells)] = self.free & ~suppressed[self.cells]
        for row, requirement in zip(others, violated, strict=True):
            row[np.searchsorted(self.cells, requirement.cell)] -= requirement.conditional
        least = np.array([0.0 if requirement.conditional else 1.0 for requirement in violated])
        self.model.add_rows(sparse.csr_array(others), least, np.full(len(violated), np.inf))

    def proven(self, solution: Solution, suppressed: BoolArray, budget: Budget) -> tuple[str, float]:
        """How good the pattern is, and what no safe pattern can be cheaper than."""
        cost = float(self.problem.cost[suppressed].sum())
        forced = float(self.problem.cost[self.cells[~self.free]].sum())
        bound = min(max(solution.bound * self.unit, forced), cost)
        if solution.outcome is Outcome.STOPPED:
            return budget.ending, bound
        if cost - bound <= PROVEN * max(self.unit, cost):
            return "optimal", cost
        return "within_gap", bound
