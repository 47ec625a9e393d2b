"""The parts an audit is made of: reducing, exploring in pieces and by several workers, deciding exactly."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet.attackers import Attacker
from discreet.audit import audit
from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.errors import InputError
from discreet.inference import tolerances
from discreet.inference.congruent_tables import CongruentTables, components
from discreet.inference.integer_system import IntegerSystem
from discreet.inference.presolve import presolve
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_problem, random_table, suppressing

pytestmark = pytest.mark.usefixtures("levels_alone")


def random_system(seed: int) -> tuple[sparse.csr_array, np.ndarray, np.ndarray]:
    """A few relations over a dozen columns, many of them short, with bounds around zero."""
    rng = np.random.default_rng(seed)
    m, n = 7, 12
    rows = []
    for _ in range(m):
        row = np.zeros(n)
        at = rng.choice(n, size=rng.choice([1, 2, 2, 2, 3, 4]), replace=False)
        row[at] = rng.choice([-1.0, 1.0, 1.0, 2.0], size=len(at))
        rows.append(row)
    low = -rng.integers(0, 5, n).astype(float)
    high = np.where(rng.random(n) < 0.2, np.inf, rng.integers(0, 5, n))
    return sparse.csr_array(np.array(rows)), low, high


def farthest(relations: sparse.csr_array, low: np.ndarray, high: np.ndarray, column: int, sign: int) -> float:
    goal = np.zeros(len(low))
    goal[column] = -sign
    solved = linprog(goal, A_eq=relations, b_eq=np.zeros(relations.shape[0]), bounds=np.stack([low, high], axis=1))
    return np.inf if solved.status == 3 else -solved.fun


@pytest.mark.parametrize("seed", range(40))
def test_the_reduced_system_allows_what_the_whole_one_does(seed):
    relations, low, high = random_system(seed)
    small = presolve(relations, low, high)
    assert (small.low < small.high).all()
    for cell in range(len(low)):
        for sign in (-1, 1):
            expected = farthest(relations, low, high, cell, sign)
            column = small.column[cell]
            if column < 0:
                assert expected == pytest.approx(0, abs=1e-7)
            else:
                turn = int(sign * small.sign[cell])
                found = farthest(small.relations, small.low, small.high, column, turn)
                assert found == pytest.approx(expected, abs=1e-7)


def test_cells_that_must_be_their_own_negative_do_not_move():
    relations = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    small = presolve(relations, np.full(3, -5.0), np.full(3, 5.0))
    assert (small.column == -1).all()


def test_relations_are_kept_once():
    relations = sparse.csr_array(np.array([[1.0, 1, 1, 0], [-1, -1, -1, 0], [2, 2, 2, 0], [1, 1, 0, 1]]))
    small = presolve(relations, np.full(4, -5.0), np.full(4, 5.0))
    assert small.relations.shape == (2, 4)


def test_components_cover_every_uncertain_cell_once_with_all_its_relations():
    rng = np.random.default_rng(3)
    table = random_table(rng, (6, 6))
    uncertain = rng.random(len(table)) < 0.25
    seen = []
    for cells, block in components(table.relations, uncertain):
        seen += cells.tolist()
        whole = table.relations[:, cells]
        assert sorted(np.diff(block.indptr).tolist()) == sorted(n for n in np.diff(whole.indptr).tolist() if n)
        move = rng.integers(1, 9, len(cells)).astype(float)
        assert sorted((block @ move).tolist()) == sorted((whole[np.diff(whole.indptr) > 0] @ move).tolist())
    assert sorted(seen) == np.flatnonzero(uncertain).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_the_shortest_move_goes_as_far_as_it_must_and_others_as_little_as_they_can(seed):
    relations, low, high = random_system(seed)
    rows = np.vstack([relations.toarray(), np.zeros(len(low))])
    tables, goal = CongruentTables(relations, low, high), 1.0
    for column in range(len(low)):
        for sign in (-1, 1):
            rows[-1] = 0.0
            rows[-1, column] = sign
            rhs = np.append(np.zeros(len(rows) - 1), goal)
            bounds = np.stack([np.zeros(2 * len(low)), np.concatenate([high, -low])], axis=1)
            least = linprog(np.ones(2 * len(low)), A_eq=np.hstack([rows, -rows]), b_eq=rhs, bounds=bounds)
            push = tables.nearest_reaching(column, sign, goal)
            assert push.proven
            if farthest(relations, low, high, column, sign) < goal - 1e-6:
                assert not push.difference.any()
                continue
            move = push.difference
            assert sign * move[column] == goal
            assert np.abs(relations @ move).max() <= 1e-12
            assert np.all(move >= low)
            assert np.all(move <= high)
            assert np.abs(move).sum() == pytest.approx(least.fun)


def test_a_move_that_just_fits_in_rooms_that_are_not_round_is_found_a_hair_before_its_end():
    """Slacks are cut to a grid, by less than a level may miss. Here three cells a line make up for what one moves by."""
    table = random_table(np.random.default_rng(1), (4, 4, 4), values="integer")
    base = np.flatnonzero(table.is_base)
    width = np.where(np.arange(len(base)) == 0, 7.0, 7 / 3)
    tables = CongruentTables(sparse.csr_array(table.relations[:, base]), -width, width, 7.0)
    assert not tables.nearest_reaching(0, 1.0, 7.0).difference.any()
    push = tables.nearest_reaching(0, 1.0, 7.0 * (1 - tolerances.LEVEL_TOLERANCE / 2))
    assert push.proven
    assert push.difference[0] >= 7.0 * (1 - tolerances.LEVEL_TOLERANCE)


def large(seed: int = 5):
    """Large enough for bursts, several pieces of work and, in two dimensions, flows."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, random_table(rng, (random_hierarchy(rng, 9, levels=2), 8, 6)), primaries=0.3, sliding=True
    )
    suppressed = (problem.status == Status.PRIMARY) | (problem.status == Status.SUPPRESSED)
    return problem, suppress(
        problem, suppressed | ((rng.random(len(problem)) < 0.35) & (problem.status == Status.FREE))
    )


