"""Cell-key perturbation: noise as the table of probabilities says, the same for the same records, honest intervals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.optimize import minimize
from tests.helpers.fixed import secret

from discreet import assess, link, publish, record_keys, tabulate
from discreet.audit import audit
from discreet.cli.main import cli
from discreet.data.record_keys import N_KEYS
from discreet.errors import InputError, NoSafePatternError, RuleError, TableError
from discreet.methods import protect, with_options
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.ptable import largest_entropy, perturbation_table, possible_variances
from discreet.methods.totals import Totals
from discreet.problem import Problem, Status
from discreet.protection import Decision
from discreet.solvers.base import Outcome
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, infer, pose, random_hierarchy, random_table

SETTINGS = [(3, 1.0, 0), (2, 1.0, 0), (1, 0.5, 0), (5, 3.0, 2), (4, 2.0, 1), (3, 2.0, 2), (10, 4.5, 0)]


def keyed(table, seed=0):
    """A table with keys as if its records had them."""
    rng, base = np.random.default_rng(seed), table.is_base
    total = np.zeros(len(table))
    total[base] = rng.integers(1, N_KEYS, int(base.sum())) * (table.value[base] > 0)
    # Totals may have any key: what is tested here is one table.
    total[~base] = rng.integers(1, N_KEYS, int((~base).sum())) * (table.value[~base] > 0)
    return table.with_columns(extra={"key": total})


def counts(rng, shape, *, mean=3.0, zeros=0.2):
    """A table of counts, many of them small."""
    full = random_table(rng, shape, values="integer", zeros=0.0)
    inner = np.where(rng.random(len(full)) < zeros, 0, rng.geometric(1 / mean, len(full)))
    value = Totals.of(full).add_up(inner.astype(float))
    return keyed(full.with_columns(value=value, magnitude=value))


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": [f"p{i:05d}" for i in range(n)],
            "region": rng.choice(list("NSEW"), n, p=[0.5, 0.3, 0.15, 0.05]),
            "age": rng.choice(["young", "middle", "old"], n),
            "sex": rng.choice(["f", "m"], n),
            "key": record_keys((f"p{i:05d}" for i in range(n)), secret=secret(7)),
        }
    )


# -- the table of probabilities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mono", [True, False])
@pytest.mark.parametrize(("deviation", "variance", "skip"), SETTINGS)
def test_every_row_has_mean_zero_and_the_variance_asked_for(deviation, variance, skip, mono):
    p = perturbation_table(deviation, variance, skip, mono).probability
    change = np.arange(-deviation, deviation + 1)
    assert p.min() >= 0
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(p @ change).max() < 1e-10
    off = p[1:] @ change**2 - variance
    assert off.max() < 1e-10 if mono else np.abs(off).max() < 1e-10
    assert p[0].tolist() == (change == 0).tolist()  # zeros never change
    assert np.abs(p[-1] - p[-1][::-1]).max() < 1e-12  # large counts go up as they go down


@pytest.mark.parametrize(("deviation", "variance", "skip"), SETTINGS)
def test_no_count_becomes_negative_or_one_that_is_skipped(deviation, variance, skip):
    p = perturbation_table(deviation, variance, skip).probability
    for count in range(1, len(p)):
        number = count + np.arange(-deviation, deviation + 1)
        forbidden = (number < 0) | ((number >= 1) & (number <= skip))
        assert not p[count, forbidden].any()


@pytest.mark.parametrize(("deviation", "variance", "skip"), SETTINGS)
def test_larger_decreases_are_never_likelier_than_smaller_ones(deviation, variance, skip):
    """The condition of ptable's mono = TRUE: from the lowest number that a count can become up to the count itself."""
    p = perturbation_table(deviation, variance, skip).probability
    for count in range(skip + 1, len(p)):
        down = p[count, : deviation + 1]
        number = count + np.arange(-deviation, 1)
        assert np.all(np.diff(down[(number == 0) | (number > skip)]) >= -1e-9)


def test_the_condition_changes_what_is_likeliest_for_a_count_of_one():
    """With D = 3 and V = 1 a 1 would rather become 0 than stay; with the condition both are alike."""
    one, free = (perturbation_table(3, 1.0, mono=mono).probability[1] for mono in (True, False))
    assert free[2] > free[3] + 0.04
    assert one[2] == pytest.approx(one[3])
    assert one[2:] == pytest.approx([0.3699, 0.3699, 0.1711, 0.0687, 0.0205], abs=1e-4)


