"""Bounds on the cost of safe patterns: below the optimum of enumeration, near it on real sizes, proven without a solver."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from tests.methods.test_optimal_cuts import TABLES as KINDS_WITH_PATTERNS
from tests.methods.test_optimal_cuts import draw as problem_and_patterns
from tests.methods.test_optimal_small import TABLES, draw

from discreet.audit import bound_certificate, verify_bound
from discreet.audit.proof import checksum
from discreet.inference.cut_proofs import BridgelessProof, CapacityProof, ExactCuts, ProofError, posed_for_suppression
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.suppress import auto
from discreet.methods.suppress.cost_bound import cost_bound
from discreet.methods.suppress.optimal import table_bounds
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.testing import random_problem, random_table

SEEDS = range(12)


def magnitudes(shape: tuple[int, ...], share: float, seed: int) -> Problem:
    """A table of magnitudes, whose values are the costs; so large a share of its finest cells is sensitive."""
    rng = np.random.default_rng(seed)
    table = random_table(rng, shape)
    return random_problem(rng, table, primaries=share, must_publish=0.0).with_columns(cost=table.value)


def sealed(certificate: dict) -> dict:
    """With the checksum of a changed content."""
    return {**certificate, "checksum": checksum(certificate)}


@pytest.mark.parametrize("seed", [*SEEDS[:4], *(pytest.param(seed, marks=pytest.mark.slow) for seed in SEEDS[4:])])
@pytest.mark.parametrize("kind", TABLES)
def test_no_safe_pattern_costs_less(kind, seed):
    """The cheapest pattern is found by trying all; costs are sums of the costs of its cells."""
    problem, found = draw(kind, seed)
    bound = cost_bound(problem)  # also if there is no safe pattern
    if found is None:
        return
    forced = problem.cost[np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))].sum()
    assert forced * (1 - 1e-6) <= bound.bound <= found.cost * (1 + 1e-9)
    certificate = bound_certificate(problem, bound.proofs)
    assert Fraction(certificate["bound"]) <= Fraction(found.cost) * (1 + Fraction(1, 10**9))
    assert float(Fraction(certificate["bound"])) == pytest.approx(bound.bound, rel=1e-6, abs=2e-3)
    assert verify_bound(certificate, problem).passed


@pytest.mark.parametrize("kind", KINDS_WITH_PATTERNS)
def test_every_inequality_holds_for_every_safe_pattern(kind):
    """In exact numbers. Bridgeless inequalities are left out: those hold for some cheapest patterns only."""
    for seed in SEEDS[:3]:
        problem, patterns = problem_and_patterns(kind, seed)
        exact = ExactCuts(posed_for_suppression(problem))
        for proof, _ in cost_bound(problem).proofs:
            if isinstance(proof, CapacityProof):
                weights, least = exact.cut(proof)
                for pattern in patterns:
                    assert sum(weight for cell, weight in weights.items() if pattern[cell]) >= least


def test_any_multipliers_make_an_inequality_that_holds():
    """A solver that errs makes bounds worse, never wrong."""
    rng = np.random.default_rng(4)
    tried = 0
    for kind in KINDS_WITH_PATTERNS:
        problem, patterns = problem_and_patterns(kind, 1)
        exact = ExactCuts(posed_for_suppression(problem))
        for proof, _ in 5 * list(cost_bound(problem).proofs):
            if not isinstance(proof, CapacityProof):
                continue
            limits = tuple((rows, one * rng.integers(-1, 3, len(rows))) for rows, one in proof.multipliers)
            cover = None if rng.random() < 0.5 else rng.permutation(len(problem))[: len(problem) // 2]
            try:
                weights, least = exact.cut(CapacityProof(proof.attacker, proof.cell, proof.sides, limits, cover))
            except ProofError:
                continue
            tried += 1
            for pattern in patterns:
                assert sum(weight for cell, weight in weights.items() if pattern[cell]) >= least
    assert tried > 20


@pytest.fixture(scope="module")
def certified() -> tuple[Problem, dict]:
    problem = magnitudes((5, 5, 4), 0.1, 3)
    return problem, bound_certificate(problem, cost_bound(problem).proofs)


def test_a_bound_raised_by_one_percent_fails(certified):
    problem, certificate = certified
    assert verify_bound(certificate, problem).passed
    raised = str(int(float(Fraction(certificate["bound"])) * 1.01))
    verified = verify_bound(sealed({**certificate, "bound": raised}), problem)
    assert not verified.passed
    assert "lower bound" in verified.problems[0]


def test_changes_are_noticed(certified):
    problem, certificate = certified
    entries = certificate["inequalities"]
    assert any(entry.get("limits") for entry in entries)

    def changed(**content: object) -> dict:
        return {**certificate, "inequalities": [{**entries[0], **content}, *entries[1:]]}

    bad = [
        {**certificate, "bound": "1"},  # without the checksum
        sealed(changed(factor="-1")),
        sealed(changed(factor=str(10**12))),  # more than the costs of cells allow
        sealed(changed(cell=len(problem))),
        sealed(changed(cell=True)),
        sealed(changed(level="none")),
        sealed(changed(attacker="nobody")),
        sealed(changed(limits=[])),
        sealed({**certificate, "inequalities": None}),
        sealed({**certificate, "bound": "x"}),
        sealed({**certificate, "problem": "another"}),
        sealed({**certificate, "version": 99}),
    ]
    for one in bad:
        verified = verify_bound(one, problem)
        assert not verified.passed
        assert verified.problems


def test_a_relation_with_a_cell_that_must_be_suppressed_is_no_bridge(certified):
    problem, _ = certified
    exact = ExactCuts(posed_for_suppression(problem))
    relations = problem.table.relations
    primary = int(problem.primaries[0])
    row = int(relations.tocsc().indices[relations.tocsc().indptr[primary]])
    free = next(int(i) for i in relations[[row]].indices if problem.status[i] == Status.FREE)
    with pytest.raises(ProofError, match="without cells that must be suppressed"):
        exact.cut(BridgelessProof(free, row))


def test_it_is_near_the_cost_of_good_patterns():
    """In a table of two dimensions the linear relaxation is mostly tight."""
    problem = magnitudes((15, 15), 0.05, 1)
    bound = cost_bound(problem)
    best = protect(problem, "optimal", time_limit=20).report
    assert bound.bound >= 0.97 * best.cost
    assert bound.bound <= best.cost


def test_large_tables_are_divided_into_slices(monkeypatch):
    """The bound of slices is lower than that of the complete table, and better than none."""
    problem = magnitudes((5, 5, 5), 0.05, 2)
    complete = cost_bound(problem).bound
    forced = problem.cost[problem.status == Status.PRIMARY].sum()
    monkeypatch.setattr(table_bounds, "MAX_TABLE_CELLS", 60)
    tables = table_bounds.TableBounds(posed_for_suppression(problem), Run())
    tables.climb()
    assert len(tables.tables) > 10
    assert 1.2 * forced < tables.bound <= complete * (1 + 1e-6)


def test_auto_has_a_bound_where_tables_are_too_large_for_other_methods(monkeypatch):
    problem = magnitudes((4, 4, 4), 0.1, 2)
    monkeypatch.setattr(auto, "MAX_CELLS_FOR_PATTERNS", 50)
    found = protect(problem, "auto").report
    assert "too many for the other methods" in found.note
    assert found.bound is not None
    forced = problem.cost[problem.status == Status.PRIMARY].sum()
    assert 1.1 * forced < found.bound <= found.cost
    assert found.status in ("heuristic", "optimal")


def test_without_time_the_bound_is_what_must_be_suppressed():
    problem = magnitudes((10, 10), 0.1, 2)
    bound = cost_bound(problem, Run(budget=Budget(0.0)))
    assert bound.bound == pytest.approx(problem.cost[problem.status == Status.PRIMARY].sum())
    assert verify_bound(bound_certificate(problem, bound.proofs), problem).passed


def test_reprs_show_no_values(certified):
    problem, certificate = certified
    bound = cost_bound(problem, Run(budget=Budget(0.0)))
    assert str(int(bound.bound)) not in repr(bound)
    assert repr(verify_bound(json.loads(json.dumps(certificate)), problem)).startswith("BoundVerification(holds")
