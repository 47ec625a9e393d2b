"""Intervals that are not symmetric, but right on average; and what attacks do to them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.helpers.fixed import secret

from discreet import InputError, NoSafePatternError, attacks, audit
from discreet.testing import cross_table, pose, random_problem, random_table


@pytest.mark.parametrize("draw", ["mirrored", "independent"])
def test_bounds_keep_out_of_the_protection_interval_and_inside_the_room(draw):
    rng = np.random.default_rng(0)
    n = 10_000
    value, radius = rng.uniform(50, 100, n), rng.uniform(10, 40, n)
    level = radius * rng.random(n)
    lower, upper = attacks.draw_bounds(value, level, radius, rng, draw)
    assert np.all((value - radius <= lower) & (lower <= value - level))
    assert np.all((value + level <= upper + 1e-9) & (upper <= value + radius + 1e-9))


@pytest.mark.parametrize("draw", ["mirrored", "independent"])
def test_midpoints_are_right_on_average_but_not_one_by_one(draw):
    rng = np.random.default_rng(1)
    n = 100_000
    lower, upper = attacks.draw_bounds(np.full(n, 10.0), np.full(n, 2.0), np.full(n, 8.0), rng, draw)
    middle = (lower + upper) / 2
    assert abs(middle.mean() - 10) < 4 * middle.std() / np.sqrt(n)
    assert np.mean(np.abs(middle - 10) > 0.01) > 0.85


@pytest.mark.parametrize("seed", range(6))
def test_safe_intervals_pass_the_audit_and_are_not_recovered(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (4, 5), zeros=0.0), must_publish=0.0)
    found = attacks.safe_intervals(problem, secret=secret(seed))
    if not found.suppressed.any():
        pytest.skip("nothing is sensitive")
    assert audit(problem, found).passed
    assert not found.only_suppresses
    report = attacks.run(found, ["exact", "symmetric"])
    assert report.passed
    assert not report["symmetric"].finding.fits.any()
    assert not report["symmetric"].exact.any()


def test_the_same_secret_draws_the_same_intervals():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, random_table(rng, (4, 5), zeros=0.0), must_publish=0.0)
    one, two, other = (attacks.safe_intervals(problem, secret=secret(seed)) for seed in (1, 1, 2))
    assert one.digest == two.digest != other.digest


def test_levels_beyond_what_symmetric_intervals_leave_room_for_are_refused():
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    with pytest.raises(NoSafePatternError, match="levels larger than the radius"):
        attacks.safe_intervals(pose(table, {"a × c": (5, 11)}))
    with pytest.raises(InputError, match="The share of the magnitude that intervals reach"):
        attacks.safe_intervals(pose(table, {"a × c": 2}), share=0)
    fixed = pose(table, {"a × c": 2}, published=[label for label in table.labels() if label != "a × c"])
    with pytest.raises(NoSafePatternError, match="No pattern protects the table with any of 2 draws of intervals"):
        attacks.safe_intervals(fixed, tries=2)
    with pytest.raises(InputError, match="draw is"):
        attacks.safe_intervals(pose(table, {"a × c": 2}), draw="odd")


def midpoints(draw: str) -> tuple[float, float]:
    """Which share of the midpoints of sensitive cells is too near, and the median error of all suppressed ones."""
    near, sensitive, errors = 0, 0, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (4, 5), zeros=0.0), must_publish=0.0)
        score = attacks.run(attacks.safe_intervals(problem, secret=secret(seed), draw=draw), ["exact"])["exact"]
        asked = score.sensitive & (np.minimum(problem.lower, problem.upper)[score.finding.cell] > 0)
        near, sensitive = near + int(score.near[asked].sum()), sensitive + int(asked.sum())
        errors.extend(np.abs(score.error / score.value))
    return near / sensitive, float(np.median(errors))


def test_mirrored_midpoints_stay_close_and_independent_ones_less():
    """What the procedure does not promise: nearly every midpoint is nearer to a sensitive value than its levels allow."""
    (mirrored, small), (independent, larger) = midpoints("mirrored"), midpoints("independent")
    assert mirrored > 0.9
    assert independent < mirrored
    assert small < 0.02
    assert larger > 3 * small
