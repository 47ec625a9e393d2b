"""Values are nowhere in their intervals oftener than chance allows, and no function of what is published finds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.drawn import posed
from tests.helpers.fixed import secret

from discreet.arrays import FloatArray
from discreet.audit import audit
from discreet.data.table import Table
from discreet.methods import protect
from discreet.methods.combined.combined import Combined
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.intervals.positions import MIN_WIDTH_FACTOR, drawn_ends
from discreet.methods.perturbation.adjustment import Adjustment
from discreet.problem import Problem
from discreet.testing import cross_table, pose, random_hierarchy, random_problem, random_table

CLOSE = 0.01  # a guess that is off by no more has hit
DEVIATIONS = 2.0  # standard deviations that chance may add to what is expected
NEAR_BOUND = 3.0  # the same of values whose levels are nearly as large as they are
MOST = 2.0  # times as often as a uniform value: more is not promised of guesses other than the middle


def hits_and_chances(guess: FloatArray, value: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, ...]:
    """How many guesses hit, how many would if whole values were uniform in their intervals, and the variance of that."""
    hit = np.abs(guess - value) <= CLOSE * np.abs(value) + 1e-9
    ends = np.sort([guess / (1 + CLOSE), guess / (1 - CLOSE)], axis=0)
    first, last = np.ceil(np.maximum(ends[0], lower) - 1e-9), np.floor(np.minimum(ends[1], upper) + 1e-9)
    chance = np.maximum(last - first + 1, 0) / (np.floor(upper + 1e-9) - np.ceil(lower - 1e-9) + 1)
    return float(hit.sum()), float(chance.sum()), float((chance * (1 - chance)).sum())


def guesses(lower: FloatArray, upper: FloatArray, p: float) -> dict[str, FloatArray]:
    wide = upper - lower
    return {
        "middle": (lower + upper) / 2,
        "first quarter": lower + wide / 4,
        "third quarter": upper - wide / 4,
        "lower end and level": lower / (1 - p),
        "upper end and level": upper / (1 + p),
        "both, weighted": (lower / (1 - p) + upper / (1 + p)) / 2,
        "third": lower + wide / 3,
    }


def problems(many: int) -> list[Problem]:
    """Two-way, hierarchical and three-way tables of whole numbers; in some most cells are sensitive."""
    rng = np.random.default_rng(18)
    found = []
    for k in range(many):
        if k % 5 == 0:
            found.append(posed(rng, "P(10)", shape=(4, 5), respondents=30))
        elif k % 5 == 1:
            found.append(posed(rng, "P(10)", shape=(6, 4), respondents=60, deep=True))
        elif k % 5 == 2:
            found.append(posed(rng, "P(10)", shape=(3, 3), respondents=12))
        elif k % 5 == 3:
            found.append(posed(rng, "NK(2,85)", shape=(4, 5), respondents=40))
        else:
            table = random_table(rng, (random_hierarchy(rng, 4, levels=2), 3, 3), values="integer")
            found.append(random_problem(rng, in_hundreds(table), must_publish=0.0))
    return found


def in_hundreds(table: Table) -> Table:
    """The same with values a hundred times as large."""
    return replace(table, value=table.value * 100, magnitude=table.magnitude * 100)


@pytest.fixture(scope="module", params=[50, pytest.param(200, marks=pytest.mark.slow)])
def published(request):
    """What readers see and can infer about the sensitive cells of many tables."""
    rows = []
    for number, problem in enumerate(problems(request.param)):
        if not len(problem.primaries):
            continue
        found = protect(problem, "intervals", secret=secret(number))
        checked = audit(problem, found)
        assert checked.passed
        cell, value = checked.cell, problem.table.value[checked.cell]
        rows.append(np.stack([value, found.lower[cell], found.upper[cell], checked.lower, checked.upper]))
    return np.concatenate(rows, axis=1)


@pytest.mark.parametrize("ends", ["published", "inferred"])
def test_the_middle_hits_no_oftener_than_for_a_uniform_value(published, ends):
    value, (lower, upper) = published[0], published[1:3] if ends == "published" else published[3:5]
    assert len(value) > 350
    hits, expected, variance = hits_and_chances((lower + upper) / 2, value, lower, upper)
    assert hits <= expected + DEVIATIONS * variance**0.5
    # An attacker who takes the narrowest intervals hits nearly always.
    assert expected < 0.2 * len(value)


@pytest.mark.parametrize("ends", ["published", "inferred"])
def test_no_simple_function_of_the_ends_finds_values(published, ends):
    value, (lower, upper) = published[0], published[1:3] if ends == "published" else published[3:5]
    for name, guess in guesses(lower, upper, 0.1).items():
        hits, expected, variance = hits_and_chances(guess, value, lower, upper)
        assert hits <= MOST * expected + DEVIATIONS * (MOST * variance) ** 0.5, name


def test_narrowest_intervals_have_values_in_their_middles():
    """What the drawn ones are for: the attack of source 002 hits most of the exact program's intervals."""
    hits = cells = 0
    for problem in problems(10):
        found = protect(problem, Intervals(exact=True))
        at = problem.primaries
        middle, value = (found.lower + found.upper)[at] / 2, problem.table.value[at]
        hits, cells = hits + int((np.abs(middle - value) <= CLOSE * value).sum()), cells + len(at)
    assert hits > 0.5 * cells


