"""The last gate: nothing leaves without a passed audit of exactly this protection, and no suppressed value ever."""

from __future__ import annotations

import pickle
import re
import struct
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from discreet.assess import assess
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, NotSafeError, TableError
from discreet.io import write_release
from discreet.methods import protect
from discreet.problem import Problem
from discreet.protection import Decision, Protection, publish_intervals
from discreet.release import SYMBOL, Release, publish
from discreet.testing import cross_table, pose, random_problem, random_table, suppressing

SQUARE = ("a × c", "a × d", "b × c", "b × d")


@pytest.fixture
def problem() -> Problem:
    """Values that occur once, and look like nothing else."""
    values = [[5123.25, 6234.5, 811.75], [8345.125, 7456.625, 912.5], [733.5, 624.25, 515.125]]
    return pose(cross_table("abe", "cdf", values), {"a × c": 500.0})


@pytest.fixture
def safe(problem) -> Protection:
    return suppressing(problem, *SQUARE)


# -- what is refused ------------------------------------------------------------------------------------------


def test_a_passed_audit_of_this_protection_is_published(problem, safe):
    release = publish(problem, safe, audit(problem, safe))
    assert len(release) == 16
    assert release.suppressed.tolist() == safe.suppressed.tolist()
    published = ~safe.suppressed
    assert np.array_equal(release.value[published], problem.table.value[published])


def test_the_quick_verdict_is_enough(problem, safe):
    publish(problem, safe, audit(problem, safe, intervals=False))


def test_a_failed_audit_is_refused_and_the_cells_are_named(problem):
    alone = suppressing(problem)
    with pytest.raises(NotSafeError, match="'a × c'") as caught:
        publish(problem, alone, audit(problem, alone))
    assert caught.value.offenders == ["a × c"]
    assert caught.value.exit_code == 1
    assert "5123" not in str(caught.value)


def test_the_audit_of_another_protection_is_refused(problem, safe):
    with pytest.raises(NotSafeError, match="Not published: the audit is about another protection"):
        publish(problem, suppressing(problem), audit(problem, safe))


def test_an_audit_that_leaves_out_other_suppressed_cells_is_refused(problem):
    """e × f is the only suppressed cell of its row and its column: readers can compute it."""
    found = suppressing(problem, *SQUARE, "e × f")
    assert not audit(problem, found).passed
    partly = audit(problem, found, cells=problem.primaries)
    assert partly.passed
    with pytest.raises(NotSafeError, match="leaves out"):
        publish(problem, found, partly)


def test_an_audit_of_counts_that_does_not_know_them_to_be_whole_is_refused():
    records = [("A", "x")] * 9 + [("A", "y")] * 9 + [("B", "x")] * 2 + [("B", "y")] * 9
    problem = assess(tabulate(pd.DataFrame(records, columns=["row", "column"]), ["row", "column"]), "FREQ(3)")
    found = protect(problem, "kelly")
    with pytest.raises(NotSafeError, match="counts are integers"):
        publish(problem, found, audit(problem, found, whole=False))
    publish(problem, found, audit(problem, found))


def test_audits_under_other_rules_or_of_other_contributions_are_refused():
    """The fingerprint of a problem covers all that verdicts depend on."""
    cells = {(row, column): [80 + k for k in range(9)] for row in "ABC" for column in "wxyz"}
    cells |= {("A", "x"): [300], ("A", "y"): [320], ("A", "z"): [10 + k for k in range(9)]}
    named = [(row, column, x, f"{row}{column}{k}") for (row, column), xs in cells.items() for k, x in enumerate(xs)]
    frame = pd.DataFrame(named, columns=["row", "column", "x", "firm"])
    problem = assess(tabulate(frame, ["row", "column"], "x", contributor="firm"), "P(40)")
    found = suppressing(problem, *(f"{row} × {column}" for row in "AB" for column in "xyz"))
    assert not audit_respondents(problem, found).passed
    table = problem.table
    for other in (
        replace(problem, rules=("P(1)",)),
        replace(problem, rules=("FREQ(3)",)),
        replace(problem, boundary="inclusive"),
        replace(problem, waived=3),
        replace(problem, table=replace(table, magnitude=2 * table.magnitude)),
        replace(problem, table=replace(table, top=table.top / 2)),
        replace(problem, table=replace(table, contributions=None)),
        replace(problem, table=replace(table, is_count=True)),
        replace(problem, table=replace(table, provenance={"records_left_out": 1})),
    ):
        assert other.digest != problem.digest
        with pytest.raises(TableError, match="Audit its respondents with the problem"):
            audit_respondents(other, found)


