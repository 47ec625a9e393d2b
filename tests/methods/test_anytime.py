"""A safe pattern in the first seconds: no method ends without one, unless there is none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import is_safe

from discreet import audit, protect
from discreet.errors import NoSafePatternError
from discreet.inference.max_flow import network
from discreet.methods import METHODS, SUPPRESSION
from discreet.methods.anytime import first_pattern
from discreet.methods.context import Run
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import pose, random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "3-D": lambda rng: random_table(rng, (3, 3, 3)),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 3, 2), values="integer"),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 2)),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3)),
    "linked": random_linked_table,
}
PRIORS = ("sign", "percent", "mixed", "nothing")


def draw(kind: str, seed: int) -> Problem:
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    problem = random_problem(rng, TABLES[kind](rng), prior=PRIORS[seed % 4], sliding=seed % 2 == 1)
    return problem.posed(suppresses=True, lists_zeros=True)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", range(12))
def test_the_first_pattern_is_safe(kind, seed):
    problem = draw(kind, seed)
    first = first_pattern(problem, Run())
    try:
        protect(problem, "eliminate")
    except NoSafePatternError:
        return
    assert first is not None
    assert is_safe(problem, first.suppressed)
    for deviations in first.deviations:
        for one in deviations:
            assert first.suppressed[one.cells].all()


@pytest.mark.parametrize("name", [name for name in SUPPRESSION if name != "first-model"])
def test_a_time_limit_of_zero_leaves_a_safe_pattern(name):
    problem = draw("3-D", 4)
    found = protect(problem, name, time_limit=0.0)
    assert audit(problem, found).passed
    assert found.report.method == name


def hard(seed: int, shape: tuple[int, ...] = (9, 9, 9)) -> Problem:
    """A flat table of three dimensions, in which `kelly` needs a program per sensitive cell."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, shape, values="integer")
    cells = rng.choice(np.flatnonzero(table.is_base & (table.value > 3)), 60, replace=False)
    return pose(table, {table.label(int(i)): 0.2 * float(table.value[i]) for i in cells})


def test_what_is_done_when_time_ends_is_kept_and_the_rest_is_protected_by_the_first_pattern(monkeypatch):
    problem = hard(1)
    assert network(problem.table.relations) is None
    first = first_pattern(problem.posed(suppresses=True, lists_zeros=True), Run())
    assert first is not None
    grown = protect(problem, "kelly")
    clock = iter(0.05 * k for k in range(10**9))
    monkeypatch.setattr("discreet.progress.time.monotonic", lambda: next(clock))
    for limit in (2.0, 5.0, 8.0):
        found = protect(problem, "kelly", time_limit=limit)
        assert audit(problem, found).passed
        assert found.report.status in ("time_limit", "heuristic")
        assert found.report.cost >= grown.report.cost * 0.5
        needed = found.suppressed & (problem.status == Status.FREE)
        assert needed.any()


@pytest.mark.parametrize("name", ["kelly", "hypercube", "auto", "guided"])
def test_ctrl_c_ends_the_run_and_a_checkpoint_has_the_first_pattern(name, monkeypatch):
    problem, kept = hard(2), []

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(METHODS[name], "protect", stop)
    with pytest.raises(KeyboardInterrupt):
        protect(problem, name, keep=lambda pattern: kept.append(pattern.copy()))
    assert audit(problem, suppress(problem, kept[-1])).passed


def test_the_first_pattern_is_kept_for_another_run():
    problem, kept = hard(3), []
    protect(problem, "kelly", time_limit=60.0, keep=lambda pattern: kept.append(pattern.copy()))
    first = first_pattern(problem.posed(suppresses=True, lists_zeros=True), Run())
    assert first is not None
    assert any(np.array_equal(first.suppressed, pattern) for pattern in kept)
