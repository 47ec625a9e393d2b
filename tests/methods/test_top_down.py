"""Hierarchies table by table: modular, hypercube and what they share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from tests.helpers.brute import is_safe

from discreet.arrays import DOWN, UP
from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.table import Table
from discreet.errors import NoSafePatternError
from discreet.inference.boxes import LEVEL_FACTOR
from discreet.methods import protect
from discreet.methods.context import Run
from discreet.methods.suppress.hypercube import _Boxes, by_boxes
from discreet.methods.suppress.modular import cheapest_pattern
from discreet.methods.suppress.top_down import Answer, Subproblem, TopDown
from discreet.problem import Problem, Status
from discreet.progress import Budget
from discreet.protection import Protection
from discreet.testing import cross_table, pose, random_hierarchy, random_linked_table, random_problem, random_table

WAYS = {"modular": cheapest_pattern, "hypercube": by_boxes}
TABLES = {
    "2-D": lambda rng: random_table(rng, (4, 4)),
    "2-D, two hierarchies": lambda rng: random_table(
        rng, (random_hierarchy(rng, 4, levels=3), random_hierarchy(rng, 3, levels=2))
    ),
    "2-D, negative": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2), 3), negative=0.3),
    "3-D, hierarchical": lambda rng: random_table(rng, (random_hierarchy(rng, 4, levels=2), 2, 2), values="integer"),
    "4-D": lambda rng: random_table(rng, (2, 2, 2, 1)),
    "not nested": lambda rng: random_table(rng, (random_hierarchy(rng, 6, levels=2, trees=2), 3)),
    "linked": random_linked_table,
}
PRIORS = ("sign", "percent", "mixed", "nothing")


@pytest.fixture(autouse=True)
def every_audit_is_proven() -> None:
    """Not those on the way to a pattern, of which there are many: the pattern itself is shown to GLPK."""


@pytest.fixture(params=WAYS)
def method(request) -> str:
    return request.param


def draw(kind: str, seed: int, **options) -> Problem:
    """Cells that are published, suppressed, and in need of protection only if suppressed; in half of the problems an insider."""
    rng = np.random.default_rng([seed, list(TABLES).index(kind)])
    options = {"prior": PRIORS[seed % 4], "sliding": seed % 2 == 1, "already_suppressed": 0.05, **options}
    problem = random_problem(rng, TABLES[kind](rng), **options)
    size, free = problem.table.magnitude, problem.status == Status.FREE
    if_hidden = np.where(free & (rng.random(len(problem)) < 0.2), 0.05 * size, 0.0)
    problem = problem.with_columns(
        lower=np.maximum(problem.lower, if_hidden), sliding=np.maximum(problem.sliding, 2 * if_hidden * (seed % 3 == 0))
    )
    if seed % 2 == 0:
        spread = np.where(rng.random(len(problem)) < 0.3, rng.uniform(0.5, 1.0, len(problem)) * size, np.inf)
        value = problem.table.value
        levels = 0.5 * np.stack([problem.lower, problem.upper, problem.sliding])
        insider = Attacker("insider", value - spread, value + spread, levels if seed % 4 == 0 else None)
        problem = problem.with_columns(others=(insider,))
    return problem


def check(problem: Problem, protection: Protection) -> None:
    assert audit(problem, protection).passed
    assert is_safe(problem, protection.suppressed), "GLPK says otherwise"
    assert protection.suppressed[np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))].all()
    assert not protection.suppressed[problem.status == Status.PUBLISHED].any()
    assert protection.report.cost == pytest.approx(problem.cost[protection.suppressed].sum())
    assert protection.report.status == "heuristic"
    assert protection.report.bound is None


# -- patterns -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("seed", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_a_pattern_is_safe_as_a_whole_or_there_is_none(method, kind, seed):
    problem = draw(kind, seed)
    protection, by_kelly = solve(problem, method), solve(problem, "kelly")
    assert (protection is None) == (by_kelly is None)
    if protection is not None:
        check(problem, protection)


def solve(problem: Problem, method: str) -> Protection | None:
    try:
        return protect(problem, method)
    except NoSafePatternError:
        return None


@pytest.mark.parametrize("kind", ["2-D", "3-D, hierarchical", "linked"])
def test_the_same_again(method, kind):
    problem = draw(kind, 1, must_publish=0.0, primaries=0.3)
    first, second = (protect(problem, method, seed=3).suppressed for _ in range(2))
    assert np.array_equal(first, second)


def test_most_problems_have_a_pattern_with_secondaries():
    """Otherwise these tests are about nothing."""
    solved = [(problem, solve(problem, "kelly")) for problem in (draw(kind, 0) for kind in TABLES)]
    suppresses = [
        found is not None and (found.suppressed & (problem.status == Status.FREE)).any() for problem, found in solved
    ]
    assert np.mean(suppresses) > 0.6


def test_the_cells_of_several_orders_of_magnitude(method):
    table = cross_table("abc", "def", 1e12 * np.array([[1, 2, 3], [4, 5e-12, 6], [7, 8, 9e-6]]))
    problem = pose(table, {"b × e": 1.0, "c × f": 2e6})
    check(problem, protect(problem, method))


def test_negative_cells_with_bounds_close_to_them(method):
    table = cross_table("abc", "def", [[-5.0, 3, 2], [4, -6, 1], [-2, 7, -1]])
    problem = pose(table, {"a × d": 2.0, "b × e": (1.0, 3.0)}, lower=-9.0, upper=12.0)
    check(problem, protect(problem, method))


def test_costs_of_nothing(method):
    problem = draw("2-D, two hierarchies", 0)
    problem = problem.with_columns(cost=np.zeros(len(problem)))
    check(problem, protect(problem, method))


@pytest.mark.parametrize("shape", [(1,), (2,), (1, 1), (1, 2), (2, 2)])
def test_tiny_tables(method, shape):
    table = random_table(np.random.default_rng(0), shape, zeros=0.0)
    label = table.label(len(table) - 1)
    problem = pose(table, {label: 0.1 * float(table.value[-1])})
    check(problem, protect(problem, method))


@pytest.mark.parametrize("cells", [1, 3])
def test_no_relations_at_all(method, cells):
    names = tuple("pqr"[:cells])
    table = Table({}, np.zeros((0, cells)), np.arange(1.0, cells + 1), sparse.csr_array((0, cells)), names=names)
    protection = protect(pose(table, {"p": 1.0}), method)
    assert protection.suppressed.tolist() == [True, False, False][:cells]


def test_nothing_may_be_hidden_besides(method):
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    others = [label for label in table.labels(np.arange(len(table))) if label != "a × c"]
    with pytest.raises(NoSafePatternError, match="'a × c'"):
        protect(pose(table, {"a × c": 1.0}, published=others), method)


# -- boxes --------------------------------------------------------------------------------------------------------


def parts_of(problem: Problem) -> list[Subproblem]:
    parts = TopDown(problem, Run())
    return [parts._part(table, None) for table in parts.tables]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 3), (2, 2, 2, 2), ((6, 3), 3), ((4, 2), (4, 2), 2)])
def test_a_box_is_the_cheapest_one_whose_corners_can_move(shape):
    """All corners move by the levels of the cell, with it or against it, and all relations hold."""
    rng = np.random.default_rng(len(shape))
    dims = [part if isinstance(part, int) else random_hierarchy(rng, part[0], levels=part[1]) for part in shape]
    problem = random_problem(rng, random_table(rng, dims), primaries=0.4, prior="percent", must_publish=0.1)
    problem = problem.with_columns(cost=rng.integers(1, 50, len(problem)).astype(float))
    found = 0
    for part in parts_of(problem):
        for p in np.flatnonzero(part.problem.status == Status.PRIMARY).tolist():
            boxes = _Boxes(part)
            down, up = boxes.level[:, p] * LEVEL_FACTOR
            if down == up:
                continue
            before = boxes.price.copy()
            cheapest = min((cost for cost in all_boxes(boxes, part.at, p)), default=np.inf)
            if not boxes.protect(p):
                assert cheapest == np.inf
                continue
            corners = np.flatnonzero(boxes.need.any(axis=0))
            assert len(corners) == 2 ** len(part.at)
            assert p in corners
            assert boxes.suppressed[corners].all()
            assert before[corners].sum() == pytest.approx(cheapest)
            sign = np.where(boxes.need[UP] == up, 1.0, -1.0) * boxes.need.any(axis=0)
            assert np.all(part.problem.table.relations @ sign == 0)
            assert np.all(boxes.need <= boxes.slack)
            assert np.all(boxes.need[DOWN, sign > 0] == down)
            assert np.all(boxes.need[UP, sign < 0] == down)
            found += 1
    assert found > 3


def all_boxes(boxes: _Boxes, at: np.ndarray, p: int) -> list[float]:
    """What each box around a cell costs whose corners have slack, one at a time."""
    down, up = boxes.level[:, p] * LEVEL_FACTOR
    grid = np.full(at.max(axis=1) + 1, -1)
    grid[tuple(at)] = np.arange(at.shape[1])
    x, costs = at[:, p], []
    for y in product(*(range(n) for n in grid.shape)):
        if any(a == b for a, b in zip(x, y, strict=True)):
            continue
        cost = 0.0
        for choice in product((False, True), repeat=len(x)):
            cell = int(grid[tuple(b if other else a for other, a, b in zip(choice, x, y, strict=True))])
            turns = sum(other and a > 0 and b > 0 for other, a, b in zip(choice, x, y, strict=True))
            rise, fall = (up, down) if turns % 2 == 0 else (down, up)
            able = cell >= 0 and boxes.slack[UP, cell] >= rise and boxes.slack[DOWN, cell] >= fall
            cost += boxes.price[cell] if able else np.inf
        if np.isfinite(cost):
            costs.append(cost)
    return costs


@pytest.mark.parametrize("kind", TABLES)
def test_boxes_protect_a_table_if_they_are_not_stuck(kind):
    """What one table suppresses is safe in it: needs are levels there."""
    for seed in range(2):
        for part in parts_of(draw(kind, seed, primaries=0.3)):
            for way in WAYS.values():
                answer = way(part)
                if answer is not None and way is cheapest_pattern:
                    assert is_safe(part.problem, answer.suppressed)
                if answer is not None:
                    assert not answer.suppressed[part.problem.status == Status.PUBLISHED].any()
                    assert not answer.need[:, ~answer.suppressed].any()
                    assert np.isfinite(answer.need).all()


def test_totals_move_with_their_parts():
    """The sign turns between two parts, not between a part and its total."""
    table = cross_table("ab", "cd", [[5, 6], [8, 7]])
    problem = pose(table, {"a × c": (2.0, 3.0)}, published=["a × d", "b × c", "b × d"])
    (part,) = parts_of(problem)
    boxes = _Boxes(part)
    assert boxes.protect(table.index("a × c"))
    assert table.labels(np.flatnonzero(boxes.suppressed)) == ["Total × Total", "Total × c", "a × Total", "a × c"]
    assert np.all(boxes.need[UP, boxes.suppressed] == 3.0 * LEVEL_FACTOR)


# -- from the top down, and back ------------------------------------------------------------------------------------


def test_what_is_hidden_in_one_table_is_protected_in_the_others():
    """As much as it must move in the first: 30 for a cell that covers one with a level of 30, not just a little."""
    rng = np.random.default_rng(0)
    problem = random_problem(rng, TABLES["2-D, two hierarchies"](rng), primaries=0.1, must_publish=0.0)
    parts = TopDown(problem, Run())
    parts.protect(cheapest_pattern, Budget())
    for table in parts.tables:
        part = parts._part(table, None)
        needed = parts.need[:, table.cells] * parts.suppressed[table.cells]
        assert np.all(part.problem.lower >= needed[DOWN])
        assert np.all(part.problem.upper >= needed[UP])
        suppressed = part.problem.status != Status.FREE
        assert np.array_equal(suppressed, parts.suppressed[table.cells] | (part.problem.status == Status.PUBLISHED))
    assert not parts.is_due.any()
    assert parts.visits.max() <= 4


def test_tables_without_anything_hidden_are_not_visited():
    rng = np.random.default_rng(0)
    problem = random_problem(rng, TABLES["2-D, two hierarchies"](rng), primaries=0.0)
    parts = TopDown(problem, Run())
    parts.protect(never, Budget())
    assert not parts.visits.any()


def never(part: Subproblem) -> Answer:
    raise AssertionError("nothing is suppressed in this table")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", TABLES)
def test_workers_find_what_one_finds(way, kind):
    problem = draw(kind, 2, primaries=0.3)
    alone = TopDown(problem, Run())
    alone.protect(WAYS[way], Budget())
    with ThreadPoolExecutor(2) as executor:
        several = TopDown(problem, Run(executor=executor))
        several.protect(WAYS[way], Budget())
    assert np.array_equal(alone.suppressed, several.suppressed)
    assert np.array_equal(alone.need, several.need)


def test_a_time_limit_of_nothing_leaves_tables_alone():
    parts = TopDown(draw("3-D, hierarchical", 0), Run())
    before = parts.suppressed.copy()
    parts.protect(never, Budget(0.0))
    assert np.array_equal(parts.suppressed, before)
