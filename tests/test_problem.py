"""Problems and protections that contradict themselves are refused, with what is wrong and where."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from discreet.attackers import Attacker
from discreet.errors import TableError
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals
from discreet.testing import cross_table, pose, suppressing

FREE, ENDLESS = np.zeros(9), np.full(9, np.inf)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return pose(cross_table("ab", "cd", [[5, 6], [8, 7]]), {"a × c": 4.0})


@pytest.fixture(scope="module")
def safe(problem: Problem) -> Protection:
    return suppressing(problem, "a × c", "a × d", "b × c", "b × d")


def attacker(name: str = "reader", lower: float = -np.inf, cells: int = 9) -> Attacker:
    return Attacker(name, np.full(cells, lower), np.full(cells, np.inf))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"cost": np.ones(4)}, "The table has 9 cells, but the columns 'cost' have other lengths"),
        ({"status": np.full(9, 99)}, "9 cells have an unknown status, e.g. 'Total × Total'.*Correct these cells"),
        ({"cost": np.full(9, np.nan)}, "have a cost that is negative or not a number"),
        ({"lower": np.full(9, -1.0)}, "have a negative or infinite lower protection level"),
        ({"smallest_value": ENDLESS}, "have a negative or infinite value of 'smallest_value'"),
        ({"prior_upper": FREE}, "lie outside the prior bounds of all readers"),
        ({"others": (attacker(), attacker())}, "Two attackers have the same name: 'outsider', 'reader', 'reader'"),
        (
            {"others": (attacker(cells=4),)},
            "Attacker 'reader' knows bounds of 4 cells; the table has 9. Give bounds for each",
        ),
        ({"others": (attacker(lower=99.0),)}, "lie outside the prior bounds of attacker 'reader'"),
    ],
)
def test_a_problem_that_contradicts_itself_is_refused(problem, columns, message):
    with pytest.raises(TableError, match=message):
        problem.with_columns(**columns)


def test_values_that_do_not_fill_a_table_are_refused():
    with pytest.raises(
        TableError, match=r"Values of shape \(2,\) do not fill 2 rows and 1 columns, with or without totals"
    ):
        cross_table("ab", "c", [1, 2])


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (np.ones((3, 4)), "bounds and levels of attacker 'reader' do not have one entry per cell each"),
        (np.full((3, 9), -1.0), "Attacker 'reader' has a negative or infinite protection level"),
    ],
)
def test_an_attacker_has_levels_for_every_cell(levels, message):
    with pytest.raises(TableError, match=message):
        Attacker("reader", FREE, ENDLESS, levels)


def test_a_protection_that_contradicts_itself_is_refused(problem, safe):
    with pytest.raises(TableError, match="The protection's column 'published' does not have one entry per cell"):
        replace(safe, published=np.ones(4))
    with pytest.raises(TableError, match=r"The published values of 4 cells contradict their intervals, e.g"):
        replace(safe, published=problem.table.value)


@pytest.mark.parametrize(
    ("status", "label", "moved", "message"),
    [
        (Status.SUPPRESSED, "b × c", 0.0, "1 cells that must be suppressed are published, e.g. 'b × c'"),
        (Status.PUBLISHED, "a × c", np.nan, "1 cells that must be published are suppressed, e.g. 'a × c'"),
        (Status.PUBLISHED, "a × c", 1.0, "1 cells that must keep their values get other values, e.g. 'a × c'"),
        (Status.FREE, "a × c", np.inf, "1 cells lie outside their published intervals, e.g. 'a × c'"),
    ],
)
def test_a_publication_that_ignores_a_status_or_a_value_is_refused(problem, status, label, moved, message):
    at, table = problem.table.index(label), problem.table
    statuses, published = np.zeros(9, dtype=np.int8), table.value.copy()
    statuses[at] = status
    ends = np.stack([table.value, table.value])
    if np.isinf(moved):
        published[at] = ends[:, at] = table.value[at] + 1
    else:
        published[at], ends[:, at] = published[at] + moved, table.value[at] + np.array([-9, 9])
    if not moved:
        ends[:, at] = table.value[at]
    with pytest.raises(TableError, match=message):
        publish_intervals(problem.with_columns(status=statuses), published, *ends, cost=0.0)