@pytest.mark.parametrize("intervals", [True, False])
def test_the_answer_is_the_same_to_the_last_bit_with_any_number_of_threads(intervals):
    problem, protection = large()
    alone = audit(problem, protection, intervals=intervals, certify=True)
    for workers in (1, 3):
        with ThreadPoolExecutor(workers) as executor:
            together = audit(problem, protection, intervals=intervals, certify=True, executor=executor)
        assert alone.lower.tobytes() == together.lower.tobytes()
        assert alone.upper.tobytes() == together.upper.tobytes()
        assert alone.safe.tobytes() == together.safe.tobytes()
        for one, other in zip(alone.evidence[0].tables, together.evidence[0].tables, strict=True):
            assert one.cells.tolist() == other.cells.tolist()
            assert one.amount.tobytes() == other.amount.tobytes()


def test_the_answer_is_the_same_with_processes():
    problem, protection = large(6)
    alone = audit(problem, protection)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        together = audit(problem, protection, executor=executor)
    assert alone.lower.tobytes() == together.lower.tobytes()
    assert alone.upper.tobytes() == together.upper.tobytes()


def test_verdict_and_intervals_agree_where_bursts_and_pieces_are_needed():
    problem, protection = large(7)
    exact, verdict = audit(problem, protection), audit(problem, protection, intervals=False)
    assert exact.safe.tolist() == verdict.safe.tolist()
    assert 0 < exact.safe.sum() < len(exact.safe)


@pytest.mark.parametrize("shortfall", [0.0, 2e-8, 9e-8, 1.1e-7, 2e-7, 1e-5])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e12])
def test_the_line_is_drawn_exactly(shortfall, size):
    """A level counts as reached from a ten-millionth below it; which side of that line a cell is on is not guessed."""
    table = cross_table("AB", "12", np.array([[5.0, 3.0], [3.0, 5.0]]) * size)
    problem = pose(table, {"A × 1": (0.0, 3.0 * size / (1 - shortfall))})
    suppressed = suppressing(problem, "A × 2", "B × 1", "B × 2")
    for intervals in (True, False):
        assert audit(problem, suppressed, intervals=intervals).passed == (shortfall <= 1e-7)