@pytest.mark.parametrize(
    ("deviation", "variance", "skip"), [(3, 1.0, 0), (4, 2.0, 1), (5, 3.0, 2), (2, 1.5, 0), (4, 3.9, 0)]
)
def test_the_entropy_is_the_largest_under_ptables_default_conditions(deviation, variance, skip):
    """The program of ptable's defaults, optim = 1 and mono = TRUE: mean 0, variance V at most, no falling up to 0."""
    table = perturbation_table(deviation, variance, skip)
    for count in range(1, len(table.probability)):
        ours = table.probability[count]
        at = np.flatnonzero(ours)
        x = (at - deviation).astype(float)
        rising = int((x < 0).sum()) if 0 in x else 0
        conditions = [
            {"type": "eq", "fun": lambda p, x=x: p @ np.stack([x**0, x], axis=1) - [1, 0]},
            {"type": "ineq", "fun": lambda p, x=x: variance - p @ x**2},
        ]
        if rising:
            conditions.append({"type": "ineq", "fun": lambda p, n=rising: np.diff(p[: n + 1])})
        found = minimize(
            lambda p: float(p @ np.log(p)),
            np.full(len(x), 1 / len(x)),
            jac=lambda p: np.log(p) + 1,
            bounds=[(1e-12, 1)] * len(x),
            constraints=conditions,
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-14},
        )
        assert float(ours[at] @ np.log(ours[at])) <= found.fun + 1e-8
        assert found.x == pytest.approx(ours[at], abs=2e-4)


@pytest.mark.parametrize(("deviation", "variance", "skip"), [(3, 1.0, 0), (4, 2.0, 1), (5, 3.0, 2), (2, 1.5, 0)])
def test_the_entropy_is_the_largest_by_another_way(deviation, variance, skip):
    """Probabilities themselves as variables of a constrained optimisation, without the exponential form."""
    table = perturbation_table(deviation, variance, skip, mono=False)
    for count in range(1, len(table.probability)):
        ours = table.probability[count]
        at = np.flatnonzero(ours)
        x = (at - deviation).astype(float)
        found = minimize(
            lambda p: float(p @ np.log(p)),
            np.full(len(x), 1 / len(x)),
            jac=lambda p: np.log(p) + 1,
            bounds=[(1e-12, 1)] * len(x),
            constraints=[
                {"type": "eq", "fun": lambda p, x=x: p @ np.stack([x**0, x, x**2], axis=1) - [1, 0, variance]},
            ],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert found.success
        assert found.x == pytest.approx(ours[at], abs=2e-5)


@pytest.mark.parametrize(
    ("deviation", "variance", "skip", "words"),
    [
        (3, 3.0, 0, "With deviation=3 the variance must be above 0 and below 3"),
        (3, 0.0, 0, "above 0 and below 3"),
        (3, float("nan"), 0, "above 0 and below 3"),
        (3, 3 - 1e-9, 0, "The variance is too close to the limit of what is possible"),
        (5, 1.0, 2, "at least 2 and below 5"),
        (3, 2.0, 3, "skip is an integer from 0 to 2"),
        (5, 5.0, 4, "With skip=4 the deviation must be at least 7"),
        (0, 1.0, 0, "an integer from 1 to 100"),
    ],
)
def test_what_is_not_possible_is_refused_with_what_is(deviation, variance, skip, words):
    with pytest.raises(RuleError, match=words):
        CellKey(deviation=deviation, variance=variance, skip=skip, mono=False)


@pytest.mark.parametrize(("deviation", "skip"), [(1, 0), (3, 0), (5, 2), (6, 3)])
def test_at_the_ends_of_what_is_possible_there_are_distributions(deviation, skip):
    low, high = possible_variances(deviation, skip)
    change = np.arange(-deviation, deviation + 1)
    for variance in (low or 1e-9, low + 1e-6, high - 1e-3):
        p = perturbation_table(deviation, variance, skip, mono=False).probability
        assert np.abs(p[1:] @ change**2 - variance).max() < 1e-9
        p = perturbation_table(deviation, variance, skip).probability
        assert (p[1:] @ change**2 - variance).max() < 1e-9


# -- noise -------------------------------------------------------------------------------------------------------


def test_published_noise_has_the_mean_and_variance_stated():
    """Half a million cells: the mean and the variance are within five standard errors."""
    table, n = perturbation_table(3, 1.0), 500_000
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 1000):
        change = table.change(np.full(n, count), rng.integers(0, N_KEYS, n))
        assert abs(change.mean()) < 5 / np.sqrt(n)
        assert abs(change.var() - 1) < 5 * np.sqrt(np.mean((change**2 - 1.0) ** 2) / n)
        seen = np.bincount(change + 3, minlength=7) / n
        assert np.abs(seen - table.probability[min(count, 3)]).max() < 5 / (2 * np.sqrt(n))


