"""Where zeros are always published, × is not zero: in all kinds of tables that count, and where the option says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet import assess, audit, protect, tabulate
from discreet.errors import NoSafePatternError
from discreet.methods.never_computable import _with_neighbours
from discreet.problem import Status
from discreet.promise import conditions
from discreet.protection import suppress


def ones() -> pd.DataFrame:
    """One record each in A, B, C × x, y, z, seven each in D × x, y, z, and six in D × w: the margins give all nine away."""
    places = [(r, c) for r in "ABC" for c in "xyz"] + [("D", c) for c in "xyz"] * 7 + [("D", "w")] * 6
    frame = pd.DataFrame(places, columns=["r", "c"])
    frame["firm"] = [f"F{i}" for i in range(len(frame))]
    return frame.assign(group=frame.firm, weight=1.0, staff=1)


def grouped() -> pd.DataFrame:
    frame = ones()
    frame.loc[frame.index[-2:], "group"] = "both"
    return frame


CASES = {
    "holdings": (grouped(), {"holding": "group"}, {}),
    "weights": (ones().assign(weight=[1.0] * 35 + [2.0]), {"weight": "weight"}, {}),
    "weights of 1.5": (ones().assign(weight=[1.0] * 35 + [1.5]), {"weight": "weight"}, {}),
    "secret weights": (ones().assign(weight=[1.0] * 35 + [2.0]), {"weight": "weight", "weights": "secret"}, {}),
    "zeros published": (ones(), {"response": "staff", "contributor": "firm"}, {"zeros": "published"}),
    "zeros not counted": (ones(), {"response": "staff", "contributor": "firm", "count_zeros": False}, {}),
}


def test_cells_that_integers_give_away_and_nothing_protects_are_named():
    records = pd.DataFrame([*"aa", *"bbb"], columns=["r"])
    problem = assess(tabulate(records, "r"), "FREQ(3)")
    problem = problem.with_columns(
        status=np.where(problem.primaries[0] == np.arange(3), problem.status, Status.PUBLISHED)
    )
    alone = suppress(problem, problem.status == Status.PRIMARY)
    with pytest.raises(
        NoSafePatternError, match="No pattern was found that protects 'a' from readers who know that cells"
    ):
        _with_neighbours(problem, alone, audit(problem, alone))


@pytest.mark.parametrize("name", CASES)
def test_the_nine_ones_are_not_suppressed_alone(name):
    """The row totals of 3 and three × each: who knows that × is at least 1 knows that all are 1."""
    records, columns, options = CASES[name]
    problem = assess(tabulate(records, {"r": None, "c": None}, **columns), "FREQ(3)", **options)
    assert len(problem.primaries) == 9
    assert problem.readers_exclude_zeros
    alone = suppress(problem, problem.status == 1)
    assert len(audit(problem, alone).exposed) == 9
    found = protect(problem, level="cells")
    assert audit(problem, found).passed
    assert found.suppressed.sum() > 9
    what = "count" if problem.table.is_count else "value"
    assert f"Zeros are published: readers know that a suppressed {what} is not zero." in map(str, conditions(found))


def test_sums_may_be_zero_unless_the_option_says_otherwise():
    problem = assess(tabulate(ones(), {"r": None, "c": None}, "staff", contributor="firm"), "FREQ(3)")
    assert not problem.readers_exclude_zeros
    assert audit(problem, suppress(problem, problem.status == 1)).passed


def test_where_values_may_be_negative_nothing_is_known_of_suppressed_ones():
    records = ones().assign(staff=np.where(np.arange(36) < 35, 1, -1))
    table = tabulate(records, {"r": None, "c": None}, "staff", contributor="firm")
    assert not assess(table, "FREQ(3)", zeros="published").readers_exclude_zeros


def test_a_zero_that_is_sensitive_leaves_zero_possible():
    records = ones()
    records.loc[0, "staff"] = 0
    table = tabulate(records, {"r": None, "c": None}, "staff", contributor="firm")
    assert not assess(table, ["FREQ(3)", "ZERO(10)"], zeros="published").readers_exclude_zeros


def test_a_total_of_suppressed_counts_is_at_least_as_many_as_it_has_parts():
    problem = assess(tabulate(grouped(), {"r": None, "c": None}, holding="group"), "FREQ(3)")
    floor = problem.floor(np.ones(len(problem), dtype=bool))
    assert floor[problem.table.index("A × Total")] == 3
    assert floor[problem.table.index("Total × Total")] == 13
    assert floor[problem.table.index("D × w")] == 1
