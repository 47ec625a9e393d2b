"""Tabulation, against counting by hand and against everything that real microdata gets wrong."""

from __future__ import annotations

import gzip
import importlib
import itertools
import sys
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.data import records as microdata
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import HierarchyError, InputError, TableError

module = importlib.import_module("discreet.data.tabulate")  # the package calls the function by the same name
engine = importlib.import_module("discreet.data.aggregate_engine")

REGIONS = Hierarchy.from_pairs([("North", "Total"), ("N1", "North"), ("N2", "North"), ("South", "Total")])


@pytest.fixture
def firms() -> pd.DataFrame:
    """Five records of three firms; f1 is active in two regions and two branches."""
    return pd.DataFrame(
        {
            "region": ["N1", "N2", "N2", "N2", "South"],
            "branch": ["01", "02", "01", "01", "02"],
            "firm": ["f1", "f1", "f2", "f3", "f1"],
            "turnover": [10.0, 5.0, 3.5, 1.0, 2.0],
            "weight": [1.0, 2.0, 1.0, 4.0, 1.0],
            "staff": [3, 1, 2, 1, 1],
            "asked": ["", "1", "0", None, ""],
        }
    )


def cell(table: Table, *codes: str) -> dict[str, Any]:
    """One cell as its reader sees it: the largest contributions with names instead of numbers."""
    i = table.index(codes)
    who = [table.contributors[w] if w >= 0 else None for w in table.top_contributor[i]]
    return {"value": table.value[i], "count": table.count[i], "top": list(zip(table.top[i].tolist(), who, strict=True))}


def everything(table: Table) -> tuple[Any, ...]:
    columns = (
        table.codes,
        table.value,
        table.magnitude,
        table.count,
        table.top,
        table.top_contributor,
        table.requested,
    )
    lists = tuple(None if column is None else column.tolist() for column in columns)
    return (*lists, table.contributors, {name: column.tolist() for name, column in table.extra.items()}, table.digest)


# -- what the numbers mean -------------------------------------------------------------------------------------


def test_a_firm_in_two_cells_is_one_contributor_of_their_total(firms):
    """Counted twice, f1 would suppress in a crowd that does not exist, and its 15 in the North would look like 10 and 5."""
    table = tabulate(firms, {"region": REGIONS, "branch": None}, "turnover", contributor="firm")
    assert cell(table, "North", "Total") == {"value": 19.5, "count": 3, "top": [(15, "f1"), (3.5, "f2")]}
    assert cell(table, "Total", "Total") == {"value": 21.5, "count": 3, "top": [(17, "f1"), (3.5, "f2")]}
    assert cell(table, "Total", "02") == {"value": 7, "count": 1, "top": [(7, "f1"), (0, None)]}
    assert cell(table, "N2", "01") == {"value": 4.5, "count": 2, "top": [(3.5, "f2"), (1, "f3")]}
    table.check_additive()
    assert table.codes.T.tolist() == sorted(table.codes.T.tolist())
    assert ("N1 × 02" in table.labels(), "N1 × 01" in table.labels()) == (False, True)
    assert table.dimensions["branch"].codes == ("Total", "01", "02")


def test_without_contributors_each_record_stands_for_itself(firms):
    table = tabulate(firms, "branch", "turnover")
    assert cell(table, "01") == {"value": 14.5, "count": 3, "top": [(10, None), (3.5, None)]}
    assert (table.contributors, table.requested) == ((), None)


@pytest.mark.parametrize(
    ("weights", "largest"), [("known", [(10, "f1"), (4, "f3")]), ("secret", [(5, "f1"), (3.5, "f2")])]
)
def test_contributions_are_weighted_where_readers_know_the_weights(firms, weights, largest):
    """Who knows that f1 has weight 2 finds the 5 it wrote on the form in the 10 it was weighted up to."""
    options = {"contributor": "firm", "weight": "weight", "extra": ["staff"], "weights": weights}
    table = tabulate(firms, {"region": REGIONS}, "turnover", **options)
    assert cell(table, "N2") == {"value": 5 * 2 + 3.5 + 4, "count": 3, "top": largest}
    assert table.extra["staff"][table.index("N2")] == 2 + 2 + 4
    assert table.magnitude[table.index("N2")] == 17.5
    assert table.weighted_count[table.index("N2")] == 2 + 1 + 4
    assert table.weights == weights


def test_without_weights_there_is_no_convention_about_them(firms):
    table = tabulate(firms, {"region": REGIONS}, "turnover", contributor="firm")
    assert (table.weights, table.weighted_count) == (None, None)
    with pytest.raises(InputError, match="weights= is either 'known' or 'secret', not 'public'"):
        tabulate(firms, {"region": REGIONS}, "turnover", weights="public")


def test_the_table_knows_how_many_records_were_left_out(firms):
    table = tabulate(firms, {"region": Hierarchy.flat(["N1"])}, "turnover", unknown="drop")
    assert table.provenance == {"records_left_out": int((firms.region != "N1").sum())}
    assert tabulate(firms, {"region": REGIONS}, "turnover").provenance == {}


def test_a_holding_is_one_contributor_and_free_firms_stay_themselves(firms):
    firms["group"] = ["H", "H", "H", None, "H"]
    table = tabulate(firms, {"region": REGIONS}, "turnover", contributor="firm", holding="group")
    assert cell(table, "N2") == {"value": 9.5, "count": 2, "top": [(8.5, "H"), (1, "f3")]}


