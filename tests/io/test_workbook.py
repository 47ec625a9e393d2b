"""The workbook to publish: title, labels, levels, order, formats, several tables, styles; and nothing but the release."""

from __future__ import annotations

import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from openpyxl.styles import Font, PatternFill
from tests.helpers.published import released

from discreet import Layout, Presentation, ReleaseMetadata, write_release
from discreet.data.hierarchy import Hierarchy
from discreet.errors import FormatError, NotSafeError
from discreet.io.release_check import check_written
from discreet.io.table_layout import table_sheets
from discreet.io.table_sheet import TEXT_HEIGHT
from discreet.release import Release


def sheet_of(release: Release, path, name: str = "table"):
    write_release(release, path)
    return openpyxl.load_workbook(path)[name]


def texts(sheet) -> list[list]:
    return [[cell.value for cell in row] for row in sheet.rows]


def below(sheet, column: int, start: int) -> list:
    return [row[column] for row in texts(sheet)[start:]]


def test_a_sheet_has_all_that_readers_need(tmp_path):
    sheet = sheet_of(released(), tmp_path / "r.xlsx")
    rows = texts(sheet)
    assert [row[0] for row in rows[:3]] == ["Turnover of enterprises", "2025", "Unit: 1 000 EUR"]
    assert rows[4][:3] == [None, None, "size"]
    assert rows[5][2:5] == ["Total", "Up to 9", "10 and more"]
    assert rows[6][:5] == ["Code", "Branch of industry", None, "0-9", "10+"]
    assert [row[:2] for row in rows[7:10]] == [[None, "Total"], ["I", "Industry"], ["10", "Food"]]
    assert [cell.alignment.indent for cell in sheet["B"][7:10]] == [0, 1, 2]
    notes = [row[0] for row in rows[14:] if row[0]]
    assert notes[0].startswith("× = The value is not published")
    assert notes[1:] == [
        "Provisional figures.",
        "By main activity.",
        "Source: Business survey",
        "Contact: info@example.org",
    ]
    assert sheet.freeze_panes == "C8"
    assert sheet.auto_filter.ref == "A7:E14"
    assert sheet["C8"].number_format == "#,##0.0"
    assert sheet.column_dimensions["B"].width > 12
    assert sheet.print_title_rows == "$5:$7"


def test_labels_instead_of_codes_and_totals_last(tmp_path):
    layout = Layout(labels="instead", total="last")
    sheet = sheet_of(released(layout=layout, lang="de"), tmp_path / "r.xlsx", "Tabelle")
    rows = texts(sheet)
    assert rows[5][:4] == ["Branch of industry", "Up to 9", "10 and more", "Insgesamt"]
    listed = ["Nahrung", "Chemicals", "Industrie", "45", "47", "Services", "Insgesamt"]
    assert [row[0] for row in rows[6:13]] == listed
    assert [cell.alignment.indent for cell in sheet["A"][6:13]] == [2, 2, 1, 2, 2, 1, 0]


def test_codes_only(tmp_path):
    rows = texts(sheet_of(released(layout=Layout(labels="codes")), tmp_path / "r.xlsx"))
    assert rows[5][:4] == ["Branch of industry", "Total", "0-9", "10+"]


def test_further_dimensions_are_sheets_or_blocks(tmp_path):
    sheets = tmp_path / "r.xlsx"
    write_release(released(3), sheets)
    book = openpyxl.load_workbook(sheets)
    found = released(3).hierarchies["region"].codes
    assert book.sheetnames == ["contents", *found, "cells", "legend"]
    assert texts(book["contents"])[2] == ["Total", "Turnover of enterprises, region: Total"]
    assert book["contents"]["A3"].hyperlink.location == "'Total'!A1"
    sheet = sheet_of(released(3, layout=Layout(further="blocks")), tmp_path / "b.xlsx")
    headings = [row[0] for row in texts(sheet) if str(row[0]).startswith("region: ")]
    assert headings == [f"region: {code}" for code in found]
    nested = sheet_of(released(3, layout=Layout(columns=("size", "region"))), tmp_path / "n.xlsx")
    assert {str(one) for one in nested.merged_cells.ranges} >= {"C6:E6"}


