"""No cut of the exact method cuts off a safe pattern: of problems so small that all safe patterns are known."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.helpers.brute import requirements
from tests.helpers.small import PRIORS, insiders, must_hide, need_protection_if_hidden

from discreet.arrays import BoolArray, FloatArray
from discreet.errors import NoSafePatternError
from discreet.inference.subtables import subtables
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.core.cuts import Cut
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.methods.suppress.optimal.separator import PatternSeparator
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.testing import random_hierarchy, random_linked_table, random_problem, random_table

FREE = 9
SEEDS = range(6)
TABLES = {
    "2-D, one hierarchy": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2)),
    "2-D, two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 4, levels=3), random_hierarchy(rng, 3, levels=2))
    ),
    "2-D, negative": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2)), negative=0.3
    ),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2, 2), values="integer"),
    "3-D, two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 3, levels=2), random_hierarchy(rng, 3, levels=2), 2)
    ),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2, trees=2), 2)),
    "linked": lambda rng: random_linked_table(rng, (2, 3, 3)),
}


@cache
def draw(kind: str, seed: int) -> tuple[Problem, FloatArray]:
    """A problem that has a safe pattern, and all of them, one a row."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    while True:
        problem = random_problem(
            rng,
            TABLES[kind](rng),
            primaries=0.1,
            prior=PRIORS[seed % 4],
            sliding=seed % 2 == 0,
            already_suppressed=0.05,
        )
        if seed % 3 == 1:
            problem = need_protection_if_hidden(rng, problem)
        if seed % 5 in (2, 3, 4):
            problem = problem.with_columns(others=insiders(rng, problem))
        try:
            known = protect(problem, "kelly").suppressed
        except NoSafePatternError:
            continue
        problem = few_free(rng, problem, known)
        safe = safe_patterns(problem)
        if safe.sum(axis=1).min() > must_hide(problem).sum():
            return problem, safe


def few_free(rng: np.random.Generator, problem: Problem, known: BoolArray) -> Problem:
    """Leave open some cells that a safe pattern suppresses and some that it does not; all others are as that has it."""
    status = np.where(known, Status.SUPPRESSED, Status.PUBLISHED)
    for free, many in ((problem.free[known[problem.free]], FREE - 3), (problem.free[~known[problem.free]], FREE)):
        left = FREE - int((status == Status.FREE).sum())
        status[rng.permutation(free)[: min(many, left)]] = Status.FREE
    settled = must_hide(problem) | (problem.status == Status.PUBLISHED)
    return problem.with_columns(status=np.where(settled, problem.status, status).astype(np.int8))


def safe_patterns(problem: Problem) -> FloatArray:
    needs = requirements(problem)
    masks = [m for m in range(1 << len(problem.free)) if all(need.met(m) for need in needs if need.counts(m))]
    patterns = np.tile(must_hide(problem).astype(float), (len(masks), 1))
    for k, cell in enumerate(problem.free.tolist()):
        patterns[:, cell] = [mask >> k & 1 for mask in masks]
    return patterns


def assert_holds(cut: Cut, patterns: FloatArray) -> None:
    added = patterns[:, cut.columns] @ cut.weight
    assert added.min(initial=np.inf) >= cut.least - 1e-6


def shares(attack: PatternSeparator, rng: np.random.Generator) -> FloatArray:
    """Some pattern, mostly a fractional one."""
    some = rng.random(len(attack.free))
    some = some.round(1) if rng.random() < 0.5 else (some < 0.4).astype(float)
    return np.where(attack.forced, 1.0, np.where(attack.free & attack.slack.any(axis=0), some, 0.0))