def test_a_holding_is_not_mistaken_for_a_firm_of_the_same_id(firms):
    """Ids of holdings and of firms come from different registers: both may say f3."""
    firms["group"] = ["f3", "f3", "", None, "f3"]
    table = tabulate(firms, ["branch"], "turnover", contributor="firm", holding="group", top=3)
    assert cell(table, "Total")["top"] == [(17, "f3 (holding)"), (3.5, "f2"), (1, "f3")]
    assert table.contributors == ("f2", "f3", "f3 (holding)")


def test_holdings_alone_leave_the_other_records_nameless(firms):
    firms["group"] = [None, "H", "H", None, "H"]
    table = tabulate(firms, {"region": REGIONS}, "turnover", holding="group")
    assert cell(table, "Total") == {"value": 21.5, "count": 3, "top": [(10.5, "H"), (10, None)]}


def test_equal_contributions_are_listed_by_name():
    """So that two runs, on whatever engine, name the same largest contributor."""
    same = pd.DataFrame({"r": list("AAAB"), "firm": ["z", "a", "é", "a"], "x": [4, 4, -4, 0]})
    table = tabulate(same, ["r"], "x", contributor="firm", top=3)
    assert cell(table, "A")["top"] == [(4, "a"), (4, "z"), (-4, "é")]
    assert cell(table, "Total")["top"] == [(4, "a"), (4, "z"), (-4, "é")]


def test_negative_contributions_count_with_their_size():
    """A firm at −9 dominates a cell worth 1 as much as one at 9 does."""
    table = tabulate(pd.DataFrame({"r": ["A", "A"], "firm": ["a", "b"], "x": [-9, 10]}), ["r"], "x", contributor="firm")
    assert cell(table, "A") == {"value": 1, "count": 2, "top": [(10, "b"), (-9, "a")]}
    assert table.magnitude.tolist() == [19, 19]


@pytest.mark.parametrize(
    ("count_zeros", "count", "top"), [(True, 2, [(1, "b"), (0, "a")]), (False, 1, [(1, "b"), (0, None)])]
)
def test_contributions_that_cancel_leave_exactly_nothing(count_zeros, count, top):
    """As floats, 0.1 + 0.2 − 0.3 is not zero, and the firm would still be counted."""
    data = pd.DataFrame({"r": ["A", "B", "A", "A"], "firm": ["a", "a", "a", "b"], "x": [0.1, 0.2, -0.3, 1]})
    table = tabulate(data, ["r"], "x", contributor="firm", count_zeros=count_zeros)
    assert (cell(table, "Total")["count"], cell(table, "Total")["top"]) == (count, top)
    assert cell(table, "A")["count"] == 2


def test_one_marked_record_is_enough_to_ask_for_protection(firms):
    table = tabulate(firms, {"region": REGIONS}, "turnover", contributor="firm", request="asked")
    assert table.requested[table.index("N2")].tolist() == [True, False]
    assert table.requested[table.index("South")].tolist() == [True, False]
    nameless = tabulate(firms, {"region": REGIONS}, "turnover", request="asked")
    assert nameless.requested[nameless.index("North")].tolist() == [False, True]


def test_requests_of_two_kinds(firms):
    """Both ways of adding up: of a respondent with requests of both kinds each counts."""
    kinds = firms.assign(kind=[["1", "2", "", "7"][i % 4] for i in range(len(firms))])
    options = {"contributor": "firm", "request": "kind", "requests": ["1", "2"], "top": 3}
    tables = []
    for most in (0, module.MAX_RECORDS_IN_MEMORY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MAX_RECORDS_IN_MEMORY", most)
            tables.append(tabulate(kinds, {"region": REGIONS, "branch": None}, "turnover", **options))
    assert everything(tables[0]) == everything(tables[1])
    table = tables[0]
    total = table.index(("Total", "Total"))
    by_hand = {}
    for firm, kind in zip(kinds.firm, kinds.kind, strict=True):
        by_hand[firm] = by_hand.get(firm, 0) | {"1": 1, "2": 2}.get(kind, 0)
    names = [table.contributors[i] for i in table.top_contributor[total]]
    assert table.requested[total].tolist() == [by_hand[name] for name in names]
    assert 3 in by_hand.values()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"requests": ["1"]}, "give both"),
        ({"request": "asked", "requests": ["1", "1"]}, "lists different entries"),
        ({"request": "asked", "requests": [""]}, "lists different entries"),
    ],
)
def test_kinds_of_requests_that_cannot_be(firms, options, says):
    with pytest.raises(InputError, match=says):
        tabulate(firms, {"region": REGIONS}, "turnover", **options)


@pytest.mark.parametrize("marks", [[True, False], [1.0, 0.0], ["yes", "False"]])
def test_marks_are_understood_in_every_type(marks):
    table = tabulate(pd.DataFrame({"r": ["A", "B"], "x": [1, 1], "asked": marks}), ["r"], "x", request="asked")
    assert table.requested[1:, 0].tolist() == [True, False]


def test_two_groupings_of_the_same_leaves_both_get_their_totals(firms):
    coast = Hierarchy.from_pairs([("Coast", "Total"), ("N1", "Coast"), ("South", "Coast"), ("N2", "Total")])
    table = tabulate(firms, {"region": Hierarchy.join(REGIONS, coast)}, "turnover", contributor="firm")
    assert cell(table, "Coast") == {"value": 12, "count": 1, "top": [(12, "f1"), (0, None)]}
    assert cell(table, "North") == {"value": 19.5, "count": 3, "top": [(15, "f1"), (3.5, "f2")]}
    table.check_additive()


