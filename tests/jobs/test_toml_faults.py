"""Files that are not TOML: the message shows the line as it should be written."""

from __future__ import annotations

import pytest

from discreet.errors import JobError
from discreet.jobs.job_file import read_job

FAULTS = {
    r'file = "C:\Users\x.csv"': r"line 2: in double quotes .* Write file = 'C:\\Users\\x.csv'",
    r'file = "C:\data\x.csv"': r"line 2: in double quotes .* Write file = 'C:\\data\\x.csv'",
    r"file = C:\data\x.csv": r"line 2: text stands in quotes. Write file = 'C:\\data\\x.csv'",
    "file = survey.csv  # ours": 'line 2: text stands in quotes. Write file = "survey.csv"',
    'file: "survey.csv"': 'line 2: an entry is written KEY = VALUE. Write file = "survey.csv"',
    'file "survey.csv"': 'line 2: an entry is written KEY = VALUE. Write file = "survey.csv"',
    "file = “survey.csv”": 'line 2: quotes must be straight. Write file = "survey.csv"',
    'file = "survey.csv': 'line 2: text stands in quotes. Write file = "survey.csv"',
    "file =": "line 2: the entry 'file' has no value",
    "Umsatz in € = 1": 'line 2: an entry is written KEY = VALUE. Write "Umsatz in €" = …',
    "behind = True": "line 2: true and false are in small letters. Write behind = true",
    "behind = yes": "line 2: true and false are in small letters. Write behind = true",
    "tolerance = 0,5": "line 2: a number is written like 12 or 0.5. Write tolerance = …",
    "tolerance = .5": "line 2: a number is written like 12 or 0.5. Write tolerance = …",
    "tolerance = 5 %": "line 2: a number is written like 12 or 0.5. Write tolerance = …",
    "prior = 87,5": "line 2: a number is written like 12 or 0.5. Write prior = …",
    "sensitive = P(87)": "line 2: text stands in quotes. Write sensitive = …",
    'file = "a"\nfile = "b"': "line 3: the entry 'file' occurs twice",
    "[rules]\n[data]": r"line 3: the section \[data\] occurs twice",
    "[dimensions.Größe]": r'line 2: names .* Write \[dimensions."Größe"\]',
    "[dimensions.my region]": r'line 2: names .* Write \[dimensions."my region"\]',
    'extra = ["a" "b"]': "line 2: a list is not closed by ., or a comma is missing",
    'extra = ["a",\n"b"': "line 2: a list is not closed by ., or a comma is missing",
    "= 3": "line 2: Invalid statement",
    "x = '''never closed": "a quote or a list not closed",
}


@pytest.mark.parametrize("text", FAULTS)
def test_the_message_shows_how_to_write_the_line(tmp_path, text):
    (tmp_path / "job.toml").write_text(f"[data]\n{text}\n", encoding="utf-8")
    with pytest.raises(JobError, match=r"job\.toml is not a TOML file: .*" + FAULTS[text]) as error:
        read_job(tmp_path / "job.toml")
    assert "87" not in str(error.value).replace(str(tmp_path), "")


def test_other_encodings_are_found_on_their_line(tmp_path):
    (tmp_path / "job.toml").write_bytes("[data]\n# Größe\n".encode("latin-1"))
    with pytest.raises(JobError, match=r"job\.toml, line 2: the text is not in UTF-8"):
        read_job(tmp_path / "job.toml")


def test_backslashes_that_make_other_signs_are_explained(tmp_path):
    text = '[data]\nfile = "C:\\temp\\new.csv"\n[dimensions.a]\n[rules]\nsensitive = ["FREQ(3)"]\n'
    (tmp_path / "job.toml").write_text(text, encoding="utf-8")
    with pytest.raises(JobError, match=r"no file .* for data\.file\. Write paths in single quotes"):
        read_job(tmp_path / "job.toml")
