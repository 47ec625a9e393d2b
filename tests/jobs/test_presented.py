"""Jobs that publish in standards: their sections, their files, and entries that contradict each other."""

from __future__ import annotations

import json
import re
from pathlib import Path

import openpyxl
import pytest
from tests.helpers.published import records

from discreet.cli.main import cli
from discreet.errors import DiscreetError, InputError, JobError
from discreet.io.pcaxis import read_px
from discreet.jobs.job import run_job
from discreet.jobs.job_file import is_public, read_job, read_presentation

JOB = """
title = "Turnover"
[data]
file = "firms.csv"
response = "turnover"
[dimensions.branch]
hierarchy = "branch.csv"
[dimensions.size]
codes = "size.csv"
[rules]
sensitive = ["P(20)", "FREQ(3)"]
[output]
formats = ["csv", "xlsx", "px", "json-stat", "csvw", "sdmx-csv", "sdmx-csv-1", "sdmx-ml", "sdmx-structure"]
transmission = "sdmx-csv"
lang = "de"
attacks = ["none"]
[metadata]
unit = "EUR"
agency = "XX"
dataflow = "T"
updated = "2026-03-31"
names = {branch = "Branche"}
[workbook]
labels = "instead"
total = "last"
[sdmx]
ids = "ids.csv"
"""
BRANCHES = (
    "code,parent,label,label:de\nI,,Industry,Industrie\nS,,Services,\n10,I,,\n20,I,,\n45,S,,\n47,S,Retail,Handel\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    records().to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "branch.csv").write_text(BRANCHES, encoding="utf-8")
    (tmp_path / "size.csv").write_text("code,label:de\n10+,Ab 10\n0-9,Bis 9\n", encoding="utf-8")
    (tmp_path / "ids.csv").write_text("column,code,id\nsize,10+,10PLUS\n")
    return tmp_path


def run(folder: Path, text: str):
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return run_job(read_job(folder / "job.toml"))


def test_a_job_writes_all_formats_and_says_which_are_public(folder):
    result = run(folder, JOB)
    names = [path.name for path in result.files]
    public = [name for name in names if is_public(Path(name))]
    assert public == [
        *("release.csv", "release.xlsx", "release.px", "release.json", "release.csv-metadata.json", "release.sdmx.csv"),
        *("release.sdmx1.csv", "release.sdmx.xml", "release.sdmx-structure.xml"),
    ]
    for path in result.files:
        assert (path.stat().st_mode & 0o077 == 0) == (path.name not in public)
    out = folder / "output"
    px = read_px(out / "release.px")
    assert px.texts("TITLE") == ["Turnover"]
    assert px.texts("VALUES", "size") == ["Insgesamt", "Ab 10", "Bis 9"]
    assert px.texts("VALUES", "Branche") == ["Insgesamt", "Industrie", "10", "20", "Services", "45", "Handel"]
    assert json.loads((out / "release.csv-metadata.json").read_text(encoding="utf-8"))["url"] == "release.csv"
    assert "10PLUS" in (out / "release.sdmx.csv").read_text()
    assert re.search(",[AMC]\n", (out / "transmission.sdmx.csv").read_text())
    sheet = openpyxl.load_workbook(out / "release.xlsx")["Tabelle"]
    assert [cell.value for cell in sheet["A"]][5:12] == [
        "10",
        "20",
        "Industrie",
        "45",
        "Handel",
        "Services",
        "Insgesamt",
    ]
    assert "Industrie" not in (out / "report.html").read_text(encoding="utf-8")
    assert "I Industry" in (out / "report.html").read_text(encoding="utf-8")


def test_linked_tables_have_a_px_file_each(folder):
    linked = JOB.replace('title = "Turnover"', 'title = "T"\ntables = [["branch"], ["size"]]').replace(
        "[rules]", "[rules]"
    )
    run(folder, linked.replace('["P(20)", "FREQ(3)"]', '["FREQ(3)"]'))
    assert read_px(folder / "output" / "release.table-2.px").texts("CODES", "size") == ["Total", "10+", "0-9"]
    assert not (folder / "output" / "release.px").exists()
    book = openpyxl.load_workbook(folder / "output" / "release.xlsx")
    assert book.sheetnames[:3] == ["Inhalt", "Tabelle 1", "Tabelle 2"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('agency = "XX"\n', ""), r"the format 'sdmx-csv' needs agency in \[metadata\]"),
        (('updated = "2026-03-31"', 'updated = "31.3.26"'), r"\[metadata\] updated is a date"),
        (('unit = "EUR"', 'unit = "EUR\\u0000"'), r"\[metadata\] unit has control characters"),
        (
            ("names = {branch", 'notes = ["a", "\\u0007"]\nnames = {branch'),
            r"\[metadata\] notes has control characters",
        ),
        (("names = {branch", "names = {brunch"), r"\[metadata\] names has 'brunch', which is no column"),
        (
            ('labels = "instead"', 'labels = "under"'),
            r"\[workbook\] labels is 'beside' or 'instead' or 'codes', not 'under'",
        ),
        (('total = "last"', 'rows = ["brunch"]'), r"\[workbook\] rows: there is no dimension 'brunch'"),
        (('total = "last"', 'template = "none.xlsx"'), r"there is no file 'none.xlsx' for workbook.template"),
        (('ids = "ids.csv"', 'flag = "F"'), r"\[sdmx\] flag and free are both 'F'"),
        (('ids = "ids.csv"', 'reasons = {FREK = "A"}'), r"\[sdmx\] reasons: there is no rule 'FREK'"),
        (('transmission = "sdmx-csv"', 'transmission = "csv"'), r"transmission is 'sdmx-csv' or"),
        (('"csv", "xlsx"', '"xlsx"'), r"'csvw' describes release.csv: list 'csv'"),
        (('"json-stat"', '"jsonstat"'), r"cannot write releases as 'jsonstat'. Choose from 'csv'"),
        (('unit = "EUR"', 'units = "EUR"'), r"\[metadata\] has an unknown entry 'units'. Did you mean 'unit'"),
        (('codes = "size.csv"', 'codelist = "X"'), r"'codelist' goes with an SDMX structure"),
    ],
)
def test_entries_that_do_not_fit(folder, change, says):
    assert change[0] in JOB
    (folder / "job.toml").write_text(JOB.replace(*change), encoding="utf-8")
    with pytest.raises(JobError, match=says):
        read_job(folder / "job.toml")
    assert not (folder / "output").exists()


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("size.csv", "code,label\n10+,x\n", "1 code not in the code list, e.g. '0-9'"),
        ("ids.csv", "column,code,id\nsize,10+,10 plus\n", "Codes of column 'size' cannot be identifiers in SDMX"),
        ("ids.csv", "column,id\n", "'code' is missing"),
    ],
)
def test_faulty_files_leave_earlier_releases_as_they_are(folder, file, text, says):
    run(folder, JOB)
    before = {path.name: path.read_bytes() for path in (folder / "output").iterdir()}
    (folder / file).write_text(text)
    with pytest.raises(DiscreetError, match=re.escape(says)):
        run(folder, JOB)
    assert {path.name: path.read_bytes() for path in (folder / "output").iterdir()} == before


