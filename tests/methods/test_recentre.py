"""The same widths around another congruent table: as safe, as wide, and values out of the middles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.audit import audit
from discreet.data.table import Table
from discreet.methods.context import Run
from discreet.methods.intervals.placement import Draw
from discreet.methods.intervals.publish import published
from discreet.methods.intervals.recentre import recentred
from discreet.methods.intervals.search import WidthSearch
from discreet.methods.intervals.setting import IntervalSetting, Placement, Sides, Treatment
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.testing import pose, random_hierarchy, random_table

TIMES = 4.0  # as far as levels ask can sensitive cells deviate, both up and down
CLOSE = 0.01  # of the value


def in_thousands(table: Table) -> Table:
    """The same with values a thousand times as large."""
    return replace(table, value=table.value * 1000, magnitude=table.magnitude * 1000)


def dense(seed: int) -> Problem:
    """Three-way with a hierarchy, a quarter of the cells inside sensitive: everything adds up with everything."""
    rng = np.random.default_rng(seed)
    table = in_thousands(random_table(rng, (random_hierarchy(rng, 4, levels=2), 3, 3), zeros=0.0, values="integer"))
    sensitive = np.flatnonzero(table.is_base & (rng.random(len(table)) < 0.25))
    return pose(table, {table.label(i): 0.1 * table.value[i] for i in sensitive})


def around_true_values(problem: Problem) -> tuple[IntervalSetting, WidthSearch, Protection]:
    """Intervals wider than levels ask that have all values of sensitive cells near their middles."""
    wide = problem.with_columns(lower=TIMES * problem.lower, upper=TIMES * problem.upper)
    setting = IntervalSetting(wide, Sides(), placement=Placement.none(problem))
    search = WidthSearch(setting, Run())
    search.search()
    assert search.best.solution is not None
    found = published(setting, search.best.solution, True, Run())
    assert found is not None
    return setting, search, found


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 60), marks=pytest.mark.slow)])
def test_another_centre_costs_no_width_and_takes_values_out_of_the_middles(seeds):
    before = after = cells = better = 0
    for seed in seeds:
        problem = dense(seed)
        rng = np.random.default_rng(seed)
        setting, search, found = around_true_values(problem)
        draw = Draw.of(problem, Treatment.none(problem), True, rng)
        placement = recentred(setting, search.best.solution, found, draw.excess, rng, Run())
        if placement is None:
            continue
        better += 1
        assert np.allclose(problem.table.relations @ placement.shift, 0, atol=1e-6)
        moved = published(setting.around(placement), search.best.solution, True, Run())
        assert moved is not None  # it passed the audit
        assert np.all((moved.lower <= problem.table.value) & (problem.table.value <= moved.upper))
        assert np.all(moved.upper - moved.lower <= found.upper - found.lower + 2 + 1e-6)  # both ends are rounded
        assert draw.excess(moved.lower, moved.upper) < draw.excess(found.lower, found.upper)
        for told, count in ((found, 0), (moved, 1)):
            seen = audit(problem, told)
            value = problem.table.value[seen.cell]
            hits = int((np.abs((seen.lower + seen.upper) / 2 - value) <= CLOSE * value).sum())
            before, after = (before + hits, after) if count == 0 else (before, after + hits)
        cells += len(problem.primaries)
    assert better > 0.7 * len(seeds)
    assert before > 0.5 * cells
    assert after < 0.15 * cells


def test_intervals_as_narrow_as_levels_allow_leave_no_other_centre():
    """Nothing may come nearer to a value than its level."""
    problem = dense(1)
    setting = IntervalSetting(problem, Sides())
    search = WidthSearch(setting, Run())
    search.search()
    found = published(setting, search.best.solution, False, Run())
    rng = np.random.default_rng(1)
    draw = Draw.of(problem, Treatment.none(problem), False, rng)
    placement = recentred(setting, search.best.solution, found, draw.excess, rng, Run())
    if placement is None:
        return
    moved = published(setting.around(placement), search.best.solution, False, Run())
    assert moved is None or audit(problem, moved).passed
