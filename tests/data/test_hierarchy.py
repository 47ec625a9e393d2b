"""Classifications: every way to make one, every way to get it wrong, and a second opinion on what hangs below what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.hierarchy import ABSENT, ROOT, Hierarchy
from discreet.errors import FormatError, HierarchyError, InputError

NACE = [("A", ""), ("B", ""), ("A1", "A"), ("A2", "A"), ("B1", "B"), ("A1x", "A1")]


@pytest.fixture
def nace() -> Hierarchy:
    return Hierarchy.from_pairs(NACE)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str | bytes, name: str = "codes.hrc") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def parent_of(hierarchy: Hierarchy, code: str, tree: int = 0) -> str | None:
    above = hierarchy.parents[tree, hierarchy.index(code)]
    return None if above == ROOT else hierarchy.codes[above]


def parents_of(hierarchy: Hierarchy, tree: int = 0) -> dict[str, str | None]:
    inside = np.flatnonzero(hierarchy.parents[tree] != ABSENT)
    return {hierarchy.codes[i]: parent_of(hierarchy, hierarchy.codes[i], tree) for i in inside}


# -- flat ------------------------------------------------------------------------------------------------------


def test_flat_lists_the_total_first_and_keeps_the_order_of_the_parts():
    hierarchy = Hierarchy.flat(["north", "east", "south"], total="country")
    assert hierarchy.codes == ("country", "north", "east", "south")
    assert hierarchy.total == "country"
    assert parents_of(hierarchy) == {"country": None, "north": "country", "east": "country", "south": "country"}


def test_flat_codes_may_be_numbers_and_come_from_a_generator():
    assert Hierarchy.flat(code for code in (1, 2)).codes == ("Total", "1", "2")


def test_a_total_without_parts_is_a_hierarchy_too():
    alone = Hierarchy.flat([])
    assert len(alone) == 1
    assert alone.is_leaf.tolist() == [True]
    assert alone.depth.tolist() == [0]
    assert list(alone.equations()) == []
    assert [column.tolist() for column in alone.ancestors] == [[0], [0]]
    assert alone.order().tolist() == [0]


def test_the_total_cannot_be_called_like_one_of_its_parts():
    with pytest.raises(HierarchyError, match="'Total'") as error:
        Hierarchy.flat(["A", "Total"])
    assert error.value.offenders == ["Total"]


# -- pairs -----------------------------------------------------------------------------------------------------


def test_pairs_without_a_parent_hang_below_the_total(nace):
    assert nace.codes == ("Total", "A", "B", "A1", "A2", "B1", "A1x")
    assert parents_of(nace) == {
        "Total": None, "A": "Total", "B": "Total", "A1": "A", "A2": "A", "B1": "B", "A1x": "A1",
    }  # fmt: skip


@pytest.mark.parametrize("missing", [None, "", "  ", float("nan"), pd.NA])
def test_a_missing_parent_may_be_written_in_any_of_the_usual_ways(missing):
    """Pairs that come from a data frame have NaN where there is no parent: it is not a code called 'nan'."""
    assert Hierarchy.from_pairs([("A", missing), ("B", missing)]).codes == ("Total", "A", "B")


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([("all", ""), ("A", "all"), ("B", "all")], id="listed, with an empty parent"),
        pytest.param([("A", "all"), ("all", None), ("B", "all")], id="listed anywhere"),
        pytest.param([("A", "all"), ("B", "all")], id="not listed"),
    ],
)
def test_a_single_code_above_all_others_is_the_total(pairs):
    hierarchy = Hierarchy.from_pairs(pairs)
    assert hierarchy.codes == ("all", "A", "B")
    assert parents_of(hierarchy) == {"all": None, "A": "all", "B": "all"}


def test_codes_may_name_the_total_or_leave_the_parent_empty():
    assert Hierarchy.from_pairs([("A", ""), ("B", "Total")]) == Hierarchy.flat(["A", "B"])


def test_codes_are_stripped_but_spaces_within_and_unicode_stay():
    hierarchy = Hierarchy.from_pairs([(" Île de France ", ""), ("日本 東", ""), ("Paris\t", "Île de France")])
    assert hierarchy.codes == ("Total", "Île de France", "日本 東", "Paris")
    assert parent_of(hierarchy, "Paris") == "Île de France"


def test_a_chain_of_single_children_is_kept():
    chain = Hierarchy.from_pairs([("A", "Total"), ("A1", "A"), ("A11", "A1")])
    assert chain.depth.tolist() == [0, 1, 2, 3]
    assert [(parent, children.tolist()) for _, parent, children in chain.equations()] == [(0, [1]), (1, [2]), (2, [3])]


@pytest.mark.parametrize(
    ("pairs", "message", "offenders"),
    [
        ([("A", ""), ("B", ""), ("A1", "A"), ("A1", "B")], "more than one parent", ["A1"]),
        ([("A", ""), ("A", ""), ("B", "")], "more than one parent", ["A"]),
        ([("A", ""), ("", "A")], "Code number 2 is empty", []),
        ([("A", "X"), ("B", "Y")], "not codes themselves: 'X', 'Y'", ["X", "Y"]),
        ([("A", ""), ("B", ""), ("C", "X")], "not codes themselves: 'X'", ["X"]),
        ([("A", "B"), ("B", "A")], "their own ancestors", ["A", "B"]),
        ([("A", "A")], "their own ancestors", ["A"]),
        ([("A", ""), ("B", "C"), ("C", "D"), ("D", "B"), ("E", "")], "their own ancestors", ["B", "C", "D"]),
        ([("Total", ""), ("A", "Total"), ("B", "")], "also listed as a part", ["Total"]),
    ],
)
def test_pairs_that_are_no_tree(pairs, message, offenders):
    with pytest.raises(HierarchyError, match=message) as error:
        Hierarchy.from_pairs(pairs)
    assert sorted(error.value.offenders) == offenders


# -- CSV files -------------------------------------------------------------------------------------------------


def test_csv_columns_may_be_in_any_order_among_others(file, nace):
    lines = ["Parent,label,Code", *(f'{parent},"any, thing",{code}' for code, parent in NACE), ",,"]
    assert Hierarchy.from_csv(file("\ufeff" + "\r\n".join(lines), "codes.csv")) == nace


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first line must name the columns 'code', 'parent'; 'code' is missing"),
        ("A,\nB,\n", "first line must name the columns 'code', 'parent'; 'code' is missing"),
        ("code.parent\nA.\n", "first line must name the columns 'code', 'parent'; 'code' is missing"),
        ("code,parent\n", "holds no codes"),
        ("code,parent\nA,\nB\n", "line 3: expected 2 fields, found 1"),
        ("code,parent\nA,B\nB,A\n", "their own ancestors"),
        ("code,parent\nA,\n,A\n", "Code number 2 is empty"),
        pytest.param('code,parent\n"' + "A" * 200_000, "cannot be read as CSV", id="a quote that is never closed"),
        (b"code,parent\nR\x81gion,\n", "cannot be read. Save it as text in UTF-8"),
    ],
)
def test_csv_files_that_cannot_be_used(file, text, message):
    path = file(text, "codes.csv")
    with pytest.raises(InputError, match=message) as error:
        Hierarchy.from_csv(path)
    assert str(path) in str(error.value)


# -- hrc files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("A\n@A1\n@@A1x\n@A2\nB\n@B1\n", id="plain"),
        pytest.param("A  \n@A1\t\n@@A1x \n@A2\nB\n@B1", id="trailing blanks, no newline at the end"),
        pytest.param("\ufeffA\r\n@A1\r\n@@A1x\r\n@A2\r\nB\r\n@B1\r\n", id="from Windows, with a BOM"),
        pytest.param("A\n@ A1\n@@ A1x\n@ A2\nB\n@ B1\n", id="a blank after the leaders"),
        pytest.param("A\n @A1\n @ @A1x\n @A2\nB\n @B1\n", id="blanks before and between the leaders"),
        pytest.param("\nA\n\n@A1\n@@A1x\n   \n@A2\nB\n@B1\n\n", id="blank lines"),
    ],
)
def test_hrc_files_as_they_occur(file, text):
    hierarchy = Hierarchy.from_hrc(file(text))
    assert hierarchy.codes == ("Total", "A", "A1", "A1x", "A2", "B", "B1")
    assert parents_of(hierarchy) == parents_of(Hierarchy.from_pairs(NACE))


def test_hrc_with_another_leader_and_total(file):
    hierarchy = Hierarchy.from_hrc(file("A\n--A@1\n----x\n--A@2\n"), total="all", leader="--")
    assert parents_of(hierarchy) == {"all": None, "A": "all", "A@1": "A", "x": "A@1", "A@2": "A"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no codes"),
        ("\n  \n", "holds no codes"),
        ("@A\n", "line 1: 'A' is 1 levels down but the line before allows 0"),
        ("A\n\n@@A1\n", "line 3: 'A1' is 2 levels down but the line before allows 1"),
        ("A\n@A1\nB\n@@B1\n", "line 4: 'B1' is 2 levels down but the line before allows 1"),
        ("A\n@A1\n@A1\n", "line 3: code 'A1' occurs a second time, first in line 2"),
        ("A\n@A\n", "line 2: code 'A' occurs a second time, first in line 1"),
        ("A\n@\n", "Code number 2 is empty"),
        ("A\nTotal\n", "'Total' is also listed as a part"),
        ("Total\n@A\n", "'Total' is also listed as a part"),
        (b"R\x81gion\n", "cannot be read. Save it as text in UTF-8"),
    ],
)
def test_hrc_files_that_cannot_be_used(file, text, message):
    path = file(text)
    with pytest.raises(InputError, match=message) as error:
        Hierarchy.from_hrc(path)
    assert str(path) in str(error.value)


def test_an_empty_leader_would_mark_every_level(file):
    with pytest.raises(HierarchyError, match="leader="):
        Hierarchy.from_hrc(file("A\n"), leader="")


@pytest.mark.parametrize("read", [Hierarchy.from_hrc, Hierarchy.from_csv])
def test_files_that_are_not_there(read, tmp_path):
    with pytest.raises(FormatError, match=r"nowhere\.hrc does not exist"):
        read(tmp_path / "nowhere.hrc")
    with pytest.raises(FormatError, match="cannot be read"):
        read(tmp_path)


def test_hrc_text_needs_one_tree_and_a_leader_that_begins_no_code():
    with pytest.raises(HierarchyError, match="one tree"):
        Hierarchy.join(*two_groupings()).to_hrc()
    with pytest.raises(HierarchyError, match="'@x'"):
        Hierarchy.flat(["@x", "y"]).to_hrc()
    assert Hierarchy.flat(["@x", "y"]).to_hrc(leader="#") == "@x\ny\n"


# -- digits and columns ----------------------------------------------------------------------------------------


def test_levels_read_digits_from_the_left():
    hierarchy = Hierarchy.from_levels(["34120", "34110", "34121", "35200"], (3, 1, 1))
    assert parents_of(hierarchy) == {
        "Total": None, "341": "Total", "3412": "341", "34120": "3412", "3411": "341", "34110": "3411", "34121": "3412",
        "352": "Total", "3520": "352", "35200": "3520",
    }  # fmt: skip


def test_levels_take_repeated_and_short_codes():
    """Some classifications end early: '36' has no subdivisions."""
    hierarchy = Hierarchy.from_levels(["351", "351", "36"], (2, 1))
    assert parents_of(hierarchy) == {"Total": None, "35": "Total", "351": "35", "36": "Total"}


@pytest.mark.parametrize(
    ("codes", "widths", "total", "message"),
    [
        (["11"], (), "Total", "positive integers"),
        (["11"], (1, 0), "Total", "positive integers"),
        (["111"], (1, 1), "Total", "'111' has 3 characters"),
        (["11", ""], (1, 1), "Total", "'' has 0 characters"),
        (["1", "11"], (1, 1), "Total", "prefixes of other codes: '1'"),
        (["11", "21"], (1, 1), "1", "total '1' is also a code or prefix"),
        (["11", "21"], (1, 1), "21", "total '21' is also a code or prefix"),
    ],
)
def test_levels_that_do_not_fit_the_codes(codes, widths, total, message):
    with pytest.raises(HierarchyError, match=message):
        Hierarchy.from_levels(codes, widths, total)


def test_nested_columns_coarse_to_fine():
    frame = pd.DataFrame(
        {"class": ["a1", "a2", "b1", "a1"], "sector": ["A", "A", "B", "A"], "turnover": [1.0, 2.0, 3.0, 4.0]}
    )
    hierarchy = Hierarchy.from_columns(frame, ["sector", "class"])
    assert hierarchy.codes == ("Total", "A", "a1", "a2", "B", "b1")
    assert parents_of(hierarchy) == {"Total": None, "A": "Total", "a1": "A", "a2": "A", "B": "Total", "b1": "B"}


def test_a_code_repeated_at_the_next_level_is_one_code():
    frame = pd.DataFrame({"sector": ["A", "B"], "branch": ["A", "B2"], "class": [1, 2]})
    hierarchy = Hierarchy.from_columns(frame, ["sector", "branch", "class"])
    assert parents_of(hierarchy) == {"Total": None, "A": "Total", "1": "A", "B": "Total", "B2": "B", "2": "B2"}


@pytest.mark.parametrize(
    "sector",
    [
        pd.Series(["A", None]),
        pd.Series(["A", np.nan], dtype=object),
        pd.Series(["A", pd.NA], dtype="string"),
        pd.Series(["A", None], dtype="category"),
        pd.Series([1.0, np.nan]),
        pd.Series([1, pd.NA], dtype="Int64"),
    ],
    ids=lambda series: str(series.dtype),
)
def test_missing_codes_in_columns_are_not_guessed(sector):
    frame = pd.DataFrame({"sector": sector, "class": ["a", "b"]})
    with pytest.raises(HierarchyError, match="'sector' has missing codes"):
        Hierarchy.from_columns(frame, ["sector", "class"])
    with pytest.raises(HierarchyError, match="'sector' has missing codes"):
        Hierarchy.from_columns(frame, ["class", "sector"])


def test_columns_that_do_not_nest():
    frame = pd.DataFrame({"sector": ["A", "B"], "class": ["x", "x"]})
    with pytest.raises(HierarchyError, match="'x' in column 'class' lies in both 'A' and 'B'") as error:
        Hierarchy.from_columns(frame, ["sector", "class"])
    assert error.value.offenders == ["x"]


@pytest.mark.parametrize("column", ["sector", "class"])
def test_records_coded_as_the_total_are_not_taken_for_it(column):
    frame = pd.DataFrame({"sector": ["A", "B"], "class": ["a", "b"]})
    frame.loc[1, column] = "Total"
    with pytest.raises(HierarchyError, match="'Total'"):
        Hierarchy.from_columns(frame, ["sector", "class"])
    assert len(Hierarchy.from_columns(frame, ["sector", "class"], total="all")) == 5


# -- several trees ---------------------------------------------------------------------------------------------


def two_groupings() -> tuple[Hierarchy, Hierarchy]:
    """Size classes 1 to 4, regrouped two ways that do not nest."""
    fine = [("small", ""), ("large", ""), *((str(i), "small" if i < 3 else "large") for i in range(1, 5))]
    other = [("middle", ""), ("1", ""), ("4", ""), ("2", "middle"), ("3", "middle")]
    return Hierarchy.from_pairs(fine), Hierarchy.from_pairs(other)


def test_join_keeps_both_trees_over_the_same_leaves():
    first, second = two_groupings()
    joined = Hierarchy.join(first, second)
    assert joined.codes == ("Total", "small", "large", "1", "2", "3", "4", "middle")
    assert parents_of(joined, 0) == parents_of(first)
    assert parents_of(joined, 1) == parents_of(second)
    assert [joined.codes[i] for i in np.flatnonzero(joined.is_leaf)] == ["1", "2", "3", "4"]
    assert joined.depth[joined.index("middle")] == 1
    assert joined.depth[joined.index("2")] == 2
    leaf, code = joined.ancestors
    above_2 = {joined.codes[c] for i, c in zip(leaf, code, strict=True) if joined.codes[i] == "2"}
    assert above_2 == {"2", "small", "middle", "Total"}
    assert [joined.codes[i] for i in joined.order()] == ["Total", "small", "1", "2", "large", "3", "4", "middle"]


def test_trees_that_are_the_same_are_kept_once():
    first, second = two_groupings()
    assert Hierarchy.join(first, first) == first
    assert len(Hierarchy.join(first, second, first).parents) == 2
    assert Hierarchy.union(Hierarchy.join(first, second), second) == Hierarchy.join(first, second)


def test_a_group_that_two_trees_share_gives_one_equation():
    one = Hierarchy.from_pairs([("A", ""), ("B", ""), ("C", ""), ("A1", "A"), ("A2", "A")])
    two = Hierarchy.from_pairs([("BC", ""), ("A", ""), ("A1", "A"), ("A2", "A"), ("B", "BC"), ("C", "BC")])
    joined = Hierarchy.join(one, two)
    written = [(joined.codes[p], {joined.codes[c] for c in children}) for _, p, children in joined.equations()]
    assert len(written) == 4
    assert written.count(("A", {"A1", "A2"})) == 1


def test_join_refuses_trees_over_different_leaves():
    with pytest.raises(HierarchyError, match="do not share their leaves: 'B', 'C' differ") as error:
        Hierarchy.join(Hierarchy.flat(["A", "B"]), Hierarchy.flat(["A", "C"]))
    assert error.value.offenders == ["B", "C"]


def test_union_takes_a_finer_and_a_coarser_tree():
    fine = Hierarchy.from_pairs([("A", ""), ("B", ""), ("a1", "A"), ("a2", "A")])
    merged = Hierarchy.union(Hierarchy.flat(["A", "B"]), fine)
    assert merged.codes == ("Total", "A", "B", "a1", "a2")
    assert merged.parents[0].tolist() == [ROOT, 0, 0, ABSENT, ABSENT]
    assert sum(1 for _ in merged.equations()) == 2


def test_in_a_union_a_leaf_belongs_to_the_groups_its_group_is_part_of():
    """a1 is in A, and A is in the region group of the coarser tree, where a1 itself is not listed."""
    coarse = Hierarchy.from_pairs([("G", ""), ("C", ""), ("A", "G"), ("B", "G")])
    fine = Hierarchy.from_pairs([("A", ""), ("B", ""), ("C", ""), ("a1", "A"), ("a2", "A")])
    merged = Hierarchy.union(coarse, fine)
    leaf, code = merged.ancestors
    pairs = {(merged.codes[i], merged.codes[c]) for i, c in zip(leaf, code, strict=True)}
    assert len(pairs) == len(leaf)
    assert {c for i, c in pairs if i == "a1"} == {"a1", "A", "G", "Total"}


@pytest.mark.parametrize("together", [Hierarchy.join, Hierarchy.union])
def test_totals_must_have_one_name(together):
    with pytest.raises(HierarchyError, match="have different names: 'Total', 'all'"):
        together(Hierarchy.flat(["A"]), Hierarchy.flat(["A"], total="all"))


# -- the plain constructor -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("codes", "parents", "message"),
    [
        ((), [], "empty"),
        (("T", "A"), [-1], "2 codes but 1 parents"),
        (("T", "A", "A"), [-1, 0, 0], "more than once: 'A'"),
        (("T", "A"), [-1, -1], "exactly one total.*'T', 'A'"),
        (("A", "T"), [1, -1], "lists it first"),
        (("T", "A"), [0, 0], "exactly one total"),
        (("T", "A"), [-1, 2], "outside the list"),
        (("T", "A"), [-1, -3], "outside the list"),
        (("T", "A", "B"), [-1, 2, 1], "their own ancestors: 'A', 'B'"),
        (("T", "A"), [-1, -2], "belong to no tree: 'A'"),
        (("T", "A", "B"), [-1, -2, 1], "parents of 'B' are not connected"),
        (("T", "A", "B"), [[-1, 0, -2], [-1, -2, 1]], "parents of 'B' are not connected"),
        (("T", "A", "B"), [[-1, 0, 0], [-2, -2, -2]], "exactly one total"),
    ],
)
def test_parents_that_are_no_tree(codes, parents, message):
    with pytest.raises(HierarchyError, match=message):
        Hierarchy(codes, np.array(parents, dtype=np.int64))


def test_duplicates_in_a_long_list_are_found_at_once():
    codes = [str(i) for i in range(50_000)] * 2
    with pytest.raises(HierarchyError, match="and 49997 more"):
        Hierarchy.flat(codes)
    with pytest.raises(HierarchyError, match="and 49997 more"):
        Hierarchy.from_pairs([(code, "") for code in codes])


def test_codes_are_looked_up_by_name(nace):
    assert nace.index("A1x") == 6
    assert "A1x" in nace
    assert "A1y" not in nace
    with pytest.raises(HierarchyError, match="'A1y' is not in the hierarchy of 'Total'") as error:
        nace.index("A1y")
    assert error.value.offenders == ["A1y"]


def test_repr_says_how_large_it_is(nace):
    assert repr(nace) == "Hierarchy('Total': 7 codes, 3 leaves)"
    assert repr(Hierarchy.join(*two_groupings())) == "Hierarchy('Total': 8 codes, 4 leaves, 2 trees)"


def test_equality_goes_by_codes_and_parents(nace):
    assert nace == Hierarchy.from_pairs(NACE)
    assert hash(nace) == hash(Hierarchy.from_pairs(NACE))
    assert nace != Hierarchy.from_pairs([*NACE[:-1], ("A1x", "A2")])
    assert nace != Hierarchy.from_pairs([*NACE[:-1], ("A1y", "A1")])
    assert nace != Hierarchy.from_pairs(NACE, total="all")
    assert nace != "nace"


# -- against a second opinion ----------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn, most: int = 14) -> Hierarchy:
    """Any tree, its codes in any order."""
    n = draw(st.integers(1, most))
    above = [ROOT, *(draw(st.integers(0, i - 1)) for i in range(1, n))]
    place = [0, *(1 + p for p in draw(st.permutations(range(n - 1))))]
    parents = np.zeros(n, dtype=np.int64)
    for i, parent in enumerate(above):
        parents[place[i]] = ROOT if parent == ROOT else place[parent]
    return Hierarchy(tuple(f"c {i}" for i in range(n)), parents)


def path_up(parent: np.ndarray, code: int) -> list[int]:
    path = [code]
    while parent[path[-1]] != ROOT:
        path.append(int(parent[path[-1]]))
    return path


def preorder(parent: np.ndarray, code: int = 0) -> list[int]:
    children = [i for i in range(len(parent)) if parent[i] == code]
    return [code, *(below for child in children for below in preorder(parent, child))]


@settings(deadline=None)
@given(trees())
def test_one_tree_agrees_with_walking_it(hierarchy):
    parent = hierarchy.parents[0]
    n = len(hierarchy)
    paths = [path_up(parent, i) for i in range(n)]
    assert hierarchy.depth.tolist() == [len(path) - 1 for path in paths]
    assert hierarchy.is_leaf.tolist() == [i not in parent for i in range(n)]
    assert hierarchy.order().tolist() == preorder(parent)
    leaf, code = hierarchy.ancestors
    expected = [(i, c) for i in range(n) if i not in parent for c in sorted(paths[i])]
    assert list(zip(leaf.tolist(), code.tolist(), strict=True)) == expected
    written = {group: children.tolist() for _, group, children in hierarchy.equations()}
    assert written == {g: [i for i in range(n) if parent[i] == g] for g in range(n) if g in parent}


@settings(deadline=None)
@given(trees())
def test_one_tree_survives_every_way_of_writing_it_down(tmp_path_factory, hierarchy):
    up = {code: parent for code, parent in parents_of(hierarchy).items() if parent is not None}
    pairs = list(up.items())
    assert Hierarchy.from_pairs(pairs, total="c 0") == hierarchy
    if len(hierarchy) == 1:
        return
    path = tmp_path_factory.mktemp("hierarchies") / "codes"
    path.write_text("code,parent\nc 0,\n" + "".join(f"{code},{parent}\n" for code, parent in pairs))
    assert Hierarchy.from_csv(path) == hierarchy
    path.write_text(hierarchy.to_hrc())
    again = Hierarchy.from_hrc(path, total="c 0")
    assert parents_of(again) == parents_of(hierarchy)
    assert again.codes == tuple(hierarchy.codes[i] for i in hierarchy.order())


@settings(deadline=None)
@given(st.data())
def test_several_trees_agree_with_walking_each(data):
    """Random groupings of the same leaves, each with groups of its own."""
    leaves = [f"leaf {i}" for i in range(data.draw(st.integers(1, 6)))]
    grown = []
    for t in range(data.draw(st.integers(2, 3))):
        groups = [f"group {t}.{g}" for g in range(data.draw(st.integers(1, 3)))]
        member = {leaf: data.draw(st.sampled_from(groups)) for leaf in leaves}
        grown.append(
            Hierarchy.from_pairs([(g, "Total") for g in groups if g in member.values()] + list(member.items()))
        )
    joined = Hierarchy.join(*grown)
    leaf, code = joined.ancestors
    found = {(joined.codes[i], joined.codes[c]) for i, c in zip(leaf, code, strict=True)}
    assert len(found) == len(leaf)
    assert found == {
        (h.codes[i], h.codes[c])
        for h in grown
        for i in np.flatnonzero(h.is_leaf)
        for c in path_up(h.parents[0], int(i))
    }
    written = [(p, tuple(children)) for _, p, children in joined.equations()]
    assert len(written) == len(set(written))
    named = {(joined.codes[p], frozenset(joined.codes[c] for c in children)) for p, children in written}
    assert named == {
        (h.codes[p], frozenset(h.codes[c] for c in children)) for h in grown for _, p, children in h.equations()
    }
    assert sorted(joined.order().tolist()) == list(range(len(joined)))


# -- missing codes ----------------------------------------------------------------------------------------------------


def test_codes_that_mean_missing_are_below_the_total(nace):
    marked = nace.with_missing(["99", nace.codes[-1]])
    assert marked.missing == {"99", nace.codes[-1]}
    assert marked.codes == (*nace.codes, "99")
    assert marked.parents[:, -1].tolist() == [0]
    assert marked.in_order(["99"]).missing == marked.with_labels({"": {"99": "unknown"}}).missing == marked.missing
    joined = Hierarchy.join(marked, marked)
    assert (joined.missing, len(joined.parents)) == (marked.missing, 1)
    both = Hierarchy.union(nace, Hierarchy.flat(["99"], nace.total).with_missing(["99"]))
    assert both.missing == {"99"}


def test_a_group_does_not_mean_missing(nace):
    group = next(code for code, leaf in zip(nace.codes, nace.is_leaf, strict=True) if not leaf and code != nace.total)
    for code in (group, nace.total):
        with pytest.raises(HierarchyError, match="Codes that mean missing have codes below them"):
            nace.with_missing([code])
