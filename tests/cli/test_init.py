"""`discreet init` writes a job that runs, and `discreet check` names every fault of a job."""

from __future__ import annotations

import tomllib

import pandas as pd
import pytest
from click.testing import CliRunner

from discreet.cli.main import cli
from discreet.data.survey import business_survey


@pytest.fixture
def data(tmp_path):
    made = business_survey(1, 2000)
    made.records.assign(turnover=made.records.turnover / 10).to_csv(tmp_path / "survey.csv", index=False)
    for name in ("industry", "region"):
        (tmp_path / f"{name}.hrc").write_text(getattr(made, name).to_hrc(), encoding="utf-8")
    return tmp_path / "survey.csv"


def discreet(*arguments: object, answers: str | None = None):
    return CliRunner().invoke(cli, [str(each) for each in arguments], input=answers, standalone_mode=False)


def test_a_job_is_written_and_checked(data):
    found = discreet("init", data, "--yes")
    assert (found.return_value, found.exception) == (0, None), found.output
    job = data.parent / "job.toml"
    raw = tomllib.loads(job.read_text(encoding="utf-8"))
    assert raw["data"] == {"file": "survey.csv", "response": "turnover", "contributor": "firm", "holding": "holding"}
    assert raw["dimensions"] == {"industry": {"hierarchy": "industry.hrc"}, "region": {"hierarchy": "region.hrc"}}
    assert "No fault was found" in found.output
    assert f"Run it: discreet run {job}" in found.output.replace("\n", "")


def test_nothing_is_overwritten(data):
    (data.parent / "job.toml").write_text("kept", encoding="utf-8")
    assert "and nothing is overwritten" in str(discreet("init", data, "--yes").exception)
    assert (data.parent / "job.toml").read_text(encoding="utf-8") == "kept"
    assert discreet("init", data, "--yes", "--out", data.parent / "other.toml").return_value == 0


def test_without_a_terminal_nothing_is_asked(data):
    assert "Give --yes to accept the guesses" in str(discreet("init", data).exception)
    assert not (data.parent / "job.toml").exists()


def test_answers_replace_guesses_and_faulty_ones_are_asked_again(data, monkeypatch):
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    answers = ["employees", "", "-", "-", "regoin", "region", "digits 1,1", "FREQ(3)", "Staff", "persons", ""]
    found = discreet("init", data, answers="\n".join(answers) + "\n")
    assert found.return_value == 0, found.output
    raw = tomllib.loads((data.parent / "job.toml").read_text(encoding="utf-8"))
    assert raw["data"] == {"file": "survey.csv", "response": "employees", "contributor": "firm"}
    assert raw["dimensions"] == {"region": {"levels": [1, 1]}}
    assert raw["rules"]["sensitive"] == ["FREQ(3)"]
    assert (raw["title"], raw["metadata"]) == ("Staff", {"unit": "persons"})
    assert "Did you mean 'region'?" in found.output