def test_decimals_beside_large_numbers_come_out_as_on_paper():
    """Twelve digits before the point and two behind it in one square of suppressed cells."""
    values = np.array([[123456789012.35, 0.15, 7.25], [0.45, 987654321.05, 3.1], [2.2, 5.75, 31415926535.9]])
    table = cross_table("ABC", "123", values)
    problem = pose(table, {"A × 2": 0.15, "B × 1": 0.1})
    checked = audit(problem, suppressing(problem, "A × 1", "B × 2"))
    assert checked.interval("A × 2") == (0, 987654321.2)
    assert checked.interval("B × 1") == pytest.approx((0.3, 987654321.5), abs=1e-9)
    assert checked.passed


def doubling(steps: int, slack: float, level: float, seed: int = 0):
    """Each cell is twice the one before, by relations with weights of one; the first has hardly any slack."""
    rng = np.random.default_rng(seed)
    rows, n = [], 2 * steps + 1
    for i in range(steps):
        others, copy = [n, n + 1, n + 2], steps + 1 + i
        n += 3
        rows += [
            dict.fromkeys(others, 1.0),
            {**dict.fromkeys(others, 1.0), i: 1.0, copy: -1.0},
            {i: 1, copy: 1, i + 1: -1},
        ]
    relations = from_equations([(list(row), list(row.values())) for row in rows], n)
    value = rng.choice([1, 10, 1000, 1e6], n)
    value[0] = 1.0
    lower, upper = np.zeros(n), np.full(n, np.inf)
    lower[0], upper[0] = 1 - slack, 1 + slack
    table = Table({}, np.zeros((0, n), int), value, relations, names=tuple(map(str, range(n))), rhs=relations @ value)
    status, need, none = np.zeros(n, np.int8), np.zeros(n), np.zeros(n)
    status[steps], need[steps] = Status.PRIMARY, level
    problem = Problem(table, status, np.ones(n), none, need, none, lower, upper)
    return problem, suppress(problem, np.ones(n, dtype=bool))


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize("share", [0.999, 1.001, 1.1, 2.0])
@pytest.mark.parametrize("steps", [12, 20, 24, 28])
def test_relations_that_amplify_the_tolerance_of_a_solver_make_nothing_safe(steps, share, intervals):
    """A solver may overstep a bound by 1e-9; doubled 28 times over, that looks like protection."""
    for seed, slack in enumerate((1e-6, 1e-5, 1e-3)):
        problem, protection = doubling(steps, slack, slack * 2**steps * share, seed)
        assert audit(problem, protection, intervals=intervals).passed == (share < 1)


@pytest.mark.parametrize("intervals", [True, False])
@pytest.mark.parametrize("slack", [1e-9, 1e-3])
def test_a_tolerance_that_is_amplified_is_not_an_unbounded_direction(slack, intervals):
    """Only the first cell is bounded, and within its tolerance the solver finds a direction that looks unbounded."""
    problem, _ = doubling(32, slack, 1.5 * slack * 2**32)
    lower = np.where(np.arange(len(problem)) == 0, problem.prior_lower, -np.inf)
    problem = problem.with_columns(prior_lower=lower)
    checked = audit(problem, suppress(problem, np.ones(len(problem), dtype=bool)), intervals=intervals)
    assert not checked.passed
    if intervals:
        reach = checked.upper - problem.table.value[checked.cell]
        assert reach == pytest.approx(slack * 2**32, rel=1e-6)


