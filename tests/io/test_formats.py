"""Files in and out: every format keeps its contract, releases hold no suppressed value, and failures touch nothing."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyaxis import pyaxis
from pyjstat import pyjstat
from pysdmx.io import read_sdmx

from discreet.assess import assess
from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError
from discreet.io import FORMATS, bundle, excel, read_problem, table_layout, write_problem, write_release, writing
from discreet.io.release_check import READERS
from discreet.presentation import Presentation, ReleaseMetadata
from discreet.problem import Problem
from discreet.release import Release, publish
from discreet.testing import (
    cross_table,
    pose,
    random_hierarchy,
    random_linked_table,
    random_problem,
    random_table,
    suppressing,
)

TASKS = ("read_problem", "write_problem", "read_table", "write_table", "write_release", "read_records")
BUNDLES = [suffix for suffix, module in FORMATS.items() if hasattr(module, "write_problem")]
WITHOUT_VALUES = (".csv-metadata.json", ".sdmx-structure.xml")  # they describe other files
RELEASES = [suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release")]


# -- the registry ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_is_documented_and_does_something(suffix):
    module = FORMATS[suffix]
    assert suffix.startswith(".")
    assert suffix == suffix.lower()
    assert module.__doc__
    able = [task for task in TASKS if hasattr(module, task)]
    assert able
    assert ("read_problem" in able) == ("write_problem" in able)


def test_every_format_for_releases_is_read_back_and_checked():
    assert set(READERS) == {suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release")}


@pytest.mark.parametrize("suffix", BUNDLES)
def test_every_format_for_problems_keeps_what_methods_need(tmp_path, suffix):
    problem = random_problem(np.random.default_rng(1), random_table(np.random.default_rng(1), [4, 3]), sliding=True)
    write_problem(problem, tmp_path / f"problem{suffix}")
    again = read_problem(tmp_path / f"problem{suffix}")
    for name in ("status", "cost", "lower", "upper", "sliding", "prior_lower", "prior_upper"):
        assert getattr(again, name).tolist() == getattr(problem, name).tolist()
    assert again.table.value.tolist() == problem.table.value.tolist()
    assert (again.table.relations != problem.table.relations).nnz == 0


@pytest.mark.parametrize("name", ["problem.csv", "problem", "problem.jj.zip", "jj", ".jj2"])
def test_problems_need_a_known_file_name(tmp_path, name):
    problem = pose(cross_table("ab", "cd", np.eye(2)), {})
    with pytest.raises(FormatError, match=r"cannot write a problem.*'\.jj', '\.jj\.gz', '\.discreet'"):
        write_problem(problem, tmp_path / name)
    with pytest.raises(FormatError, match=r"cannot read a problem.*'\.jj', '\.jj\.gz', '\.discreet'"):
        read_problem(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# -- releases --------------------------------------------------------------------------------------------------

# Values whose digits occur nowhere else, in text or in a file's own bookkeeping. Totals first.
VALUES = [
    [987651.5, 314159.25, 673492.25],
    [432198.75, 271828.25, 160370.5],
    [555452.75, 42331.0, 513121.75],
]
SUPPRESSED = ["271828.25", "160370.5", "42331", "513121.75"]
SHOWN = ["987651.5", "314159.25", "673492.25", "432198.75", "555452.75"]


@pytest.fixture
def release() -> Release:
    down, across = Hierarchy.flat(["=1+1", "#N/A"]), Hierarchy.flat(["007", "NA"])
    codes = np.indices((3, 3)).reshape(2, -1)
    table = Table.from_cells({"row": down, "column": across}, codes, np.ravel(VALUES), response="turnover")
    problem = pose(table.check_additive(), {"=1+1 × 007": 1000.0})
    protection = suppressing(problem, *(f"{r} × {c}" for r in ("=1+1", "#N/A") for c in ("007", "NA")))
    ids = {"row": {"=1+1": "ROW1", "#N/A": "ROW2"}}
    told = Presentation(ReleaseMetadata(agency="XX", dataflow="TURNOVER", updated="2026-03-31"), ids=ids)
    return publish(problem, protection, audit(problem, protection), presentation=told)


def everything_in(path: Path) -> bytes:
    """The bytes of a file, and of all that is packed in it."""
    content = path.read_bytes()
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            content += b"".join(archive.read(name) for name in archive.namelist())
    if path.suffix == ".parquet":  # its pages are compressed
        content += repr(pq.read_table(path).to_pydict()).encode()
    return content


@pytest.mark.parametrize("suffix", RELEASES)
def test_no_file_holds_a_hidden_value(tmp_path, release, suffix):
    path = tmp_path / f"release{suffix}"
    write_release(release, path)
    content = everything_in(path)
    for digits in SUPPRESSED:
        assert digits.split(".")[0].encode() not in content
        assert struct.pack("<d", float(digits)) not in content
    for digits in [] if suffix in WITHOUT_VALUES else SHOWN:
        assert digits.encode() in content, "the search finds values"


@pytest.mark.parametrize("suffix", RELEASES)
def test_no_file_says_why_a_cell_is_hidden(tmp_path, release, suffix):
    path = tmp_path / f"release{suffix}"
    write_release(release, path)
    content = everything_in(path).lower().replace(b"primarymeasure", b"")  # what SDMX calls the value
    assert b"primary" not in content
    assert b"secondary" not in content


def test_csv_shows_the_symbol(tmp_path, release):
    write_release(release, tmp_path / "release.csv")
    assert (tmp_path / "release.csv").read_text(encoding="utf-8").splitlines() == [
        "row,column,turnover",
        "Total,Total,987651.5",
        "Total,007,314159.25",
        "Total,NA,673492.25",
        "'=1+1,Total,432198.75",
        "'=1+1,007,×",
        "'=1+1,NA,×",
        "#N/A,Total,555452.75",
        "#N/A,007,×",
        "#N/A,NA,×",
    ]


def test_parquet_has_nulls_and_says_which(tmp_path, release):
    write_release(release, tmp_path / "release.parquet")
    frame = pd.read_parquet(tmp_path / "release.parquet")
    assert frame.columns.tolist() == ["row", "column", "turnover", "suppressed"]
    assert frame["turnover"].isna().tolist() == frame["suppressed"].tolist() == release.suppressed.tolist()
    assert frame["suppressed"].sum() == 4
    assert frame["column"].tolist()[:3] == ["Total", "007", "NA"]
    assert frame["turnover"].dropna().tolist() == [float(digits) for digits in SHOWN]


def test_parquet_does_not_overwrite_a_column(tmp_path):
    clash = Release({"suppressed": ("Total", "a")}, "value", np.array([1.0, 1.0]))
    with pytest.raises(FormatError, match="'suppressed'"):
        write_release(clash, tmp_path / "release.parquet")
    assert list(tmp_path.iterdir()) == []


def test_excel_has_a_list_and_a_cross_table(tmp_path, release):
    write_release(release, tmp_path / "release.xlsx")
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert book.sheetnames == ["table", "cells", "legend"]
    assert [[cell.value for cell in row[:4]] for row in book["table"].rows][:7] == [
        ["turnover by row, column", None, None, None],
        [None, None, None, None],
        [None, "column", None, None],
        ["row", "Total", "007", "NA"],
        ["Total", 987651.5, 314159.25, 673492.25],
        ["=1+1", 432198.75, "×", "×"],
        ["#N/A", 555452.75, "×", "×"],
    ]
    rows = [[cell.value for cell in row] for row in book["cells"].rows]
    assert rows[0] == ["row", "column", "turnover"]
    assert rows[4:7] == [["=1+1", "Total", 432198.75], ["=1+1", "007", "×"], ["=1+1", "NA", "×"]]
    assert len(rows) == 10


def test_a_workbook_can_be_read_and_printed_as_it_is(tmp_path):
    """Numbers with all decimals that were published and no more, columns as wide as their entries, headers on every page."""
    codes = {"region": ("Total", "Mecklenburg-Vorpommern", "Berlin"), "sex": ("Total", "f", "m")}
    write_release(Release(codes, "turnover", np.array([1234567.25, 3.5, np.nan])), tmp_path / "release.xlsx")
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert {cell.number_format for cell in book["cells"]["C"][1:3]} == {"#,##0.00"}
    assert book["cells"]["C4"].alignment.horizontal == "right"
    for name in ("table", "cells"):
        sheet = book[name]
        assert sheet.column_dimensions["A"].width > len("Mecklenburg-Vorpommern")
        assert sheet.column_dimensions["C"].width >= 8
        expected = ("$3:$4", "B5") if name == "table" else ("$1:$1", "A2")
        assert (sheet.print_title_rows, sheet.freeze_panes) == expected
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
    counts = Release({"d": ("Total", "a")}, "count", np.array([1200.0, 7.0]))
    write_release(counts, tmp_path / "counts.xlsx")
    assert openpyxl.load_workbook(tmp_path / "counts.xlsx")["cells"]["B2"].number_format == "#,##0"


def test_excel_takes_no_code_for_a_formula_or_an_error(tmp_path, release):
    write_release(release, tmp_path / "release.xlsx")
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    kinds = {cell.data_type for sheet in book for row in sheet.rows for cell in row}
    assert kinds == {"s", "n"}
    with zipfile.ZipFile(tmp_path / "release.xlsx") as archive:
        sheets = [archive.read(name).decode() for name in archive.namelist() if "worksheets" in name]
    assert not any("<f>" in sheet or "<f/>" in sheet for sheet in sheets)


def test_in_a_cross_table_cells_that_are_not_stored_are_zero(tmp_path):
    """As everywhere: what is not listed is a published zero, not a suppressed cell."""
    codes = {"row": ("Total", "a", "Total", "a"), "column": ("Total", "Total", "x", "x")}
    some_cells = Release({**codes, "column": ("Total", "Total", "x", "y")}, "value", np.array([1.0, 1.0, np.nan, 1.0]))
    write_release(some_cells, tmp_path / "release.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "release.xlsx")["table"]
    assert [[cell.value for cell in row[:4]] for row in sheet.rows][4:6] == [["Total", 1, "×", 0], ["a", 1, 0, 1]]


@pytest.mark.parametrize(("dimensions", "sheets"), [(1, ["table"]), (3, ["contents", "Total", "a"])])
def test_excel_shows_tables_of_any_number_of_dimensions(tmp_path, dimensions, sheets):
    codes = {f"d{i}": ("Total", "a") for i in range(dimensions)}
    write_release(Release(codes, "value", np.array([1.5, np.nan]), symbol="="), tmp_path / "release.xlsx")
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert book.sheetnames == [*sheets, "cells", "legend"]
    last = list(book["cells"].rows)[-1]
    assert [cell.value for cell in last] == ["a"] * dimensions + ["="]


def test_excel_refuses_what_a_sheet_cannot_hold(tmp_path, monkeypatch):
    monkeypatch.setattr(excel, "MAX_SHEET_ROWS", 3)
    codes = {"d": ("Total", "a", "b")}
    with pytest.raises(FormatError, match="write CSV or Parquet instead"):
        write_release(Release(codes, "value", np.array([3.0, 1.0, 2.0])), tmp_path / "release.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_excel_leaves_out_a_cross_table_that_is_too_wide(tmp_path, monkeypatch):
    monkeypatch.setattr(table_layout, "MAX_TABLE_COLUMNS", 1)
    codes = {"row": ("Total", "Total"), "column": ("Total", "a")}
    write_release(Release(codes, "value", np.array([1.0, 1.0])), tmp_path / "release.xlsx")
    book = openpyxl.load_workbook(tmp_path / "release.xlsx")
    assert book.sheetnames == ["cells", "legend"]
    assert book["legend"]["B1"].value == "The tables are too large to be shown in rows and columns."


def test_a_long_list_is_written_to_excel_in_one_go(tmp_path):
    n = 6_000
    codes = {"a": tuple(map(str, range(n))), "b": ("Total",) * n}
    write_release(Release(codes, "value", np.arange(n, dtype=float)), tmp_path / "release.xlsx")
    assert pd.read_excel(tmp_path / "release.xlsx", sheet_name="cells")["value"].tolist() == list(range(n))


@pytest.mark.parametrize("suffix", RELEASES)
def test_large_values_and_decimals_are_written_in_full(tmp_path, suffix):
    values = [123456789012345.25, 0.125, -17.0, 1e-9]
    codes = {"d": ("Total", "a", "b", "c")}
    path = tmp_path / f"release{suffix}"
    told = Presentation(ReleaseMetadata(agency="XX", dataflow="VALUES"))
    write_release(Release(codes, "value", np.array(values), presentation=told), path)
    if suffix not in WITHOUT_VALUES:
        assert numbers_in(path, suffix) == pytest.approx(values, rel=1e-15)


def numbers_in(path: Path, suffix: str) -> list[float]:
    """The values of a release in a file, as other programs read them."""
    if suffix == ".px":
        return pyaxis.parse(str(path), encoding="windows-1252")["DATA"]["DATA"].astype(float).tolist()
    if suffix == ".json":
        return pyjstat.Dataset.read(path.read_text(encoding="utf-8")).write("dataframe")["value"].tolist()
    if suffix in (".sdmx.csv", ".sdmx1.csv", ".sdmx.xml"):
        return read_sdmx(path).data[0].data["OBS_VALUE"].astype(float).tolist()
    if suffix == ".xlsx":
        return pd.read_excel(path, sheet_name="cells")["value"].tolist()
    return {".csv": pd.read_csv, ".parquet": pd.read_parquet}[suffix](path)["value"].tolist()


@pytest.mark.parametrize("suffix", RELEASES)
def test_another_symbol(tmp_path, suffix):
    path = tmp_path / f"release{suffix}"
    told = Presentation(ReleaseMetadata(agency="XX", dataflow="VALUES"))
    values = np.array([1.0, np.nan])
    write_release(Release({"d": ("Total", "a")}, "value", values, symbol="(s)", presentation=told), path)
    flags = (".parquet", ".sdmx.csv", ".sdmx1.csv", ".sdmx.xml", ".sdmx-structure.xml")  # in place of symbols
    assert (b"(s)" in everything_in(path)) == (suffix not in flags)


@pytest.mark.parametrize("name", ["release.jj", "release.discreet", "release.txt", "release"])
def test_releases_need_a_known_file_name(tmp_path, release, name):
    with pytest.raises(FormatError, match=r"cannot write a release.*'\.csv', '\.parquet', '\.xlsx'"):
        write_release(release, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_file_names_may_be_in_capitals(tmp_path, release):
    write_release(release, tmp_path / "RELEASE.CSV")
    assert (tmp_path / "RELEASE.CSV").read_text(encoding="utf-8").startswith("row,column,turnover\n")


# -- bundles ---------------------------------------------------------------------------------------------------

COLUMNS = ("value", "codes", "magnitude", "count", "top", "top_contributor", "requested", "rhs")


def rich_table() -> Table:
    """Everything a table can know, in two dimensions of which one regroups its codes two ways."""
    joined = Hierarchy.join(
        Hierarchy.from_pairs([("ab", ""), ("c", ""), ("a", "ab"), ("b", "ab")]),
        Hierarchy.from_pairs([("bc", ""), ("a", ""), ("b", "bc"), ("c", "bc")]),
    )
    table = random_table(np.random.default_rng(3), [joined, Hierarchy.flat(["x: 1", "日本"], total="Σ")], negative=0.5)
    n = len(table)
    return table.with_columns(
        dimensions=dict(zip(("größe", "code:a"), table.dimensions.values(), strict=True)),
        response="turn:over",
        count=np.arange(n),
        top=np.arange(12.0 * n).reshape(n, 12),
        top_contributor=np.tile(np.arange(-1, 11), (n, 1)),
        contributors=tuple(f"respondent {i}" for i in range(11)),
        requested=np.arange(12 * n).reshape(n, 12) % 3 == 0,
        extra={"jobs": np.arange(n) / 7, "top:0": np.ones(n)},
        is_count=True,
    )


def assert_same_table(one: Table, other: Table) -> None:
    for name in COLUMNS:
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        if a is not None:
            assert np.asarray(a).tolist() == np.asarray(b).tolist(), name
            assert np.asarray(a).dtype == np.asarray(b).dtype, name
    assert dict(one.dimensions) == dict(other.dimensions)
    assert list(one.dimensions) == list(other.dimensions)
    assert (one.relations != other.relations).nnz == 0
    assert one.extra.keys() == other.extra.keys()
    assert all(one.extra[name].tolist() == other.extra[name].tolist() for name in one.extra)
    for name in ("response", "contributors", "names", "is_count", "digest"):
        assert getattr(one, name) == getattr(other, name), name


def test_a_bundle_keeps_everything_a_table_knows(tmp_path):
    table = rich_table()
    bundle.write_table(table, tmp_path / "t.discreet")
    assert_same_table(bundle.read_table(tmp_path / "t.discreet"), table)


def test_a_bundle_keeps_everything_a_problem_knows(tmp_path):
    table = random_table(np.random.default_rng(4), [3, 4]).with_columns(count=np.arange(20))
    problem = assess(table, "FREQ(5)", cost="count", prior=50)
    write_problem(problem, tmp_path / "p.discreet")
    again = read_problem(tmp_path / "p.discreet")
    assert again.digest == problem.digest
    assert again.rules == problem.rules
    assert again.rules
    assert_same_table(again.table, problem.table)
    assert_same_table(bundle.read_table(tmp_path / "p.discreet"), table)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.sampled_from(["trees", "linked", "names", "empty"]))
def test_bundles_of_random_problems(tmp_path_factory, seed, kind):
    rng = np.random.default_rng(seed)
    folder = tmp_path_factory.mktemp("bundles")
    if kind == "trees":
        table = random_table(rng, [random_hierarchy(rng, 4, levels=2, trees=2), 2], negative=0.2)
    elif kind == "empty":
        table = Table.from_cells({"d": Hierarchy.flat("ab")}, [], [])
    else:
        table = random_linked_table(rng)
    problem = random_problem(rng, table, prior="mixed", already_suppressed=0.1)
    if kind == "names":  # cells of a JJ file have names, no dimensions
        write_problem(problem, folder / "p.jj")
        problem = read_problem(folder / "p.jj")
    write_problem(problem, folder / "p.discreet")
    again = read_problem(folder / "p.discreet")
    assert again.digest == problem.digest
    assert_same_table(again.table, problem.table)


def test_a_bundle_keeps_constants_of_relations(tmp_path):
    relation = from_equations([([0, 1], [1, 0.5])], 2)
    table = Table({}, [], [30, 140], relation, names=("Ä 1", "b"), rhs=np.array([100.0]))
    bundle.write_table(table, tmp_path / "t.discreet")
    assert_same_table(bundle.read_table(tmp_path / "t.discreet"), table)


def test_a_table_that_was_not_assessed_is_no_problem(tmp_path):
    bundle.write_table(rich_table(), tmp_path / "t.discreet")
    with pytest.raises(FormatError, match=r"has not been assessed.*discreet assess"):
        read_problem(tmp_path / "t.discreet")


def test_a_bundle_says_that_it_is_confidential(tmp_path):
    bundle.write_table(rich_table(), tmp_path / "t.discreet")
    with zipfile.ZipFile(tmp_path / "t.discreet") as archive:
        assert json.loads(archive.read("meta.json"))["confidential"]


def problem_bundle(path: Path) -> Problem:
    problem = pose(cross_table("ab", "cd", [[271828, 160370], [42331, 513121]]), {"a × c": 9.0})
    write_problem(problem, path)
    return problem


def repack(path: Path, **changed: bytes | None) -> None:
    """Replace parts of a bundle; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        parts: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    parts |= {next(name for name in parts if name.startswith(stem)): content for stem, content in changed.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            if content is not None:
                archive.writestr(name, content)


def meta_without(path: Path, *keys: str, **changed: Any) -> bytes:
    with zipfile.ZipFile(path) as archive:
        meta = json.loads(archive.read("meta.json")) | changed
    return json.dumps({key: value for key, value in meta.items() if key not in keys}).encode()


def cells_without(path: Path, column: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        frame = pd.read_parquet(io.BytesIO(archive.read("cells.parquet")))
    return frame.drop(columns=column).to_parquet(index=False)


def refuse_bundle(path: Path, message: str) -> None:
    for read in (read_problem, bundle.read_table):
        with pytest.raises(FormatError, match=message) as error:
            read(path)
        assert str(path) in str(error.value)
        assert not any(digits in str(error.value).replace(str(path), "") for digits in ("271828", "160370", "42331"))


def test_files_that_are_no_bundle(tmp_path):
    path = tmp_path / "p.discreet"
    refuse_bundle(path, "does not exist")
    for content in (b"", b"PK", b"cell,status\n", bytes(range(256))):
        path.write_bytes(content)
        refuse_bundle(path, "not a .discreet bundle, or damaged")
    path.unlink()
    path.mkdir()
    refuse_bundle(path, "not a .discreet bundle, or damaged")


@pytest.mark.parametrize("part", ["meta", "cells", "relations", "rhs"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"[]", b"null", b"PK\x03\x04", b"PAR1junkPAR1"])
def test_bundles_with_a_broken_part(tmp_path, part, content):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    repack(path, **{part: content})
    refuse_bundle(path, "not a .discreet bundle, or damaged")


@pytest.mark.parametrize("key", ["discreet", "response", "is_count", "dimensions", "contributors"])
def test_bundles_whose_description_is_incomplete(tmp_path, key):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    repack(path, meta=meta_without(path, key))
    refuse_bundle(path, "not a .discreet bundle, or damaged")


@pytest.mark.parametrize("column", ["value", "magnitude", "code:row"])
def test_bundles_that_lack_a_column(tmp_path, column):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    repack(path, cells=cells_without(path, column))
    refuse_bundle(path, "not a .discreet bundle, or damaged")


def test_problems_that_lack_a_column(tmp_path):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    repack(path, cells=cells_without(path, "problem:upper"))
    with pytest.raises(FormatError, match="damaged"):
        read_problem(path)


def test_bundles_of_another_version(tmp_path):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    repack(path, meta=meta_without(path, discreet=bundle.DECISIONS_VERSION + 1))
    refuse_bundle(path, "another version of discreet")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9, 0.99])
