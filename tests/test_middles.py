"""Simple guesses at sensitive values, distinguished from chance."""

from __future__ import annotations

import numpy as np

from discreet.data.table import Table
from discreet.guesses import cells_with_central_values
from discreet.protection import Protection, publish_intervals
from discreet.testing import cross_table, pose

ROWS, COLUMNS = [f"r{i}" for i in range(10)], [f"c{j}" for j in range(10)]


def table() -> Table:
    rng = np.random.default_rng(5)
    return cross_table(ROWS, COLUMNS, rng.integers(10_000, 90_000, (10, 10)).tolist())


def in_intervals(hits: int) -> Protection:
    """All finest cells sensitive and in intervals of ± 50 %, with so many values in the very middle, others far from it."""
    cells = table()
    base = np.flatnonzero(cells.is_base)
    problem = pose(cells, {cells.label(i): 0.1 * cells.value[i] for i in base})
    half = 0.5 * cells.value
    share = np.zeros(len(cells))
    share[base[hits:]] = np.where(np.arange(len(base) - hits) % 2, 0.5, -0.5)  # half a half-width away from the middle
    lower, upper = (np.where(cells.is_base, cells.value + share * half + way * half, cells.value) for way in (-1, 1))
    return publish_intervals(
        problem, np.where(cells.is_base, np.nan, cells.value), np.round(lower), np.round(upper), cost=0.0
    )


def test_middles_that_hit_values_too_often_are_noticed_though_few_lie_in_the_middle_fifth():
    """A hit within 1 % has a chance of about 2 in 100 with intervals of ± 50 %: 12 of 100 are no chance, 3 are."""
    found = in_intervals(12)
    assert set(cells_with_central_values(found)) == set(np.flatnonzero(found.problem.table.is_base)[:12])
    assert len(cells_with_central_values(in_intervals(3))) == 0
    assert len(cells_with_central_values(in_intervals(0))) == 0
