"""Jobs of τ-ARGUS as job files, and what a job file does not say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.helpers.argus_survey import OPEN, survey

from discreet.argus.commands import Suppress
from discreet.argus.convert import Converted, converted
from discreet.argus.linked import linked
from discreet.argus.parser import read_batch
from discreet.argus.paths import Paths
from discreet.argus.run import run_batch
from discreet.argus.session import ArgusSession
from discreet.argus.work import problem_of
from discreet.errors import InputError
from discreet.jobs.job import make_problem, make_table, run_job
from discreet.jobs.job_file import Job, read_job
from discreet.progress import Silent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    survey(tmp_path)
    return tmp_path


def convert(folder: Path, text: str) -> tuple[Job, Converted]:
    (folder / "job.arb").write_text(text)
    found = converted(folder / "job.arb", folder / "job.toml")
    for path, written in found.files.items():
        path.write_text(written, encoding="utf-8")
    return read_job(folder / "job.toml"), found


def test_a_converted_job_has_the_same_primaries_and_pattern(folder: Path) -> None:
    text = (
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"\n<SAFETYRULE> P(20,2)|MAN(15)\n<READMICRODATA>\n'
        '<APRIORI> "hand.hst",1,";"\n<SUPPRESS> MOD(1)\n'
    )
    (folder / "hand.hst").write_text("1;N;U\nTotal;S;P\n")
    job, found = convert(folder, text)
    assert (job.data.file, job.data.layout, job.data.response) == ("survey.asc", "survey.rda", "Turnover")
    assert (job.rules.sensitive, job.rules.margin, job.protect.method, job.protect.level) == (
        ["P(20,2)"],
        15,
        "modular",
        "cells",
    )
    assert job.dimensions["Region"].hierarchy == "job-Region.hrc"  # with @ in place of --
    assert job.dimensions["Region"].total == "All"
    ours, theirs = run_job(job), run_batch(folder / "job.arb").works[0]
    assert ours.protection.suppressed.tolist() == theirs.protection.suppressed.tolist()
    assert ours.problem.upper.tolist() == pytest.approx(theirs.problem.upper.tolist())
    assert not any("Region" in note for note in found.notes)


def test_linked_tables_are_one_job(folder: Path) -> None:
    job, _ = convert(
        folder,
        f'{OPEN}<SPECIFYTABLE> "Size""Region"|"Turnover"\n<SAFETYRULE> P(20)\n<SPECIFYTABLE> "Size""Year"|"Turnover"\n'
        "<SAFETYRULE> P(20)\n<READMICRODATA>\n<SUPPRESS> GH(0,100,0,0)\n",
    )
    assert job.tables == [["Size", "Region"], ["Size", "Year"]]
    assert job.protect.method == "hypercube"


@pytest.mark.parametrize(
    ("specify", "cost", "extra"),
    [
        ('"Size"|"Turnover"', "value", []),
        ('"Size"|"Turnover"||-1', "count", []),
        ('"Size"|"Turnover"||-2', "unit", []),
        ('"Size"|"Turnover"||"Staff"', "column(Staff)", ["Staff"]),
        ('"Size"|"Turnover"||"Turnover"|0.5', "power(0.5)", []),
    ],
)
def test_costs(folder: Path, specify: str, cost: str, extra: list[str]) -> None:
    job, _ = convert(
        folder, f"{OPEN}<SPECIFYTABLE> {specify}\n<SAFETYRULE> P(9)\n<READMICRODATA>\n<SUPPRESS> OPT(1,5)\n"
    )
    assert (job.protect.cost, job.data.extra, job.protect.time_limit) == (cost, extra, 300)


def test_rules_of_all_kinds(folder: Path) -> None:
    job, found = convert(
        folder,
        f'{OPEN}<SPECIFYTABLE> "Industry""Size"|"Turnover"\n'
        "<SAFETYRULE> P(9,50,2)|NK(2,80)|FREQ(3,90)|REQ(60,30,4,35)|ZERO(7)|MIS(1)\n<READMICRODATA>\n<SUPPRESS> MOD(1,5,1,1)\n",
    )
    requests = ["REQ(60,35,4,1)", "REQ(30,35,4,2)"]
    assert job.rules.sensitive == ["PQ(9,50,2)", "NK(2,80)", "FREQ(3,90)", *requests, "ZERO(7)"]
    assert job.dimensions["Industry"].levels == [1, 1, 1]
    assert (job.data.request, job.data.requests) == ("Asked", ["1", "2"])
    for what in ("largest of their levels", "contributors (contributor)", "limit per subtable"):
        assert any(what in note for note in found.notes), what


def test_holdings_and_weights(folder: Path) -> None:
    job, _ = convert(
        folder,
        f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"\n<SAFETYRULE> P(9)|P(0)|P(8)|WGT(1)\n<READMICRODATA>\n<SUPPRESS> MOD(1)\n',
    )
    assert (job.rules.sensitive, job.data.holding, job.data.weight, job.data.weights) == (
        ["P(8,1)"],
        "Group",
        "Weight",
        "secret",
    )


def test_rounding(folder: Path) -> None:
    job, _ = convert(
        folder,
        f'{OPEN}<SPECIFYTABLE> "Size"|<FREQ>\n<SAFETYRULE> FREQ(3,30)\n<READMICRODATA>\n<SUPPRESS> RND(1,5,1,2)\n',
    )
    assert (job.protect.method, job.protect.options, job.protect.time_limit) == ("round", {"base": 5, "steps": 2}, 120)
    assert job.data.response is None


def test_what_a_job_file_does_not_say_is_listed(folder: Path) -> None:
    (folder / "size.grc").write_text("A:1,2\n")
    _, found = convert(
        folder,
        f'{OPEN}<SPECIFYTABLE> "Size"|"Turnover"|"Staff"|-3\n<SAFETYRULE> P(9)\n<SPECIFYTABLE> "Year"|"Staff"\n'
        '<SAFETYRULE> P(8)\n<READMICRODATA>\n<RECODE> 1,Size,"size.grc"\n<SUPPRESS> CTA(1)\n<SUPPRESS> MOD(1)\n'
        f'<WRITETABLE> (1,5,,"a.tab")\n<CLEAR>\n{OPEN}',
    )
    top = found.files[folder / "job.toml"].split("[data]")[0]
    for what in (
        "shadow variable Staff",
        "distance",
        "another response",
        "CTA: the <SUPPRESS> in line 10 counts",
        "type 5",
        "<CLEAR>",
    ):
        assert what in top, what


def test_finished_tables_are_refused(folder: Path) -> None:
    (folder / "job.arb").write_text('<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n')
    with pytest.raises(
        InputError, match=r"line 1: a job file reads finished tables with the names of columns in line 1"
    ):
        converted(folder / "job.arb", folder / "job.toml")


# -- the same problem ------------------------------------------------------------------------------------------------


def random_job(folder: Path, draw: random.Random) -> str:
    """A job with nothing but what a job file can say."""
    by = draw.sample(["Size", "Region", "Year", "Industry"], draw.choice([1, 2, 2]))
    rules = draw.choice(
        ["P(25,2)", "PQ", "NK(1,70)", "FREQ(3,20)|WGT(1)", "REQ(50,30,4,25)", "ZERO(5)", "P(0)|P(0)|P(20)"]
    )
    rules = rules.replace("PQ", "P(9,60,1)")
    rules += draw.choice(["", "|MIS(1)"]) + draw.choice(["", "|MAN(40)"])
    cost = draw.choice(["", '||"Turnover"|0.5', "||-2", '||"Staff"'])
    lines = [OPEN.rstrip(), f'<SPECIFYTABLE> {"".join(f"{chr(34)}{d}{chr(34)}" for d in by)}|"Turnover"{cost}']
    lines += [f"<SAFETYRULE> {rules}"]
    if draw.random() < 0.3:
        lines += [f'<SPECIFYTABLE> "{by[0]}"|"Turnover"{cost}', f"<SAFETYRULE> {rules}"]
    lines.append("<READMICRODATA>")
    if draw.random() < 0.6:
        (folder / "r.grc").write_text("B:2,4\nA:1\n")
        recodes = {"Size": '"r.grc"', "Region": "1", "Industry": "2"}
        lines += [f"<RECODE> 1,{name},{recodes[name]}" for name in by if name in recodes]
    totals = {"Region": "All"}
    if draw.random() < 0.6:
        cells = [(totals.get(by[0], "Total"), word) for word in "UP"] + [(code, w) for code in "1ABNS" for w in "SM"]
        rest = [totals.get(name, "Total") for name in by[1:]]
        (folder / "hand.hst").write_text("".join(";".join([code, *rest, word]) + "\n" for code, word in cells))
        lines.append('<APRIORI> "hand.hst",1,";"')
    lines.append(
        draw.choice(["<SUPPRESS> MOD(1)", "<SUPPRESS> GH(1,70,0,0)", "<SUPPRESS> OPT(1,5)", "<SUPPRESS> RND(1,5000)"])
    )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 60))])
def test_a_converted_job_has_the_same_cells_statuses_levels_and_costs(folder: Path, seed: int) -> None:
    draw = random.Random(seed)
    survey(folder, n=40, seed=seed)
    text = random_job(folder, draw)
    job, found = convert(folder, text)
    ours = make_problem(job, make_table(job))
    commands = [one for one in read_batch(folder / "job.arb") if not isinstance(one, Suppress)]
    session = ArgusSession(folder / "job.arb", Paths(folder, folder, lambda _: None), lambda _: None, Silent())
    session.run(commands, writes=False)
    problems = [problem_of(work, job.rules.prior) for work in session.works]
    theirs = problems[0] if len(problems) == 1 else linked(session.works, problems).problem
    assert ours.table.labels() == theirs.table.labels()
    assert [h.order().tolist() for h in ours.table.dimensions.values()] == [
        h.order().tolist() for h in theirs.table.dimensions.values()
    ]
    columns = ["lower", "upper", "prior_lower", "prior_upper", *([] if "costs of 0" in str(found.notes) else ["cost"])]
    if "several rules" not in str(found.notes):
        assert ours.status.tolist() == theirs.status.tolist(), text
        for name in columns:
            assert getattr(ours, name) == pytest.approx(getattr(theirs, name)), (name, text)
    assert {one.cell for one in ours.overrides} == {one.cell for one in theirs.overrides}