def test_the_audit_of_another_problem_is_refused(problem, safe):
    """Lower levels are easily passed."""
    easier = problem.with_columns(lower=problem.lower / 1e6, upper=problem.upper / 1e6)
    alone = suppressing(easier, *SQUARE)
    with pytest.raises(NotSafeError, match="another protection"):
        publish(problem, safe, audit(easier, alone))
    with pytest.raises(NotSafeError):
        publish(problem, alone, audit(easier, alone))


def test_an_audit_that_leaves_out_cells_is_refused(problem):
    both = pose(problem.table, {"a × c": 500.0, "e × f": 50.0})
    protection = suppressing(both, *SQUARE)
    partial = audit(both, protection, cells=[problem.table.index("a × c")])
    assert partial.passed
    with pytest.raises(NotSafeError, match="leaves out"):
        publish(both, protection, partial)
    with pytest.raises(NotSafeError, match="leaves out"):
        publish(both, protection, audit(both, protection, cells=[]))


def test_an_audit_against_somebody_else_is_refused(problem, safe):
    other = Attacker("another one", np.full(16, -np.inf), np.full(16, np.inf))
    with pytest.raises(NotSafeError, match="leaves out"):
        publish(problem, safe, audit(problem, safe, attackers=[other]))


def test_an_audit_against_a_namesake_who_knows_less_is_refused(problem):
    """What counts is what the attacker knows, not what they are called."""
    strict = pose(problem.table, {"a × c": (5000.0, 7000.0)})
    protection = suppressing(strict, *SQUARE)
    namesake = Attacker(strict.attackers()[0].name, np.full(16, -np.inf), np.full(16, np.inf))
    forged = audit(strict, protection, attackers=[namesake])
    assert forged.passed
    assert not audit(strict, protection).passed
    with pytest.raises(NotSafeError):
        publish(strict, protection, forged)


def test_more_attackers_than_needed_must_pass_too(problem, safe):
    lower = np.zeros(16)
    lower[problem.table.index("a × d")] = 6200.0
    contributor = Attacker("contributor", lower, np.full(16, np.inf))
    verdict = audit(problem, safe, attackers=[*problem.attackers(), contributor])
    with pytest.raises(NotSafeError, match="inferred too closely"):
        publish(problem, safe, verdict)


def test_a_protection_that_publishes_more_than_it_admits_is_refused(problem, safe):
    """The audit reads the intervals: a value outside them must not reach the release, whatever the decision says."""

    def publish_everything() -> None:
        decision = np.full(16, Decision.PUBLISHED, dtype=np.int8)
        lying = replace(safe, decision=decision, published=problem.table.value.copy())
        publish(problem, lying, audit(problem, lying))

    with pytest.raises((NotSafeError, InputError)):
        publish_everything()


def test_a_protection_changed_after_its_audit_is_refused(problem, safe):
    verdict = audit(problem, safe)
    cell = problem.table.index("a × c")

    def tamper() -> None:
        safe.decision[cell] = Decision.PUBLISHED
        safe.published[cell] = problem.table.value[cell]
        publish(problem, safe, verdict)

    with pytest.raises((NotSafeError, ValueError)):  # or the columns cannot be written to at all
        tamper()


def test_arrays_that_the_caller_kept_and_changed_do_not_reach_the_release(problem, safe):
    """The protection holds copies: what was audited is what is published."""
    decision, published = np.array(safe.decision), np.array(safe.published)
    mine = replace(safe, decision=decision, published=published)
    verdict = audit(problem, mine)
    cell = problem.table.index("a × c")
    decision[cell], published[cell] = Decision.PUBLISHED, problem.table.value[cell]
    assert np.isnan(publish(problem, mine, verdict).value[cell])


# -- what a release holds -------------------------------------------------------------------------------------


