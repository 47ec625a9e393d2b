"""Cheap moves and what they prove: a move is a congruent table, and evidence never claims more than it shows."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.arrays import DOWN, UP
from discreet.methods.context import Run
from discreet.methods.suppress.deviation_search import deviation_programs
from discreet.methods.suppress.eliminate import eliminate
from discreet.methods.suppress.evidence import KnownDeviations, find_deviations
from discreet.problem import Status
from discreet.protection import suppress
from discreet.testing import cross_table, infer, pose, random_problem, random_table


@pytest.mark.parametrize("seed", range(10))
def test_a_move_is_a_congruent_table_that_reaches_the_level(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (3, 4)))
    search = deviation_programs(problem, problem.status != Status.PUBLISHED, problem.cost)[0]
    for p in problem.primaries.tolist():
        for side, level in ((UP, problem.upper[p]), (DOWN, problem.lower[p])):
            move = search.move(p, side, float(level)) if level > 0 else None
            if move is None:
                continue
            full = np.zeros(len(problem))
            full[move.cells] = move.amount
            noise = 1e-6 * level
            assert (full[p] if side == UP else -full[p]) == pytest.approx(level)
            assert np.abs(problem.table.relations @ full).max(initial=0.0) <= noise
            assert (problem.table.value + full >= problem.prior_lower - noise).all()
            assert (problem.table.value + full <= problem.prior_upper + noise).all()


@pytest.mark.parametrize("seed", range(10))
def test_evidence_never_credits_more_than_the_exact_interval(seed):
    """It is what the clean-up trusts instead of a linear program."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (3, 4)))
    everything = problem.status != Status.PUBLISHED
    search = deviation_programs(problem, everything, problem.cost)[0]
    evidence = KnownDeviations(problem, problem.attackers()[0])
    for p in problem.primaries.tolist():
        find_deviations(search, evidence, p)
    protection = suppress(problem, everything)
    for p in problem.primaries.tolist():
        lower, upper = infer(protection, p, problem.attackers()[0])
        slack = 1e-6 * max(1.0, float(problem.table.magnitude[p]))
        assert evidence.reach[DOWN, p] <= problem.table.value[p] - lower + slack
        assert evidence.reach[UP, p] <= upper - problem.table.value[p] + slack


def test_no_move_where_there_is_no_room():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 6.0}, upper=40)
    search = deviation_programs(problem, problem.status == Status.PRIMARY, problem.cost)[0]
    assert search.move(int(problem.primaries[0]), UP, 6.0) is None


def test_the_clean_up_publishes_everything_that_protects_nobody():
    problem = pose(cross_table("abc", "def", np.arange(1.0, 10).reshape(3, 3) + 10), {"a × d": 2.0})
    everything = np.ones(len(problem), dtype=bool)
    evidence = KnownDeviations(problem, problem.attackers()[0])
    search = deviation_programs(problem, everything, problem.cost)[0]
    find_deviations(search, evidence, int(problem.primaries[0]))
    kept, status = eliminate(problem, everything, [evidence], Run())
    assert status == "heuristic"
    assert kept.sum() == 4
