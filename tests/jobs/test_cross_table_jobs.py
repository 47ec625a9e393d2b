"""Jobs on cross-tables: shown before they are used, and released like any finished table."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest
from openpyxl import Workbook

from discreet.cli.check import show_check
from discreet.errors import TableError
from discreet.jobs.job import Result, run_job
from discreet.jobs.job_file import examine_job, read_job

JOB = """
[table]
file = "investment.xlsx"
layout = "cross"
rows = ["activity"]
columns = ["region", "measures"]
value = "investment"
count = "firms"
[dimensions.activity]
[dimensions.region]
total = "Country"
[rules]
sensitive = ["FREQ(2)"]
"""
REGIONS = {"Country": [190, 80, 49, 61], "A": [45, 20, 8, 17], "B": [101, 50, 19, 32], "C": [44, 10, 22, 12]}
FIRMS = {"Country": [36, 19, 9, 8], "A": [11, 5, 4, 2], "B": [20, 12, 4, 4], "C": [5, 2, 1, 2]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Investment by activity and region"])
    sheet.append([None, *(label for region in REGIONS for label in (region, None))])
    sheet.append([None, *["investment", "firms"] * 4])
    for i, activity in enumerate(["Total", "I", "II", "III"]):
        sheet.append([activity, *(table[region][i] for region in REGIONS for table in (REGIONS, FIRMS))])
    sheet.append(["Source: register"])
    book.save(tmp_path / "investment.xlsx")
    return tmp_path


def run(folder: Path, text: str) -> tuple[Result, list[str]]:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    said: list[str] = []
    return run_job(read_job(folder / "job.toml"), say=said.append), said


def errors(folder: Path, text: str) -> str:
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return "\n".join(map(str, examine_job(folder / "job.toml")[1]))


def test_a_cross_table_is_shown_protected_and_released(folder):
    """The pattern is that of the paper's figure 2; what was understood comes before anything is computed."""
    result, said = run(folder, JOB)
    tabulated = next(i for i, line in enumerate(said) if line.startswith("tabulated"))
    shown = said[:tabulated]
    assert "activity (column A): 3 codes below the total 'Total': 'I', 'II', 'III'" in shown
    assert "region (row 2): 3 codes below the total 'Country': 'A', 'B', 'C'" in shown
    assert "rows that are no part of the table: 1, 8" in shown
    preview = next(file for file in result.files if file.name == "table-as-read.csv")
    assert pd.read_csv(preview).query("activity == 'II' and region == 'C'").values.tolist() == [
        ["II", "C", 22, 1, "H6"]
    ]
    assert os.stat(preview).st_mode & 0o077 == 0
    release = pd.read_csv(next(file for file in result.files if file.name == "release.csv"), dtype=str)
    suppressed = release[release.investment == "×"]
    assert result.problem.table.labels(result.problem.primaries) == ["II × C"]
    assert len(suppressed) == 4
    assert {(*cell,) for cell in suppressed[["activity", "region"]].values.tolist()} >= {("II", "C")}


def test_the_preview_is_there_when_the_table_does_not_add_up(folder):
    """It is what the reader needs to see why."""
    text = JOB.replace('value = "investment"', 'value = "investment"\nskip = ["D", "E"]')
    with pytest.raises(TableError, match=r"not additive.*In the sheet: B7, B5, B4, B6"):
        run(folder, text)
    assert (folder / "output" / "table-as-read.csv").exists()


def test_check_shows_what_was_understood(folder, capsys):
    (folder / "job.toml").write_text(JOB, encoding="utf-8")
    assert show_check(folder / "job.toml") == 0
    assert "region (row 2): 3 codes below the total 'Country': 'A', 'B', 'C'" in capsys.readouterr().out
    (folder / "job.toml").write_text(JOB.replace('"cross"', '"cross"\nskip = ["5"]'), encoding="utf-8")
    assert show_check(folder / "job.toml") == 2
    out = capsys.readouterr().out
    assert "region (row 2)" in out
    assert "not additive" in out
    assert not (folder / "output" / "table-as-read.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"cross"', '"wide"', "table.layout is \"cross\" for a cross-table, or left out, not 'wide'"),
        ('layout = "cross"\n', "", "'rows', 'columns' in [table] say how a cross-table is laid out: add layout"),
        ('rows = ["activity"]\n', "", "a cross-table needs rows and columns"),
    ],
)
def test_entries_are_checked_before_the_file_is_read(folder, old, new, message):
    assert message in errors(folder, JOB.replace(old, new))


def test_the_preview_does_not_replace_the_table(folder):
    (folder / "investment.xlsx").rename(folder / "table-as-read.csv")
    text = JOB.replace("investment.xlsx", "table-as-read.csv") + '[output]\nfolder = "."\n'
    assert "the job would overwrite 'table-as-read.csv', its table.file" in errors(folder, text)
