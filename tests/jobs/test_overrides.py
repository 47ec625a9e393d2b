"""Statuses set by hand never remove protection quietly."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.assess import assess
from discreet.audit import audit
from discreet.cli.main import main
from discreet.data.tabulate import tabulate
from discreet.errors import FormatError, InputError
from discreet.io import bundle, jj
from discreet.jobs.job import read_job, run_job
from discreet.methods import protect, with_options
from discreet.problem import Status
from discreet.promise import conditions, published_by_decision, safe
from discreet.protection import suppress
from discreet.report import render_report, render_shareable
from discreet.testing import cross_table

RECORDS = pd.DataFrame(
    {
        "row": list("aaaabbbbbcccc"),
        "column": list("xxyyxxyyyxxyy"),
        "firm": [f"F{k}" for k in range(13)],
        "x": [90, 8, 30, 25, 60, 55, 50, 45, 20, 40, 35, 70, 3],
    }
)
JOB = """
[data]
file = "records.csv"
response = "x"
contributor = "firm"
[dimensions.row]
[dimensions.column]
[rules]
sensitive = ["P(10)"]
statuses = "statuses.csv"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    RECORDS.to_csv(tmp_path / "records.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB, encoding="utf-8")
    return tmp_path


def table():
    return tabulate(RECORDS, ["row", "column"], "x", contributor="firm", top=3)


def run(folder: Path, statuses: str):
    (folder / "statuses.csv").write_text(statuses, encoding="utf-8")
    return run_job(read_job(folder / "job.toml"))


def sensitive() -> list[str]:
    problem = assess(table(), "P(10)")
    return problem.table.labels(problem.primaries)


def test_all_sensitive_cells_hidden_by_hand_are_protected_all_the_same(folder):
    """It gave "0 cells are sensitive … Safe"."""
    result = run(folder, "cell,status\n" + "".join(f"{cell},hidden\n" for cell in sensitive()))
    assert result.problem.table.labels(result.problem.primaries) == sensitive()
    assert result.passed
    assert safe(result.protection) == "safe"


def test_sensitive_cells_are_published_by_decision_only_with_a_reason(folder):
    with pytest.raises(InputError, match="without a reason"):
        run(folder, f"cell,status\n{sensitive()[0]},published\n")
    with pytest.raises(InputError, match="without a reason"):
        run(folder, f"cell,status,reason\n{sensitive()[0]},published, \n")
    assert not (folder / "output" / "release.csv").exists()


def test_the_verdict_says_what_was_published_by_decision_everywhere(folder, monkeypatch, capsys):
    cell = sensitive()[0]
    (folder / "statuses.csv").write_text(f"cell,status,reason\n{cell},published,agreed with the respondent\n", "utf-8")
    monkeypatch.setattr(sys, "argv", ["discreet", "run", str(folder / "job.toml"), "--quiet"])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    said = capsys.readouterr().out
    assert "Safe except for 1 cell published by decision: every other sensitive cell is protected" in said
    assert "audited: safe except for 1 cell published by decision" in said
    for name in ("report.json", "audit.json"):
        report = json.loads((folder / "output" / name).read_text(encoding="utf-8"))
        assert report["safe"]
        assert report["n_published_by_decision"] == 1
        assert report["conditions"][0]["sentence"].startswith(
            "By decision 1 sensitive cell is published against the rules"
        )
        text = json.dumps(report["conditions"])
        assert "agreed" not in text
        assert "P(10)" not in text
    page = (folder / "output" / "report.html").read_text(encoding="utf-8")
    assert "Safe except for 1 cell published by decision, against 1 attacker" in page
    assert "agreed with the respondent" in page
    assert "P(10)" in page


def test_decisions_stay_with_the_problem_and_its_files(tmp_path):
    problem = assess(table(), "P(10)", statuses={sensitive()[0]: ("published", "agreed")})
    bundle.write_problem(problem, tmp_path / "p.discreet")
    again = bundle.read_problem(tmp_path / "p.discreet")
    assert again.overrides == problem.overrides
    assert again.digest == problem.digest
    with pytest.raises(FormatError, match="no place for decisions"):
        jj.write_problem(problem, tmp_path / "p.jj")


def test_step_by_step_the_verdict_is_the_same(folder, monkeypatch, capsys):
    cell = sensitive()[0]
    (folder / "s.csv").write_text(f"cell,status,reason\n{cell},published,agreed\n", encoding="utf-8")
    monkeypatch.chdir(folder)

    def call(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["discreet", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capsys.readouterr().out

    call(
        "tabulate",
        "records.csv",
        "--by",
        "row",
        "--by",
        "column",
        "--response",
        "x",
        "--contributor",
        "firm",
        "--out",
        "t.discreet",
    )
    call("assess", "t.discreet", "--rule", "P(10)", "--statuses", "s.csv", "--out", "p.discreet")
    for words in (
        ("protect", "p.discreet", "--out", "pattern.csv", "--report", "r.json"),
        ("audit", "p.discreet", "--pattern", "pattern.csv", "--report", "a.json", "--certificate", "c.json"),
        ("verify", "c.json", "--problem", "p.discreet", "--pattern", "pattern.csv"),
        ("publish", "p.discreet", "--pattern", "pattern.csv", "--out", "release.csv"),
        ("report", "p.discreet", "--pattern", "pattern.csv", "--out", "report.html"),
    ):
        assert "safe except for 1 cell published by decision" in call(*words)
    for name in ("r.json", "a.json"):
        assert json.loads((folder / name).read_text(encoding="utf-8"))["n_published_by_decision"] == 1


def test_the_shareable_report_does_not_claim_more_than_was_checked():
    problem = assess(table(), "P(10)", statuses={sensitive()[0]: ("published", "agreed")})
    found = protect(problem, "kelly", level="cells")
    checked = audit(problem, found)
    page = render_shareable(problem, found, checked, level="cells")
    assert "except for cells that are published by decision" in page
    assert "agreed" not in page
    assert "agreed" in render_report(problem, found, checked)
    plain = assess(table(), "P(10)")
    found = protect(plain, "kelly", level="cells")
    assert "by decision" not in render_shareable(plain, found, audit(plain, found), level="cells")


def test_statuses_never_remove_protection_quietly():
    """Random tables and statuses: every sensitive cell is primary, or has a reason and is counted in the verdict."""
    rng, released, draws, n = np.random.default_rng(7), 0, 220, 3000
    records = pd.DataFrame(
        {
            "draw": rng.integers(0, draws, n).astype(str),
            "row": rng.choice(list("abc"), n),
            "column": rng.choice(list("xy"), n),
            "firm": [f"F{k}" for k in range(n)],
            "x": rng.integers(0, 200, n),
        }
    )
    every = tabulate(records, ["draw", "row", "column"], "x", contributor="firm", top=3)
    for draw in range(1, draws + 1):  # 0 is the total
        made = every.only(np.flatnonzero(every.codes[0] == draw))
        plain = assess(made, ["P(10)", "FREQ(3)"])
        labels = made.labels()
        cells = rng.choice(len(made), int(rng.integers(0, len(made))), replace=False)
        words = {labels[i]: str(rng.choice(["primary", "hidden", "free", "published"])) for i in cells}
        freed = [labels[i] for i in plain.primaries if words.get(labels[i]) in ("free", "published")]
        if freed:
            with pytest.raises(InputError, match="without a reason") as caught:
                assess(made, ["P(10)", "FREQ(3)"], statuses=words)
            assert set(caught.value.offenders) == set(freed)
        problem = assess(made, ["P(10)", "FREQ(3)"], statuses={cell: (word, "policy") for cell, word in words.items()})
        assert [one.cell for one in problem.overrides] == [cell for cell in words if cell in freed]
        for i in plain.primaries:
            if labels[i] in freed:
                assert problem.status[i] in (Status.FREE, Status.PUBLISHED)
            else:
                assert problem.status[i] == Status.PRIMARY
                assert (problem.lower[i], problem.upper[i]) == (plain.lower[i], plain.upper[i])
        must = np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        found = suppress(problem, must)
        assert published_by_decision(found) == len(freed)
        assert safe(found) == "safe" if not freed else safe(found).startswith(f"safe except for {len(freed)} cell")
        assert any("By decision" in sentence for sentence in map(str, conditions(found))) == bool(freed)
        released += len(freed)
    assert released > 200


@pytest.mark.parametrize("word", ["suppressed", "hidden"])
@pytest.mark.parametrize("method", ["perturb", "adjust", "intervals", "round"])
def test_a_sensitive_cell_that_is_to_be_suppressed_gets_no_figure(word, method, tmp_path):
    """It was published with another value, or an interval, and nothing said so."""
    table = cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    table = table.with_columns(
        count=np.where(table.is_base, 5, 15), top=np.stack([0.9 * table.value, 0.1 * table.value], 1)
    )
    problem = assess(table, "P(10)", statuses={"a × x": word})
    assert problem.must_suppress == ("a × x",)
    assert problem.status[table.index("a × x")] == Status.PRIMARY
    options = {"base": 5} if method == "round" else {}
    with pytest.raises(InputError, match="'a × x' is sensitive and set to 'suppressed' by hand"):
        protect(problem, with_options(method, **options))
    assert protect(problem, level="cells").suppressed[table.index("a × x")]
    with pytest.raises(FormatError, match=r"decisions on 1 sensitive cell, e\.g\. 'a × x'"):
        jj.write_problem(problem, tmp_path / "p.jj")
    bundle.write_problem(problem, tmp_path / "p.discreet")
    assert bundle.read_problem(tmp_path / "p.discreet").must_suppress == problem.must_suppress
