"""From three messy exports to a published workbook, with the commands of the README and no file written by hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from openpyxl import Workbook, load_workbook

from discreet.cli.main import cli


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)


def discreet(*arguments: object, answers: Sequence[str] = ()):
    text = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(cli, [str(each) for each in arguments], input=text, standalone_mode=False)


def published(folder: Path) -> list[list[object]]:
    """The sheet that readers see, after a run without fault."""
    found = discreet("run", folder / "job.toml", "--quiet")
    assert found.return_value == 0, found.output
    sheet = load_workbook(folder / "output" / "release.xlsx").worksheets[0]
    return [[cell for cell in row if cell is not None] for row in sheet.iter_rows(values_only=True)]


def test_a_german_spreadsheet_with_firms(tmp_path):
    """Windows-1252, a title, decimal commas, a region written in two ways, and a line of sums, which is to be deleted."""
    draw = random.Random(11)
    lines = [
        f"{i:05};Firma {i};{draw.choice(['C10', 'C25', 'G45', 'G47'])};{draw.choice(['Köln', 'Ulm', 'Ulm '])};"
        f"{draw.lognormvariate(7, 1):.2f}".replace(".", ",")
        for i in range(1, 81)
    ]
    header = ["Umsätze 2024;;;;", "", "Betrieb;Name;WZ;Land;Umsatz in Tsd. €"]
    file, sums = tmp_path / "umsatz.csv", "Summe;;;;98765,40"
    answers = ["", "", *[""] * 7, "y", "", "Umsatz nach WZ", "", "Register"]
    file.write_text("\n".join([*header, *lines, sums]), encoding="cp1252")
    found = discreet("init", file, answers=answers)
    assert "(line 84). It is the last line, where spreadsheets have sums: delete it" in found.output
    file.write_text("\n".join([*header, *lines]), encoding="cp1252")
    assert discreet("check", tmp_path / "job.toml").return_value == 0
    rows = published(tmp_path)
    assert rows[0] == ["Umsatz nach WZ"]
    assert rows[1] == ["Unit: Tsd. €"]
    assert ["WZ", "Total", "Köln", "Ulm"] in rows
    assert [row[0] for row in rows[5:12]] == ["Total", "C", "C10", "C25", "G", "G45", "G47"]
    assert ["Source: Register"] in rows


def test_a_workbook_with_a_cross_table_of_counts(tmp_path):
    """Merged headers, two header rows, totals under names of their own, marks for zero, footnotes."""
    counts = {"Infections": (1, 9, 4, 7), "Neoplasms 1)": (12, 2, 30, 5), "Blood": (0, 6, 8, 21)}
    book = Workbook()
    sheet = book.worksheets[0]
    sheet.append(["Table 3: Hospital cases by diagnosis, sex and county, 2024"])
    sheet.append(["Number of cases"])
    sheet.append(["Diagnosis", "Both", None, None, "Women", None, None, "Men", None, None])
    sheet.append([None, *["State", "Adams", "Brown"] * 3])
    every = [*counts.items(), ("All", tuple(map(sum, zip(*counts.values(), strict=True))))]
    for name, (wa, wb, ma, mb) in every:
        both = [wa + wb + ma + mb, wa + ma, wb + mb]
        sheet.append([name, *(x or "-" for x in (*both, wa + wb, wa, wb, ma + mb, ma, mb))])
    sheet.append(["1) Including benign."])
    for area in ("A3:A4", "B3:D3", "E3:G3", "H3:J3"):
        sheet.merge_cells(area)
    book.save(tmp_path / "cases.xlsx")
    found = discreet("init", tmp_path / "cases.xlsx", answers=["y", "", "", "", "y", "", "", "", "Register"])
    assert "Diagnosis: 4 labels" in found.output
    assert "'-'), e.g. F7: do all of them mean zero?" in found.output
    assert found.return_value == 0, found.output
    rows = published(tmp_path)
    assert rows[0][0] == "Table 3: Hospital cases by diagnosis, sex and county, 2024"
    release = pd.read_csv(tmp_path / "output" / "release.csv", dtype=str)
    assert set(release.columns) == {"Diagnosis", "sex", "county", "Hospital cases"}
    cell = release.set_index(["Diagnosis", "sex", "county"])["Hospital cases"]
    assert cell["Infections", "Women", "Adams"] == "×"
    assert cell["All", "Both", "State"] == "105"


def test_an_export_of_r_with_missing_values(tmp_path):
    """Names of rows, NA in numbers and codes, a code in capitals and not."""
    draw = random.Random(7)
    lines = ['"";"kvk";"sector";"regio";"omzet"']
    for i in range(1, 71):
        region = "NA" if i % 20 == 0 else f'"{draw.choice(["Noord", "Zuid"]) if i != 9 else "NOORD"}"'
        turnover = "NA" if i % 11 == 0 else f"{draw.lognormvariate(6, 1):.1f}".replace(".", ",")
        lines.append(f'"{i}";"K{i}";"{draw.choice(["bouw", "zorg"])}";{region};{turnover}')
    (tmp_path / "omzet.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = discreet("init", tmp_path / "omzet.csv", answers=[*[""] * 5, "drop", "", "", "y", *[""] * 5])
    assert "regio: the code of 3 records that have none [unknown]" in found.output
    assert found.return_value == 0, found.output
    rows = published(tmp_path)
    assert rows[0] == ["Omzet by sector and regio"]
    assert ["sector", "Total", "Noord", "Zuid", "unknown"] in rows
