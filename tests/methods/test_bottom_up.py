"""Hierarchies from the bottom up, and the ladder that begins with them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress as suppressed
from itertools import count

import numpy as np
import pytest
from tests.helpers.small import insiders, need_protection_if_hidden

from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.inference.subtables import restrict, subtables
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.suppress import auto
from discreet.methods.suppress.kelly import protected_by_regions
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import suppress
from discreet.testing import pose, random_hierarchy, random_linked_table, random_problem, random_table

TABLES = {
    "2-D, two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 7, levels=3), random_hierarchy(rng, 5, levels=2))
    ),
    "2-D, negative": lambda rng: random_table(
        rng, (random_hierarchy(rng, 6, levels=2), random_hierarchy(rng, 4, levels=2)), negative=0.3
    ),
    "3-D, hierarchical": lambda rng: random_table(
        rng, (random_hierarchy(rng, 5, levels=2), random_hierarchy(rng, 4, levels=2), 2), values="integer"
    ),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3)),
    "linked": random_linked_table,
}


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many."""


def draw(kind: str, seed: int) -> Problem:
    """Every third has cells that need protection only if they are suppressed, every third insiders."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    problem = random_problem(rng, TABLES[kind](rng), primaries=0.15, sliding=seed % 2 == 1, already_suppressed=0.03)
    if seed % 3 == 1:
        problem = need_protection_if_hidden(rng, problem)
    if seed % 3 == 2:
        problem = problem.with_columns(others=insiders(rng, problem))
    return problem


@pytest.mark.parametrize("kind", TABLES)
def test_moves_are_moves_of_the_whole_and_show_what_they_say(kind):
    shown = 0
    for seed in range(6):
        problem = draw(kind, seed)
        suppressed, moves = protected_by_regions(problem, Run())
        relations, value = problem.table.relations, problem.table.value
        for who, mine in zip(problem.attackers(), moves, strict=True):
            for move in mine:
                table = value.copy()
                table[move.cells] += move.amount
                assert suppressed[move.cells].all()
                assert np.abs(relations @ (table - value)).max() <= 1e-6 * np.abs(move.amount).max()
                slack = 1e-6 * (1 + np.abs(move.amount).max())
                assert np.all(table >= who.lower - slack)
                assert np.all(table <= who.upper + slack)
                shown += 1
        assert not suppressed[problem.status == Status.PUBLISHED].any()
        assert suppressed[np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))].all()
    assert shown > 5 or kind in ("not nested", "linked")  # where tables overlap, little can be protected in one


@pytest.mark.parametrize("kind", TABLES)
def test_what_is_hidden_on_the_way_is_protected(kind):
    """Only sensitive cells are left without protection, which are the ones to come."""
    for seed in (1, 4, 7):  # with levels of cells that may be published
        problem = draw(kind, seed)
        suppressed, _ = protected_by_regions(problem, Run())
        seen = audit(problem, suppress(problem, suppressed), intervals=False)
        assert np.all(problem.status[seen.cell[~seen.safe]] == Status.PRIMARY)


@pytest.mark.parametrize("kind", TABLES)
def test_threads_find_what_one_finds(kind):
    problem = draw(kind, 2)
    alone = protected_by_regions(problem, Run())
    with ThreadPoolExecutor(2) as executor:
        together = protected_by_regions(problem, Run(executor=executor))
    assert np.array_equal(alone[0], together[0])
    assert [len(mine) for mine in alone[1]] == [len(mine) for mine in together[1]]


@pytest.mark.parametrize("kind", TABLES)
def test_a_safe_pattern_is_left_as_it_is(kind):
    problem = draw(kind, 0).with_columns(others=())
    problem = problem.with_columns(status=np.where(problem.status == Status.PUBLISHED, Status.FREE, problem.status))
    safe = protect(problem, "kelly").suppressed
    assert np.array_equal(protected_by_regions(problem, Run(start=safe))[0], safe)


def test_what_its_own_table_does_not_protect_is_left_to_a_larger_part():
    """Cells of other tables, and totals with them, make up for a cell that is large among its own."""
    above = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        shape = tuple(random_hierarchy(rng, 9, levels=3) for _ in range(2))
        table = random_table(rng, shape)
        base = np.flatnonzero(table.is_base)
        cell = int(base[np.argsort(table.magnitude[base])[len(base) * 3 // 4]])
        problem = pose(table, {table.label(cell): 0.9 * float(table.magnitude[cell])})
        suppressed, _ = protected_by_regions(problem, Run())
        safe = audit(problem, suppress(problem, suppressed)).passed
        above += safe and bool((suppressed & ~table.is_base).any())
    assert above >= 2


def test_without_time_nothing_is_hidden_but_what_must_be():
    problem = draw("3-D, hierarchical", 0)
    suppressed, moves = protected_by_regions(problem, Run(budget=Budget(0.0)))
    assert np.array_equal(suppressed, np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED)))
    assert not any(moves)


def test_a_problem_of_some_cells_keeps_its_relations_and_levels():
    problem = draw("3-D, hierarchical", 2)
    table = subtables(problem.table.relations)[-1]
    part = restrict(problem, table.cells[1:], table.rows)  # its total is published
    part.table.check_additive()
    assert np.array_equal(part.status, problem.status[table.cells[1:]])
    assert np.array_equal(part.lower, problem.lower[table.cells[1:]])
    assert [who.name for who in part.others] == [who.name for who in problem.others]


@pytest.mark.parametrize("kind", ["2-D, two hierarchies", "3-D, hierarchical"])
def test_the_ladder_is_no_dearer_than_its_first_rung_and_says_what_it_climbed(kind):
    problem = draw(kind, 3)
    first, found = protect(problem, "kelly"), protect(problem, "auto", time_limit=3.0)
    assert found.report.cost <= first.report.cost
    assert found.report.method == "auto"
    assert found.report.note.startswith("kelly")
    assert audit(problem, found).passed


@pytest.mark.parametrize("step", ["__init__", "drop_met_requirements", "accept"])
def test_ctrl_c_on_the_way_to_the_second_rung_leaves_the_pattern_of_the_first(step, monkeypatch):
    problem = draw("3-D, hierarchical", 3)
    first = protect(problem, "kelly")

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(auto.PatternSearch, step, stop)
    found = protect(problem, "auto")
    np.testing.assert_array_equal(found.suppressed, first.suppressed)
    assert (found.report.method, found.report.status) == ("auto", "interrupted")
    assert found.report.note == "kelly: no time left for other methods"


def test_more_time_never_makes_a_pattern_dearer(monkeypatch):
    """Every look at the clock takes ten seconds."""
    clock = count(step=10.0)
    monkeypatch.setattr("discreet.progress.time.monotonic", lambda: next(clock))
    costs = []
    for limit in (1e3, 2e3, 3e3, 5e3, 1e4):
        with suppressed(NoSafePatternError):
            costs.append(protect(draw("2-D, two hierarchies", 4), "auto", time_limit=limit).report.cost)
    assert len(set(costs)) > 1
    assert costs == sorted(costs, reverse=True)


def test_large_tables_stay_on_the_first_rung(monkeypatch):
    monkeypatch.setattr(auto, "MAX_CELLS_FOR_PATTERNS", 10)
    problem = draw("3-D, hierarchical", 3)
    found = protect(problem, "auto")
    assert "too many" in found.report.note
    assert np.array_equal(found.suppressed, protect(problem, "kelly").suppressed)
