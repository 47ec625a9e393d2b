"""Symmetric intervals give values away; others do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.attacks.planted import (
    SEEDS,
    levels_as_intervals,
    square_without_a_corner,
    symmetric_intervals,
    uneven_table,
)

from discreet import Table, attacks, suppress
from discreet.protection import publish_intervals
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_table


def any_table(rng: np.random.Generator, kind: int) -> Table:
    if kind == 0:
        return random_table(rng, (3, 4), zeros=0.0)
    if kind == 1:
        return random_table(rng, (2, 3, 3), zeros=0.0)
    if kind == 2:
        return random_linked_table(rng)
    return random_table(rng, (random_hierarchy(rng, 5, levels=2), 3), zeros=0.0, negative=0.2)


def test_theorem_1_whatever_the_table():
    """Exact intervals from symmetric knowledge have the true values in their middle, so all are recovered, every time."""
    found_q = []
    for seed in SEEDS:
        rng, each = np.random.default_rng(seed), seed % 8 < 4
        table = any_table(rng, seed % 4)
        problem = pose(table, {}, lower=-np.inf)
        suppressed = rng.random(len(table)) < 0.5
        share = rng.uniform(0.1, 0.9, len(table)) if each else 0.4
        found = symmetric_intervals(problem, suppressed, share)
        view = attacks.Public.of(found)
        seen = attacks.score(attacks.recover(view), attacks.Truth.of(found))
        assert seen.exact.all()
        if not each and np.any(view.upper - view.lower > 0.01):
            found_q.append(seen.finding.q)
    # q itself is seen where a cell is as uncertain as it is known beforehand, which is nearly everywhere
    assert max(found_q) == pytest.approx(0.4, rel=1e-6)
    assert np.mean(np.isclose(found_q, 0.4)) > 0.9


def test_symmetric_knowledge_beyond_zero_is_recovered():
    """Where cells may be negative, an interval around zero is as symmetric as any other."""
    for seed in range(10):
        table = random_table(np.random.default_rng(seed), (3, 4), zeros=0.0, negative=0.3)
        found = symmetric_intervals(pose(table, {}, lower=-np.inf), table.is_base, 3.0)
        assert attacks.score(attacks.recover(attacks.Public.of(found)), attacks.Truth.of(found)).exact.all()


def test_protection_intervals_in_place_of_sensitive_values_are_recovered_every_time():
    """x − r to x + r for the sensitive cell alone: its midpoint is x (Cox, after (2))."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        safe, _, label = square_without_a_corner(rng, uneven_table(rng) if seed % 2 else None)
        report = attacks.run(levels_as_intervals(safe), ["exact", "symmetric"])
        assert report["exact"].compromised.sum() == 0
        assert report.compromised == [label]


def test_midpoints_that_other_cells_cannot_make_up_for_are_not_claimed():
    """One of two suppressed cells of a row has an interval; its midpoint is more than the row has left."""
    ends = {"x × x": (8, 26), "x × b": (-np.inf, np.inf), "c × x": (-np.inf, np.inf), "c × b": (-np.inf, np.inf)}
    assert not attacks.recover(attacks.Public.of(told_square(ends))).fits.any()


def test_patterns_without_intervals_give_the_attack_nothing():
    rng = np.random.default_rng(0)
    found = suppress(pose(random_table(rng, (3, 4)), {}), rng.random(20) < 0.6)
    assert len(attacks.recover(attacks.Public.of(found)).cell) == 0
    assert attacks.run(found, ["symmetric"]).skipped == {"symmetric": "no intervals of suppressed cells are published"}


def test_rounded_ends_are_still_recognized():
    rng = np.random.default_rng(4)
    table = random_table(rng, (3, 4), zeros=0.0)
    view = attacks.Public.of(symmetric_intervals(pose(table, {}), table.is_base, 0.3))
    lower, upper = np.floor(view.published_lower * 10) / 10, np.ceil(view.published_upper * 10) / 10
    seen = attacks.recover(replace(view, published_lower=lower, published_upper=upper))
    assert seen.fits.all()
    np.testing.assert_allclose(seen.estimate, table.value[table.is_base], atol=0.1)


SQUARE_ENDS = {"x × x": (2, 15), "x × b": (0, 13), "c × x": (2, 15), "c × b": (0, 13)}


def told_square(ends: dict[str, tuple[float, float]]):
    table = cross_table(["x", "c"], ["x", "b"], [[10, 5], [7, 8]])
    lower, upper, told = table.value.copy(), table.value.copy(), table.value.copy()
    for label, (low, high) in ends.items():
        i = table.index(label)
        lower[i], upper[i], told[i] = low, high, np.nan
    return publish_intervals(pose(table, {"x × x": 2.0}), told, lower, upper, cost=0.0)


def test_intervals_that_nonnegativity_explains_are_not_taken_for_symmetric():
    """The exact intervals of the working example, published: their midpoints add up, and are not the values."""
    seen = attacks.run(told_square(SQUARE_ENDS), ["symmetric"])["symmetric"]
    assert not seen.finding.fits.any()
    assert not seen.wrong.any()


def test_a_cycle_adds_up_in_any_case_so_claims_may_be_wrong():
    """One more than symmetric on one side: nothing in the publication tells, and the score does."""
    ends = {"x × x": (8, 13), "x × b": (2, 7), "c × x": (4, 9), "c × b": (6, 11)}
    report = attacks.run(told_square(ends), ["symmetric"])
    assert report["symmetric"].finding.fits.all()
    assert report["symmetric"].wrong.all()
    assert report.passed


def test_values_that_were_published_in_place_of_others_are_not_claimed():
    table = cross_table("ab", "cd", [[10, 20], [30, 40]])
    found = publish_intervals(pose(table, {}), np.round(table.value, -1), table.value - 5, table.value + 5, cost=0.0)
    assert attacks.run(found, ["symmetric"]).skipped
    assert len(attacks.recover(attacks.Public.of(found)).cell) == 0
