"""Counts: what several margins pin at once, and what only whole numbers pin."""

from __future__ import annotations

import numpy as np
import pytest

from discreet import Table, attacks, suppress
from discreet.data.relations import from_equations
from discreet.testing import pose, random_table, suppressing


def test_only_whole_numbers_pin_a_cell():
    """2x + 2y + z = 5 with all cells at most 2: z is odd, so it is 1."""
    relations = from_equations([([0, 1, 2], [2.0, 2.0, 1.0])], 3)
    table = Table({}, np.zeros((0, 3)), [1, 1, 1], relations, names=("x", "y", "z"), rhs=[5.0], is_count=True)
    problem = pose(table, {}, upper=2.0)
    view = attacks.Public.of(suppressing(problem, "x", "y", "z"))
    assert attacks.exact(view).range("z") == (0, 2)
    seen = attacks.counts(view)
    assert seen.range("z") == (1, 1)
    assert seen.frame().query("pinned_by == 'whole numbers only'").cell.tolist() == ["z"]


@pytest.mark.parametrize("seed", range(8))
def test_whole_intervals_hold_and_lie_in_the_exact_ones(seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, (3, 3, 2), values="integer").with_columns(is_count=True)
    found = suppress(pose(table, {}), rng.random(len(table)) < 0.6)
    view = attacks.Public.of(found)
    seen, exact = attacks.counts(view), attacks.exact(view)
    assert not attacks.score(seen, attacks.Truth.of(found)).wrong.any()
    assert np.all((seen.lower >= exact.lower - 1e-6) & (seen.upper <= exact.upper + 1e-6))
    assert np.array_equal(seen.how > 0, seen.pinned)
