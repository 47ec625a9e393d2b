"""Exact intervals and the reasons for them, from public data alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.attacks.planted import SEEDS, safe_table, square_without_a_corner, uneven_table, without_a_secondary

from discreet import attacks, audit, protect, suppress
from discreet.testing import infer, pose, random_hierarchy, random_linked_table, random_problem, random_table


@pytest.mark.parametrize("seed", range(12))
def test_intervals_from_public_data_are_those_of_the_audit(seed):
    rng = np.random.default_rng(seed)
    tables = (
        lambda: random_table(rng, (4, 5)),
        lambda: random_table(rng, (3, 3, 3), values="integer"),
        lambda: random_linked_table(rng),
        lambda: random_table(rng, (random_hierarchy(rng, 6, levels=2), 3), negative=0.2),
    )
    prior = ("sign", "percent", "mixed")[seed % 3]
    problem = random_problem(rng, tables[seed % 4](), prior=prior, must_publish=0.0)
    found = suppress(problem, rng.random(len(problem)) < 0.4)
    seen = attacks.exact(attacks.Public.of(found))
    truth = audit(problem, found, attackers=problem.attackers()[:1], cells=seen.cell)
    size = 1e-7 * np.abs(problem.table.value).max()
    np.testing.assert_allclose(seen.lower, truth.lower, atol=size, rtol=1e-7)
    np.testing.assert_allclose(seen.upper, truth.upper, atol=size, rtol=1e-7)
    assert attacks.score(seen, attacks.Truth.of(found)).holds.all()


def test_large_values_with_cents_do_not_contradict_each_other():
    rng = np.random.default_rng(1)
    small = random_table(rng, (5, 6))
    table = small.with_columns(value=np.round(small.value * 1e7, 2), magnitude=None)
    assert np.abs(table.relations @ table.value).max() < 1e-3
    found = suppress(pose(table, {}), rng.random(len(table)) < 0.5)
    assert attacks.score(attacks.exact(attacks.Public.of(found)), attacks.Truth.of(found)).holds.all()


def test_an_inaccurate_end_at_the_value_compromises_no_cell_that_needs_no_level_there():
    """A table of hospital cases was refused: a count of 1 needs no level down, and the computed end was 1.00000015."""
    table = random_table(np.random.default_rng(1), (4, 5), values="integer")
    found = suppress(pose(table, {table.label(0): (0.0, 2.0)}), np.ones(len(table), dtype=bool))
    truth = attacks.Truth.of(found)
    seen = attacks.exact(attacks.Public.of(found))
    row = seen.row(table.label(0))
    for end in (1.5e-7, -1.5e-7):
        lower, upper = seen.lower.copy(), seen.upper.copy()
        lower[row], upper[row] = table.value[0] + end, table.value[0] + 5.0
        score = attacks.score(replace(seen, lower=lower, upper=upper), truth)
        assert not score.compromised[row]
    upper[row] = table.value[0] + 1.5
    assert attacks.score(replace(seen, lower=lower, upper=upper), truth).compromised[row]


def test_a_removed_secondary_is_found_every_time():
    """A square protects a cell; with one of its corners published the cell can be computed, and only then."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        safe, leaking, label = square_without_a_corner(rng)
        assert attacks.run(safe, ["exact"]).passed
        assert attacks.run(leaking, ["exact"]).compromised == [label]


def test_a_removed_secondary_is_found_whatever_the_numbers():
    """Values that are not round, tiny and huge: what floats and solvers are off by must suppress no leak."""
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        safe, leaking, label = square_without_a_corner(rng, uneven_table(rng))
        assert attacks.run(safe, ["exact"]).passed
        report = attacks.run(leaking, ["exact", "cycles"])
        assert not report.skipped
        assert report.compromised == [label]
        assert not any(one.wrong.any() for one in report.scores)


def test_a_removed_secondary_is_found_though_totals_do_not_quite_add_up():
    """Totals in cents that were rounded on their own: what follows from them is off by as much."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        table = random_table(rng, (3, 3), zeros=0.0)
        off = np.where(table.is_base, 0.0, rng.choice([-0.01, 0.0, 0.01], len(table)))
        table = table.with_columns(value=np.round(1e6 * table.value + off, 2), magnitude=None)
        _, leaking, label = square_without_a_corner(rng, table)
        assert attacks.run(leaking, ["exact"]).compromised == [label]


def test_exact_intervals_of_zeros_hold():
    """In three dimensions the ends of intervals are off by some 1e-7; that is no wrong claim."""
    rng = np.random.default_rng(0)
    table = random_table(rng, (6, 6, 6), values="integer", zeros=0.3).with_columns(is_count=True)
    found = suppress(pose(table, {}), (table.codes > 0).all(axis=0))
    assert attacks.score(attacks.exact(attacks.Public.of(found)), attacks.Truth.of(found)).holds.all()


def test_an_interval_that_is_just_wide_enough_is_no_disclosure():
    """Published intervals end where the levels do; the ends that follow from them are off by less than floats can tell."""
    rng = np.random.default_rng(8)
    problem = random_problem(rng, random_table(rng, (4, 4)), must_publish=0.0, prior="mixed")
    found = protect(problem, "intervals")
    assert audit(problem, found).passed
    assert attacks.run(found, ["exact"]).passed


def test_what_the_audit_calls_exposed_is_found_without_the_truth():
    leaks = 0
    for seed in range(12):
        found = safe_table(seed, (4, 4))
        planted = without_a_secondary(found)
        if planted is not None:
            leaks += 1
            assert sorted(attacks.run(planted, ["exact"]).compromised) == sorted(audit(found.problem, planted).exposed)
    assert leaks >= 9


@pytest.mark.parametrize("seed", range(5))
def test_no_sensitive_cell_of_a_protected_table_is_disclosed(seed):
    found = safe_table(seed, (4, 5))
    report = attacks.run(found, ["exact", "cycles", "sample"], knows=attacks.Knowledge(draws=50))
    assert report.passed
    needs = {found.problem.table.label(i) for i in np.flatnonzero(found.problem.lower + found.problem.upper > 0)}
    for one in report.scores:
        assert not needs & set(one.labels(one.exact & one.sensitive))


@pytest.mark.parametrize("seed", range(4))
def test_bounding_cells_say_how_far_a_cell_is_from_its_ends(seed):
    found = safe_table(seed, (4, 5) if seed % 2 else (3, 3, 3))
    table = found.problem.table
    for cycle in attacks.cycles(attacks.Public.of(found)).cycles:
        x = table.value[table.index(cycle.cell)]
        for side, distance in ((cycle.below, x - cycle.lower), (cycle.above, cycle.upper - x)):
            if np.isfinite(distance):
                values = [table.value[table.index(label)] for label in side.cells]
                assert side.distance(values) == pytest.approx(distance, abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_cell_that_is_said_to_reveal_another_does(seed):
    found = safe_table(seed, (4, 5) if seed % 2 else (3, 3, 3))
    value = found.problem.table.value
    told = 0
    for cycle in attacks.cycles(attacks.Public.of(found)).cycles:
        for label in cycle.revealed_by[:2]:
            suppressed = found.suppressed.copy()
            suppressed[found.problem.table.index(label)] = False
            cell = found.problem.table.index(cycle.cell)
            ends = infer(suppress(found.problem, suppressed), cell)
            assert ends == pytest.approx((value[cell], value[cell]), abs=1e-6)
            told += 1
    assert told
