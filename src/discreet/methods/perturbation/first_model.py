"""The whole perturbation problem as one program: slow, but simple enough to check the method against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.errors import NoSafePatternError, RuleError
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.method import Traits, option
from discreet.methods.perturbation.master import PROVEN, FoundTable
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.search import TableSearch, first_feasible
from discreet.methods.perturbation.windows import Windows
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.solvers import Outcome, new_model

FAR = 1e8  # units that a cell may change by: with larger whole numbers the solver does not come to an end


@dataclass(frozen=True)
class PerturbationFirstModel:
    """Salazar-González (2002), figure 12: an oracle for small problems, with floors and ceilings as in ``perturb``.

    Beside the changes of all cells, in whole units, there are for each attacker, each protected cell and each side flows ``f``
    over all cells: what the attacker must hold possible, less the true table. They keep the relations and stay within what the
    attacker knows and within what is told: ``d − r ≤ f ≤ d + r``.
    """

    floor: FloatArray | None = option(None, "as in `perturb`")
    ceiling: FloatArray | None = option(None, "as in `perturb`")
    at_most: int | None = option(None, "as in `perturb`")
    name = "perturb-first-model"
    traits = Traits(kind="perturbation", proves_bound=True)
    uses_secret = True

    def __post_init__(self) -> None:
        self._method()

    def _method(self) -> Perturbation:
        return Perturbation(at_most=self.at_most, floor=self.floor, ceiling=self.ceiling)

    def protect(self, problem: Problem, run: Run) -> Protection:
        method = self._method()

        def solve(windows: Windows, note: str) -> Protection:
            _refuse_large(windows)
            search = TableSearch(windows, run)
            start = method.start(search)
            fixed = windows if start is None else method.keeping(windows, start)
            found = _Model(fixed, self.at_most, run.seed).solve(run)
            return search.tell(self.name, found, found.bound, note)

        run.progress.stage("solve", 1)
        return first_feasible(method.windows(problem, run), solve)


def _refuse_large(windows: Windows) -> None:
    sizes = np.abs(np.concatenate([windows.low, windows.high]))
    if sizes[np.isfinite(sizes)].max(initial=0.0) > FAR:
        raise RuleError(
            f"Cells may change by more than {FAR:,.0f} units of the last digit, too many for one program in whole numbers. Take "
            "the method 'perturb', or give figures in thousands."
        )


@dataclass(frozen=True, eq=False)
class _Requirement:
    """Flows of one protected cell and attacker, and what they must do for it: ``need @ flows ≥ least``."""

    who: Attacker
    flows: int
    cell: int
    need: FloatArray  # (rows, flows)
    least: FloatArray


def _requirements(windows: Windows) -> Iterator[_Requirement]:
    problem = windows.problem
    told = (windows.reach(problem.table.value) > 0) | (problem.status == Status.SUPPRESSED)
    for who in problem.attackers():
        levels = problem.levels(who)
        for cell in np.flatnonzero(problem.protected(who, told)).tolist():
            lower, upper, sliding = levels[:, cell].tolist()
            need = np.array([[-1.0, 0.0], [0.0, 1.0], [-1.0, 1.0]])
            yield _Requirement(who, 2, cell, need, np.array([lower, upper, sliding]))


class _Model:
    """Columns: up and down of all cells, whether they change if that is limited, then flows, in units."""

    def __init__(self, windows: Windows, at_most: int | None, seed: int) -> None:
        self.windows, self.at_most = windows, at_most
        table = windows.problem.table
        n, requirements = len(table), list(_requirements(windows))
        counted = n if at_most is not None else 0
        head = 2 * n + counted
        self.total = head + n * sum(requirement.flows for requirement in requirements)
        low, high = windows.low, windows.high
        lower = [np.maximum(low, 0.0), np.maximum(-high, 0.0), np.zeros(counted)]
        upper = [np.maximum(high, 0.0), np.maximum(-low, 0.0), np.ones(counted)]
        one = sparse.eye_array(n, format="csr")
        self._rows: list[sparse.csr_array] = []
        self._least: list[FloatArray] = []
        self._most: list[FloatArray] = []
        zero, endless = np.zeros(table.relations.shape[0]), np.full(n, np.inf)
        self._add([(0, table.relations), (n, -table.relations)], zero, zero)
        suppressed = windows.problem.status == Status.SUPPRESSED
        if at_most is not None:
            for first, far in ((0, upper[0]), (n, upper[1])):
                cap = sparse.diags_array(np.where(np.isfinite(far), -far, -1e9), format="csr")
                self._add([(first, one), (2 * n, cap)], -endless, np.zeros(n))
            count = sparse.csr_array((~suppressed).astype(float)[None, :])
            self._add([(2 * n, count)], np.array([-np.inf]), np.array([float(at_most)]))
        far = windows.reach(table.value) / windows.unit
        above, below = (sparse.diags_array(part, format="csr") for part in (1 + windows.slope, windows.slope - 1))
        at = head
        for requirement in requirements:
            first = at
            for _ in range(requirement.flows):
                lower.append(np.minimum((requirement.who.lower - table.value) / windows.unit, 0.0))
                upper.append(np.maximum((requirement.who.upper - table.value) / windows.unit, 0.0))
                self._add([(at, table.relations)], zero, zero)
                # f ≤ d + r(v) and −f ≤ r(v) − d, except for cells of which nothing is told
                for way, move in ((1.0, above), (-1.0, below)):
                    self._add([(at, way * one), (0, -move), (n, move)], -endless, np.where(suppressed, np.inf, far))
                at += n
            for row, least in zip(requirement.need, requirement.least, strict=True):
                picks = [(first + k * n, self._pick(requirement.cell, weight)) for k, weight in enumerate(row)]
                self._add(picks, np.array([least / windows.unit * (1 - PROVEN)]), np.array([np.inf]))
        self.model = new_model(seed=seed)
        integer = np.arange(self.total) < head
        self.cost = np.r_[windows.weight, windows.weight, np.zeros(self.total - 2 * n)]
        rows = sparse.csr_array(sparse.vstack(self._rows))
        self.model.load(
            self.cost,
            np.concatenate(lower),
            np.concatenate(upper),
            rows,
            np.concatenate(self._least),
            np.concatenate(self._most),
            integer,
        )

    def _pick(self, cell: int, weight: float) -> sparse.csr_array:
        return sparse.csr_array(([weight], ([0], [cell])), shape=(1, len(self.windows.low)))

    def _add(self, blocks: list[tuple[int, sparse.csr_array]], least: FloatArray, most: FloatArray) -> None:
        parts = []
        for first, block in blocks:
            block = sparse.coo_array(block)
            parts.append((block.data, block.row, block.col + first))
        data, row, col = (np.concatenate(part) for part in zip(*parts, strict=True))
        self._rows.append(sparse.csr_array((data, (row, col)), shape=(len(least), self.total)))
        self._least.append(least)
        self._most.append(most)

    def solve(self, run: Run) -> FoundTable:
        solution = self.model.solve(run.budget.left, gap=run.budget.gap)
        if solution.outcome is Outcome.INFEASIBLE:
            raise Infeasible
        if solution.outcome not in (Outcome.OPTIMAL, Outcome.STOPPED) or len(solution.primal) != self.total:
            raise NoSafePatternError("The time limit ended before there was a safe table. Allow more time.")
        n = len(self.windows.low)
        change: IntArray = np.rint(solution.primal[:n] - solution.primal[n : 2 * n]).astype(np.int64)
        cost = self.windows.cost(change)
        run.progress.update(1)
        return FoundTable(change, cost, min(max(solution.bound, 0.0), cost), solution.optimal)
