"""What weakens a verdict is stated wherever a verdict is: by every command, on the terminal, as HTML and as JSON."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from discreet import promise
from discreet.attacks import AttackReport
from discreet.attacks.limitations import NO_ATTACK_TRIED, limitations
from discreet.cli.main import cli
from discreet.io import read_problem
from discreet.problem import Status
from discreet.promise import SUBJECTS as ALL_SUBJECTS
from discreet.promise import Stage

ROWS, COLUMNS = "abcde", "vwxyz"
SENSITIVE = "a × v"  # by its largest contribution
RELEASED = "e × z"  # sensitive, but published by decision

SUBJECTS = {
    "override": "By decision 1 sensitive cell is published against the rules",
    "dropped records": "2 records were left out of the table",
    "negative record": "1 cell at the finest level has negative contributions.",
    "level": "Not covered: respondents",
    "attacks": NO_ATTACK_TRIED,
}
PLACES = [
    ("tabulate", "terminal"),
    ("assess", "terminal"),
    ("run", "terminal"),
    ("run", "report.html"),
    ("run", "report.json"),
    ("run", "audit.json"),
    ("protect", "terminal"),
    ("protect", "report.json"),
    ("audit", "terminal"),
    ("audit", "report.json"),
    ("publish", "terminal"),
    ("report", "terminal"),
    ("report", "report.html"),
    ("attack", "terminal"),
]
NO_NAMED_ATTACK = "No attack was tried besides the exact intervals"  # by the command attack


def records(*more: tuple[str, str, str, int]) -> pd.DataFrame:
    """Four firms per cell; one of them is nearly the whole of two cells."""
    rows = [
        (r, c, f"{r}{c}{k}", 900 if k == 0 and f"{r} × {c}" in (SENSITIVE, RELEASED) else 20 + 3 * k)
        for r in ROWS
        for c in COLUMNS
        for k in range(4)
    ]
    return pd.DataFrame([*rows, *more], columns=["row", "column", "firm", "x"])


def text_of(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def call(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(cli, [*map(str, words)], standalone_mode=False)
    assert found.exception is None, found.exception
    assert (found.return_value or 0) == code, found.output
    return " ".join(found.output.split())


def job(folder: Path, data: pd.DataFrame, statuses: str, more: str) -> None:
    data.to_csv(folder / "records.csv", index=False)
    (folder / "row.hrc").write_text("".join(f"{code}\n" for code in ROWS))
    (folder / "statuses.csv").write_text("cell,status,reason\n" + statuses, encoding="utf-8")
    (folder / "job.toml").write_text(
        '[data]\nfile = "records.csv"\nresponse = "x"\ncontributor = "firm"\nunknown = "drop"\n'
        '[dimensions.row]\nhierarchy = "row.hrc"\n[dimensions.column]\n'
        '[rules]\nsensitive = ["P(10)"]\nstatuses = "statuses.csv"\n' + more,
        encoding="utf-8",
    )


def all_commands(folder: Path, level: list[str], no_attacks: list[str]) -> dict[tuple[str, str], str]:
    """What each command says in each place, for the job of a folder and the same table step by step."""
    said = {("run", "terminal"): call("run", folder / "job.toml")}
    for name in ("report.html", "report.json", "audit.json"):
        text = (folder / "output" / name).read_text(encoding="utf-8")
        said["run", name] = text_of(text) if name.endswith("html") else " ".join(all_sentences(json.loads(text)))
    said["run", "pattern.csv"] = (folder / "output" / "pattern.csv").read_text(encoding="utf-8")
    problem, pattern = problem_of(folder, said), ["--pattern", folder / "pattern.csv"]
    said["protect", "terminal"] = call(
        "protect", problem, *level, "--out", folder / "pattern.csv", "--report", folder / "p.json"
    )
    said["audit", "terminal"] = call("audit", problem, *pattern, *level, "--report", folder / "a.json")
    for command, name in (("protect", "p.json"), ("audit", "a.json")):
        report = json.loads((folder / name).read_text(encoding="utf-8"))
        said[command, "report.json"] = " ".join(all_sentences(report))
    said["publish", "terminal"] = call(
        "publish", problem, *pattern, *level, *no_attacks, "--out", folder / "release.csv"
    )
    said["report", "terminal"] = call("report", problem, *pattern, *level, "--out", folder / "r.html")
    said["report", "report.html"] = text_of((folder / "r.html").read_text(encoding="utf-8"))
    said["attack", "terminal"] = call("attack", problem, *pattern)
    return said


def all_sentences(report: dict) -> list[str]:
    return [condition["sentence"] for condition in report["conditions"]]


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[tuple[str, str], str]:
    folder = tmp_path_factory.mktemp("loud")
    data = records(("f", "v", "G", 5), ("f", "w", "H", 6), ("b", "w", "I", -1))
    more = '[protect]\nlevel = "cells"\n[output]\nattacks = ["none"]\n'
    job(folder, data, f"{RELEASED},published,agreed with the respondent\n", more)
    return all_commands(folder, ["--level", "cells"], ["--no-attacks"])


@pytest.fixture(scope="module")
def said_of_an_ordinary_table(tmp_path_factory) -> dict[tuple[str, str], str]:
    folder = tmp_path_factory.mktemp("ordinary")
    job(folder, records(), "", "")
    return all_commands(folder, [], [])


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_weakens_a_verdict_is_stated_beside_it(said, subject, place):
    if place[0] in ("tabulate", "assess") and subject in ("override", "level", "attacks"):
        return  # later commands decide about these; see test_every_condition_is_shown_in_every_place
    words = NO_NAMED_ATTACK if (subject, place[0]) == ("attacks", "attack") else SUBJECTS[subject]
    assert words in said[place]


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_and_is_not_stated_where_it_does_not_hold(said_of_an_ordinary_table, subject, place):
    command, _ = place
    if subject == "attacks" and command not in ("run", "publish"):
        return  # the other commands try no attack
    if subject == "level" and command == "attack":
        return  # it audits no respondents
    assert SUBJECTS[subject] not in said_of_an_ordinary_table[place]


@pytest.fixture(scope="module")
def marked(tmp_path_factory) -> dict[tuple[str, str], str]:
    """What the commands say if every condition applies."""
    folder = tmp_path_factory.mktemp("marked")
    job(folder, records(), "", "")
    with pytest.MonkeyPatch.context() as patch:
        all_apply = tuple(
            replace(one, internal=lambda basis, one=one: f"Condition {one.name}.") for one in ALL_SUBJECTS
        )
        patch.setattr(promise, "SUBJECTS", all_apply)
        return all_commands(folder, [], [])


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
def test_every_condition_is_shown_in_every_place(marked, place):
    """Also one that is added tomorrow."""
    stage = {"tabulate": Stage.TABLE, "assess": Stage.PROBLEM}.get(place[0], Stage.PROTECTION)
    shown = set(re.findall(r"Condition (\w+)\.", marked[place]))
    assert shown == {one.name for one in ALL_SUBJECTS if one.stage <= stage}


def test_quick_attacks_that_were_not_requested_are_named(tmp_path):
    job(tmp_path, records(), "", '[output]\nattacks = ["exact"]\n')
    words = "Quick attacks left out: counts, symmetric, fit, midpoint-fit."
    assert words in call("run", tmp_path / "job.toml")
    assert words in text_of((tmp_path / "output" / "report.html").read_text(encoding="utf-8"))
    report = json.loads((tmp_path / "output" / "report.json").read_text(encoding="utf-8"))
    assert words in all_sentences(report)


def test_attacks_that_do_not_apply_are_not_called_left_out():
    not_applicable = {name: "it does not apply" for name in ("exact", "counts", "symmetric", "fit", "midpoint-fit")}
    assert not any("left out" in sentence for sentence in limitations(AttackReport((), not_applicable)))


def problem_of(folder: Path, said: dict[tuple[str, str], str] | None = None) -> Path:
    """The problem of a job, made step by step, and what the commands ``said``."""
    said = {} if said is None else said
    by = ["--by", f"row={folder / 'row.hrc'}", "--by", "column", "--response", "x", "--contributor", "firm"]
    said["tabulate", "terminal"] = call(
        "tabulate", folder / "records.csv", *by, "--unknown", "drop", "--out", folder / "t.discreet"
    )
    statuses = ["--statuses", folder / "statuses.csv"]
    said["assess", "terminal"] = call(
        "assess", folder / "t.discreet", "--rule", "P(10)", *statuses, "--out", folder / "p.discreet"
    )
    return folder / "p.discreet"


def test_the_details_of_attacks_state_the_conditions(tmp_path):
    job(tmp_path, records(), f"{RELEASED},published,agreed\n", "")
    problem, pattern = problem_of(tmp_path), tmp_path / "pattern.csv"
    call("protect", problem, "--level", "cells", "--out", pattern)
    call("attack", problem, "--pattern", pattern, "--attack", "fit", "--details", tmp_path / "details.json")
    found = json.loads((tmp_path / "details.json").read_text(encoding="utf-8"))
    assert all_sentences(found)[0].startswith(SUBJECTS["override"])


@pytest.mark.parametrize("word", ["suppressed", "hidden"])
def test_a_sensitive_cell_suppressed_by_hand_needs_its_protection_to_the_end(said_of_an_ordinary_table, tmp_path, word):
    """The pattern is that of the rules alone, and one that protects the cell by nothing but itself fails the audit."""
    job(tmp_path, records(), f"{SENSITIVE},{word},\n", '[output]\nattacks = ["none"]\n')
    call("run", tmp_path / "job.toml")
    found = (tmp_path / "output" / "pattern.csv").read_text(encoding="utf-8")
    assert found == said_of_an_ordinary_table["run", "pattern.csv"]
    problem = read_problem(problem_of(tmp_path))
    assert problem.status[problem.table.index(SENSITIVE)] == Status.PRIMARY
    alone = [f"{cell},{'primary' if cell in (SENSITIVE, RELEASED) else 'published'}" for cell in problem.table.labels()]
    (tmp_path / "alone.csv").write_text("\n".join(["cell,status", *alone]) + "\n", encoding="utf-8")
    out = call("audit", tmp_path / "p.discreet", "--pattern", tmp_path / "alone.csv", "--level", "cells", code=1)
    assert f"exposed: {SENSITIVE}" in out
