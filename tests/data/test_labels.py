"""Labels and order of codes: of code lists, of hierarchies in CSV, of category types and of finished tables."""

from __future__ import annotations

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from discreet import read_table, tabulate
from discreet.data.hierarchy import Hierarchy
from discreet.data.labels import CodeList, merged_labels
from discreet.errors import FormatError, HierarchyError
from discreet.io import bundle

SIZES = ["50-249", "0-9", "250+", "10-49"]


def test_hierarchies_in_csv_name_codes_in_several_languages(tmp_path):
    (tmp_path / "h.csv").write_text(
        "code;parent;label;Label:DE\nN;;North;Norden\nn1;N; Coast ;\nS;;;Süden\n", encoding="utf-8"
    )
    tree = Hierarchy.from_csv(tmp_path / "h.csv")
    assert [tree.label(code) for code in tree.codes] == ["Total", "North", "Coast", "S"]
    assert [tree.label(code, "de") for code in tree.codes] == ["Total", "Norden", "Coast", "Süden"]
    plain = Hierarchy.from_pairs([("N", ""), ("n1", "N"), ("S", "")])
    assert tree == plain
    assert hash(tree) == hash(plain)


def test_code_lists_order_and_name_codes(tmp_path):
    (tmp_path / "c.csv").write_text("code,label\n0-9,Small\n10-49,\n50-249,Medium\n250+,Large\nother,\n")
    named = Hierarchy.flat(SIZES).with_code_list(CodeList.from_csv(tmp_path / "c.csv"))
    assert named.codes == ("Total", "0-9", "10-49", "50-249", "250+")
    assert [named.label(code) for code in named.codes] == ["Total", "Small", "10-49", "Medium", "Large"]
    nested = Hierarchy.from_pairs([("B", ""), ("A", ""), ("b", "B"), ("a", "A")]).in_order(["A", "B"])
    assert [nested.codes[i] for i in nested.order()] == ["Total", "A", "a", "B", "b"]


def test_faulty_code_lists(tmp_path):
    faults = {
        "code,label\n": "holds no codes",
        "code\na\na\n": "more than once: 'a'",
        "label\nx\n": "'code' is missing",
    }
    for text, says in faults.items():
        (tmp_path / "c.csv").write_text(text)
        with pytest.raises(FormatError, match=says):
            CodeList.from_csv(tmp_path / "c.csv")
    with pytest.raises(HierarchyError, match=r"2 codes not in the code list, e\.g\. 'b', 'c'\. Add them to it"):
        Hierarchy.flat("abc").with_code_list(CodeList(("a",), {}))


def test_labels_stay_with_linked_and_stored_tables(tmp_path):
    one = Hierarchy.flat("ab").with_labels({"": {"a": "A", "zzz": "nowhere"}, "fr": {"b": "B"}})
    other = Hierarchy.flat("ab").with_labels({"": {"a": "other", "b": "second"}})
    assert one.labels == {"": {"a": "A"}, "fr": {"b": "B"}}
    assert Hierarchy.union(one, other).labels == {"": {"a": "A", "b": "second"}, "fr": {"b": "B"}}
    assert merged_labels({"": {}}) == {}
    table = tabulate(pd.DataFrame({"d": list("abab")}), {"d": one})
    bundle.write_table(table, tmp_path / "t.discreet")
    assert bundle.read_table(tmp_path / "t.discreet").dimensions["d"].labels == one.labels


def test_the_order_of_records_does_not_show_in_that_of_codes(tmp_path):
    """In records sorted by size, the first code would be that of the largest contributor."""
    frame = pd.DataFrame({"size": SIZES * 3, "v": np.arange(12.0)})
    frame.to_csv(tmp_path / "r.csv", index=False)
    for source in (frame, frame[::-1], tmp_path / "r.csv", pa.table(frame), ibis.memtable(frame)):
        assert tabulate(source, "size", "v").dimensions["size"].codes == ("Total", *sorted(SIZES))


def test_codes_of_a_finished_table_are_in_the_order_of_the_file(tmp_path):
    cells = pd.DataFrame({"size": [*SIZES, "Total"], "v": [1.0, 1, 1, 1, 4]})
    cells.to_csv(tmp_path / "t.csv", index=False)
    for source in (cells, tmp_path / "t.csv"):
        assert read_table(source, ["size"], "v").dimensions["size"].codes == ("Total", *SIZES)


@pytest.mark.parametrize("by", ["v", "n"])
@pytest.mark.parametrize("falling", [True, False])
@pytest.mark.parametrize("totals_first", [True, False])
def test_a_finished_table_sorted_by_size_does_not_show_it(by, falling, totals_first):
    """The place of a suppressed cell would say between which values it lies."""
    inner = {"C": (310, 30), "A": (180, 40), "D": (70, 1), "B": (40, 9)}
    frame = pd.DataFrame({"d": list(inner), "v": [v for v, _ in inner.values()], "n": [n for _, n in inner.values()]})
    frame = frame.sort_values(by, ascending=not falling)
    regions = [frame.assign(r=code, v=frame.v * times) for code, times in (("Total", 3), ("S", 2), ("N", 1))]
    regions = regions if totals_first else regions[::-1]
    sums = [part.groupby("r").sum(numeric_only=True).reset_index().assign(d="Total") for part in regions]
    cells = pd.concat([*regions, *sums] if falling else [*sums, *regions])
    assert read_table(cells, ["r", "d"], "v", count="n" if by == "n" else None, tolerance=2.0).dimensions[
        "d"
    ].codes == (*("Total", "A", "B", "C", "D"),)


def test_categories_in_the_order_of_the_records_are_not_used():
    """Programs that make categories as they meet them keep the order of a file that is sorted by size."""
    codes = ["c", "a", "b", "a"]
    met = pd.DataFrame({"d": pd.Categorical(codes, ["c", "a", "b", "unused"]), "v": 1.0})
    arrow = pa.table({"d": pa.array(codes).dictionary_encode(), "v": [1.0] * 4})
    for source in (met, arrow):
        assert tabulate(source, "d", "v").dimensions["d"].codes == ("Total", "a", "b", "c")
    stated = met.assign(d=met.d.cat.as_ordered())
    assert tabulate(stated, "d", "v").dimensions["d"].codes == ("Total", "c", "a", "b")


def test_codes_of_a_category_are_in_its_order(tmp_path):
    ordered = ["0-9", "10-49", "50-249", "250+"]
    frame = pd.DataFrame({"size": pd.Categorical(SIZES, ordered), "v": 1.0})
    frame.to_parquet(tmp_path / "r.parquet", index=False)
    enum = pl.DataFrame({"size": SIZES, "v": [1.0] * 4}, schema_overrides={"size": pl.Enum(ordered)})
    for source in (frame, tmp_path / "r.parquet", pa.Table.from_pandas(frame), enum):
        assert tabulate(source, "size", "v").dimensions["size"].codes == ("Total", *ordered)
    cells = pd.DataFrame({"size": pd.Categorical([*SIZES, "All"], [*ordered, "All"]), "v": [1.0, 1, 1, 1, 4]})
    assert read_table(cells, ["size"], "v", total="All").dimensions["size"].codes == ("All", *ordered)
