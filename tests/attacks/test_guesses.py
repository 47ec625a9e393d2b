"""Guesses: tables fitted in proportion, and tables drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attacks.planted import SQUARE, safe_table

from discreet import InputError, attacks, suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_table, suppressing


@pytest.fixture
def square():
    problem = pose(cross_table(["x", "c"], ["x", "b"], [[10, 5], [7, 8]]), {"x × x": 2.0})
    return attacks.Public.of(suppressing(problem, *SQUARE))


@pytest.fixture
def nine():
    """A three by three interior, all suppressed, and its margins."""
    table = cross_table("abc", "def", [[3, 5, 2], [1, 4, 6], [7, 2, 3]])
    return table, attacks.Public.of(suppress(pose(table, {}), table.is_base))


def test_proportional_fitting_of_a_two_way_table_is_row_times_column_by_total(nine):
    table, view = nine
    grid = table.value.reshape(4, 4)
    expected = np.outer(grid[1:, 0], grid[0, 1:]) / grid[0, 0]
    np.testing.assert_allclose(attacks.fit(view).estimate, expected.ravel(), rtol=1e-8)


@pytest.mark.parametrize("start", ["equal", "midpoint"])
@pytest.mark.parametrize("seed", range(4))
def test_fitted_tables_are_additive(seed, start):
    found = safe_table(seed, (4, 5) if seed % 2 else (3, 3, 3))
    seen = attacks.fit(attacks.Public.of(found), start, sweeps=5_000)
    assert seen.additive
    table = found.published.copy()
    table[seen.cell] = seen.estimate
    size = np.abs(found.problem.table.value).max()
    assert np.abs(found.problem.table.relations @ table).max() < 1e-5 * size
    assert np.all(seen.estimate >= 0)


def test_hidden_totals_are_fitted_too():
    rng = np.random.default_rng(2)
    table = random_table(rng, (random_hierarchy(rng, 6, levels=2), 3), zeros=0.0)
    suppressed = (rng.random(len(table)) < 0.6) & (np.arange(len(table)) > 0)
    seen = attacks.fit(attacks.Public.of(suppress(pose(table, {}), suppressed)), sweeps=20_000)
    assert seen.additive


def test_adjusted_midpoints_of_the_working_example(square):
    assert attacks.fit(square, "midpoint").estimate.tolist() == pytest.approx([8.5, 6.5, 8.5, 6.5])


def test_cells_without_a_lower_end_cannot_be_fitted():
    problem = pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {}, lower=-np.inf)
    found = suppressing(problem, "a × c", "a × d", "b × c", "b × d")
    with pytest.raises(InputError, match="give them a lower bound"):
        attacks.fit(attacks.Public.of(found))
    assert "fit" in attacks.run(found, ["fit"]).skipped
    with pytest.raises(InputError, match="start is"):
        attacks.fit(attacks.Public.of(found), "best")


def test_draws_in_one_direction_are_uniform(square):
    """x lies between 2 and 15, every value as likely as the other."""
    seen = attacks.sample(square, draws=4_000, seed=1)
    assert seen.settled.all()
    row = seen.row("x × x")
    assert (seen.lower[row], seen.median[row], seen.upper[row]) == pytest.approx((2.65, 8.5, 14.35), abs=0.25)


def test_draws_agree_with_trying_tables_at_random(nine):
    """Uniform in the four free cells, those with a negative cell thrown away."""
    table, view = nine
    seen = attacks.sample(view, draws=2_000)
    rng = np.random.default_rng(0)
    grid = table.value.reshape(4, 4)
    rows, columns = grid[1:, 0], grid[0, 1:]
    full = np.zeros((300_000, 3, 3))
    full[:, :2, :2] = rng.random((300_000, 2, 2)) * np.minimum.outer(rows[:2], columns[:2])
    full[:, :2, 2] = rows[:2] - full[:, :2, :2].sum(axis=2)
    full[:, 2] = columns - full[:, :2].sum(axis=1)
    kept = full[(full >= 0).all(axis=(1, 2))].reshape(-1, 9)
    quantiles = np.quantile(kept, [0.05, 0.5, 0.95], axis=0)
    np.testing.assert_allclose(np.stack([seen.lower, seen.median, seen.upper]), quantiles, atol=0.3)
    np.testing.assert_allclose(seen.estimate, kept.mean(axis=0), atol=0.15)


def test_too_few_draws_are_not_called_settled(nine):
    seen = attacks.sample(nine[1], draws=10, thin=1)
    assert not seen.settled.any()
    assert np.isnan(seen.lower).all()


def test_cells_without_end_are_left_out():
    problem = pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {})
    found = suppressing(problem, "a × c", "a × Total", "Total × c", "Total × Total")
    seen = attacks.sample(attacks.Public.of(found), draws=20)
    assert not seen.settled.any()
    assert np.isnan(seen.estimate).all()


def test_the_same_seed_draws_the_same(nine):
    one, two, other = (attacks.sample(nine[1], draws=20, seed=seed).frame() for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_odd_requests_are_refused(nine):
    with pytest.raises(InputError, match="The attack 'sample' needs 10 draws or more"):
        attacks.sample(nine[1], draws=1)
