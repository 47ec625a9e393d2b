"""Bounds from single relations: never tighter than the truth, and often as tight."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.inference.bound_propagation import propagate
from discreet.inference.congruent_tables import components
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.protection import suppress
from discreet.testing import infer, random_problem, random_table


@pytest.mark.parametrize("seed", range(12))
def test_propagation_never_rules_out_what_is_possible(seed):
    """A bound that is too tight would call safe cells exposed, and settle others wrongly."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (3, 4)))
    suppressed = (problem.status == 1) | ((rng.random(len(problem)) < 0.5) & (problem.status != 2))
    protection = suppress(problem, suppressed)
    value = problem.table.value
    for cells, relations in components(problem.table.relations, suppressed):
        low, high = propagate(
            relations, problem.prior_lower[cells] - value[cells], problem.prior_upper[cells] - value[cells]
        )
        for place, cell in enumerate(cells.tolist()):
            lower, upper = infer(protection, cell, problem.attackers()[0])
            slack = LEVEL_TOLERANCE * max(1.0, float(problem.table.magnitude[cell]))
            assert value[cell] + low[place] <= lower + slack
            assert value[cell] + high[place] >= upper - slack


def test_a_cell_alone_in_a_relation_is_pinned():
    low, high = propagate(sparse.csr_array([[1.0, 0.0], [1.0, -1.0]]), np.full(2, -np.inf), np.full(2, np.inf))
    assert low.tolist() == [0, 0]
    assert high.tolist() == [0, 0]


def test_a_negative_weight_turns_the_bounds_round():
    """total − a − b = 0, a and b at most 3 up and 1 down: the total moves at most 6 up and 2 down."""
    low, high = propagate(sparse.csr_array([[-1.0, 1.0, 1.0]]), np.array([-np.inf, -1, -1]), np.array([np.inf, 3, 3]))
    assert low[0] == pytest.approx(-2)
    assert high[0] == pytest.approx(6)