def test_widths_that_do_not_add_up_are_asked_again_and_groups_are_shown(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    codes = ["0111", "0113", "0150", "0210", "0322", "1011", "1052", "1105", "1320", "2015"]
    pd.DataFrame({"nace": codes * 4, "sales": range(100, 140)}).to_csv(tmp_path / "d.csv", index=False)
    answers = ["sales", "", "", "", "nace", "digits 2,4", "digits 2,2", "", "", "", ""]
    found = discreet("init", tmp_path / "d.csv", answers="\n".join(answers) + "\n")
    assert found.return_value == 0, found.output
    assert "add up to 6, but the code '0111' has 4 characters. For example, digits 2,2 reads 0111" in found.output
    assert "the number of characters of each level" in " ".join(found.output.split())
    assert (
        "10 codes below 1 level and the total, in 7 groups: 01 (0111, 0113, 0150), 02 (0210), 03 (0322), 10 (1011, 1052), …"
        in " ".join(found.output.split())
    )


def test_names_of_columns_may_have_any_sign(tmp_path):
    frame = pd.DataFrame(
        {'Größe "x"': ["a"] * 20 + ["b"] * 20, "a.b": ["u", "v", "w", "z"] * 10, "Wert [€]": range(1, 41)}
    )
    frame.to_csv(tmp_path / "d.csv", index=False)
    assert discreet("init", tmp_path / "d.csv", "--yes").return_value == 0
    raw = tomllib.loads((tmp_path / "job.toml").read_text(encoding="utf-8"))
    assert set(raw["dimensions"]) == {'Größe "x"', "a.b"}
    assert raw["data"]["response"] == "Wert [€]"


def test_a_file_without_dimensions_is_explained(tmp_path):
    pd.DataFrame({"value": [1.5, 2.5]}).to_csv(tmp_path / "d.csv", index=False)
    found = discreet("init", tmp_path / "d.csv", "--yes")
    assert "Name one or more with --by" in str(found.exception)
    pd.DataFrame({"value": [1.5, 2.5, 3.5], "region": ["a", None, None]}).to_csv(tmp_path / "d.csv", index=False)
    found = discreet("init", tmp_path / "d.csv", "--yes")
    assert "('region' has no code in 2 of 3 records). Name one or more with --by" in str(found.exception)


def test_marks_in_place_of_numbers_are_asked_about(tmp_path, monkeypatch):
    """With them, the column is still one of numbers."""
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    frame = pd.DataFrame({"region": list("abc") * 12, "sales": ["NA" if i % 5 == 0 else i + 0.5 for i in range(36)]})
    frame.to_csv(tmp_path / "d.csv", index=False)
    found = discreet(
        "init", tmp_path / "d.csv", answers="\n".join(["", "", "", "", "", "sometimes", "drop"] + [""] * 5) + "\n"
    )
    assert found.return_value == 0, found.output
    assert "sales has 'NA' in place of a number in 8 records: drop these records" in " ".join(found.output.split())
    assert "Answer drop, zero or -." in found.output
    raw = tomllib.loads((tmp_path / "job.toml").read_text(encoding="utf-8"))
    assert raw["data"] == {"file": "d.csv", "missing": ["NA"], "no_value": "drop", "response": "sales"}


def test_codes_written_in_several_ways_are_asked_about(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.init.asks", lambda: True)
    regions = ["North", "South", "east", "East", "West ", "West", "NORTH", ""] * 8
    pd.DataFrame({"region": regions, "sales": range(64)}).to_csv(tmp_path / "d.csv", index=False)
    answers = ["sales", "-", "", "", "region", "", "n", "y", "y", "none given", "FREQ(3)", "", "", ""]
    found = discreet("init", tmp_path / "d.csv", answers="\n".join(answers) + "\n")
    assert "region: is 'NORTH' the same as 'North'?" in found.output
    assert "region: 'West ' and 'West' differ in blanks: are they the same?" in found.output
    assert "region: the code of 8 records that have none [unknown]: none given" in found.output
    raw = tomllib.loads((tmp_path / "job.toml").read_text(encoding="utf-8"))
    merge = {"east": "east", "NORTH": "North", "": "none given"}
    assert raw["dimensions"]["region"] == {"strip": True, "merge": merge}
    assert found.return_value == 0, found.output


JOB = """
[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"
[dimensions.industry]
hierarchy = "industry.hrc"
[dimensions.region]
[rules]
sensitive = ["P(10)"]
"""


def check(folder, text: str):
    (folder / "job.toml").write_text(text, encoding="utf-8")
    return discreet("check", folder / "job.toml")


def test_a_job_without_fault_is_described(data):
    found = check(data.parent, JOB)
    assert found.return_value == 0, found.output
    for words in (
        "turnover by industry × region",
        "P(10): ",
        "with an error of less than 10 percent",
        "every respondent",
    ):
        assert words in found.output
    assert not (data.parent / "output").exists()


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ('response = "turnover"', 'respons = "x"\nweights = "no"', ["'respons'", "weights is"]),
        ('"turnover"', '"turnovr"', ["Did you mean 'turnover'"]),
        ("[rules]", '[rules]\nstatuses = "s.csv"\nwaivers = "w.csv"', ["s.csv", "w.csv"]),
        ("[rules]", '[protect]\nmethod = "kely"\n[rules]\nprior = 200', ["prior", "kely"]),
        ("[rules]", '[protect]\ncost = "cheap"\n[rules]', ["no cost 'cheap'"]),
        ("[rules]", '[protect]\nmethod = "small-counts"\n[rules]', ["'small-counts' is for tables of counts"]),
    ],
)
def test_all_faults_of_a_job_are_listed(data, old, new, faults):
    found = check(data.parent, JOB.replace(old, new, 1))
    assert found.return_value == 2, found.output
    for fault in faults:
        assert fault in found.output
    assert not (data.parent / "output").exists()


def test_faults_of_several_files_are_listed_together(data):
    (data.parent / "s.csv").write_text("cel,status\n", encoding="utf-8")
    (data.parent / "industry.hrc").write_text("A\n@@@B\n", encoding="utf-8")
    found = check(data.parent, JOB.replace("[rules]", '[rules]\nstatuses = "s.csv"'))
    assert found.return_value == 2
    assert "s.csv" in found.output
    assert "industry.hrc, line 2" in found.output
