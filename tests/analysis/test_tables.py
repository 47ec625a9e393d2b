"""What is shown is a function of audited, published cells; the rest is refused, with the reason."""

from __future__ import annotations

import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import discreet
from discreet.analysis import protecting
from discreet.analysis.layout import Filled, side_by_side
from discreet.analysis.measures import SYMBOL
from discreet.errors import InputError, NotSafeError, RuleError
from discreet.problem import Status


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?", re.sub(r"<[^>]+>", " ", text)))


def test_a_suppressed_cell_is_a_symbol_in_every_display(firms):
    table = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", margins=True)
    true, mask = pd.crosstab(firms.region, firms.industry, margins=True), table.suppressed.to_numpy()
    assert mask.any()
    shown = table.frame()
    assert (shown.to_numpy()[~mask] == true.to_numpy()[~mask]).all()
    assert shown.isna().to_numpy()[mask].all()
    secrets = {str(n) for n in true.to_numpy()[mask]} - {str(n) for n in true.to_numpy()[~mask]}
    assert secrets
    for text in (
        repr(table),
        str(table),
        table._repr_html_(),
        table.to_great_table("Firms").as_raw_html(inline_css=False),
    ):
        assert text.count(SYMBOL) > mask.sum()  # and in the note
        body = text[text.index("<tbody") : text.index("</tbody")] if "<tbody" in text else text.rpartition("\n")[0]
        assert not secrets & numbers(body)
    for thing in (table.measures[0], table.content, table.origin, table.options):
        assert not secrets & numbers(repr(thing).replace("0x", "")) or "object at" in repr(thing)


def test_the_table_is_protected_with_its_totals_also_if_they_are_not_shown(firms):
    """Another table of the same records shows them."""
    with_margins = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", margins=True)
    without = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)")
    assert without.suppressed.equals(with_margins.suppressed.iloc[:-1, :-1])
    assert without.suppressed.to_numpy().sum() > (pd.crosstab(firms.region, firms.industry) < 4).to_numpy().sum()


def test_what_is_shown_leaves_every_suppressed_count_open(firms):
    """By linear programs over the numbers shown alone: below four every count is possible."""
    table = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", margins=True)
    shown, true = (
        table.frame().to_numpy(dtype=float, na_value=np.nan),
        pd.crosstab(firms.region, firms.industry, margins=True),
    )
    rows, columns = shown.shape
    sums = [[(r, c) for c in range(columns)] for r in range(rows)] + [
        [(r, c) for r in range(rows)] for c in range(columns)
    ]
    equations = np.zeros((len(sums), shown.size))
    for line, cells in zip(equations, sums, strict=True):
        for i, (r, c) in enumerate(cells):
            line[r * columns + c] = -1 if i == len(cells) - 1 else 1
    bounds = [(0, None) if np.isnan(value) else (value, value) for value in shown.ravel()]
    suppressed = np.flatnonzero(np.isnan(shown.ravel()))
    assert len(suppressed)
    for cell in suppressed:
        goal = np.eye(shown.size)[cell]
        low, high = (
            linprog(sign * goal, A_eq=equations, b_eq=np.zeros(len(sums)), bounds=bounds).x[cell] for sign in (1, -1)
        )
        if true.to_numpy().ravel()[cell] < 4:
            assert low <= 1 + 1e-6
            assert high >= 4 - 1e-6
        assert high - low >= 1


@pytest.mark.parametrize("share", [True, "index", "columns"])
def test_a_share_is_shown_where_both_its_numbers_are_published(firms, share):
    counts = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", margins=True)
    shares = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", normalize=share)
    mask = counts.suppressed.iloc[:-1, :-1].to_numpy()
    assert mask.any()
    if share == "index":
        mask = mask | counts.suppressed.iloc[:-1, -1:].to_numpy()
    if share == "columns":
        mask = mask | counts.suppressed.iloc[-1:, :-1].to_numpy()
    assert (shares.suppressed.to_numpy() == mask).all()


def test_shares_of_a_suppressed_total_are_suppressed():
    """They would give the ratio of the cells to each other, and with one of them the total."""
    rows = ["a"] * 2 + ["b"] * 3 + ["c"] * 30
    columns = ["x", "y", "x", "x", "y", *"xy" * 15]
    shares = discreet.crosstab(rows, columns, rules="FREQ(6)", normalize="index", margins=True)
    assert shares.suppressed.loc[["a", "b"]].to_numpy().all()


def test_a_mean_is_shown_where_sum_and_number_are_published(firms):
    given = {"index": "region", "columns": "industry", "rules": "P(20)|FREQ(4)", "contributor": "firm"}
    table = discreet.pivot_table(firms, "turnover", aggfunc=["mean", "sum", "count"], margins=True, **given)
    means, sums, counts = (table.suppressed[name].to_numpy() for name in ("mean", "sum", "count"))
    assert means.any()
    assert (means == sums).all()
    assert (means == counts).all()
    only = discreet.pivot_table(firms, "turnover", aggfunc="mean", margins=True, **given)
    assert (only.suppressed.to_numpy() == means).all()
    count, total = only.measures
    for measure in (count, total):
        assert set(np.flatnonzero(measure.problem.status == Status.PRIMARY)) <= set(
            np.flatnonzero(measure.protection.suppressed)
        )
        assert measure.audit.passed
        assert measure.respondents is not None
        assert measure.respondents.passed


