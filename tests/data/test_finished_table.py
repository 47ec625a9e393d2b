"""Finished tables: read from anywhere, believed only when they add up."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from discreet.data.finished_table import read_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.spelling import Spelling
from discreet.errors import DiscreetError, FormatError, InputError, TableError
from discreet.testing import random_hierarchy, random_table

REGION = Hierarchy.from_pairs([("N", ""), ("S", ""), ("N1", "N"), ("N2", "N")])

COLUMNS = {
    "region": ["Total", "Total", "Total", "01", "01", "NA", "NA", "NA"],
    "size": ["Total", "s", "m", "Total", "s", "Total", "s", "m"],
    "turnover": [1234.5, 734.5, 500.0, 234.5, 234.5, 1000.0, 500.0, 500.0],
    "firms": [9, 5, 4, 2, 2, 7, 3, 4],
}
VALUES = {
    (region, size): turnover
    for region, size, turnover in zip(COLUMNS["region"], COLUMNS["size"], COLUMNS["turnover"], strict=True)
}


def columns(**changed: list[Any]) -> dict[str, list[Any]]:
    return {**COLUMNS, **changed}


def with_cell(column: str, row: int, content: Any) -> dict[str, list[Any]]:
    return columns(**{column: [content if i == row else old for i, old in enumerate(COLUMNS[column])]})


def refuse(kind: type[DiscreetError], message: str, source: Any, by: Any = ("region", "size"), **options: Any) -> Any:
    """The error, after a look at whether it gives away a value."""
    with pytest.raises(kind, match=message) as error:
        read_table(source, by, options.pop("value", "turnover"), **options)
    message = str(error.value) + repr(error.value.offenders)
    for number in ("1234", "734", "234.5", "500", "1000"):
        assert number not in message
    return error.value


# -- where it comes from ---------------------------------------------------------------------------------------


def to_excel(frame: pd.DataFrame, path: Path) -> None:
    frame.to_excel(path, index=False)


def to_gzip(frame: pd.DataFrame, path: Path) -> None:
    path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))


FILES: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "t.csv": lambda frame, path: frame.to_csv(path, index=False),
    "T.CSV": lambda frame, path: frame.to_csv(path, index=False),
    "bom.csv": lambda frame, path: frame.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n"),
    "t.csv.gz": to_gzip,
    "t.parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "t.xlsx": to_excel,
}
MEMORY: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "dict": dict,
    "rows": lambda data: [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)],
    "pandas": pd.DataFrame,
    "pandas, category": lambda data: pd.DataFrame(data).astype({"region": "category", "size": "category"}),
    "pandas, any index": lambda data: pd.DataFrame(data, index=[7, 7, 3, 1, 0, 2, 2, 9]),
    "pandas, nullable": lambda data: pd.DataFrame(data).convert_dtypes(),
    "polars": pl.DataFrame,
    "arrow": lambda data: pl.DataFrame(data).to_arrow(),
}


@pytest.fixture(params=[*FILES, *MEMORY])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param in MEMORY:
        return MEMORY[request.param](COLUMNS)
    FILES[request.param](pd.DataFrame(COLUMNS), tmp_path / request.param)
    return tmp_path / request.param


def test_the_same_table_from_every_source(source):
    """Leading zeros stay, and 'NA' (Namibia, or not available?) is a code like any other."""
    table = read_table(source, ["region", "size"], "turnover", count="firms")
    assert table.dimensions["region"].codes == ("Total", "01", "NA")
    assert table.dimensions["size"].codes == ("Total", "m", "s")  # in the file they are in the order of their values
    found = {tuple(label.split(" × ")): value for label, value in zip(table.labels(), table.value, strict=True)}
    assert found == VALUES
    assert table.response == "turnover"
    assert table.count[table.index("NA × m")] == 4
    assert table.count.dtype == np.int64
    assert table.relations.shape[0] == 6
    assert np.all(table.relations @ table.value == 0)


def test_the_order_of_rows_is_only_that_of_the_codes():
    """With hierarchies, which have an order of their own, it does not matter."""
    shuffled = pd.DataFrame(COLUMNS).sample(frac=1, random_state=3)
    by = {"region": Hierarchy.flat(["01", "NA"]), "size": Hierarchy.flat(["s", "m"])}
    one, other = (read_table(frame, by, "turnover") for frame in (COLUMNS, shuffled))
    assert one.digest == other.digest


def test_a_path_may_be_a_string(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "t.csv", index=False)
    assert len(read_table(str(tmp_path / "t.csv"), ["region", "size"], "turnover")) == 8


def test_excel_numbers_and_text_that_looks_like_numbers(tmp_path):
    book = Workbook()
    for row in (["code", "value"], ["Total", 3], [7, 1], ["007", 2]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    two = {"code": Spelling(merge={"7": "7"})}
    assert read_table(tmp_path / "t.xlsx", ["code"], "value", spelling=two).labels() == ["Total", "007", "7"]


@pytest.mark.parametrize("years", [[2020, 2021], [2020.0, 2021.0], pd.array([2020, 2021], dtype="Int64")], ids=str)
def test_codes_may_be_whole_numbers(years):
    frame = pd.DataFrame({"year": years, "value": [1.0, 1.0]})
    hierarchy = Hierarchy.from_pairs([("2021", "2020")])
    assert read_table(frame, {"year": hierarchy}, "value").labels() == ["2020", "2021"]


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "xlsx"])
def test_large_values_and_decimals_are_read_exactly(tmp_path, suffix):
    """Excel itself keeps 15 digits, which is no loss here."""
    value = [100000000001001.1, 100000000000000.0, 1000.1, 1.0]
    frame = pd.DataFrame({"code": ["Total", "a", "b", "c"], "value": value})
    FILES[f"t.{suffix}"](frame, tmp_path / f"t.{suffix}")
    assert read_table(tmp_path / f"t.{suffix}", ["code"], "value").value.tolist() == value


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32))
def test_a_table_that_was_written_out_is_read_back(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    table = random_table(rng, [random_hierarchy(rng, 4, levels=2, trees=2), 3], negative=0.3)
    path = tmp_path_factory.mktemp("tables") / "t.csv"
    table.frame().sample(frac=1, random_state=1).to_csv(path, index=False)
    again = read_table(path, table.dimensions, "value")
    # Sums of absolute contributions are not written out.
    assert again.with_columns(magnitude=table.magnitude).digest == table.digest


# -- files that are none ---------------------------------------------------------------------------------------


def test_a_file_that_is_not_there(tmp_path):
    for name in FILES:
        with pytest.raises(FormatError, match="does not exist"):
            read_table(tmp_path / name, ["region"], "turnover")


def test_a_file_of_another_kind(tmp_path):
    (tmp_path / "t.ods").write_text("region,turnover\n")
    refuse(FormatError, r"should end in \.csv, .*\.csv\.gz.*\.parquet, \.pq, \.xlsx", tmp_path / "t.ods")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.xlsx"])
@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "binary"])
def test_damaged_files_are_said_to_be_damaged(tmp_path, name, damage):
    path = tmp_path / name
    FILES[name](pd.concat([pd.DataFrame(COLUMNS)] * 50), path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = bytes(255 - byte for byte in whole[middle - 20 : middle + 20])
    path.write_bytes({
        "empty": b"",
        "cut": whole[:middle],
        "flipped": whole[: middle - 20] + flipped + whole[middle + 20 :],
        "binary": bytes(range(128, 256)) * 9,
    }[damage])  # fmt: skip
    error = refuse(InputError, ".", path)
    # Half a CSV file is still one, and Parquet does not check its pages; then cells or totals are wrong.
    if (name, damage) not in {("t.csv", "cut"), ("t.parquet", "flipped")}:
        assert isinstance(error, FormatError)
        assert str(path) in str(error)


def test_a_header_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("region,size,turnover\n")
    refuse(TableError, "no cells", tmp_path / "t.csv")
    refuse(TableError, "no cells", {"region": [], "size": [], "turnover": []})


@pytest.mark.parametrize("source", [5, "", {"region": ["Total"], "turnover": [1.0, 2.0]}, {"region": "Total"}], ids=str)
def test_sources_that_are_no_table(source):
    refuse(InputError, ".", source)


def test_lines_of_different_length(tmp_path):
    (tmp_path / "t.csv").write_text("region,turnover\nTotal,1000\nN,500,500,500\n")
    refuse(FormatError, "line 3", tmp_path / "t.csv", ["region"])


# -- columns ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "column"),
    [
        ({"by": ["region", "age"]}, "age"),
        ({"value": "sales"}, "sales"),
        ({"count": "n"}, "n"),
        ({"top": ["turnover", "second"]}, "second"),
        ({"top": ["turnover"], "who": ["name"]}, "name"),
        ({"extra": ["pay"]}, "pay"),
    ],
)
def test_missing_columns_are_named_beside_those_there_are(options, column):
    error = refuse(
        InputError,
        f"no column '{column}'. (It has 'region', 'size', 'turnover', 'firms'|Did you mean)",
        COLUMNS,
        **options,
    )
    assert error.offenders == [column]


def test_the_first_cell_of_a_file_without_a_header_is_not_repeated(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "t.csv", index=False, header=False)
    refuse(InputError, "no column 'region'", tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.parquet", ""])
@pytest.mark.parametrize(
    ("renamed", "options", "message"),
    [
        (
            "Turnover",
            {"count": "Turnover"},
            "value is called 'turnover' and count 'Turnover': names must differ in more",
        ),
        ("Region", {"extra": ["Region"]}, "a dimension is called 'region' and extra 'Region'.*Rename one of the two"),
    ],
)
def test_names_that_differ_only_in_capitals_are_refused(tmp_path, name, renamed, options, message):
    frame = pd.DataFrame(COLUMNS).rename(columns={"firms": renamed})
    source: Any = tmp_path / name if name else frame
    if name:
        {"t.csv": frame.to_csv, "t.xlsx": frame.to_excel}.get(name, frame.to_parquet)(source, index=False)
    refuse(InputError, message, source, **options)


def test_at_least_one_dimension():
    refuse(InputError, "at least one dimension", COLUMNS, by=[])


# -- codes -----------------------------------------------------------------------------------------------------


def test_unknown_codes_are_listed():
    error = refuse(
        TableError, "2 codes in column 'region' are not in its hierarchy", COLUMNS, {"region": REGION, "size": None}
    )
    assert error.offenders == ["01", "NA"]


def test_without_a_hierarchy_the_total_must_be_there():
    error = refuse(
        TableError, "'region' has no code 'all' for its total. Name the total with total=", COLUMNS, total="all"
    )
    assert error.offenders == []


def test_the_total_may_have_another_name():
    frame = pd.DataFrame(COLUMNS).replace("Total", "Σ")
    table = read_table(frame, ["region", "size"], "turnover", total="Σ")
    assert table.label(0) == "Σ × Σ"


@pytest.mark.parametrize("empty", [None, np.nan, ""])
def test_empty_codes_are_not_guessed(empty, tmp_path):
    frame = pd.DataFrame(with_cell("size", 4, empty))
    refuse(TableError, "'size' has 1 empty code, first in row 5", frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    refuse(TableError, "'size' has 1 empty code, first in row 5", tmp_path / "t.csv")


def test_cells_that_occur_twice_are_listed():
    frame = pd.concat([pd.DataFrame(COLUMNS)] * 2)
    error = refuse(TableError, "8 cells occur more than once", frame)
    assert "01 × s" in error.offenders


# -- totals ----------------------------------------------------------------------------------------------------


def test_missing_totals_are_an_error():
    """Others may know them, or they may be published elsewhere."""
    frame = pd.DataFrame(COLUMNS).query("not (region == '01' and size == 'Total')")
    error = refuse(TableError, "1 total is missing, e.g. '01 × Total'.*unpublished_totals=True", frame)
    assert error.offenders == ["01 × Total"]


def test_unpublished_totals_leave_only_what_follows_without_them():
    """N is nowhere published, but a reader who knows the total and S still knows what N1 and N2 add up to."""
    frame = {"region": ["Total", "S", "N1", "N2"], "turnover": [100, 40, 10, 50]}
    table = read_table(frame, {"region": REGION}, "turnover", unpublished_totals=True)
    assert table.labels() == ["Total", "S", "N1", "N2"]
    assert table.relations.toarray().tolist() == [[-1, 1, 1, 1]]


@pytest.mark.parametrize("rounded", [0, 1])
def test_a_total_under_a_name_of_its_own_is_no_code(rounded):
    """It would be in no relation: the audit would call a single suppressed code of a region safe."""
    sizes = {"01": [10, 20, 31], "02": [5, 6, 7], "All": [15 + rounded / 9, 26, 38], "Total": [15, 26, 38]}
    frame = pd.DataFrame(
        [
            (region, size, x)
            for region, row in sizes.items()
            if region != "Total"
            for size, x in zip("stu", row, strict=True)
        ],
        columns=["region", "size", "turnover"],
    )
    sums = frame.groupby("region", as_index=False).turnover.sum().assign(size="Total")
    message = "'region' has no total 'Total', but its code 'All' is the sum of all others.*total = \"All\" under"
    by = {"region": Hierarchy.flat(["01", "02", "All"]), "size": Hierarchy.flat(["s", "t", "u"])}
    with pytest.raises(TableError, match=message):
        read_table(pd.concat([frame, sums]), by, "turnover", unpublished_totals=True, tolerance=0.01)
    others = frame[frame.region != "All"]
    read_table(others, by, "turnover", unpublished_totals=True)  # two codes are no total and its part


def test_unpublished_margins():
    """Only inner cells and the grand total are published."""
    inner = pd.DataFrame(COLUMNS)
    inner = inner[(inner["region"] != "Total") & (inner["size"] != "Total") | (inner["turnover"] == 1234.5)]
    dimensions = {"region": Hierarchy.flat(["01", "NA"]), "size": Hierarchy.flat(["s", "m"])}
    table = read_table(inner, dimensions, "turnover", unpublished_totals=True)
    assert table.relations.toarray().tolist() == [[-1, 1, 1, 1]]


def test_a_table_without_any_total_has_no_relations():
    frame = {"region": ["S", "N1", "N2"], "turnover": [40, 10, 50]}
    table = read_table(frame, {"region": REGION}, "turnover", unpublished_totals=True)
    assert table.relations.shape == (0, 3)


def test_unpublished_totals_must_not_hide_that_a_table_does_not_add_up():
    frame = {"region": ["Total", "S", "N1", "N2"], "turnover": [1234, 500, 234, 734]}
    refuse(TableError, "not additive.*'Total'", frame, {"region": REGION}, unpublished_totals=True)


def test_nothing_changes_when_all_totals_are_there_anyway():
    one, other = (read_table(COLUMNS, ["region", "size"], "turnover", unpublished_totals=u) for u in (True, False))
    assert one.digest == other.digest


def test_totals_that_do_not_add_up_are_named():
    error = refuse(TableError, "not additive: 2 totals differ", with_cell("turnover", 3, 235.5))
    assert sorted(error.offenders) == ["01 × Total", "Total × Total"]


def test_rounded_tables_need_a_tolerance():
    rounded = columns(turnover=[1230, 740, 500, 230, 230, 1000, 500, 500])
    said = str(
        refuse(TableError, r"tolerance = 0.001 for 0.1 percent, in \[table\] of a job or as tolerance=", rounded)
    )
    assert "The largest difference is 0.69 percent of the values involved, at 'Total × s'" in said
    table = read_table(rounded, ["region", "size"], "turnover", tolerance=0.01)
    assert table.value[0] == 1230


# -- numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["turnover", "firms", "pay"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("many", "1 of 8 records have text instead of a number .*(record 5|line 6).*nothing else"),
        ("1234 EUR", "text instead of a number.*Remove currencies"),
        ("5 %", "text instead of a number.*5 % may be 5 or 0.05"),
        ("(5)", "text instead of a number.*add parentheses"),
        ("NA", 'text instead of a number.*add missing = ."NA".'),
        ("×", 'text instead of a number.*add missing = ."×".'),
        (None, "no number.*(record 5|line 6).*no_value"),
        (np.nan, "no number.*(record 5|line 6).*no_value"),
        (np.inf, "infinite or undefined number.*record 5|text instead"),
        ("-inf", "text instead of a number"),
    ],
)
def test_cells_without_a_number(tmp_path, column, content, message):
    frame = pd.DataFrame(columns(pay=COLUMNS["firms"])).astype({column: object})
    frame.loc[4, column] = content
    for number, source in enumerate((frame, tmp_path / "t.csv")):
        if number:
            frame.to_csv(source, index=False)
        error = refuse(InputError, message, source, count="firms", extra=["pay"])
        assert f"'{column}'" in str(error)


def test_numbers_may_be_text(tmp_path):
    frame = pd.DataFrame(columns(turnover=[f" {value:.3e} " for value in COLUMNS["turnover"]]))
    assert read_table(frame, ["region", "size"], "turnover", tolerance=0.01).value[0] == 1234  # 1.234e+03


@pytest.mark.parametrize("counts", [[9, 5, 4, 2.5, 2, 7, 3, 4], ["9", "5", "4", "2", "2", "7", "3", "4.5"]])
def test_counts_are_whole(counts):
    refuse(
        TableError,
        "'firms' counts contributors, but not all of its numbers are integers",
        columns(firms=counts),
        count="firms",
    )


def test_counts_are_not_negative():
    error = refuse(TableError, "1 cells have a negative count", with_cell("firms", 4, -2), count="firms")
    assert error.offenders == ["01 × s"]


def test_negative_values_are_welcome():
    frame = {"code": ["Total", "a", "b"], "profit": [-5.5, -7.5, 2]}
    assert read_table(frame, ["code"], "profit").value.tolist() == [-5.5, -7.5, 2]


def test_further_sums_ride_along():
    table = read_table(columns(pay=COLUMNS["firms"]), ["region", "size"], "turnover", extra=["pay", "firms"])
    assert table.extra.keys() == {"pay", "firms"}
    assert table.extra["pay"][table.index("01 × s")] == 2


# -- contributors ----------------------------------------------------------------------------------------------

LARGEST = {
    "code": ["Total", "a", "b"],
    "value": [100.0, 40.0, 60.0],
    "x1": [35.0, 5.0, None],
    "x2": [None, 35.0, -60.0],
    "x3": [-60.0, 0.0, None],
    "w1": [17, 18, None],
    "w2": [None, 17, 19],
    "w3": [19, None, None],
}


def test_contributions_are_sorted_by_size_and_names_follow():
    table = read_table(LARGEST, ["code"], "value", top=["x1", "x2", "x3"], who=["w1", "w2", "w3"])
    assert table.top.tolist() == [[-60, 35, 0], [35, 5, 0], [-60, 0, 0]]
    assert table.contributors == ("17", "18", "19")
    names = [[table.contributors[w] if w >= 0 else "" for w in row] for row in table.top_contributor]
    assert names == [["19", "17", ""], ["17", "18", ""], ["19", "", ""]]


@pytest.mark.parametrize("name", FILES)
def test_a_contributor_is_the_same_in_every_column(tmp_path, name):
    """A column of numbers with gaps becomes floats in many tools: 17 and 17.0 are one and the same respondent."""
    frame = pd.DataFrame(LARGEST)
    frame["w0"] = [17, 18, 19]  # no gaps: stays a whole number
    if "csv" in name.lower():
        frame["w2"] = frame["w2"].astype("Int64")  # a text file has no types: what is written counts
    FILES[name](frame, tmp_path / name)
    table = read_table(tmp_path / name, ["code"], "value", top=["x1", "x2"], who=["w0", "w2"])
    assert table.contributors == ("17", "18", "19")


def test_names_of_contributors_keep_their_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("code,value,x,w\nTotal,3,2,007\na,1,1,7\nb,2,2,007\n")
    table = read_table(tmp_path / "t.csv", ["code"], "value", top=["x"], who=["w"], names="exact")
    assert table.contributors == ("007", "7")


@pytest.mark.parametrize(("top", "who"), [(["x1", "x2"], ["w1"]), (["x1"], ["w1", "w2"]), ([], ["w1"])])
def test_names_without_contributions_are_not_ignored(top, who):
    refuse(InputError, "they belong together", LARGEST, ["code"], value="value", top=top, who=who)


@pytest.mark.parametrize("content", ["much", np.inf])
def test_contributions_are_numbers(content):
    source = {**LARGEST, "x1": [35.0, content, None]}
    refuse(InputError, "column 'x1'", source, ["code"], value="value", top=["x1", "x2"])