def test_bundles_that_were_cut_off_or_changed(tmp_path, share):
    path = tmp_path / "p.discreet"
    problem_bundle(path)
    whole = path.read_bytes()
    at = int(len(whole) * share)
    path.write_bytes(whole[:at])
    refuse_bundle(path, "damaged")
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:  # a bit flips within a part: its checksum notices
        at = archive.getinfo("cells.parquet").header_offset + 100
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    refuse_bundle(path, "damaged")


# -- writing ---------------------------------------------------------------------------------------------------


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "out.csv"
    with writing(path) as draft:
        draft.write_text("half")
        assert not path.exists()
        assert draft.parent == tmp_path, "on the same disk, so that it can take the place at once"
    assert path.read_text() == "half"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["p.jj.gz", "a.b.c.csv", "plain", "with blank.xlsx"])
def test_a_draft_ends_like_the_file(tmp_path, name):
    """Some writers go by the name."""
    with writing(tmp_path / name) as draft:
        assert draft.suffixes[-2:] == Path(name).suffixes[-2:]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_a_failure_leaves_the_file_that_was_there(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("before")
    with pytest.raises(error), writing(path) as draft:  # noqa: PT012
        draft.write_text("half")
        raise error
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_before_there_was_a_file_leaves_none(tmp_path):
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "out.csv") as draft:
        draft.write_text(str(1 / 0))
    assert list(tmp_path.iterdir()) == []


