"""Cox, Vulnerability of complementary cell suppression to intruder attack: tables 1 to 4."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from discreet.audit import audit
from discreet.hierarchy import Hierarchy
from discreet.table import Table
from discreet.testing import cross_table, hide, pose

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
    assert audit(problem, hide(problem, *SQUARE)).interval(label) == pytest.approx(interval)


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
        assert audit(problem, hide(problem, *SQUARE), intervals=intervals).passed is safe


# -- tables that look protected -------------------------------------------------------------------------------


def test_table_4_gives_away_its_first_cell():
    """Rows 1 and 2 less columns 2 and 3 leave D11 = 1, whatever the others are. A possible interior is filled in."""
    interior = [[1, 5, 5, 9], [6, 6, 2, 6], [3, 5, 5, 2], [8, 5, 6, 6]]
    table = cross_table("1234", "1234", interior)
    row, column = table.codes
    assert table.value[(row == 0) & (column > 0)].tolist() == [18, 21, 18, 23]
    assert table.value[(column == 0) & (row > 0)].tolist() == [20, 20, 15, 25]
    hidden = [f"{i} × {j}" for i, j in ("11", "12", "13", "22", "23", "31", "34", "41", "44")]
    problem = pose(table, dict.fromkeys(hidden, (0.0, 0.0, 1e-3)))
    verdict = audit(problem, hide(problem))
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
    """All interior cells are hidden. With five copies no printed margin is below 5, and 15 cells are given away."""
    table = three_way(copies)
    interior = table.labels(np.flatnonzero((table.codes > 0).all(axis=0)))
    published = np.flatnonzero((table.codes > 0).sum(axis=0) == 2)
    assert table.value[published].min() == (1 if copies == 1 else 5)
    problem = pose(table, dict.fromkeys(interior, (0.0, 0.0, 0.5)))
    verdict = audit(problem, hide(problem))
    diagonal = [f"i{d} × j{d} × k{d + 3 * copy}" for d in (1, 2, 3) for copy in range(copies)]
    for label in diagonal:
        assert verdict.interval(label) == pytest.approx((1, 1))
    assert set(diagonal) <= set(verdict.exposed)
