"""Perturbation as one mixed-integer program: slow, but simple enough to check the method against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.errors import RuleError
from discreet.methods.context import Run
from discreet.methods.core.compact_model import CompactModel, Limits
from discreet.methods.core.cutting_planes import INTEGER_PROGRAM_GAP
from discreet.methods.core.requirements import requirements
from discreet.methods.method import Traits, option
from discreet.methods.perturbation.master import FoundTable
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.perturbation.search import TableSearch, first_feasible
from discreet.methods.perturbation.windows import Windows
from discreet.problem import Problem, Status
from discreet.protection import Protection

MAX_UNITS = 1e8  # that a cell may change by: with larger integers the solver does not end
UNLIMITED_UNITS = 1e9  # more than any cell may change by


@dataclass(frozen=True)
class PerturbationFirstModel:
    """Salazar-González (2002), figure 12: an oracle for small problems, with floors and ceilings as in ``perturb``.

    Beside the changes of all cells, in integral units, there are for each attacker, each protected cell and each side
    deviations ``f`` from the true table to one that the attacker must hold possible. They satisfy the relations and stay within
    the prior bounds of the attacker and within the published intervals: ``d − r ≤ f ≤ d + r``.
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
            sizes = np.abs(np.concatenate([windows.low, windows.high]))
            if sizes[np.isfinite(sizes)].max(initial=0.0) > MAX_UNITS:
                raise RuleError(
                    f"Cells may change by more than {MAX_UNITS:,.0f} units of the last digit, too many for one integer program. "
                    "Take the method 'perturb', or give figures in thousands."
                )
            search = TableSearch(windows, run)
            start, cells = method.start(search), problem.primaries
            fixed = windows if start is None else windows.pinned(cells, start.change[cells])
            found = _cheapest(fixed, self.at_most, run)
            return search.protection(self.name, found, found.bound, note)

        run.progress.stage("solve", 1)
        return first_feasible(method.windows(problem, run), solve)


def _cheapest(windows: Windows, at_most: int | None, run: Run) -> FoundTable:
    """Columns, in units: changes up and down of all cells, whether they change if that is limited, then deviations."""
    problem, value = windows.problem, windows.problem.table.value
    relations, n = problem.table.relations, len(problem.table)
    each = sparse.csr_array(sparse.eye_array(n, format="csr"))
    model = CompactModel()
    most = np.maximum(windows.high, 0.0), np.maximum(-windows.low, 0.0)
    up = model.columns(np.maximum(windows.low, 0.0), most[0], windows.weight, integral=True)
    down = model.columns(np.maximum(-windows.high, 0.0), most[1], windows.weight, integral=True)
    model.rows([(up, relations), (down, -relations)], 0.0, 0.0)
    suppressed = problem.status == Status.SUPPRESSED
    if at_most is not None:
        changes = model.columns(np.zeros(n), np.ones(n), integral=True)
        for first, limit in ((up, most[0]), (down, most[1])):
            finite = np.where(np.isfinite(limit), limit, UNLIMITED_UNITS)
            model.rows([(first, each), (changes, -each.multiply(finite))], most=0.0)
        count = sparse.csr_array((~suppressed).astype(float)[np.newaxis])
        model.rows([(changes, count)], most=at_most)
    published = np.flatnonzero(~suppressed)
    constant = (windows.half_width(value) / windows.unit)[published]
    # With a change of d the true value is between v + d − r and v + d + r, where r = constant + slope · d.
    above, below = (
        sparse.csr_array(sparse.diags_array(slope, format="csr")[published])
        for slope in (1 + windows.slope, windows.slope - 1)
    )
    limits = Limits(published, (constant, constant), ([(up, below), (down, -below)], [(up, above), (down, -above)]))
    uncertain = (windows.half_width(value) > 0) | suppressed
    for attacker in problem.attackers():
        cells = np.flatnonzero(problem.protected(attacker, uncertain))
        levels = problem.levels(attacker)[:, cells] / windows.unit * (1 - INTEGER_PROGRAM_GAP)
        prior = problem.slack(attacker) / windows.unit
        model.require(requirements(levels, cells.tolist()), relations, prior, limits)
    model.load(run.seed)
    solution = model.solve(run.budget)
    change: IntArray = np.rint(solution.primal[:n] - solution.primal[n : 2 * n]).astype(np.int64)
    cost = windows.cost(change)
    run.progress.update(1)
    return FoundTable(change, cost, min(max(solution.bound, 0.0), cost), solution.optimal)