def test_a_finished_table_with_flags(folder):
    (folder / "t.sdmx.csv").write_text(
        "STRUCTURE,STRUCTURE_ID,ACTION,row,col,OBS_VALUE,CONF_STATUS\n"
        + "".join(
            f"dataflow,A:B(1.0),I,{row},{col},{value},{flag}\n"
            for row, col, value, flag in (
                *(("_T", "_T", 100, "F"), ("_T", "x", 40, "F"), ("_T", "y", 60, "F"), ("a", "_T", 50, "F")),
                *(
                    ("a", "x", 10, "O"),
                    ("a", "y", 40, "D"),
                    ("b", "_T", 50, "F"),
                    ("b", "x", 30, "D"),
                    ("b", "y", 20, "D"),
                ),
            )
        )
    )
    job = """
[table]
file = "t.sdmx.csv"
value = "OBS_VALUE"
flags = "CONF_STATUS"
[dimensions.row]
total = "_T"
[dimensions.col]
total = "_T"
[rules]
sensitive = []
[output]
attacks = ["none"]
"""
    result = run(folder, job)
    assert result.passed
    assert result.problem.table.labels(result.problem.primaries) == ["a × x"]
    assert (result.protection.report.n_primary, result.protection.report.n_secondary) == (1, 3)
    with pytest.raises(JobError, match="secondary is 'suppressed' or 'free', not 'kept'"):
        run(folder, job.replace("[dimensions.row]", 'secondary = "kept"\n[dimensions.row]', 1))


def test_publish_takes_the_sections_and_writes_several_formats(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    presented = '[metadata]\ntitle = "T"\nagency = "XX"\ndataflow = "D"\n[sdmx]\nids = "ids.csv"\n'
    (folder / "p.toml").write_text(presented)
    for line in (
        "tabulate firms.csv --by branch=branch.csv --by size --codes size=size.csv --response turnover --out t.discreet",
        "assess t.discreet --rule P(20) --rule FREQ(3) --out p.discreet",
        "protect p.discreet --out pattern.csv",
        "publish p.discreet --pattern pattern.csv --presentation p.toml --transmission t.sdmx.csv --out r.px --out r.sdmx.csv",
    ):
        cli.main(line.split(), standalone_mode=False)
    assert read_px(folder / "r.px").texts("TITLE") == ["T"]
    assert read_px(folder / "r.px").texts("CODES", "size") == ["Total", "10+", "0-9"]
    assert (folder / "r.sdmx.csv").stat().st_mode & 0o044
    assert (folder / "t.sdmx.csv").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="is the name of a public file"):
        cli.main([*line.split()[:-4], "--transmission", "release.sdmx.csv", "--out", "r.px"], standalone_mode=False)
    assert not (folder / "release.sdmx.csv").exists()
    (folder / "p.toml").write_text('[metadata]\nagency = "1"\n')
    with pytest.raises(DiscreetError, match=r"p.toml: \[metadata\] agency is an identifier in SDMX"):
        read_presentation(folder / "p.toml")
