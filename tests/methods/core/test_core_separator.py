"""The separator of all methods: what it calls violated is, its pulls prove it, and its cuts exclude no safe publication."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.arrays import DOWN, SIGN, UP
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.inference.integer_system import integer_weights
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.core.deviations import Pulls, ReachProgram, limits_by_cell
from discreet.methods.core.requirements import Requirement, requirements
from discreet.methods.core.separator import Separator
from discreet.methods.intervals.prepare import prepared
from discreet.methods.intervals.publication import WidthPublication, Widths
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import Sides
from discreet.methods.perturbation.publication import TablePublication
from discreet.methods.perturbation.windows import Windows
from discreet.methods.rounding.grid import RoundingGrid
from discreet.methods.rounding.publication import RoundingPublication, exposed, protection
from discreet.problem import Problem
from discreet.progress import Budget, OutOfTime
from discreet.solvers import Outcome, Solution
from discreet.testing import random_problem, random_table


class GivenSlack:
    """A publication that is nothing but the slack of each cell; its cuts are the violations themselves."""

    def slack(self, attacker, point):
        return point

    def cut(self, attacker, point, violation):
        return violation


def draw(seed: int, prior: str = "sign") -> Problem:
    """A small two- or three-way problem with sensitive cells."""
    rng = np.random.default_rng(seed)
    while True:
        shape = (3, 4) if seed % 2 else (2, 3, 2)
        problem = random_problem(rng, random_table(rng, shape), primaries=0.3, sliding=seed % 3 == 0, prior=prior)
        if len(problem.primaries) and problem.levels(problem.attackers()[0])[:, problem.primaries].any():
            return problem


def required(problem: Problem, cells=None) -> list[Requirement]:
    cells = problem.primaries if cells is None else cells
    return requirements(problem.levels(problem.attackers()[0])[:, cells], cells.tolist())


def reach(problem: Problem, slack, requirement: Requirement) -> float:
    """How far the cell can deviate, by plain linear programs."""
    total = 0.0
    for side in requirement.sides:
        goal = np.zeros(len(problem))
        goal[requirement.cell] = -SIGN[side]
        bounds = np.stack([-slack[DOWN], slack[UP]], axis=1)
        total -= linprog(goal, A_eq=problem.table.relations, b_eq=np.zeros(len(problem.table.rhs)), bounds=bounds).fun
    return total


@pytest.mark.parametrize("seed", range(30))
def test_violations_are_those_of_plain_linear_programs(seed):
    problem = draw(seed)
    rng = np.random.default_rng(seed)
    slack = rng.uniform(0, 0.3, (2, len(problem))) * problem.table.magnitude * (rng.random(len(problem)) < 0.8)
    found = {
        violation.requirement: violation
        for violation in Separator(GivenSlack(), 0, problem.table.relations).violations(slack, required(problem))
    }
    for requirement in required(problem):
        shortfall = 1 - reach(problem, slack, requirement) / requirement.level
        assert (requirement in found) == (shortfall > 1e-8)
        if requirement in found:
            assert found[requirement].shortfall == pytest.approx(shortfall, abs=1e-6)
            proof = limits_by_cell(found[requirement].pulls, slack)[1].sum() / requirement.level
            assert 1 - proof == pytest.approx(shortfall, abs=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_slack_may_be_unlimited_and_levels_tiny(seed):
    problem = draw(seed)
    slack = np.where(np.random.default_rng(seed).random((2, len(problem))) < 0.5, np.inf, 1e-3)
    tiny = [Requirement(each.cell, each.sides, 1e-9 * each.level) for each in required(problem)]
    assert not list(Separator(GivenSlack(), 0, problem.table.relations).violations(slack, tiny))


def test_a_cell_without_relations_has_its_own_slack_only():
    problem = draw(1)
    alone = problem.table.relations[:0]
    slack = np.full((2, len(problem)), 5.0)
    asked = [Requirement(0, (UP,), 4.0), Requirement(0, (UP,), 10.0), Requirement(0, (DOWN, UP), 10.0)]
    (found,) = Separator(GivenSlack(), 0, alone).violations(slack, asked)
    assert (found.requirement, found.shortfall) == (asked[1], 0.5)
    assert found.pulls[0].limits(slack).tolist() == [5.0]


def test_the_slack_of_capped_cells_counts_up_to_a_share_of_the_level():
    problem = draw(1)
    slack = np.full((2, len(problem)), 1e6)
    (requirement,) = required(problem)[:1]
    separator = Separator(GivenSlack(), 0, problem.table.relations)
    share = np.full(len(problem), 0.25)
    (found,) = separator.violations(slack, [requirement], capped=(np.array([requirement.cell]), share))
    assert found.shortfall == pytest.approx(0.75 if len(requirement.sides) == 1 else 0.5)


def test_no_time_is_left():
    problem = draw(1)
    separator = Separator(GivenSlack(), 0, problem.table.relations)
    with pytest.raises(OutOfTime):
        list(separator.violations(np.ones((2, len(problem))), required(problem), Budget(0.0)))


def test_pulls_say_which_slack_limits():
    pulls = Pulls(np.array([0, 2]), np.array([1.0, -2.0]))
    assert pulls.limits(np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]])).tolist() == [10.0, 6.0]


# -- cuts of each method ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_widths_exclude_no_safe_intervals(seed):
    problem = draw(seed)
    try:
        setting = prepared(problem, Sides())
        search = WidthSearch(setting, Run())
        search.search()
    except NoSafePatternError:
        return
    best = search.best.solution
    rng = np.random.default_rng(seed)
    separator = Separator(WidthPublication(setting), 0, setting.relations)
    for share in (0.2, 0.6, 0.9):
        z = np.maximum(share * best * rng.random(best.shape), setting.least(setting.requirements))
        cuts, violations = separator.separate(Widths(z), setting.requirements[0])
        for cut, violation in zip(cuts, violations, strict=True):
            least = cut.least - cut.amount.sum()
            assert cut.weight @ z.ravel()[cut.columns] < least
            # Wider intervals than the best ones are safe as well.
            for safe in (best, 1.5 * best):
                assert cut.weight @ safe.ravel()[cut.columns] >= least - 1e-6 * violation.requirement.level


@pytest.mark.parametrize("seed", range(12))
def test_cuts_of_steps_exclude_no_safe_rounding(seed):
    problem = draw(seed)
    base = 2 * float(problem.levels(problem.attackers()[0]).max())
    grid = RoundingGrid.of(problem, base, 2, False)
    rng = np.random.default_rng(seed)
    points = [grid.least + rng.integers(0, grid.most - grid.least + 1) for _ in range(40)]
    separator = Separator(RoundingPublication(grid), 0, problem.table.relations)
    safe = [point for point in points if not exposed(grid, point)]
    for point in points:
        violated = exposed(grid, point).get(0, [])
        for cut in separator.separate(point, violated)[0]:
            assert cut.shortfall(point) > 0
            assert all(cut.shortfall(other) <= 1e-6 for other in safe)
    assert protection(grid, points[0]).problem is problem


@pytest.mark.parametrize("seed", range(12))
def test_cuts_of_changes_exclude_no_safe_table(seed):
    problem = draw(seed)
    value = problem.table.value
    far = 0.4 * np.abs(value) + 1.0
    try:
        windows = Windows.given(problem, value - far, value + far)
    except NoSafePatternError:
        return
    publication = TablePublication(windows)
    separator = Separator(publication, 0, integer_weights(problem.table.relations))
    rng = np.random.default_rng(seed)
    low, high = (np.clip(end, -10_000, 10_000) for end in (windows.low, windows.high))
    points = [np.rint(rng.uniform(low, high)).astype(np.int64) for _ in range(30)]
    separated = [separator.separate(point, required(problem)) for point in points]
    safe = [point.astype(float) for point, (_, violations) in zip(points, separated, strict=True) if not violations]
    for point, (cuts, _) in zip(points, separated, strict=True):
        for cut in cuts:
            assert cut.shortfall(point.astype(float)) > 0
            assert all(cut.shortfall(other) <= 1e-5 for other in safe)


@pytest.mark.parametrize("method", ["intervals", "perturb", "optimal"])
def test_methods_on_the_core_protect_what_was_drawn(method):
    """The three publications in use, on the problems of this page."""
    protected = 0
    for seed in range(4):
        with suppress(NoSafePatternError):
            problem = draw(seed)
            protected += audit(problem, protect(problem, method, time_limit=20), intervals=False).passed
    assert protected


def test_a_program_that_the_solver_calls_infeasible_is_solved_again_from_the_slack_basis(monkeypatch):
    """No deviation at all is always feasible. A basis left by bounds of other units misled HiGHS on `table1`."""
    program = ReachProgram(sparse.csr_array(np.array([[1.0, 1.0, -1.0]])), np.arange(3))
    program.limit(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    solve, restarts = program._model.solve, []

    def misled() -> Solution:
        found = solve()
        return found if restarts else replace(found, outcome=Outcome.INFEASIBLE)

    monkeypatch.setattr(program._model, "solve", misled)
    monkeypatch.setattr(program._model, "restart", lambda: restarts.append(True))
    assert program.push(2, UP).objective == pytest.approx(3.0)
    assert restarts