def test_respondents_are_counted_once_and_holdings_together(firms):
    frame = pd.DataFrame({"a": ["x"] * 6 + ["y"] * 6, "b": ["p", "q"] * 6, "who": ["one"] * 6 + list("uvwuvw")})
    alone = discreet.crosstab(frame.a, frame.b, rules="FREQ(3)")
    assert not alone.suppressed.to_numpy().any()
    named = discreet.crosstab(frame.a, frame.b, rules="FREQ(3)", contributor=frame.who)
    assert named.suppressed.to_numpy().all()
    mixed = discreet.crosstab(frame.a, frame.b, rules="FREQ(3)", contributor=frame.who, holding=[None] * 12)
    assert mixed.suppressed.to_numpy().all()


def test_weights_add_up(firms):
    weight = pd.Series(np.tile([1.5, 2.5], 30))
    table = discreet.crosstab(firms.region, firms.industry, weight=weight, rules="FREQ(1)")
    expected = pd.crosstab(firms.region, firms.industry, values=weight, aggfunc="sum").fillna(0)
    assert np.allclose(table.frame().to_numpy(dtype=float), expected.to_numpy())


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("median", "value of one respondent"),
        (np.median, "value of one respondent"),
        ("max", "value of one respondent"),
        ("std", "sum of squares"),
        ("nunique", "does not add up"),
        (lambda x: x.sum(), "not known what readers can infer"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_the_reason(firms, function, reason):
    with pytest.raises(InputError, match=reason):
        discreet.pivot_table(firms, "turnover", "region", aggfunc=function, rules="P(10)")
    with pytest.raises(InputError, match="Audited are count, size, sum, mean"):
        discreet.crosstab(firms.region, firms.industry, values=firms.turnover, aggfunc=["sum", function], rules="P(10)")


def test_columns_that_would_reveal_more_are_refused(firms):
    frame = firms.assign(flag=firms.staff > 30, cost=firms.turnover * 0.6, profit=firms.turnover * 0.4)
    frame["age"] = frame.region.map({"North": 30, "South": 40, "West": 50})
    frame["gap"] = frame.staff.where(frame.staff > 20)
    for values, reason in (
        ("flag", "no more than two different values"),
        ("age", "same value in column 'age'"),
        (["turnover", "cost"], "tied by an equation"),
        (["turnover", "gap"], "missing in different records"),
        ("firm", "not numbers. Convert it, or count with 'count'"),
    ):
        with pytest.raises(InputError, match=reason):
            discreet.pivot_table(frame, values, "region", aggfunc="sum", rules="P(10)")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: discreet.crosstab(f.region, f.industry), "Name the rules"),
        (lambda f: discreet.crosstab("region", "industry", rules="FREQ(3)"), "For names of columns use pivot_table"),
        (lambda f: discreet.crosstab(f.region, f.industry[:9], rules="FREQ(3)"), "The columns have different lengths"),
        (
            lambda f: discreet.crosstab(f.region, f.industry.iloc[::-1], rules="FREQ(3)"),
            "it is not clear which entries belong to the same record",
        ),
        (
            lambda f: discreet.crosstab(f.region, f.industry, f.staff, rules="FREQ(3)"),
            "values= and aggfunc= belong together",
        ),
        (
            lambda f: discreet.crosstab(f.region, f.industry, normalize="rows", rules="FREQ(3)"),
            "normalize= is False, True",
        ),
        (lambda f: discreet.crosstab(f.region, f.industry, rownames=["a", "b"], rules="FREQ(3)"), "one name for each"),
        (
            lambda f: discreet.crosstab(f.region, f.industry, margins=True, margins_name="low", rules="FREQ(3)"),
            "and an entry of 'industry': choose another margins_name",
        ),
        (
            lambda f: discreet.crosstab(f.region, f.industry, method="random-round", rules="FREQ(3)"),
            "repeated calls could be averaged",
        ),
        (
            lambda f: discreet.crosstab(f.region, f.industry, f.staff, aggfunc="mean", normalize=True, rules="FREQ(3)"),
            "and means have none",
        ),
        (lambda f: discreet.pivot_table(f, "turnover", "regio", rules="P(10)"), "The data frame has no column 'regio'"),
        (
            lambda f: discreet.pivot_table(f, "turnover", columns="region", rules="P(10)"),
            "at least one column with index=",
        ),
        (
            lambda f: discreet.pivot_table(f, "turnover", f.region, rules="P(10)"),
            "index= and columns= are names of columns",
        ),
        (
            lambda f: discreet.pivot_table(f, "turnover", "region", "region", rules="P(10)"),
            "Column 'region' is used twice to form rows or columns",
        ),
        (lambda f: discreet.pivot_table(f, index="region", rules="P(10)"), "Name the columns to aggregate"),
        (
            lambda f: discreet.pivot_table(f, "turnover", "region", aggfunc=[], rules="P(10)"),
            "aggfunc= is an empty list",
        ),
        (
            lambda f: discreet.pivot_table(f, "turnover", "region", aggfunc={"staff": "sum"}, rules="P(10)"),
            "the columns in aggfunc= differ",
        ),
        (
            lambda f: discreet.pivot_table(f, index="region", aggfunc={"staff": ["sum", "mean"]}, rules="P(10)"),
            "aggfunc= names several functions for 'staff'",
        ),
        (lambda f: discreet.pivot_table({"a": [1]}, "a", "a", rules="P(10)"), "Cannot read records from dict"),
        (
            lambda f: discreet.pivot_table(f, "turnover", "region", contributor="group", rules="P(10)"),
            "20 records without a contributor. Fill the column in",
        ),
        (
            lambda f: discreet.pivot_table(f[:0], "turnover", "region", rules="P(10)"),
            "no more than two different values",
        ),
        (
            lambda f: discreet.crosstab(f.region[:0], f.industry[:0], rules="FREQ(3)"),
            "There are no records: all have missing",
        ),
        (
            lambda f: discreet.crosstab(f.region.map("{} × x".format), f.industry, rules="FREQ(3)"),
            "are empty or contain ' × '",
        ),
        (
            lambda f: discreet.pivot_table(
                f, "turnover", "region", "industry", margins=True, margins_name=3, rules="P(10)"
            ),
            "pandas cannot lay out this table .ValueError.",
        ),
        (lambda f: discreet.crosstab(iter("ab"), f.industry, rules="FREQ(3)"), "cannot be read from"),
    ],
)
def test_requests_that_cannot_be_met_say_why(firms, call, message):
    with pytest.raises(InputError, match=message):
        call(firms)