def nowhere(release: Release, secrets: np.ndarray) -> None:
    stored = pickle.dumps(release) + pickle.dumps(release.frame()) + pickle.dumps(release.frame(symbols=True))
    text = release.frame().to_csv() + release.frame(symbols=True).to_csv() + repr(release)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", text))
    for secret in secrets.tolist():
        assert struct.pack("<d", secret) not in stored
        assert struct.pack(">d", secret) not in stored
        assert repr(secret) not in numbers
        assert not np.any(release.value == secret)


def test_no_hidden_value_anywhere(problem, safe):
    release = publish(problem, safe, audit(problem, safe))
    nowhere(release, problem.table.value[safe.suppressed])
    # The search itself works: published values are found.
    assert struct.pack("<d", problem.table.value[~safe.suppressed][0]) in pickle.dumps(release)


@pytest.mark.parametrize("seed", range(5))
def test_no_hidden_value_anywhere_in_random_tables(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (4, 4), zeros=0.0), primaries=0.3, must_publish=0.0)
    protection = protect(problem)
    release = publish(problem, protection, audit(problem, protection))
    assert np.isnan(release.value[protection.suppressed]).all()
    secrets = problem.table.value[protection.suppressed]
    secrets = secrets[~np.isin(secrets, problem.table.value[~protection.suppressed])]
    assert protection.suppressed.any()
    nowhere(release, secrets)


def test_a_release_has_no_way_back(problem, safe):
    """Only codes, names, published numbers, a symbol, a language and a presentation: no table, no protection, no view."""
    release = publish(problem, safe, audit(problem, safe))
    names = {"codes", "response", "value", "symbol", "complete", "lower", "upper"}
    names |= {"lang", "default_totals", "default_names", "sides", "hierarchies", "tables", "decimals", "presentation"}
    assert {field.name for field in fields(release)} == set(vars(release)) == names
    assert release.value.base is None
    for array in (problem.table.value, safe.published):
        assert not np.shares_memory(release.value, array)
    assert all(isinstance(code, str) for codes in release.codes.values() for code in codes)


def test_why_a_cell_is_hidden_is_not_said(problem, safe):
    """Primary and secondary cells look the same."""
    release = publish(problem, safe, audit(problem, safe))
    frame = release.frame(symbols=True)
    assert list(frame) == ["row", "column", "value"]
    shown = frame["value"][safe.suppressed]
    assert shown.tolist() == [SYMBOL] * 4


def test_a_value_left_in_the_column_of_a_hidden_cell_does_not_get_out(problem, safe):
    published = problem.table.value.copy()  # a careless method
    with pytest.raises(InputError, match=r"contradict their intervals, e.g"):
        replace(safe, published=published)


def test_frames_rounding_and_symbols(problem, safe):
    verdict = audit(problem, safe)
    release = publish(problem, safe, verdict, symbol="..", decimals=1)
    frame = release.frame(symbols=True).set_index(["row", "column"])["value"]
    assert frame["a", "c"] == ".."
    assert frame["e", "d"] == 624.2
    assert frame["Total", "Total"] == round(float(problem.table.value[0]), 1)
    plain = release.frame().set_index(["row", "column"])["value"]
    assert np.isnan(plain["a", "c"])
    assert plain["e", "d"] == 624.2


def test_values_rounded_to_zero_have_no_sign(tmp_path):
    table = cross_table("ab", "cd", [[-0.04, 6.2], [8.3, 7.1]])
    found = suppressing(pose(table, {}, lower=-np.inf))
    write_release(publish(found.problem, found, audit(found.problem, found), decimals=1), tmp_path / "r.csv")
    assert "a,c,0.0\n" in (tmp_path / "r.csv").read_text()


def test_tables_without_dimensions_are_released_by_cell_name():
    table = Table(
        {}, np.zeros((0, 3)), np.array([9.0, 4, 5]), sparse.csr_array(np.array([[-1.0, 1, 1]])), names=("t", "p", "q")
    )
    problem = pose(table, {"p": 2.0})
    protection = suppressing(problem, "q")
    frame = publish(problem, protection, audit(problem, protection)).frame(symbols=True)
    assert frame.to_dict("list") == {"cell": ["t", "p", "q"], "value": [9.0, SYMBOL, SYMBOL]}


