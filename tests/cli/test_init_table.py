"""`discreet init` writes a job for a finished table that `check` and `run` accept, or says what is missing."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from openpyxl import Workbook

from discreet.cli.main import cli

HEADER = ["Activity", "Total", "A", "B", "C"]
BODY = [["Total", 190, 45, 101, 44], ["I", 80, 20, 50, 10], ["II", 49, 8, 19, 22], ["III", 61, 17, 32, 12]]
FIRMS = [["Total", 36, 11, 20, 5], ["I", 19, 5, 12, 2], ["II", 9, 4, 4, 1], ["III", 8, 2, 4, 2]]
Lines = Sequence[Sequence[Any]]


def workbook(folder: Path, **sheets: Lines) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, lines in sheets.items():
        sheet = book.create_sheet(title)
        for line in lines:
            sheet.append(list(line))
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


@pytest.fixture
def two_sheets(tmp_path: Path) -> Path:
    return workbook(tmp_path, investment=[HEADER, *BODY], firms=[HEADER, *FIRMS], notes=[["Read"], ["me"]])


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    title = [["Table 2: Patients by age and region, 2024"], ["Number"], []]
    return workbook(tmp_path, table=[*title, ["Age", *HEADER[1:]], *FIRMS, [], ["Source: register"]])


def discreet(*arguments: object, answers: Sequence[str] | None = None):
    text = None if answers is None else "\n".join(answers) + "\n"
    return CliRunner().invoke(cli, [str(each) for each in arguments], input=text, standalone_mode=False)


def written(file: Path) -> dict[str, Any]:
    return tomllib.loads((file.parent / "job.toml").read_text(encoding="utf-8"))


def test_a_table_of_counts_is_published(counts):
    found = discreet("init", counts, "--yes")
    assert (found.return_value, found.exception) == (0, None), found.output
    assert "a finished table. Numbers in B–E, rows 5–8; header in row 4" in found.output
    assert "! The numbers are taken for counts in which each contributor counts one" in found.output
    job = written(counts)
    assert (job["table"]["value"], job["table"]["count"]) == ("Patients", "Patients")
    assert (job["table"]["rows"], job["table"]["columns"]) == (["Age"], ["region"])
    assert job["title"] == "Table 2: Patients by age and region, 2024"
    assert job["metadata"] == {"unit": "Number", "source": "register"}
    found = discreet("run", counts.parent / "job.toml", "--quiet")
    assert found.return_value == 0, found.output
    release = pd.read_csv(counts.parent / "output" / "release.csv", dtype=str)
    assert set(release.columns) == {"Age", "region", "Patients"}
    assert (release.Patients == "×").sum() >= 4


def test_counts_in_a_sheet_of_their_own(two_sheets):
    found = discreet("init", two_sheets, "--yes", "--by", "activity", "--by", "region", "--unit", "EUR")
    assert found.return_value == 0, found.output
    assert "Other sheets are not part of the job: 'notes'" in found.output
    job = written(two_sheets)
    assert {name: job["table"][name] for name in ("sheet", "value", "count")} == {
        "sheet": "investment",
        "value": "investment",
        "count": "firms",
    }
    assert list(job["dimensions"]) == ["activity", "region"]
    assert (job["title"], job["metadata"]) == ("Investment by activity and region", {"unit": "EUR"})


def test_without_counts_it_says_what_rules_need(tmp_path):
    file = workbook(tmp_path, table=[HEADER, *BODY])
    found = discreet("init", file, "--yes")
    assert found.return_value == 2
    assert "The sheet does not name all dimensions. Name them, those of rows first: --by NAME" in found.output
    assert "Rules need more of a finished table than its values" in found.output
    assert written(file)["rules"]["sensitive"] == []
    (tmp_path / "job.toml").unlink()
    assert discreet("init", file, "--yes", "--response", "firms", "--count", "firms").return_value == 0
    assert written(file)["table"]["count"] == "firms"


def test_answers_replace_what_is_proposed(two_sheets, monkeypatch):
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    answers = ["y", "activity", "activity, region", "activity", "sales", "n", "nothing", "-", "T", "EUR", "-"]
    found = discreet("init", two_sheets, answers=answers)
    assert "The table has 2 dimensions: 'Activity', 'columns'. Give as many names" in found.output
    assert "The numbers need a name of their own" in found.output
    assert "There is no 'nothing' with numbers of contributors. Choose from 'sales', 'firms', 'notes'." in found.output
    job = written(two_sheets)
    assert (job["table"]["value"], job["table"].get("count"), job["title"]) == ("sales", None, "T")
    assert job["metadata"] == {"unit": "EUR"}


def test_cells_without_a_number_are_asked_about(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    firms = [[("-" if x == 1 else x) for x in line] for line in FIRMS]
    firms[0][1:], firms[2][1] = [35, 11, 20, 4], 8
    file = workbook(tmp_path, table=[["Number of firms by activity and region"], HEADER, *firms])
    found = discreet("init", file, answers=["y", "", "", "y", "y", "", "", "", ""])
    assert "1 cell without a number ('-'), e.g. E5: do all of them mean zero?" in found.output
    assert found.return_value == 0, found.output
    assert {name: written(file)["table"][name] for name in ("missing", "no_value")} == {
        "missing": ["-"],
        "no_value": "zero",
    }
    (tmp_path / "job.toml").unlink()
    found = discreet("init", file, answers=["y", "", "", "y", "n", "", "", "", ""])
    assert "A table with values that are suppressed or not known cannot be protected" in found.output
    assert found.return_value == 2
    assert "cells without a number: '-' in E5" in found.output


def test_totals_that_are_not_there_are_left_out_only_if_nobody_publishes_them(tmp_path, monkeypatch):
    file = workbook(
        tmp_path, table=[["Number of firms by branch"], ["Branch", 2023, 2024], *(line[:3] for line in FIRMS)]
    )
    found = discreet("init", file, "--yes")
    assert "! It has no totals of 'year'." in found.output
    assert "state it: unpublished_totals = true in [table] of a job" in found.output
    assert "unpublished_totals" not in written(file)["table"]
    (tmp_path / "job.toml").unlink()
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    found = discreet("init", file, answers=["y", "", "", "y", "y", "", "", "", ""])
    assert found.return_value == 0, found.output
    assert written(file)["table"]["unpublished_totals"] is True


def test_measures_are_chosen_by_their_labels(tmp_path):
    header = [None, *(x for region in HEADER[1:] for x in (region, None))]
    lines = [
        [a, *(x for pair in zip(v, f, strict=True) for x in pair)] for (a, *v), (_, *f) in zip(BODY, FIRMS, strict=True)
    ]
    file = workbook(tmp_path, table=[header, ["Activity", *["investment", "firms"] * 4], *lines])
    assert "No label says 'sales'. There are 'investment', 'firms'." in str(
        discreet("init", file, "--yes", "--response", "sales").exception
    )
    assert discreet("init", file, "--yes", "--response", "firms", "--count", "firms").return_value == 0
    assert (written(file)["table"]["value"], written(file)["table"]["count"]) == ("firms", "firms")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layout", "table", "--contributor", "I"], "--contributor is for records, and --layout table says"),
        (["--by", "a"], "The table has 2 dimensions: 'Activity', 'columns'. Give as many names."),
        (["--by", "a", "--by", "A"], "Give each dimension a name of its own"),
        (["--rule", "P10"], "P(10)"),
        (["--title", "a\x00b"], "title has control characters"),
    ],
)
def test_options_that_do_not_fit(two_sheets, options, message):
    assert message in str(discreet("init", two_sheets, "--yes", *options).exception)
    assert not (two_sheets.parent / "job.toml").exists()


def test_records_and_tables_can_be_told_apart_by_hand(tmp_path, monkeypatch):
    records = tmp_path / "t.csv"
    records.write_text("region,sales\n" + "".join(f"{'AB'[i % 2]},{i}\n" for i in range(30)), encoding="utf-8")
    assert "no finished table was found" in str(discreet("init", records, "--yes", "--layout", "table").exception)
    assert "--count is for finished tables" in str(discreet("init", records, "--yes", "--count", "sales").exception)
    table = workbook(tmp_path, table=[["sex", "sales"], ["a", 1], ["b", 2], ["Total", 3]])
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    found = discreet("init", table, answers=["n", *[""] * 10])
    assert "data" in written(table), found.output
    (tmp_path / "job.toml").unlink()
    discreet("init", table, "--yes", "--layout", "records")
    assert "data" in written(table)
