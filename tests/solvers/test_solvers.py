"""Every solver behind the seam does the same: incremental changes, statuses, duals, rays, integers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.errors import InputError
from discreet.solvers import SOLVERS, Model, Outcome, Solution, lagrangian_bound, new_model, solver_name

MAKERS: dict[str, Callable[[], Model]] = {
    **{name: partial(new_model, solver=name) for name in SOLVERS},
    "highs, primal simplex": lambda: new_model("primal"),
    "highs, another seed": lambda: new_model("dual", seed=7),
}


@pytest.fixture(params=MAKERS)
def model(request) -> Model:
    return MAKERS[request.param]()


class Program:
    """The same program in plain arrays, solved afresh by scipy each time."""

    def __init__(self, rng: np.random.Generator, columns: int, rows: int, *, free: float = 0.2) -> None:
        self.cost = rng.integers(-9, 10, columns).astype(float)
        self.lower = np.where(rng.random(columns) < free, -np.inf, rng.integers(-5, 1, columns))
        self.upper = np.where(rng.random(columns) < free, np.inf, rng.integers(0, 9, columns))
        self.rows, self.row_lower, self.row_upper = random_rows(rng, rows, columns)
        self.maximize = False
        self.integer = np.zeros(columns, dtype=bool)

    def load(self, model: Model) -> None:
        model.load(
            self.cost, self.lower, self.upper, self.rows, self.row_lower, self.row_upper,
            self.integer if self.integer.any() else None,
        )  # fmt: skip
        model.maximize(self.maximize)

    def by_linprog(self) -> tuple[Outcome, float]:
        if self.integer.any():
            solved = milp(
                self.sign * self.cost,
                integrality=self.integer,
                bounds=Bounds(self.lower, self.upper),
                constraints=LinearConstraint(self.rows, self.row_lower, self.row_upper),
            )
        else:
            stacked = sparse.vstack([self.rows, -self.rows], format="csr")
            limit = np.concatenate([self.row_upper, -self.row_lower])
            use = np.isfinite(limit)
            bounds = np.stack([self.lower, self.upper], axis=1)
            solved = linprog(self.sign * self.cost, A_ub=stacked[use], b_ub=limit[use], bounds=bounds)
            if solved.status == 4:  # "unbounded or infeasible": a feasibility problem tells
                feasible = linprog(0 * self.cost, A_ub=stacked[use], b_ub=limit[use], bounds=bounds).status == 0
                return (Outcome.UNBOUNDED if feasible else Outcome.INFEASIBLE), np.nan
        outcome = {0: Outcome.OPTIMAL, 2: Outcome.INFEASIBLE, 3: Outcome.UNBOUNDED}[solved.status]
        return outcome, self.sign * solved.fun if outcome is Outcome.OPTIMAL else np.nan

    @property
    def sign(self) -> int:
        return -1 if self.maximize else 1

    def check(self, solution: Solution) -> None:
        """Status and objective as scipy has them; the point feasible; duals or ray a proof."""
        outcome, objective = self.by_linprog()
        assert solution.outcome is outcome
        assert solution.optimal is (outcome is Outcome.OPTIMAL)
        if outcome is Outcome.OPTIMAL:
            assert solution.objective == pytest.approx(objective, rel=1e-7, abs=1e-7)
            self.check_point(solution.primal)
            assert self.cost @ solution.primal == pytest.approx(objective, rel=1e-7, abs=1e-7)
            if not self.integer.any():
                self.check_duals(solution)
        elif outcome is Outcome.UNBOUNDED and solution.ray is not None:
            self.check_ray(solution.ray)

    def check_point(self, x: np.ndarray, slack: float = 1e-7) -> None:
        activity = self.rows @ x
        assert (x >= self.lower - slack).all()
        assert (x <= self.upper + slack).all()
        assert (activity >= self.row_lower - slack).all()
        assert (activity <= self.row_upper + slack).all()
        assert x[self.integer] == pytest.approx(x[self.integer].round(), abs=1e-6)

    def check_duals(self, solution: Solution) -> None:
        """Stationarity, signs, and no gap: together they prove that nothing is better."""
        y = solution.row_dual
        z = self.cost - self.rows.T @ y
        dual = 0.0
        ends = np.r_[self.row_lower, self.lower], np.r_[self.row_upper, self.upper]
        for price, low, high in zip(np.r_[y, z], *ends, strict=True):
            if abs(price) > 1e-7:
                # When minimizing, a positive price presses on the lower end; when maximizing, on the upper end.
                end = low if self.sign * price > 0 else high
                assert np.isfinite(end)
                dual += price * end
        assert dual == pytest.approx(solution.objective, rel=1e-6, abs=1e-5)
        assert solution.bound == pytest.approx(solution.objective)

    def check_ray(self, ray: np.ndarray) -> None:
        """A true recession direction: it improves for ever and leaves every finite bound alone."""
        slack = 1e-9 * np.abs(ray).max()
        assert self.sign * (self.cost @ ray) < -slack
        move = self.rows @ ray
        assert (ray[np.isfinite(self.lower)] >= -slack).all()
        assert (ray[np.isfinite(self.upper)] <= slack).all()
        assert (move[np.isfinite(self.row_lower)] >= -slack).all()
        assert (move[np.isfinite(self.row_upper)] <= slack).all()


def random_rows(rng: np.random.Generator, rows: int, columns: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    matrix = rng.integers(-3, 4, (rows, columns)) * (rng.random((rows, columns)) < 0.5)
    middle = rng.integers(-3, 4, rows).astype(float)
    kind = rng.integers(4, size=rows)  # equation, at least, at most, between
    lower = np.where(kind == 2, -np.inf, middle - np.where(kind == 3, 4, 0))
    upper = np.where(kind == 1, np.inf, middle + np.where(kind == 3, 4, 0))
    return sparse.csr_array(matrix.astype(float)), lower, upper


@pytest.mark.parametrize("seed", range(12))
def test_changes_one_after_another_equal_a_fresh_solve(model, seed):
    """Bounds, costs, direction, rows and restarts in random order, checked against scipy after each."""
    rng = np.random.default_rng(seed)
    program = Program(rng, columns=8, rows=4)
    program.load(model)
    program.check(model.solve())
    for _ in range(12):
        step = rng.integers(5)
        at = rng.choice(8, size=rng.integers(1, 4), replace=False)
        if step == 0:
            program.lower[at], program.upper[at] = -rng.integers(0, 6, len(at)), rng.integers(0, 9, len(at))
            model.set_bounds(at, program.lower[at], program.upper[at])
        elif step == 1:
            program.cost[at] = rng.integers(-9, 10, len(at))
            model.set_cost(at, program.cost[at])
        elif step == 2:
            program.maximize = not program.maximize
            model.maximize(program.maximize)
        elif step == 3:
            rows, lower, upper = random_rows(rng, 1, 8)
            model.add_rows(rows, lower, upper)
            program.rows = sparse.csr_array(sparse.vstack([program.rows, rows], format="csr"))
            program.row_lower = np.append(program.row_lower, lower)
            program.row_upper = np.append(program.row_upper, upper)
        else:
            model.restart()
        program.check(model.solve())


@pytest.mark.parametrize("seed", range(8))
def test_integer_programs(model, seed):
    rng = np.random.default_rng(100 + seed)
    program = Program(rng, columns=7, rows=4, free=0.0)
    program.integer = rng.random(7) < 0.7
    program.maximize = bool(rng.integers(2))
    program.load(model)
    for _ in range(4):
        solution = model.solve()
        program.check(solution)
        if solution.optimal:
            assert solution.bound == pytest.approx(solution.objective, abs=1e-6)
        at = rng.choice(7, size=2, replace=False)
        program.cost[at] = rng.integers(-9, 10, 2)
        model.set_cost(at, program.cost[at])


def test_load_replaces_everything(model):
    """Rows, integrality and direction of the last model are gone."""
    rng = np.random.default_rng(5)
    first, second = Program(rng, 6, 3, free=0.0), Program(rng, 4, 2, free=0.0)
    first.integer[:] = True
    first.maximize = True
    first.load(model)
    model.solve()
    model.load(second.cost, second.lower, second.upper, second.rows, second.row_lower, second.row_upper)
    second.check(model.solve())


def one_row(model: Model, cost: list[float], lower: float, upper: float, total: float) -> None:
    """cost·x with equal bounds for all and Σx = total."""
    n = len(cost)
    row = sparse.csr_array(np.ones((1, n)))
    model.load(np.array(cost), np.full(n, lower), np.full(n, upper), row, np.array([total]), np.array([total]))


def test_infeasible_by_rows_and_then_repaired(model):
    one_row(model, [1.0, 2.0], 0.0, 1.0, 3.0)
    assert model.solve().outcome is Outcome.INFEASIBLE
    model.set_bounds(np.array([0, 1]), np.zeros(2), np.full(2, 5.0))
    solution = model.solve()
    assert solution.optimal
    assert solution.primal == pytest.approx([3, 0])


def test_infeasible_by_bounds_that_cross(model):
    one_row(model, [1.0, 2.0], 0.0, 4.0, 3.0)
    model.set_bounds(np.array([0]), np.array([2.0]), np.array([1.0]))
    assert model.solve().outcome is Outcome.INFEASIBLE


def test_unbounded_has_a_ray_and_can_be_bounded_again(model):
    one_row(model, [1.0, 0.0, 0.0], -np.inf, np.inf, 0.0)
    solution = model.solve()
    assert solution.outcome is Outcome.UNBOUNDED
    assert solution.ray is not None
    assert solution.ray[0] < 0
    assert solution.ray.sum() == pytest.approx(0, abs=1e-9)
    model.set_bounds(np.arange(3), np.full(3, -4.0), np.full(3, 3.0))
    solution = model.solve()
    assert solution.optimal
    assert solution.objective == pytest.approx(-4)


def test_unbounded_without_any_row_has_a_ray_too(model):
    """A cell outside all relations."""
    model.load(np.ones(2), np.array([0.0, -np.inf]), np.full(2, np.inf), sparse.csr_array((0, 2)), *np.zeros((2, 0)))
    solution = model.solve()
    assert solution.outcome is Outcome.UNBOUNDED
    assert solution.ray is not None
    assert solution.ray[1] < 0
    assert solution.ray[0] >= 0


@pytest.mark.parametrize("room", [1e3, 1e6, 1e7, 1e9, 1e12])
def test_a_bound_far_away_is_still_a_bound(model, room):
    """Four cells in a square with huge values and no upper bounds, in units of a small level: none moves for ever.

    They are pushed one after another, as the audit does: where the last push ended matters.
    """
    square = sparse.csr_array(np.array([[1.0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]))
    model.load(np.zeros(4), np.full(4, -room), np.full(4, np.inf), square, np.zeros(4), np.zeros(4))
    model.maximize(True)
    for sign in (1.0, -1.0):
        for cell in range(4):
            model.set_cost(np.arange(4), sign * np.eye(4)[cell])
            solution = model.solve()
            assert solution.outcome is Outcome.OPTIMAL
            assert sign * solution.primal[cell] == pytest.approx(room)


def test_solutions_are_copies(model):
    one_row(model, [1.0, 2.0], 0.0, 4.0, 3.0)
    solution = model.solve()
    kept = [array.copy() for array in (solution.primal, solution.row_dual)]
    model.set_cost(np.array([0, 1]), np.array([5.0, 1.0]))
    model.set_bounds(np.array([1]), np.array([1.0]), np.array([2.0]))
    other = model.solve()
    assert other.primal == pytest.approx([1, 2])
    for before, now in zip(kept, (solution.primal, solution.row_dual), strict=True):
        assert np.array_equal(before, now)
    other.primal[:] = 99
    assert model.solve().primal == pytest.approx([1, 2])


def test_what_is_handed_in_may_change_afterwards(model):
    cost, lower, upper = np.array([1.0, 2.0]), np.zeros(2), np.full(2, 4.0)
    row, total = sparse.csr_array(np.ones((1, 2))), np.array([3.0])
    model.load(cost, lower, upper, row, total, total)
    for array in (cost, lower, upper, row.data, total):
        array[:] = 7
    assert model.solve().objective == pytest.approx(3)


def test_a_program_without_columns(model):
    nothing = np.zeros(0)
    model.load(nothing, nothing, nothing, sparse.csr_array((0, 0)), nothing, nothing)
    solution = model.solve()
    assert solution.optimal
    assert solution.objective == 0
    assert solution.primal.shape == (0,)


@pytest.mark.parametrize(("total", "outcome"), [(0.0, Outcome.OPTIMAL), (1.0, Outcome.INFEASIBLE)])
def test_rows_without_columns(model, total, outcome):
    nothing = np.zeros(0)
    model.load(nothing, nothing, nothing, sparse.csr_array((1, 0)), np.array([total]), np.array([total]))
    assert model.solve().outcome is outcome


def test_columns_without_rows(model):
    model.load(np.array([1.0, -1.0]), np.full(2, -2.0), np.full(2, 3.0), sparse.csr_array((0, 2)), *np.zeros((2, 0)))
    solution = model.solve()
    assert solution.optimal
    assert solution.primal == pytest.approx([-2, 3])


@pytest.mark.parametrize("simplex", ["primal", "dual"])
def test_where_both_simplex_methods_fail_the_interior_point_method_solves(simplex, monkeypatch):
    """Costs from 5e-13 to 100 in a program of `perturb`."""
    model = new_model(simplex, solver="highs")
    model.load(
        np.ones(2), np.zeros(2), np.full(2, 5.0), sparse.csr_array([[1.0, 1.0]]), np.array([3.0]), np.array([9.0])
    )
    run, runs = type(model)._run, []

    def fails_twice(self):
        runs.append(self._highs.getOptionValue("solver")[1])
        return (Outcome.FAILED, None) if len(runs) <= 2 else run(self)

    monkeypatch.setattr(type(model), "_run", fails_twice)
    assert model.solve().objective == pytest.approx(3.0)
    assert runs[2] == "ipm"
    assert model.solve().objective == pytest.approx(3.0)
    assert runs[3] == "choose"


def test_the_time_limit_is_for_one_solve(model):
    """A clock that ran on through earlier solves would stop this one."""
    one_row(model, [1.0, 2.0], 0.0, 4.0, 3.0)
    for _ in range(50):
        model.restart()
        assert model.solve(time_limit=5.0).optimal


def test_a_time_limit_stops_and_the_next_solve_is_whole_again(model):
    """Whatever was stopped proves nothing, so it is never called optimal unless it is."""
    rng = np.random.default_rng(0)
    n = 60
    weights = sparse.csr_array(rng.integers(10, 100, (30, n)).astype(float))
    cost = rng.integers(10, 100, n).astype(float)
    limit = weights.sum(axis=1) / 2
    model.load(cost, np.zeros(n), np.ones(n), weights, np.full(30, -np.inf), limit, np.ones(n, dtype=bool))
    model.maximize(True)
    solution = model.solve(time_limit=0.05)
    assert solution.outcome in (Outcome.STOPPED, Outcome.OPTIMAL)
    if solution.outcome is Outcome.STOPPED and len(solution.primal) and np.isfinite(solution.objective):
        assert solution.bound >= solution.objective - 1e-6
    one_row(model, [1.0, 2.0], 0.0, 4.0, 3.0)
    assert model.solve().objective == pytest.approx(3)


@pytest.mark.parametrize("name", SOLVERS)
def test_registry_entries_say_which_version_they_are(name):
    assert any(letter.isdigit() for letter in solver_name(name))


def test_a_solver_says_what_it_cannot_do(monkeypatch):
    with pytest.raises(RuntimeError, match="HiGHS could not load the model"):
        new_model().load(np.zeros(2), np.zeros(2), np.ones(2), sparse.csr_array((1, 2)), np.array([np.nan]), np.ones(1))
    pytest.importorskip("pyscipopt")
    with pytest.raises(NotImplementedError, match="SCIP keeps no basis: use another solver for series"):
        new_model(solver="scip").basis()
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    monkeypatch.delitem(sys.modules, "discreet.solvers.scip")
    with pytest.raises(InputError, match=r"The solver 'scip' needs PySCIPOpt: pip install 'discreet\[scip\]'"):
        new_model(solver="scip")


def test_prices_of_rows_bound_the_objective_whatever_they_are():
    """At the optimum the bound is the optimum; any other prices give less, or nothing."""
    solved = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        program = Program(rng, 8, 5)
        model = new_model()
        program.load(model)
        solution = model.solve()
        if not solution.optimal:
            continue
        whole = (program.cost, program.lower, program.upper, program.rows, program.row_lower, program.row_upper)
        assert lagrangian_bound(*whole, solution.row_dual) == pytest.approx(solution.objective, abs=1e-6)
        for _ in range(5):
            assert lagrangian_bound(*whole, solution.row_dual + rng.normal(size=5)) <= solution.objective + 1e-6
        solved += 1
    assert solved > 20