def test_a_coarser_tree_may_begin_at_groups_of_a_finer_one(firms):
    """Linked tables: one publishes regions, the other only zones made of whole parts of the country."""
    zones = Hierarchy.from_pairs([("Zone", "Total"), ("North", "Zone"), ("South", "Zone")])
    table = tabulate(firms, {"region": Hierarchy.union(REGIONS, zones)}, "turnover", contributor="firm")
    assert cell(table, "Zone") == cell(table, "Total")
    table.check_additive()


def test_empty_cells_are_stored_on_demand(firms):
    table = tabulate(firms, {"region": REGIONS, "branch": None}, "turnover", contributor="firm", store_empty=True)
    assert len(table) == table.n_combinations == 15
    assert cell(table, "N1", "02") == {"value": 0, "count": 0, "top": [(0, None), (0, None)]}
    assert cell(table, "North", "Total") == {"value": 19.5, "count": 3, "top": [(15, "f1"), (3.5, "f2")]}
    table.check_additive()


# -- counts ----------------------------------------------------------------------------------------------------


def test_without_a_response_records_are_counted(firms):
    table = tabulate(firms, {"region": REGIONS})
    assert table.is_count
    assert table.value[table.index("North")] == 4
    weighted = tabulate(firms, {"region": REGIONS}, weight="weight")
    assert weighted.value[weighted.index("North")] == 8


def test_contributors_with_several_records_in_a_cell_are_counted_once():
    people = pd.DataFrame(
        {"r": list("AAAB"), "who": ["p", "p", "q", "s"], "w": [2.0, 2.0, 3.0, 1.0], "visits": [1, 2, 3, 4]}
    )
    table = tabulate(people, ["r"], contributor="who", extra=["visits"])
    assert table.value.tolist() == table.count.tolist() == [3, 2, 1]
    assert table.extra["visits"].tolist() == [10, 6, 4]
    assert tabulate(people, ["r"], contributor="who", weight="w").value.tolist() == [6, 5, 1]


def test_people_are_counted_and_households_recognised():
    """The holding of a person is the household: it contributes as many persons as live in it."""
    people = pd.DataFrame({"r": list("AAAB"), "who": ["p", "q", "s", "t"], "home": ["h", "h", "i", "h"]})
    table = tabulate(people, ["r"], contributor="who", holding="home")
    assert cell(table, "Total") == {"value": 4, "count": 2, "top": [(3, "h"), (1, "i")]}


def test_numbers_of_contributors_that_cannot_add_up_are_refused(firms):
    """f1 is one firm in each of two regions, and one firm in both: no additive table says so."""
    with pytest.raises(InputError, match=r"do not add up to totals.*holding="):
        tabulate(firms, {"region": REGIONS}, contributor="firm")
    table = tabulate(firms, {"region": REGIONS}, holding="firm")
    assert cell(table, "Total") == {"value": 5, "count": 3, "top": [(3, "f1"), (1, "f2")]}


def test_a_contributor_counted_once_needs_one_weight():
    with pytest.raises(InputError, match="1 contributors have records with different weights"):
        tabulate(pd.DataFrame({"r": ["A", "A"], "who": ["p", "p"], "w": [1, 2]}), ["r"], contributor="who", weight="w")


# -- against counting by hand ----------------------------------------------------------------------------------


@st.composite
def trees(draw: Any, leaves: int, prefix: str) -> Hierarchy:
    """A random grouping of the leaves, ragged and up to three levels deep."""
    groups = draw(st.integers(0, 3))
    up = [draw(st.integers(-1, g - 1)) for g in range(groups)]
    leaf_up = [draw(st.integers(-1, groups - 1)) for _ in range(leaves)]
    used = set(leaf_up)
    for g in reversed(range(groups)):
        if g in used:
            used.add(up[g])
    name = lambda g: "Total" if g < 0 else f"{prefix}{g}"  # noqa: E731
    pairs = [(name(g), name(up[g])) for g in range(groups) if g in used]
    return Hierarchy.from_pairs(pairs + [(f"leaf {i}", name(g)) for i, g in enumerate(leaf_up)])


@st.composite
def surveys(draw: Any) -> dict[str, Any]:
    dimensions = {}
    for d in range(draw(st.integers(1, 3))):
        leaves = draw(st.integers(1, 4))
        first = draw(trees(leaves, "G"))
        dimensions[f"dim {d}"] = Hierarchy.join(first, draw(trees(leaves, "K"))) if draw(st.booleans()) else first
    contributor, holding, weight = draw(st.booleans()), draw(st.booleans()), draw(st.booleans())
    home = {f"f{i}": draw(st.sampled_from([None, None, "H", "f1"])) for i in range(4)}
    unit = draw(st.sampled_from([1, 1, 10**7, 10**9]))  # sums of large numbers have as many digits as fit
    records = []
    for _ in range(draw(st.integers(1, 25))):
        codes = {
            n: draw(st.sampled_from([c for c, leaf in zip(h.codes, h.is_leaf, strict=True) if leaf]))
            for n, h in dimensions.items()
        }
        firm = draw(st.sampled_from(sorted(home)))
        amounts = {
            "x": draw(st.sampled_from([0.1, 0.2, -0.3, 0, 5, 5, -5, 12.25])) * unit,
            "w": draw(st.sampled_from([0, 0.5, 1, 2.25])),
        }
        records.append(
            {
                **codes,
                "firm": firm,
                "group": home[firm],
                **amounts,
                "asked": draw(st.booleans()),
                "e": draw(st.integers(-2, 9)),
            }
        )
    options = {
        "contributor": "firm" if contributor else None,
        "holding": "group" if holding else None,
        "weight": "w" if weight else None,
    }
    options["weights"] = draw(st.sampled_from(["known", "secret"]))
    options |= {"top": draw(st.integers(1, 3)), "count_zeros": draw(st.booleans()), "request": "asked", "extra": ["e"]}
    return {
        "records": records,
        "dimensions": dimensions,
        "options": options,
        "at_once": draw(st.sampled_from([1 if len(dimensions) == 1 else 300, 10**6])),
    }


