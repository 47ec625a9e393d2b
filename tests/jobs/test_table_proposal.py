"""Finished tables in sheets of any layout: the reading that is proposed is the right one, and records are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.styles import Alignment
from tests.helpers.cross_tables import drawn_cross_table

from discreet.data.reading import Reading
from discreet.data.sheet_grid import SheetFile
from discreet.jobs.table_proposal import TableProposal, propose_table

# The investment table of the how-to on finished tables, by activity and region.
VALUES = {"I": {"A": 20, "B": 50, "C": 10}, "II": {"A": 8, "B": 19, "C": 22}, "III": {"A": 17, "B": 32, "C": 12}}
FIRMS = {"I": {"A": 5, "B": 12, "C": 2}, "II": {"A": 4, "B": 4, "C": 1}, "III": {"A": 2, "B": 4, "C": 2}}
REGIONS, ACTIVITIES = ["A", "B", "C", "Total"], ["I", "II", "III", "Total"]
Lines = Sequence[Sequence[Any]]


def cell(activity: str, region: str, of: Mapping[str, Mapping[str, float]] = VALUES) -> float:
    rows = of if activity == "Total" else [activity]
    return sum(of[a][r] for a in rows for r in (of["I"] if region == "Total" else [region]))


def body(regions: Sequence[str] = REGIONS, activities: Sequence[str] = ACTIVITIES, of: Any = VALUES) -> list[list[Any]]:
    return [[activity, *(cell(activity, region, of) for region in regions)] for activity in activities]


EXPECTED = {f"{a} × {r}": cell(a, r) for a in ACTIVITIES for r in REGIONS}


def proposed(path: Path, lines: Lines, merge: Sequence[str] = (), indent: Sequence[str] = (), **more: Lines) -> Any:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in {"first": lines, **more}.items():
        sheet = book.create_sheet(title)
        for i, row in enumerate(rows, 1):
            for j, content in enumerate(row, 1):
                sheet.cell(i, j).value = content
        for area in merge:
            sheet.merge_cells(area)
        for place in indent:
            sheet[place].alignment = Alignment(indent=1)
    book.save(path / "t.xlsx")
    return propose_table(path / "t.xlsx", Reading())


def cells(found: TableProposal, path: Path, reading: Reading | None = None) -> dict[str, float]:
    cross = found.read(SheetFile.of(path / "t.xlsx", Reading()), reading or Reading())
    table = cross.table(unpublished_totals=bool(found.without_total))
    return dict(zip(table.labels(), table.value.tolist(), strict=True))


def test_title_unit_and_source_are_found(tmp_path):
    title = "Table 4: Investment by activity and region, 2024"
    lines = [[title], ["EUR 1,000"], [], ["Activity", *REGIONS], *body(), [], ["Source: Business register"]]
    found = proposed(tmp_path, lines, merge=["A1:E1"])
    assert cells(found, tmp_path) == EXPECTED
    assert found.dimensions == ("Activity", "region")
    assert (found.value, found.count, found.adds_up) == ("Investment", None, True)
    assert (found.texts.title, found.texts.unit, found.texts.source) == (title, "EUR 1,000", "Business register")


@pytest.mark.parametrize(
    ("lines", "dimensions"),
    [
        ([["region", *REGIONS], ["activity"], *body()], ("activity", "region")),  # pandas
        ([["Sum of sales", "Column Labels"], ["Row Labels", *REGIONS], *body()], ("Row Labels", "Column Labels")),
        ([["Branch / Region", *REGIONS], *body()], ("Branch", "Region")),
        ([[None, "Region"], ["Branch", *REGIONS], *body()], ("Branch", "Region")),
        ([[None, *REGIONS], *body()], ("rows", "columns")),
    ],
)
def test_names_of_dimensions(tmp_path, lines, dimensions):
    found = proposed(tmp_path, lines)
    assert cells(found, tmp_path) == EXPECTED
    assert found.dimensions == dimensions


def test_measures_below_merged_labels(tmp_path):
    header = [["Activity", *(x for region in REGIONS for x in (region, None))], [None, *["sales", "firms", "%"] * 4]]
    header[0] = ["Activity", *(x for region in REGIONS for x in (region, None, None))]
    rows = [[a, *(x for r in REGIONS for x in (cell(a, r), cell(a, r, FIRMS), 7))] for a in ACTIVITIES]
    merge = ["A1:A2", "B1:D1", "E1:G1", "H1:J1", "K1:M1"]
    found = proposed(tmp_path, [*header, *rows], merge=merge)
    assert cells(found, tmp_path) == EXPECTED
    assert (found.value, found.count, found.settings.columns[1]) == ("sales", "firms", "measures")


def test_one_row_per_cell_with_a_title_and_remarks(tmp_path):
    rows = [[a, r, cell(a, r), cell(a, r, FIRMS), 9, 5, "checked"] for a, r in product(ACTIVITIES, REGIONS)]
    header = ["activity", "region", "investment", "firms", "largest", "second", "remark"]
    found = proposed(tmp_path, [["Investment 2024"], header, *rows])
    assert cells(found, tmp_path) == EXPECTED
    assert (found.is_list, found.count, found.top) == (True, "firms", ("largest", "second"))


def test_numbers_of_rows_and_percentages_are_left_out(tmp_path):
    rows = [[i, *line, 12.5] for i, line in enumerate(body(), 1)]
    found = proposed(tmp_path, [["No.", "Activity", *REGIONS, "% of total"], *rows])
    assert cells(found, tmp_path) == EXPECTED
    assert (found.settings.rows, found.settings.skip) == (("", "Activity"), ("G",))


def test_a_total_with_a_name_of_its_own(tmp_path):
    found = proposed(tmp_path, [["Activity", "Denmark", "A", "B", "C"], *body(["Total", "A", "B", "C"])])
    assert found.totals == {"columns": "Denmark"}
    assert cells(found, tmp_path) == {label.replace("× Total", "× Denmark"): x for label, x in EXPECTED.items()}


def test_totals_with_names_of_their_own_in_several_header_rows(tmp_path):
    """Taken for a code, the total of counties would let readers compute what is suppressed."""
    header = [[None, *(x for sex in ("Both", "Men", "Women") for x in (sex, None, None, None))]]
    header.append(["Cause", *["Country", "A", "B", "C"] * 3])
    rows = [[a, *(times * cell(a, r) for times in (3, 1, 2) for r in ("Total", "A", "B", "C"))] for a in ACTIVITIES]
    found = proposed(tmp_path, [*header, *rows], merge=["B1:E1", "F1:I1", "J1:M1"])
    assert (found.totals, found.without_total) == ({"columns": "Both", "columns 2": "Country"}, ())
    assert cells(found, tmp_path)["III × Women × C"] == 24


def test_years_have_no_total(tmp_path):
    lines = [["Turnover by activity"], [], ["Activity", 2022, 2023], *body(["A", "B"])]
    found = proposed(tmp_path, lines)
    assert (found.dimensions, found.without_total) == (("Activity", "year"), ("year",))
    assert cells(found, tmp_path)["II × 2023"] == 19
    assert not found.unpublished_totals  # the sheet does not say so


def test_headings_are_a_dimension_and_indents_a_hierarchy(tmp_path):
    blocks = [
        line
        for sex, times in (("Total", 3), ("Men", 1), ("Women", 2))
        for line in [[sex], *([a, *(times * x for x in numbers)] for a, *numbers in body())]
    ]
    found = proposed(tmp_path, [["Wages by sex, activity and region"], ["Activity", *REGIONS], *blocks])
    assert found.dimensions == ("sex", "Activity", "region")
    assert cells(found, tmp_path)["Women × II × C"] == 44
    first, second, third, total = body()
    industry = ["Industry", *(a + b for a, b in zip(first[1:], second[1:], strict=True))]
    above = proposed(tmp_path, [["", *REGIONS], industry, first, second, third, total], indent=["A3", "A4"])
    assert (len(cells(above, tmp_path)), above.settings.subtotals) == (20, "above")
    below = proposed(tmp_path, [["", *REGIONS], first, second, industry, third, total], indent=["A2", "A3"])
    assert (len(cells(below, tmp_path)), below.settings.subtotals) == (20, "below")


def test_remarks_within_the_table_are_left_out(tmp_path):
    lines = [["Activity", *REGIONS], *body()[:2], ["Revised"], *body()[2:]]
    found = proposed(tmp_path, lines)
    assert cells(found, tmp_path) == EXPECTED
    assert found.settings.skip == ("4",)


def test_groups_and_codes_in_columns_of_their_own(tmp_path):
    first, second, third, total = body()
    industry = [a + b for a, b in zip(first[1:], second[1:], strict=True)]
    groups = [["Industry", "All", *industry], [None, *first], [None, *second], ["Services", "All", *third[1:]],
              [None, "III", *(x / 4 for x in third[1:])], [None, "IV", *(x * 0.75 for x in third[1:])],
              ["Total", None, *total[1:]]]  # fmt: skip
    found = proposed(tmp_path, [["Group", "Activity", *REGIONS], *groups])
    assert found.settings.rows == ("Group", "Group")
    assert len(cells(found, tmp_path)) == 28
    coded = [[f"C{i}" if line[0] != "Total" else None, *line] for i, line in enumerate(body())]
    found = proposed(tmp_path, [["Code", "Activity", *REGIONS], *coded])
    assert found.settings.rows == ("", "Activity")


def test_sheets_with_measures_of_the_same_cells(tmp_path):
    lines = [["Activity", *REGIONS], *body()]
    found = proposed(
        tmp_path, lines, firms=[["Activity", *REGIONS], *body(of=FIRMS)], other=[["x", "y"]], **{"largest 1": lines}
    )
    assert (found.sheet, found.value, found.count, found.top) == ("first", "first", "firms", ("largest 1",))
    assert found.others == ("other",)
    assert cells(found, tmp_path) == EXPECTED


def test_counts_are_assumed_only_if_the_sheet_says_so(tmp_path):
    """Sums that are taken for counts would seem to be protected by a rule on numbers of contributors."""
    header = ["Activity", *REGIONS]
    for title, is_count in (
        ("Number of enterprises by activity and region", True),
        ("Turnover of enterprises by activity and region", False),
        ("Enterprises", False),
    ):
        assert proposed(tmp_path, [[title], header, *body(of=FIRMS)]).is_count == is_count
    assert proposed(tmp_path, [["Persons by a and b"], ["Anzahl"], header, *body(of=FIRMS)]).is_count
    halves = [[line[0], *(x / 2 for x in line[1:])] for line in body(of=FIRMS)]
    assert not proposed(tmp_path, [["Number of enterprises by a and b"], header, *halves]).is_count


def test_a_table_that_does_not_add_up_is_one_if_its_labels_say_so(tmp_path):
    suppressed = [[x if x != 22 else "x" for x in line] for line in body()]
    found = proposed(tmp_path, [["Activity", *REGIONS], *suppressed])
    assert (found.adds_up, found.marks) == (False, {"x": ["D3"]})
    zeros = [[x if x != 22 else "-" for x in line] for line in body(["A", "B", "C"])]
    assert proposed(tmp_path, [["Activity", "A", "B", "C"], *zeros]) is None


def test_marks_may_be_zeros(tmp_path):
    values = {"I": {"A": 20, "B": 0, "C": 10}, **{a: VALUES[a] for a in ("II", "III")}}
    lines = [[x if x != 0 else "-" for x in line] for line in body(of=values)]
    found = proposed(tmp_path, [["Activity", *REGIONS], *lines])
    assert (found.adds_up, found.marks) == (True, {"-": ["C2"]})


@pytest.mark.parametrize(
    "lines",
    [
        [["firm", "region", "sales"], *([f"F{i}", "AB"[i % 2], 10 * i] for i in range(1, 9))],
        [["firm", "sales"], *([f"F{i}", 10 * i] for i in range(1, 9)), ["Total", 360]],
        [["firm", "region", "sales"], *([f"F{i}", "AB"[i % 2], 10 * i] for i in range(1, 9)), ["Total", None, 360]],
        [["Cases 2025"], ["firm", "region", "q1", "q2"], *([f"F{i}", "AB"[i % 2], i, 10 * i] for i in range(1, 9))],
        [["year", "month", "sales"], *([2000 + i, i, 10.5 * i] for i in range(1, 9))],
        [["only text", "here"], ["a", "b"]],
    ],
)
def test_records_are_no_finished_table(tmp_path, lines):
    assert proposed(tmp_path, lines) is None


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 2**32))
def test_tables_in_any_layout_are_recognized(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    totals = [str(rng.choice(["Total", "Insgesamt", f"All {name}"])) for name in "abc"]
    drawn = drawn_cross_table(rng, tmp_path_factory.mktemp("cross") / "t.xlsx", rng.integers(2, 4, size=3), totals)
    found = propose_table(drawn.path, Reading())
    assert found is not None
    assert cells(found, drawn.path.parent) == drawn.expected
