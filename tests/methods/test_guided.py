"""Patterns that follow a linear program, between kelly's and the cheapest."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.brute import cheapest, is_safe
from tests.helpers.small import small_problem

from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.testing import random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (3, 3)),
    "3-D": lambda rng: random_table(rng, (2, 2, 2), values="integer"),
    "two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2))
    ),
    "linked": lambda rng: random_linked_table(rng, (2, 3, 3)),
}


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many: the pattern itself is shown to GLPK."""


def solve(problem: Problem, **options) -> Protection | None:
    try:
        return protect(problem, "guided", **options)
    except NoSafePatternError:
        return None


@pytest.mark.parametrize("kind", TABLES)
def test_its_bound_is_below_the_cheapest_pattern_and_its_cost_above(kind):
    for seed in range(12):
        rng = np.random.default_rng([seed, list(TABLES).index(kind)])
        problem = small_problem(rng, TABLES[kind](rng), seed)
        best, protection = cheapest(problem), solve(problem)
        assert (best is None) == (protection is None)
        if best is not None and protection is not None:
            report = protection.report
            assert is_safe(problem, protection.suppressed)
            assert report.bound <= best.cost * (1 + 1e-9) + 1e-9
            assert report.cost >= best.cost * (1 - 1e-9) - 1e-9
            assert report.status in ("heuristic", "optimal")
            if report.status == "optimal":
                assert report.cost == pytest.approx(best.cost)


def larger(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    return random_problem(rng, random_table(rng, (5, 5, 5)), primaries=0.08, must_publish=0.0)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_dearer_than_kelly_and_solves_no_integer_program(seed):
    problem = larger(seed)
    report = protect(problem, "guided").report
    assert report.cost <= protect(problem, "kelly").report.cost * (1 + 1e-6)
    assert report.work["integer_programs"] == 0
    assert report.work["relaxations"] > 0


def test_near_enough_is_near_enough():
    problem = larger(0)
    report = protect(problem, "guided", gap=0.9).report
    assert report.status == "within_gap"
    assert report.work["relaxations"] <= protect(problem, "guided").report.work["relaxations"]


def test_with_a_safe_pattern_to_begin_with_no_time_is_enough():
    problem = larger(1)
    start = protect(problem, "kelly").suppressed
    protection = protect(problem, "guided", start=start, time_limit=0.0)
    assert protection.report.status == "time_limit"
    assert protection.report.cost <= problem.cost[start].sum()