def by_hand(
    records: list[dict[str, Any]], dimensions: dict[str, Hierarchy], options: dict[str, Any]
) -> dict[tuple[str, ...], Any]:
    """Every record into every cell above it, one after the other, in fractions."""
    exact = lambda number: Fraction(str(number))  # noqa: E731
    net: Any = defaultdict(lambda: defaultdict(lambda: [Fraction(0), Fraction(0), Fraction(10)]))
    sums: Any = defaultdict(lambda: [Fraction(0), Fraction(0)])
    asked: dict[Any, bool] = defaultdict(bool)
    for number, record in enumerate(records):
        weight = exact(record["w"]) if options["weight"] else Fraction(1)
        group, firm = options["holding"] and record["group"], options["contributor"] and record["firm"]
        who = (0, group, True) if group else (0, firm, False) if firm else (-1, number, False)
        asked[who] |= record["asked"]
        above = []
        for name, hierarchy in dimensions.items():
            codes = set()
            for parent in hierarchy.parents:
                at = hierarchy.index(record[name])
                while at >= 0:
                    codes.add(hierarchy.codes[at])
                    at = parent[at]
            above.append(sorted(codes))
        for where in itertools.product(*above):
            net[where][who][0] += exact(record["x"]) * (weight if options["weights"] == "known" else 1)
            net[where][who][1] += exact(record["x"]) * weight
            net[where][who][2] = min(net[where][who][2], weight)
            sums[where][0] += exact(record["x"]) * weight
            sums[where][1] += exact(record["e"]) * weight
    found = {}
    for where, contributions in net.items():
        counted = {who: x for who, (x, *_) in contributions.items() if x or options["count_zeros"]}
        weighted = float(sum(contributions[who][2] for who in counted)) if options["weight"] else None
        # Nameless records of the same size are distinguished by sign and mark, names by the alphabet.
        rank = lambda who, x=counted: (-abs(x[who]), who[0], (-x[who], not asked[who]) if who[0] < 0 else who[1:])  # noqa: E731
        top = [(who, float(counted[who]), asked[who]) for who in sorted(counted, key=rank)[: options["top"]]]
        magnitude = float(sum(abs(v) for _, v, _ in contributions.values()))
        found[where] = (float(sums[where][0]), float(sums[where][1]), len(counted), magnitude, weighted, top)
    return found


def on_engine_and_in_memory(survey: dict[str, Any], options: dict[str, Any], contributions: bool) -> Table:
    """The same table both ways, to the last bit."""
    asked = {**options, "contributions": contributions}
    tables = []
    for most in (0, module.MAX_RECORDS_IN_MEMORY):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "MAX_RECORDS_IN_MEMORY", most)
            patch.setattr(engine, "ROWS_PER_BATCH", survey["at_once"])
            tables.append(tabulate(pd.DataFrame(survey["records"]), survey["dimensions"], "x", **asked))
    assert everything(tables[0]) == everything(tables[1])
    if contributions:
        assert listed(tables[0]) == listed(tables[1])
    return tables[1]