@pytest.mark.parametrize("seed", [*SEEDS[:3], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[3:])])
@pytest.mark.parametrize("kind", TABLES)
def test_cuts_against_an_attacker_who_knows_one_table_hold_for_all(kind, seed):
    problem, patterns = draw(kind, seed)
    rng = np.random.default_rng(seed)
    relations = problem.table.relations
    for attack in [PatternSeparator(problem, who) for who in problem.attackers()]:
        for table in subtables(relations):
            part = attack.within(table.rows)
            for cut in part.plain_cuts():
                assert_holds(cut, patterns)
            for _ in range(3):
                x = shares(attack, rng)
                cuts, violated = part.cuts(x, part.requirements)
                for cut in cuts:
                    assert_holds(cut, patterns)
                    assert cut.shortfall(x) > 0
                assert set(violated) <= set(part.requirements)


def test_one_table_implies_fewer_violations_than_all():
    """A deviation that satisfies all relations satisfies some of them."""
    for kind in TABLES:
        for seed in SEEDS[:2]:
            problem, _ = draw(kind, seed)
            rng = np.random.default_rng(seed)
            relations = problem.table.relations
            for attack in [PatternSeparator(problem, who) for who in problem.attackers()]:
                x = shares(attack, rng)
                everywhere = set(attack.cuts(x, attack.requirements)[1])
                for table in subtables(relations):
                    part = attack.within(table.rows)
                    assert set(part.cuts(x, part.requirements)[1]) <= everywhere


@pytest.mark.parametrize("seed", [*SEEDS[:3], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[3:])])
@pytest.mark.parametrize("kind", TABLES)
def test_a_search_never_cuts_off_a_safe_pattern(kind, seed):
    """From the first cut to the last, whether learnt from fractions, from patterns or in chains. Bridgeless
    inequalities are left out: those hold for some cheapest pattern only."""
    problem, patterns = draw(kind, seed)
    search = PatternSearch(problem, Run(budget=Budget(60.0)))
    search.bridgeless.cuts = lambda x: []  # type: ignore[method-assign]
    search.run()
    assert_pool_holds(search, patterns)
    cost = (patterns @ problem.cost).min()
    assert search.proven
    assert problem.cost[search.suppressed].sum() == pytest.approx(cost)
    assert search.bound == pytest.approx(cost)


@pytest.mark.parametrize("seed", [*SEEDS[:3], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[3:])])
@pytest.mark.parametrize("kind", TABLES)
def test_chains_of_cuts_hold_wherever_they_begin(kind, seed):
    """Also from patterns that no program would come up with, and from one that suppresses nothing more."""
    problem, patterns = draw(kind, seed)
    search = PatternSearch(problem, Run(budget=Budget(30)))
    search.bridgeless.cuts = lambda x: []  # type: ignore[method-assign]
    rng = np.random.default_rng(seed)
    for share in (0.0, 0.3, 0.7):
        x = np.where(search.free & (rng.random(len(problem)) < share), 1.0, search.forced.astype(float))
        before = x.copy()
        search._learn(x)
        assert np.array_equal(x, before)
    assert_pool_holds(search, patterns)
    assert search.suppressed is None or (patterns == search.suppressed).all(axis=1).any()


def assert_pool_holds(search: PatternSearch, patterns: FloatArray) -> None:
    master = search.master
    lacking = master._least - patterns[:, master.columns] @ master._pool.T
    assert lacking.max(initial=-np.inf) <= 1e-6


@pytest.mark.parametrize("seeds", [SEEDS[:3], pytest.param(SEEDS, marks=pytest.mark.slow)], ids=["few", "all"])
def test_the_problems_are_about_something(seeds):
    drawn = [draw(kind, seed)[0] for kind in TABLES for seed in seeds]
    some = len(drawn) / 10
    assert sum(len(problem.others) > 0 for problem in drawn) >= 3 * some
    levels = [[problem.levels(who)[:, problem.free].any() for who in problem.attackers()] for problem in drawn]
    assert sum(any(conditional) for conditional in levels) >= 2 * some
    assert sum(len(subtables(problem.table.relations)) > 1 for problem in drawn) >= 4 * some
    assert sum(PatternSeparator(problem, problem.attackers()[0]).net is None for problem in drawn) >= 3 * some
