"""Linked tables: shared cells once, every relation kept, and nothing guessed where tables disagree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from discreet.assess import assess
from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.link import link
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, TableError
from discreet.protection import suppress
from discreet.testing import pose

REGION = Hierarchy.from_pairs([("N", ""), ("S", ""), ("N1", "N"), ("N2", "N"), ("S1", "S")])
COARSE = Hierarchy.flat(["N", "S"])
SIZE = Hierarchy.flat(["small", "large"])
BRANCH = Hierarchy.flat(["x", "y", "z"])
ALL = {"region": REGION, "size": SIZE, "branch": BRANCH}

LEAVES = {name: [h.codes[i] for i in np.flatnonzero(h.is_leaf)] for name, h in ALL.items()}
ABOVE = {
    name: {leaf: [h.codes[c] for i, c in zip(*h.ancestors, strict=True) if h.codes[i] == leaf] for leaf in LEAVES[name]}
    for name, h in ALL.items()
}


def records(seed: int, n: int = 40) -> pd.DataFrame:
    """Respondents with a code in every dimension and whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {name: rng.choice(leaves, n) for name, leaves in LEAVES.items()}
    columns |= {"who": [f"r{i:02d}" for i in rng.integers(0, max(n // 2, 1), n)]}
    columns |= {"turnover": rng.integers(1, 1000, n), "cost": rng.integers(1, 900, n), "jobs": rng.integers(1, 9, n)}
    return pd.DataFrame(columns).assign(profit=lambda frame: frame.turnover - frame.cost)


def added_up(
    data: pd.DataFrame, by: dict[str, Hierarchy], response: str = "turnover", top: int = 2, details: bool = True
) -> Table:
    """A slow tabulation: every record counts towards all combinations of codes above it, respondent by respondent."""
    above = [{leaf: [c for c in ABOVE[name][leaf] if c in own] for leaf in LEAVES[name]} for name, own in by.items()]
    cells: dict[tuple[int, ...], dict[str, np.ndarray]] = {}
    for *codes, who, share, jobs in data[[*by, "who", response, "jobs"]].itertuples(index=False):
        for place in product(*(up[code] for up, code in zip(above, codes, strict=True))):
            shares = cells.setdefault(tuple(h.index(c) for h, c in zip(by.values(), place, strict=True)), {})
            shares[who] = np.add(shares.get(who, 0), (share, jobs))
    contributors = tuple(sorted({who for shares in cells.values() for who in shares}))
    largest = [largest_of(shares)[:top] for shares in cells.values()]
    rows = list(zip(cells.values(), largest, strict=True))
    columns: dict[str, Any] = {
        "value": [sum(share for share, _ in shares.values()) for shares in cells.values()],
        "magnitude": [sum(abs(share) for share, _ in shares.values()) for shares in cells.values()],
    }
    if details:
        filled = [[shares[who][0] for who in first] + [0.0] * (top - len(first)) for shares, first in rows]
        columns |= {
            "count": [len(shares) for shares in cells.values()],
            "top": filled,
            "top_contributor": [
                [contributors.index(who) for who in first] + [-1] * (top - len(first)) for first in largest
            ],
            "contributors": contributors,
            "requested": np.array(filled) > 500,
            "extra": {"jobs": np.array([sum(jobs for _, jobs in shares.values()) for shares in cells.values()])},
        }
    return Table.from_cells(by, np.array(list(cells)).T, response=response, **columns)


def largest_of(shares: dict[str, np.ndarray]) -> list[str]:
    return sorted(shares, key=lambda who: (-abs(shares[who][0]), who))


def named(table: Table) -> set[frozenset[tuple[str, float]]]:
    """Relations by label, each once."""
    matrix = table.relations
    labels = table.labels()
    ends = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    rows = [
        frozenset((labels[c], float(v)) for c, v in zip(matrix.indices[a:b], matrix.data[a:b], strict=True))
        for a, b in ends
    ]
    assert len(rows) == len(set(rows)), "a relation that several tables have is there once"
    return set(rows)


def values(table: Table) -> dict[str, float]:
    return dict(zip(table.labels(), table.value.tolist(), strict=True))


def assert_keeps_quiet(error: pytest.ExceptionInfo[Any], *numbers: float) -> None:
    message = str(error.value) + repr(error.value.offenders)
    for number in numbers:
        assert f"{number:g}" not in message


def flat(name: str, value: Sequence[float], response: str = "v", codes: Sequence[str] = "ab", **columns: Any) -> Table:
    """A total and its parts."""
    stored = range(len(value))
    return Table.from_cells({name: Hierarchy.flat(codes)}, stored, value, response=response, **columns)


# -- cells and relations ---------------------------------------------------------------------------------------


def test_two_tables_that_share_a_margin():
    data = records(1)
    one = added_up(data, {"region": COARSE, "size": SIZE})
    other = added_up(data, {"region": COARSE, "branch": BRANCH})
    linked = link(one, other)
    assert list(linked.dimensions) == ["region", "size", "branch"]
    assert len(linked) == len(one) + len(other) - len(COARSE)
    expected = {f"{label} × Total": value for label, value in values(one).items()}
    expected |= {" × Total × ".join(label.split(" × ")): value for label, value in values(other).items()}
    assert values(linked) == expected
    assert linked.response == "turnover"
    assert np.all(linked.relations @ linked.value == 0)
    # The relation of the shared margin is in both tables.
    assert linked.relations.shape[0] == one.relations.shape[0] + other.relations.shape[0] - 1


def test_tables_with_nothing_in_common_share_the_grand_total():
    linked = link(flat("d", [30, 10, 20]), flat("e", [30, 30]))
    assert values(linked) == {"Total × Total": 30, "a × Total": 10, "b × Total": 20, "Total × a": 30}
    assert linked.relations.shape[0] == 2


def test_linking_leaves_its_tables_alone():
    """Renumbering sorts the terms of a relation; the tables that were handed in must not be sorted along."""
    one, other = flat("d", [30, 10, 20]), flat("e", [30, 5, 25])
    before = [(t.digest, t.relations.toarray().tolist()) for t in (one, other)]
    link(one, other)
    fresh = [t.with_columns() for t in (one, other)]  # digests are remembered, so ask again
    assert [(t.digest, t.relations.toarray().tolist()) for t in fresh] == before
    assert link(one, other).digest == link(one, other).digest


def test_one_table_linked_with_itself_is_that_table():
    table = added_up(records(2), {"region": REGION, "size": SIZE})
    for linked in (link(table), link(table, table)):
        assert values(linked) == values(table)
        assert named(linked) == named(table)
        assert linked.dimensions == table.dimensions


def test_a_coarser_table_adds_nothing_to_a_finer_one():
    data = records(3)
    fine, coarse = added_up(data, {"region": REGION}), added_up(data, {"region": COARSE})
    for linked in (link(fine, coarse), link(coarse, fine)):
        assert values(linked) == values(fine)
        assert named(linked) == named(fine)
        assert set(linked.dimensions["region"].codes) == set(REGION.codes)


def test_groupings_that_do_not_nest_share_their_parts():
    other = Hierarchy.from_pairs([("NS", ""), ("N1", ""), ("N2", "NS"), ("S1", "NS")])
    first = Table.from_cells({"region": REGION}, range(6), [10, 7, 3, 5, 2, 3])
    second = Table.from_cells({"region": other}, range(5), [10, 5, 5, 2, 3])
    linked = link(first, second)
    assert values(linked) == {"Total": 10, "N": 7, "S": 3, "N1": 5, "N2": 2, "S1": 3, "NS": 5}
    assert frozenset([("N2", 1.0), ("S1", 1.0), ("NS", -1.0)]) in named(linked)
    assert frozenset([("N1", 1.0), ("NS", 1.0), ("Total", -1.0)]) in named(linked)


def test_four_linked_tables():
    data = records(4, 60)
    parts = [
        added_up(data, {"region": REGION}),
        added_up(data, {"region": COARSE, "size": SIZE}),
        added_up(data, {"size": SIZE, "branch": BRANCH}),
        added_up(data, {"branch": BRANCH, "region": COARSE}),
    ]
    linked = link(*parts)
    whole = added_up(data, ALL)
    assert np.all(linked.relations @ linked.value == 0)
    assert linked.behind is not None, "the last three form a cycle"
    linked = linked.listed
    assert set(values(linked).items()) <= set(values(whole).items())
    assert named(linked) <= named(whole)
    assert len(linked) == len(set().union(*(placed(part) for part in parts)))


def placed(table: Table) -> set[tuple[str, ...]]:
    """Cells in the coordinates of all dimensions."""
    frame = table.frame()
    columns = [frame[name] if name in frame else ["Total"] * len(frame) for name in ALL]
    return set(zip(*columns, strict=True))


def test_cells_are_in_the_order_of_their_codes():
    linked = link(flat("d", [3, 1, 2]), flat("e", [3, 2, 1]))
    keys = [tuple(cell) for cell in linked.codes.T.tolist()]
    assert keys == sorted(keys)


def test_a_table_of_no_cells_may_be_linked():
    empty = Table.from_cells({"e": Hierarchy.flat("ab")}, [], [])
    assert values(link(flat("d", [0, 0, 0], "value"), empty)) == {"Total × Total": 0, "a × Total": 0, "b × Total": 0}


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(0, 2))
def test_linking_all_margins_of_a_table_gives_the_table(seed, n, first):
    """Whatever the records: the tables by any one and any two dimensions are part of the one by all three."""
    data = records(seed, n)
    whole = added_up(data, ALL)
    names = list(ALL)
    subsets = [[a] for a in names] + [[a, b] for a in names for b in names if a < b] + [names]
    subsets = subsets[first:] + subsets[:first]
    linked = link(*(added_up(data, {name: ALL[name] for name in ALL if name in subset}) for subset in subsets))
    ours, theirs = (t.frame().sort_values(list(ALL), ignore_index=True)[whole.frame().columns] for t in (linked, whole))
    pd.testing.assert_frame_equal(ours, theirs)
    assert linked.relations.shape == whole.relations.shape
    assert len(named(linked)) == len(named(whole)), "no relation twice"
    assert np.all(linked.relations @ linked.value == 0)


# -- what the tables must agree on -----------------------------------------------------------------------------


def test_shared_cells_must_agree():
    with pytest.raises(TableError, match=r"2 cells that the tables share differ.*same records") as error:
        link(flat("d", [4711, 1711, 3000]), flat("d", [4711, 1712, 2999]))
    assert error.value.offenders == ["a", "b"]
    assert_keeps_quiet(error, 4711, 1711, 1712, 3000, 2999, 1)


def test_a_shared_total_must_agree():
    with pytest.raises(TableError, match="'Total × Total'") as error:
        link(flat("d", [4711, 1711, 3000]), flat("e", [4712, 1712, 3000]))
    assert_keeps_quiet(error, 4711, 4712)


def test_a_cell_that_one_table_leaves_out_is_zero_there():
    """Cells that are not stored are published zeros, so a table that could hold a cell and does not says zero."""
    full, sparse_table = flat("d", [30, 10, 20]), flat("d", [30, 30])
    for tables in ((full, sparse_table), (sparse_table, full)):
        with pytest.raises(TableError, match="2 cells that the tables share differ") as error:
            link(*tables)
        assert set(error.value.offenders) == {"a", "b"}
        assert_keeps_quiet(error, 30, 10, 20)
    zero = flat("d", [30, 30, 0])
    assert values(link(zero, sparse_table)) == values(link(sparse_table, zero)) == {"Total": 30, "a": 30, "b": 0}


def test_a_table_that_could_not_hold_a_cell_says_nothing_about_it():
    linked = link(flat("d", [30, 30]), Table.from_cells({"d": Hierarchy.flat("a")}, [0, 1], [30, 30], response="v"))
    assert values(linked) == {"Total": 30, "a": 30}


@pytest.mark.parametrize(("off", "agrees"), [(1e-12, True), (1e-6, False)])
def test_sums_of_floats_agree_to_their_last_digits(off, agrees):
    one, other = flat("d", [1e6, 4e5, 6e5]), flat("e", [1e6 * (1 + off), 4e5, 6e5 + 1e6 * off])
    if agrees:
        assert link(one, other).value[0] == 1e6, "the first table's value is taken"
    else:
        with pytest.raises(TableError, match="share differ"):
            link(one, other)


def test_totals_must_have_one_name():
    other = Table.from_cells({"d": Hierarchy.flat("ab", total="all")}, range(3), [3, 1, 2], response="v")
    with pytest.raises(InputError, match="'Total', 'all'"):
        link(flat("d", [3, 1, 2]), other)


def test_tables_that_cannot_be_linked():
    with pytest.raises(InputError, match="at least one table"):
        link()
    unnamed = Table({}, [], [1], sparse.csr_array((0, 1)), names=("a",))
    with pytest.raises(InputError, match="no dimensions to link by"):
        link(flat("d", [3, 1, 2]), unnamed)


# -- several responses -----------------------------------------------------------------------------------------


def accounts(by: dict[str, Hierarchy], seed: int = 5) -> list[Table]:
    data = records(seed)
    return [added_up(data, by, response) for response in ("turnover", "cost", "profit")]


def test_different_responses_are_kept_apart():
    data = records(5)
    turnover, cost = (added_up(data, {"size": SIZE}, response) for response in ("turnover", "cost"))
    linked = link(turnover, cost)
    assert list(linked.dimensions) == ["response", "size"]
    assert len(linked) == 6
    assert linked.response == "value"
    assert linked.value[linked.index("cost × small")] == cost.value[cost.index("small")]
    assert linked.relations.shape[0] == 2
    assert "(all responses) × Total" not in linked.labels(), "there is no sum over responses"


def test_an_equation_ties_responses_together_in_every_cell():
    tables = accounts({"region": REGION, "size": SIZE})
    linked = link(*tables, equations=["profit = turnover - cost"])
    tied = {
        frozenset([(f"turnover × {place}", 1.0), (f"cost × {place}", -1.0), (f"profit × {place}", -1.0)])
        for place in tables[0].labels()
    }
    assert tied <= named(linked)
    assert len(named(linked)) == len(tied) + sum(table.relations.shape[0] for table in tables)
    assert np.all(linked.relations @ linked.value == 0)


def test_an_equation_holds_only_where_all_its_responses_are_tabulated():
    data = records(6)
    turnover = added_up(data, {"region": REGION, "size": SIZE}, "turnover")
    cost, profit = (added_up(data, {"region": COARSE}, response) for response in ("cost", "profit"))
    linked = link(turnover, cost, profit, equations=["profit = turnover - cost"])
    tied = [row for row in named(linked) if any(label.startswith("profit") for label, _ in row) and len(row) == 3]
    places = {label.removeprefix("cost × ") for row in tied for label, _ in row if label.startswith("cost")}
    assert places == {"Total × Total", "N × Total", "S × Total"}


def test_in_an_equation_a_cell_that_is_not_stored_is_zero():
    """There are no costs in b, so profit there is turnover."""
    tables = [flat("d", [9, 4, 5], "turnover"), flat("d", [3, 3], "cost"), flat("d", [6, 1, 5], "profit")]
    linked = link(*tables, equations=["profit = turnover - cost"])
    assert frozenset([("turnover × b", 1.0), ("profit × b", -1.0)]) in named(linked)


def test_equations_that_the_values_break_are_refused_by_label():
    tables = [
        flat("d", [910, 410, 500], "turnover"),
        flat("d", [330, 330], "cost"),
        flat("d", [580, 81, 499], "profit"),
    ]
    with pytest.raises(TableError, match="2 totals differ") as error:
        link(*tables, equations=["profit = turnover - cost"])
    assert_keeps_quiet(error, 910, 410, 500, 330, 580, 81, 499)


@pytest.mark.parametrize(
    ("equation", "terms"),
    [
        ("profit = turnover - cost", {"profit": -1, "turnover": 1, "cost": -1}),
        ("  turnover=profit+cost ", {"turnover": -1, "profit": 1, "cost": 1}),
        ("cost = -profit + turnover", {"cost": -1, "profit": -1, "turnover": 1}),
    ],
)
def test_equations_as_people_write_them(equation, terms):
    linked = link(*accounts({"size": SIZE}), equations=[equation])
    assert frozenset((f"{name} × Total", float(sign)) for name, sign in terms.items()) in named(linked)


@pytest.mark.parametrize(
    "equation",
    [
        "",
        "profit",
        "profit =",
        "= turnover",
        "profit = turnover - costs",
        "gain = turnover - cost",
        "profit = turnover = cost",
        "profit == turnover",
        "profit = turnover -",
        "profit = turnover + - cost",
        "profit = turnover -- cost",
        "profit = turnover--cost",
        "profit = turnover - cost - cost",
        "profit = profit + cost",
        "profit = turnover cost",
        "profit - turnover = cost",
        "profit = 2 turnover",
    ],
)
def test_equations_that_cannot_be_read(equation):
    with pytest.raises(InputError, match="write it as 'profit = turnover - cost'"):
        link(*accounts({"size": SIZE}), equations=[equation])


# -- contributors ----------------------------------------------------------------------------------------------


def test_contributors_are_renumbered_and_keep_their_contributions():
    one = flat(
        "d", [9, 4, 5], count=[2, 1, 1], top=[[5, 4], [4, 0], [5, 0]], top_contributor=[[1, 0], [0, -1], [1, -1]],
        contributors=("bank", "zoo"), requested=[[True, False], [False, False], [True, False]],
        extra={"jobs": np.array([3.0, 1, 2]), "pay": np.ones(3)},
    )  # fmt: skip
    other = flat(
        "e", [9, 9], count=[2, 2], top=[[5, 4, 0], [5, 4, 0]], top_contributor=[[0, 1, -1], [0, 1, -1]],
        contributors=("zoo", "bank"), requested=np.zeros((2, 3), bool), extra={"jobs": np.array([3.0, 3])},
    )  # fmt: skip
    linked = link(one, other)
    assert linked.contributors == ("bank", "zoo")
    by_label = {label: i for i, label in enumerate(linked.labels())}
    assert linked.top.shape == (4, 2), "as many as every table has"
    for label, who in {"b × Total": ["zoo", None], "Total × a": ["zoo", "bank"], "a × Total": ["bank", None]}.items():
        row = linked.top_contributor[by_label[label]].tolist()
        assert [linked.contributors[w] if w >= 0 else None for w in row] == who
    assert linked.requested[by_label["b × Total"]].tolist() == [True, False]
    assert linked.count[by_label["Total × a"]] == 2
    assert linked.extra.keys() == {"jobs"}, "columns that a table lacks are left out"
    assert linked.extra["jobs"][by_label["Total × a"]] == 3


def test_contributors_of_all_tables_are_listed():
    one = flat("d", [3, 1, 2], top=[[2], [1], [2]], top_contributor=[[1], [0], [1]], contributors=("b", "d"))
    other = flat("e", [3, 3], "w", top=[[2], [2]], top_contributor=[[1], [1]], contributors=("a", "c"))
    linked = link(one, other)
    assert linked.contributors == ("a", "b", "c", "d")
    assert linked.contributors[linked.top_contributor[linked.index("w × Total × a"), 0]] == "c"
    assert linked.contributors[linked.top_contributor[linked.index("v × a × Total"), 0]] == "b"


@pytest.mark.parametrize("order", [1, -1])
def test_columns_that_a_table_lacks_are_left_out(order):
    data = records(7)
    tables = [added_up(data, {"size": SIZE}), added_up(data, {"branch": BRANCH}, details=False)]
    linked = link(*tables[::order])
    assert linked.count is None
    assert linked.top is None
    assert linked.top_contributor is None
    assert linked.requested is None
    assert linked.extra == {}
    assert linked.contributors == ()
    assert linked.magnitude.tolist() == np.abs(linked.value).tolist()


def test_counts_stay_counts_and_are_not_linked_with_sums():
    """In a table with sums, the knowledge that × in a table of counts is at least 1 would be lost."""
    one, other = flat("d", [3, 1, 2], is_count=True), flat("e", [3, 3], is_count=True)
    assert link(one, other).is_count
    with pytest.raises(InputError, match="Some tables count"):
        link(one, other.with_columns(is_count=False))


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32))
def test_linked_cells_know_what_the_records_say(seed):
    """Against tabulating anew: value, count and the largest contributors of every cell."""
    data = records(seed)
    linked = link(
        added_up(data, {"region": REGION}),
        added_up(data, {"region": COARSE, "size": SIZE}),
        added_up(data, {"region": COARSE}, "profit"),
        added_up(data, {"region": COARSE, "size": SIZE}, "cost"),
        equations=["profit = turnover - cost"],
    )
    assert np.all(linked.relations @ linked.value == 0)
    wholes = {r: added_up(data, {"region": REGION, "size": SIZE}, r) for r in ("turnover", "profit", "cost")}
    for i, label in enumerate(linked.labels()):
        response, place = label.split(" × ", 1)
        whole = wholes[response]
        j = whole.index(place)
        assert linked.value[i] == whole.value[j]
        assert linked.magnitude[i] == whole.magnitude[j]
        assert linked.count[i] == whole.count[j]
        assert linked.top[i].tolist() == whole.top[j].tolist()
        assert linked.requested[i].tolist() == whole.requested[j].tolist()
        assert linked.extra["jobs"][i] == whole.extra["jobs"][j]
        names = [
            table.contributors[w] if w >= 0 else ""
            for table, k in ((linked, i), (whole, j))
            for w in table.top_contributor[k]
        ]
        assert names[:2] == names[2:]


def test_what_the_hierarchies_of_all_tables_imply_is_a_relation_too():
    """Leaves by region, groups by region, and which leaf is in which group: a reader adds these up, so must the audit."""
    leaves, groups = Hierarchy.flat(["a1", "a2", "b1"]), Hierarchy.flat(["A", "B"])
    nested = Hierarchy.from_pairs([("A", "Total"), ("B", "Total"), ("a1", "A"), ("a2", "A"), ("b1", "B")])
    region = Hierarchy.flat(["x", "y"])
    rows = [
        ("a1", "A", "x", 10),
        ("a1", "A", "y", 11),
        ("a2", "A", "x", 5),
        ("a2", "A", "y", 7),
        ("b1", "B", "x", 11),
        ("b1", "B", "y", 3),
    ]
    records = pd.DataFrame(rows, columns=["leaf", "group", "region", "v"])

    def table(code: str, hierarchy: Hierarchy, with_region: bool) -> Table:
        sums: dict[tuple[int, ...], float] = {}
        for record in records.to_dict("records"):
            ups = {hierarchy.index(record[code]), 0} | (
                {hierarchy.index(record["group"])} if record["group"] in hierarchy else set()
            )
            for up in ups:
                for where in (0, region.index(record["region"])) if with_region else (None,):
                    key = (up,) if where is None else (up, where)
                    sums[key] = sums.get(key, 0.0) + record["v"]
        dimensions = {"industry": hierarchy} | ({"region": region} if with_region else {})
        return Table.from_cells(dimensions, np.array(list(sums)).T, list(sums.values()))

    linked = link(table("leaf", leaves, True), table("group", groups, True), table("leaf", nested, False))
    suppressed = np.zeros(len(linked), dtype=bool)
    suppressed[[linked.index(label) for label in ("a1 × x", "b1 × x", "a1 × y", "b1 × y")]] = True
    problem = pose(linked, {"a1 × x": 1.0})
    assert audit(problem, suppress(problem, suppressed)).interval("a1 × x") == (10, 10)


def test_everybody_knows_that_turnover_is_not_negative_even_beside_profit():
    """The sign is known per response: profit of either sign must not make the attacker forget what turnover is."""
    region = Hierarchy.flat(["x", "y"])
    turnover = Table.from_cells({"region": region}, range(3), [30, 10, 20], response="turnover")
    cost = Table.from_cells({"region": region}, range(3), [28, 14, 14], response="cost")
    profit = Table.from_cells({"region": region}, range(3), [2, -4, 6], response="profit")
    linked = link(turnover, cost, profit, equations=["profit = turnover - cost"])
    problem = assess(linked, (), statuses={"turnover × x": "primary"})
    assert problem.prior_lower[linked.index("turnover × x")] == 0
    assert problem.prior_lower[linked.index("cost × x")] == 0
    assert problem.prior_lower[linked.index("profit × y")] == -np.inf


# -- who contributes ---------------------------------------------------------------------------------------------------


def counted(by: Sequence[str], response: str = "turnover", seed: int = 3) -> Table:
    return tabulate(records(seed), {name: ALL[name] for name in by}, response, contributor="who", contributions=True)


def test_contributions_are_those_of_a_table_that_is_finer_than_all_others():
    coarse, fine = counted(["size"]), counted(["region", "size"])
    for tables in ((coarse, fine), (fine, coarse)):
        linked = link(*tables)
        given, mine = linked.respondents(), fine.contributions
        assert linked.is_base[given.cell].all()
        amounts = {
            (linked.label(i), given.names[w]): x
            for i, w, x in zip(given.cell, given.contributor, given.amount, strict=True)
        }
        expected = {
            (fine.label(i), mine.names[w]): x for i, w, x in zip(mine.cell, mine.contributor, mine.amount, strict=True)
        }
        turned = {(" × ".join(sorted(cell.split(" × "))), who): x for (cell, who), x in amounts.items()}
        assert turned == {(" × ".join(sorted(cell.split(" × "))), who): x for (cell, who), x in expected.items()}


def test_tables_that_classify_the_same_contributions_in_two_ways_do_not_tell_respondents_apart():
    linked = link(counted(["region"]), counted(["size"]))
    assert linked.contributions is None
    with pytest.raises(TableError, match="several classifications of the same contributions"):
        linked.respondents()


def test_equations_between_responses_do_not_tell_respondents_apart():
    tables = [counted(["size"], name) for name in ("profit", "turnover", "cost")]
    with pytest.raises(TableError, match="equations between responses"):
        link(*tables, equations=["profit = turnover - cost"]).respondents()


def test_a_table_for_each_code_keeps_its_contributions():
    table = counted(["region", "size"])
    parts = separate(table, "region")
    given, before = parts.respondents(), table.contributions
    assert parts.is_base[given.cell].all()
    assert given.amount.tolist() == before.amount.tolist()
    assert parts.labels(given.cell) == table.labels(before.cell)