@pytest.mark.parametrize(
    ("amounts", "in_memory"),
    [
        ([12_345_678, 987_654_321, 5], True),
        ([0.1, 12_345_678.25, -99_999_999.5], True),
        ([1 / 3, 123_456_789, 1], False),  # with all its digits the sum has more than integers have
        ([2.0**53 + 2, 1e17 + 16, 3], False),
    ],
)
def test_large_numbers_are_added_up_in_memory_if_no_digit_is_lost(amounts, in_memory, monkeypatch):
    survey = {
        "records": [{"g": "ab"[i % 2], "x": x} for i, x in enumerate(amounts)],
        "dimensions": ["g"],
        "at_once": 10**6,
    }
    table = on_engine_and_in_memory(survey, {}, contributions=True)
    assert table.value[0] == pytest.approx(float(sum(map(Fraction, amounts))), rel=1e-15)
    used = []
    of = engine.EngineRecords.of
    monkeypatch.setattr(engine.EngineRecords, "of", lambda *given: used.append(1) or of(*given))
    tabulate(pd.DataFrame(survey["records"]), ["g"], "x")
    assert used == ([] if in_memory else [1])


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(surveys())
def test_every_cell_is_what_counting_by_hand_gives(survey):
    options, top = survey["options"], survey["options"]["top"]
    expected = by_hand(survey["records"], survey["dimensions"], options)
    table = on_engine_and_in_memory(survey, options, contributions=False)
    table.check_additive()
    held = {
        name for (kind, name, is_held) in {w for *_, t in expected.values() for w, _, _ in t} if kind == 0 and is_held
    }
    free = {
        name
        for (kind, name, is_held) in {w for *_, t in expected.values() for w, _, _ in t}
        if kind == 0 and not is_held
    }
    assert set(table.contributors) == free | {f"{name} (holding)" if name in free else name for name in held}
    assert set(table.labels()) == {" × ".join(where) for where in expected}
    for where, (value, extra, count, magnitude, weighted, largest) in expected.items():
        i = table.index(where)
        assert weighted is None or table.weighted_count[i] == pytest.approx(weighted, abs=1e-12)
        assert table.value[i] == pytest.approx(value, abs=1e-12)
        assert table.extra["e"][i] == pytest.approx(extra, abs=1e-12)
        assert table.magnitude[i] == pytest.approx(magnitude, abs=1e-12)
        assert table.count[i] == count
        assert table.top[i].tolist() == pytest.approx([x for _, x, _ in largest] + [0] * (top - len(largest)))
        assert table.requested[i].tolist() == [mark for *_, mark in largest] + [False] * (top - len(largest))
        for w, (who, _, _) in itertools.zip_longest(table.top_contributor[i], largest, fillvalue=((-1,), 0, False)):
            shown = table.contributors[w].removesuffix(" (holding)") if w >= 0 else None
            assert shown == (who[1] if who[0] == 0 else None)


def listed(table: Table) -> set[tuple[str, str, float]]:
    """Cell, respondent and amount of all contributions that are kept."""
    given = table.contributions
    return {
        (table.label(i), given.names[who], float(x))
        for i, who, x in zip(given.cell, given.contributor, given.amount, strict=True)
    }


def test_of_a_firm_in_several_cells_all_contributions_are_kept_and_of_others_the_largest(firms):
    """f1's 2 in the South is its smallest; f3 is small and in one cell only, where top=1 leaves it out."""
    more = pd.DataFrame({"region": ["South"], "branch": ["02"], "firm": ["f9"], "turnover": [50.0]})
    records = pd.concat([firms, more], ignore_index=True)
    by = {"region": REGIONS, "branch": None}
    table = tabulate(records, by, "turnover", contributor="firm", top=1, contributions=True)
    kept = {("N1 × 01", "f1", 10.0), ("N2 × 02", "f1", 5.0), ("South × 02", "f1", 2.0)}
    assert listed(table) == kept | {("N2 × 01", "f2", 3.5), ("South × 02", "f9", 50.0)}
    assert table.is_base[table.contributions.cell].all()
    assert table.respondents() is table.contributions
    assert table.knows_respondents
    without = tabulate(records, by, "turnover", contributor="firm", top=1, contributions=False)
    assert without.contributions is None
    assert not without.knows_respondents
    assert len(without.respondents()) == 4  # the 2 is missing


def test_contributions_are_net_absolute_and_as_reported_and_none_is_zero():
    records = pd.DataFrame(
        {
            "at": ["a", "a", "b", "a", "b", "a"],
            "firm": ["f", "f", "f", "g", "h", "k"],
            "group": ["H", "H", "H", "", "", "H"],
            "x": [5.0, -2, -4, 0, 7, 1],
            "w": [2.0, 2, 2, 1, 1, 2],
        }
    )
    options = {"contributor": "firm", "holding": "group", "weight": "w", "contributions": True}
    table = tabulate(records, "at", "x", weights="secret", **options)
    assert listed(table) == {("a", "H", 4.0), ("b", "H", 4.0), ("b", "h", 7.0)}
    table = tabulate(records, "at", "x", weights="known", **options)
    assert listed(table) == {("a", "H", 8.0), ("b", "H", 8.0), ("b", "h", 7.0)}


def test_records_without_a_name_are_respondents_of_their_own():
    records = pd.DataFrame(
        {"at": ["a", "a", "a", "b", "b"], "group": [None, "H", None, "H", None], "x": [3.0, 9, 3, 1, 2]}
    )
    table = tabulate(records, "at", "x", contributions=True)
    first = {("a", "respondent 1 of a", 9.0), ("a", "respondent 2 of a", 3.0)}
    assert listed(table) == first | {("b", "respondent 1 of b", 2.0), ("b", "respondent 2 of b", 1.0)}
    held = tabulate(records, "at", "x", holding="group", contributions=True)
    own = {("a", "respondent 2 of a", 3.0), ("a", "respondent 3 of a", 3.0), ("b", "respondent 1 of b", 2.0)}
    assert listed(held) == own | {("a", "H", 9.0), ("b", "H", 1.0)}
    assert len(set(held.contributions.names)) == len(held.contributions.names)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(surveys())
