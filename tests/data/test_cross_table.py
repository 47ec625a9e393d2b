"""Cross-tables: whatever their layout, the numbers are those of the cells, or an error asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Alignment
from tests.helpers.cross_tables import drawn_cross_table

from discreet.data.cross_table import CrossTable, read_cross_table
from discreet.data.hierarchy import Hierarchy
from discreet.data.reading import Reading
from discreet.data.spelling import Spelling
from discreet.errors import DiscreetError, FormatError, InputError, TableError

# The investment table of the how-to on finished tables.
INVESTMENT = [
    ["", "Total", "A", "B", "C"],
    ["Total", 190, 45, 101, 44],
    ["I", 80, 20, 50, 10],
    ["II", 49, 8, 19, 22],
    ["III", 61, 17, 32, 12],
]
ONE_EACH: dict[str, Any] = {"rows": ["activity"], "columns": ["region"]}

Lines = Sequence[Sequence[Any]]


def workbook(path: Path, lines: Lines, *, merge: Sequence[str] = (), indent: Mapping[str, int] | None = None) -> Path:
    return with_sheets(path, {"table": lines}, merge=merge, indent=indent)


def with_sheets(
    path: Path, sheets: Mapping[str, Lines], *, merge: Sequence[str] = (), indent: Mapping[str, int] | None = None
) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for row, line in enumerate(lines, 1):
            for column, content in enumerate(line, 1):
                sheet.cell(row, column).value = None if content == "" else content
        for area in merge:
            sheet.merge_cells(area)
        for cell, steps in (indent or {}).items():
            sheet[cell].alignment = Alignment(indent=steps)
    book.save(path)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.xlsx"


def cells(cross: CrossTable, **options: Any) -> dict[str, float]:
    table = cross.table(**options)
    return dict(zip(table.labels(), table.value.tolist(), strict=True))


def investment() -> dict[str, float]:
    header, *body = INVESTMENT
    return {f"{row[0]} × {region}": row[j] for row in body for j, region in enumerate(header) if j}  # type: ignore[misc]


def refuse(message: str, path: Path, kind: type[DiscreetError] = InputError, **options: Any) -> str:
    """The text of the error, after a look at whether it shows a value."""
    with pytest.raises(kind, match=message) as error:
        read_cross_table(path, **{"value": "investment", **ONE_EACH, **options}).table()
    text = str(error.value)
    assert not [number for number in ("190", "101", "80", "1.362") if number in text.replace("'1.362'", "")]
    return text


def read(path: Path, **options: Any) -> CrossTable:
    return read_cross_table(path, **{"value": "investment", **ONE_EACH, **options})


# -- where the table is ----------------------------------------------------------------------------------------


def test_a_bare_table(file):
    cross = read(workbook(file, INVESTMENT))
    assert cells(cross) == investment()
    assert repr(cross) == "CrossTable(investment by activity × region: 16 cells)"
    assert cross.table().response == "investment"


def test_titles_notes_blank_rows_and_an_empty_first_column_are_no_cells(file):
    table = [["", *line] for line in INVESTMENT]
    notes = [["", "1) Without islands."], ["Source: register of 2023"]]
    lines = [["", "Table 4: investment, 2024"], ["", "EUR 1 000"], [], *table[:3], [], *table[3:], [], *notes]
    cross = read(workbook(file, lines, merge=["B1:F1"]))
    assert cells(cross) == investment()
    assert "rows that are no part of the table: 1–2, 11–12" in cross.understood


def test_totals_may_stand_anywhere(file):
    order = [0, 2, 1, 3, 4]
    lines = [[INVESTMENT[i][j] for j in (0, 3, 2, 4, 1)] for i in order]
    lines[2][0] = lines[0][4] = "Insgesamt"
    found = cells(read(workbook(file, lines)))
    assert found == {label.replace("Total", "Insgesamt"): value for label, value in investment().items()}


def test_a_total_with_a_word_of_its_own_must_be_named(file):
    lines = [
        [("Denmark" if cell == "Total" and i == 0 else cell) for cell in line] for i, line in enumerate(INVESTMENT)
    ]
    workbook(file, lines)
    refuse("totals are missing|no label of 'region' is its total", file)
    assert cells(read(file, totals={"region": "Denmark"})).keys() == {
        label.replace("× Total", "× Denmark") for label in investment()
    }


def test_two_words_for_totals_are_a_question(file):
    lines = [[*INVESTMENT[0][:4], "Sum"], *INVESTMENT[1:]]
    lines[0][1] = "All"
    workbook(file, lines)
    refuse("several labels of 'region' may be its total: 'All', 'Sum'", file)


def test_header_of_years_below_other_labels_is_a_question(file):
    years = [["", 2021, 2022, 2023], ["Total", 60, 20, 40], ["I", 60, 20, 40]]
    lines = [["", "a", "b", "c"], ["Year", *years[0][1:]], *years[1:]]
    workbook(file, lines)
    text = refuse("row 2 has years or consecutive numbers.*Add header_row = 2 if", file, columns=["year"])
    assert "otherwise header_row = 1" in text
    cross = read(file, columns=["year"], reading=Reading(header_row=2), rows=["activity"])
    assert cross.by["year"].codes[1:] == ("2021", "2022", "2023")
    # Without labels above them, years can only be the header.
    workbook(file, [["Year", 2021, 2022, 2023], *years[1:]])
    assert read(file, columns=["year"]).by["year"].codes[1:] == ("2021", "2022", "2023")


def test_years_in_a_text_file(tmp_path):
    lines = ["Year;2021;2022;2023", "Total;60;20;40", "I;60;20;40"]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    assert read(tmp_path / "t.csv", columns=["year"]).by["year"].codes[1:] == ("2021", "2022", "2023")


def test_an_empty_column_within_a_merged_header(file):
    lines = [["", "Country", "", "", ""], ["", "Total", "", "A", "B"], ["Total", 9, "", 4, 5], ["I", 9, "", 4, 5]]
    cross = read(workbook(file, lines, merge=["B1:E1"]), columns=["", "region"])
    assert cells(cross)["I × B"] == 5
    assert "columns that are no part of the table: C" not in cross.understood  # nothing stands in it


def test_numbers_in_a_title_are_asked_about(file):
    lines = [["Year:", 2024], [], *INVESTMENT]
    refuse(r'row 1, the first one with numbers.*skip = \["1"\]', workbook(file, lines))
    assert cells(read(file, skip=["1"])) == investment()
    assert cells(read(file, reading=Reading(header_row=3))) == investment()


def test_more_header_rows_than_are_named(file):
    lines = [INVESTMENT[0], ["", "EUR", "EUR", "EUR", "DKK"], *INVESTMENT[1:]]
    text = refuse("rows 1–2 look like 2 header rows, but the setting columns has 1 entry", workbook(file, lines))
    assert 'columns = ["", "region"]' in text
    assert cells(read(file, columns=["region", ""])) == investment()


def test_a_row_of_units_below_the_header(file):
    lines = [INVESTMENT[0], ["", "EUR", "EUR", "EUR", "EUR"], *INVESTMENT[1:]]
    refuse("1 row within the table with a label but no numbers: row 2, e.g. 'EUR'", workbook(file, lines))
    assert cells(read(file, skip=["2"])) == investment()


def test_columns_beside_the_table(file):
    lines = [[*line, "", note] for line, note in zip(INVESTMENT, ["Change", 2.5, -1.0, 0.0, 3.5], strict=True)]
    workbook(file, lines)
    with pytest.raises(TableError, match="not additive"):  # as it would be one more region
        read(file).table()
    assert cells(read(file, skip=["G"])) == investment()
    lines[0][6] = ""
    refuse('column G has numbers but no label in the header.*skip = \\["G"\\]', workbook(file, lines))
    labels = [
        [*line, label] for line, label in zip(INVESTMENT, ["Tätigkeit", "Summe", "Eins", "Zwei", "Drei"], strict=True)
    ]
    refuse('column F .*has text but no numbers. Leave it out: skip = \\["F"\\]', workbook(file, labels))
    assert cells(read(file, skip=["F"])) == investment()


def test_what_to_skip_is_written_as_in_a_spreadsheet(file):
    workbook(file, INVESTMENT)
    refuse('skip names rows and columns as a spreadsheet does: "7", "12:15" or "F"', file, skip=["row 3"])


def test_rows_with_numbers_need_a_label(file):
    lines = [*INVESTMENT, ["", 5, 1, 2, 2]]
    refuse("A6 has no label, and its row has numbers", workbook(file, lines))


# -- labels ----------------------------------------------------------------------------------------------------


def test_marks_of_footnotes_are_removed(file):
    lines = [list(line) for line in INVESTMENT]
    lines[0][2], lines[0][3], lines[2][0], lines[3][0] = "A 1)", "B²", "I*", "II [3]"
    cross = read(workbook(file, lines))
    assert cells(cross) == investment()
    assert "marks of footnotes are removed from labels: 'I*', 'II [3]', 'A 1)', 'B²'" in cross.understood


def test_superscripts_are_marks_of_footnotes_in_labels_and_numbers(file):
    """Their text alone reads 201: the number 20 with footnote 1."""
    small = InlineFont(vertAlign="superscript")
    lines = [list(line) for line in INVESTMENT]
    lines[2][0] = CellRichText("I", TextBlock(small, "1"))
    lines[2][2] = CellRichText("20", TextBlock(small, "1"))
    assert cells(read(workbook(file, lines))) == investment()


def test_a_label_over_two_lines_is_one_label(file):
    lines = [["", "Total", "A\nregion "], ["Total", 1, 1], [" I ", 1, 1]]
    assert read(workbook(file, lines)).by["region"].codes == ("Total", "A region")


def test_dates_are_no_labels(file):
    """Excel takes the size class 1-5 for the first of May."""
    from datetime import datetime

    lines = [["", "Total", datetime(2024, 5, 1)], ["Total", 1, 1], ["I", 1, 1]]
    refuse("C1 has a date in place of a label. If it was a code such as 1-5", workbook(file, lines))


def test_values_are_no_labels(file):
    lines = [[cell + 0.5 if isinstance(cell, int) else cell for cell in line] for line in INVESTMENT]
    text = refuse("B2 has a number with decimals in place of a label", workbook(file, lines), rows=["activity", "size"])
    assert "they have one entry for each column of labels" in text


def test_labels_that_differ_in_their_spelling_only_are_asked_about(file):
    lines = [["", "Total", "West", "WEST"], ["Total", 9, 4, 5], ["I", 9, 4, 5]]
    refuse("'West' and 'WEST' differ only in capitals", workbook(file, lines))
    assert cells(read(file), spelling={"region": Spelling(merge={"WEST": ""})})["I × WEST"] == 5


def test_cells_with_the_same_labels_are_named_as_in_the_sheet(file):
    lines = [*INVESTMENT, INVESTMENT[2]]
    refuse("B3 and B6 have the same labels", workbook(file, lines), kind=TableError)


# -- several dimensions on one side ----------------------------------------------------------------------------

NESTED = [
    ["", "", "Total", "Total", "North", "North"],
    ["", "", "Total", "m", "Total", "m"],
    ["Total", "Total", 10, 10, 10, 10],
    ["Total", "s", 10, 10, 10, 10],
    ["I", "Total", 7, 7, 7, 7],
    ["I", "s", 7, 7, 7, 7],
    ["II", "Total", 3, 3, 3, 3],
    ["II", "s", 3, 3, 3, 3],
]
FOUR: dict[str, Any] = {"rows": ["activity", "size"], "columns": ["region", "sex"]}


def nested(merged: bool) -> list[list[Any]]:
    """The labels of outer levels once, as in merged cells, or repeated."""
    lines = [list(line) for line in NESTED]
    if merged:
        lines[0][3] = lines[0][5] = lines[3][0] = lines[5][0] = lines[7][0] = ""
    return lines


@pytest.mark.parametrize("form", ["repeated", "blank", "merged", "csv"])
def test_nested_labels(file, form):
    """Outer labels may be repeated, stand once, or be merged."""
    merge = ["C1:D1", "E1:F1", "A3:A4", "A5:A6", "A7:A8"] if form == "merged" else []
    if form == "csv":
        file = file.with_suffix(".csv")
        file.write_text("\n".join(";".join(map(str, line)) for line in nested(True)), encoding="utf-8")
    else:
        workbook(file, nested(form != "repeated"), merge=merge)
    found = cells(read(file, **FOUR))
    assert found["I × s × North × m"] == 7
    assert found["Total × Total × Total × Total"] == 10
    assert len(found) == 24


def test_an_outer_label_without_an_inner_one_is_a_total(file):
    """Also when it is merged over both levels."""
    lines = [
        ["", "", "All", "North", ""],
        ["", "", "", "Total", "m"],
        ["Total", "", 10, 6, 6],
        ["I", "", 7, 5, 5],
        ["", "s", 7, 5, 5],
        ["II", "", 3, 1, 1],
        ["", "s", 3, 1, 1],
    ]
    workbook(file, lines, merge=["C1:C2", "A3:B3", "A4:B4"])
    found = read(file, **FOUR, totals={"region": "All"})
    assert found.frame.query("activity == 'I'").iloc[0].tolist() == ["I", "Total", "All", "Total", 7]
    assert found.addresses["II × s × North × m"] == "E7"


def test_totals_of_pivot_tables(file):
    lines = [
        ["Region", "Size", "Total", "m"],
        ["North", "s", 3, 3],
        ["", "l", 4, 4],
        ["North Total", "", 7, 7],
        ["South", "s", 2, 2],
        ["South Total", "", 2, 2],
        ["Grand Total", "", 9, 9],
    ]
    workbook(file, lines)
    cross = read(file, rows=["region", "size"], columns=["sex"])
    assert cross.frame.query("sex == 'm'").investment.tolist() == [3, 4, 7, 2, 2, 9]
    assert cross.frame["size"].tolist()[4:6] == ["Total", "Total"]
    assert cross.by["region"].codes == ("Grand Total", "North", "South")


def test_several_levels_of_one_dimension(file):
    lines = [
        ["", "", "Total", "North", "", ""],
        ["", "", "", "Total", "N1", "N2"],
        ["Total", "", 10, 10, 6, 4],
        ["Industry", "", 7, 7, 5, 2],
        ["", "Food", 4, 4, 3, 1],
        ["", "Steel", 3, 3, 2, 1],
        ["Services", "", 3, 3, 1, 2],
    ]
    workbook(file, lines, merge=["C1:C2", "D1:F1"])
    cross = read(file, rows=["activity", "activity"], columns=["region", "region"])
    assert cells(cross)["Steel × N2"] == 1
    assert cross.by["activity"] == Hierarchy.from_pairs(
        [("Industry", "Total"), ("Food", "Industry"), ("Steel", "Industry"), ("Services", "Total")], "Total"
    )
    assert cross.by["region"].codes == ("Total", "North", "N1", "N2")


INDENTED = [["", "Total", "A"], ["Total", 10, 10], ["Industry", 7, 7], ["Food", 4, 4], ["Other", 3, 3], ["Services", 3, 3],
            ["Law", 1, 1], ["Other", 2, 2]]  # fmt: skip
INDENTS = {"A3": 1, "A4": 2, "A5": 2, "A6": 1, "A7": 2, "A8": 2}


@pytest.mark.parametrize("form", ["indent", "spaces"])
def test_indented_labels_are_a_hierarchy(file, form):
    """A label that stands in two groups is named with its group."""
    lines = [list(line) for line in INDENTED]
    if form == "spaces":
        for cell, steps in INDENTS.items():
            lines[int(cell[1:]) - 1][0] = "  " * steps + lines[int(cell[1:]) - 1][0]
    workbook(file, lines, indent=INDENTS if form == "indent" else {})
    cross = read(file)
    assert cells(cross)["Services: Other × A"] == 2
    assert cross.by["activity"].parents.tolist() == [[-1, 0, 1, 1, 0, 4, 4]]


def test_indented_labels_above_their_sums(file):
    order = [0, 3, 4, 2, 6, 7, 5, 1]
    lines = [INDENTED[i] for i in order]
    indent = {f"A{order.index(int(cell[1:]) - 1) + 1}": steps for cell, steps in INDENTS.items()}
    workbook(file, lines, indent=indent)
    refuse('row 2 .*no row above it is less indented. If sums stand below their parts, add subtotals = "below"', file)
    cross = read(file, subtotals="below")
    assert cells(cross)["Services: Other × A"] == 2
    refuse('subtotals is "above" or "below"', file, subtotals="first")


def test_the_same_indent_everywhere_says_nothing(file):
    workbook(file, INVESTMENT, indent={"A3": 1, "A4": 1, "A5": 1})
    assert cells(read(file)) == investment()


def test_a_hierarchy_that_is_given_counts_and_not_the_indents(file):
    workbook(file, INDENTED[:6], indent={"A3": 3, "A4": 1, "A5": 2, "A6": 2})
    given = Hierarchy.from_pairs(
        [("Industry", "Total"), ("Food", "Industry"), ("Other", "Industry"), ("Services", "Total")]
    )
    assert read(file, by={"activity": given, "region": None}).table().dimensions["activity"] is given
    lines = [["Insgesamt" if cell == "Total" else cell for cell in line] for line in INDENTED[:6]]
    cross = read(workbook(file, lines), by={"activity": given, "region": None})
    assert cells(cross)["Total × A"] == 10


def test_headings_within_the_table(file):
    """Rows without numbers are codes of a dimension, or remarks, which only their author knows."""
    lines = [["", "Total", "A"], ["Both", "", ""], ["Total", 10, 10], ["old", 10, 10], ["", "", ""], ["Men", "", ""],
             ["Total", 10, 10], ["old", 10, 10]]  # fmt: skip
    workbook(file, lines, merge=["A2:C2", "A6:C6"])
    refuse(
        '2 rows within the table with a label but no numbers: row 2, 6, e.g. .Both., .Men.*headings = "…".*skip = \\["2", "6"\\]',
        file,
    )
    cross = read(file, headings="sex", rows=["age"], totals={"sex": "Both"})
    assert cells(cross)["Men × old × A"] == 10
    lines[1] = ["", "", ""]
    refuse("row 3 stands above the first heading", workbook(file, lines), headings="sex", rows=["age"])


# -- numbers ---------------------------------------------------------------------------------------------------


def changed(where: Mapping[tuple[int, int], Any]) -> list[list[Any]]:
    return [[where.get((i, j), cell) for j, cell in enumerate(line)] for i, line in enumerate(INVESTMENT)]


@pytest.mark.parametrize("mark", ["x", "-", "..", "c", "n.a.", "–"])
def test_marks_in_place_of_numbers_are_asked_about(file, mark):
    """A dash is zero for some offices and a suppressed value for others."""
    workbook(file, [*changed({}), ["IV", 0, mark, 0, 0], ["V", 0, 0, mark, ""]])
    text = refuse(
        r"cells without a number: '.*' in C6, D7, nothing in E7. If all of them mean zero", file, kind=TableError
    )
    assert f'missing = ["{mark}"] and no_value = "zero"' in text
    cross = read(file, reading=Reading(missing=(mark,), no_value="zero"))
    assert cells(cross)["IV × A"] == 0
    assert cross.table().provenance["cells_zero"] == 3  # which every verdict states
    assert f"2 cells without a number, with '{mark}', are taken as zero" in cross.understood
    cross = read(file, reading=Reading(missing=(mark,), no_value="drop"))
    assert "IV × A" not in cells(cross)


def test_cells_without_a_number_are_counted_for_the_sheet_that_has_them(file):
    values = [*changed({}), ["IV", 0, "-", 0, 0]]
    firms = [[3 if isinstance(cell, int) else cell for cell in line] for line in values]
    firms[2][3] = firms[3][3] = "-"
    with_sheets(file, {"values": values, "firms": firms})
    cross = read(file, count="firms", reading=Reading(sheet="values", missing=("-",), no_value="zero"))
    assert "1 cell of 'investment' without a number, with '-', is taken as zero" in cross.understood
    assert "3 cells of 'firms' without a number, with '-', are taken as zero" in cross.understood


def test_a_suppressed_value_taken_as_zero_does_not_add_up(file):
    workbook(file, changed({(2, 2): "c"}))
    reading = Reading(missing=("c",), no_value="zero")
    refuse(r"not additive: 2 totals differ.*In the sheet: C2, B3|B3, C2", file, kind=TableError, reading=reading)


def test_a_last_row_of_marks_is_part_of_the_table(file):
    refuse(
        "without a number: 'x' in B6, C6, D6 and 1 more",
        workbook(file, [*INVESTMENT, ["IV", *"xxxx"]]),
        kind=TableError,
    )


def test_totals_that_do_not_add_up_are_named_as_in_the_sheet(file):
    text = refuse("not additive: 2 totals differ", workbook(file, [[], *changed({(2, 1): 81})]), kind=TableError)
    assert "In the sheet: B4, B3." in text or "In the sheet: B3, B4." in text
    refuse("totals are missing", workbook(file, [line[:1] + line[2:] for line in INVESTMENT]), kind=TableError)


def test_contents_that_are_no_numbers(file):
    from datetime import datetime

    lines = changed({(1, 2): datetime(2024, 1, 2), (2, 2): True, (3, 2): "80 p"})
    text = refuse("a date in place of a number in C2; true or false in place of a number in C3", workbook(file, lines),
                  kind=TableError)  # fmt: skip
    assert "other text with digits in place of a number in C4" in text


def test_numbers_stored_as_text(file):
    german = [[f"{cell:,.2f}".translate(str.maketrans(",.", ".,")) if isinstance(cell, int) else cell for cell in line]
              for line in INVESTMENT]  # fmt: skip
    assert cells(read(workbook(file, german))) == investment()
    either = [["", "Total", "A"], ["Total", "1.362", "1.362"], ["I", "1.362", "1.362"]]
    refuse('can be read in two ways, e.g. B2.*decimal = "." or decimal = ","', workbook(file, either), kind=TableError)
    assert cells(read(file, reading=Reading(decimal=",")))["I × A"] == 1362
    mixed = [["", "Total", "A"], ["Total", "1,5", "1.5"], ["I", "1.5", "1,5"]]
    refuse(
        r"decimal point \(e.g. C2\), others with a decimal comma \(e.g. B2\)", workbook(file, mixed), kind=TableError
    )


def test_marks_of_footnotes_after_numbers(file):
    """Their number is no digit of the value, and a value in parentheses may be negative or uncertain."""
    assert cells(read(workbook(file, changed({(1, 1): "190 1)", (2, 1): "80¹", (2, 2): "20*"})))) == investment()
    refuse('parentheses .is it negative. parentheses = "negative". in place of a number in C3',
           workbook(file, changed({(2, 2): "(20)"})), kind=TableError)  # fmt: skip


def test_formulas_without_results(file):
    refuse(
        "1 cells have formulas whose results are not stored, e.g. 'B2'",
        workbook(file, changed({(1, 1): "=SUM(C2:E2)"})),
    )


# -- counts and contributions ----------------------------------------------------------------------------------


def test_measures_side_by_side(file):
    lines = [
        ["", "Total", "", "", "A", "", ""],
        ["", "investment", "firms", "growth", "investment", "firms", "growth"],
        ["Total", 10, 3, 0.1, 10, 3, 0.2],
        ["I", 10, 3, 0.3, 10, 3, 0.4],
    ]
    workbook(file, lines, merge=["B1:D1", "E1:G1"])
    cross = read(file, columns=["region", "measures"], count="firms")
    assert cross.table().count.tolist() == [3] * 4
    assert "columns or rows with other measures are left out: 'growth'" in cross.understood
    refuse(
        "no label says 'largest'. There are 'investment', 'firms', 'growth'",
        file,
        columns=["region", "measures"],
        top=["largest"],
    )


def test_measures_in_sheets_of_their_own(file):
    sheets = {
        "values": INVESTMENT,
        "firms": [[3 if isinstance(cell, int) else cell for cell in line] for line in INVESTMENT],
        "largest": [
            ["" if (i, j) == (2, 2) else cell for j, cell in enumerate(line)] for i, line in enumerate(INVESTMENT)
        ],
        "names": [["n" if isinstance(cell, int) else cell for cell in line] for line in INVESTMENT],
    }
    with_sheets(file, sheets)
    refuse("has several sheets: 'values', 'firms', 'largest', 'names'. Name the one with the table: sheet = …", file)
    table = read(file, reading=Reading(sheet="values"), count="firms", top=["largest"], who=["names"]).table()
    assert table.count.tolist() == [3] * 16
    assert table.top[table.index("I × A")] == 0
    assert table.contributors == ("n",)
    with_sheets(file, {**sheets, "firms": sheets["firms"][:-1]})
    refuse("sheet 'firms' must have the same labels in the same cells as .*sheet 'values': 'A5' differ", file, count="firms",
           reading=Reading(sheet="values"))  # fmt: skip
    refuse("has no sheet 'other'", file, reading=Reading(sheet="other"))


def test_values_that_are_counts_themselves(file):
    table = read(workbook(file, INVESTMENT), value="persons", count="persons").table()
    assert table.is_count
    assert table.response == "persons"
    assert table.count.tolist() == table.value.tolist()
    halves = [[cell / 2 if isinstance(cell, int) else cell for cell in line] for line in INVESTMENT]
    with pytest.raises(TableError, match="Column 'persons' counts contributors, but not all of its numbers are"):
        read(workbook(file, halves), value="persons", count="persons").table()


def test_a_name_for_counts_that_is_another_sheet(file):
    """The values would be taken for the numbers of contributors that the other sheet has."""
    with_sheets(file, {"values": INVESTMENT, "firms": INVESTMENT})
    refuse(
        "value and count are both called 'firms', which is also another sheet.*such as value = \"number\"",
        file,
        value="firms",
        count="firms",
        reading=Reading(sheet="values"),
    )


def test_a_text_file_has_no_further_sheets(tmp_path):
    (tmp_path / "t.csv").write_text("\n".join(",".join(map(str, line)) for line in INVESTMENT), encoding="utf-8")
    assert cells(read(tmp_path / "t.csv")) == investment()
    refuse("'firms' would be a sheet.*\"measures\"", tmp_path / "t.csv", count="firms")


# -- files and settings ----------------------------------------------------------------------------------------


def test_files_of_other_kinds(tmp_path):
    for name in ("t.ods", "t.xls", "t.parquet"):
        (tmp_path / name).write_bytes(b"x")
        refuse(r"must be an \.xlsx, \.csv, \.tsv or \.txt file.*save it as \.xlsx", tmp_path / name, kind=FormatError)
    refuse("does not exist", tmp_path / "none.xlsx", kind=FormatError)
    refuse("does not exist", tmp_path / "none.csv", kind=FormatError)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    refuse("is not a workbook or is damaged", tmp_path / "t.xlsx", kind=FormatError)


def test_lines_that_can_be_split_in_two_ways(tmp_path):
    (tmp_path / "t.csv").write_text("x;Total,A;B,C\nTotal;1,5;2,5\nI;1,5;2,5\n", encoding="utf-8")
    refuse('can be split at "," and ";". Add the one that is meant: delimiter', tmp_path / "t.csv", kind=FormatError)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [], "columns": ["region"]}, "rows and columns each name at least one dimension"),
        ({"rows": ["region"], "columns": ["region"]}, "'region' is named in several of rows, columns and headings"),
        ({"by": {"activity": None}}, "The dimensions are 'activity', but rows and columns of the cross-table name"),
        ({"columns": ["measures", "measures", "region"]}, "'measures' stands once in rows or columns"),
        ({"value": "region"}, "a dimension and value are both called 'region'. value may be any name"),
        ({"count": "Investment"}, "value is called 'investment' and count 'Investment': .*capitals. value may be any"),
        ({"count": "REGION"}, "a dimension is called 'region' and count 'REGION': .*capitals. Rename one of them"),
        ({"count": "firms", "extra": ["Firms"]}, "count is called 'firms' and extra 'Firms'"),
        ({"extra": ["pay", "pay"]}, "'pay' stands twice in an entry"),
        ({"columns": ["region", "measures"], "count": "Investment"}, "capitals. Rename one of them, in the sheet"),
    ],
)
def test_settings_that_contradict_each_other(file, options, message):
    refuse(message, workbook(file, INVESTMENT), **options)


def test_the_preview_has_the_place_of_each_cell(file, tmp_path):
    read(workbook(file, INVESTMENT)).write_preview(tmp_path / "preview.csv")
    lines = (tmp_path / "preview.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "activity,region,investment,cell in the sheet"
    assert "II,C,22.0,E4" in lines


# -- any layout ------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 2**32))
def test_tables_in_any_layout_are_read_back(tmp_path_factory, seed):
    rng = np.random.default_rng(seed)
    drawn = drawn_cross_table(rng, tmp_path_factory.mktemp("cross") / "t.xlsx", rng.integers(1, 4, size=3))
    dimensions = ["x", "y", "z"]
    axes = dimensions[: drawn.in_rows], dimensions[drawn.in_rows :]
    try:
        cross = read_cross_table(drawn.path, *axes, "value")
    except InputError as error:
        question = str(error)
    else:
        question = ""
    if question:  # numbers that look like years
        assert "has years or consecutive numbers" in question
        cross = read_cross_table(drawn.path, *axes, "value", reading=Reading(header_row=drawn.header_row))
    assert cells(cross) == drawn.expected
