"""Small-count rounding: additive, only small counts of the finest cells change, and totals stay near."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.fixed import secret
from tests.helpers.interrupt import Interrupt

from discreet import assess, link, publish, tabulate
from discreet.audit import audit
from discreet.data.table import Table
from discreet.errors import RuleError, TableError
from discreet.methods import protect, with_options
from discreet.methods.counts.small_counts import SmallCounts
from discreet.methods.totals import Totals
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection
from discreet.testing import cross_table, infer, pose, random_hierarchy, random_linked_table, random_table


def counts(rng: np.random.Generator, shape, mean: float = 3.0, zeros: float = 0.2) -> Table:
    """A full table of counts, many of them small."""
    full = random_table(rng, shape, values="integer", zeros=0.0)
    inner = np.where(rng.random(len(full)) < zeros, 0, rng.geometric(1 / mean, len(full)))
    value = Totals.of(full).add_up(inner.astype(float))
    return full.with_columns(value=value, magnitude=value, count=value.astype(int), is_count=True)


KINDS = {
    "2-D": lambda rng: (4, 5),
    "hierarchical": lambda rng: (random_hierarchy(rng, 6, levels=3), 4),
    "not nested": lambda rng: (random_hierarchy(rng, 6, levels=2, trees=2), 3),
    "3-D": lambda rng: (3, 3, 3),
    "4-D": lambda rng: (2, 2, 3, 2),
}


def check(problem: Problem, found: Protection, base: int) -> None:
    table, value = problem.table, problem.table.value
    shown = np.where(found.suppressed, value, found.published)
    # Additive, and only small counts of the finest cells change.
    if not found.suppressed.any():
        assert np.all(table.relations @ shown == table.rhs)
    small = table.is_base & (value > 0) & (value < base)
    free = small & ~found.suppressed & (problem.status != Status.PUBLISHED)
    assert np.isin(shown[free], (0, base)).all()
    assert np.array_equal(shown[table.is_base & ~small], value[table.is_base & ~small])
    # Intervals hold the truth, and say what follows from the shown values and the rule.
    assert np.all((found.lower <= value) & (value <= found.upper))
    for cell in np.flatnonzero(table.is_base & ~found.suppressed & (problem.status != Status.PUBLISHED)):
        expected = {0: (0, base - 1), base: (1, base)}.get(int(shown[cell]), (shown[cell], shown[cell]))
        assert (found.lower[cell], found.upper[cell]) == expected
    assert np.all(table.relations @ found.lower == table.rhs)
    assert np.all(table.relations @ found.upper == table.rhs)
    assert found.report.cost == pytest.approx(((shown - value)[~found.suppressed] ** 2).sum()) or found.suppressed.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [2, 3, 5])
def test_random_tables_keep_the_contract(kind, base):
    for seed in range(3):
        rng = np.random.default_rng([seed, base])
        problem = pose(counts(rng, KINDS[kind](rng)), {})
        found = protect(problem, SmallCounts(base))
        check(problem, found, base)
        assert audit(problem, found).passed


@given(st.integers(0, 10_000), st.integers(2, 7), st.sampled_from(list(KINDS)))
@settings(max_examples=25, deadline=None)
def test_any_table_of_counts_is_rounded(seed, base, kind):
    rng = np.random.default_rng(seed)
    problem = pose(counts(rng, KINDS[kind](rng), mean=rng.uniform(1.1, 8), zeros=rng.uniform(0, 0.9)), {})
    check(problem, protect(problem, SmallCounts(base), time_limit=0.05), base)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [3, 5])
def test_every_count_below_the_base_keeps_an_interval_as_wide_as_the_base_allows(kind, base):
    """Totals included, whatever the relations say: with the rule FREQ(base,20,base − 1) the result is always safe."""
    for seed in range(2):
        rng = np.random.default_rng([seed, 9])
        problem = assess(counts(rng, KINDS[kind](rng), mean=2.0, zeros=0.4), f"FREQ({base},20,{base - 1})")
        assert len(problem.primaries)
        found = protect(problem, SmallCounts(base))
        checked = audit(problem, found)
        assert checked.passed
        for cell in problem.primaries[:3]:
            label = problem.table.label(int(cell))
            assert checked.interval(label) == pytest.approx(infer(found, int(cell)), abs=1e-6)


def test_the_audit_says_when_more_was_asked_for():
    """FREQ(3) asks for 0 and 3 to be possible: a count shown as 3 is known to be there."""
    problem = assess(counts(np.random.default_rng(0), (4, 4)), "FREQ(3)")
    assert not audit(problem, protect(problem, SmallCounts())).passed


# -- how near totals stay ------------------------------------------------------------------------------------------


def least_by_trying(problem: Problem, base: int) -> float:
    """The least sum of squares of all ways to round."""
    table, value = problem.table, problem.table.value
    sums, small = Totals.of(table), np.flatnonzero(table.is_base & (value > 0) & (value < base))
    best = np.inf
    for ups in product((0.0, float(base)), repeat=len(small)):
        trial = value.copy()
        trial[small] = ups
        best = min(best, ((sums.add_up(trial) - value) ** 2).sum())
    return best


def test_small_tables_are_rounded_as_well_as_can_be():
    """Against all ways to round: equal in all of these, though nothing is proven."""
    for seed in range(24):
        rng = np.random.default_rng(seed)
        shape = [(3, 3), (random_hierarchy(rng, 4, levels=2), 2), (2, 2, 2)][seed % 3]
        problem = pose(counts(rng, shape, mean=2.5, zeros=0.3), {})
        base = 3 + seed % 3
        found = protect(problem, SmallCounts(base), secret=secret(seed))
        assert found.report.cost == least_by_trying(problem, base)


def test_totals_of_a_larger_table_stay_near():
    """Rounding each count by itself to the nearer of 0 and the base is far worse."""
    rng = np.random.default_rng(3)
    problem = pose(counts(rng, (random_hierarchy(rng, 12, levels=2), 10, 6)), {})
    table, value, base = problem.table, problem.table.value, 5
    found = protect(problem, SmallCounts(base))
    check(problem, found, base)
    small = table.is_base & (value > 0) & (value < base)
    nearer = np.where(small, np.where(value > base / 2, base, 0.0), value)
    by_itself = Totals.of(table).add_up(nearer) - value
    ours = (found.published - value)[~table.is_base]
    assert np.abs(ours).max() <= 2 * base
    assert (ours**2).sum() < 0.1 * (by_itself[~table.is_base] ** 2).sum()


def test_the_same_secret_gives_the_same_table():
    rng = np.random.default_rng(1)
    problem = pose(counts(rng, (6, 6, 3)), {})
    first, second, other = (protect(problem, SmallCounts(), secret=secret(number)) for number in (4, 4, 5))
    assert first.digest == second.digest
    check(problem, other, 3)


# -- records, linked tables, releases ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 120
    return pd.DataFrame(
        {"region": rng.choice(list("NSEW"), n), "age": rng.choice(list("ymo"), n), "sex": rng.choice(list("fm"), n)}
    )


def test_linked_tables_are_rounded_by_the_finest(people):
    """The table of all dimensions may be there without being published: its cells are suppressed."""
    tables = [tabulate(people, by) for by in (["region", "age", "sex"], ["region", "age"], ["region", "sex"])]
    linked = link(*tables)
    problem = assess(linked, "FREQ(3,20,2)")
    found = protect(problem, SmallCounts())
    check(problem, found, 3)
    assert audit(problem, found).passed
    status = problem.status.copy()
    status[linked.is_base] = Status.SUPPRESSED
    unseen = problem.with_columns(status=status)
    found = protect(unseen, SmallCounts())
    check(unseen, found, 3)
    assert np.isnan(found.published[linked.is_base]).all()
    assert audit(unseen, found).passed


def test_tables_that_classify_the_same_records_twice_are_refused():
    rng = np.random.default_rng(0)
    table = random_linked_table(rng)
    value = np.ones(len(table))
    problem = pose(table.with_columns(value=np.round(table.value), magnitude=value), {})
    with pytest.raises(TableError, match="The base cells of the table cannot change independently"):
        protect(problem, SmallCounts())


def test_a_release_does_not_list_zeros_where_true_ones_are_not_listed(people):
    problem = assess(tabulate(people, ["region", "age", "sex"]), "FREQ(3,20,2)")
    found = protect(problem, SmallCounts())
    release = publish(problem, found, audit(problem, found))
    assert (found.published == 0).any()
    assert not (release.value == 0).any()
    few = people.head(40)
    stored = assess(tabulate(few, ["region", "age", "sex"], store_empty=True), "FREQ(3,20,2)")
    found = protect(stored, SmallCounts())
    release = publish(stored, found, audit(stored, found))
    assert len(release) == len(stored)
    zero, base = release.value == 0, stored.table.is_base
    assert (stored.table.value[zero & base] == 0).any()
    assert (stored.table.value[zero & base] > 0).any()
    assert set(release.upper[zero & base]) == {2.0}  # true zeros and others look alike


# -- statuses, stopping, asking ------------------------------------------------------------------------------------


def test_cells_that_must_be_published_keep_their_counts():
    table = cross_table("abc", "def", [[1, 2, 9], [2, 8, 7], [1, 1, 6]])
    problem = pose(table, {}, published=("a × d", "c × f"))
    found = protect(problem, SmallCounts())
    check(problem, found, 3)
    for label in ("a × d", "c × f"):
        assert found.decision[table.index(label)] == Decision.PUBLISHED
    with pytest.raises(TableError, match=r"'a × Total'.*Give them the status free"):
        protect(pose(table, {}, published=("a × Total",)), SmallCounts())


def test_without_small_counts_nothing_changes_but_what_a_reader_must_hold_possible():
    table = cross_table("ab", "cd", [[4, 5], [6, 7]])
    found = protect(pose(table, {}), SmallCounts())
    assert found.report.n_adjusted == 0
    assert found.report.cost == 0
    found = protect(pose(cross_table("ab", "cd", [[3, 5], [6, 7]]), {}), SmallCounts())
    assert found.lower[found.problem.table.index("a × c")] == 1  # 3 may stand for 1


def test_no_time_at_all_gives_a_table_that_adds_up():
    rng = np.random.default_rng(2)
    problem = pose(counts(rng, (8, 8, 4)), {})
    found = protect(problem, SmallCounts(), time_limit=0.0)
    check(problem, found, 3)
    assert found.report.status == "time_limit"


def test_an_interrupt_keeps_the_best_so_far():
    rng = np.random.default_rng(2)
    problem = pose(counts(rng, (8, 8, 4)), {})
    for after in (0, 3, 700):
        found = protect(problem, SmallCounts(), progress=Interrupt(after))
        check(problem, found, 3)
        assert found.report.status == "interrupted"


@pytest.mark.parametrize("values", [[[1.5, 2], [3, 4]], [[-1, 2], [3, 4]]])
def test_tables_that_are_no_counts_are_refused(values):
    problem = pose(cross_table("ab", "cd", values), {}, lower=-np.inf)
    with pytest.raises(TableError, match="for tables of counts"):
        protect(problem, "small-counts")


def test_options_from_text():
    assert with_options("small-counts", base="5") == SmallCounts(5)
    for base in (1, 1001, True):
        with pytest.raises(RuleError, match="from 2 to 1000"):
            SmallCounts(base)


def test_a_table_without_cells():
    problem = pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {}).only(np.zeros(0, dtype=np.int64))
    assert len(protect(problem, SmallCounts()).published) == 0