def test_contributions_are_what_counting_by_hand_gives(survey):
    options, top = survey["options"] | {"count_zeros": True}, survey["options"]["top"]
    records, dimensions = survey["records"], survey["dimensions"]
    table = on_engine_and_in_memory(survey, options, contributions=True)
    leaves = {name: {c for c, leaf in zip(h.codes, h.is_leaf, strict=True) if leaf} for name, h in dimensions.items()}
    full = by_hand(records, dimensions, options | {"top": len(records)})
    finest = {
        where: [(who, abs(x)) for who, x, _ in largest]
        for where, (*_, largest) in full.items()
        if all(code in leaves[name] for name, code in zip(dimensions, where, strict=True))
    }
    cells = defaultdict(set)
    for where, largest in finest.items():
        for who, _ in largest:
            cells[who].add(where)
    given = table.contributions
    assert (table.is_base[given.cell]).all()
    for where, largest in finest.items():
        mine = given.cell == table.index(where)
        alone = [x for who, x in largest if len(cells[who]) == 1][:top]
        several = [x for who, x in largest if len(cells[who]) > 1]
        expected = sorted((x for x in alone + several if x), reverse=True)
        assert given.amount[mine].tolist() == pytest.approx(expected)
        assert len(set(given.contributor[mine])) == int(mine.sum())


# -- where the records come from -------------------------------------------------------------------------------


def as_csv(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_csv(folder / "a file.csv", index=False)
    return folder / "a file.csv"


def as_european_csv(frame: pd.DataFrame, folder: Path) -> Path:
    (folder / "mit Umlaut ü.txt").write_text(
        "\ufeff" + frame.to_csv(index=False, sep=";", lineterminator="\r\n"), "utf-8", newline=""
    )
    return folder / "mit Umlaut ü.txt"


def as_packed_csv(frame: pd.DataFrame, folder: Path) -> str:
    with gzip.open(folder / "data.CSV.gz", "wt", encoding="utf-8") as lines:
        frame.to_csv(lines, index=False, quoting=1)
    return str(folder / "data.CSV.gz")


def as_parquet(frame: pd.DataFrame, folder: Path) -> Path:
    frame.to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


SOURCES = {
    "csv": as_csv,
    "european csv": as_european_csv,
    "packed csv": as_packed_csv,
    "parquet": as_parquet,
    "pandas": lambda frame, _: frame,
    "other types": lambda frame, _: frame.astype(
        {"group": float, "staff": object, "region": "category", "firm": "category"}
    ),
    "polars": lambda frame, _: pl.from_pandas(frame).lazy().with_columns(pl.col("branch").cast(pl.Categorical)),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame).combine_chunks(),
    "ibis": lambda frame, _: ibis.duckdb.connect().create_table("survey", ibis.memtable(frame)),
}


FOUND: dict[str, Any] = {}


@pytest.mark.parametrize("kind", SOURCES)
def test_the_same_records_give_the_same_table_from_every_source(kind, firms, tmp_path):
    """Down to the last bit: digests of tables are compared between runs."""
    firms["group"] = pd.array([7, 7, None, None, 7], dtype="Int64")
    firms["turnover"] += [0.1, 0.2, 0.3, 0.7, 1e-6]
    options = {"contributor": "firm", "holding": "group", "weight": "weight", "extra": ["staff"], "request": "asked"}
    table = tabulate(SOURCES[kind](firms, tmp_path), {"region": REGIONS, "branch": None}, "turnover", **options)
    assert table.contributors == ("7", "f2", "f3")
    assert table.dimensions["branch"].codes == ("Total", "01", "02")
    assert everything(table) == FOUND.setdefault("first source", everything(table))


