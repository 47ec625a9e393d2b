"""Exact arithmetic: floats read as decimals, systems solved in fractions, and what a solver says made exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.audit.test_audit import PRIORS, SQUARE, TABLES, bare, case, whole_problem

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.inference import exact_simplex
from discreet.inference.exact_lp import ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import (
    decimal_fraction,
    exact_difference,
    exact_differences,
    format_number,
    parse_number,
    simple_fraction,
)
from discreet.inference.exact_reach import ExactReach
from discreet.inference.exact_simplex import maximize_exactly
from discreet.inference.rational_reconstruction import (
    exact_combinations,
    exact_deviations,
    reach_of,
    reconstruct_extreme,
    single_relation_bound,
)
from discreet.inference.rational_systems import solve
from discreet.inference.requirements import exact_slacks, slacks
from discreet.problem import Problem
from discreet.protection import Protection, suppress
from discreet.testing import cross_table, infer, pose, random_table, suppressing

INF = math.inf


def program_of(problem: Problem, protection: Protection, attacker: Attacker | None = None) -> ExactProgram:
    slack = exact_slacks(problem, protection, attacker or problem.attackers()[0])
    return ExactProgram(problem.table.relations, *slack)


def matrix(*rows: list[float]) -> sparse.csr_array:
    return sparse.csr_array(np.array(rows, dtype=float))


# -- numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weight", "exact"),
    [
        (1 / 3, Fraction(1, 3)),
        (0.7 / 3, Fraction(7, 30)),
        (-2 / 7, Fraction(-2, 7)),
        (12.35, Fraction(1235, 100)),
        (0.0001, Fraction(1, 10000)),
        (0.12345678901, Fraction(12345678901, 10**11)),
    ],
)
def test_weights_are_the_simple_fractions_they_were_meant_as(weight, exact):
    assert simple_fraction(weight) == exact


def test_a_float_is_the_decimal_it_was_written_as():
    assert decimal_fraction(12.35) == Fraction(1235, 100)
    assert decimal_fraction(0.1) + decimal_fraction(0.2) == decimal_fraction(0.3)
    assert decimal_fraction(np.float64(1e15)) == 10**15
    assert decimal_fraction(-1e-3) == Fraction(-1, 1000)


@pytest.mark.parametrize(
    ("exact", "written"),
    [
        (Fraction(0), "0"),
        (Fraction(25, 2), "12.5"),
        (Fraction(-25, 2), "-12.5"),
        (Fraction(7, 3), "7/3"),
        (Fraction(-1, 6), "-1/6"),
        (Fraction(1, 1000), "0.001"),
        (Fraction(-3, 160), "-0.01875"),
        (Fraction(10**20), "1" + 20 * "0"),
    ],
)
def test_numbers_are_written_as_decimals_where_that_is_exact(exact, written):
    assert format_number(exact) == written
    assert parse_number(written) == exact


@given(st.fractions())
def test_every_number_is_read_back(exact):
    assert parse_number(format_number(exact)) == exact


def test_endless_is_written_as_inf():
    assert format_number(INF) == "inf"


@pytest.mark.parametrize(
    "written",
    ["", "1.0", "1.50", "01", "+1", "-0", "1e3", " 1", "1_000", "2/4", "5/2", "1/0", "3/1", "inf", "nan", "٣"],
)
def test_every_number_has_one_spelling(written):
    with pytest.raises(ValueError, match="not a number in the notation of certificates"):
        parse_number(written)


# -- systems of equations -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_solutions_fulfil_every_equation_and_open_unknowns_keep_their_values(seed):
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 12)), int(rng.integers(2, 14))
    weights = rng.integers(-3, 4, (rows, columns)) * (rng.random((rows, columns)) < 0.4)
    truth = [Fraction(int(a), int(b)) for a, b in rng.integers(1, 9, (columns, 2))]
    equations = [{c: int(w) for c, w in enumerate(row) if w} for row in weights]
    constants = [-sum(w * truth[c] for c, w in equation.items()) for equation in equations]
    kept = {c: Fraction(c) for c in range(columns)}
    found = solve(equations, constants, kept)
    assert found is not None
    for equation, constant in zip(equations, constants, strict=True):
        assert sum(w * found[c] for c, w in equation.items()) + constant == 0
    changed = sum(found[c] != kept[c] for c in found)
    assert changed <= np.linalg.matrix_rank(weights)


def test_contradictions_have_no_solution():
    assert solve([{0: 1, 1: 1}, {0: 2, 1: 2}], [-3, -7], {0: 0, 1: 0}) is None
    assert solve([{}], [1], {}) is None


def test_last_unknowns_are_left_open():
    assert solve([{0: 1, 1: -1}], [0], {0: 5, 1: 7}, last={0}) == {0: 5, 1: 5}
    assert solve([{0: 1, 1: -1}], [0], {0: 5, 1: 7}, last={1}) == {0: 7, 1: 7}


# -- what an attacker knows -----------------------------------------------------------------------------------


def test_room_is_the_difference_of_decimals():
    table = cross_table("ab", "cd", [[12.35, 1], [2, 7]])
    problem = pose(table, {"a × c": 1.0})
    lower, upper = np.full(len(table), -np.inf), np.full(len(table), np.inf)
    lower[table.index("a × c")], upper[table.index("a × c")] = 10.1, 12.45
    program = program_of(problem, suppressing(problem, *SQUARE), Attacker("insider", lower, upper))
    assert program.slack(table.index("a × c")) == (Fraction(-225, 100), Fraction(1, 10))
    assert program.slack(table.index("b × d")) == (-INF, INF)
    assert program.slack(table.index("Total × c")) == (0, 0)
    assert not program.is_uncertain(table.index("Total × c"))


@given(
    st.floats(-1e15, 1e15).flatmap(
        lambda value: st.tuples(
            st.just(value),
            st.floats(-1e15, 1e15) | st.floats(-1e3, 1e3).map(lambda move: value + move),
            st.integers(0, 8),
        )
    )
)
def test_floats_are_subtracted_as_on_paper(numbers):
    """Rounded to so many places or not, and however little is left of large numbers."""
    value, end, places = numbers
    for a, b in ((end, value), (round(end, places), round(value, places))):
        (found,), exact = exact_differences(np.array([a]), np.array([b])), float(exact_difference(a, b))
        assert found == pytest.approx(exact, rel=1e-12, abs=0)
        if places <= 6 and max(abs(a), abs(b)) < 1e8 and (a, b) != (end, value):
            assert found == exact


def test_audits_start_from_the_rooms_that_certificates_start_from():
    problem = pose(cross_table("ab", "cd", [[1e13 + 0.001, 1e13], [2, 7.3]]), {"a × c": 1.0})
    n = len(problem)
    lower, upper = np.full(n, 1e13), np.full(n, np.inf)
    lower[problem.table.index("b × d")], upper[problem.table.index("b × d")] = 7.1, 7.4
    arguments = problem, suppressing(problem, *SQUARE), Attacker("insider", lower, upper)
    found = slacks(*arguments)
    assert [side.tolist() for side in found] == [list(map(float, side)) for side in exact_slacks(*arguments)]
    assert found[0][problem.table.index("a × c")] == -0.002  # 10000000000000.002 is the shortest decimal of that float
    assert found[1][problem.table.index("b × d")] == 0.1  # as floats, 7.4 − 7.3 is 0.10000000000000053


def test_bounds_on_the_wrong_side_of_the_value_leave_no_room():
    problem = pose(cross_table("ab", "cd", [[5, 1], [2, 7]]), {"a × c": 1.0})
    n = len(problem)
    program = program_of(problem, suppressing(problem, *SQUARE), Attacker("odd", np.full(n, 6.0), np.full(n, 4.0)))
    assert program.slack(problem.table.index("a × c")) == (0, 0)


def test_multiples_end_where_the_first_bound_is_met():
    program = ExactProgram(matrix([1, 1, -1]), [-1, -0.5, -INF], [4, 2, INF])
    exact_difference = ExactDeviation.of({0: Fraction(1, 2), 1: Fraction(-1, 2)})
    assert program.violated(exact_difference) is None
    assert program.multiple(exact_difference) == 1
    assert program.multiple(exact_difference, -1) == 2
    assert program.reach(exact_difference, 0) == Fraction(1, 2)
    assert program.reach(exact_difference, 0, -1) == -1
    assert program.reach(exact_difference, 2) == 0
    assert reach_of(program, exact_difference, 1, 1) == 1
    assert reach_of(program, None, 1, 1) == 0
    unbounded = ExactDeviation.of({0: 1, 2: 1})
    assert program.multiple(unbounded) == 4
    free = ExactProgram(matrix([1, -1]), [-INF, -INF], [INF, INF])
    assert free.reach(ExactDeviation.of({0: -1, 1: -1}), 0) == -INF
    assert reach_of(free, ExactDeviation.of({0: -1, 1: -1}), 0, 1) == INF


def test_a_relation_that_does_not_hold_is_found():
    program = ExactProgram(matrix([1, 1, -1], [0, 0.1, -0.3]), [-9, -9, -9], [9, 9, 9])
    assert program.violated(ExactDeviation.of({0: 1, 2: 1})) == 1
    assert program.violated(ExactDeviation.of({0: -2, 1: 3, 2: 1})) is None  # 0.1 · 3 is 0.3, exactly


def test_differences_are_in_order_and_in_lowest_terms():
    exact_difference = ExactDeviation.of({7: Fraction(1, 2), 3: Fraction(-3, 4), 5: 0})
    assert (exact_difference.cells, exact_difference.numerators, exact_difference.denominator) == ((3, 7), (-3, 2), 4)


@pytest.mark.parametrize("seed", range(10))
def test_any_multipliers_give_a_bound_that_holds(seed):
    problem, protection = case("2-D, hierarchical", "percent", seed)
    program = program_of(problem, protection)
    rng = np.random.default_rng(seed)
    rows = rng.choice(problem.table.relations.shape[0], 5, replace=False).tolist()
    for cell in problem.primaries.tolist():
        lower, upper = infer(protection, cell)
        for sign, far in ((-1, problem.table.value[cell] - lower), (1, upper - problem.table.value[cell])):
            multipliers = {row: Fraction(int(y), 2) for row, y in zip(rows, rng.integers(-4, 5, 5), strict=True)}
            found = program.combine(cell, sign, multipliers)
            assert found.bound >= far - 1e-6
            assert single_relation_bound(program, cell, sign).bound >= far - 1e-6


def test_a_combination_says_what_remains():
    """p + q = total, q ≥ 1 of its 3: p goes up by 2 at most."""
    program = ExactProgram(matrix([1, 1, -1]), [-4, -2, 0], [9, 9, 0])
    found = program.combine(0, 1, {0: Fraction(1)})
    assert found.remaining == {1: -1}
    assert found.bound == 2
    assert program.combine(0, 1, {}).bound == 9
    assert program.combine(0, 1, {}).remaining == {0: 1}
    assert program.combine(0, -1, {0: Fraction(-1)}).bound == 9
    assert single_relation_bound(program, 0, 1) == found


# -- from a solver's floats -----------------------------------------------------------------------------------


def circulation(rng: np.random.Generator, shape: tuple[int, int], over: int) -> np.ndarray:
    """Differences of a two-way table, totals first, in multiples of 1/over."""
    inner = rng.integers(0, 3 * over, shape) / over
    grid = np.zeros((shape[0] + 1, shape[1] + 1))
    grid[1:, 1:] = inner
    grid[0] = grid.sum(axis=0)
    grid[:, 0] = grid[:, 1:].sum(axis=1)
    return grid.ravel()


@pytest.mark.parametrize("over", [1, 2, 3, 4, 6, 10, 12, 100])
def test_noisy_fractions_become_exact_ones(over):
    rng = np.random.default_rng(over)
    table = random_table(rng, (7, 5), values="integer")
    problem = pose(table, {})
    program = program_of(problem, suppress(problem, np.ones(len(problem), dtype=bool)))
    true = circulation(rng, (7, 5), over)
    moving = np.flatnonzero(true)
    noisy = true[moving] + rng.normal(0, 1e-10, len(moving))
    found = simplest_exact_deviation(program, moving.tolist(), noisy)
    assert found is not None
    assert program.violated(found) is None
    exact = {cell: Fraction(round(true[cell] * over), over) for cell in moving.tolist()}
    assert {cell: Fraction(move, found.denominator) for cell, move in found.by_cell.items()} == exact


def test_ten_thousand_cells_at_once():
    rng = np.random.default_rng(1)
    problem = pose(random_table(rng, (99, 99), values="integer"), {})
    program = program_of(problem, suppress(problem, np.ones(len(problem), dtype=bool)))
    true = circulation(rng, (99, 99), 4)
    moving = np.flatnonzero(true)
    found = simplest_exact_deviation(program, moving.tolist(), true[moving] + rng.normal(0, 1e-11, len(moving)))
    assert found is not None
    assert len(found.cells) == len(moving)
    assert found.denominator == 4


def test_moves_up_to_bounds_that_are_not_round():
    problem = pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 1.0})
    table, square = problem.table, suppressing(problem, *SQUARE)
    upper = np.full(len(table), np.inf)
    upper[table.index("a × c")] = 5 + 0.1428571428571428
    program = program_of(problem, square, Attacker("insider", np.full(len(table), -np.inf), upper))
    cells = [table.index(label) for label in SQUARE]
    found = simplest_exact_deviation(program, cells, np.array([1, -1, -1, 1]) * 0.14285714285700001)
    assert found is not None
    assert program.violated(found) is None
    assert reach_of(program, found, cells[0], 1) == decimal_fraction(5 + 0.1428571428571428) - 5


def test_bounds_that_contradict_each_other_in_the_last_digit():
    """As floats 0.1 + 0.2 is 0.30000000000000004, which as a decimal is more than 0.1 and 0.2 can add up to."""
    program = ExactProgram(matrix([1, 1, -1]), [0.0, 0.0, 0.0], [0.1, 0.2, 0.1 + 0.2])
    found = list(exact_deviations(program, [0, 1, 2], np.array([0.1, 0.2, 0.1 + 0.2])))
    assert len(found) > 3  # rounded, and solved for
    assert all(program.violated(one) is None for one in found)
    reach = [reach_of(program, one, 2, 1) for one in found]
    assert max(reach) == Fraction(3, 10)
    assert min(reach) > Fraction(3, 10) * (1 - Fraction(1, 10**14))


def test_what_is_no_difference_at_all_is_left_alone():
    program = ExactProgram(matrix([1, 1, -1]), [-1, -1, -1], [1, 1, 1])
    assert simplest_exact_deviation(program, [], np.zeros(0)) is None
    assert simplest_exact_deviation(program, [0, 1], np.zeros(2)) is None
    assert simplest_exact_deviation(program, [0, 1], np.array([np.inf, 1.0])) is None
    assert simplest_exact_deviation(program, [0], np.array([1.0])) is None  # cannot move alone


def simplest_exact_deviation(program, cells, amount):
    return next(exact_deviations(program, cells, amount), None)


def stake(problem: Problem) -> FloatArray:
    return np.max([problem.lower, problem.upper, problem.sliding], axis=0)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_optimal_solutions_become_exact_from_both_sides(kind, prior):
    """The table attains what the multipliers prove to be the end, to the last digit; and that is the true end."""
    problem, protection = case(kind, prior, seed=3)
    low, high = exact_slacks(problem, protection, problem.attackers()[0])
    program, pushes = (
        ExactProgram(problem.table.relations, low, high),
        ExactReach(problem.table.relations, low, high, stake(problem)),
    )
    for cell in problem.primaries.tolist():
        ends = infer(protection, cell)
        for sign, end in zip((-1, 1), ends, strict=True):
            for primal, dual in pushes.solutions(cell, sign):
                shown, limit = reconstruct_extreme(program, cell, sign, primal, dual)
                break
            else:
                shown, limit = None, program.combine(cell, sign, {})
            reach = reach_of(program, shown, cell, sign)
            assert reach == limit.bound
            far = abs(end - problem.table.value[cell])
            assert float(reach) == pytest.approx(far, rel=1e-5, abs=1e-5 * problem.table.magnitude[cell])


@pytest.mark.parametrize("spread", [3, 9, 12])
def test_numbers_of_very_different_size(spread):
    rng = np.random.default_rng(spread)
    for _ in range(10):
        problem = whole_problem(rng, spread)
        protection = suppress(problem, (rng.random(len(problem)) < 0.5) | (problem.status == 1))
        low, high = exact_slacks(problem, protection, problem.attackers()[0])
        program, pushes = (
            ExactProgram(problem.table.relations, low, high),
            ExactReach(problem.table.relations, low, high, stake(problem)),
        )
        for cell in problem.primaries.tolist():
            for sign in (-1, 1):
                shown, limit = None, program.combine(cell, sign, {})
                for primal, dual in pushes.solutions(cell, sign):
                    shown, limit = reconstruct_extreme(program, cell, sign, primal, dual, shown)
                    if reach_of(program, shown, cell, sign) == limit.bound:
                        break
                assert reach_of(program, shown, cell, sign) == limit.bound


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", TABLES)
def test_the_simplex_method_in_rational_numbers_gets_to_the_true_end(kind, prior):
    problem, protection = case(kind, prior, seed=4)
    program = program_of(problem, protection)
    for cell in problem.primaries.tolist():
        for sign, end in zip((-1, 1), infer(protection, cell), strict=True):
            shown, limit = maximize_exactly(program, cell, sign)
            reach = reach_of(program, shown, cell, sign)
            assert reach == limit.bound
            far = abs(end - problem.table.value[cell])
            assert float(reach) == pytest.approx(far, rel=1e-5, abs=1e-5 * problem.table.magnitude[cell])
            again, _ = maximize_exactly(program, cell, sign, shown)  # nothing to gain from there, or from a step aside
            assert reach_of(program, again, cell, sign) == reach
            other, _ = maximize_exactly(program, cell, sign, maximize_exactly(program, cell, -sign)[0])
            assert reach_of(program, other, cell, sign) == reach


def test_too_large_a_component_is_left_as_it_is(monkeypatch):
    program = ExactProgram(matrix([1, 1, -1]), [-4, -2, 0], [9, 9, 0])
    monkeypatch.setattr(exact_simplex, "MAX_EXACT_RELATIONS", 0)
    shown = ExactDeviation.of({0: 1, 1: -1})
    assert maximize_exactly(program, 0, 1, shown) == (shown, program.combine(0, 1, {}))
    monkeypatch.setattr(exact_simplex, "MAX_EXACT_RELATIONS", 1)
    monkeypatch.setattr(exact_simplex, "MAX_PIVOT_MULTIPLICATIONS", -1)
    assert reach_of(program, maximize_exactly(program, 0, 1, shown)[0], 0, 1) == 2  # as far as its multiples go


def test_weights_other_than_one():
    """Twice p and 0.3 of q are r: multipliers are no simple fractions any more, and bounds still meet."""
    table = bare([4, 10, 11], [[2, 0.3, -1]])
    problem = pose(table, {"p": 1.0})
    protection = suppressing(problem, "q")
    low, high = exact_slacks(problem, protection, problem.attackers()[0])
    program = ExactProgram(table.relations, low, high)
    for sign, end in ((-1, Fraction(4)), (1, Fraction(3, 2))):
        primal, dual = next(iter(ExactReach(problem.table.relations, low, high, stake(problem)).solutions(0, sign)))
        shown, limit = reconstruct_extreme(program, 0, sign, primal, dual)
        assert reach_of(program, shown, 0, sign) == limit.bound == end
    _, dual = next(iter(ExactReach(problem.table.relations, low, high, stake(problem)).solutions(0, 1)))
    assert min(one.bound for one in exact_combinations(program, 0, 1, *dual)) == Fraction(3, 2)


def test_a_solution_that_was_shown_already_is_kept():
    program = ExactProgram(matrix([1, 1, -1]), [-4, -2, 0], [9, 9, 0])
    shown = ExactDeviation.of({0: 2, 1: -2})
    nothing = ([], np.zeros(0))
    assert reconstruct_extreme(program, 0, 1, nothing, nothing, shown) == (shown, single_relation_bound(program, 0, 1))
