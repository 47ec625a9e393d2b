"""The command argus: exit codes, what is printed and what is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.helpers.argus_survey import survey

from discreet.cli.main import command
from discreet.errors import FormatError

JOB = (
    '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n<SPECIFYTABLE> "Size""Region"|"Turnover"\n'
    '<SAFETYRULE> P(20)\n<READMICRODATA>\n<SUPPRESS> MOD(1)\n<WRITETABLE> (1,1,,"release.csv")\n'
    '<WRITETABLE> (1,2,AS+,"all.csv")\n'
)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    survey(tmp_path)
    (tmp_path / "job.arb").write_text(JOB)
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(command("argus"), list(words), standalone_mode=False)

    return call


def test_a_job_runs_and_says_what_the_audit_finds(call: Callable[..., Result]) -> None:
    ran = call("job.arb")
    assert ran.return_value == 0
    for text in ("MOD → modular", "audit: safe", "release.csv\n", "all.csv  confidential"):
        assert text in ran.output


def test_values_and_parameters_are_not_printed(call: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "job.arb").write_text(JOB.replace("P(20)", "P(37)"))
    assert "37" not in call("job.arb").output


def test_outputs_go_into_a_folder(call: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    call("job.arb", "--out", "results")
    assert {file.name for file in (tmp_path / "results").iterdir()} == {"release.csv", "all.csv"}


def test_conversion(call: Callable[..., Result], tmp_path: Path) -> None:
    ran = call("job.arb", "--as", "job.toml")
    assert ran.return_value == 0
    assert (tmp_path / "job.toml").read_text().startswith("# From job.arb.")
    assert "job-Region.hrc" in ran.output
    assert not (tmp_path / "release.csv").exists()


def test_comparison(call: Callable[..., Result], tmp_path: Path) -> None:
    call("job.arb")
    (tmp_path / "release.csv").unlink()
    ran = call("job.arb", "--compare", "all.csv", "--report", "report.csv", "--quiet")
    assert "0 differences" in ran.output
    assert ran.return_value in (0, 1)  # respondents may be exposed: the job protects cells
    assert (tmp_path / "report.csv").exists()
    assert not (tmp_path / "release.csv").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["job.arb", "--as", "job.toml", "--compare", "all.csv"], "--as runs nothing"),
        (["job.arb", "--report", "report.csv"], "--report belongs to --compare"),
        (["job.arb", "--as", "job.txt"], "must end in .toml"),
        (["job.arb", "--compare", "all.csv", "--table", "2"], "The job has no table 2: it has 1"),
        (["nowhere.arb"], "does not exist"),
    ],
)
def test_wrong_usage(call: Callable[..., Result], tmp_path: Path, words: list[str], says: str) -> None:
    (tmp_path / "all.csv").write_text('"Total","All",5.0,1\n')
    ran = call(*words)
    assert says in str(ran.exception)


def test_bad_input_is_an_error_with_exit_code_2(call: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "job.arb").write_text(JOB.replace("<SUPPRESS>", "<SUPRESS>"))
    ran = call("job.arb")
    assert isinstance(ran.exception, FormatError)
    assert ran.exception.exit_code == 2
    assert not (tmp_path / "release.csv").exists()