def test_a_dimension_called_like_the_response_is_refused():
    with pytest.raises(InputError, match="both called 'value'"):
        cross_table("ab", "cd", [[5, 6], [8, 7]], names=("value", "column"))


def test_a_dimension_called_like_an_end_of_intervals_is_refused():
    table = cross_table("ab", "cd", [[5, 6], [8, 7]], names=("value lower", "column"))
    value = table.value
    found = publish_intervals(pose(table, {}), value, value - 1, value + 2, cost=0.0)
    release = publish(found.problem, found, audit(found.problem, found), level="cells")
    with pytest.raises(InputError, match="A dimension is called 'value lower', as is a column with ends of intervals"):
        release.frame()


@pytest.mark.parametrize("symbol", ["", " ", "7", "\x01", "a\nb"])
def test_a_symbol_that_looks_like_nothing_or_a_number_is_refused(problem, safe, symbol):
    with pytest.raises(InputError, match="suppression symbol must be visible and must not look like a number"):
        publish(problem, safe, audit(problem, safe), symbol=symbol)
    with pytest.raises(InputError, match=r"lang is 'en' or 'de' or .*, not 'la'"):
        publish(problem, safe, audit(problem, safe), lang="la")


def test_a_release_that_reveals_more_than_was_audited_is_refused(problem, safe, monkeypatch):
    value, far = problem.table.value, np.where(safe.suppressed, 1.0, 0.0)
    found = publish_intervals(problem, safe.published, value - 2000 * far, value + 3000 * far, cost=0.0)
    checked = audit(problem, found)
    monkeypatch.setattr("discreet.release._outwards", lambda end, decimals, sign: end - sign)
    with pytest.raises(NotSafeError, match="the release would reveal more than was audited about 'Total × Total'"):
        publish(problem, found, checked)


def test_sums_of_decimals_are_published_without_the_noise_of_adding_them_up():
    """0.1 + 0.2 is 0.30000000000000004 to a computer, not to a reader."""
    problem = pose(cross_table("ab", "cd", [[0.1, 0.2], [0.7, 1e5 + 0.1]]), {})
    protection = suppressing(problem)
    release = publish(problem, protection, audit(problem, protection))
    assert sorted(map(str, release.value)) == sorted(
        ["0.1", "0.2", "0.3", "0.7", "0.8", "100000.1", "100000.3", "100000.8", "100001.1"]
    )


def test_intervals_are_published_beside_values_and_never_narrowed():
    problem = pose(cross_table("AB", "12", [[5.25, 3.5], [3.5, 5.25]]), {"A × 1": 1.0})
    value = problem.table.value
    n = len(value)
    published = np.where(np.arange(n) == n - 1, np.nan, value)
    adjusted = publish_intervals(problem, published, value - 2.123456, value + 2.123456, cost=0.0)
    release = publish(problem, adjusted, audit(problem, adjusted))
    assert np.all(release.lower <= adjusted.lower)
    assert np.all(release.upper >= adjusted.upper)
    assert np.all(adjusted.lower - release.lower < 0.01)
    frame = release.frame(symbols=True)
    assert list(frame.columns) == ["row", "column", "value", "value lower", "value upper"]
    assert frame["value"].iloc[-1] == release.symbol
    plain = suppressing(problem, *problem.table.labels())
    assert list(publish(problem, plain, audit(problem, plain)).frame().columns) == ["row", "column", "value"]


def test_a_hidden_cell_without_an_interval_has_no_ends():
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5]]), {"A × 1": 1.0})
    value = problem.table.value
    suppressed = np.arange(len(value)) >= 3
    lower, upper = np.where(suppressed, -np.inf, value - 2), np.where(suppressed, np.inf, value + 2)
    adjusted = publish_intervals(problem, np.where(suppressed, np.nan, value), lower, upper, cost=0.0)
    frame = publish(problem, adjusted, audit(problem, adjusted)).frame()
    assert frame[frame.value.isna()].iloc[:, 2:].isna().all().all()
    assert frame[frame.value.notna()]["value upper"].dtype == "Int64"