def test_the_same_records_get_the_same_noise_in_every_table():
    """The point of it: 'E × Total' by one breakdown is 'E' by another, and a cell of one is a cell of a finer one."""
    data = people()
    shown = {}
    for by in (["region"], ["region", "age"], ["age", "region"], ["region", "age", "sex"], ["sex", "age"]):
        problem = assess(tabulate(data, by, extra=["key"]), "FREQ(3,20,2)")
        protection = protect(problem, CellKey(announced=6))
        for cell in range(len(problem)):
            codes = {
                name: h.codes[problem.table.codes[d, cell]]
                for d, (name, h) in enumerate(problem.table.dimensions.items())
            }
            rows = data
            for name, code in codes.items():
                rows = rows if code == "Total" else rows[rows[name] == code]
            shown.setdefault(frozenset(rows.person), set()).add(protection.published[cell])
    assert all(len(values) == 1 for values in shown.values())
    assert len(shown) > 50


def test_the_order_of_the_records_does_not_matter():
    data = people()
    first, second = (
        protect(assess(tabulate(d, ["region", "age"], extra=["key"]), "FREQ(3,20,2)"), CellKey())
        for d in (data, data.sample(frac=1, random_state=3))
    )
    assert first.digest == second.digest


def test_linked_tables_keep_their_keys():
    data = people()
    parts = [tabulate(data, by, extra=["key"]) for by in (["region", "age"], ["region", "sex"])]
    linked = protect(assess(link(*parts), "FREQ(3,20,2)"), CellKey())
    alone = protect(assess(parts[0], "FREQ(3,20,2)"), CellKey())
    for cell, label in enumerate(parts[0].labels()):
        assert linked.published[linked.problem.table.index(f"{label} × Total")] == alone.published[cell]


def test_the_seed_of_the_run_changes_nothing():
    problem = pose(counts(np.random.default_rng(0), (4, 4)), {})
    assert protect(problem, CellKey(), seed=1).digest == protect(problem, CellKey(), seed=2).digest


