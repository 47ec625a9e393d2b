"""Published ends of intervals are rounded outwards, never towards the value."""

from __future__ import annotations

import numpy as np
import pytest
from tests.safety.reader import FEW_AND_MANY

from discreet import audit, protect, publish
from discreet.methods.intervals.intervals import Intervals
from discreet.problem import Status
from discreet.protection import publish_intervals
from discreet.testing import cross_table, pose, random_table


def test_ends_of_large_intervals_are_not_rounded_inwards():
    table = cross_table("AB", "xy", [[10**10, 2], [10**10, 10**10]])
    problem = pose(table, {"A × y": 0.4})
    protection = protect(problem, Intervals(rounded=False))
    checked = audit(problem, protection)
    release = publish(problem, protection, checked)
    told = np.isnan(release.value)
    assert told.any()
    value = table.value[told]
    assert (release.lower[told] <= protection.lower[told]).all()
    assert (release.upper[told] >= protection.upper[told]).all()
    assert ((release.lower[told] <= value) & (value <= release.upper[told])).all()


@pytest.mark.parametrize("seed", FEW_AND_MANY)
def test_releases_of_random_intervals_tell_no_more_than_was_audited(seed):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-2, 12)
    digits = int(rng.integers(0, 3))
    table = random_table(rng, (3, 4), values="integer")
    table = cross_table("ABC", "wxyz", np.round(scale * table.value[table.is_base].reshape(3, 4), digits).tolist())
    n, value = len(table), table.value
    wide = rng.choice([0.1, 0.4, 0.5, 1.7, 1e-9], (2, n)) * rng.choice([1.0, scale], (2, n))
    some = rng.random(n) < 0.6
    lower, upper = np.where(some, value - wide[0], value), np.where(some, value + wide[1], value)
    problem = pose(table, {}, lower=-np.inf).with_columns(status=np.full(n, Status.FREE))
    protection = publish_intervals(problem, np.where(lower < upper, np.nan, value), lower, upper, cost=0.0)
    checked = audit(problem, protection)
    for decimals in (None, digits, digits - 1, -2):
        release = publish(problem, protection, checked, decimals=decimals)
        if release.lower is None:
            continue
        low, high = np.where(np.isnan(release.lower), -np.inf, release.lower), release.upper
        assert (low <= lower).all()
        assert (np.where(np.isnan(high), np.inf, high) >= upper).all()
