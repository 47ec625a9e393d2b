"""What a table does not hold is not shown as zero: not by any sheet or format."""

from __future__ import annotations

import io

import openpyxl
import pandas as pd
import pytest

from discreet import Hierarchy, InputError, audit, publish, read_table, write_release
from discreet.attacks import Public
from discreet.io.bundle import read_problem, write_problem
from discreet.io.csv import read_release
from discreet.protection import suppress
from discreet.testing import pose

CELLS = """\
row,column,v
Total,x,30
Total,y,70
a,x,10
a,y,20
b,x,20
b,y,50
"""
DIMENSIONS = {"row": Hierarchy.flat(["a", "b"]), "column": Hierarchy.flat(["x", "y"])}


def release_of(cells: str, unpublished: bool):
    table = read_table(pd.read_csv(io.StringIO(cells)), DIMENSIONS, "v", unpublished_totals=unpublished)
    problem = pose(table, {})
    protection = suppress(problem, problem.status == 1)
    return problem, publish(problem, protection, audit(problem, protection))


def sheet_of(release, path):
    write_release(release, path)
    rows = [list(row)[:4] for row in openpyxl.load_workbook(path)["table"].values]
    start = next(i for i, row in enumerate(rows) if row[0] == "row")  # below the title
    header, *rows = [[entry for entry in row if entry is not None or row[0]] for row in rows[start : start + 4]]
    return {(row[0], column): value for row in rows for column, value in zip(header[1:], row[1:], strict=True)}


def test_the_sheet_leaves_an_unpublished_total_empty(tmp_path):
    """Finding 13: it showed 0 for the total of row a, whose parts are 10 and 20."""
    cells = CELLS + "Total,Total,100\n"
    _, release = release_of(cells, unpublished=True)
    sheet = sheet_of(release, tmp_path / "release.xlsx")
    assert sheet["Total", "Total"] == 100
    assert sheet["a", "Total"] is None
    assert sheet["b", "Total"] is None
    assert 0 not in sheet.values()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_other_formats_do_not_list_it(tmp_path, suffix):
    _, release = release_of(CELLS, unpublished=True)
    path = tmp_path / f"release{suffix}"
    write_release(release, path)
    frame = read_release(path) if suffix == ".csv" else pd.read_parquet(path)
    assert "Total" not in frame["column"].tolist()


def test_it_stays_unpublished_in_a_bundle(tmp_path):
    problem, _ = release_of(CELLS, unpublished=True)
    write_problem(problem, tmp_path / "p.discreet")
    assert not read_problem(tmp_path / "p.discreet").table.complete


def test_an_intruder_does_not_take_it_for_zero():
    _, release = release_of(CELLS, unpublished=True)
    with pytest.raises(InputError, match="need not be zero"):
        Public.from_release(release, DIMENSIONS)


def test_with_all_totals_cells_that_are_not_listed_are_zero(tmp_path):
    """Asking for unpublished totals changes nothing where there are none."""
    cells = "row,column,v\nTotal,Total,30\nTotal,x,10\nTotal,y,20\na,Total,30\na,x,10\na,y,20\n"
    for unpublished in (False, True):
        problem, release = release_of(cells, unpublished)
        assert problem.table.complete
        sheet = sheet_of(release, tmp_path / "release.xlsx")
        assert sheet["a", "x"] == 10