def test_a_release_that_cannot_be_written_leaves_the_last_one(tmp_path, release, monkeypatch):
    path = tmp_path / "release.xlsx"
    write_release(release, path)
    before = path.read_bytes()
    monkeypatch.setattr(excel, "MAX_SHEET_ROWS", 3)
    with pytest.raises(FormatError):
        write_release(release, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_must_exist(tmp_path, release):
    with pytest.raises(FormatError, match=r"the folder .*nowhere does not exist"):
        write_release(release, tmp_path / "nowhere" / "release.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match=r"the folder .*file does not exist"):
        write_release(release, tmp_path / "file" / "release.csv")


def test_a_folder_is_not_written_over(tmp_path, release):
    (tmp_path / "release.csv").mkdir()
    with pytest.raises(FormatError, match="it is a folder"):
        write_release(release, tmp_path / "release.csv")
    assert list(tmp_path.iterdir()) == [tmp_path / "release.csv"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs a user without all permissions")
def test_a_folder_that_is_not_ours(tmp_path, release):
    tmp_path.chmod(0o500)
    with pytest.raises(FormatError, match="Permission denied"):
        write_release(release, tmp_path / "release.csv")


@pytest.mark.skipif(os.name != "posix", reason="permissions")
@pytest.mark.parametrize(("public", "mode"), [(True, 0o640), (False, 0o600)])
def test_a_file_gets_its_permissions(tmp_path, public, mode):
    """Drafts are private; a public file that replaces them has the default permissions of the user, any other stays private."""
    before = os.umask(0o027)
    try:
        with writing(tmp_path / "out.csv", public=public) as draft:
            draft.write_text("")
    finally:
        os.umask(before)
    assert (tmp_path / "out.csv").stat().st_mode & 0o777 == mode


def test_equal_problems_make_equal_jj_files(tmp_path):
    problem_bundle(tmp_path / "p.discreet")
    problem = read_problem(tmp_path / "p.discreet")
    for name in ("a.jj.gz", "b.jj.gz"):
        write_problem(problem, tmp_path / name)
    assert (tmp_path / "a.jj.gz").read_bytes() == (tmp_path / "b.jj.gz").read_bytes()
    assert not re.search(rb"[ab]\.jj", (tmp_path / "a.jj.gz").read_bytes()), "neither clock nor file name in it"


# -- who contributes -------------------------------------------------------------------------------------------


def test_a_bundle_keeps_who_contributes_what(tmp_path):
    records = pd.DataFrame({"at": list("aabbc"), "firm": list("fgfhk"), "x": [5.0, 2, 4, 1.25, 7]})
    table = tabulate(records, "at", "x", contributor="firm", contributions=True)
    bundle.write_problem(assess(table, "P(10)"), tmp_path / "problem.discreet")
    given = read_problem(tmp_path / "problem.discreet").table.contributions
    for name in ("cell", "contributor", "amount"):
        assert getattr(given, name).tolist() == getattr(table.contributions, name).tolist()
    assert given.names == table.contributions.names


def test_a_bundle_without_contributions_is_read_as_before(tmp_path):
    records = pd.DataFrame({"at": list("aab"), "firm": list("fgf"), "x": [5.0, 2, 4]})
    table = tabulate(records, "at", "x", contributor="firm", contributions=False)
    bundle.write_table(table, tmp_path / "table.discreet")
    assert "contributions.parquet" not in zipfile.ZipFile(tmp_path / "table.discreet").namelist()
    table = bundle.read_table(tmp_path / "table.discreet")
    assert table.contributions is None
    assert len(table.respondents()) == 3
