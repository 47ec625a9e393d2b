"""Cheap flows where relations form a network: found where linear programs find a move, and as good."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.helpers.brute import cheapest
from tests.test_attackers import several

from discreet.arrays import DOWN, UP
from discreet.audit import audit
from discreet.data.table import Table
from discreet.errors import NoSafePatternError
from discreet.inference.deviations import Deviation
from discreet.methods import protect
from discreet.methods.suppress.deviation_search import DeviationFlow, deviation_programs, deviation_searches
from discreet.methods.suppress.evidence import KnownDeviations, find_deviations
from discreet.methods.suppress.relation_bounds import RelationBounds
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import cross_table, infer, pose, random_hierarchy, random_problem, random_table

TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    "flat": lambda rng: random_table(rng, (4, 5)),
    "one hierarchy": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=3), 3)),
    "negative": lambda rng: random_table(rng, (4, 4), negative=0.3),
    "one relation": lambda rng: random_table(rng, (7,), values="integer"),
}
PRIORS = ("sign", "percent", "mixed")


def draw(kind: str, seed: int) -> Problem:
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    problem = random_problem(rng, TABLES[kind](rng), prior=PRIORS[seed % 3], sliding=True, already_suppressed=0.05)
    return several(rng, problem) if seed % 2 else problem


def check(problem: Problem, search: DeviationFlow, difference: Deviation, level: float) -> None:
    """It keeps all relations, and every cell within its room."""
    full = np.zeros(len(problem))
    full[difference.cells] = difference.amount
    assert len(np.unique(difference.cells)) == len(difference.cells)
    assert np.abs(problem.table.relations @ full).max(initial=0.0) <= 1e-9 * level * len(problem)
    move, room = full[search.net.cells], search.left
    assert (-room[DOWN] * (1 + 1e-9) - 1e-9 * level <= move).all()
    assert (move <= room[UP] * (1 + 1e-9) + 1e-9 * level).all()


@pytest.mark.parametrize("kind", TABLES)
def test_flows_go_where_linear_programs_go(kind):
    """Also with some cells barred, and with levels that are out of reach."""
    answers = [answer for seed in range(6) for answer in compared(draw(kind, seed), np.random.default_rng(seed))]
    assert 0.1 < np.mean(answers) < 0.9


def compared(problem: Problem, rng: np.random.Generator) -> list[bool]:
    """Whether some cells can be moved, by two searches."""
    cells = problem.status != Status.PUBLISHED
    answers = []
    both = zip(
        deviation_searches(problem, cells, problem.cost, 0),
        deviation_programs(problem, cells, problem.cost),
        strict=True,
    )
    for search, program in both:
        assert isinstance(search, DeviationFlow)
        for i in rng.choice(np.flatnonzero(cells), len(problem) // 8, replace=False).tolist():
            search.bar(i, True)
            program.bar(i, True)
        for p in rng.choice(np.flatnonzero(cells), 6).tolist():
            for side in (DOWN, UP):
                level = float(rng.choice([0.01, 0.1, 0.5, 1.0]) * max(problem.table.magnitude[p], 1.0))
                found = search.move(p, side, level)
                answers.append(found is not None)
                assert (program.move(p, side, level) is not None) is answers[-1]
                if found is not None:
                    check(problem, search, found, level)
                    moved = float(found.amount[found.cells == p][0])
                    assert moved == pytest.approx(level if side == UP else -level, rel=1e-6)
    return answers


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", TABLES)
def test_flows_show_what_linear_programs_show(kind, seed):
    """All levels, also sliding ones; and evidence never credits more than the exact interval."""
    problem = draw(kind, seed)
    cells = problem.status != Status.PUBLISHED
    everything = suppress(problem, cells)
    both = zip(
        deviation_searches(problem, cells, problem.cost, 0),
        deviation_programs(problem, cells, problem.cost),
        strict=True,
    )
    for who, (search, program) in zip(problem.attackers(), both, strict=True):
        evidence = KnownDeviations(problem, who)
        for p in problem.primaries.tolist():
            by_program = find_deviations(program, KnownDeviations(problem, who), p)
            assert (find_deviations(search, evidence, p) is None) is (by_program is None)
        for p in problem.primaries[:3].tolist():
            lower, upper = infer(everything, p, who)
            slack = 1e-6 * max(1.0, float(problem.table.magnitude[p]))
            assert evidence.reach[DOWN, p] <= problem.table.value[p] - lower + slack
            assert evidence.reach[UP, p] <= upper - problem.table.value[p] + slack


def test_the_cheapest_of_two_ways_is_taken_and_hidden_cells_cost_nothing():
    table = cross_table("abc", "de", [[10, 10], [10, 10], [10, 10]])
    problem = pose(table, {"a × d": 2.0})
    cost = np.array([1.0 if label in ("b × d", "b × e") else 3.0 for label in table.labels()])
    p, cells = int(problem.primaries[0]), ~np.array(["Total" in label for label in table.labels()])
    (search,) = deviation_searches(problem, cells, cost, 0)
    assert moving(problem, search.move(p, UP, 2.0)) == {"a × d", "a × e", "b × d", "b × e"}
    search.release(np.array([table.index("c × d"), table.index("c × e")]))
    assert moving(problem, search.move(p, UP, 2.0)) == {"a × d", "a × e", "c × d", "c × e"}


def moving(problem: Problem, difference: Deviation | None) -> set[str]:
    assert difference is not None
    return set(problem.table.labels(difference.cells))


def test_two_ways_together_carry_what_neither_does():
    problem = pose(cross_table("abc", "de", [[9, 9], [9, 3], [9, 4]]), {"a × d": 6.0})
    cells = ~np.array(["Total" in label for label in problem.table.labels()])
    (search,) = deviation_searches(problem, cells, problem.cost, 0)
    p = int(problem.primaries[0])
    found = search.move(p, DOWN, 6.0)
    assert moving(problem, found) == set(problem.table.labels(np.flatnonzero(cells)))
    search.bar(problem.table.index("c × d"), True)
    assert search.move(p, DOWN, 6.0) is None


def pattern(problem: Problem) -> np.ndarray | None:
    try:
        return protect(problem, "kelly").suppressed
    except NoSafePatternError:
        return None


@pytest.mark.parametrize("kind", TABLES)
def test_patterns_are_safe_and_hide_nothing_without_need(kind):
    safe = 0
    for seed in range(4):
        problem = draw(kind, seed)
        suppressed = pattern(problem)
        if suppressed is None:
            continue
        safe += 1
        assert audit(problem, suppress(problem, suppressed), intervals=False).passed
        for i in np.flatnonzero(suppressed & (problem.status == Status.FREE)).tolist():
            fewer = suppressed & (np.arange(len(suppressed)) != i)
            assert not audit(problem, suppress(problem, fewer), intervals=False).passed
    assert safe >= 2


def test_patterns_are_not_much_dearer_than_the_cheapest():
    ours, best = 0.0, 0.0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        problem = random_problem(rng, random_table(rng, (3, 2)), must_publish=0.0)
        suppressed = pattern(problem)
        if suppressed is not None:
            ours += problem.cost[suppressed].sum()
            best += cheapest(problem).cost
    assert best <= ours <= 1.5 * best


def test_a_cell_that_only_hopeless_ones_could_protect():
    """Hidden, b × d would need more room than it has, and there is no other way round."""
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    totals = [label for label in table.labels() if "Total" in label]
    problem = pose(table, {"a × c": 2.0}, published=totals)
    lower = problem.lower.copy()
    lower[table.index("b × d")] = 100.0
    with pytest.raises(
        NoSafePatternError, match="cannot be protected themselves once they are suppressed, 'b × d'"
    ) as caught:
        protect(problem.with_columns(lower=lower), "kelly")
    assert caught.value.offenders == ["a × c", "b × d"]


@pytest.mark.parametrize("seed", range(2))
def test_what_single_relations_rule_out_is_unsafe(seed):
    """And what was put back is as before."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, random_table(rng, (3, 3, 3)), primaries=0.2, must_publish=0.0)
    suppressed = protect(problem, "kelly").suppressed
    who = problem.attackers()[0]
    bounds = RelationBounds(deviation_programs(problem, suppressed, problem.cost)[0], KnownDeviations(problem, who))
    before = bounds.low.copy(), bounds.high.copy()
    for i in np.flatnonzero(suppressed & (problem.status == Status.FREE)).tolist():
        ruled_out = bounds.rules_out(i, suppressed)
        bounds.undo()
        fewer = suppressed & (np.arange(len(suppressed)) != i)
        assert not (ruled_out and audit(problem, suppress(problem, fewer), intervals=False).passed)
        assert np.array_equal(before[0], bounds.low)
        assert np.array_equal(before[1], bounds.high)
