"""Aggregations that disclose too much about a respondent: against exhaustive search, and against the paper's own program."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.helpers.drawn import hidden_in, is_exposed, posed
from tests.helpers.fixed import few_and_many

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.errors import InputError, NoSafePatternError, RuleError, TableError
from discreet.inference.respondents.sensitivity import measures_of_rules
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.respondents.construct import ForRespondents
from discreet.methods.suppress.kelly import Kelly
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals, suppress

RULES = ("P(20)", "PQ(10,40)", "P(15)")


@pytest.mark.parametrize("seed", few_and_many(70, 210))
def test_the_audit_finds_what_exhaustive_search_finds(seed):
    """Holdings in up to three cells, negative contributions, hierarchies; up to eight suppressed base cells."""
    rng = np.random.default_rng(seed)
    rule = RULES[seed % len(RULES)]
    shape = (3, 3) if seed % 3 else (2, 4)
    problem = posed(rng, rule, shape=shape, negative=0.3 * (seed % 2), deep=seed % 5 == 0)
    suppressed = hidden_in(rng, problem, most=7)
    (measure,) = measures_of_rules(rule)
    truth = is_exposed(problem, suppressed, measure)
    found = audit_respondents(problem, suppress(problem, suppressed))
    check_verdict(problem, found, truth)
    for one in found.exposed:
        check_aggregation(problem, suppressed, one)
        least = truth[one.respondent][frozenset(one.insiders)] * measure.known
        assert one.precision >= least - 1e-9
        if len(problem.table.respondents().of(one.group.target)[0]) == 1:
            assert one.precision == pytest.approx(least, abs=1e-6)


def check_verdict(problem, found, truth) -> None:
    """The same respondents are exposed, but that those in one cell only are represented by the largest of them."""
    named = set(found.respondents)
    assert named <= set(truth)
    given = problem.table.respondents()
    stand_for = {cell for who in named for cell in given.of(given.names.index(who))[0].tolist()}
    for who in set(truth) - named:
        (cell,) = given.of(given.names.index(who))[0].tolist()
        assert cell in stand_for


def check_aggregation(problem, suppressed, one) -> None:
    """Its multipliers add up to it, suppressed totals cancel out, and what is published gives its value."""
    table = problem.table
    weights = np.zeros(len(table), dtype=object)
    for row, y in one.aggregation.multipliers.items():
        for k in range(table.relations.indptr[row], table.relations.indptr[row + 1]):
            weights[table.relations.indices[k]] += y * Fraction(int(table.relations.data[k]))
    if one.aggregation.multipliers:
        assert {i: w for i, w in enumerate(weights) if w and suppressed[i]} == dict(one.aggregation.suppressed)
        assert {i: -w for i, w in enumerate(weights) if w and not suppressed[i]} == dict(one.aggregation.published)
    assert all(table.is_base[i] for i in one.aggregation.suppressed)
    total = sum(float(w) * table.value[i] for i, w in one.aggregation.suppressed.items())
    assert total == pytest.approx(sum(float(w) * table.value[i] for i, w in one.aggregation.published.items()))
    assert one.aggregation.sensitive


@pytest.mark.parametrize("seed", range(12))
def test_coalitions_of_two(seed):
    rng = np.random.default_rng(1000 + seed)
    problem = posed(rng, "P(20,2)", shape=(2, 3), respondents=6)
    suppressed = hidden_in(rng, problem, most=5)
    (measure,) = measures_of_rules("P(20,2)")
    found = audit_respondents(problem, suppress(problem, suppressed))
    check_verdict(problem, found, is_exposed(problem, suppressed, measure))


@pytest.mark.parametrize("seed", range(20))
def test_dominance(seed):
    """Two together may not make most of an aggregation, wherever they are."""
    rng = np.random.default_rng(2000 + seed)
    rule = ("NK(1,75)", "NK(2,85)")[seed % 2]
    problem = posed(rng, rule, shape=(2, 3), respondents=7)
    suppressed = hidden_in(rng, problem, most=5)
    (measure,) = measures_of_rules(rule)
    truth = is_exposed(problem, suppressed, measure)
    found = audit_respondents(problem, suppress(problem, suppressed))
    assert found.passed is (not truth)
    assert set(found.respondents) <= set(truth)
    for one in found.exposed:
        check_aggregation(problem, suppressed, one)


# -- the paper's own program -----------------------------------------------------------------------------------


def most_sensitive(problem, suppressed, p: float, q: float) -> float:
    """Daalmans & de Waal (2010), (6.6) to (6.18), with what is missing there: the target contributes 1 to the aggregation."""
    table, given = problem.table, problem.table.respondents()
    base, totals = (np.flatnonzero(part & suppressed) for part in (table.is_base, ~table.is_base))
    relations = table.relations.toarray()
    rows, cells, people = len(relations), len(base), len(given.names)
    x = np.zeros((people, len(table)))
    x[given.contributor, given.cell] = given.amount
    x = x[:, base]
    # Columns: multipliers, |weights|, parts α, signs β, who is attacked u, who attacks v, contributions A₁ and A₂.
    sizes = (rows, cells, people * cells, cells, people, people, 1, 1)
    first = np.concatenate([[0], np.cumsum(sizes)])
    n, big = int(first[-1]), 1e3
    block = [slice(a, b) for a, b in pairwise(first)]
    mu, size, alpha, beta, u, v, a1, a2 = block
    left, low, high = [], [], []

    def row(least: float, most: float, *terms: tuple[slice, object]) -> None:
        line = np.zeros(n)
        for where, weights in terms:
            line[where] += weights
        left.append(line)
        low.append(least)
        high.append(most)

    def one(where: slice, k: int, times: float = 1.0) -> tuple[slice, object]:
        line = np.zeros(where.stop - where.start)
        line[k] = times
        return where, line

    weights = relations[:, base].T
    for i in range(cells):
        row(-np.inf, 0, (mu, weights[i]), one(size, i, -1))
        row(-np.inf, 0, (mu, -weights[i]), one(size, i, -1))
        for r in range(people):
            row(-np.inf, big, one(alpha, r * cells + i), (mu, -weights[i] * x[r, i]), one(beta, i, big))
            row(-np.inf, 0, one(alpha, r * cells + i), (mu, weights[i] * x[r, i]), one(beta, i, -big))
    for t in totals:
        row(0, 0, (mu, relations[:, t]))
    for r in range(people):
        mine = np.zeros(people * cells)
        mine[r * cells : (r + 1) * cells] = 1
        row(-np.inf, big, one(a1, 0), (alpha, -mine), one(u, r, big))
        row(-np.inf, big, one(a2, 0), (alpha, -mine), one(v, r, big))
        row(-np.inf, 1, one(u, r), one(v, r))
    row(1, 1, (u, np.ones(people)))
    row(1, 1, (v, np.ones(people)))
    row(1, 1, one(a1, 0))
    aim = np.zeros(n)
    aim[size] = q * table.magnitude[base]
    aim[a1], aim[a2] = -(p + q), -q
    whole = np.zeros(n)
    whole[beta], whole[u], whole[v] = 1, 1, 1
    least = np.full(n, -50.0)
    most = np.full(n, 50.0)
    for where in (size, alpha, beta, u, v, a1, a2):
        least[where] = 0
    for where in (beta, u, v):
        most[where] = 1
    found = milp(
        aim, constraints=LinearConstraint(np.array(left), low, high), bounds=Bounds(least, most), integrality=whole
    )
    return -float(found.fun) if found.status == 0 else -np.inf


@pytest.mark.parametrize("seed", range(8))
def test_the_paper_s_own_program_says_the_same(seed):
    rng = np.random.default_rng(3000 + seed)
    problem = posed(rng, "P(20)", shape=(2, 3), respondents=5)
    suppressed = hidden_in(rng, problem, most=4)
    found = audit_respondents(problem, suppress(problem, suppressed))
    assert found.passed is (most_sensitive(problem, suppressed, 20, 100) < 1e-6)


# -- the theorems ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_sums_of_cells_that_are_not_sensitive_are_not_sensitive(seed):
    """Theorem 2, with holdings and negative contributions; and theorem 1: who is safe in a sum is safe in its cells."""
    rng = np.random.default_rng(4000 + seed)
    p, q = 20.0, 100.0
    amount = rng.lognormal(2, 1, (7, 5)) * (rng.random((7, 5)) < 0.7) * rng.choice([-1, 1], (7, 5))
    weights = rng.normal(size=5) * (rng.random(5) < 0.8)

    def score(parts) -> float:
        ranked = np.sort(np.abs(parts))[::-1]
        return p * ranked[0] - q * ranked[2:].sum()

    parts = np.abs(amount * weights).sum(axis=1)
    used = np.flatnonzero(weights)
    if len(used) and all(score(amount[:, i]) < 0 for i in used):
        assert score(parts) < 0
    if len(used) and score(parts) < 0:
        for i in used:
            for t in range(7):
                rest = np.delete(parts, t)
                elsewhere = np.abs(weights * amount[t])[np.arange(5) != i].sum()
                for s in range(6):
                    slack = q * (np.delete(rest, s).sum() + elsewhere) / abs(weights[i])
                    assert slack > p * abs(amount[t, i])


# -- patterns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_patterns_are_safe_for_everybody(seed):
    rng = np.random.default_rng(5000 + seed)
    rule = ("P(20)", "P(15,2)", "NK(2,85)", "PQ(10,40)")[seed % 4]
    method = ("kelly", "hypercube", "optimal")[seed % 3]
    shape = (2, 3) if method == "optimal" else (3, 3)
    problem = posed(rng, rule, shape=shape, respondents=10, negative=0.2 * (seed % 2), deep=seed % 5 == 0)
    (measure,) = measures_of_rules(rule)
    try:
        found = protect(problem, method, level="contributions")
    except NoSafePatternError:
        everything = problem.status != Status.PUBLISHED
        assert is_exposed(problem, everything, measure)
        return
    assert audit_respondents(problem, found).passed
    assert not is_exposed(problem, found.suppressed, measure)
    assert audit(problem, found).passed  # safe respondents make safe cells


@pytest.mark.parametrize("seed", range(4))
def test_cells_may_have_to_move_by_more_than_they_are(seed):
    """Where less than half of a sum makes it sensitive."""
    problem = posed(np.random.default_rng(7000 + seed), "NK(1,40)", shape=(3, 3), respondents=30)
    try:
        found = protect(problem, level="contributions")
    except NoSafePatternError:
        assert is_exposed(problem, problem.status != Status.PUBLISHED, measures_of_rules("NK(1,40)")[0])
        return
    assert audit_respondents(problem, found).passed


def test_after_ctrl_c_in_the_clean_up_respondents_are_protected_all_the_same(monkeypatch):
    """The pattern of the quick method is completed, and nothing more is improved."""
    problem = posed(np.random.default_rng(5001), "P(20)", shape=(3, 3), respondents=10)
    safe = protect(problem, level="contributions")

    def interrupted(self: Kelly, problem: Problem, run: Run) -> Protection:
        run.budget.cancel()
        return suppress(problem, safe.suppressed, status=run.budget.ending)

    monkeypatch.setattr(Kelly, "protect", interrupted)
    found = ForRespondents(Kelly(), Kelly()).protect(problem, Run())
    assert found.report.status == "interrupted"
    assert audit_respondents(problem, found).passed


@pytest.mark.parametrize("seed", range(10))
def test_the_cheapest_pattern_is_found(seed):
    rng = np.random.default_rng(6000 + seed)
    problem = posed(rng, "P(20)", shape=(2, 3), respondents=9)
    (measure,) = measures_of_rules("P(20)")
    free = problem.free.tolist()
    best = np.inf
    for chosen in product((False, True), repeat=len(free)):
        suppressed = problem.status == Status.PRIMARY
        suppressed[free] = chosen
        cost = float(problem.cost[suppressed].sum())
        if cost < best and not is_exposed(problem, suppressed, measure):
            best = cost
    if not np.isfinite(best):
        with pytest.raises(NoSafePatternError):
            protect(problem, "optimal", level="contributions")
        return
    found = protect(problem, "optimal", level="contributions")
    assert found.report.status == "optimal"
    assert found.report.cost == pytest.approx(best)
    assert found.report.bound == pytest.approx(best)


# -- bad input -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said():
    problem = posed(np.random.default_rng(1), "P(20)")
    pattern = suppress(problem, problem.status == Status.PRIMARY)
    few = problem.with_columns(rules=("FREQ(3)",))
    with pytest.raises(RuleError, match="rule about contributions"):
        audit_respondents(few, suppress(few, few.status == Status.PRIMARY))
    other = posed(np.random.default_rng(2), "P(20)")
    with pytest.raises(TableError, match="Audit its respondents with the problem it was made for"):
        audit_respondents(other, pattern)
    value = problem.table.value
    with pytest.raises(InputError, match="Respondents are audited where cells are published or suppressed"):
        audit_respondents(problem, publish_intervals(problem, value, value - 1, value + 2, cost=0.0))
    without = problem.with_columns(table=problem.table.with_columns(top=None, top_contributor=None, contributions=None))
    with pytest.raises(TableError, match="holds no contributors"):
        audit_respondents(without, suppress(without, without.status == Status.PRIMARY))
    many = problem.with_columns(table=problem.table.with_columns(count=problem.table.count + 9))
    many = many.with_columns(rules=("P(20,5)",))
    with pytest.raises(
        RuleError, match="The rule needs the 6 largest contributions to a cell, and the table stores fewer"
    ):
        audit_respondents(many, suppress(many, many.status == Status.PRIMARY))
