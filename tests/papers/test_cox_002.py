"""Cox, Vulnerability of complementary cell suppression to intruder attack: tables 1 to 4."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.attacks.planted import symmetric_intervals

from discreet import attacks
from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.protection import suppress
from discreet.testing import cross_table, pose, suppressing

# -- the working example --------------------------------------------------------------------------------------

SQUARE = ("x × x", "x × b", "c × x", "c × b")


@pytest.fixture
def essentials() -> Table:
    """Table 2: X = 10, B = 5, C = 7, A = 8."""
    return cross_table(["x", "c"], ["x", "b"], [[10, 5, 15], [7, 8, 15], [17, 13, 30]])


@pytest.mark.parametrize(
    ("label", "interval"), [("x × x", (2, 15)), ("x × b", (0, 13)), ("c × x", (2, 15)), ("c × b", (0, 13))]
)
def test_exact_intervals_of_the_working_example(essentials, label, interval):
    problem = pose(essentials, {label: 0.0})
    assert audit(problem, suppressing(problem, *SQUARE)).interval(label) == pytest.approx(interval)


@pytest.mark.parametrize(
    ("level", "safe"),
    [
        (2, True),  # the example's r
        (5, True),  # b, of opposite parity, gives out first
        (5.001, False),
        ((8, 5), True),  # a, of the same parity
        ((8.001, 0), False),
        ((0, 0, 13), True),  # width of the exact interval
        ((0, 0, 13.001), False),
    ],
)
def test_the_cycle_lets_5_units_in_and_8_units_out(essentials, level, safe):
    problem = pose(essentials, {"x × x": level})
    for intervals in (True, False):
        assert audit(problem, suppressing(problem, *SQUARE), intervals=intervals).passed is safe


# -- tables that look protected -------------------------------------------------------------------------------


def test_table_4_gives_away_its_first_cell():
    """Rows 1 and 2 less columns 2 and 3 leave D11 = 1, whatever the others are. A possible interior is filled in."""
    interior = [[1, 5, 5, 9], [6, 6, 2, 6], [3, 5, 5, 2], [8, 5, 6, 6]]
    table = cross_table("1234", "1234", interior)
    row, column = table.codes
    assert table.value[(row == 0) & (column > 0)].tolist() == [18, 21, 18, 23]
    assert table.value[(column == 0) & (row > 0)].tolist() == [20, 20, 15, 25]
    suppressed = [f"{i} × {j}" for i, j in ("11", "12", "13", "22", "23", "31", "34", "41", "44")]
    problem = pose(table, dict.fromkeys(suppressed, (0.0, 0.0, 1e-3)))
    verdict = audit(problem, suppressing(problem))
    assert verdict.interval("1 × 1") == pytest.approx((1, 1))
    assert verdict.exposed == ["1 × 1"]


def three_way(copies: int = 1) -> Table:
    """Table 3, ``copies`` of it stacked: all two-way margins are printed, the interior is any that fits them."""
    planes = 3 * copies
    line = np.array([[11, 5, 5], [5, 11, 5], [5, 5, 11]])
    cell = np.arange(9 * planes).reshape(3, 3, planes)
    margins: list[tuple[np.ndarray, float]] = []
    for k in range(planes):
        margins += [(cell[i, :, k], line[k % 3, i]) for i in range(3)]
        margins += [(cell[:, j, k], line[k % 3, j]) for j in range(3)]
    margins += [(cell[i, j, :], copies * (1 if i == j else 10)) for i in range(3) for j in range(3)]
    sums = np.zeros((len(margins), cell.size))
    for row, (cells, _) in enumerate(margins):
        sums[row, cells] = 1
    total = [value for _, value in margins]
    fit = milp(
        np.zeros(cell.size),
        constraints=LinearConstraint(sums, total, total),
        integrality=np.ones(cell.size),
        bounds=Bounds(0, np.inf),
    )
    assert fit.success
    grid = np.zeros((4, 4, planes + 1))
    grid[1:, 1:, 1:] = fit.x.round().reshape(cell.shape)
    for axis in range(3):
        grid[(slice(None),) * axis + (0,)] = grid.sum(axis=axis)
    dimensions = {
        name: Hierarchy.flat(f"{name}{i + 1}" for i in range(n)) for name, n in zip("ijk", cell.shape, strict=True)
    }
    codes = np.indices(grid.shape).reshape(3, -1)
    return Table.from_cells(dimensions, codes, grid.ravel()).check_additive()


@pytest.mark.parametrize("copies", [1, 5])
def test_the_diagonal_of_a_three_way_table_is_pinned_to_1(copies):
    """All interior cells are suppressed. With five copies no printed margin is below 5, and 15 cells are given away."""
    table = three_way(copies)
    interior = table.labels(np.flatnonzero((table.codes > 0).all(axis=0)))
    published = np.flatnonzero((table.codes > 0).sum(axis=0) == 2)
    assert table.value[published].min() == (1 if copies == 1 else 5)
    problem = pose(table, dict.fromkeys(interior, (0.0, 0.0, 0.5)))
    verdict = audit(problem, suppressing(problem))
    diagonal = [f"i{d} × j{d} × k{d + 3 * copy}" for d in (1, 2, 3) for copy in range(copies)]
    for label in diagonal:
        assert verdict.interval(label) == pytest.approx((1, 1))
    assert set(diagonal) <= set(verdict.exposed)


# -- the same as an intruder sees it, and what else there is to find --------------------------------------------


@pytest.fixture
def seen(essentials) -> attacks.Public:
    """The working example as published."""
    return attacks.Public.of(suppressing(pose(essentials, {"x × x": 2.0}), *SQUARE))


def test_midpoint_and_bias_of_the_working_example(essentials, seen):
    pattern = suppressing(pose(essentials, {"x × x": 2.0}), *SQUARE)
    found = attacks.score(attacks.exact(seen), attacks.Truth.of(pattern))
    x = found.finding.row("x × x")
    lower, upper = found.finding.range("x × x")
    assert (lower, upper, upper - lower, (upper - lower) / 2) == (2, 15, 13, 6.5)
    assert (found.finding.estimate[x], found.error[x]) == (8.5, -1.5)
    assert not found.compromised.any()


def test_the_alternating_cycle_of_the_working_example(seen):
    """a, of the same parity, stops x from falling and b from rising; a, b, b − a or b / a reveals it."""
    cycle = attacks.cycles(seen).of("x × x")
    assert (cycle.below.cells, cycle.above.cells) == (("c × b",), ("x × b",))
    assert (cycle.below.distance([8]), cycle.above.distance([5])) == (8, 5)
    assert set(cycle.revealed_by) == {"c × b", "x × b", "c × x"}
    assert cycle.from_below(8) == cycle.from_above(5) == cycle.from_difference(5 - 8) == 10
    assert cycle.from_ratio(5 / 8) == pytest.approx(10)


def test_attacks_find_d11_of_table_4():
    table = cross_table("1234", "1234", [[1, 5, 5, 9], [6, 6, 2, 6], [3, 5, 5, 2], [8, 5, 6, 6]])
    suppressed = [f"{i} × {j}" for i, j in ("11", "12", "13", "22", "23", "31", "34", "41", "44")]
    pattern = suppressing(pose(table.with_columns(is_count=True), {}), *suppressed)
    found = attacks.counts(attacks.Public.of(pattern))
    assert found.range("1 × 1") == (1, 1)
    at_once = found.frame().query("pinned_by == 'several relations at once'")
    assert at_once.cell.tolist() == ["1 × 1"]
    assert int(found.pinned.sum()) == 1
    cycle = attacks.cycles(attacks.Public.of(pattern), ["1 × 1"]).of("1 × 1")
    assert (cycle.lower, cycle.upper, cycle.below.cells, cycle.above.cells) == (1, 1, (), ())


@pytest.mark.parametrize("copies", [1, 5])
def test_attacks_find_the_diagonal_of_the_three_way_table(copies):
    """And more than the paper says: with the diagonal at 1, all other cells follow one by one."""
    table = three_way(copies).with_columns(is_count=True)
    interior = (table.codes > 0).all(axis=0)
    found = attacks.counts(attacks.Public.of(suppress(pose(table, {}), interior)))
    for d in (1, 2, 3):
        for copy in range(copies):
            assert found.range(f"i{d} × j{d} × k{d + 3 * copy}") == (1, 1)
    assert int(found.pinned.sum()) == 27 * copies


@pytest.mark.parametrize("q", [0.1, 0.25, 0.5])
def test_q_and_all_values_follow_from_exact_intervals_under_the_pq_rule(essentials, q):
    """l_B = (1 − q) b and so on; q = (u_B − l_B)/(u_B + l_B), b = l_B/(1 − q), x = l_X + qb."""
    problem = pose(essentials, {"x × x": 0.0})
    view = attacks.Public.of(symmetric_intervals(problem, np.isin(essentials.labels(), SQUARE), q))
    ends = {
        label: (view.published_lower[view.index(label)], view.published_upper[view.index(label)]) for label in SQUARE
    }
    for label, (low, high) in ends.items():
        value = essentials.value[essentials.index(label)]
        assert (low, high) == pytest.approx((value - 5 * q, value + 5 * q))
    low, high = ends["x × b"]
    assert (high - low) / (high + low) == pytest.approx(q)
    b = low / (1 - q)
    found = attacks.recover(view)
    assert found.q == pytest.approx(q)
    assert found.estimate.tolist() == pytest.approx([10, 5, 7, 8])
    assert [b, *(ends[label][0] + q * b for label in ("x × x", "c × x", "c × b"))] == pytest.approx([5, 10, 7, 8])


def test_proposition_1_with_different_knowledge_of_each_cell(essentials):
    """Also where the intruder knows each cell to within another share: a = u_A − (u_B − l_B)/2, and so on."""
    share = np.random.default_rng(2).uniform(0.2, 0.9, len(essentials))
    suppressed = np.isin(essentials.labels(), SQUARE)
    pattern = symmetric_intervals(pose(essentials, {"x × x": 1.0}), suppressed, share)
    found = attacks.run(pattern, ["symmetric"])
    assert found["symmetric"].exact.all()
    assert found.compromised == ["x × x"]


def test_one_contributor_cells_bound_p_and_p_shrinks_them(essentials):
    """(2): l/(1 − p) ≤ x ≤ u/(1 + p); (3): p ≤ (u − l)/(u + l) = radius/midpoint; (4): any smaller p″ shrinks, too."""
    count = np.where(np.array(essentials.labels()) == "x × x", 1, 30)
    pattern = suppressing(pose(essentials.with_columns(count=count), {"x × x": 2.0}), *SQUARE)
    view = attacks.Public.of(pattern, counts=True)
    assert attacks.bound_p(view).greatest == pytest.approx(100 * 6.5 / 8.5)
    widths = []
    for p in (20, 10, 5):  # p = r/x = 20 percent, and smaller ones
        low, high = attacks.shrink(view, p).range("x × x")
        assert (low, high) == pytest.approx((2 / (1 - p / 100), 15 / (1 + p / 100)))
        widths.append(high - low)
    assert widths == sorted(widths)
    assert widths[-1] < 13
