"""No code of a release is taken for a formula, and every one is read back as it was."""

from __future__ import annotations

import csv
import hashlib
import re
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import Hierarchy, Table, audit, publish, write_release
from discreet.io.csv import guarded, read_release, unguarded
from discreet.protection import suppress
from discreet.release import Release
from discreet.report import render_shareable
from discreet.testing import pose

DANGEROUS = ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|'/C calc'!A0", "＝1+1", "＠x", "－1", "＋1"]
CODES = [
    *DANGEROUS,
    "'",
    "''",
    "'=1+1",
    "'quoted'",
    "-",
    "plain",
    "a=b",
    "1-2",
    "a;=1+1",
    "a\t=1",
    'a"=1',
    "a,=1",
    "007",
    "NA",
]


def release(codes: list[str], values: list[float], name: str = "g") -> Release:
    return Release({name: tuple(codes)}, "turnover", np.array(values))


@pytest.fixture
def dangerous() -> Release:
    values = [-5.5 if i % 2 else np.nan for i in range(len(CODES))]
    return release(CODES, values, "=dimension")


def test_no_field_of_a_csv_release_begins_like_a_formula(tmp_path, dangerous):
    write_release(dangerous, tmp_path / "r.csv")
    text = (tmp_path / "r.csv").read_bytes().decode()
    for delimiter in ",;\t|":  # whatever the reader's spreadsheet takes for one
        for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
            for field in row:
                number = re.fullmatch(r"-?\d+(\.\d+)?", field)
                assert number or not field.startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＠")), field


def test_codes_are_read_back_as_they_were(tmp_path, dangerous):
    write_release(dangerous, tmp_path / "r.csv")
    frame = read_release(tmp_path / "r.csv")
    assert list(frame) == ["=dimension", "turnover"]
    assert frame["=dimension"].tolist() == CODES


def test_numbers_stay_numbers(tmp_path):
    write_release(release(["=a", "b;c", "-1"], [-5.5, np.nan, 7.0]), tmp_path / "r.csv")
    read = pd.read_csv(tmp_path / "r.csv", na_values=["×"])
    assert read["turnover"].dtype == float
    assert read["turnover"].tolist()[::2] == [-5.5, 7.0]
    assert "-5.5" in (tmp_path / "r.csv").read_text(encoding="utf-8")


def test_other_releases_look_as_before(tmp_path):
    write_release(release(["Total", "a b", "c-d"], [3, np.nan, -1]), tmp_path / "r.csv")
    assert (tmp_path / "r.csv").read_bytes().decode() == "g,turnover\nTotal,3\na b,×\nc-d,-1\n"


@pytest.mark.parametrize("symbol", ["-", "=", "..", "=x", "-x", "''", "×"])
def test_symbols(tmp_path, symbol):
    """A sign alone is a symbol that offices use, and no formula."""
    write_release(Release({"g": ("-", "b")}, "v", np.array([np.nan, -1.0]), symbol=symbol), tmp_path / "r.csv")
    assert read_release(tmp_path / "r.csv").to_numpy().tolist() == [["-", symbol], ["b", "-1"]]
    line = (tmp_path / "r.csv").read_text(encoding="utf-8").splitlines()[1]
    assert line == f"'-,{symbol}" if len(symbol) == 1 or symbol == ".." else f"'-,'{symbol}"


@given(st.text())
def test_any_text_can_be_had_back(text):
    assert unguarded(guarded(text)) == text
    assert guarded(text) in (text, f"'{text}")


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1), min_size=1, unique=True))
def test_any_codes_can_be_read_back(tmp_path_factory, codes):
    path = tmp_path_factory.mktemp("any") / "r.csv"
    write_release(release(codes, [1.0] * len(codes)), path)
    assert read_release(path)["g"].tolist() == codes


def test_excel_has_text_only(tmp_path):
    """Text that looks like a formula stays text, also after the cell is edited."""
    codes = [code for code in CODES if not set(code) & set("\r\n\t")]
    write_release(release(codes, [-1.0] * len(codes)), tmp_path / "r.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "r.xlsx")["cells"]
    rows = list(sheet.rows)[1:]
    assert [row[0].value for row in rows] == codes
    assert {row[0].data_type for row in rows} == {"s"}
    assert {row[1].data_type for row in rows} == {"n"}
    assert all(row[0].quotePrefix for row in rows if row[0].value in DANGEROUS)
    with zipfile.ZipFile(tmp_path / "r.xlsx") as archive:
        assert not any(b"<f>" in archive.read(name) for name in archive.namelist())


def test_the_shareable_report_tells_the_digest_of_the_file(tmp_path):
    table = Table.from_cells({"g": Hierarchy.flat(["=1+1", "b"])}, [[0, 1, 2]], [3.0, 1.0, 2.0])
    problem = pose(table, {})
    protection = suppress(problem, np.zeros(3, dtype=bool))
    checked = audit(problem, protection)
    write_release(publish(problem, protection, checked), tmp_path / "release.csv")
    digest = hashlib.sha256((tmp_path / "release.csv").read_bytes()).hexdigest()
    assert digest in render_shareable(problem, protection, checked)
