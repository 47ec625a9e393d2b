"""Costs of suppressing cells."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from discreet.costs import COSTS, cost_of
from discreet.data.table import Table
from discreet.errors import RuleError

MAGNITUDE = np.array([0.0, 1.0, 99.0, 1e12])


@pytest.fixture
def table() -> Table:
    return Table(
        {},
        np.zeros((0, 4)),
        np.array([0.0, -1.0, 99.0, 1e12]),
        sparse.csr_array((0, 4)),
        names=("a", "b", "c", "d"),
        magnitude=MAGNITUDE,
        count=np.array([0, 1, 7, 100]),
        extra={"jobs": np.array([0.0, 2.0, 3.0, 4.0]), "net (EUR)": np.array([0.0, -2.5, 3.0, -4.0])},
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("unit", np.ones(4)),
        ("value", MAGNITUDE),
        ("count", [0, 1, 7, 100]),
        ("log", np.log1p(MAGNITUDE)),
        ("boxcox(0)", np.log1p(MAGNITUDE)),
        ("boxcox(1)", MAGNITUDE),
        ("boxcox(0.5)", (np.sqrt(1 + MAGNITUDE) - 1) / 0.5),
        (" BoxCox ( 0.5 ) ", (np.sqrt(1 + MAGNITUDE) - 1) / 0.5),
        ("power(0)", np.log1p(MAGNITUDE)),
        ("power(1)", MAGNITUDE),
        ("power(0.5)", np.sqrt(MAGNITUDE)),
        ("boxcox(1e-9)", np.log1p(MAGNITUDE)),
        ("column(jobs)", [0, 2, 3, 4]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        (np.array([0.5, 0, 0, 0]), [0.5, 0, 0, 0]),
    ],
)
def test_costs(table, spec, expected):
    costs = cost_of(table, spec)
    assert costs.dtype == np.float64
    assert costs.tolist() == pytest.approx(list(expected), rel=1e-6)
    costs[:] = 7  # the caller's own copy
    assert table.magnitude.tolist() == MAGNITUDE.tolist()
    assert table.magnitude[0] == 0


@pytest.mark.parametrize("name", COSTS)
def test_every_cost_is_documented_nonnegative_and_grows_with_the_cell(table, name):
    assert COSTS[name].__doc__
    costs = cost_of(table, {"boxcox": "boxcox(0.3)", "power": "power(0.3)", "column": "column(jobs)"}.get(name, name))
    assert costs.shape == (4,)
    assert (np.diff(costs) >= 0).all()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("valu", "Did you mean 'value'"),
        (
            "zzz",
            r"There is no cost 'zzz'\. The costs are unit, value, count, log, boxcox\(power\), power\(exponent\), column\(name\)",
        ),
        ("", "There is no cost"),
        ("value(3)", "should be written value"),
        ("boxcox", r"should be written boxcox\(power\)"),
        ("boxcox(x)", "power from 0 to 1"),
        ("boxcox(2)", "power from 0 to 1"),
        ("power(2)", "power from 0 to 1"),
        ("boxcox(nan)", "power from 0 to 1"),
        ("column(job)", "no further column 'job' .* it has 'jobs'"),
        ("column(net (EUR))", "negative or not a number in 2 cells, e.g. 'b', 'd'. A cost is zero or more"),
        ([1, 2, 3], "There are 4 cells"),
        (np.ones((4, 1)), "give one number per cell"),
        (3.0, "one number per cell"),
        ([1, -1, 1, 1], "negative or not a number in 1 cells, e.g. 'b'"),
        ([1, np.nan, np.inf, 1], "in 2 cells, e.g. 'b', 'c'"),
        (["x"] * 4, "A cost is a name or one number per cell, not a list"),
        (None, "one number per cell"),
    ],
)
def test_costs_that_cannot_be_used_are_explained(table, spec, message):
    with pytest.raises(RuleError, match=message) as caught:
        cost_of(table, spec)
    assert "2.5" not in str(caught.value)


def test_bad_cells_ride_along(table):
    with pytest.raises(RuleError) as caught:
        cost_of(table, "column(net (EUR))")
    assert caught.value.offenders == ["b", "d"]


def test_columns_that_are_missing(table):
    with pytest.raises(RuleError, match="and the table has no count"):
        cost_of(table.with_columns(count=None), "count")
    with pytest.raises(RuleError, match="as cost; it has none"):
        cost_of(table.with_columns(extra={}), "column(jobs)")


@pytest.mark.parametrize("spec", ["value", "log", "boxcox(0.5)"])
def test_a_magnitude_that_is_negative_is_no_cost(table, spec):
    with pytest.raises(RuleError, match="'b'"):
        cost_of(table.with_columns(magnitude=np.array([0.0, -5.0, 1.0, 1.0])), spec)
