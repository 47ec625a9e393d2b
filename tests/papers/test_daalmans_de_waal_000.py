"""Daalmans & de Waal (2010): the suppression intervals of tables 2 to 7, examples 1 and 2."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.assess import assess
from discreet.audit import audit
from discreet.data.table import Table
from discreet.errors import TableError
from discreet.problem import Status
from discreet.rules import Percent
from discreet.testing import cross_table, pose, suppressing


def intervals(problem, protection) -> dict[str, tuple[float, float]]:
    suppressed = np.flatnonzero(protection.suppressed)
    found = audit(problem, protection, cells=suppressed)
    return {label: found.interval(label) for label in problem.table.labels(suppressed)}


# -- tables 1 and 2 -------------------------------------------------------------------------------------------


@pytest.fixture
def table_1() -> Table:
    printed = [[100, 1, 3, 104], [100, 2, 1, 103], [70, 3, 2, 75], [270, 6, 6, 282]]
    return cross_table(["R1", "R2", "R3"], ["C1", "C2", "C3"], printed)


def test_two_primaries_in_one_column_are_both_exactly_100(table_1):
    problem = pose(table_1, {"R1 × C1": 1, "R2 × C1": 1})
    verdict = audit(problem, suppressing(problem))
    assert verdict.interval("R1 × C1") == verdict.interval("R2 × C1") == (100, 100)
    assert verdict.exposed == ["R1 × C1", "R2 × C1"]


def test_table_2_leaves_99_to_103(table_1):
    problem = pose(table_1, {"R1 × C1": 1, "R2 × C1": 1})
    found = intervals(problem, suppressing(problem, "R1 × C3", "R2 × C3"))
    assert found == {
        "R1 × C1": pytest.approx((99, 103)),
        "R1 × C3": pytest.approx((0, 4)),
        "R2 × C1": pytest.approx((97, 101)),
        "R2 × C3": pytest.approx((0, 4)),
    }


# -- example 1: tables 3 to 5 ---------------------------------------------------------------------------------


def table_3(total_of_c: float) -> Table:
    printed = [[100, 200, 150, 450], [250, 150, 300, 700], [600, 450, 500, total_of_c], [950, 800, 950, 2700]]
    return cross_table(["A", "B", "C"], ["I", "II", "III"], printed)


def test_table_3_as_printed_is_refused_as_not_additive():
    """Row C is printed with the total 1150; its parts add up to 1550, and so does the column of totals."""
    with pytest.raises(TableError, match=r"not additive: 2 totals .*'C × Total'") as caught:
        table_3(1150)
    assert sorted(caught.value.offenders) == ["C × Total", "Total × Total"]
    assert "1150" not in str(caught.value)


def test_table_5_suppression_intervals():
    problem = pose(table_3(1550), {"A × I": (20, 20, 50), "A × III": (30, 30, 75)})
    protection = suppressing(problem, "B × I", "B × III")
    assert intervals(problem, protection) == {
        "A × I": pytest.approx((0, 250)),
        "A × III": pytest.approx((0, 250)),
        "B × I": pytest.approx((100, 350)),
        "B × III": pytest.approx((200, 450)),
    }
    assert audit(problem, protection).passed  # "considered safe": wider than half the value, and 20 % each way


# -- example 2: tables 6 and 7 --------------------------------------------------------------------------------


@pytest.fixture
def table_6() -> Table:
    """The largest contributions to A × I are 155 and 4; other cells have many contributors of the same size."""
    table = cross_table(["A", "B", "C"], ["I", "II", "III"], [[160, 380, 340], [40, 80, 60], [610, 800, 270]])
    assert table.value[table.index("Total × Total")] == 2740
    top = np.stack([table.value / 10, table.value / 10], axis=1)
    top[table.index("A × I")] = 155, 4
    count = np.full(len(table), 10)
    return table.with_columns(top=top, count=count)


def test_table_7_leaves_80_to_200_and_190_was_needed(table_6):
    problem = assess(table_6, Percent(20))
    cell = table_6.index("A × I")
    assert table_6.labels(problem.primaries) == ["A × I"]
    assert table_6.value[cell] + problem.upper[cell] == pytest.approx(190)
    verdict = audit(problem, suppressing(problem, "A × II", "B × I", "B × II"))
    assert verdict.interval("A × I") == pytest.approx((80, 200))
    assert verdict.passed


@pytest.mark.parametrize(("p", "safe"), [(20, True), (26.4, True), (27, False), (40, False)])
def test_table_7_protects_as_long_as_the_critical_value_is_200_at_most(table_6, p, safe):
    """The critical value is 159 + 155 p / 100: 200 for p = 26.45…"""
    problem = assess(table_6, Percent(p), statuses={"Total × Total": "published"})
    assert (problem.status == Status.PRIMARY).sum() == 1
    assert audit(problem, suppressing(problem, "A × II", "B × I", "B × II")).passed is safe