# -- what a reader learns ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("deviation", "variance", "skip"), SETTINGS)
def test_intervals_hold_every_count_that_can_be_behind_a_number_and_no_other(deviation, variance, skip):
    """By trying every key of a coarse grid and both sides of every cut."""
    table = perturbation_table(deviation, variance, skip)
    cuts = np.rint(np.cumsum(table.probability, axis=1) * N_KEYS).astype(np.int64).ravel()
    keys = np.unique(np.clip(np.r_[cuts - 1, cuts, cuts + 1, np.arange(0, N_KEYS, N_KEYS // 64)], 0, N_KEYS - 1))
    behind: dict[int, set[int]] = {}
    for count in range(4 * deviation + 2 * skip + 3):
        for number in count + np.unique(table.change(np.full(len(keys), count), keys)):
            behind.setdefault(int(number), set()).add(count)
    for number in [n for n in behind if n <= 2 * deviation + 2 * skip + 2]:
        low, high = table.counts_behind(np.array([number]))
        assert (low[0], high[0]) == (min(behind[number]), max(behind[number]))
        assert low[0] >= min(number, 1)  # what is shown as more than zero is not zero
    assert not any(1 <= number <= skip for number in behind)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "options", [{}, {"announced": 6}, {"restore": True}, {"deviation": 5, "variance": 3.0, "skip": 2}]
)
def test_intervals_hold_the_truth_and_depend_on_what_is_shown_alone(seed, options):
    rng = np.random.default_rng(seed)
    shape = (random_hierarchy(rng, 5, levels=2), 4) if seed % 2 else (3, 3, 3)
    problem = pose(counts(rng, shape), {})
    found = protect(problem, CellKey(**options))
    value = problem.table.value
    assert np.all((found.lower <= value) & (value <= found.upper))
    assert np.all(found.published[value == 0] == 0)
    assert np.all(found.published >= 0)
    assert np.abs(found.published - value).max() <= CellKey(**options).deviation
    ends = {}
    for shown, low, high in zip(found.published, found.lower, found.upper, strict=True):
        assert ends.setdefault(shown, (low, high)) == (low, high)
    audit(problem, found)  # takes it


def test_stored_zeros_that_must_be_published_are_told_like_any_zero():
    """Otherwise the ends of the intervals would say which zeros are true."""
    data = people(60)
    problem = assess(tabulate(data, ["region", "age", "sex"], extra=["key"], store_empty=True), "FREQ(3,20,2)")
    found = protect(problem, CellKey(announced=6))
    zero = found.published == 0
    assert (problem.table.value[zero] == 0).any()
    assert (problem.table.value[zero] > 0).any()
    assert set(zip(found.lower[zero], found.upper[zero], strict=True)) == {(0.0, 6.0)}


def test_a_release_does_not_list_zeros_where_true_ones_are_not_listed():
    data = people(60)
    problem = assess(tabulate(data, ["region", "age", "sex"], extra=["key"]), "FREQ(3,20,2)")
    found = protect(problem, CellKey(announced=6))
    release = publish(problem, found, audit(problem, found))
    assert (found.published == 0).any()
    assert not (release.value == 0).any()
    assert len(release) == (found.published > 0).sum()
    assert all(len(column) == len(release) for column in (*release.codes.values(), release.lower, release.upper))


@pytest.mark.parametrize("restore", [False, True])
@pytest.mark.parametrize("kind", ["2-D", "hierarchical", "3-D"])
def test_levels_up_to_the_difference_between_announced_and_made_are_kept_up(kind, restore):
    """A count and all its totals may be so many more: whatever the noise, and whatever the relations."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        shape = {"2-D": (5, 4), "hierarchical": (random_hierarchy(rng, 6, levels=3), 3), "3-D": (3, 3, 3)}[kind]
        table = counts(rng, shape, mean=6)
        level = 2.0
        enough = np.flatnonzero(table.value > level)
        levels = {table.label(int(cell)): level for cell in rng.choice(enough, 8, replace=False)}
        problem = pose(table, levels)
        found = protect(problem, CellKey(deviation=3, announced=5, restore=restore))
        checked = audit(problem, found)
        assert checked.passed
        for cell in problem.primaries[:3]:
            assert checked.interval(table.label(int(cell))) == pytest.approx(infer(found, int(cell)), abs=1e-6)
        assert "not guaranteed" not in found.report.note


def test_the_audit_says_where_the_noise_is_not_enough():
    """With the noise public, and at its largest, the count is at the end of its interval."""
    table = keyed(cross_table("abc", "def", np.full((3, 3), 10.0)))
    keys = table.extra["key"].copy()
    keys[table.index("a × d")] = 0  # the lowest key: the change is −3
    problem = pose(table.with_columns(extra={"key": keys}), {"a × d": 2.0})
    found = protect(problem, CellKey())
    cell = table.index("a × d")
    assert (found.published[cell], found.upper[cell]) == (7, 10)
    assert not audit(problem, found).passed
    assert "not guaranteed" in found.report.note
    assert audit(problem, protect(problem, CellKey(announced=5))).passed


def test_cells_that_must_be_published_keep_their_counts_and_hidden_ones_stay_hidden():
    table = keyed(cross_table("abc", "def", np.arange(9).reshape(3, 3) + 5.0))
    problem = pose(table, {}, published=("Total × Total", "a × d"))
    status = problem.status.copy()
    status[table.index("b × e")] = Status.SUPPRESSED
    for restore in (False, True):
        found = protect(problem.with_columns(status=status), CellKey(restore=restore))
        for label in ("Total × Total", "a × d"):
            assert found.decision[table.index(label)] == Decision.PUBLISHED
        suppressed = table.index("b × e")
        assert np.isnan(found.published[suppressed])
        assert np.isfinite(found.lower[suppressed]) == restore


# -- restored additivity -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_restored_counts_add_up_and_are_near(seed):
    rng = np.random.default_rng(seed)
    shape = [
        (6, 5),
        (random_hierarchy(rng, 6, levels=2), 4),
        (3, 3, 3),
        (random_hierarchy(rng, 6, levels=2, trees=2), 3),
    ][seed]
    problem = pose(counts(rng, shape), {})
    noisy, found = (protect(problem, CellKey(restore=restore)) for restore in (False, True))
    assert np.any(problem.table.relations @ noisy.published != 0)
    assert np.all(problem.table.relations @ found.published == 0)
    assert np.array_equal(found.published, np.round(found.published))
    # Nearest: the true table adds up and is no nearer.
    value = problem.table.value
    assert np.abs(found.published - noisy.published).sum() <= np.abs(value - noisy.published).sum()
    assert protect(problem, CellKey(restore=True)).digest == found.digest


def test_restoring_is_nearest_by_trying_everything():
    """A total of two: all additive tables within the deviation, by brute force."""
    rng = np.random.default_rng(5)
    for trial in range(5):
        problem = pose(keyed(cross_table("ab", "c", rng.integers(2, 9, (2, 1)).astype(float)), trial), {})
        noisy, found = (protect(problem, CellKey(deviation=2, restore=r)) for r in (False, True))
        value, best = problem.table.value, np.inf
        at = [problem.table.index(f"{r} × c") for r in "ab"]
        for a in range(-2, 3):
            for b in range(-2, 3):
                table = np.zeros(len(value))
                for cell, label in enumerate(problem.table.labels()):
                    table[cell] = {"a": value[at[0]] + a, "b": value[at[1]] + b}.get(label[0], value[at].sum() + a + b)
                if np.abs(table - value).max() <= 2 and table.min() >= 0:
                    best = min(best, np.abs(table - noisy.published).sum())
        assert np.abs(found.published - noisy.published).sum() == best


def test_without_time_there_is_no_restored_table_rather_than_the_true_one(monkeypatch):
    """Stopped before a first solution, the solver hands back nothing, or values that are no solution."""
    problem = pose(counts(np.random.default_rng(0), (12, 12, 6)), {})
    solve = HighsModel.solve
    for nothing in (lambda primal: primal[:0], np.zeros_like):

        def stopped(model, *args, nothing=nothing, **options):
            found = solve(model, *args, **options)
            return replace(found, outcome=Outcome.STOPPED, primal=nothing(found.primal))

        monkeypatch.setattr(HighsModel, "solve", stopped)
        with pytest.raises(NoSafePatternError, match="Allow more time or leave out restore="):
            protect(problem, CellKey(restore=True))


def test_counts_that_do_not_add_up_are_not_restored():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]]).with_columns(is_count=True)
    wrong = np.where(np.arange(9) == 0, 99.0, table.value)
    problem = pose(table.with_columns(value=wrong, extra={"key": np.full(9, 7.0)}), {})
    with pytest.raises(TableError, match="The true counts do not add up themselves"):
        protect(problem, CellKey(restore=True))


def test_a_variance_that_cannot_be_reached_is_refused():
    with pytest.raises(RuleError, match="The variance is too close to the limit of what is possible"):
        largest_entropy(np.array([-1.0, 0.0, 1.0]), 1.5)


def test_no_time_at_all_gives_an_additive_table_or_none():
    problem = pose(counts(np.random.default_rng(0), (12, 12, 6)), {})
    try:
        found = protect(problem, CellKey(restore=True), time_limit=0.0)
    except NoSafePatternError:
        return
    assert not np.any(problem.table.relations @ found.published - problem.table.rhs)


@pytest.mark.parametrize(
    ("announced", "message"),
    [(2, "at least the deviation, 3: a smaller limit would be false"), (2**63 - 1, "announced is an integer up to")],
)
def test_what_cannot_be_announced_is_refused(announced, message):
    with pytest.raises(RuleError, match=message):
        CellKey(deviation=3, announced=announced)


# -- asking, and keys --------------------------------------------------------------------------------------------


def test_tables_that_are_no_counts_are_refused():
    for values in ([[1.5, 2], [3, 4]], [[-1.0, 2], [3, 4]]):
        problem = pose(keyed(cross_table("ab", "cd", values)), {}, lower=-np.inf)
        with pytest.raises(TableError, match="for tables of counts"):
            protect(problem, CellKey())


def test_a_table_without_keys_is_told_how_to_get_them():
    problem = pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {})
    with pytest.raises(TableError, match="Give every record a key, with record_keys"):
        protect(problem, "cell-key")


@pytest.mark.parametrize("bad", [0.25, -3.0, 2.0**53])
def test_columns_that_are_no_keys_are_refused(bad):
    table = cross_table("ab", "cd", [[1, 2], [3, 4]])
    problem = pose(table.with_columns(extra={"key": np.full(len(table), bad)}), {})
    with pytest.raises(TableError, match="does not contain sums of record keys"):
        protect(problem, CellKey())


def test_options_from_text():
    chosen = with_options("cell-key", deviation="5", variance="2.5", announced="7", restore="true", key="pkey")
    assert chosen == CellKey(deviation=5, variance=2.5, announced=7, restore=True, key="pkey")
    with pytest.raises(RuleError, match="a smaller limit would be false"):
        CellKey(deviation=3, announced=2)
    with pytest.raises(RuleError, match="skip= and restore= exclude each other"):
        CellKey(deviation=5, variance=3.0, skip=2, restore=True)


@pytest.mark.parametrize(("deviation", "variance", "skip"), SETTINGS)
def test_every_number_is_within_its_own_interval(deviation, variance, skip):
    shown = np.r_[0, np.arange(skip + 1, 5 * deviation + 10)]
    low, high = perturbation_table(deviation, variance, skip).counts_behind(shown)
    assert np.all((low <= shown) & (shown <= high))


def test_a_table_without_cells():
    problem = pose(keyed(cross_table("ab", "cd", [[1, 2], [3, 4]])), {}).only(np.zeros(0, dtype=np.int64))
    assert isinstance(problem, Problem)
    assert len(protect(problem, CellKey()).published) == 0


def test_record_keys_depend_on_the_identifier_and_the_secret_alone():
    names = [f"r{i}" for i in range(20_000)]
    keys = record_keys(names, secret=secret(3))
    assert np.array_equal(record_keys(names[::-1], secret=secret(3))[::-1], keys)
    assert record_keys([7, 8], secret=secret(1)).tolist() == record_keys([7.0, "8"], secret=secret(1)).tolist()
    assert (record_keys(names, secret=secret(4)) != keys).mean() > 0.99
    assert keys.min() >= 0
    assert keys.max() < N_KEYS
    share = np.bincount(keys >> 20, minlength=16) / len(keys)  # sixteen bins
    assert np.abs(share - 1 / 16).max() < 0.01


@pytest.mark.parametrize(
    ("names", "words"), [(["a", "a"], "another one"), (["a", None], "no identifier"), ([np.nan], "no")]
)
def test_records_need_identifiers_of_their_own(names, words):
    with pytest.raises(InputError, match=words):
        record_keys(names, secret=secret(1))


def test_keys_are_added_to_files(tmp_path):
    data = people(50).drop(columns="key")
    data.to_csv(tmp_path / "people.csv", index=False, sep=";")
    data.to_parquet(tmp_path / "people.parquet")
    (tmp_path / "secret.txt").write_text(secret(9), encoding="ascii")
    expected = record_keys(data.person, secret=secret(9)).tolist()
    for name, again in (("people.csv", "keyed.csv.gz"), ("people.parquet", "keyed.parquet")):
        words = ["--id", "person", "--secret", str(tmp_path / "secret.txt"), "--out", str(tmp_path / again)]
        run = CliRunner().invoke(cli, ["keys", str(tmp_path / name), *words])
        assert run.exit_code == 0, run.output
    assert pd.read_csv(tmp_path / "keyed.csv.gz", sep=";").key.tolist() == expected
    assert pd.read_parquet(tmp_path / "keyed.parquet").key.tolist() == expected
    assert len(tabulate(tmp_path / "keyed.csv.gz", ["region"], extra=["key"])) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"--id": "who"}, "no column 'who'"),
        ({"--name": "age"}, "a column 'age' already"),
        ({"--id": "sex"}, "identifier of another one"),
        ({"--out": "keyed.parquet"}, "keyed.parquet should be in the same format as people.csv"),
        ({"--secret": "seed.txt"}, "at least 32 hexadecimal digits"),
    ],
)
def test_keys_that_cannot_be_added(tmp_path, monkeypatch, options, words):
    monkeypatch.chdir(tmp_path)
    people(5).drop(columns="key").to_csv("people.csv", index=False)
    Path("secret.txt").write_text(secret(9), encoding="ascii")
    Path("seed.txt").write_text("8675309", encoding="ascii")
    given = {"--id": "person", "--secret": "secret.txt", "--out": "keyed.csv"} | options
    run = CliRunner().invoke(cli, ["keys", "people.csv", *(part for pair in given.items() for part in pair)])
    assert isinstance(run.exception, InputError)
    assert words in str(run.exception)
    assert "8675309" not in str(run.exception)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["people.csv", "secret.txt", "seed.txt"]
