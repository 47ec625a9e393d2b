"""Programs over what is near a cell, in place of all cells: what they find holds in the whole table."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.methods.test_bottom_up import TABLES, draw

from discreet.arrays import DOWN, UP
from discreet.audit import audit
from discreet.inference import neighbourhoods as parts
from discreet.inference.nearest_columns import NearestColumns
from discreet.methods import protect
from discreet.methods.suppress import deviation_program, eliminate
from discreet.methods.suppress.deviation_search import deviation_programs
from discreet.problem import Problem, Status

KINDS = [kind for kind in TABLES if kind != "linked"]  # of which some are too small


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many."""


@pytest.fixture
def near(monkeypatch) -> None:
    """As if the smallest tables were vast."""
    monkeypatch.setattr(deviation_program, "MIN_CELLS_FOR_NEIGHBOURHOODS", 0)
    monkeypatch.setattr(deviation_program, "NEIGHBOURHOOD_CELLS", (6, 20))
    monkeypatch.setattr(eliminate, "MIN_CELLS_FOR_LOCAL_SEARCH", 0)
    monkeypatch.setattr(eliminate, "LOCAL_SEARCH_CELLS", (6, 15))
    monkeypatch.setattr(parts, "LARGE_COMPONENT_COLUMNS", 0)
    monkeypatch.setattr(parts, "NEIGHBOURHOOD_SIZES", (5, 12))


@pytest.mark.parametrize("kind", TABLES)
def test_the_nearest_come_first(kind):
    problem = draw(kind, 0)
    relations = problem.table.relations
    rng = np.random.default_rng(0)
    length = rng.integers(1, 5, len(problem)).astype(float)
    length[rng.random(len(problem)) < 0.1] = np.inf
    length[0] = 1.0
    joined = (abs(relations).T @ abs(relations)).toarray() > 0
    far = np.full(len(problem), np.inf)
    far[0] = 0.0
    for _ in range(len(problem)):
        far = np.minimum(far, np.where(joined, far[:, np.newaxis], np.inf).min(axis=0) + length)
    vicinity = NearestColumns(relations)
    for size in (1, 4, len(problem)):
        found = vicinity.nearest(0, length, size)
        assert found[0] == 0
        assert len(found) == min(size, int(np.isfinite(far).sum()))
        assert np.all(np.diff(far[found]) >= 0)
        rest = np.setdiff1d(np.arange(len(problem)), found)
        assert far[found].max() <= far[rest].min(initial=np.inf)


@pytest.mark.parametrize("kind", TABLES)
def test_what_no_relation_pins_is_left(kind):
    problem = draw(kind, 1)
    relations = problem.table.relations
    is_in = (relations != 0).astype(int)
    vicinity = NearestColumns(relations)
    for size in (5, 12, 30):
        step = np.ones(len(problem))
        left = np.zeros(len(problem), dtype=bool)
        left[vicinity.nearest(0, step, size)] = True
        while (pinned := left & (is_in[is_in @ left.astype(int) == 1].sum(axis=0) > 0)).any():
            left &= ~pinned
        found = vicinity.around(0, step, size)
        assert set(found) == (set(np.flatnonzero(left)) if left[0] else set())
        part = vicinity.part(np.sort(found))
        rows = np.flatnonzero(is_in @ np.isin(np.arange(len(problem)), found).astype(int))
        assert (part != relations[rows][:, np.sort(found)]).nnz == 0


@pytest.mark.parametrize("kind", KINDS)
def test_moves_nearby_are_moves_of_the_whole_and_found_where_there_are_any(kind, near):
    found = 0
    for seed in range(6):
        problem = draw(kind, seed)
        for number in range(len(problem.attackers())):
            cells = problem.status != Status.PUBLISHED
            nearby, whole = (deviation_programs(problem, cells, problem.cost)[number] for _ in range(2))
            whole.sizes = ()
            assert nearby.sizes
            for p in problem.primaries.tolist():
                for side in (DOWN, UP):
                    level = 0.2 * float(problem.table.magnitude[p])
                    move = nearby.move(p, side, level) if level else None
                    if move is None:
                        assert not level or whole.move(p, side, level) is None
                        continue
                    full = np.zeros(len(problem))
                    full[move.cells] = move.amount
                    assert full[p] == pytest.approx(level if side == UP else -level)
                    assert np.abs(problem.table.relations @ full).max() <= 1e-6 * level
                    assert np.all(-nearby.slack[DOWN] - 1e-6 * level <= full[nearby.cells])
                    assert np.all(full[nearby.cells] <= nearby.slack[UP] + 1e-6 * level)
                    found += 1
    assert found > 5


def safely(problem: Problem, **options: Any) -> np.ndarray:
    found = protect(problem, "kelly", **options)
    assert audit(problem, found).passed
    return found.suppressed


@pytest.mark.parametrize("kind", KINDS)
def test_patterns_are_safe_and_the_same_for_any_number_of_workers(kind, near):
    for seed in range(3):
        problem = draw(kind, seed).with_columns(others=())
        problem = problem.with_columns(status=np.where(problem.status == Status.PUBLISHED, Status.FREE, problem.status))
        suppressed = safely(problem)
        with ThreadPoolExecutor(2) as executor:
            assert np.array_equal(suppressed, safely(problem, executor=executor))
        assert np.array_equal(
            suppressed, safely(problem, start=suppressed) | suppressed
        )  # what is safe is only cleaned up