def test_positions_are_uniform_around_the_middle_and_never_break_levels():
    rng, n = np.random.default_rng(1), 40_000
    value = rng.integers(200, 5000, n).astype(float)
    levels = np.stack([np.ceil(0.1 * value), np.ceil(rng.uniform(0, 0.1, n) * value), np.zeros(n)])
    known = np.stack([np.zeros(n), np.full(n, np.inf)])
    lower, upper = drawn_ends(value, levels, known, 1.0, rng)
    assert np.all((lower <= value - levels[0]) & (value + levels[1] <= upper))
    assert np.all(upper - lower >= MIN_WIDTH_FACTOR * 2 * levels.max(axis=0))
    position = (value - lower) / (upper - lower)
    density = np.histogram(position, bins=20, range=(0, 1))[0] / n * 20
    assert density[9:11] == pytest.approx(1.0, abs=0.08)
    assert density.max() < 2.0


@pytest.mark.parametrize("share", [0.15, 0.3, 0.9])
def test_values_near_a_known_bound_are_not_given_away_by_it(share):
    """Everybody knows that values are not negative; an interval from 0 on must not tell where in it they are."""
    rng, n = np.random.default_rng(2), 40_000
    value = rng.integers(500, 5000, n).astype(float)
    levels = np.stack([np.floor(share * value), np.floor(share * value), np.zeros(n)])
    known = np.stack([np.zeros(n), np.full(n, np.inf)])
    lower, upper = drawn_ends(value, levels, known, 1.0, rng)
    assert np.all((lower >= 0) & (lower <= value - levels[0]) & (value + levels[1] <= upper))
    at_bound = lower == 0
    assert at_bound.mean() > 0.05
    for part in (at_bound, ~at_bound):
        if part.sum() < 1000:
            continue
        hits, expected, variance = hits_and_chances(((lower + upper) / 2)[part], value[part], lower[part], upper[part])
        assert hits <= expected + 3 * variance**0.5
        for guess in guesses(lower[part], upper[part], share).values():
            hits, expected, variance = hits_and_chances(guess, value[part], lower[part], upper[part])
            assert hits <= NEAR_BOUND * expected + 3 * variance**0.5


@pytest.mark.parametrize(("most", "level"), [(2, 1), (4, 1), (10, 1), (4, 2)])
def test_intervals_of_small_counts_do_not_tell_them(most, level):
    """0 to 3 was drawn for 1 alone, and a fourth of the intervals of 2 were 0 to 4 (the sensitive counts of dale)."""
    rng, n = np.random.default_rng(3), 40_000
    value = rng.integers(1, most + 1, n).astype(float)
    levels = np.stack([np.minimum(level, value), np.full(n, float(level)), np.zeros(n)])
    known = np.stack([np.zeros(n), np.full(n, np.inf)])
    lower, upper = drawn_ends(value, levels, known, 1.0, rng)
    assert np.all((lower >= 0) & (lower <= value - levels[0]) & (value + levels[1] <= upper))
    hits, expected, variance = hits_and_chances((lower + upper) / 2, value, lower, upper)
    assert hits <= expected + DEVIATIONS * variance**0.5
    for ends in np.unique(np.stack([lower, upper], axis=1), axis=0):
        same = value[(lower == ends[0]) & (upper == ends[1])]
        if len(same) > 0.01 * n:
            assert np.unique(same, return_counts=True)[1].max() < 0.75 * len(same)


