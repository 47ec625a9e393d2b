"""576 random tables of every kind and release: each interval is that of one program per bound with another solver."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers.second_solver import infer_with_glpk

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.table import Table
from discreet.problem import Problem, Status
from discreet.protection import Decision, Protection, suppress
from discreet.testing import random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 4)),
    "2-D, one hierarchy": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)),
    "2-D, two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 4, levels=2), random_hierarchy(rng, 4, levels=2))
    ),
    "2-D, negative": lambda rng: random_table(rng, (4, 3), negative=0.3),
    "3-D": lambda rng: random_table(rng, (3, 3, 3), values="integer", zeros=0.3),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2, 3), negative=0.1),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 2), values="integer"),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3), negative=0.1),
    "linked": random_linked_table,
}
PRIORS = ("sign", "percent", "nothing", "mixed")
RELEASES = ("suppressed", "intervals", "rounded", "mixture")


def release(rng: np.random.Generator, problem: Problem, kind: str) -> Protection:
    """Suppression, interval publication, rounding to a base or perturbation, or a random one of these for each cell."""
    n, value, size = len(problem), problem.table.value, problem.table.magnitude
    treatments = {"suppressed": [0, 1], "intervals": [0, 2], "rounded": [0, 3, 4], "mixture": [0, 1, 2, 3, 4]}[kind]
    treatment = rng.choice(treatments, size=n)
    treatment[problem.status == Status.PUBLISHED] = 0
    treatment[(problem.status == Status.SUPPRESSED) & (treatment != 2)] = 1
    treatment[(problem.status == Status.PRIMARY) & (treatment == 0)] = treatments[-1]
    suppressed = np.isin(treatment, (1, 2))
    base = rng.integers(1, 6, n) * np.where(size >= 1, 10.0 ** np.floor(np.log10(np.maximum(size, 1))), 1.0)
    rounded = np.where(treatment == 3, np.round(value / base) * base, value + rng.uniform(-1, 1, n) * base)
    adjusted = np.isin(treatment, (3, 4))
    interval = value - rng.uniform(0, 0.5, n) * size, value + rng.uniform(0, 0.5, n) * size
    plain = suppress(problem, suppressed | (problem.status == Status.SUPPRESSED))
    return replace(
        plain,
        decision=np.where(suppressed, plain.decision, np.where(adjusted, Decision.ADJUSTED, Decision.PUBLISHED)).astype(
            np.int8
        ),
        published=np.where(suppressed, np.nan, np.where(adjusted, rounded, value)),
        lower=np.choose(treatment, [value, np.full(n, -np.inf), interval[0], rounded - base, rounded - base]),
        upper=np.choose(treatment, [value, np.full(n, np.inf), interval[1], rounded + base, rounded + base]),
    )


def case(table: str, prior: str, kind: str, seed: int) -> tuple[Problem, Protection]:
    rng = np.random.default_rng([seed, list(TABLES).index(table), PRIORS.index(prior), RELEASES.index(kind)])
    made: Table = TABLES[table](rng)
    problem = random_problem(rng, made, primaries=0.25, sliding=True, prior=prior, already_suppressed=0.05)  # type: ignore[arg-type]
    return problem, release(rng, problem, kind)


def agree(found: tuple[float, float], expected: tuple[float, float], size: float) -> bool:
    return all(a == b or abs(a - b) <= 1e-6 * max(size, 1.0) for a, b in zip(found, expected, strict=True))


def meets(problem: Problem, cell: int, interval: tuple[float, float], slack: float) -> bool:
    """Whether an interval is wide enough, give or take a share of the levels."""
    down, up = problem.table.value[cell] - interval[0], interval[1] - problem.table.value[cell]
    needed = (problem.lower[cell], problem.upper[cell], problem.sliding[cell])
    reached = zip((down, up, down + up), needed, strict=True)
    return all(level == 0 or reach >= level * (1 + slack) for reach, level in reached)


@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 8), marks=pytest.mark.slow)], ids=["few", "many"])
def test_intervals_and_verdicts_are_those_of_another_solver(table, prior, kind, seeds):
    for seed in seeds:
        problem, protection = case(table, prior, kind, seed)
        cells = np.union1d(problem.primaries, np.flatnonzero(protection.suppressed)[:3])
        expected = infer_with_glpk(protection, cells.tolist())
        exact = audit(problem, protection, cells=cells)
        verdict = audit(problem, protection, cells=cells, intervals=False)
        assert verdict.safe.tolist() == exact.safe.tolist()
        for row, cell in enumerate(cells.tolist()):
            found = float(exact.lower[row]), float(exact.upper[row])
            assert agree(found, expected[row], problem.table.magnitude[cell]), (seed, problem.table.label(cell))
            published = problem.status[cell] == Status.PRIMARY and protection.lower[cell] == protection.upper[cell]
            if meets(problem, cell, expected[row], 1e-5) and not published:
                assert exact.safe[row]
            if not meets(problem, cell, expected[row], -1e-5) or published:
                assert not exact.safe[row]


@pytest.mark.parametrize("table", TABLES)
def test_several_attackers_are_each_answered(table):
    """An attacker without bounds, the outsider, and one who knows every cell to within a tenth."""
    problem, protection = case(table, "sign", "mixture", seed=7)
    value, size, n = problem.table.value, problem.table.magnitude, len(problem)
    attackers = [
        Attacker("stranger", np.full(n, -np.inf), np.full(n, np.inf)),
        *problem.attackers(),
        Attacker("insider", value - 0.1 * size, value + 0.1 * size),
    ]
    checked = audit(problem, protection, attackers=attackers)
    cells = problem.primaries.tolist()
    for number, who in enumerate(attackers):
        expected = infer_with_glpk(protection, cells, who)
        rows = np.flatnonzero(checked.attacker == number)
        assert checked.cell[rows].tolist() == cells
        for row, interval in zip(rows, expected, strict=True):
            found = float(checked.lower[row]), float(checked.upper[row])
            assert agree(found, interval, size[checked.cell[row]])