@pytest.mark.parametrize(
    ("weight", "found", "congruent"),
    [
        (1.0, [1.0, 1.0, 0.0], [1, 1, 0]),
        (1.0, [1.0, 1 - 1e-9, 0.0], [1, 1, 0]),  # the solver's noise, which rounding takes off
        (2.0, [1.0, 0.5, 0.0], [1, 0.5, 0]),
        (2 / 3, [2 / 3, 1.0, 1e-13], [2 / 3, 1, 0]),
        (0.7, [0.7, 1.0, 0.0], [0.7, 1, 0]),
        (11 / 13, [11 / 13, 1.0, 0.0], [11 / 13, 1, 0]),
        (1 + 1e-6, [1.0, 1 - 1e-6, 0.0], None),  # nearly, but no
        (1 + 1e-12, [1.0, 1.0, 0.0], None),
        (1.0, [1.0, 0.5, 0.5], None),  # the last cell has no slack
        (1.0, [np.nan, 0.0, 0.0], None),
        (1.0, [1e30, 1e30, 0.0], None),
    ],
)
def test_a_table_counts_only_if_it_keeps_all_relations_to_the_last_digit(weight, found, congruent):
    relations = sparse.csr_array([[1.0, -weight, -1.0]])
    grid = IntegerSystem.of(relations, np.array([-np.inf, -1.0, 0.0]), np.array([np.inf, np.inf, 0.0]))
    proven = grid.congruent(np.array(found))
    assert proven == (congruent if congruent is None else pytest.approx(congruent, rel=1e-15))


@pytest.mark.parametrize("intervals", [True, False])
def test_small_weights_that_amplify_make_nothing_safe(intervals):
    """x is 0.0001 of the next, which is 0.0001 of the next again; and x is nearly known."""
    relations = from_equations([([0, 1], [1.0, -1e-4]), ([1, 2], [1.0, -1e-4]), ([2, 3, 4], [1.0, 1.0, 1.0])], 5)
    value = np.zeros(5)
    table = Table({}, np.zeros((0, 5), int), value, relations, names=tuple("abcde"), rhs=np.zeros(3))
    far, need, none = np.full(5, 1e9), np.zeros(5), np.zeros(5)
    lower, upper = -far, far.copy()
    lower[0], upper[0], need[2] = -1e-9, 1e-9, 0.2
    status = np.array([0, 0, 1, 0, 0], np.int8)
    problem = Problem(table, status, np.ones(5), need, need, none, lower, upper)
    checked = audit(problem, suppress(problem, np.ones(5, dtype=bool)), intervals=intervals)
    assert not checked.passed  # 1e-9 times 1e8 is 0.1


def test_cells_are_given_by_number():
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5]]), {"A × 1": 1.0})
    protection = suppressing(problem, "A × 2", "B × 1", "B × 2")
    for wrong in (protection.suppressed, [-1], [99], [1.5]):
        with pytest.raises(InputError, match="cells= takes numbers of cells from 0 to 8"):
            audit(problem, protection, cells=wrong)


def test_attackers_must_know_something_about_every_cell():
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5]]), {"A × 1": 1.0})
    protection = suppressing(problem, "A × 2", "B × 1", "B × 2")
    n = len(problem)
    for lower in (np.zeros(1), np.zeros(n - 1), np.full(n, np.nan)):
        with pytest.raises(
            InputError,
            match="The bounds 'lower' of the attacker 'insider' are not one number for each of the 9 cells: "
            "give them in the order of the table, infinite if nothing is known",
        ):
            audit(problem, protection, attackers=[Attacker("insider", lower, np.full(len(lower), np.inf))])
    with pytest.raises(InputError, match="At least one attacker"):
        audit(problem, protection, attackers=[])


def test_only_attackers_of_the_audit_can_be_asked_for():
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5]]), {"A × 1": 1.0})
    checked = audit(problem, suppressing(problem, "A × 2", "B × 1", "B × 2"))
    assert checked.interval("A × 1", "outsider") == (0, 8)
    with pytest.raises(InputError, match=r"The audit has no attacker 'stranger'. Choose from 'outsider'"):
        checked.interval("A × 1", "stranger")
