"""Sampling weights: readers can divide by known weights, so the rules must weight contributions unless weights are secret."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from discreet.assess import assess
from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.data.link import link
from discreet.data.tabulate import tabulate
from discreet.errors import InputError
from discreet.io import bundle
from discreet.methods import protect
from discreet.problem import Status

DRAWS = 250


def survey(rng: np.random.Generator, n: int, weights: tuple[float, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "row": rng.choice(list("abc"), n),
            "column": rng.choice(list("xyz"), n),
            "firm": [f"F{k}" for k in rng.integers(0, max(n // 2, 1), n)],
            "x": rng.choice([0, 1, 2, 3, 5, 8, 40, 100, 1000], n),
            "w": rng.choice(weights, n),
        }
    )


def test_one_respondent_of_1000_with_weight_1_1_is_sensitive():
    """The cell says 1,100: with the weight that is 1,000 exactly. τ-ARGUS and G-Confid call it sensitive too."""
    records = pd.DataFrame({"r": ["a", "b", "b", "b"], "f": list("ABCD"), "x": [1000, 5, 6, 7], "w": [1.1, 1, 1, 1]})
    known = assess(tabulate(records, "r", "x", contributor="f", weight="w"), "P(10)")
    cell = known.table.index("a")
    assert cell in known.primaries
    assert known.upper[cell] == pytest.approx(110)  # p percent of the 1,100
    secret = assess(tabulate(records, "r", "x", contributor="f", weight="w", weights="secret"), "P(10)")
    assert cell not in secret.primaries


def surveys(rng: np.random.Generator, weights: tuple[float, ...]) -> pd.DataFrame:
    """Many random surveys in one: each code of ``draw`` is a table of its own."""
    drawn = [survey(rng, int(rng.integers(2, 25)), weights).assign(draw=f"d{k}") for k in range(DRAWS)]
    records = pd.concat(drawn, ignore_index=True)
    return records.assign(firm=records.draw + records.firm)


def by_hand(records: pd.DataFrame, weights: str) -> dict[tuple[str, str, str], tuple[Fraction, dict[str, Fraction]]]:
    """The total of each cell and what each firm contributes to it, in fractions."""
    cells: dict[tuple[str, str, str], tuple[Fraction, dict[str, Fraction]]] = {}
    for one in records.itertuples():
        weight, x = Fraction(str(one.w)), int(one.x)
        for key in product([one.draw], [one.row, "Total"], [one.column, "Total"]):
            total, amount = cells.get(key, (Fraction(0), {}))
            amount[one.firm] = amount.get(one.firm, Fraction(0)) + x * (weight if weights == "known" else 1)
            cells[key] = total + x * weight, amount
    return cells


@pytest.mark.parametrize("weights", ["known", "secret"])
def test_the_p_percent_rule_with_weights_against_the_formula(weights):
    """Over random surveys, with weights below one and zero among them, each cell by hand in fractions."""
    p, seen = Fraction(15), 0
    records = surveys(np.random.default_rng(6), (0.0, 0.5, 1.0, 1.1, 3.0, 20.0))
    table = tabulate(records, ["draw", "row", "column"], "x", contributor="firm", weight="w", weights=weights)
    problem = assess(table, f"P({p})")
    primary = problem.status == Status.PRIMARY
    for key, (total, amount) in by_hand(records, weights).items():
        i = table.index(key)
        largest = [*sorted(amount.values(), reverse=True), Fraction(0)]
        rest = max(total - largest[0] - largest[1], Fraction(0))
        level = p / 100 * largest[0] - rest
        assert primary[i] == (level > 0)
        if level > 0:
            assert problem.upper[i] == pytest.approx(float(level), rel=1e-9)
            seen += 1
    assert seen > 1000


def test_one_or_two_respondents_are_sensitive_whatever_their_weights():
    """Known weights do not protect: in a cell of two respondents, one can compute the contribution of the other."""
    records = surveys(np.random.default_rng(7), (0.5, 1.0, 1.1, 2.0, 50.0))
    problems = {
        weights: assess(
            tabulate(records, ["draw", "row", "column"], "x", contributor="firm", weight="w", weights=weights), "P(10)"
        )
        for weights in ("known", "secret")
    }
    few = (problems["known"].table.count <= 2) & (problems["known"].table.magnitude > 0)
    assert np.all(problems["known"].status[few] == Status.PRIMARY)
    assert not np.all(problems["secret"].status[few] == Status.PRIMARY)


def test_safety_of_contributions_takes_the_same_convention():
    """What others can tell of a contribution is judged with the weights that the rules took it with."""
    rng = np.random.default_rng(8)
    for _ in range(3):
        records = survey(rng, 30, (1.0, 1.5, 4.0))
        options = {"contributor": "firm", "weight": "w", "top": 3, "contributions": True}
        table = tabulate(records, ["row", "column"], "x", **options)
        problem = assess(table, "P(10)")
        given = table.respondents()
        inside = np.bincount(given.cell, given.amount, len(table))
        assert np.all(inside[table.is_base] <= table.magnitude[table.is_base] * (1 + 1e-9))
        found = protect(problem, "kelly", level="contributions")
        assert audit(problem, found).passed
        assert audit_respondents(problem, found).passed


def test_the_convention_stays_with_the_table(tmp_path):
    records = survey(np.random.default_rng(1), 20, (1.0, 2.0))
    for weights in ("known", "secret"):
        table = tabulate(records, ["row", "column"], "x", contributor="firm", weight="w", weights=weights)
        bundle.write_table(table, tmp_path / "t.discreet")
        again = bundle.read_table(tmp_path / "t.discreet")
        assert again.weights == weights
        assert again.weighted_count.tolist() == table.weighted_count.tolist()
        assert link(table).weights == weights
        assert link(table).weighted_count.sum() == pytest.approx(table.weighted_count.sum())


def test_tables_with_other_conventions_are_not_linked():
    records = survey(np.random.default_rng(1), 20, (1.0, 2.0))
    tables = [
        tabulate(records, [by], "x", contributor="firm", weight="w", weights=weights)
        for by, weights in (("row", "known"), ("column", "secret"))
    ]
    with pytest.raises(InputError, match="weights to be known, others to be secret"):
        link(*tables)


def test_weighted_and_unweighted_numbers_of_respondents():
    """Two answered for six: FREQ counts the two, WFREQ the six."""
    records = pd.DataFrame(
        {"r": ["a", "a", "b", "b", "b"], "f": list("ABCDE"), "x": [1, 2, 3, 4, 5], "w": [3, 3, 0.5, 0.5, 0.5]}
    )
    table = tabulate(records, "r", "x", contributor="f", weight="w")
    assert assess(table, "FREQ(3)").table.labels(assess(table, "FREQ(3)").primaries) == ["a"]
    assert assess(table, "WFREQ(3)").table.labels(assess(table, "WFREQ(3)").primaries) == ["b"]


def test_a_zero_that_was_reported_is_suppressed_up_to_its_range():
    """The zero of a × x tells what F0 reported; b × z has no respondents and stays published."""
    records = pd.DataFrame(
        {
            "row": list("aaaaabbbb"),
            "column": list("xyyzzxxyy"),
            "firm": [f"F{k}" for k in range(9)],
            "x": [0, 40, 35, 30, 29, 50, 45, 60, 55],
        }
    )
    table = tabulate(records, ["row", "column"], "x", contributor="firm", store_empty=True)
    problem = assess(table, "ZERO(20)")
    assert table.labels(problem.primaries) == ["a × x"]
    found = protect(problem, "kelly")
    assert found.suppressed[table.index("a × x")]
    assert not found.suppressed[table.index("b × z")]
    seen = audit(problem, found)
    assert seen.passed
    assert seen.upper[seen.cell == table.index("a × x")].min() >= 20