def test_linked_tables_have_sheets_of_their_own(tmp_path):
    parts = released(3).hierarchies
    frame = released(3).frame()
    frame["turnover"] = released(3).value
    two = (frame.region == "Total") | (frame.branch == "Total")
    codes = {name: tuple(frame[two][name]) for name in ("branch", "size", "region")}
    release = Release(
        codes,
        "turnover",
        frame[two].turnover.to_numpy(),
        hierarchies=parts,
        tables=(("branch", "size"), ("size", "region")),
    )
    write_release(release, tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(tmp_path / "r.xlsx")
    assert book.sheetnames[:3] == ["contents", "table 1", "table 2"]
    assert [book[name]["A1"].value for name in book.sheetnames[1:3]] == [
        "turnover by branch, size",
        "turnover by size, region",
    ]


def test_intervals_have_three_columns(tmp_path):
    rows = texts(sheet_of(released(method="intervals", accept_symmetric=True), tmp_path / "r.xlsx"))
    assert rows[7][2:8] == ["Turnover", "lower", "upper"] * 2


def test_styles_come_from_a_template(tmp_path):
    book = openpyxl.Workbook()
    for row, (name, font) in enumerate(
        {"Title": Font(size=20, name="Georgia"), "heading": Font(color="FFFFFF")}.items(), 1
    ):
        book.active.cell(row, 2, name).font = font
    book.active["B2"].fill = PatternFill("solid", fgColor="003366")
    book.active.oddHeader.left.text = "An office"
    book.save(tmp_path / "style.xlsx")
    sheet = sheet_of(released(layout=Layout(template=str(tmp_path / "style.xlsx"))), tmp_path / "r.xlsx")
    assert (sheet["A1"].font.name, sheet["A1"].font.size) == ("Georgia", 20)
    assert sheet["C6"].fill.fgColor.rgb == "00003366"
    assert sheet.oddHeader.left.text == "An office"
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    (tmp_path / "broken.xlsx").write_text("no workbook")
    for name, says in (
        ("empty", "no cell of the first sheet has the name of a style"),
        ("broken", "is not a workbook"),
    ):
        with pytest.raises(FormatError, match=says):
            write_release(released(layout=Layout(template=str(tmp_path / f"{name}.xlsx"))), tmp_path / "other.xlsx")
    assert not (tmp_path / "other.xlsx").exists()


def test_properties_name_nobody_and_nothing_depends_on_the_time(tmp_path):
    release = released()
    write_release(release, tmp_path / "r.xlsx")
    write_release(release, tmp_path / "again.xlsx")
    assert (tmp_path / "r.xlsx").read_bytes() == (tmp_path / "again.xlsx").read_bytes()
    assert openpyxl.load_workbook(tmp_path / "r.xlsx").properties.title == "Turnover of enterprises"
    with zipfile.ZipFile(tmp_path / "r.xlsx") as archive:
        assert {part.date_time for part in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        properties = archive.read("docProps/core.xml")
    assert b"creator" not in properties
    assert b"lastModifiedBy" not in properties
    assert b"2026-03-31" in properties


def test_programs_read_the_plain_sheet(tmp_path):
    release = released()
    write_release(release, tmp_path / "r.xlsx")
    frame = pd.read_excel(tmp_path / "r.xlsx", sheet_name="cells", dtype={"branch": str, "size": str})
    assert list(frame) == ["branch", "size", "turnover"]
    assert frame.branch.tolist() == list(release.codes["branch"])


@pytest.mark.parametrize("where", ["C9", "B10", "A1", "H30", "D8"])
def test_any_other_entry_is_found(tmp_path, where):
    release = released()
    write_release(release, tmp_path / "r.xlsx")
    book = openpyxl.load_workbook(tmp_path / "r.xlsx")
    book["table"][where] = 4711
    book.save(tmp_path / "r.xlsx")
    with pytest.raises(NotSafeError, match="as written the release has other"):
        check_written(release, tmp_path / "r.xlsx")


def test_names_of_sheets_are_those_that_workbooks_accept():
    codes = ("Total", "a/b:c", "A?b c", "x" * 40, "x" * 40 + "y", "cells")
    frame = {"d": tuple("Total" for _ in codes), "e": tuple("Total" for _ in codes), "f": codes}
    names = [sheet.name for sheet in table_sheets(Release(frame, "v", np.ones(6)), ["cells"]) or []]
    assert names == ["Total", "a b c", "A b c (2)", "x" * 31, "x" * 27 + " (2)", "cells (2)"]


def test_headings_of_several_lines_are_seen_in_full(tmp_path):
    """Not every program adapts the height of rows."""
    hierarchy = Hierarchy.flat("ab").with_labels({"": {"a": "10 to 49 persons employed", "b": "Short"}})
    codes = {"r": ("Total",) * 3, "d": ("Total", "a", "b")}
    release = Release(codes, "v", np.ones(3), hierarchies={"d": hierarchy}, presentation=Presentation())
    sheet = sheet_of(release, tmp_path / "r.xlsx")
    row = next(cell.row for line in sheet.rows for cell in line if cell.value == "10 to 49 persons employed")
    assert sheet.row_dimensions[row].height >= 2 * TEXT_HEIGHT
    assert sheet.row_dimensions[row + 1].height is None


def test_texts_that_a_cell_cannot_hold(tmp_path):
    with pytest.raises(FormatError, match="A cell of a workbook holds 32,767 letters"):
        write_release(Release({"d": ("x" * 32_768,)}, "v", np.ones(1)), tmp_path / "r.xlsx")
    write_release(Release({"d\x01": ("a\x02b",)}, "v", np.ones(1)), tmp_path / "r.xlsx")
    assert openpyxl.load_workbook(tmp_path / "r.xlsx")["cells"]["A2"].value == "ab"


def test_unknown_dimensions_in_the_layout_are_named(tmp_path):
    both = Layout(rows=("size",), columns=("size",))
    for layout, says in ((Layout(rows=("brunch",)), "no dimension 'brunch'"), (both, "both")):
        release = Release({"size": ("Total",)}, "v", np.ones(1), presentation=Presentation(ReleaseMetadata(), layout))
        with pytest.raises(FormatError, match=says):
            write_release(release, tmp_path / "r.xlsx")
    assert list(tmp_path.iterdir()) == []