def test_functions_that_lead_to_different_rows_are_not_put_side_by_side():
    blocks = [
        Filled(pd.DataFrame({"v": [1.0]}, index=[row]), pd.DataFrame({"v": [False]}, index=[row])) for row in ("a", "b")
    ]
    with pytest.raises(InputError, match="The functions of aggfunc= lead to different rows"):
        side_by_side(blocks, ["sum", "mean"])


def test_what_is_not_installed_is_named(firms, monkeypatch):
    table = discreet.crosstab(firms.region, firms.industry, rules="FREQ(1)")
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(InputError, match=r"Great Tables is not installed. Install it with"):
        table.to_great_table()


def test_without_a_pattern_for_counts_and_sums_alike_nothing_is_published(firms, monkeypatch):
    monkeypatch.setattr(protecting, "ROUNDS", 0)
    with pytest.raises(NotSafeError, match="no pattern was found that protects counts and sums alike"):
        discreet.pivot_table(firms, "turnover", "region", rules="P(10)")


def test_methods_that_publish_other_values_are_for_counts(firms):
    table = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)", method="round")
    assert not table.suppressed.to_numpy().any()
    assert not table.measures[0].exact
    with pytest.raises(RuleError, match="publishes other values, and sums or means of them were not audited"):
        discreet.pivot_table(firms, "turnover", "region", method="round", rules="P(10)")


def test_no_number_is_returned_if_there_is_no_safe_pattern():
    """With one row and one column the sensitive cell is the total, which no other cell protects."""
    frame = pd.DataFrame({"a": ["x"] * 3, "b": ["p"] * 3, "v": [1.0, 5.0, 100.0]})
    table = discreet.pivot_table(frame, "v", "a", "b", aggfunc="sum", rules="P(10)")
    assert table.suppressed.to_numpy().all()


@pytest.mark.parametrize("library", ["polars", "lazy", "pyarrow"])
def test_data_frames_of_other_libraries_give_the_same_table(firms, library):
    categories = list(firms.industry.cat.categories)
    frame = pl.from_pandas(firms.astype({"industry": str})).with_columns(pl.col("industry").cast(pl.Enum(categories)))
    arrow = pa.Table.from_pandas(firms, preserve_index=False)
    data = {"polars": frame, "lazy": frame.lazy(), "pyarrow": arrow}[library]
    given = {"values": "turnover", "index": "industry", "columns": "region", "aggfunc": "sum", "rules": "P(10)|FREQ(3)"}
    expected = discreet.pivot_table(firms, **given)
    found = discreet.pivot_table(data, **given)
    assert list(found.frame().index) == categories[: len(found)]
    pd.testing.assert_frame_equal(found.frame(), expected.frame(), check_categorical=False)


def test_series_of_polars_are_arrays(firms):
    mine = discreet.crosstab(pl.Series("region", firms.region.to_list()), firms.industry.tolist(), rules="FREQ(1)")
    assert mine.frame().index.name == "region"
    assert mine.frame().to_numpy().sum() == len(firms)


def test_the_promise_and_the_audits_stay_with_the_table(firms):
    table = discreet.crosstab(firms.region, firms.industry, rules="FREQ(4)")
    assert any("Attackers assumed" in line for line in table.promise)
    assert any("No attack was tried" in line for line in table.promise)
    assert all(audit.passed for audit in table.audits)
    assert set(table.reasons) == {"threshold", "secondary"}
    assert "rules" not in table.command
