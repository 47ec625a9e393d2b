"""Tables without common cells, one by one: the same protection as all at once, in less time."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from tests.helpers.fixed import few_and_many

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.separate import separate
from discreet.errors import NoSafePatternError
from discreet.methods import SUPPRESSION, protect, with_options
from discreet.methods import split as pieces
from discreet.methods.context import Run
from discreet.methods.split import InPieces, bundles
from discreet.methods.suppress.kelly import Kelly
from discreet.problem import Problem, Status
from discreet.protection import Protection
from discreet.testing import pose, random_problem, random_table


@pytest.fixture(autouse=True)
def small_bundles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MAX_CELLS_PER_BUNDLE", 25)


def several(seed: int, towns: int = 6, **options: float) -> Problem:
    """A table of 4 × 4 for each town; ``must_publish`` is 0 so that there is always a safe pattern."""
    rng = np.random.default_rng(seed)
    table = separate(random_table(rng, (towns, 3, 3), zeros=0.0), "a")
    return random_problem(rng, table, primaries=0.15, must_publish=0.0, **options)


def test_bundles_hold_whole_tables_with_something_to_protect():
    problem = several(1)
    found = bundles(problem)
    assert len(found) > 1
    town = problem.table.codes[0]
    for cells in found:
        assert set(np.flatnonzero(np.isin(town, town[cells]))) == set(cells)
    concerned = np.isin(town, town[problem.primaries])
    assert sorted(np.concatenate(found)) == np.flatnonzero(concerned).tolist()


def test_small_tables_share_a_bundle(monkeypatch):
    monkeypatch.setattr(pieces, "MAX_CELLS_PER_BUNDLE", 40)
    assert {len(cells) for cells in bundles(several(1))} <= {16, 32}


def test_cells_without_relations_are_tables_of_their_own():
    table = random_table(np.random.default_rng(1), (3, 3), zeros=0.0).only(np.array([5, 6, 9]))
    assert table.relations.shape[0] == 0
    problem = pose(table, dict.fromkeys(table.labels(), 0.1))
    assert protect(problem, InPieces(with_options("kelly"))).suppressed.all()


@pytest.mark.parametrize("method", SUPPRESSION)
@pytest.mark.parametrize("seed", few_and_many(1, 3))
def test_the_whole_is_safe_and_costs_what_the_tables_cost(method, seed):
    problem = several(seed)
    found = protect(problem, InPieces(with_options(method)))
    assert audit(problem, found, intervals=False).passed
    assert found.report.method == method
    assert found.report.cost == pytest.approx(problem.cost[found.suppressed].sum())
    if found.report.status == "optimal":
        assert found.report.bound == pytest.approx(found.report.cost)
        assert found.report.cost == pytest.approx(protect(problem, "optimal").report.cost)
    else:
        assert method not in ("optimal", "first-model")


def test_cells_that_are_hidden_already_stay_hidden_and_are_counted():
    problem = several(3, already_suppressed=0.1)
    found = protect(problem, InPieces(with_options("optimal")))
    assert found.suppressed[problem.status == Status.SUPPRESSED].all()
    assert found.report.cost == pytest.approx(problem.cost[found.suppressed].sum())
    assert found.report.bound == pytest.approx(found.report.cost)


class ByPost(Executor):
    """Work is sent as to another process, and done at once."""

    def submit(self, do: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        do, args = pickle.loads(pickle.dumps((do, args)))
        done: Future[Any] = Future()
        done.set_result(pickle.loads(pickle.dumps(do(*args))))
        return done


@pytest.mark.parametrize("method", ["kelly", "hypercube"])
def test_an_executor_finds_the_same_pattern(method):
    problem = several(4)
    spread = protect(problem, InPieces(with_options(method)), executor=ByPost(), time_limit=60)
    np.testing.assert_array_equal(spread.suppressed, protect(problem, InPieces(with_options(method))).suppressed)


@dataclass(frozen=True)
class Noting:
    """Proves the pattern of one town to be the cheapest, and says so."""

    town: int
    name = "noting"

    def protect(self, problem: Problem, run: Run) -> Protection:
        found = Kelly().protect(problem, Run())
        proven = self.town in problem.table.codes[0]
        how = ("optimal", "proven") if proven else ("heuristic", "not proven")
        return replace(found, report=replace(found.report, status=how[0], note=how[1]))


@pytest.mark.parametrize("place", [0, -1])
def test_a_note_is_about_all_tables(place):
    """That of the tables that came out worst is true of the whole."""
    problem = several(4)
    town = int(problem.table.codes[0, bundles(problem)[place][0]])
    report = protect(problem, InPieces(Noting(town))).report
    assert (report.status, report.note) == ("heuristic", "not proven")


LONG = 500.0  # seconds


@dataclass(frozen=True)
class Slow:
    """Needs more time for the tables of one town than is their share."""

    town: int
    name = "slow"

    def protect(self, problem: Problem, run: Run) -> Protection:
        if self.town in problem.table.codes[0] and run.budget.seconds < LONG:
            run.budget.started -= run.budget.seconds
            raise NoSafePatternError("The time limit ended. Allow more time.")
        return Kelly().protect(problem, Run())


@pytest.mark.parametrize("executor", [None, ByPost()])
def test_a_table_that_takes_long_has_the_time_that_others_leave(executor):
    problem = several(4)
    first = int(problem.table.codes[0, bundles(problem)[0][0]])
    found = protect(problem, InPieces(Slow(first)), executor=executor, time_limit=2 * LONG)
    np.testing.assert_array_equal(found.suppressed, protect(problem, "kelly").suppressed)
    with pytest.raises(NoSafePatternError, match="Allow more time"):
        protect(problem, InPieces(Slow(first)), executor=executor, time_limit=0.9 * LONG)


def test_further_attackers_are_kept_in_mind():
    problem = several(5)
    value = problem.table.value
    insider = Attacker("insider", value * 0.4, value * 1.6)
    informed = problem.with_columns(others=(insider,))
    found = protect(informed, InPieces(with_options("kelly")))
    assert audit(informed, found, intervals=False).passed


def test_a_table_in_one_piece_is_left_to_the_method():
    rng = np.random.default_rng(6)
    problem = random_problem(rng, random_table(rng, (5, 5)), must_publish=0.0)
    one, other = protect(problem, InPieces(with_options("kelly"))), protect(problem, "kelly")
    assert one.digest == other.digest


def test_the_pattern_so_far_is_that_of_all_tables_and_another_run_can_begin_with_it():
    problem = several(7)
    kept: list[np.ndarray] = []
    found = protect(problem, InPieces(with_options("kelly")), keep=lambda suppressed: kept.append(suppressed.copy()))
    assert all(len(suppressed) == len(problem) for suppressed in kept)
    np.testing.assert_array_equal(kept[-1], found.suppressed)
    resumed: list[np.ndarray] = []
    again = protect(
        problem,
        InPieces(with_options("kelly")),
        start=kept[-1],
        keep=lambda suppressed: resumed.append(suppressed.copy()),
    )
    chosen = kept[-1] & (problem.status == Status.FREE)
    later = bundles(problem)[-1]
    assert np.all(resumed[0][later] >= chosen[later]), "nothing of it is forgotten before its turn"
    assert again.report.cost <= found.report.cost * (1 + 1e-9)
    assert audit(problem, again, intervals=False).passed


def test_a_cell_that_nothing_protects_is_called_by_its_name():
    problem = several(8)
    p = int(problem.primaries[0])
    stuck = problem.table.codes[0] == problem.table.codes[0, p]
    status = np.where(stuck & (problem.status == Status.FREE), Status.PUBLISHED, problem.status)
    status = np.where(stuck & (np.arange(len(problem)) != p), Status.PUBLISHED, status)
    with pytest.raises(NoSafePatternError) as error:
        protect(problem.with_columns(status=status), InPieces(with_options("kelly")))
    assert error.value.offenders == [problem.table.label(p)]
