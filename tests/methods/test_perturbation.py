"""Cell perturbation: sensitive cells at given values, other cells changed no more than that takes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from tests.helpers.fixed import secret
from tests.helpers.interrupt import Interrupt

from discreet.data.table import Table
from discreet.errors import NoSafePatternError, RuleError
from discreet.methods import protect, with_options
from discreet.methods.context import Run
from discreet.methods.perturbation import large, search
from discreet.methods.perturbation.first_model import PerturbationFirstModel
from discreet.methods.perturbation.master import TableMaster
from discreet.methods.perturbation.perturbation import Perturbation
from discreet.methods.totals import Totals
from discreet.problem import Status
from discreet.progress import Budget
from discreet.solvers import Outcome, Solution
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_problem, random_table
from methods.perturbed import cheapest, check, tiny

TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 4)),
    "hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2), 3), values="integer"),
    "negative": lambda rng: random_table(rng, (4, 3), negative=0.3),
    "3-D": lambda rng: random_table(rng, (3, 3, 3), values="integer"),
    "linked": random_linked_table,
}


def windows(rng, problem):
    """Floors and ceilings some whole numbers away; sensitive cells have more slack."""
    value, n = problem.table.value, len(problem)
    wide = np.where(problem.status == Status.PRIMARY, 3, 2)
    floor, ceiling = value - rng.integers(1, 3, n) * wide / 2 // 1, value + rng.integers(1, 3, n)
    fixed = problem.status == Status.PUBLISHED
    return np.where(fixed, value, np.maximum(floor, 0)), np.where(fixed, value, ceiling)


@pytest.mark.parametrize("tables", [25, pytest.param(150, marks=pytest.mark.slow)])
def test_the_cheapest_of_all_tiny_tables_and_the_first_model(tables):
    rng, solved, hopeless = np.random.default_rng(8), 0, 0
    while solved < tables:
        problem = tiny(rng)
        floor, ceiling = windows(rng, problem)
        value, cells = problem.table.value, problem.primaries

        def at_ceiling(change, cells=cells, slack=(ceiling - value)[cells]):
            return bool(np.all(change[cells] == slack))

        best = cheapest(problem, floor - value, ceiling - value, ceiling - floor, at_ceiling)
        costs = []
        for method in (Perturbation, PerturbationFirstModel):
            try:
                found = protect(problem, method(floor=floor, ceiling=ceiling))
            except NoSafePatternError:
                costs.append(None)
            else:
                check(problem, found)
                assert found.report.status == "optimal"
                costs.append(found.report.cost)
        assert costs == ([None, None] if best is None else [pytest.approx(best)] * 2)
        solved, hopeless = solved + (best is not None), hopeless + (best is None)
    assert hopeless > tables / 12


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_published_adds_up_and_is_safe(kind):
    solved = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, list(TABLES).index(kind)])
        problem = random_problem(
            rng, TABLES[kind](rng), sliding=seed % 2 == 1, must_publish=0.02, already_suppressed=0.03 * (seed % 2)
        )
        try:
            found = protect(problem, "perturb", time_limit=20)
        except NoSafePatternError:
            continue
        check(problem, found)
        solved += 1
    assert solved >= 3


@pytest.mark.parametrize("kind", TABLES)
def test_tables_as_if_they_were_large(kind, monkeypatch):
    """The finest cells are chosen and totals follow, where windows allow; the publication is as safe, and the bound valid."""
    monkeypatch.setattr(large, "MIN_LARGE_CELLS", 0)
    solved = 0
    for seed in range(6):
        rng = np.random.default_rng([seed, list(TABLES).index(kind)])
        problem = random_problem(rng, TABLES[kind](rng), sliding=seed % 2 == 1, already_suppressed=0.03 * (seed % 2))
        try:
            found = protect(problem, "perturb", time_limit=20, secret=secret(seed))
        except NoSafePatternError:
            continue
        check(problem, found)
        assert 0 <= found.report.bound <= found.report.cost
        assert protect(problem, "perturb", time_limit=20, secret=secret(seed)).digest == found.digest
        solved += 1
    assert solved >= 3


def test_an_interrupt_keeps_the_safe_table_of_a_large_one(monkeypatch):
    monkeypatch.setattr(large, "MIN_LARGE_CELLS", 0)
    rng = np.random.default_rng(4)
    problem = random_problem(rng, random_table(rng, (6, 5, 4), values="integer"), must_publish=0.0)
    whole = protect(problem, "perturb", secret=secret())
    with pytest.raises(KeyboardInterrupt):  # the first report is of the first table: there is no other by then
        protect(problem, "perturb", secret=secret(), progress=Interrupt(0))
    found = protect(problem, "perturb", secret=secret(), progress=Interrupt(whole.report.work["rounds"] - 1))
    check(problem, found)
    assert found.report.status == "interrupted"
    assert found.report.cost > whole.report.cost


def test_bounds_of_large_tables_are_those_of_the_program():
    """Without rounding and cuts the program of all cells is the same, so that its bound is the best one there is."""
    rng = np.random.default_rng(4)
    problem = random_problem(rng, random_table(rng, (6, 5, 4), values="integer"), must_publish=0.0)
    windows = Perturbation().windows(problem, Run())[-1]()[0]
    wanted = np.zeros(len(problem))
    wanted[problem.primaries] = windows.high[problem.primaries]
    finest = large.Finest(windows, Totals.of(problem.table))
    change = finest.change(wanted)
    assert change is not None
    within = windows.pinned(problem.primaries, change[problem.primaries])
    found, bound = finest.cheapest(within, Budget(), 0)
    exact = TableMaster(within, within.weight, plain=True).solve(Budget())
    assert bound == pytest.approx(exact.bound, rel=1e-4)
    assert found is None or found.cost >= bound * (1 - 1e-9)


def test_drawn_values_depend_on_the_secret_and_on_the_table():
    rng = np.random.default_rng(1)
    problem = random_problem(rng, random_table(rng, (5, 5)), must_publish=0.0)
    one, again, other = (protect(problem, "perturb", seed=1, secret=secret(number)) for number in (1, 1, 2))
    assert one.digest == again.digest != other.digest


def test_no_more_cells_than_wanted_are_changed():
    table = cross_table(["a", "b", "c"], ["x", "y", "z"], [[50, 40, 30], [20, 60, 45], [35, 25, 55]])
    problem = pose(table, {"a × x": (5, 5)})
    floor, ceiling = np.maximum(table.value - 10, 0), table.value + 10
    for method in (Perturbation, PerturbationFirstModel):
        found = protect(problem, method(floor=floor, ceiling=ceiling, at_most=4))
        assert np.count_nonzero(found.published != table.value) == 4
        check(problem, found)
        with pytest.raises(
            NoSafePatternError, match="No table adds up, stays within its windows and protects all of 'a × x'"
        ):
            protect(problem, method(floor=floor, ceiling=ceiling, at_most=3))


def test_free_cells_with_levels_are_protected_as_well():
    table = cross_table(["a", "b"], ["x", "y"], [[50, 40], [20, 60]])
    problem = pose(table, {"a × x": (5, 5), "b × y": (20, 20)})
    status = problem.status.copy()
    status[table.index("b × y")] = Status.FREE
    problem = problem.with_columns(status=status)
    check(problem, protect(problem, Perturbation(percent=40)))
    with pytest.raises(NoSafePatternError, match="b × y"):
        protect(problem, Perturbation(percent=15, margin=0))


def test_numbers_that_are_not_round():
    rng = np.random.default_rng(4)
    table = cross_table(["a", "b", "c"], ["x", "y", "z"], rng.lognormal(5, 1, (3, 3)))
    problem = pose(table, {"a × x": (5, 5)})
    found = protect(problem, "perturb")
    check(problem, found)
    off = np.abs(table.relations @ found.published)
    assert off.max() <= 1e-12 * np.abs(found.published).sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"percent": -1}, "'percent' is a number from 0 to less than 100"),
        ({"percent": 100}, "'percent' is a number from 0 to less than 100"),
        ({"margin": np.inf}, "'margin' is a number, 0 or more"),
        ({"at_most": -1}, "At most -1 cells cannot be changed: give a number of cells"),
        ({"floor": np.zeros(3)}, "Give floor and ceiling together, or percent and margin, not both"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(RuleError, match=message):
        Perturbation(**options)


@pytest.mark.parametrize("method", ["perturb", "adjust"])
def test_windows_beyond_exact_sums_are_refused(method):
    problem = pose(cross_table(["a", "b"], ["d", "e"], [[10, 20], [30, 40]]), {"a × d": 1})
    with pytest.raises(RuleError, match="Windows are too wide"):
        protect(problem, with_options(method, margin=1e19))


def test_options_come_as_text_as_well():
    assert with_options("perturb", percent="30", margin="2", at_most="7") == Perturbation(30.0, 2.0, 7)


def test_floors_and_ceilings_that_leave_the_truth_out():
    problem = pose(cross_table(["a", "b"], ["x", "y"], [[5, 4], [2, 6]]), {"a × x": (1, 1)})
    value = problem.table.value
    with pytest.raises(RuleError, match=r"9 cells lie outside their floors and ceilings: .* Widen these"):
        protect(problem, Perturbation(floor=value + 1, ceiling=value + 2))
    with pytest.raises(RuleError, match="The floors and ceilings are not one number for each of the 9 cells"):
        protect(problem, Perturbation(floor=value[:2], ceiling=value[:2]))
    with pytest.raises(NoSafePatternError, match="a × x"):
        protect(problem, Perturbation(floor=value, ceiling=value))
    with pytest.raises(NoSafePatternError, match="At their ceilings 'a × x' have no slack for their levels"):
        protect(problem, Perturbation(floor=value, ceiling=value + 9))


def test_a_solver_that_fails_is_not_called_a_time_limit(monkeypatch):
    """Values from 0.0002 to 180,000,000: the solver failed in 5 of 12 runs, and the message spoke of the time limit."""
    problem = random_problem(np.random.default_rng(4), random_table(np.random.default_rng(4), (4, 4)), must_publish=0.0)
    failed = Solution(Outcome.FAILED, np.nan, np.zeros(0), np.zeros(0), np.nan, None, 0)
    monkeypatch.setattr(HighsModel, "solve", lambda *given, **more: failed)
    with pytest.raises(NoSafePatternError, match="The solver failed on this table"):
        protect(problem, "perturb")


def test_weights_of_the_first_table_are_of_similar_size(monkeypatch):
    table = cross_table("ab", "xy", [[0.0002, 3.0], [180_000_000.0, 7.0]])
    problem, seen = pose(table, {"a × y": 1.0}), []
    begin = TableMaster.__init__

    def noted(self, windows, weight, *given, **more):
        seen.append(weight[problem.status == Status.FREE])
        begin(self, windows, weight, *given, **more)

    monkeypatch.setattr(TableMaster, "__init__", noted)
    protect(problem, Perturbation(at_most=9))
    assert seen[0].max() < 0.5  # a share of its own value, which is twice the unit of the table


@pytest.mark.parametrize(
    ("patched", "message"),
    [
        ("solve", "The time limit ended before there was a table to publish"),
        ("_rounded", "The time limit ended before there was a table of round numbers"),
        ("verdicts", "It cannot be decided how to protect 'a × x'"),
    ],
)
def test_where_no_table_is_found_the_reason_is_given(patched, message, monkeypatch):
    rng = np.random.default_rng(4)
    problem = random_problem(rng, random_table(rng, (4, 4)), must_publish=0.0)
    if patched == "solve":
        stopped = Solution(Outcome.STOPPED, np.nan, np.zeros(0), np.zeros(0), np.nan, None, 0)
        monkeypatch.setattr(HighsModel, "solve", lambda *given, **more: stopped)
    if patched == "_rounded":
        monkeypatch.setattr(TableMaster, "_change", lambda self, solution: np.arange(self.n) + 0.4)
        for name in ("_nearest", "_dive"):
            monkeypatch.setattr(TableMaster, name, lambda *given: None)
    if patched == "verdicts":
        undecided = SimpleNamespace(exposed=["a × x"], passed=False)
        monkeypatch.setattr(search, "verdicts", lambda *given, **more: undecided)
        monkeypatch.setattr(search, "exposed_requirements", lambda checked: {})
    with pytest.raises(NoSafePatternError, match=message):
        Perturbation().protect(problem, Run())


def test_relations_without_common_units_are_refused():
    relations = sparse.csr_array([[1.0, -np.sqrt(2.0)]])
    table = Table({}, np.zeros((0, 2)), np.array([np.sqrt(2.0), 1.0]), relations, names=("p", "q"))
    with pytest.raises(RuleError, match="Relations have weights that are no simple fractions"):
        protect(pose(table, {}), "perturb")


@pytest.mark.parametrize("method", ["perturb", "adjust", "perturb-first-model"])
@pytest.mark.parametrize("sliding", [6, 15])
def test_published_intervals_leave_slack_for_a_sliding_level(method, sliding):
    """The value 10 is not negative: an interval of width 15 must reach up to 15."""
    table = cross_table(["a", "b", "c"], ["d", "e", "f"], [[10, 20, 30], [30, 40, 20], [5, 8, 12]])
    problem = pose(table, {"a × d": (0, 0, sliding)})
    check(problem, protect(problem, method))


def test_integers_too_large_for_one_program_are_refused():
    """The solver would not come to an end, whatever the time limit."""
    table = cross_table(["a", "b"], ["d", "e"], np.array([[1, 2], [3, 4]]) * 10**10)
    with pytest.raises(RuleError, match="Take the method 'perturb'"):
        protect(pose(table, {"a × d": 10**9}), "perturb-first-model", time_limit=1)


@pytest.mark.parametrize("method", ["perturb", "adjust"])
def test_figures_beyond_exact_sums_are_refused(method):
    """They were turned into other numbers on the way, and called optimal."""
    table = cross_table(["a", "b"], ["d", "e"], np.array([[1, 2], [3, 4]]) * 1e300)
    with pytest.raises(RuleError, match="Give figures in thousands or millions"):
        protect(pose(table, {"a × d": 1e299}), method)