def test_the_order_of_the_records_does_not_show():
    """Sums of floats depend on it in the last digits, and parallel engines shuffle."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame(
        {"a": rng.integers(0, 9, 20_000), "b": rng.integers(0, 7, 20_000), "firm": rng.integers(0, 4_000, 20_000)}
    )
    data["x"] = rng.lognormal(3, 3, len(data)) - 10
    table = tabulate(data, ["a", "b"], "x", contributor="firm")
    assert everything(tabulate(data.sample(frac=1, random_state=1), ["a", "b"], "x", contributor="firm")) == everything(
        table
    )
    net = data.groupby(["a", "firm"], as_index=False).x.sum()
    for code, firms in net.groupby("a"):
        i = table.index((str(code), "Total"))
        assert table.count[i] == len(firms)
        assert np.abs(table.top[i]) == pytest.approx(np.sort(np.abs(firms.x))[:-3:-1])
        assert table.magnitude[i] == pytest.approx(np.abs(firms.x).sum())


def test_adding_levels_up_in_portions_changes_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    data = pd.DataFrame(
        {"a": rng.integers(0, 4, 900), "b": rng.integers(0, 5, 900), "firm": rng.integers(0, 90, 900)}
    ).astype(str)
    data["x"] = np.round(rng.normal(0, 9, 900), 1)
    tree = Hierarchy.from_pairs([("u", "Total"), ("v", "u"), ("0", "v"), ("1", "v"), ("2", "u"), ("3", "Total")])
    whole = tabulate(data, {"a": tree, "b": None}, "x", contributor="firm")
    monkeypatch.setattr(module, "MAX_RECORDS_IN_MEMORY", 0)
    monkeypatch.setattr(engine, "ROWS_PER_BATCH", 1)
    assert everything(tabulate(data, {"a": tree, "b": None}, "x", contributor="firm")) == everything(whole)


def test_an_ibis_table_is_worked_on_where_it_is(firms, monkeypatch):
    survey = ibis.duckdb.connect().create_table("survey", ibis.memtable(firms))
    monkeypatch.setattr(ibis.duckdb, "connect", lambda **_: pytest.fail("A second engine was started."))
    table = tabulate(survey.filter(survey.turnover > 1), {"region": REGIONS}, "turnover", contributor="firm")
    assert cell(table, "Total") == {"value": 20.5, "count": 2, "top": [(17, "f1"), (3.5, "f2")]}


def test_polars_is_not_needed(firms, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    assert len(tabulate(firms, ["branch"], "turnover")) == 3


def test_names_may_be_anything(firms):
    """Spaces, accents, quotes and signs, in codes, names and columns, and columns called like our own."""
    odd = {
        "region": "Région d'été",
        "branch": "c0",
        "firm": "name",
        "turnover": "x",
        "weight": "records",
        "staff": 'd0 "v"',
    }
    frame = firms.rename(columns=odd).replace({"f1": "Ærø & sønner; A/S", "N1": "Île / Mer", "01": " 0,1 "})
    table = tabulate(frame, ["Région d'été", "c0"], "x", contributor="name", weight="records", extra=['d0 "v"'])
    assert cell(table, "Île / Mer", " 0,1 ") == {"value": 10, "count": 1, "top": [(10, "Ærø & sønner; A/S"), (0, None)]}


def test_whole_numbers_serve_as_codes():
    table = tabulate(pd.DataFrame({"year": [2024, 2025], "x": [1, 2]}), {"year": Hierarchy.flat(["2024", "2025"])}, "x")
    assert table.value.tolist() == [3, 1, 2]


# -- what goes wrong -------------------------------------------------------------------------------------------

BY = {"region": REGIONS, "branch": None}
SECRET = 987654.25


def spoil(frame: pd.DataFrame, **columns: Any) -> pd.DataFrame:
    """The firms with one confidential value to look for in messages, and other columns replaced."""
    return frame.assign(turnover=[SECRET, 5.0, 3.5, 1.0, 2.0]).assign(**columns)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({}, {"response": "turnovr"}, "no column 'turnovr'. Did you mean 'turnover'"),
        ({}, {"by": ["nuts"]}, "no column 'nuts'. It has 'region', 'branch'"),
        ({}, {"contributor": "id", "weight": "w"}, "no column 'w', 'id'"),
        ({}, {"by": []}, "at least one column"),
        ({}, {"by": ["region", 3]}, "by= takes names of columns, not int"),
        ({}, {"by": ["region", "region"]}, "'region' is given twice, as by= and as by="),
        ({}, {"response": "region"}, "'region' is given twice, as by= and as response="),
        ({}, {"contributor": "firm", "holding": "firm"}, "'firm' is given twice, as contributor= and as holding="),
        ({}, {"weight": "turnover"}, "'turnover' is given twice"),
        ({}, {"top": 0}, "top= is how many"),
        ({}, {"top": True}, "top= is how many"),
        ({}, {"unknown": "ignore"}, "unknown= is either 'error' or 'drop', not 'ignore'"),
        ({}, {"by": {"region": "regions.hrc"}}, "'region' needs a Hierarchy, or None for a flat one"),
        (
            {"region": ["N1", "N2", "X", "Y", "X"]},
            {},
            r"2 codes in column 'region' .* 'Total', e.g. 'X', 'Y'. .*Add them to the hierarchy",
        ),
        ({"region": list("vwxyz")}, {"unknown": "drop"}, "none has codes that are in all hierarchies"),
        (
            {"region": ["N1", "North", "N2", "Total", "North"]},
            {},
            "3 records are coded in column 'region' at groups .*'North', 'Total'",
        ),
        (
            {"region": ["N1", None, "", "N2", np.nan]},
            {},
            r"3 of 5 records have no code in column 'region' \(records 2, 3, 5\)\. Delete records of totals",
        ),
        ({"branch": ["01", "Total", "01", "01", "01"]}, {}, "'branch' holds the code 'Total'.*Hierarchy.flat"),
        (
            {"turnover": [SECRET, None, np.nan, 1, 1]},
            {},
            "2 of 5 records have no number in column 'turnover', e.g. in cell 'N2 × 01'",
        ),
        ({"turnover": [SECRET, np.inf, 1, 1, -np.inf]}, {}, "2 of 5 records have an infinite or undefined number"),
        (
            {"turnover": [SECRET, "12 kg", "1,5", 1, 1]},
            {},
            "1 of 5 records have text instead of a number in column 'turnover'",
        ),
        ({"turnover": pd.date_range("2025-01-01", periods=5)}, {}, "'turnover' holds timestamp.*not numbers"),
        ({"turnover": [SECRET * 1e27, 1, 1, 1, 1]}, {}, "'turnover' are too large or too small"),
        ({"turnover": [1e-40, 0, 0, 0, 0]}, {}, "'turnover' are too large or too small"),
        (
            {"weight": [1, -2, 1, 1, -1]},
            {"weight": "weight"},
            "2 of 5 records have a negative weight in column 'weight'",
        ),
        ({"weight": [1, None, 1, 1, 1]}, {"weight": "weight"}, "1 of 5 records have no number in column 'weight'"),
        ({"staff": ["many", 1, 1, 1, 1]}, {"extra": ["staff"]}, "text instead of a number in column 'staff'"),
        (
            {"firm": ["a", None, "", "b", "c"]},
            {"contributor": "firm"},
            r"2 of 5 records have no contributor in column 'firm' \(records 2, 3\)\. Delete records of totals\. Fill in the",
        ),
        (
            {"group": ["H", None, "H", "K", "H"]},
            {"contributor": "firm", "holding": "group"},
            "1 contributors .*one holding",
        ),
    ],
)
def test_bad_input_is_refused_with_column_place_and_remedy_but_no_value(columns, options, message, firms):
    arguments = {"by": BY, "response": "turnover", **options}
    with pytest.raises(InputError, match=message) as caught:
        tabulate(spoil(firms, **columns), **arguments)
    assert "987654" not in str(caught.value)
    assert "kg" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("kind", ["csv", "polars", "arrow", "ibis"])
def test_numbers_are_checked_in_every_source(kind, firms, tmp_path):
    """NaN is no missing value for Arrow and polars, text for CSV, and nothing at all for pandas."""
    broken = firms.astype({"turnover": object})
    broken.loc[1, "turnover"] = None
    with pytest.raises(InputError, match=r"1 of 5 records have no number in column 'turnover', e.g. in cell 'N2 × 02'"):
        tabulate(SOURCES[kind](broken, tmp_path), BY, "turnover")
    nan = pl.from_pandas(firms).with_columns(turnover=pl.lit(float("nan")))
    with pytest.raises(InputError, match="5 of 5 records have an infinite or undefined number in column 'turnover'"):
        tabulate(nan, BY, "turnover")


def test_unknown_codes_are_left_out_with_whatever_their_records_hold(firms):
    firms.loc[3, ["region", "turnover"]] = ["abroad", np.inf]
    firms.loc[4, ["region", "turnover"]] = ["at sea", None]
    table = tabulate(firms, {"region": REGIONS}, "turnover", contributor="firm", unknown="drop")
    assert cell(table, "Total") == {"value": 18.5, "count": 2, "top": [(15, "f1"), (3.5, "f2")]}


def test_a_leaf_that_one_tree_forgets_is_refused(firms):
    """The total would be right in one grouping and too small in the other."""
    some_of_it = Hierarchy.from_pairs([("Coast", "Total"), ("N1", "Coast"), ("N2", "Coast")])
    with pytest.raises(
        HierarchyError, match=r"column 'region' do not occur exactly once in each tree .*'South'"
    ) as caught:
        tabulate(firms, {"region": Hierarchy.union(REGIONS, some_of_it)}, "turnover")
    assert caught.value.offenders == ["South"]


def test_a_group_that_means_different_things_in_two_trees_is_refused(firms):
    other = Hierarchy.from_pairs([("North", "Total"), ("N1", "North"), ("South", "North"), ("N2", "Total")])
    with pytest.raises(HierarchyError, match="Totals would not add up"):
        tabulate(firms, {"region": Hierarchy.join(REGIONS, other)}, "turnover")


def test_a_table_too_large_to_store_empty_cells_is_refused():
    codes = Hierarchy.flat(str(i) for i in range(3000))
    data = pd.DataFrame({"a": ["1"], "b": ["1"], "c": ["1"], "x": [1.0]})
    with pytest.raises(TableError, match="27,027,009,001 cells"):
        tabulate(data, dict.fromkeys("abc", codes), "x", store_empty=True)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "missing.csv does not exist"),
        ("survey.xlsx", b"PK", "survey.xlsx cannot be read: it is damaged"),
        ("empty.csv", b"", "empty.csv is empty: its first line must name the columns"),
        ("empty.csv.gz", gzip.compress(b"", mtime=0), "empty.csv.gz is empty"),
        ("header.csv", b"region,turnover\n", "There are no records"),
        ("latin.csv", "region,turnover\nN1,1\nSüd,987654\n".encode("latin1"), "latin.csv.*UTF-8"),
        (
            "ragged.csv",
            b"region,turnover\nN1,1\nN2,987654,2,3\n",
            "ragged.csv, line 3: more or fewer than the 2 fields",
        ),
        ("not.csv.gz", b"region,turnover\nN1,987654\n", "not.csv.gz cannot be read"),
        ("not.parquet", b"region,turnover\nN1,987654\n", "not.parquet cannot be read"),
        ("text.csv", b"region,turnover\nN1,987654x\n", "1 of 1 records have text instead of a number"),
        ("other.csv", b"nuts,amount\nN1,987654\n", "other.csv has no column 'region', 'turnover'"),
    ],
)
def test_files_that_cannot_be_used_are_named_and_not_quoted(name, content, message, tmp_path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        tabulate(tmp_path / name, {"region": None}, "turnover")
    assert "987654" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_ctrl_c_is_not_taken_for_a_damaged_file(tmp_path, monkeypatch):
    """DuckDB asks Python now and then, and reports Ctrl-C there as an error of its own."""

    def stopped(*_: object) -> None:
        raise duckdb.InvalidInputException("Invalid Input Error: counting the rows failed: KeyboardInterrupt: ")

    monkeypatch.setattr(microdata, "_opened_file", stopped)
    with pytest.raises(KeyboardInterrupt):
        tabulate(tmp_path / "survey.csv", {"region": None}, "turnover")


def test_what_is_no_microdata_is_refused(firms, tmp_path):
    with pytest.raises(InputError, match=r"from list\. Pass a CSV, Excel or Parquet file"):
        tabulate(firms.to_dict("records"), ["region"])
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InputError, match="folder, not a file"):
        tabulate(tmp_path / "folder.csv", ["region"])
    with pytest.raises(InputError, match="There are no records"):
        tabulate(firms.iloc[:0], ["region"])
    with pytest.raises(InputError, match="several columns called 'region'"):
        tabulate(pd.concat([firms, firms[["region"]]], axis=1), ["region"])
