"""What a new user does with an export and `discreet init`: the next step is always named, and no mistake ends in a table."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from openpyxl import Workbook

from discreet.cli.main import cli

ROWS = [(f"F{i:02}", "C10" if i % 2 else "G47", ("Köln", "Bonn", "Ulm")[i % 3], 1000.5 + i) for i in range(30)]
HEADER = "firm;industry;region;turnover"
LINES = [";".join([*codes, str(turnover).replace(".", ",")]) for *codes, turnover in ROWS]
R_LINES = [f'"{i}";' + line for i, line in enumerate(LINES, start=1)]


def written(folder: Path, lines: list[str], name: str = "d.csv", encoding: str = "utf-8") -> Path:
    (folder / name).write_text("\n".join(lines) + "\n", encoding=encoding)
    return folder / name


def discreet(*arguments: object):
    return CliRunner().invoke(cli, [str(each) for each in arguments], standalone_mode=False)


def init(file: Path, *options: str):
    """What init says, and the job that it writes."""
    job = file.parent / "job.toml"
    job.unlink(missing_ok=True)
    found = discreet("init", file, "--yes", *options)
    raw = tomllib.loads(job.read_text(encoding="utf-8")) if job.exists() else {}
    return found.output + str(found.exception or ""), raw


def named_options(said: str) -> list[str]:
    return shlex.split(said.rpartition("discreet init DATA ")[2])


@pytest.mark.parametrize(
    ("lines", "encoding", "options"),
    [
        (["Cases 2025, extract of 2 March", "", HEADER, *LINES], "utf-8", ["--header-row", "3"]),
        (["Cases 2025;;;", HEADER, *LINES], "utf-8", ["--header-row", "2"]),
        (["Cases 2025, of 2 March", f'"";{HEADER}', *R_LINES], "utf-8", ["--header-row", "2"]),  # R, write.csv2
        ([HEADER, *LINES], "windows-1252", ["--encoding", "windows-1252"]),
    ],
)
def test_the_option_that_decides_is_named_and_leads_to_a_job(tmp_path, lines, encoding, options):
    file = written(tmp_path, lines, encoding=encoding)
    said, raw = init(file)
    assert (named_options(said), raw) == (options, {}), said
    said, raw = init(file, *options)
    assert "No fault was found" in said, said
    assert set(raw["dimensions"]) == {"industry", "region"}


def test_on_a_terminal_the_settings_are_asked_for(tmp_path, monkeypatch):
    """The file is in Windows-1252 and has a title; each answer is kept while the next question is asked."""
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    file = written(tmp_path, ["Umsätze 2025", "", HEADER, *LINES], encoding="windows-1252")
    answers = ["", "third", "", *[""] * 12]
    found = CliRunner().invoke(cli, ["init", str(file)], input="\n".join(answers) + "\n", standalone_mode=False)
    assert "encoding [windows-1252]:" in found.output
    assert "header_row [3]: third" in found.output
    assert "header_row is the number of a line" in found.output
    data = tomllib.loads((tmp_path / "job.toml").read_text(encoding="utf-8"))["data"]
    assert (data["encoding"], data["header_row"]) == ("windows-1252", 3)
    assert found.return_value == 0, found.output


def test_options_that_were_given_are_in_the_next_proposal(tmp_path):
    file = written(tmp_path, ["Umsätze 2025", "", HEADER, *LINES], encoding="windows-1252")
    said, _ = init(file, "--encoding", "windows-1252")
    assert named_options(said) == ["--encoding", "windows-1252", "--header-row", "3"]


def test_a_last_line_without_codes_is_one_of_sums(tmp_path):
    said, _ = init(written(tmp_path, [HEADER, *LINES, "F99;;Ulm;1,00"]))
    assert (
        "1 of 31 records have no code in column 'industry' (line 32). It is the last line, where spreadsheets" in said
    )
    assert 'write merge = {"" = "unknown"} under [dimensions.industry]' in said


def test_names_of_rows_without_a_name_of_their_column(tmp_path):
    """R writes them by default."""
    said, raw = init(written(tmp_path, [f'"";{HEADER}', *R_LINES]))
    assert "No fault was found" in said, said
    assert (raw["data"]["response"], raw["data"]["contributor"]) == ("turnover", "firm")


@pytest.mark.parametrize(
    "last", ["Summe;;;30.450,00", ";;;30.450,00", ";Summe;Summe;30.450,00", "Summe;C10;Insgesamt;1,00"]
)
def test_a_line_of_sums_is_never_added_up_again(tmp_path, last):
    for contributor in ("firm", "-"):
        said, raw = init(written(tmp_path, [HEADER, *LINES, ";;;", last]), "--contributor", contributor)
        assert set(raw["dimensions"]) == {"industry", "region"}, said
        assert "fault" in said
        assert "No fault was found" not in said
        assert "line 33" in said or "a usual name of totals" in said, said


def test_a_region_spelt_in_two_ways(tmp_path):
    said, _ = init(written(tmp_path, [HEADER, *LINES, "F99;C10;Koeln;5,00"]))
    assert "'Köln' and 'Koeln' differ only in umlauts written as two letters" in said


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER], "has no records below the names of its columns"),
        ([HEADER.replace("region", "industry"), *LINES], "several columns called 'industry'. Rename all but one"),
        ([";;;", ""], "is empty|no column has a name"),
        (["<html>", "<table></table>"], "a web page"),
    ],
)
def test_files_that_are_no_records(tmp_path, lines, message):
    said, raw = init(written(tmp_path, lines))
    assert any(part in said for part in message.split("|")), said
    assert raw == {}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("d.xlsx", bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600), "a workbook with a password, or one of Excel 97"),
        ("d.xlsx", b"<html><table></table></html>", "a web page"),
        ("d.xlsx", b"PK\x03\x04" + bytes(100), "it is damaged.*save it again"),
        ("d.xlsx", b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "an OpenDocument file"),
        ("d.csv", b"PK\x03\x04" + bytes(100), "Rename a workbook to .xlsx"),
        ("d.csv", b"%PDF-1.7", "a PDF document"),
    ],
)
def test_files_of_another_kind(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    said, _ = init(tmp_path / name)
    assert all(part in said for part in message.split(".*")), said


def test_a_title_in_a_workbook(tmp_path):
    book = Workbook()
    for row in (["Enterprises 2025"], [], HEADER.split(";"), *ROWS):
        book.active.append(row)
    book.save(tmp_path / "d.xlsx")
    said, _ = init(tmp_path / "d.xlsx")
    assert named_options(said) == ["--header-row", "3"]
    assert 'layout = "cross"' in said
    assert "No fault was found" in init(tmp_path / "d.xlsx", "--header-row", "3")[0]


def test_fewer_different_entries_than_entries(tmp_path):
    frame = pd.DataFrame({"firm": [f"Firm {i} GmbH" for i in range(3000)], "region": ["N", "S", "W"] * 1000})
    frame.to_csv(tmp_path / "d.csv", index=False)
    found = init(tmp_path / "d.csv")[0]
    line = next(line for line in found.splitlines() if line.startswith("firm"))
    assert int(line.split("about")[1].split()[0].replace(",", "")) <= 3000


def test_data_in_place_of_a_job(tmp_path):
    file = written(tmp_path, [HEADER, *LINES])
    assert f"discreet init {file}" in str(discreet("run", file).exception)


def test_commands_are_listed_in_the_order_of_the_work_and_slips_are_corrected():
    shown = discreet("--help").output
    assert shown.index("  init ") < shown.index("  check ") < shown.index("  run ") < shown.index("  advise ")
    assert "Did you mean 'init'?" in str(discreet("int", "d.csv").exception.message)


def test_codes_that_mean_none_are_pointed_out(tmp_path):
    said, _ = init(written(tmp_path, [HEADER, *LINES, "F98;C10;NA;1,00", "F99;.;Ulm;1,00"]))
    assert "! region has the code 'NA', which often means that there is none" in said
    assert "! industry has the code '.'" in said


def test_a_folder_that_cannot_be_written_to_is_found_before_the_work(tmp_path, monkeypatch):
    file = written(tmp_path, [HEADER, *LINES])
    init(file)
    access = os.access
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK | os.X_OK and access(path, mode))
    found = discreet("run", tmp_path / "job.toml")
    assert "not yours to write to. Choose another output folder" in str(found.exception)
    assert "tabulated" not in found.output


def test_a_file_that_another_program_has_open(tmp_path, monkeypatch):
    """As on Windows, where Excel locks it."""
    init(written(tmp_path, [HEADER, *LINES]))

    def locked(*_: object) -> None:
        raise PermissionError(13, "locked")

    monkeypatch.setattr("discreet.io.os.replace", locked)
    found = discreet("run", tmp_path / "job.toml")
    assert "close it if another program has it open, and run again" in str(found.exception)


def test_a_path_of_windows(tmp_path, monkeypatch):
    init(written(tmp_path, [HEADER, *LINES]))
    job = tmp_path / "job.toml"
    job.write_text(job.read_text(encoding="utf-8").replace('"d.csv"', "'data\\d.csv'"), encoding="utf-8")
    monkeypatch.setattr("os.sep", "/")
    assert "write /" in str(discreet("run", job).exception)