@pytest.mark.slow
def test_combined_draws_the_positions_of_its_intervals():
    hits, expected, variance = np.zeros(3)
    for number, problem in enumerate([*problems(30), *problems(30)]):
        if not len(problem.primaries):
            continue
        found = protect(problem, Combined(suppress="", interval="all"), secret=secret(number))
        checked = audit(problem, found)
        assert checked.passed
        value = problem.table.value[checked.cell]
        more = hits_and_chances((checked.lower + checked.upper) / 2, value, checked.lower, checked.upper)
        hits, expected, variance = hits + more[0], expected + more[1], variance + more[2]
    assert hits <= expected + DEVIATIONS * variance**0.5


@pytest.mark.parametrize("draws", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_suppressed_cells_beside_intervals_are_not_in_the_middle_of_what_is_inferred(draws):
    """Totals in intervals as narrow as levels allow would put the value of a suppressed cell in the middle."""
    table = cross_table(["I", "II", "III"], ["A", "B", "C"], [[200, 500, 100], [80, 190, 220], [170, 320, 120]])
    problem = pose(table, {"II × C": (22, 22)})
    exact = audit(problem, protect(problem, Combined(interval="totals", exact=True))).interval("II × C")
    assert sum(exact) / 2 == pytest.approx(220)
    hits = 0
    for number in range(draws):
        found = protect(problem, Combined(interval="totals"), secret=secret(number))
        lower, upper = audit(problem, found).interval("II × C")
        assert lower <= 198
        assert upper >= 242
        hits += abs((lower + upper) / 2 - 220) <= 2.2
    assert hits <= 0.2 * draws


def test_limits_on_the_number_of_intervals_are_kept_by_drawn_ones():
    for number, problem in enumerate(problems(3)):
        exact = protect(problem, Intervals(exact=True))
        most = int(exact.suppressed.sum()) + 8
        found = protect(problem, Intervals(at_most=most), time_limit=60, secret=secret(number))
        assert audit(problem, found).passed
        assert found.suppressed.sum() <= most
        assert not found.report.symmetric


# -- adjusted values -------------------------------------------------------------------------------------------


def distances(exact: bool, tables: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Published and true values of sensitive cells, and their levels, of many tables."""
    rng, rows = np.random.default_rng(11), []  # "heuristic" and a time limit: the way that cells go is not in question
    for number in range(tables):
        table = in_hundreds(random_table(rng, (4, 4), zeros=0.0))
        sensitive = np.flatnonzero(table.is_base & (rng.random(len(table)) < 0.2))
        problem = pose(table, {table.label(i): 0.1 * table.value[i] for i in sensitive})
        if not len(sensitive):
            continue
        found = protect(problem, Adjustment(exact=exact, senses="heuristic"), secret=secret(number), time_limit=5)
        assert audit(problem, found).passed
        rows.append(np.stack([found.published, table.value, problem.upper])[:, sensitive])
    values = np.concatenate(rows, axis=1)
    return values[0], values[1], values[2]


@pytest.mark.parametrize("tables", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_adjusted_values_cannot_be_calculated_back(tables):
    """Most were at value ± level, so that v / 1.1 or v / 0.9 was the truth."""
    shown, value, level = distances(False, tables)
    assert np.all(np.abs(shown - value) >= level - 1e-9)
    at_level = np.abs(np.abs(shown - value) - level) <= CLOSE * value
    before, true, need = distances(True, tables)
    assert (np.abs(np.abs(before - true) - need) <= CLOSE * true).mean() > 0.6
    # Distances are from one to three levels of a tenth: a window of two hundredths holds a tenth of them.
    assert at_level.mean() < 0.2
    for factor in (1.1, 0.9, 1.2, 0.8, 1.3, 0.7):
        assert (np.abs(shown / factor - value) <= CLOSE * value).mean() < 0.15, factor


@pytest.mark.parametrize("tables", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_perturbed_values_are_next_to_the_truth_no_oftener_than_by_chance(tables):
    """Sums pull values back to the truth unless they are drawn again."""
    rng, rows = np.random.default_rng(12), []
    for number in range(tables):
        table = in_hundreds(random_table(rng, (4, 4), zeros=0.0, values="integer"))
        sensitive = np.flatnonzero(table.is_base & (rng.random(len(table)) < 0.3))
        if not len(sensitive):
            continue
        problem = pose(table, {table.label(i): 0.1 * table.value[i] for i in sensitive})
        found = protect(problem, "perturb", secret=secret(number), time_limit=60)
        assert audit(problem, found).passed
        rows.append(np.stack([found.published, table.value, found.lower, found.upper])[:, sensitive])
    shown, value, lower, upper = np.concatenate(rows, axis=1)
    hits, expected, variance = hits_and_chances(shown, value, lower, upper)
    assert hits <= expected + DEVIATIONS * variance**0.5
    undone = [hits_and_chances(shown / (1 + way * 0.1), value, lower, upper) for way in (1, -1)]
    hits, expected, variance = np.sum(
        undone, axis=0
    )  # published at value ± level too often, with no slack beyond levels
    assert hits <= expected + DEVIATIONS * variance**0.5


def test_bounds_that_attackers_are_said_to_know_are_not_told_to_everybody():
    """Ends at value ± 50 %, which attackers are assumed to know, would have the value in their middle."""
    hits = cells = 0
    for number in range(30):
        rng = np.random.default_rng(number)
        table = in_hundreds(random_table(rng, (4, 4), zeros=0.0))
        problem = random_problem(rng, table, prior="sign", must_publish=0.0)
        problem = problem.with_columns(prior_lower=0.5 * table.value, prior_upper=1.5 * table.value)
        found = protect(problem, "intervals", secret=secret(number))
        assert audit(problem, found).passed
        at = problem.primaries
        middle, value = (found.lower + found.upper)[at] / 2, table.value[at]
        hits, cells = hits + int((np.abs(middle - value) <= CLOSE * value).sum()), cells + len(at)
        open_ = found.suppressed
        assert not np.any(np.isclose(found.lower, problem.prior_lower, rtol=1e-9)[open_])
        assert not np.any(np.isclose(found.upper, problem.prior_upper, rtol=1e-9)[open_])
    assert cells > 40
    assert hits < 0.15 * cells


@pytest.mark.parametrize("tables", [60, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("cells", [1, 3])
def test_of_few_sensitive_values_as_many_are_in_the_middle_fifth_as_anywhere(tables, cells):
    """They were never there, as one was taken for too many: readers could have left out a fifth of every interval."""
    inside = total = 0
    for number in range(tables):
        rng = np.random.default_rng([number, 31])
        table = in_hundreds(random_table(rng, (4, 4), zeros=0.0, values="integer"))
        chosen = rng.choice(np.flatnonzero(table.is_base), cells, replace=False)
        problem = pose(table, {table.label(i): 0.1 * table.value[i] for i in chosen})
        found = protect(problem, "intervals", secret=secret(number))
        at = problem.primaries
        place = (table.value - found.lower)[at] / (found.upper - found.lower)[at]
        inside, total = inside + int((np.abs(place - 0.5) < 0.1).sum()), total + len(at)
    assert abs(inside - 0.2 * total) <= DEVIATIONS * (0.16 * total) ** 0.5


@pytest.mark.parametrize("tables", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_adjusted_values_go_up_as_often_as_down(tables):
    """Down was nearly always cheaper, as windows reach farther up: one factor undid most changes."""
    ups = total = 0
    for number in range(tables):
        rng = np.random.default_rng([number, 32])
        table = in_hundreds(random_table(rng, (4, 4), zeros=0.0, values="integer"))
        cell = int(rng.choice(np.flatnonzero(table.is_base)))
        problem = pose(table, {table.label(cell): 0.1 * table.value[cell]})
        found = protect(problem, Adjustment(), secret=secret(number), time_limit=10)
        ups, total = ups + int(found.published[cell] > table.value[cell]), total + 1
    assert abs(ups - 0.5 * total) <= DEVIATIONS * (0.25 * total) ** 0.5


def test_how_much_wider_intervals_are_than_levels_ask_is_said_of_many_cells_only():
    """Of a single one, width and multiple would tell its level, and with p its value."""
    rng = np.random.default_rng(8)
    table = in_hundreds(random_table(rng, (5, 5), zeros=0.0, values="integer"))
    base = np.flatnonzero(table.is_base)
    for cells, said in ((base[:1], False), (base[:9], False), (base[:12], True)):
        problem = pose(table, {table.label(i): 0.05 * table.value[i] for i in cells})
        assert ("times as wide" in protect(problem, "intervals", secret=secret(1)).report.note) == said
