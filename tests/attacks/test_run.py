"""All attacks in one summary, in Python and on the command line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.attacks.planted import SQUARE, safe_table, symmetric_intervals, tight_square

from discreet import InputError, Problem, Protection, attacks, suppress, write_problem
from discreet.cli.main import main
from discreet.io.pattern import write_pattern
from discreet.methods.context import Run
from discreet.protection import publish_intervals
from discreet.report.attacks import attack_rows
from discreet.testing import cross_table, pose, random_table, suppressing

SUMMARY = ["attack", "assumes", "certain", "cells", "exact", "sensitive", "near", "compromised", "wrong"]


def test_every_attack_is_run_or_says_why_not():
    found = safe_table(1)
    report = attacks.run(found, knows=attacks.Knowledge(draws=50))
    done = report.frame().attack.tolist()
    assert set(done) | set(report.skipped) == set(attacks.ATTACKS)
    assert list(report.frame())[:9] == SUMMARY
    assert set(report.details().attack) == set(done)
    assert report.passed
    with pytest.raises(InputError, match="was not run: p is not known"):
        report["shrink"]
    with pytest.raises(InputError, match="The attack 'guess' was not run: it was not requested"):
        report["guess"]


@dataclass(frozen=True, eq=False)
class Copied:
    """A method that tells the same intervals of suppressed cells whatever the table is."""

    lower: np.ndarray
    upper: np.ndarray
    name = "copied"

    def protect(self, problem: Problem, run: Run) -> Protection:
        value, open_ = problem.table.value, self.lower < self.upper
        ends = np.where(open_, self.lower, value), np.where(open_, self.upper, value)
        return publish_intervals(problem, np.where(open_, np.nan, value), *ends, cost=0.0)


def test_every_attack_runs_where_it_can():
    found = tight_square(100, 20)
    value = found.problem.table.value
    told = symmetric_intervals(found.problem, found.suppressed, 1.0)
    other = attacks.Public.of(suppressing(found.problem, "x × b"))
    recipe = attacks.Recipe.of(told, Copied(told.lower, told.upper))
    knows = attacks.Knowledge(p=10, others=(other,), draws=50, recipe=recipe)
    everything = {one.finding.attack for one in attacks.run(told, knows=knows).scores}
    assert set(attacks.ATTACKS) - everything == {"counts"}
    table = found.problem.table.with_columns(is_count=True, value=np.round(value))
    counted = suppressing(pose(table, {"x × x": 5.0}), *SQUARE)
    assert attacks.run(counted, ["counts"]).frame().cells.tolist() == [4]


def test_assumptions_that_contradict_the_table_are_reported_not_fatal():
    report = attacks.run(tight_square(100, 20), ["shrink", "exact"], knows=attacks.Knowledge(p=30))
    assert report.skipped == {"shrink": "its assumptions contradict the publication"}
    assert report.frame().attack.tolist() == ["exact"]


def test_an_attack_that_comes_to_no_result_is_not_called_withstood(monkeypatch):
    rng = np.random.default_rng(0)
    table = random_table(rng, (6, 6), zeros=0.0)
    monkeypatch.setattr(
        import_module("discreet.attacks.sample"), "MAX_CELLS_PER_COMPONENT", 35
    )  # the package has a function of this name
    report = attacks.run(suppress(pose(table, {}), table.is_base), ["sample", "fit"], knows=attacks.Knowledge(draws=10))
    assert report.frame().attack.tolist() == ["fit"]
    assert "36 suppressed cells are connected, and at most 35" in report.skipped["sample"]


def test_cells_about_which_nothing_could_be_said_are_counted():
    """Totals that may rise without end, and what hangs on them; a square hangs on nothing else."""
    table = cross_table("abcd", "wxyz", np.arange(16.0).reshape(4, 4) + 5)
    endless = ("Total × Total", "Total × w", "a × Total", "a × w")
    found = suppressing(pose(table, {}), *endless, "c × y", "c × z", "d × y", "d × z")
    (row,) = attack_rows(attacks.run(found, ["sample"], knows=attacks.Knowledge(draws=50)))
    assert "Of 8 cells, none found exactly. No result for 4 of them." in row["outcome"]


def test_unknown_attacks_are_named():
    with pytest.raises(InputError, match="no attack 'guess'"):
        attacks.run(safe_table(1), ["guess"])


def test_a_table_without_secrets_has_nothing_to_find():
    found = suppressing(pose(cross_table("ab", "cd", [[1, 2], [3, 4]]), {}))
    report = attacks.run(found, knows=attacks.Knowledge(draws=20))
    assert report.passed
    assert (report.frame().cells == 0).all()


# -- the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tight_square(100, 20)
    write_problem(found.problem, tmp_path / "p.discreet")
    write_pattern(found, tmp_path / "f.csv")
    write_pattern(suppressing(found.problem, "x × b"), tmp_path / "before.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["discreet", "attack", "p.discreet", "--pattern", "f.csv", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr()
    return int(stopped.value.code or 0), told.out + told.err


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ([], 0, "0 sensitive cells are exposed"),
        (["--attack", "exact"], 0, "exact"),
        (["--attack", "shrink", "--p", "20"], 1, "compromised: x × x"),
        (["--attack", "difference", "--earlier", "before.csv"], 1, "compromised: x × x"),
        (["--all", "--seed", "3"], 0, "left out: shrink: p is not known"),
        (["--attack", "replay"], 0, "left out: replay: the method is not known"),
        (["--attack", "replay", "--method", "kelly"], 0, "replay"),
        (["--method", "kelly"], 2, "name some with --attack"),
        (["--p", "20"], 2, "name some with --attack"),
        (["--attack", "exact", "--p", "20"], 2, "--p is for the attack 'shrink'"),
        (["--all", "--attack", "exact"], 2, "leave out --attack or --all"),
        (["--attack", "guess"], 2, "guess"),
        (["--attack", "exact", "--details", "d.txt"], 2, "the name of 'd.txt' must end in .csv or .json"),
        (["--attack", "exact", "--details", "f.csv"], 2, "given twice"),
    ],
)
def test_exit_codes_of_the_attacks(folder, words, code, says, capsys, monkeypatch):
    got, told = call(*words, capsys=capsys, monkeypatch=monkeypatch)
    assert got == code
    assert says in told


def test_details_are_written_and_values_are_not_printed(folder, capsys, monkeypatch):
    _, told = call("--all", "--p", "20", "--details", "d.csv", capsys=capsys, monkeypatch=monkeypatch)
    assert not any(number in told for number in ("100", "120", "80", "60", "20"))
    assert {"attack", "cell", "value", "compromised"} <= set(pd.read_csv("d.csv"))
    call("--all", "--p", "20", "--details", "d.json", capsys=capsys, monkeypatch=monkeypatch)
    written = json.loads(Path("d.json").read_text(encoding="utf-8"))
    assert {one["attack"] for one in written["attacks"]} | set(written["left_out"]) == set(attacks.ATTACKS)
    (bound,) = (one for one in written["attacks"] if one["attack"] == "bound-p")
    assert bound["parameters"]["p_at_most"] == pytest.approx(20)
