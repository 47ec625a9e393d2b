"""Knowing p shrinks intervals; cells of one or two respondents bound it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.planted import SEEDS, SQUARE, tight_square

from discreet import InputError, attacks, protect, suppress
from discreet.problem import Problem
from discreet.testing import cross_table, pose, random_table, suppressing


def with_few_respondents(rng: np.random.Generator, p: float) -> tuple[Problem, np.ndarray]:
    """A table with some cells of one or two respondents, protected to p percent of the largest contribution."""
    table = random_table(rng, (5, 5), zeros=0.0)
    few = table.is_base & (rng.random(len(table)) < 0.2)
    count = np.where(few, rng.integers(1, 3, len(table)), 50)
    largest = np.where(count == 1, 1.0, rng.uniform(0.5, 1, len(table))) * table.value
    level = np.where(few, p / 100 * largest, 0.0)
    labels = table.labels()
    problem = pose(table.with_columns(count=count), {labels[i]: float(level[i]) for i in np.flatnonzero(few)})
    return problem, largest


def test_a_published_p_reveals_the_value_every_time():
    """FCSM Working Paper 22, IV.B.3: from [80, 120] and p = 20 follows 100."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x, p = float(rng.integers(10, 10_000)), float(rng.integers(1, 40))
        found = tight_square(x, p)
        view = attacks.Public.of(found, counts=True)
        seen = attacks.shrink(view, p)
        assert seen.before.range("x × x") == pytest.approx((x - p / 100 * x, x + p / 100 * x))
        assert seen.range("x × x") == pytest.approx((x, x), rel=1e-9)
        assert attacks.score(seen, attacks.Truth.of(found)).compromised.tolist() == [True, False, False, False]


def test_80_to_120_and_20_percent_give_100():
    view = attacks.Public.of(tight_square(100, 20), counts=True)
    assert attacks.exact(view).range("x × x") == (80, 120)
    assert attacks.shrink(view, 20).range("x × x") == pytest.approx((100, 100))
    assert attacks.bound_p(view).greatest == pytest.approx(20)


@pytest.mark.parametrize("seed", range(6))
def test_shrunk_intervals_hold_and_bounds_of_p_are_bounds(seed):
    rng = np.random.default_rng(seed)
    problem, _ = with_few_respondents(rng, p := float(rng.integers(5, 30)))
    found = protect(problem, "kelly")
    view, truth = attacks.Public.of(found, counts=True), attacks.Truth.of(found)
    seen = attacks.score(attacks.shrink(view, p), truth)
    assert not seen.wrong.any()
    before = attacks.exact(view)
    assert np.all(seen.finding.lower >= before.lower - 1e-9)
    assert np.all(seen.finding.upper <= before.upper + 1e-9)
    assert attacks.bound_p(view).greatest >= p * (1 - 1e-9)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_one_of_two_respondents_shrinks_more(seed, largest):
    """Whether or not it is the larger of the two."""
    rng = np.random.default_rng(seed)
    problem, first = with_few_respondents(rng, 15.0)
    two = np.flatnonzero((problem.table.count == 2) & (problem.lower > 0))
    if not len(two):
        pytest.skip("no cell of two respondents")
    found = protect(problem, "kelly")
    view = attacks.Public.of(found, counts=True)
    cell = int(two[0])
    x, label = problem.table.value[cell], problem.table.label(cell)
    own = first[cell] if largest else x - first[cell]
    outside, inside = attacks.shrink(view, 15).range(label), attacks.shrink(view, 15, own={label: own}).range(label)
    assert inside[0] <= x * (1 + 1e-9)
    assert inside[1] >= x * (1 - 1e-9)
    assert inside[1] - inside[0] <= outside[1] - outside[0] + 1e-9


def test_for_two_respondents_the_sources_bound_of_p_is_too_sharp():
    """Two contributions of 50, p = 20: levels of 10, so [90, 110] is safe, and (u − l)/(u + l) is only 10 percent."""
    table = cross_table(["x", "c"], ["x", "b"], [[100, 10], [30, 10]])
    count = np.full(len(table), 20)
    count[table.index("x × x")] = 2
    found = suppressing(pose(table.with_columns(count=count), {"x × x": 10.0}), *SQUARE)
    assert attacks.bound_p(attacks.Public.of(found, counts=True)).greatest == pytest.approx(20)


def two_ways(p: float):
    """X = 100 has a cheap cycle with slack for 8 units, and a dear one with slack for 40."""
    table = cross_table("123", "123", [[100, 8, 40], [8, 8, 900], [40, 900, 40]])
    count = np.full(len(table), 20)
    count[table.index("1 × 1")] = 1
    return protect(pose(table.with_columns(count=count), {"1 × 1": p}), "optimal")


def test_protecting_again_bounds_p_from_below():
    found = two_ways(20)
    assert set(found.problem.table.labels(found.suppressed.nonzero()[0])) == {"1 × 1", "1 × 3", "3 × 1", "3 × 3"}
    seen = attacks.bisect_p(attacks.Public.of(found, counts=True), "optimal")
    assert 8 < seen.least < 20 < seen.greatest


def test_a_small_p_is_not_bounded_from_below():
    seen = attacks.bisect_p(attacks.Public.of(two_ways(5), counts=True), "optimal")
    assert seen.least <= 5


def test_another_method_says_nothing_about_p():
    """A pattern that no p leads to: half of it protects nobody."""
    found = two_ways(5)
    suppressed = np.zeros(len(found.problem), dtype=bool)
    suppressed[found.problem.table.codes.min(axis=0) > 0] = True
    assert attacks.bisect_p(attacks.Public.of(suppress(found.problem, suppressed), counts=True), "optimal").least == 0


def test_tables_with_negative_cells_are_bisected_too():
    table = cross_table("123", "123", [[100, -8, 40], [8, 8, 900], [40, 900, 40]])
    count = np.full(len(table), 20)
    count[table.index("1 × 1")] = 1
    problem = pose(table.with_columns(count=count), {"1 × 1": 10.0}, lower=-50.0)
    cell = table.index("1 × 1")
    problem = problem.with_columns(prior_lower=np.where(np.arange(len(table)) == cell, 0.0, problem.prior_lower))
    seen = attacks.bisect_p(attacks.Public.of(protect(problem, "optimal"), counts=True), "optimal", steps=2)
    assert 0 <= seen.least <= seen.greatest


@pytest.mark.parametrize("p", [0, 100, -3])
def test_p_is_a_percentage(p):
    with pytest.raises(InputError, match="p is a percentage"):
        attacks.shrink(attacks.Public.of(tight_square(100, 20), counts=True), p)


def test_a_p_that_is_too_large_contradicts_the_table():
    with pytest.raises(InputError, match="such as p"):
        attacks.shrink(attacks.Public.of(tight_square(100, 20), counts=True), 30)
