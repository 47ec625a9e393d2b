"""What is written is read again: a file that says anything but the release does not take its place."""

from __future__ import annotations

import numpy as np
import pytest
from openpyxl import load_workbook

from discreet import audit, protect, publish, write_release
from discreet.errors import NotSafeError
from discreet.io import csv, excel, parquet
from discreet.io.release_check import check_written
from discreet.release import Release
from discreet.testing import cross_table, pose

FORMATS = {"csv": csv, "xlsx": excel, "parquet": parquet}


def released(method: str = "kelly") -> Release:
    table = cross_table(["A", "=B", "C"], ["x", "y", "1"], [[10, 20, 30.5], [40, 50, 60], [70, 80, 90]])
    problem = pose(table, {"A × x": 5})
    protection = protect(problem, method)
    return publish(problem, protection, audit(problem, protection))


@pytest.mark.parametrize("method", ["kelly", "intervals"])
@pytest.mark.parametrize("kind", FORMATS)
def test_what_was_written_says_what_was_audited(kind, method, tmp_path):
    release = released(method)
    write_release(release, tmp_path / f"release.{kind}")
    check_written(release, tmp_path / f"release.{kind}")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("change", ["value", "suppressed", "left out", "code"])
def test_a_file_that_says_anything_else_is_refused_and_nothing_is_written(kind, change, tmp_path, monkeypatch):
    release = released()
    value, codes = release.value.copy(), {name: list(column) for name, column in release.codes.items()}
    suppressed = np.flatnonzero(np.isnan(value))[0]
    if change == "value":
        value[0] += 1
    elif change == "suppressed":
        value[suppressed] = 10.0
    elif change == "left out":
        value = value[1:]
        codes = {name: column[1:] for name, column in codes.items()}
    else:
        codes["column"][-1] = "other"
    other = Release({name: tuple(column) for name, column in codes.items()}, release.response, value)
    write = FORMATS[kind].write_release
    monkeypatch.setattr(FORMATS[kind], "write_release", lambda _, draft: write(other, draft))
    with pytest.raises(NotSafeError, match="as written the release has other"):
        write_release(release, tmp_path / f"release.{kind}")
    assert list(tmp_path.iterdir()) == []


def test_every_sheet_of_a_workbook_is_read_again(tmp_path):
    release = released()
    path = tmp_path / "release.xlsx"
    for sheet, where, what in (("table", "B3", 10.0), ("cells", "C2", 1.0), ("notes", "A1", "A × x is 10")):
        write_release(release, path)
        book = load_workbook(path)
        if sheet not in book.sheetnames:
            book.create_sheet(sheet)
        book[sheet][where] = what
        book.save(path)
        with pytest.raises(NotSafeError, match="as written"):
            check_written(release, path)
