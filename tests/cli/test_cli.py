"""The command line, which other people script against: every command, every exit code, and every way to get it wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from shutil import copy

import numpy as np
import pandas as pd
import pytest

import discreet.cli.protect as command_line
from discreet import __version__, read_problem
from discreet.cli.main import COMMANDS, cli, main
from discreet.cli.main import command as named
from discreet.costs import COSTS
from discreet.data.survey import Survey
from discreet.errors import NoSafePatternError
from discreet.io import FORMATS, bundle, write_problem
from discreet.io.csv import read_release
from discreet.io.pattern import write_pattern
from discreet.jobs.checkpoint import Checkpoint
from discreet.methods import METHODS
from discreet.problem import Status
from discreet.protection import suppress
from discreet.rules import RULES
from discreet.testing import random_problem, random_table

PATTERN = "cell,status"
INTERVALS = "cell,value,lower,upper,required_lower,required_upper,safe"
REPORT = {"status", "cost", "bound", "gap", "seconds", "n_primary", "n_secondary", "safe"}
STATUSES = {"optimal", "within_gap", "time_limit", "interrupted", "heuristic", "infeasible"}
KEEP = "kept as it was\n"

VALUES = [230651, 124418, 106233, 133511, 71301, 62210, 97140, 53117, 44023]
RELATIONS = ["0 1 2", "3 4 5", "6 7 8", "0 3 6", "1 4 7", "2 5 8"]


def jj(
    statuses: str = "ssssussss",
    values: Sequence[object] = VALUES,
    *,
    cells: int = 9,
    relations: int = 6,
    level: object = 7000,
    ids: Sequence[object] = range(9),
) -> str:
    """A two-way table with one primary, its margins first, as a JJ file."""
    lines = ["0", str(cells)]
    for name, value, status in zip(ids, values, statuses, strict=True):
        protect = level if status == "u" else 0
        lines.append(f"{name} {value} {value} {status} 0 1e30 {protect} {protect} 0")
    lines.append(str(relations))
    for relation in RELATIONS:
        total, *parts = (ids[int(i)] for i in relation.split())
        lines.append(f"0 3 : {total} (-1) " + " ".join(f"{part} (1)" for part in parts))
    return "\n".join(lines) + "\n"


SAFE = [PATTERN, *(f"{i},published" for i in range(9))]
for i, word in ((4, "primary"), (5, "secondary"), (7, "secondary"), (8, "secondary")):
    SAFE[i + 1] = f"{i},{word}"
SAFE_PATTERN = "\n".join(SAFE) + "\n"
ALONE = SAFE_PATTERN.replace("secondary", "published")

INDUSTRY = "A\n@A1\n@A2\nB\n@B1\n@B2\n@B3\n"
REGION = "code,parent\nNorth,Total\nSouth,Total\nN1,North\nN2,North\nS1,South\nS2,South\n"


def records() -> pd.DataFrame:
    """Sixty firms with values that look like nothing else in a message."""
    rng = np.random.default_rng(5)
    industry, region = np.meshgrid(["A1", "A2", "B1", "B2", "B3"], ["N1", "N2", "S1", "S2"])
    turnover = 10_000 + np.round(np.exp(rng.normal(10, 2, 60))).astype(int)
    return pd.DataFrame(
        {
            "firm": [f"F{i:02d}" for i in range(60)],
            "group": [f"H{i % 7}" if i % 3 == 0 else "" for i in range(60)],
            "industry": np.tile(industry.ravel(), 3),
            "region": np.tile(region.ravel(), 3),
            "turnover": turnover,
            "employees": rng.integers(1, 9, 60),
            "weight": 1.0,
            "asked": np.where(np.arange(60) % 11 == 0, "yes", ""),
        }
    )


RECORDS = records()
SECRETS = {str(x) for x in [*VALUES, *RECORDS.turnover, *RECORDS.groupby(["industry", "region"]).turnover.sum()]}


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def done(self) -> Outcome:
        assert (self.code, self.err) == (0, "")
        assert not leaked(self.out)
        return self


def leaked(text: str) -> set[str]:
    return {secret for secret in SECRETS if secret in text.replace(",", "")}


@pytest.fixture
def call(monkeypatch, capsys) -> Callable[..., Outcome]:
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def call(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return Outcome(int(end.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """Survey, hierarchies, table, problem and a safe pattern, made once by the commands themselves."""
    folder = tmp_path_factory.mktemp("made")
    RECORDS.to_csv(folder / "survey.csv", index=False)
    (folder / "industry.hrc").write_text(INDUSTRY)
    (folder / "region.csv").write_text(REGION)
    (folder / "problem.jj").write_text(jj())
    (folder / "pattern.csv").write_text(SAFE_PATTERN)
    at = {name: str(folder / name) for name in ("survey.csv", "table.discreet", "problem.discreet", "found.csv")}
    by = ["--by", f"industry={folder / 'industry.hrc'}", "--by", f"region={folder / 'region.csv'}"]
    who = ["--response", "turnover", "--contributor", "firm", "--holding", "group", "--request", "asked"]
    for words in (
        ["tabulate", at["survey.csv"], *by, *who, "--extra", "employees", "--out", at["table.discreet"]],
        ["assess", at["table.discreet"], "--rule", "P(10)|FREQ(3)", "--out", at["problem.discreet"]],
        ["protect", at["problem.discreet"], "--out", at["found.csv"]],
    ):
        assert not cli.main(words, standalone_mode=False)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch) -> Path:
    """A copy of those files as the current folder."""
    for file in made.iterdir():
        copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_both_editions_of_the_report(call, here):
    told = call("report", "problem.jj", "--pattern", "pattern.csv", "--title", "Ours", "--out", "in.html").done().out
    assert told.startswith("safe: ")
    assert not leaked(told)
    call("report", "problem.discreet", "--pattern", "found.csv", "--level", "contributions", "--out", "each.html")
    assert "Ours (confidential)" in (here / "in.html").read_text(encoding="utf-8")
    call("report", "problem.discreet", "--pattern", "found.csv", "--share", "--out", "out.html").done()
    page = (here / "out.html").read_text(encoding="utf-8")
    assert "(shareable)" in page
    assert "primary" not in page[page.index("<body>") :]


def test_releases_and_shareable_reports_in_another_language(call, here):
    given = ("problem.discreet", "--pattern", "found.csv", "--lang", "nl")
    call("publish", *given, "--no-attacks", "--out", "nl.csv").done()
    call("report", *given, "--share", "--out", "nl.html").done()
    digest = hashlib.sha256((here / "nl.csv").read_bytes()).hexdigest()
    page = (here / "nl.html").read_text(encoding="utf-8")
    assert digest in page
    assert '<html lang="nl">' in page
    assert ",.\n" in (here / "nl.csv").read_text(encoding="utf-8")
    call("publish", *given, "--symbol", "x", "--no-attacks", "--out", "x.csv").done()
    assert ",x\n" in (here / "x.csv").read_text(encoding="utf-8")
    told = call("report", *given, "--out", "in.html")
    assert told.code == 2
    assert "shareable report: add --share" in told.err
    assert not (here / "in.html").exists()


def test_the_report_of_an_unsafe_pattern_is_written_but_not_to_share(call, here):
    pattern = (here / "found.csv").read_text(encoding="utf-8").replace("secondary", "published")
    (here / "found.csv").write_text(pattern, encoding="utf-8")
    told = call("report", "problem.discreet", "--pattern", "found.csv", "--out", "in.html")
    assert told.code == 1
    assert "Exposed cells" in (here / "in.html").read_text(encoding="utf-8")
    told = call("report", "problem.discreet", "--pattern", "found.csv", "--share", "--out", "out.html")
    assert told.code == 1
    assert "Not published" in told.err
    assert not (here / "out.html").exists()
    assert call("report", "problem.jj", "--pattern", "pattern.csv", "--out", "pattern.csv").code == 2


def test_a_bound_and_its_certificate(call, here):
    words = "bound problem.jj --pattern pattern.csv --report bound.json --certificate proof.json --quiet"
    told = call(*words.split()).done().out
    assert told.startswith("no safe pattern is cheaper than this one by more than ")
    found = json.loads((here / "bound.json").read_text())
    assert set(found) == {"bound", "inequalities", "cost", "gap"}
    assert 0 < found["bound"] <= found["cost"]
    assert str(int(found["bound"])) not in told
    verify = ["verify", "proof.json", "--problem", "problem.jj"]
    assert call(*verify).done().out.startswith(f"certificate holds: {found['inequalities']} inequalities")
    (here / "proof.json").write_text((here / "proof.json").read_text().replace('"factor": "', '"factor": "9', 1))
    changed = call(*verify)
    assert changed.code == 1
    assert "checksum" in changed.out


def test_what_a_bound_needs(call, here):
    refused = call("bound", "problem.jj")
    assert refused.code == 2
    assert "give --pattern, --report or --certificate" in refused.err
    call(*["protect", "problem.jj", "--method", "intervals", "--out", "other.csv", "--quiet"])
    refused = call(*["bound", "problem.jj", "--pattern", "other.csv"])
    assert refused.code == 2
    assert "only suppress cells" in refused.err
    call(*["audit", "problem.jj", "--pattern", "pattern.csv", "--certificate", "audit.json", "--quiet"]).done()
    refused = call(*["verify", "audit.json", "--problem", "problem.jj"])
    assert refused.code == 2
    assert "--pattern" in refused.err


# -- the contract -----------------------------------------------------------------------------------------------


def test_the_commands_are_those_of_the_contract():
    steps = "keys edit advise compare tabulate assess protect audit verify publish attack view convert rules methods"
    steps += " report calibrate secret argus bound"
    assert set(COMMANDS) == {"init", "check", "demo", "run", *steps.split()}


@pytest.mark.parametrize("command", ["", *sorted(COMMANDS)])
def test_every_command_explains_itself(call, command):
    told = call(*command.split(), "--help").done().out
    assert told.startswith(f"Usage: discreet {command}".rstrip())
    assert call(*command.split(), "-h").out == told


def test_the_list_of_commands_begins_as_their_help_does():
    for name, (_, said) in COMMANDS.items():
        assert " ".join((named(name).help or "").split()).startswith(said.removesuffix("."))


def test_the_version(call):
    assert __version__ in call("--version").done().out


def test_from_records_to_release(call, here):
    by = ["--by", "industry=industry.hrc", "--by", "region=region.csv"]
    who = ["--response", "turnover", "--contributor", "firm", "--holding", "group"]
    told = call("tabulate", "survey.csv", *by, *who, "--out", "t.discreet").done().out
    assert told == "Table(turnover by industry × region: 56 cells, 45 relations), 0 empty\n"
    told = call("assess", "t.discreet", "--rule", "P(10)", "--rule", "FREQ(3)", "--out", "p.discreet").done().out
    sensitive = int(re.fullmatch(r"(\d+) of 56 cells are sensitive\n", told)[1])
    told = call("protect", "p.discreet", "--method", "kelly", "--out", "f.csv", "--report", "f.json").done().out
    assert f"kelly: {sensitive} primary" in told
    assert f"safe: {sensitive} cells keep their protection" in told
    audit = ["audit", "p.discreet", "--pattern", "f.csv", "--intervals", "i.csv", "--report", "a.json"]
    cells, respondents, *_ = call(*audit).done().out.splitlines()
    assert cells == f"safe: {sensitive} cells keep their protection"
    assert re.fullmatch(r"safe: \d+ respondents keep their protection", respondents)
    pattern = pd.read_csv("f.csv")
    assert list(pattern) == PATTERN.split(",")
    assert len(pattern) == 56
    assert set(pattern.status) <= {"published", "primary", "secondary"}
    assert (pattern.status == "primary").sum() == sensitive
    intervals = pd.read_csv("i.csv")
    assert list(intervals) == INTERVALS.split(",")
    assert set(intervals.cell) == set(pattern.cell[pattern.status == "primary"])
    assert intervals.safe.all()
    assert (intervals.lower <= intervals.required_lower * (1 + 1e-6)).all()
    assert (intervals.required_upper <= intervals.upper * (1 + 1e-6)).all()
    assert json.loads(Path("a.json").read_text(encoding="utf-8"))["safe"] is True
    report = json.loads(Path("f.json").read_text(encoding="utf-8"))
    assert set(report) >= REPORT
    assert report["status"] in STATUSES
    assert report["safe"] is True
    assert report["n_primary"] + report["n_secondary"] == (pattern.status != "published").sum()
    value = bundle.read_problem("p.discreet").table.value
    assert report["cost"] == pytest.approx(value[(pattern.status != "published").to_numpy()].sum())
    suppressed = (pattern.status != "published").to_numpy()
    for suffix in ("csv", "parquet", "xlsx"):
        told = call("publish", "p.discreet", "--pattern", "f.csv", "--out", f"r.{suffix}").done().out
        assert told.startswith(f"Release(turnover: 56 cells, {suppressed.sum()} suppressed), safe\n")
    release = pd.read_csv("r.csv", dtype=str)
    assert list(release) == ["industry", "region", "turnover"]
    assert ((release.turnover == "×") == suppressed).all()
    assert release.turnover[~suppressed].astype(float).tolist() == value[~suppressed].tolist()
    told = call("attack", "p.discreet", "--pattern", "f.csv", "--out", "k.csv").done().out
    assert told.startswith(f"{suppressed.sum()} suppressed cells: ")
    assert "0 sensitive cells are exposed" in told
    attacked = pd.read_csv("k.csv")
    assert list(attacked)[:7] == INTERVALS.split(",")
    assert attacked.cell.tolist() == pattern.cell[suppressed].tolist()
    for suffix in ("csv", "parquet"):
        shown = call("view", f"r.{suffix}", "--rows", 100)
        assert shown.code == 0
        assert shown.out.splitlines()[0].split() == ["industry", "Total", "North", "South", "N1", "N2", "S1", "S2"]
        assert shown.out.count("×") == suppressed.sum()
    call("convert", "p.discreet", "p.jj.gz").done()
    back = read_problem("p.jj.gz")
    assert back.table.value.tolist() == value.tolist()
    assert back.status.tolist() == read_problem("p.discreet").status.tolist()


@pytest.mark.parametrize("name", ["problem.jj", "problem.jj.gz", "problem.discreet"])
def test_a_jj_problem_goes_through_all_commands(call, here, name):
    if name != "problem.jj":
        call("convert", "problem.jj", name).done()
    call("protect", name, "--method", "kelly", "--out", "f.csv", "--report", "f.json").done()
    assert Path("f.csv").read_text() == SAFE_PATTERN
    report = json.loads(Path("f.json").read_text())
    assert (report["n_primary"], report["n_secondary"], report["safe"]) == (1, 3, True)
    assert report["cost"] == 71301 + 62210 + 53117 + 44023
    call("audit", name, "--pattern", "f.csv", "--intervals", "i.csv", "--report", "a.json").done()
    assert Path("i.csv").read_text().splitlines() == [INTERVALS, "4,71301.0,27278.0,124418.0,64301.0,78301.0,True"]
    call("publish", name, "--pattern", "f.csv", "--out", "r.csv").done()
    released = ["×" if i in (4, 5, 7, 8) else str(VALUES[i]) for i in range(9)]
    assert Path("r.csv").read_text().splitlines() == ["cell,value", *(f"{i},{x}" for i, x in enumerate(released))]
    told = call("attack", name, "--pattern", "f.csv").done().out
    assert told.splitlines()[0] == "4 suppressed cells: 0 can be computed exactly,"
    assert call("view", name).done().out == "Problem(Table(value: 9 cells, 6 relations), 1 primary)\n"
    assert call("view", "r.csv").code == 0
    call("convert", name, "again.jj").done()
    assert read_problem("again.jj").digest == read_problem("problem.jj").digest


def test_ids_of_a_jj_file_are_kept(call, here):
    Path("named.jj").write_text(jj(ids=["all", "Süd", "x-2", "07", "7", "a:b", "0.5", "[red]", "=1"]))
    call("protect", "named.jj", "--out", "f.csv").done()
    assert Path("f.csv").read_text(encoding="utf-8").splitlines()[4:7] == ["07,published", "7,primary", "a:b,secondary"]
    call("publish", "named.jj", "--pattern", "f.csv", "--out", "r.xlsx").done()
    assert call("audit", "named.jj", "--pattern", "f.csv").done().code == 0


def test_auto_says_what_it_used(here, call):
    told = call("protect", "problem.discreet", "--method", "auto", "--out", "f.csv", "--report", "f.json").done().out
    note = json.loads(Path("f.json").read_text(encoding="utf-8"))["note"]
    assert note.startswith("kelly")
    assert note in " ".join(told.split())


def test_the_same_seed_gives_the_same_files(call, here):
    for name in ("one", "two"):
        call("protect", "problem.discreet", "--seed", 3, "--out", f"{name}.csv").done()
        call("publish", "problem.discreet", "--pattern", f"{name}.csv", "--out", f"{name}-release.csv").done()
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert Path("one-release.csv").read_bytes() == Path("two-release.csv").read_bytes()
    call("protect", "problem.discreet", "--seed", 99, "--quiet", "--out", "other.csv").done()
    call("audit", "problem.discreet", "--pattern", "other.csv", "--quiet").done()


def test_a_checkpoint_that_is_no_longer_needed_is_gone(call, here):
    call("protect", "problem.discreet", "--checkpoint", "so-far", "--out", "f.csv").done()
    call("protect", "problem.discreet", "--out", "g.csv").done()
    assert Path("f.csv").read_bytes() == Path("g.csv").read_bytes()
    assert not Path("so-far").exists()


def test_a_run_without_time_is_gone_on_with(call, here, monkeypatch):
    """The limit ends the first run before there is a safe pattern, the second during the clean-up."""
    problem = read_problem("problem.discreet")
    rich = problem.status == Status.FREE
    Checkpoint("so-far", problem).keep(rich | (problem.status == Status.PRIMARY))
    words = ["protect", "problem.discreet", "--checkpoint", "so-far", "--report", "f.json", "--out", "f.csv"]
    told = call(*words, "--time-limit", 0)
    assert told.code == 0
    assert told.err.splitlines() == [
        f"discreet: continuing from so-far, which suppresses {int((problem.status != Status.PUBLISHED).sum())} cells",
        "discreet: so-far is kept: another run can continue from this pattern",
    ]
    assert json.loads(Path("f.json").read_text())["status"] == "time_limit"
    told = call(*words)
    assert (told.code, len(told.err.splitlines())) == (0, 1)
    assert json.loads(Path("f.json").read_text())["status"] == "heuristic"
    assert not Path("so-far").exists()


def test_the_time_limit_leaves_a_checkpoint(call, here, monkeypatch):
    def late(problem, method, *, keep, **_options):
        keep(problem.status == Status.PRIMARY)
        raise NoSafePatternError("The time limit ended.")

    monkeypatch.setattr(command_line, "protect", late)
    told = call("protect", "problem.discreet", "--checkpoint", "so-far", "--out", "f.csv")
    assert (told.code, told.out) == (1, "")
    assert told.err.splitlines() == [
        "discreet: the latest pattern is in so-far; another run can continue from it",
        "discreet: The time limit ended.",
    ]
    assert not Path("f.csv").exists()
    Checkpoint("so-far", read_problem("problem.discreet"))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pattern.csv", "pattern.csv is not a checkpoint, or damaged. Delete it to begin anew, or name another file."),
        ("other", "The checkpoint other belongs to another problem"),
        ("problem.discreet", "is given twice: write"),
        ("f.csv", "is given twice"),
        ("nowhere/so-far", "the folder 'nowhere' does not exist"),
    ],
)
def test_a_checkpoint_that_cannot_be_used_is_refused_and_kept(call, here, name, says):
    problem = read_problem("problem.jj")
    Checkpoint("other", problem).keep(problem.status == Status.PRIMARY)
    before = contents(here)
    told = call("protect", "problem.discreet", "--checkpoint", name, "--out", "f.csv")
    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert contents(here) == before


def test_missing_codes_and_kinds_of_requests(call, here):
    (here / "coded.csv").write_text("size,kind,turnover\n1,2,90\n1,,5\n1,,5\n1,,5\n9,,70\n")
    common = ("--by", "size", "--missing-code", "size=9", "--missing-code", "size=8", "--response", "turnover")
    call(
        "tabulate",
        "coded.csv",
        *common,
        "--request",
        "kind",
        "--requests",
        "1",
        "--requests",
        "2",
        "--out",
        "t.discreet",
    ).done()
    for rule, options, n in (
        ("FREQ(2)", (), 1),
        ("FREQ(2)", ("--missing-codes", "safe"), 0),
        ("REQ(60,20,0,2)", ("--least-level", "30"), 1),
        ("REQ(60,20,0,1)", (), 0),
    ):
        said = call("assess", "t.discreet", "--rule", rule, *options, "--out", "p.discreet").done().out
        assert f"{n} of 3 cells are sensitive" in said
        (here / "p.discreet").unlink()
    refused = call("tabulate", "coded.csv", "--by", "size", "--missing-code", "9", "--out", "u.discreet")
    assert "write COLUMN=CODE" in refused.err


def test_options_of_tabulate(call, here):
    """Digits, weights, requests, zeros and unknown codes."""
    RECORDS.assign(industry="1" + RECORDS.industry.str[1:]).to_csv("digits.csv", index=False)
    common = ["--response", "turnover", "--top", 5, "--ignore-zeros", "--out", "t.discreet"]
    call("tabulate", "digits.csv", "--by", "industry=digits:1,1", "--weight", "weight", *common).done()
    table = bundle.read_table("t.discreet")
    assert table.dimensions["industry"].codes == ("Total", "1", "11", "12", "13")
    assert table.top.shape[1] == 5
    Path("part.hrc").write_text("A1\nA2\n")
    refused = call("tabulate", "survey.csv", "--by", "industry=part.hrc", "--out", "t.discreet")
    assert refused.code == 2
    assert "'B1', 'B2', 'B3'" in refused.err
    call("tabulate", "survey.csv", "--by", "industry=part.hrc", "--unknown", "drop", "--out", "t.discreet").done()
    assert bundle.read_table("t.discreet").value.tolist() == [24, 12, 12]


def test_options_of_assess(call, here):
    labels = bundle.read_table("table.discreet").labels()
    Path("s.csv").write_text("cell,status\nA1 × N1,primary\nB × Total,published\n", encoding="utf-8")
    Path("w.csv").write_text("respondent,cell\nF01,\nF02,A1 × N1\n", encoding="utf-8")
    given = ["--statuses", "s.csv", "--waivers", "w.csv", "--prior", 60, "--margin", 5, "--boundary", "inclusive"]
    rules = ["--rule", "NK(2,85)", "--rule", "REQ(40)", "--cost", "column(employees)"]
    call("assess", "table.discreet", *rules, *given, "--out", "p.discreet").done()
    problem = read_problem("p.discreet")
    assert problem.status[labels.index("A1 × N1")] == 1
    assert problem.status[labels.index("B × Total")] == 2
    assert problem.cost[0] == RECORDS.employees.sum()
    assert np.all(problem.prior_lower >= 0.4 * problem.table.value * (1 - 1e-9))


def test_statuses_by_hand_are_enough(call, here):
    Path("s.csv").write_text("cell,status\nA1 × N1,primary\n", encoding="utf-8")
    told = call("assess", "table.discreet", "--statuses", "s.csv", "--out", "p.jj").done().out
    assert told.splitlines() == ["1 of 56 cells are sensitive", "! Statuses were set by hand: 1 cell to 'primary'."]


def test_rules_costs_methods_and_formats_are_listed(call):
    told = call("rules").done().out
    assert all(re.search(rf"^{name}\(", told, flags=re.M) for name in RULES)
    assert "P(p[,coalition]) " in told
    assert all(name in told for name in COSTS)
    assert "boxcox(power)" in told
    assert "``" not in told
    told = call("methods").done().out
    assert all(name in told for name in [*METHODS, *FORMATS])
    assert "at_most (integer): upper limit on the number of suppressed cells, sensitive ones included" in told


def test_a_table_without_sensitive_cells_is_published_as_it_is(call, here):
    Path("open.jj").write_text(jj("s" * 9))
    call("protect", "open.jj", "--out", "f.csv").done()
    call("audit", "open.jj", "--pattern", "f.csv", "--intervals", "i.csv").done()
    assert Path("i.csv").read_text() == INTERVALS + "\n"
    assert call("attack", "open.jj", "--pattern", "f.csv").done().out.startswith("0 suppressed cells")
    call("publish", "open.jj", "--pattern", "f.csv", "--out", "r.csv").done()
    assert "×" not in Path("r.csv").read_text(encoding="utf-8")


def test_the_symbol_and_the_decimals_of_a_release(call, here):
    values = [x / 1000 for x in VALUES]
    Path("decimal.jj").write_text(jj(values=values, level=7))
    given = ["decimal.jj", "--pattern", "pattern.csv", "--symbol", "n.p.", "--decimals", 1]
    call("publish", *given, "--out", "r.csv").done()
    assert Path("r.csv").read_text().splitlines()[1:6] == ["0,230.7", "1,124.4", "2,106.2", "3,133.5", "4,n.p."]


# -- exit code 1: exposed cells, or no safe pattern -----------------------------------------------------------------


def test_suppressed_cells_that_need_no_protection_are_counted_apart_from_those_that_do(call, here):
    """Cell 7 is suppressed in vain: readers subtract the others of its column. Nothing follows from that about cell 4."""
    statuses = ["published" if k not in (4, 5, 7, 8) else "primary" if k == 4 else "secondary" for k in range(9)]
    for suppressed, said in (
        ((4,), "exposed: 1 of 1 cells can be inferred too closely"),
        (
            (4, 5),
            "exposed: 1 of 1 cells can be inferred too closely, and 1 other suppressed cell can be computed exactly",
        ),
    ):
        rows = [f"{k},{status if k in suppressed else 'published'}" for k, status in enumerate(statuses)]
        Path("p.csv").write_text("\n".join(["cell,status", *rows]) + "\n")
        assert call("audit", "problem.jj", "--pattern", "p.csv").out.splitlines()[0] == said
        assert "1 sensitive cells are exposed" in call("attack", "problem.jj", "--pattern", "p.csv").out


def test_an_unsafe_pattern_is_exposed_and_not_published(call, here):
    Path("alone.csv").write_text(ALONE)
    Path("r.csv").write_text(KEEP)
    told = call("audit", "problem.jj", "--pattern", "alone.csv", "--intervals", "i.csv", "--report", "a.json")
    assert told.code == 1
    assert told.out.splitlines()[:2] == ["exposed: 1 of 1 cells can be inferred too closely", "  exposed: 4"]
    assert NOT_COVERED.replace("level cells was requested", "the table does not name its contributors") in told.out
    report = json.loads(Path("a.json").read_text())
    assert (report["safe"], report["exposed"]) == (False, ["4"])
    assert Path("i.csv").read_text().splitlines()[1].endswith("False")
    before = contents(here)
    told = call("publish", "problem.jj", "--pattern", "alone.csv", "--out", "r.csv")
    assert (told.code, told.out) == (1, "")
    assert "Not published" in told.err
    assert "'4'" in told.err
    assert not leaked(told.err)
    assert contents(here) == before
    told = call("attack", "problem.jj", "--pattern", "alone.csv")
    assert told.code == 1
    assert "1 can be computed exactly" in told.out
    assert not leaked(told.out)


def test_a_pattern_that_publishes_a_primary_never_passes(call, here):
    Path("open.csv").write_text(SAFE_PATTERN.replace("4,primary", "4,published"))
    before = contents(here)
    for words in (["audit"], ["attack"], ["publish", "--out", "r.csv"]):
        told = call(words[0], "problem.jj", "--pattern", "open.csv", *words[1:])
        assert told.code == 1
        assert "4" in told.err + told.out
    assert contents(here) == before


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (jj("zzzzuzzzz"), [], "'4'"),
        (jj("zzzzuzzzz").replace("4 71301 71301 u 0 1e30", "4 71301 71301 u 71300 71302"), [], "'4'"),
        (jj(level=10**9), [], "'4'"),
    ],
    ids=["all others must be published", "everybody knows it", "beyond all bounds"],
)
def test_no_safe_pattern(call, here, text, options, says):
    Path("p.jj").write_text(text)
    Path("f.csv").write_text(KEEP)
    Path("f.json").write_text(KEEP)
    before = contents(here)
    told = call("protect", "p.jj", *options, "--out", "f.csv", "--report", "f.json")
    assert (told.code, told.out) == (1, "")
    assert told.err.count("\n") == 1
    assert says in told.err
    assert not leaked(told.err)
    assert contents(here) == before


def test_without_any_time_there_is_a_safe_pattern_all_the_same(call, here):
    Path("p.jj").write_text(jj())
    told = call("protect", "p.jj", "--time-limit", 0, "--out", "f.csv", "--report", "f.json")
    assert told.code == 0
    report = json.loads(Path("f.json").read_text())
    assert (report["status"], report["safe"]) == ("time_limit", True)


def test_a_pattern_that_fails_its_audit_is_said_to(call, here, monkeypatch):
    """Should a method ever be wrong, the audit that follows it is not fooled."""

    def careless(problem, *_args, **_options):
        return suppress(problem, problem.status == 1, method="careless")

    monkeypatch.setattr(command_line, "protect", careless)
    told = call("protect", "problem.jj", "--out", "f.csv", "--report", "f.json")
    assert told.code == 1
    assert "exposed: 1 of 1" in told.out
    assert json.loads(Path("f.json").read_text())["safe"] is False


# -- exit code 2: bad input -------------------------------------------------------------------------------------------


def survey(**changes: object) -> str:
    """The survey with other columns; a list replaces the first entries only."""
    frame = RECORDS.astype(object)
    for name, new in changes.items():
        column = frame[name].tolist()
        frame[name] = [*new, *column[len(new) :]] if isinstance(new, list) else new
    return frame.to_csv(index=False)


TABULATE = (
    "tabulate survey.csv --by industry=industry.hrc --by region=region.csv --response turnover --contributor firm"
)
ASSESS = "assess table.discreet --rule P(10)"
PROTECT = "protect problem.jj --out out.csv --report out.json"
AUDIT = "audit problem.jj --pattern pattern.csv --intervals out.csv --report out.json"
PUBLISH = "publish problem.jj --pattern pattern.csv --out out.csv"
BUNDLE = " --out out.discreet"

# What is wrong: files to put there, the command, and what the message must name.
BAD: dict[str, tuple[dict[str, str], str, str]] = {
    # records
    "a code not in the hierarchy": ({"survey.csv": survey(industry=["C9"])}, TABULATE + BUNDLE, "'industry'.*'C9'"),
    "a record coded at a group": ({"survey.csv": survey(industry=["A"])}, TABULATE + BUNDLE, "'industry'.*'A'"),
    "a missing code": (
        {"survey.csv": survey(region=[""])},
        TABULATE + BUNDLE,
        r"1 of \d+ records have no code in column 'region' \(line 2\)",
    ),
    "a text response": ({"survey.csv": survey(turnover=["many"])}, TABULATE + BUNDLE, "text.*'turnover'.*A1 × N1"),
    "decimal commas and points": (
        {"survey.csv": survey(turnover=["71301,5", "2.5"])},
        TABULATE + BUNDLE,
        "'turnover' has numbers of two kinds",
    ),
    "a missing response": ({"survey.csv": survey(turnover=[""])}, TABULATE + BUNDLE, "no number.*'turnover'"),
    "a response that is nan": ({"survey.csv": survey(turnover=["nan"])}, TABULATE + BUNDLE, "'turnover'.*A1 × N1"),
    "an infinite response": ({"survey.csv": survey(turnover=["inf"])}, TABULATE + BUNDLE, "text instead.*'turnover'"),
    "a negative weight": (
        {"survey.csv": survey(weight=[-1.0])},
        TABULATE + " --weight weight" + BUNDLE,
        "negative weight.*'weight'",
    ),
    "no contributor": ({"survey.csv": survey(firm=[""])}, TABULATE + BUNDLE, "no contributor.*'firm'"),
    "two holdings of one firm": (
        {"survey.csv": survey(firm=["F01"])},
        TABULATE + " --holding group" + BUNDLE,
        "'firm'.*'group'",
    ),
    "a missing column": ({}, TABULATE.replace("response turnover", "response turnovr") + BUNDLE, "mean 'turnover'"),
    "a missing dimension": ({}, "tabulate survey.csv --by size" + BUNDLE, "survey.csv has no column 'size'"),
    "one column in two parts": ({}, "tabulate survey.csv --by region --response region" + BUNDLE, "'region'.*twice"),
    "blanks in no dimension": (
        {},
        "tabulate survey.csv --by region --strip sex" + BUNDLE,
        "--strip sex: --by names no such column",
    ),
    "codes to merge without an equals sign": (
        {},
        "tabulate survey.csv --by region --merge region:N" + BUNDLE,
        "write COLUMN:CODE=CODE, with a column that --by names",
    ),
    "one dimension twice": (
        {},
        "tabulate survey.csv --by region --by region" + BUNDLE,
        "--by names column 'region' twice. Leave one out",
    ),
    "an empty file": ({"survey.csv": ""}, TABULATE + BUNDLE, "survey.csv is empty"),
    "no records": ({"survey.csv": survey().splitlines()[0] + "\n"}, TABULATE + BUNDLE, "no records"),
    "a ragged file": ({"survey.csv": survey() + "F99,71301\n"}, TABULATE + BUNDLE, "survey.csv.*line"),
    "a survey that is no CSV": ({"survey.parquet": "71301"}, "tabulate survey.parquet --by region" + BUNDLE, "survey"),
    "a survey of unknown kind": ({"survey.dat": "71301"}, "tabulate survey.dat --by region" + BUNDLE, "survey.dat"),
    "a missing survey": ({}, "tabulate nowhere.csv --by region" + BUNDLE, "'nowhere.csv' does not exist"),
    "a table in another format": ({}, TABULATE + " --out out.csv", "'out.csv' must end in .discreet"),
    # hierarchies
    "a code listed twice": ({"industry.hrc": "A1\nA2\nA1\n"}, TABULATE + BUNDLE, "industry.hrc.*'A1'"),
    "a level left out": ({"industry.hrc": "A\n@@A1\n"}, TABULATE + BUNDLE, "industry.hrc, line 2.*'A1'"),
    "an empty hierarchy": ({"industry.hrc": "\n\n"}, TABULATE + BUNDLE, "industry.hrc holds no codes"),
    "a circle": ({"region.csv": "code,parent\nN1,N2\nN2,N1\n"}, TABULATE + BUNDLE, "region.csv.*'N1'"),
    "a circle beside the tree": (
        {"region.csv": REGION + "X,Y\nY,X\n"},
        TABULATE + BUNDLE,
        "region.csv.*ancestors.*'X', 'Y'",
    ),
    "a hierarchy without header": ({"region.csv": "N1,N2\n"}, TABULATE + BUNDLE, "region.csv.*first line"),
    "a missing hierarchy": ({}, "tabulate survey.csv --by region=nowhere.hrc" + BUNDLE, "nowhere.hrc does not exist"),
    "a hierarchy of unknown kind": ({}, "tabulate survey.csv --by region=region.txt" + BUNDLE, "region.txt.*.hrc"),
    "digits that are none": ({}, "tabulate survey.csv --by region=digits:one" + BUNDLE, "digits:3,1,1"),
    "codes longer than their digits": ({}, "tabulate survey.csv --by region=digits:1" + BUNDLE, "'N1'"),
    # rules and costs
    "an unknown rule": ({}, "assess table.discreet --rule Q(10)" + BUNDLE, "'Q'.*Did you mean"),
    "a rule without number": ({}, "assess table.discreet --rule P" + BUNDLE, "P\\(10\\)"),
    "a rule out of range": ({}, "assess table.discreet --rule P(71301)" + BUNDLE, "Rule P: p must be"),
    "a rule that needs more": ({}, "assess table.discreet --rule NK(9,71)" + BUNDLE, "Rule NK needs the 9 largest"),
    "no rule": ({}, "assess table.discreet" + BUNDLE, "No cell would be sensitive: give --rule"),
    "an unknown cost": ({}, ASSESS + " --cost valeu" + BUNDLE, "'valeu'. Did you mean 'value'"),
    "a cost that needs a column": ({}, ASSESS + " --cost column(size)" + BUNDLE, "'size'"),
    "an unknown boundary": ({}, ASSESS + " --boundary soft" + BUNDLE, "'--boundary'.*strict"),
    "a prior out of range": ({}, ASSESS + " --prior 0" + BUNDLE, "'--prior'"),
    "a negative margin": ({}, ASSESS + " --margin -1" + BUNDLE, "'--margin'"),
    "a status of no cell": (
        {"s.csv": "cell,status\nA9 × N1,free\n"},
        ASSESS + " --statuses s.csv" + BUNDLE,
        "'A9 × N1'",
    ),
    "an unknown status": (
        {"s.csv": "cell,status\nA1 × N1,secret\n"},
        ASSESS + " --statuses s.csv" + BUNDLE,
        "'secret'",
    ),
    "a cell with two statuses": (
        {"s.csv": "cell,status\n\nA1 × N1,free\nA1 × N1,primary\n"},
        ASSESS + " --statuses s.csv" + BUNDLE,
        "s.csv, line 4: cell 'A1 × N1'",
    ),
    "statuses without header": (
        {"s.csv": "A1 × N1,free\n"},
        ASSESS + " --statuses s.csv" + BUNDLE,
        "s.csv.*'cell', 'status'",
    ),
    "a status line too long": (
        {"s.csv": "cell,status\nA1,N1,free\n"},
        ASSESS + " --statuses s.csv" + BUNDLE,
        "s.csv, line 2: expected 2 fields, found 3",
    ),
    "an empty statuses file": ({"s.csv": ""}, ASSESS + " --statuses s.csv" + BUNDLE, "s.csv"),
    "a waiver for no cell": ({"w.csv": "respondent,cell\nF01,A9\n"}, ASSESS + " --waivers w.csv" + BUNDLE, "'A9'"),
    "waivers without header": ({"w.csv": "F01\n"}, ASSESS + " --waivers w.csv" + BUNDLE, "w.csv.*'respondent'"),
    "a damaged table": ({"table.discreet": "PK71301"}, ASSESS + BUNDLE, "table.discreet.*bundle"),
    "a JJ file as table": ({}, "assess problem.jj --rule P(10)" + BUNDLE, "problem.jj"),
    "a problem in another format": ({}, ASSESS + " --out out.csv", "'out.csv' must end in .jj or .jj.gz or .discreet"),
    # problems
    "an empty problem": ({"problem.jj": ""}, PROTECT, "problem.jj is empty"),
    "a table that does not add up": ({"problem.jj": jj(values=[230652, *VALUES[1:]])}, PROTECT, "additive.*'0'"),
    "a value that is nan": ({"problem.jj": jj(values=["nan", *VALUES[1:]])}, PROTECT, "problem.jj, line 3.*'0'"),
    "an infinite value": ({"problem.jj": jj(values=["1e999", *VALUES[1:]])}, PROTECT, "problem.jj, line 3.*'0'"),
    "a value in words": ({"problem.jj": jj(values=["many", *VALUES[1:]])}, PROTECT, "problem.jj, line 3.*'0'"),
    "a negative level": (
        {"problem.jj": jj(level=-7000)},
        PROTECT,
        "have a negative or infinite lower protection level.*'4'",
    ),
    "too few cells announced": ({"problem.jj": jj(cells=8)}, PROTECT, "problem.jj, line 11.*number of equations"),
    "too many cells announced": ({"problem.jj": jj(cells=10)}, PROTECT, "problem.jj, line 12.*number of cells"),
    "too few equations announced": ({"problem.jj": jj(relations=5)}, PROTECT, "problem.jj, line 18.*equations"),
    "too many equations announced": ({"problem.jj": jj(relations=7)}, PROTECT, "problem.jj ends.*equation 7 of 7"),
    "a cell listed twice": ({"problem.jj": jj(ids=[0, 1, 2, 3, 4, 5, 6, 7, 7])}, PROTECT, "line 11: cell '7'"),
    "an unknown letter": ({"problem.jj": jj("ssssxssss")}, PROTECT, "line 7: cell '4'"),
    "an unknown cell in an equation": ({"problem.jj": jj().replace(": 2 (", ": 99 (")}, PROTECT, "line 18.*'99'"),
    "a value outside its bounds": (
        {"problem.jj": jj().replace("u 0 1e30", "u 0 5")},
        PROTECT,
        "lie outside the prior bounds of all readers.*'4'",
    ),
    "something else": ({"problem.jj": "\x00\x01PNG 71301"}, PROTECT, "problem.jj, line 1"),
    "a table that was not assessed": ({}, "protect table.discreet --out out.csv", "table.discreet.*discreet assess"),
    "a problem of unknown kind": ({"p.csv": jj()}, "protect p.csv --out out.csv", "p.csv.*'.jj'"),
    "a missing problem": ({}, "protect nowhere.jj --out out.csv", "'nowhere.jj' does not exist"),
    "a folder as problem": ({}, "protect . --out out.csv", "'.' is a directory"),
    # patterns
    "a certificate about integers": (
        {},
        AUDIT + " --whole --certificate out.json",
        "Certificates do not cover whole numbers: leave out --whole or",
    ),
    "an empty pattern": ({"pattern.csv": ""}, AUDIT, "pattern.csv.*'cell', 'status'"),
    "a pattern with a cell too many": ({"pattern.csv": SAFE_PATTERN + "99,published\n"}, AUDIT, "line 11.*'99'"),
    "a pattern with a cell too few": ({"pattern.csv": SAFE_PATTERN.replace("8,secondary\n", "")}, PUBLISH, "'8'"),
    "a pattern with a cell twice": ({"pattern.csv": SAFE_PATTERN + "8,secondary\n"}, AUDIT, "line 11.*'8'"),
    "an unknown word in a pattern": ({"pattern.csv": SAFE_PATTERN.replace("ry\n", "ri\n")}, AUDIT, "line 6"),
    "hiding what must be published": ({"problem.jj": jj("ssssuzsss")}, PUBLISH, "'5'"),
    "the pattern of another problem": ({}, "audit problem.discreet --pattern pattern.csv --report out.json", "line 2"),
    # options
    "an unknown command": ({}, "protct problem.jj", "'protct'"),
    "an unknown option": ({}, PROTECT + " --metod kelly", "--metod.*--method"),
    "an option of a method without value": ({}, PROTECT + " --option seed", "write 'seed' as name=value"),
    "a checkpoint of a rounding": (
        {},
        PROTECT + " --method round --checkpoint c",
        "--checkpoint is for suppression; the method 'round' suppresses no cells",
    ),
    "an unknown method": ({}, PROTECT + " --method magic", "'magic'.*kelly"),
    "a missing option": ({}, "protect problem.jj", "'--out'"),
    "a negative time limit": ({}, PROTECT + " --time-limit -1", "'--time-limit'"),
    "a time limit that is nan": ({}, PROTECT + " --time-limit nan", "'--time-limit'.*not a number"),
    "a gap that is nan": ({}, PROTECT + " --gap nan", "'--gap'.*not a number"),
    "a gap above one": ({}, PROTECT + " --gap 2", "'--gap'"),
    "a negative seed": ({}, PROTECT + " --seed -1", "'--seed'"),
    "a negative seed of the demo": ({}, "demo --seed -1 --out demo", "'--seed'"),
    "more decimals than there are": ({}, PUBLISH + " --decimals 400", "'--decimals'"),
    "a release of unknown kind": ({}, PUBLISH.replace("out.csv", "out.txt"), "'out.txt' must end in .csv"),
    "a missing folder": ({}, "protect problem.jj --out nowhere/out.csv", "folder 'nowhere'"),
    "a missing folder for the report": (
        {},
        "protect problem.jj --out out.csv --report nowhere/out.json",
        "folder 'nowhere'",
    ),
    "a folder to write to": ({"demo/x": ""}, "protect problem.jj --out demo", "'demo' is a directory"),
    "pattern and report in one file": (
        {},
        "protect problem.jj --out out.csv --report out.csv",
        "out.csv is given twice",
    ),
    "a pattern over its problem": ({}, "protect problem.jj --out ./problem.jj", "problem.jj is given twice"),
    "a release over its pattern": ({}, "publish problem.jj --pattern pattern.csv --out pattern.csv", "twice"),
    "intervals over the report": (
        {},
        "audit problem.jj --pattern pattern.csv --intervals out.csv --report out.csv",
        "twice",
    ),
    "a demo in a file": ({"demo": ""}, "demo --out demo", "'demo' is a file"),
    "a demo below a file": ({"demo": ""}, "demo --out demo/below", "demo/below"),
    # looking at files
    "a workbook to look at": (
        {"r.xlsx": "PK\x03\x04\udc80"},
        "view r.xlsx",
        "r.xlsx cannot be shown: it is neither CSV nor Parquet",
    ),
    "an empty file to look at": ({"r.csv": ""}, "view r.csv", "r.csv"),
    "a damaged file to look at": ({"r.parquet": "PAR1 71301"}, "view r.parquet", "r.parquet"),
    "a damaged bundle to look at": ({"r.discreet": "71301"}, "view r.discreet", "r.discreet"),
    "a conversion to nothing known": ({}, "convert problem.jj out.csv", "'out.csv' must end in"),
    "a conversion of a table": ({}, "convert table.discreet out.jj", "table.discreet.*discreet assess"),
    # job files
    "a missing job": ({}, "run nowhere.toml", "'nowhere.toml' does not exist"),
    "a job that is no TOML": (
        {"job.toml": "rules = P(71301)\n"},
        "run job.toml",
        "job.toml is not a TOML file.*line 1",
    ),
    "an empty job": ({"job.toml": ""}, "run job.toml", r"job.toml.*\[data\].*\[table\]"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused_in_one_line_and_touches_nothing(call, here, case):
    files, words, says = BAD[case]
    for name in ("out.csv", "out.json", "out.discreet", "out.jj", "out.txt"):
        Path(name).write_text(KEEP)
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8", errors="surrogateescape")
    before = contents(here)
    told = call(*words.split())
    assert told.code == 2
    assert told.out == ""
    *usage, message = [line for line in told.err.splitlines() if line]
    if usage:  # click's own: how to call it, then what is wrong
        assert usage[0].startswith("Usage: discreet ")
        assert message.startswith("Error: ")
    else:
        assert message.startswith("discreet: ")
    assert re.search(says, message)
    assert "Traceback" not in told.err
    assert not leaked(told.err)
    assert contents(here) == before


def test_messages_do_not_repeat_the_parameters_of_rules(call, here):
    for rule in ("P(17.25", "P(117.25)", "PQ(17.25,13.75)", "NK(17.25,17.25)", "FREQ(17.25)", "NK(1,17.25,17.25)"):
        told = call("assess", "table.discreet", "--rule", rule, "--out", "p.discreet")
        assert told.code == 2
        assert "17" not in told.err
        assert "13" not in told.err


def test_output_that_cannot_be_completed_leaves_everything_as_it_was(call, here, monkeypatch):
    """The disk fills up while the second of two files is written."""

    def fail(*_args):
        raise OSError(28, "No space left on device", "f.json")

    monkeypatch.setattr(command_line, "write_json", fail)
    Path("f.csv").write_text(KEEP)
    before = contents(here)
    told = call("protect", "problem.jj", "--out", "f.csv", "--report", "f.json")
    assert (told.code, told.err) == (2, "discreet: f.json: No space left on device.\n")
    assert contents(here) == before


# -- what is not bad at all -----------------------------------------------------------------------------------------


def test_codes_may_hold_spaces_signs_and_any_script(call, here):
    """Brackets and colons mean something to the library that prints in colours."""
    codes = ["Île-de-France", "北京", "New York, NY", 'say "so"', "[bold]", "[/]", ":cat:", "=1+1", "O'Hare", "a b "]
    frame = pd.DataFrame({"[place]": np.repeat(codes, 4), "who": range(40), "x": RECORDS.turnover[:40].to_numpy()})
    frame["kind"] = ["α", "β", "γ", "γ"] * 10
    frame.to_csv("odd.csv", index=False)
    given = ["--response", "x", "--contributor", "who", "--out", "t.discreet"]
    told = call("tabulate", "odd.csv", "--by", "[place]", "--by", "kind", *given).done().out
    assert told.startswith("Table(x by [place] × kind: 44 cells")
    call("assess", "t.discreet", "--rule", "FREQ(2)", "--out", "p.discreet").done()
    call("protect", "p.discreet", "--out", "f.csv").done()
    call("audit", "p.discreet", "--pattern", "f.csv").done()
    for suffix in ("csv", "parquet", "xlsx"):
        call("publish", "p.discreet", "--pattern", "f.csv", "--out", f"r.{suffix}").done()
    assert set(read_release("r.csv")["[place]"]) == {"Total", *codes}
    for suffix in ("csv", "parquet"):
        shown = call("view", f"r.{suffix}", "--rows", 99)
        assert shown.code == 0
        assert all(code in shown.out for code in codes)


def test_exposed_cells_are_named_as_they_are_written(call, here):
    Path("named.jj").write_text(jj(ids=[0, 1, 2, 3, "[red]:cat:[/]", 5, 6, 7, 8]))
    Path("alone.csv").write_text(ALONE.replace("4,primary", "[red]:cat:[/],primary"))
    assert call("audit", "named.jj", "--pattern", "alone.csv").out.splitlines()[1] == "  exposed: [red]:cat:[/]"


def test_large_values_and_decimals_keep_every_digit(call, here):
    big = RECORDS.assign(turnover=[f"{10**15 - 7 * i}" if i % 2 else f"{i}.125" for i in range(60)])
    big.to_csv("big.csv", index=False)
    by = ["--by", "industry=industry.hrc", "--by", "region"]
    call("tabulate", "big.csv", *by, "--response", "turnover", "--contributor", "firm", "--out", "t.discreet").done()
    call("assess", "t.discreet", "--rule", "FREQ(3)", "--rule", "P(5)", "--out", "p.discreet").done()
    call("protect", "p.discreet", "--out", "f.csv").done()
    call("publish", "p.discreet", "--pattern", "f.csv", "--out", "r.csv").done()
    table, release = bundle.read_table("t.discreet"), pd.read_csv("r.csv", dtype=str)
    assert table.value[0] == pytest.approx(float(sum(map(Fraction, big.turnover))), rel=3e-16)
    shown = (release.turnover != "×").to_numpy()
    assert release.turnover[shown].astype(float).tolist() == table.value[shown].tolist()


def test_names_of_files_may_hold_brackets(call, here):
    folder = here / "[bold]a[/b]"
    for name in ("[bold]a[", "[bold]a[/b]"):
        Path(name).mkdir()
    told = call("convert", "problem.jj", folder / "p.jj").done()
    assert told.out == f"Written {folder / 'p.jj'}\n"
    assert call("protect", folder / "p.jj", "--out", folder / "f.csv").done()


# -- looking at files -----------------------------------------------------------------------------------------------


def test_a_table_and_a_problem_show_their_shape_only(call, here):
    assert call("view", "table.discreet").done().out.startswith("Table(turnover by industry × region: 56 cells")
    assert call("view", "problem.discreet").done().out.startswith("Problem(Table(turnover by industry × region: 56")


def test_a_release_of_three_dimensions_is_listed(call, here):
    Path("r.csv").write_text("a,b,c,value\nx,y,z,1\nx,y,w,×\n", encoding="utf-8")
    assert call("view", "r.csv").done().out.splitlines() == ["a  b  c  value", "x  y  z      1", "x  y  w      ×"]


def test_what_is_left_out_of_view_is_counted(call, here):
    Path("r.csv").write_text("cell,value\n" + "".join(f"c{i},{i}\n" for i in range(5)))
    shown = call("view", "r.csv", "--rows", 2).done().out
    assert shown.splitlines() == ["cell  value", "c0        0", "c1        1", "3 rows more"]


def test_a_list_with_repeated_codes_is_not_folded_into_a_cross_table(call, here):
    Path("r.csv").write_text("a,b,c\nx,y,1\nx,y,2\n")
    assert call("view", "r.csv").done().out.splitlines()[1:] == ["x  y  1", "x  y  2"]


def test_a_code_may_be_called_like_the_other_dimension(call, here):
    Path("r.csv").write_text("a,b,value\nx,a,1\nx,b,2\n")
    assert call("view", "r.csv").done().out.splitlines() == ["a  a  b", "x  1  2"]


def test_numbers_that_do_not_fit_the_terminal_are_left_out_whole(call, here, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    lines = "".join(f"x,c{i:02d},{123456789 + i}\n" for i in range(20))
    Path("r.csv").write_text("a,b,value\n" + lines)
    text = re.sub(r"\x1b\[[0-9;]*m", "", call("view", "r.csv").out)
    assert text.splitlines()[1] == "x  123456789  123456790  123456791"
    assert text.splitlines()[-1] == "17 columns more"


# -- stopping ---------------------------------------------------------------------------------------------------------


def _in_compiled_code() -> SystemError:
    """Compiled code makes an error of Ctrl-C, and the code that called it another one of that."""
    inner, outer = SystemError("unpickle returned a result with an exception set"), SystemError("so did the function")
    inner.__cause__, outer.__cause__ = KeyboardInterrupt(), inner
    return outer


SIGNALS = {"": KeyboardInterrupt(), "DuckDB's": RuntimeError("Query interrupted"), "compiled": _in_compiled_code()}


@pytest.mark.parametrize("signal_of_it", SIGNALS.values(), ids=SIGNALS)
def test_ctrl_c_leaves_everything_as_it_was(call, here, monkeypatch, signal_of_it):
    def interrupted(*_args, **_options):
        raise signal_of_it

    monkeypatch.setattr(command_line, "protect", interrupted)
    Path("f.csv").write_text(KEEP)
    before = contents(here)
    told = call("protect", "problem.jj", "--out", "f.csv", "--report", "f.json")
    assert (told.code, told.out) == (1, "")
    assert told.err.strip() == "discreet: stopped; no result was written."
    assert contents(here) == before


def test_an_error_nobody_thought_of_is_not_hidden(here, monkeypatch):
    def broken(*_args, **_options):
        raise RuntimeError("a bug")

    monkeypatch.setattr(command_line, "protect", broken)
    monkeypatch.setattr(sys, "argv", ["discreet", "protect", "problem.jj", "--out", "f.csv"])
    with pytest.raises(RuntimeError, match="a bug"):
        main()


# -- the true program -------------------------------------------------------------------------------------------------

PROGRAM = str(Path(sys.executable).with_name("discreet"))


@dataclass
class Terminal:
    """A program with a terminal of its own for standard error, or for both outputs."""

    process: subprocess.Popen[bytes]
    screen: int
    seen: str = ""

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.seen)

    def wait_for(self, pattern: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not re.search(pattern, self.text) and self._read(end):
            pass
        assert re.search(pattern, self.text)

    def finish(self, seconds: float = 60) -> int:
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        return self.process.wait(max(end - time.monotonic(), 1))

    def _read(self, end: float) -> bool:
        if not select.select([self.screen], [], [], max(end - time.monotonic(), 0))[0]:
            return False
        try:
            read = os.read(self.screen, 65536)
        except OSError:  # the program has closed its end
            return False
        self.seen += read.decode(errors="replace")
        return bool(read)


@pytest.fixture
def terminal(tmp_path) -> Iterator[Callable[..., Terminal]]:
    pty = pytest.importorskip("pty")
    opened: list[Terminal] = []

    def start(*words: str, both: bool = True, **environment: str) -> Terminal:
        screen, slave = pty.openpty()
        given = os.environ | {"TERM": "xterm", "COLUMNS": "100", "LINES": "40", **environment}
        process = subprocess.Popen(
            [PROGRAM, *words],
            cwd=tmp_path,
            env={name: value for name, value in given.items() if name not in ("FORCE_COLOR", "NO_COLOR")},
            stdout=slave if both else (tmp_path / "stdout").open("wb"),
            stderr=slave,
        )
        os.close(slave)
        opened.append(Terminal(process, screen))
        return opened[-1]

    yield start
    for one in opened:
        one.process.kill()
        one.process.wait()
        os.close(one.screen)


@pytest.fixture(scope="module")
def hard(tmp_path_factory) -> Path:
    """A problem whose clean-up takes long enough to be stopped."""
    return drawn(tmp_path_factory.mktemp("hard") / "hard.jj", 10)


@pytest.fixture(scope="module")
def harder(tmp_path_factory) -> Path:
    """A problem that takes long enough to be stopped before there is a safe pattern."""
    return drawn(tmp_path_factory.mktemp("harder") / "harder.jj", 16)


def drawn(path: Path, size: int) -> Path:
    rng = np.random.default_rng(2)
    table = random_table(rng, (size, size, size), zeros=0.02)
    write_problem(random_problem(rng, table, must_publish=0, primaries=0.1), path)
    return path


def test_exit_codes_of_the_program(made, tmp_path):
    """That of success is in the next test."""
    (tmp_path / "alone.csv").write_text(ALONE)
    for code, words in (
        (1, ["audit", "problem.jj", "--pattern", tmp_path / "alone.csv"]),
        (2, ["audit", "problem.jj", "--pattern", "problem.jj"]),
    ):
        ran = subprocess.run([PROGRAM, *map(str, words)], cwd=made, capture_output=True, text=True, timeout=60)
        assert ran.returncode == code
        assert "Traceback" not in ran.stderr
        assert bool(ran.stderr) == (code == 2)


def test_a_terminal_that_knows_no_such_signs_gets_others(tmp_path):
    (tmp_path / "r.csv").write_text("cell,value\nÉ,×\n", encoding="utf-8")
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    ran = subprocess.run([PROGRAM, "view", tmp_path / "r.csv"], env=environment, capture_output=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.splitlines() == [b"cell  value", b"?         ?"]


def test_ctrl_c_while_protecting(terminal, harder, tmp_path):
    """No safe pattern yet: nothing is written."""
    (tmp_path / "f.csv").write_text(KEEP)
    program = terminal("protect", str(harder), "--out", "f.csv", "--report", "f.json")
    program.wait_for(r"protect ━* +\d+/")
    program.process.send_signal(signal.SIGINT)
    assert program.finish() == 1
    assert "discreet: stopped; no result was written." in program.seen
    assert "Traceback" not in program.seen
    assert contents(tmp_path) == {"f.csv": KEEP.encode()}


def test_ctrl_c_while_protecting_with_a_checkpoint(terminal, harder, tmp_path):
    """What is suppressed so far is kept, and said to be."""
    program = terminal("protect", str(harder), "--checkpoint", "so-far", "--out", "f.csv")
    program.wait_for(r"protect [━╸╺]+ [1-9]\d*/")
    program.process.send_signal(signal.SIGINT)
    assert program.finish() == 1
    assert "the latest pattern is in so-far; another run can continue from it" in program.text
    assert "discreet: stopped; no result was written." in program.text
    assert set(contents(tmp_path)) == {"so-far"}
    assert Checkpoint(tmp_path / "so-far", read_problem(harder)).start is not None


def test_ctrl_c_while_cleaning_up(terminal, hard, tmp_path):
    """The pattern is safe by then, if dearer than need be: it is kept."""
    program = terminal("protect", str(hard), "--out", "f.csv", "--report", "f.json")
    program.wait_for(r"clean up [━╸╺]+ [1-9]\d*/")
    program.process.send_signal(signal.SIGINT)
    assert program.finish() == 0
    assert "Traceback" not in program.seen
    report = json.loads((tmp_path / "f.json").read_text())
    assert (report["status"], report["safe"]) == ("interrupted", True)
    assert set(contents(tmp_path)) == {"f.csv", "f.json"}


def test_ctrl_c_does_not_wait_for_workers(tmp_path):
    """They are busy for a minute with something that cannot be interrupted; the signal comes to another thread."""
    (tmp_path / "work.py").write_text(
        "import signal, threading, time\n"
        "from discreet.executors import in_order, spread\n"
        "def interrupt():\n"
        "    time.sleep(1)\n"
        "    signal.pthread_kill(threading.get_ident(), signal.SIGINT)\n"
        "if __name__ == '__main__':\n"
        "    with spread(2) as executor:\n"
        "        threading.Thread(target=interrupt).start()\n"
        "        list(in_order(executor, time.sleep, [60] * 9))\n"
    )
    begun = time.monotonic()
    done = subprocess.run([sys.executable, tmp_path / "work.py"], capture_output=True, timeout=50, check=False)
    assert time.monotonic() - begun < 20  # two seconds, but for a busy machine
    assert done.stderr.strip().endswith(b"KeyboardInterrupt")


@pytest.mark.slow
def test_the_demo_on_a_terminal(terminal, tmp_path):
    """Progress bars come and go; what is said stays in lines of its own, in order."""
    program = terminal("demo", "--out", "new/demo", both=False)
    assert program.finish(120) == 0
    for stage in ("protect", "clean up", "audit"):
        assert re.search(rf"{stage} .*━", program.seen)
    assert "tabulated" not in program.seen
    assert "Warning" not in program.seen
    said = (tmp_path / "stdout").read_text(encoding="utf-8").splitlines()
    steps = ["tabulated turnover by industry × region", "assessed: ", "protected: ", "audited: safe"]
    assert [line.strip().startswith(step) for line, step in zip(said[3:7], steps, strict=True)] == [True] * 4
    assert any(line.startswith("Safe: every sensitive cell") for line in said)
    written = {line.split()[0] for line in said[said.index("Written:") + 1 :]}
    assert all((tmp_path / file).is_file() for file in written)
    assert len(written) == 8
    confidential = {Path(line.split()[0]).name for line in said if line.endswith("confidential")}
    assert confidential == {"pattern.csv", "intervals.csv", "report.json", "audit.json", "report.html"}
    assert "\x1b" not in "".join(said)
    release = pd.read_csv(tmp_path / "new/demo/release.csv", dtype=str)
    pattern = pd.read_csv(tmp_path / "new/demo/pattern.csv")
    assert ((release.turnover == "×") == (pattern.status != "published")).all()


def test_what_a_job_says_is_not_mixed_with_its_progress_bars(terminal, made, tmp_path):
    (tmp_path / "job.toml").write_text(
        f"[data]\nfile = '{made / 'survey.csv'}'\nresponse = 'turnover'\n[dimensions.region]\n[dimensions.industry]\n"
        "[rules]\nsensitive = ['FREQ(4)']\n",
    )
    program = terminal("run", "job.toml")
    assert program.finish() == 0
    for step in ("tabulated", "assessed", "protected", "audited"):
        assert re.search(rf"[\r\n]  {step}[^━\r\n]*\r\n", program.text)


def test_demo_with_a_smaller_survey(call, here, monkeypatch):
    """The job file that the demo writes can be changed and run again."""
    small = Survey(
        RECORDS.rename(columns={"group": "holding"}),
        *(bundle.read_table("table.discreet").dimensions[name] for name in ("industry", "region")),
    )
    monkeypatch.setattr("discreet.jobs.demo.business_survey", lambda seed: small)
    told = call("demo", "--out", "[x]", "--quiet")
    assert (told.code, told.err) == (0, "")
    assert "A synthetic business survey is in [x]:" in told.out
    assert "  [x]/release.csv\n" in told.out
    first = contents(Path("[x]"))
    assert call("run", "[x]/job.toml").code == 0
    again = contents(Path("[x]"))
    # Not audit.json, which says how far attacks came in the time that they had.
    assert all(first[name] == again[name] for name in ("release.csv", "pattern.csv", "intervals.csv"))


# -- the level of contributions -----------------------------------------------------------------------------------

EACH = ["--level", "contributions"]
NOT_COVERED = (
    "Not covered: respondents who use their own figures to learn about others, because level cells was requested."
)


@pytest.fixture(scope="module")
def made_for_insiders(tmp_path_factory) -> Path:
    """Example 4 of Daalmans & de Waal (2010): a pattern that is safe for cells, but not for the firm with 155."""
    folder = tmp_path_factory.mktemp("insiders")
    cells = {"A,I": [155, 4, 1], "B,I": [28, 10, 2], "C,I": [61] * 10, "A,II": [38] * 10, "B,II": [8] * 10}
    lines = [f"{cell},{cell[0]}{k},{x}" for cell, xs in (cells | {"C,II": [80] * 10}).items() for k, x in enumerate(xs)]
    # Firms of different columns are different.
    lines = [line.replace("II,", "II,s") for line in lines]
    at = {name: str(folder / name) for name in ("firms.csv", "t.discreet", "p.discreet")}
    Path(at["firms.csv"]).write_text("row,column,firm,x\n" + "\n".join(lines) + "\n")
    who = ["--response", "x", "--contributor", "firm", "--out", at["t.discreet"]]
    for words in (
        ["tabulate", at["firms.csv"], "--by", "row", "--by", "column", *who],
        ["assess", at["t.discreet"], "--rule", "P(20)", "--out", at["p.discreet"]],
    ):
        assert not cli.main(words, standalone_mode=False)
    problem = read_problem(at["p.discreet"])
    suppressed = np.isin(problem.table.labels(), ["A × I", "A × II", "B × I", "B × II"])
    write_pattern(suppress(problem, suppressed), folder / "four.csv")
    return folder


@pytest.fixture
def insiders(made_for_insiders, here) -> Path:
    """A copy of those files, too."""
    for file in made_for_insiders.iterdir():
        copy(file, here)
    return here


def test_an_audit_of_respondents_says_who_is_exposed_to_whom_and_how(insiders, call):
    told = call("audit", "p.discreet", "--pattern", "four.csv", "--report", "seen.json")
    assert (told.code, told.err) == (1, "")
    cells, respondents, whom = told.out.splitlines()[:3]
    assert cells.startswith("safe: ")
    assert respondents == "exposed: 1 of 2 respondents can be estimated too closely"
    assert whom == "  1 to one other respondent"
    assert "B0 learns to within 11.0% what A0 contributes" in " ".join(told.out.split())
    found = json.loads((insiders / "seen.json").read_text())
    assert (found["safe"], found["level"], found["n_exposed"]) == (False, "contributions", 0)
    seen = found["respondents"]
    assert (seen["safe"], seen["n_respondents"], seen["n_exposed"]) == (False, 2, 1)
    (one,) = seen["exposed"]
    assert (one["respondent"], one["insiders"], one["precision"]) == ("A0", ["B0"], "17/155")
    assert one["hidden"] == {"A × I": "1", "B × I": "1"}
    assert one["published"] == {"Total × I": "1", "C × I": "-1"}
    assert one["multipliers"] == [{"relation": one["multipliers"][0]["relation"], "total": "Total × I", "times": "1"}]


@pytest.mark.parametrize("level", [[], EACH])
def test_a_pattern_for_every_respondent_passes_and_is_published(insiders, call, level):
    """By default, too."""
    told = call("protect", "p.discreet", *level, "--out", "each.csv", "--report", "report.json").done()
    assert "safe: 2 respondents keep their protection" in told.out
    report = json.loads((insiders / "report.json").read_text())
    assert (report["level"], report["n_exposed_respondents"]) == ("contributions", 0)
    told = call("audit", "p.discreet", "--pattern", "each.csv", *level).done()
    assert "\nsafe: 2 respondents keep their protection\n" in told.out
    call("publish", "p.discreet", "--pattern", "each.csv", *level, "--out", "release.csv").done()
    refused = call("publish", "p.discreet", "--pattern", "four.csv", *level, "--out", "other.csv")
    assert (refused.code, refused.out) == (1, "")
    assert "1 of 2 respondents can be estimated too closely" in refused.err
    assert not (insiders / "other.csv").exists()


@pytest.mark.parametrize("option", ["--whole", "--intervals=i.csv", "--certificate=c.json"])
def test_what_is_about_cells_goes_with_an_audit_of_respondents(insiders, call, option):
    told = call("audit", "p.discreet", "--pattern", "four.csv", option)
    assert (told.code, told.err) == (1, "")
    assert "exposed: 1 of 2 respondents can be estimated too closely" in told.out
    file = option.partition("=")[2]
    assert not file or (insiders / file).exists()


@pytest.mark.parametrize("command", ["protect", "audit", "publish", "report"])
def test_cells_must_be_asked_for_and_what_is_not_covered_is_said(insiders, call, command):
    options = {
        "protect": ["--out", "cells.csv", "--report", "r.json"],
        "audit": ["--pattern", "four.csv", "--report", "r.json"],
        "publish": ["--pattern", "four.csv", "--out", "release.csv"],
        "report": ["--pattern", "four.csv", "--share", "--out", "report.html"],
    }
    told = call(command, "p.discreet", "--level", "cells", *options[command]).done()
    assert f"! {NOT_COVERED}" in told.out.splitlines()
    if "r.json" in options[command]:
        report = json.loads((insiders / "r.json").read_text())
        assert report["level"] == "cells"
        assert NOT_COVERED in [condition["sentence"] for condition in report["conditions"]]


def test_a_problem_that_names_nobody_is_about_cells_and_says_so(here, call):
    told = call("audit", "problem.jj", "--pattern", "pattern.csv")
    sentence = NOT_COVERED.replace("level cells was requested", "the table does not name its contributors")
    assert f"! {sentence}" in told.out.splitlines()


def test_a_table_that_lists_the_largest_contributions_only_is_audited_as_far_as_it_goes(here, call):
    told = call("audit", "problem.discreet", "--pattern", "found.csv", *EACH)
    assert "The table lists only the largest contributions" not in told.out  # all three contributors to each cell
    by = ["--by", "industry=industry.hrc", "--by", "region=region.csv", "--contributor", "firm", "--holding", "group"]
    by += ["--no-contributions"]
    call("tabulate", "survey.csv", *by, "--response", "turnover", "--top", "2", "--out", "two.discreet").done()
    call("assess", "two.discreet", "--rule", "P(10)", "--out", "two.discreet").done()
    call("protect", "two.discreet", "--out", "two.csv").done()
    told = call("audit", "two.discreet", "--pattern", "two.csv", *EACH)
    assert "The table lists only the largest contributions" in told.out


def test_without_contributions_there_is_no_audit_of_respondents(here, call):
    told = call("audit", "problem.jj", "--pattern", "pattern.csv", *EACH)
    assert told.code == 2
    assert "rule about contributions" in told.err
