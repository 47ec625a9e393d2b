"""Job files: the whole way from one file, the same every time, and a clear word about every entry that is wrong."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet.jobs.job as jobs
from discreet.attacks import QUICK, AttackReport
from discreet.attacks.limitations import NO_ATTACK_TRIED, limitations
from discreet.cli.main import main
from discreet.errors import DiscreetError, FormatError, InputError, JobError, NoSafePatternError, TableError
from discreet.io.decisions import read_statuses, read_waivers
from discreet.jobs import attacks as job_attacks
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.demo import write_demo
from discreet.jobs.hierarchies import hierarchy_file
from discreet.jobs.job import Result, run_job, write_together
from discreet.jobs.job_file import Job, examine_job, read_job
from discreet.jobs.presented import PRESENTED
from discreet.problem import Status
from discreet.protection import suppress

KEEP = b"kept as it was"
WRITTEN = ["pattern.csv", "intervals.csv", "report.json", "audit.json", "report.html"]

JOB = """
title = "Turnover"
[data]
file = "data/survey.csv"
response = "turnover"
contributor = "firm"
[dimensions.industry]
hierarchy = "industry.hrc"
[dimensions.region]
[rules]
sensitive = ["P(20)", "FREQ(3)"]
"""

FINISHED = """
[table]
file = "table.csv"
value = "turnover"
[dimensions.row]
[dimensions.column]
[rules]
sensitive = []
statuses = "statuses.csv"
"""

CELLS = """\
row,column,turnover,n,first,second,maker
a,x,71301,3,60000,5000,Ann
a,y,62210,9,9000,8000,Bob
a,Total,133511,12,60000,9000,Ann
b,x,53117,9,8000,7000,Cleo
b,y,44023,9,6000,6000,Dan
b,Total,97140,18,8000,7000,Cleo
Total,x,124418,12,60000,8000,Ann
Total,y,106233,18,9000,8000,Bob
Total,Total,230651,30,60000,9000,Ann
"""


def survey() -> pd.DataFrame:
    """Ninety firms, one of them alone in B2 × S1."""
    rng = np.random.default_rng(8)
    n = 90
    industry = rng.choice(["A1", "A2", "B1", "B2"], n, p=[0.4, 0.3, 0.2, 0.1])
    region = np.where(industry == "B2", "N1", rng.choice(["N1", "N2", "S1"], n))
    industry[7], region[7] = "B2", "S1"
    return pd.DataFrame(
        {
            "firm": [f"F{i:02d}" for i in range(n)],
            "industry": industry,
            "sector": [code[0] for code in industry],
            "region": region,
            "part": [code[0] for code in region],
            "size": rng.choice(["1", "2", "3"], n),
            "turnover": np.round(np.exp(rng.normal(8, 1.5, n)), 1),
            "employees": rng.integers(1, 50, n),
            "weight": rng.choice([1.0, 2.5], n),
            "asked": np.where(rng.random(n) < 0.1, "1", "0"),
        }
    )


RECORDS = survey()


@pytest.fixture
def folder(tmp_path) -> Path:
    """The files that job files refer to."""
    (tmp_path / "data").mkdir()
    RECORDS.to_csv(tmp_path / "data" / "survey.csv", index=False)
    (tmp_path / "industry.hrc").write_text("A\n@A1\n@A2\nB\n@B1\n@B2\n")
    (tmp_path / "table.csv").write_text(CELLS)
    (tmp_path / "statuses.csv").write_text("cell,status\na × x,primary\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(folder) -> Callable[..., Result]:
    def run(text: str) -> Result:
        (folder / "job.toml").write_text(text, encoding="utf-8")
        return run_job(read_job(folder / "job.toml"))

    return run


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def release_of(result: Result) -> pd.DataFrame:
    return pd.read_csv(next(f for f in result.files if f.name == "release.csv"), dtype=str)


# -- running ----------------------------------------------------------------------------------------------------------


def test_a_job_writes_release_pattern_intervals_and_reports(run, folder):
    result = run(JOB + '[output]\nformats = ["csv", "xlsx", "parquet"]\n')
    names = ["release.csv", "release.xlsx", "release.parquet", *WRITTEN]
    assert list(result.files) == [folder / "output" / name for name in names]
    assert sorted(p.name for p in (folder / "output").iterdir()) == sorted(names)
    assert result.audit.passed
    report = json.loads((folder / "output" / "report.json").read_text())
    assert report["safe"] is True
    assert report["n_primary"] == len(result.problem.primaries) > 0
    release = release_of(result)
    suppressed = (release.turnover == "×").to_numpy()
    assert (suppressed == result.protection.suppressed).all()
    parquet = pd.read_parquet(folder / "output" / "release.parquet")
    assert (parquet.suppressed == suppressed).all()
    assert parquet.turnover.isna().tolist() == suppressed.tolist()
    sheets = pd.read_excel(folder / "output" / "release.xlsx", sheet_name=None)
    assert set(sheets) == {"table", "cells", "legend"}
    assert ((sheets["cells"].turnover == "×") == suppressed).all()


def test_nobody_finds_a_hidden_value_in_the_release(run, folder):
    """Values with one decimal that occur once."""
    result = run(JOB)
    text = (folder / "output" / "release.csv").read_text(encoding="utf-8")
    published = set(result.problem.table.value[~result.protection.suppressed])
    suppressed = set(result.problem.table.value[result.protection.suppressed]) - published
    assert not [value for value in suppressed if f",{value}\n" in text or f",{value:g}\n" in text]


def test_paths_start_at_the_job_file_wherever_it_is_run_from(run, folder, tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    run(JOB)
    assert (folder / "output" / "release.csv").is_file()
    assert not list(Path.cwd().iterdir())


def test_the_output_folder_may_be_deep_or_absolute(run, folder, tmp_path_factory):
    run(JOB + '[output]\nfolder = "a/b c/d"\n')
    assert (folder / "a" / "b c" / "d" / "release.csv").is_file()
    other = tmp_path_factory.mktemp("other") / "made"
    run(JOB + f'[output]\nfolder = "{other}"\n')
    assert (other / "release.csv").is_file()


def test_the_same_job_gives_the_same_bytes(run, folder):
    text = JOB + '[protect]\nseed = 7\n[output]\nformats = ["csv", "parquet"]\nattacks = ["none"]\n'
    run(text)
    first = contents(folder / "output")
    run(text)
    again = contents(folder / "output")
    for name in ("release.csv", "release.parquet", "pattern.csv", "intervals.csv", "audit.json"):
        assert first[name] == again[name]


def test_any_number_of_workers_gives_the_same_bytes(run, folder):
    without_attacks = '[output]\nattacks = ["none"]\n'  # how far they come depends on the machine
    run(JOB + '[protect]\nmethod = "modular"\n' + without_attacks)
    first = contents(folder / "output")
    run(JOB + '[protect]\nmethod = "modular"\nworkers = 2\n' + without_attacks)
    again = contents(folder / "output")
    for name in ("release.csv", "pattern.csv", "intervals.csv", "audit.json"):
        assert first[name] == again[name]


@pytest.mark.parametrize("name", ["so-far", "output/so-far"])
def test_a_job_goes_on_from_its_checkpoint(run, folder, name):
    result = run(JOB)
    problem, first = result.problem, contents(folder / "output")
    said: list[str] = []
    (folder / "job.toml").write_text(JOB + f'[protect]\ncheckpoint = "{name}"\n')
    job = read_job(folder / "job.toml")
    Checkpoint(folder / name, problem).keep(result.protection.suppressed)
    run_job(job, say=said.append)
    suppressed = int(result.protection.suppressed.sum())
    assert said[3] == f"continuing from {folder.resolve() / name}, which suppresses {suppressed} cells"
    assert not (folder / name).exists()
    assert contents(folder / "output")["release.csv"] == first["release.csv"]
    run_job(job)
    assert not (folder / name).exists()


def test_a_checkpoint_of_other_data_is_refused(run, folder):
    problem = run(JOB).problem
    before = contents(folder / "output")
    Checkpoint(folder / "so-far", problem).keep(problem.status == Status.PRIMARY)
    with pytest.raises(FormatError, match="so-far belongs to another problem"):
        run(JOB.replace("P(20)", "P(30)") + '[protect]\ncheckpoint = "so-far"\n')
    assert contents(folder / "output") == before


def test_another_seed_is_as_safe(run):
    assert run(JOB + "[protect]\nseed = 12345\n").audit.passed


def test_what_happens_is_said_in_counts(folder):
    (folder / "job.toml").write_text(JOB)
    said: list[str] = []
    result = run_job(read_job(folder / "job.toml"), say=said.append)
    primaries, secondaries = result.protection.report.n_primary, result.protection.report.n_secondary
    assert said == [
        f"tabulated turnover by industry × region: {len(result.problem)} cells, 1 more are empty",
        "the codes of region are in the order of their characters; a code list (codes) gives them another",
        f"assessed: {primaries} cells are sensitive",
        f"protected: {secondaries} further cells are suppressed",
        "audited: safe",
        f"audited {result.respondents.targets} respondents who need protection: safe",
        f"tried {len(result.attacks.scores)} attacks: none succeeded",
    ]


# -- where cells come from --------------------------------------------------------------------------------------------


def test_counts_without_response(run):
    result = run(JOB.replace('response = "turnover"\ncontributor = "firm"\n', "").replace('"P(20)", ', ""))
    assert result.problem.table.value[0] == len(RECORDS)
    assert result.release.response == "count"
    assert list(release_of(result)) == ["industry", "region", "count"]


def test_every_entry_about_records(run):
    about = 'weight = "weight"\nweights = "secret"\nrequest = "asked"\nextra = ["employees"]\n'
    about += 'count_zeros = false\nunknown = "drop"\n'
    text = JOB.replace("[dimensions.industry]", about + "[dimensions.industry]", 1)
    rules = '["REQ(60)", "FREQ(2)"]\nboundary = "inclusive"\nprior = 60\nmargin = 10'
    result = run(text.replace('["P(20)", "FREQ(3)"]', rules) + '[protect]\ncost = "column(employees)"\n')
    table = result.problem.table
    assert table.value[0] == pytest.approx((RECORDS.turnover * RECORDS.weight).sum())
    assert result.problem.cost[0] == pytest.approx((RECORDS.employees * RECORDS.weight).sum())
    assert table.requested.any()
    assert result.problem.prior_upper == pytest.approx(1.6 * table.value)


def test_levels_of_digits(run):
    table = run(JOB.replace('hierarchy = "industry.hrc"', "levels = [1, 1]")).problem.table
    assert table.dimensions["industry"].codes == ("Total", "A", "A1", "A2", "B", "B1", "B2")


def test_columns_that_nest(run):
    columns = JOB.replace('hierarchy = "industry.hrc"', 'columns = ["sector", "industry"]\ntotal = "All"')
    table = run(columns.replace("[dimensions.region]", '[dimensions.region]\ncolumns = ["part"]')).problem.table
    assert table.dimensions["industry"].codes == ("All", "A", "A1", "A2", "B", "B1", "B2")
    assert table.dimensions["region"].codes == ("Total", "N", "N1", "N2", "S", "S1")


def test_groupings_that_do_not_nest(run, folder):
    (folder / "other.csv").write_text("code,parent\nodd,Total\neven,Total\nA1,odd\nB1,odd\nA2,even\nB2,even\n")
    result = run(JOB.replace('"industry.hrc"', '"industry.hrc"\nalso = ["other.csv"]'))
    table = result.problem.table
    assert set(table.dimensions["industry"].codes) == {"Total", *"AB", "A1", "A2", "B1", "B2", "odd", "even"}
    frame = table.frame().set_index(["industry", "region"]).turnover
    assert frame["odd", "N1"] == pytest.approx(frame["A1", "N1"] + frame["B1", "N1"])


def test_linked_tables(run):
    """Two tables of three dimensions, protected together; a dimension that a table lacks stands at its total."""
    text = 'tables = [["industry", "region"], ["industry", "size"]]\n' + JOB.replace(
        "[rules]", "[dimensions.size]\n[rules]"
    )
    result = run(text)
    release = release_of(result)
    assert list(release) == ["industry", "region", "size", "turnover"]
    assert not release.duplicated(["industry", "region", "size"]).any()
    assert ((release.region == "Total") | (release["size"] == "Total")).all()
    both = (release.region == "Total") & (release["size"] == "Total")
    assert both.sum() == 7
    assert result.audit.passed


def test_one_of_several_dimensions(run):
    result = run('tables = [["region"]]\n' + JOB)
    assert list(result.problem.table.dimensions) == ["region"]


def test_a_layout_of_tau_argus(run, folder):
    lines = [f"{r.firm:<4}{r.industry:<3}{r.region:<3}{r.turnover:>12}" for r in RECORDS.itertuples()]
    (folder / "survey.asc").write_text("\n".join(lines) + "\n")
    (folder / "survey.rda").write_text(
        "firm 1 4\n<HOLDING>\nindustry 5 3 99\n<RECODEABLE>\n<HIERARCHICAL>\nregion 8 3\n<RECODEABLE>\n"
        "turnover 11 12\n<NUMERIC>\n<DECIMALS> 1\n"
    )
    fixed = run(JOB.replace('"data/survey.csv"', '"survey.asc"\nlayout = "survey.rda"'))
    assert fixed.problem.digest == run(JOB).problem.digest


def test_a_finished_table(run):
    result = run(FINISHED)
    assert result.problem.table.labels(result.problem.primaries) == ["a × x"]
    release = release_of(result)
    assert release.turnover.tolist() == ["230651", "124418", "106233", "133511", "×", "×", "97140", "×", "×"]


def test_a_finished_table_with_contributors(run, folder):
    columns = 'value = "turnover"\ncount = "n"\ntop = ["first", "second"]\nwho = ["maker", "maker2"]\nextra = ["n2"]'
    frame = pd.read_csv(folder / "table.csv")
    frame.assign(maker2="Zoe", n2=frame.n).to_excel(folder / "table.xlsx", index=False)
    text = FINISHED.replace('value = "turnover"', columns).replace("table.csv", "table.xlsx")
    text = text.replace('[]\nstatuses = "statuses.csv"', '["P(15)"]') + '[protect]\ncost = "column(n2)"\n'
    result = run(text)
    assert result.problem.table.labels(result.problem.primaries) == ["a × x"]
    assert result.problem.upper[result.problem.primaries] == pytest.approx(0.15 * 60000 - 6301)
    assert result.problem.cost[0] == 30
    (folder / "waivers.csv").write_text("respondent,cell\nAnn,a × x\n", encoding="utf-8")
    waived = run(text.replace('["P(15)"]', '["P(15)"]\nwaivers = "waivers.csv"'))
    assert not len(waived.problem.primaries)


def test_a_finished_table_with_hierarchies_rounding_and_unpublished_totals(run, folder):
    (folder / "row.csv").write_text("code,parent\nAll,\na,All\nb,All\n")
    cells = CELLS.replace("Total,", "All,").replace("\nAll,All", "\nAll,Sum").replace(",All,", ",Sum,")
    (folder / "table.csv").write_text(cells.replace("230651", "230655"))
    text = FINISHED.replace("[dimensions.row]", '[dimensions.row]\nhierarchy = "row.csv"')
    text = text.replace("[dimensions.column]", '[dimensions.column]\ntotal = "Sum"')
    with pytest.raises(TableError, match=r"not additive.*'All × Sum'"):
        run(text)
    assert run(text.replace('"turnover"', '"turnover"\ntolerance = 1e-4')).audit.passed
    (folder / "table.csv").write_text("".join(line for line in cells.splitlines(True) if not line.startswith("All,x")))
    with pytest.raises(TableError, match=r"1 total is missing.*'All × x'"):
        run(text)
    assert run(text.replace('"turnover"', '"turnover"\nunpublished_totals = true')).audit.passed


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("230651", "230652"), "not additive.*'Total × Total'"),
        (("71301", "nan"), "'turnover'"),
        (("71301", "inf"), "'turnover'"),
        (("71301", "many"), "text instead of a number in column 'turnover'"),
        (("71301", ""), "'turnover'"),
        (("b,y,44023", "b,x,44023"), "b × x"),
        (("a,Total", "c,Total"), "total is missing.*'a × Total'"),
        (("a,x,", ",x,"), "'row' has 1 empty code"),
        (("71301,3,", "71301,-3,"), "negative count.*'a × x'"),
        (("71301,3,", "71301,2.5,"), "'n' counts contributors"),
        (("row,column", "line,column"), "no column 'row'"),
        (("Total", "Sum"), "'row' has no code 'Total'"),
        ((CELLS, ""), "table.csv is empty"),
        ((CELLS, "row,column,turnover,n\n"), "no cells"),
    ],
    ids=lambda case: "" if isinstance(case, tuple) else case[:20],
)
def test_finished_tables_that_are_none(folder, change, says, monkeypatch, capsys):
    (folder / "table.csv").write_text(CELLS.replace(*change))
    (folder / "job.toml").write_text(FINISHED.replace('"turnover"', '"turnover"\ncount = "n"'))
    (folder / "output").mkdir()
    for name in ("release.csv", *WRITTEN):
        (folder / "output" / name).write_bytes(KEEP)
    before = contents(folder)
    code, out, err = command(folder, monkeypatch, capsys)
    assert (code, out) == (2, "")
    assert err.startswith("discreet: ")
    assert err.count("\n") == 1
    assert re.search(says, err)
    assert not [secret for secret in ("71301", "44023", "230651", "230652") if secret in err]
    assert contents(folder) == before


def command(folder: Path, monkeypatch, capsys) -> tuple[int, str, str]:
    """Run the job on the command line."""
    monkeypatch.setattr(sys, "argv", ["discreet", "run", str(folder / "job.toml")])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0), *capsys.readouterr()


# -- rules by hand ------------------------------------------------------------------------------------------------------


def test_statuses_override_the_rules(run, folder):
    (folder / "statuses.csv").write_text(
        "\ufeffcell,status,reason\r\nA1 × N1,primary,\r\nTotal × Total,published,\r\nA × Total,hidden,\r\n"
        "B2 × S1,free,known from the press\r\n",
        encoding="utf-8",
    )
    problem = run(JOB + 'statuses = "statuses.csv"\nmargin = 5\n').problem
    status = dict(zip(problem.table.labels(), problem.status, strict=True))
    assert status["A1 × N1"] == Status.PRIMARY
    assert status["Total × Total"] == Status.PUBLISHED
    assert status["A × Total"] == Status.SUPPRESSED
    assert status["B2 × S1"] == Status.FREE
    assert [(one.cell, one.status, one.reason) for one in problem.overrides] == [
        ("B2 × S1", "free", "known from the press")
    ]


def test_a_waiver_everywhere_and_in_one_cell(run, folder):
    def sensitive(waivers: str) -> set[str]:
        (folder / "waivers.csv").write_text(waivers, encoding="utf-8")
        problem = run(JOB + 'waivers = "waivers.csv"\n').problem
        return set(problem.table.labels(problem.primaries))

    before = sensitive("respondent\nnobody\n")
    assert before - sensitive("respondent,cell\nF07,B2 × S1\n") == {"B2 × S1"}
    assert before - sensitive("respondent\nF07\n") >= {"B2 × S1"}


def test_waivers_with_an_empty_cell_are_for_everywhere(tmp_path):
    (tmp_path / "w.csv").write_text("respondent,cell\nF1,\nF2,A × N\n", encoding="utf-8")
    assert read_waivers(tmp_path / "w.csv") == ["F1", ("F2", "A × N")]


def test_small_files_say_where_they_are_wrong(tmp_path):
    path = tmp_path / "s.csv"
    with pytest.raises(InputError, match=r"s\.csv does not exist"):
        read_statuses(path)
    for text, says in (
        (b"", "first line must name the columns 'cell', 'status', and may name 'reason'"),
        (b"cell,status\n\n\na,free,b\n", "line 4: expected 2 fields, found 3"),
        (b"cell,status\na,free\nb,free\na,primary\n", "line 4: cell 'a' occurs a second time"),
        (b"cell,status\n\x81,free\n", "cannot be read"),
        (b"cell,status\n" + b"x" * 200_000 + b",free\n", "cannot be read"),
    ):
        path.write_bytes(text)
        with pytest.raises(InputError, match=says):
            read_statuses(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_statuses(tmp_path)


def test_hierarchy_files_from_windows_end_in_capitals(tmp_path):
    (tmp_path / "I.HRC").write_text("a\nb\n")
    (tmp_path / "I.CSV").write_text("code,parent\na,Total\nb,Total\n")
    assert hierarchy_file(tmp_path / "I.HRC").codes == hierarchy_file(tmp_path / "I.CSV").codes == ("Total", "a", "b")


# -- the output ---------------------------------------------------------------------------------------------------------


def test_symbol_and_decimals(run, folder):
    run(JOB + '[output]\nformats = ["csv", "csv"]\nsymbol = "n.a."\ndecimals = 0\n')
    text = (folder / "output" / "release.csv").read_text()
    assert "n.a." in text
    assert "." not in text.replace("n.a.", "")
    assert sorted(p.name for p in (folder / "output").iterdir()) == sorted(["release.csv", *WRITTEN])


def test_a_job_file_with_a_mark_of_its_encoding(run):
    """As some editors on Windows begin a file."""
    assert run("\ufeff" + JOB).audit.passed


def test_what_is_not_safe_is_not_released(folder, monkeypatch, capsys):
    def careless(problem, *_args, **_options):
        return suppress(problem, problem.status == Status.PRIMARY, method="careless")

    monkeypatch.setattr(jobs, "protect", careless)
    (folder / "job.toml").write_text(FINISHED)
    (folder / "output").mkdir()
    (folder / "output" / "release.csv").write_bytes(KEEP)
    code, out, err = command(folder, monkeypatch, capsys)
    assert (code, err) == (1, "")
    assert "Not published: 1 cells are exposed" in out
    assert "files of an earlier run that this one does not replace: 'release.csv'" in out
    assert (folder / "output" / "release.csv").read_bytes() == KEEP
    assert json.loads((folder / "output" / "audit.json").read_text())["exposed"] == ["a × x"]
    assert json.loads((folder / "output" / "report.json").read_text())["safe"] is False


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        (FINISHED, "a × x,primary\na × y,published\na × Total,published\n"),
    ],
    ids=["protected: there is no safe pattern yet"],
)
def test_without_a_safe_pattern_nothing_is_written_over(folder, text, statuses, monkeypatch, capsys):
    (folder / "job.toml").write_text(text)
    (folder / "statuses.csv").write_text("cell,status\n" + statuses, encoding="utf-8")
    (folder / "output").mkdir()
    for name in ("release.csv", *WRITTEN):
        (folder / "output" / name).write_bytes(KEEP)
    before = contents(folder)
    code, _, err = command(folder, monkeypatch, capsys)
    assert code == 1
    assert err.startswith("discreet: ")
    assert err.count("\n") == 1
    assert contents(folder) == before
    with pytest.raises(NoSafePatternError):
        run_job(read_job(folder / "job.toml"))


def test_a_job_writes_all_its_files_or_none(run, folder):
    """Parquet has no slack for a dimension called like the column that marks suppressed cells."""
    (folder / "table.csv").write_text(CELLS.replace("column", "suppressed"))
    (folder / "output").mkdir()
    (folder / "output" / "pattern.csv").write_bytes(KEEP)
    text = FINISHED.replace("dimensions.column", "dimensions.suppressed")
    with pytest.raises(DiscreetError, match="'suppressed'"):
        run(text + '[output]\nformats = ["csv", "xlsx", "parquet"]\n')
    assert contents(folder / "output") == {"pattern.csv": KEEP}


def test_files_written_together_take_their_places_together(tmp_path):
    (tmp_path / "a").write_bytes(KEEP)

    def fail(draft: Path) -> None:
        draft.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_together({tmp_path / "a": lambda draft: draft.write_bytes(b"new"), tmp_path / "b": fail})
    assert contents(tmp_path) == {"a": KEEP}


def test_a_folder_where_one_of_them_would_be_stops_them_all(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("b", "c"):
        (tmp_path / name).write_bytes(KEEP)
    with pytest.raises(FormatError, match="a: it is a folder"):
        write_together({tmp_path / name: lambda draft: draft.write_bytes(b"new") for name in ("b", "a", "c")})
    assert {name: (tmp_path / name).read_bytes() for name in ("b", "c")} == {"b": KEEP, "c": KEEP}
    assert len(list(tmp_path.iterdir())) == 3


def test_ctrl_c_does_not_come_between_them(tmp_path, monkeypatch):
    replace = os.replace

    def interrupted(draft: Path, path: Path) -> None:
        replace(draft, path)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("discreet.io.os.replace", interrupted)
    write_together({tmp_path / name: lambda draft: draft.write_bytes(b"new") for name in ("a", "b", "c")})
    assert contents(tmp_path) == dict.fromkeys(("a", "b", "c"), b"new")
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_folder_in_the_way_of_a_result_is_named_before_any_work_is_done(folder):
    (folder / "output" / "audit.json").mkdir(parents=True)
    (folder / "job.toml").write_text(JOB)
    with pytest.raises(JobError, match=r"a folder 'audit\.json' in .*output"):
        read_job(folder / "job.toml")


# -- entries that are wrong ---------------------------------------------------------------------------------------------

DATA = '[data]\nfile = "data/survey.csv"\n'
REST = '[dimensions.region]\n[rules]\nsensitive = ["P(17)"]\n'

WRONG: dict[str, tuple[str, str]] = {
    "not TOML": ("[data\n", "job.toml is not a TOML file.*line 1"),
    "an entry given twice": ("a = 1\na = 2\n", "not a TOML file.*line 2"),
    "an unknown section": (DATA + REST + "[ouput]\n", "unknown entry 'ouput'. Did you mean 'output'"),
    "an unknown entry": (
        DATA + 'respons = "turnover"\n' + REST,
        r"\[data\] has an unknown entry 'respons'.*'response'",
    ),
    "nothing like it": (DATA + REST + "[protect]\nxyz = 1\n", r"\[protect\].*'xyz'. Known are 'method', 'level'"),
    "an unknown entry of a dimension": (
        DATA + '[dimensions.region]\nhierachy = "x"\n',
        r"\[dimensions.region\].*'hierarchy'",
    ),
    "neither data nor table": (REST, r"either \[data\].*or \[table\]"),
    "both data and table": (
        DATA + '[table]\nfile = "table.csv"\nvalue = "x"\n' + REST,
        r"either \[data\].*or \[table\]",
    ),
    "no file": ("[data]\n" + REST, r"\[data\] needs an entry 'file'"),
    "no value": ('[table]\nfile = "table.csv"\n' + REST, r"\[table\] needs an entry 'value'"),
    "no dimensions": (DATA + "[rules]\nsensitive = []\n", "at least one dimension"),
    "no rules": (DATA + "[dimensions.region]\n", r"\[rules\] needs an entry 'sensitive'"),
    "data that is no section": ("data = 1\n" + REST, r"'data' is a section: write \[data\]"),
    "dimensions as a list": ('dimensions = ["region"]\n' + DATA + "[rules]\nsensitive = []\n", "'dimensions' is a sec"),
    "a dimension that is no section": (
        DATA + '[dimensions]\nregion = "r.hrc"\n[rules]\nsensitive = []\n',
        r"'region' is a section: write \[dimensions.region\]",
    ),
    "a number for a text": (DATA + "response = 3\n" + REST, "data.response must be text in quotes"),
    "a text for a list": (DATA + REST.replace('["P(17)"]', '"P(17)"'), "rules.sensitive must be a list"),
    "a number in a list of texts": (DATA + REST.replace('"P(17)"', "17"), "rules.sensitive must be text in quotes"),
    "a text for a number": (DATA + REST + 'prior = "50"\n', "rules.prior must be a number"),
    "a fraction for a whole number": (DATA + REST + "[protect]\nseed = 1.5\n", "protect.seed must be an integer"),
    "true for a whole number": (DATA + REST + "[protect]\nseed = true\n", "protect.seed must be an integer"),
    "true for a number": (DATA + REST + "margin = true\n", "rules.margin must be a number"),
    "a text for true": (DATA + 'count_zeros = "no"\n' + REST, "data.count_zeros must be true or false"),
    "a date for a text": (DATA + "response = 2024-01-01\n" + REST, "data.response must be text in quotes"),
    "a title that is none": ("title = 1\n" + DATA + REST, "title must be text in quotes"),
    "tables that are no lists": ('tables = ["region"]\n' + DATA + REST, r'tables must be a list like \[\["a", "b"\]\]'),
    "tables of unknown dimensions": ('tables = [["size"]]\n' + DATA + REST, "not listed: 'size'"),
    "a table of nothing": ("tables = [[]]\n" + DATA + REST, "'tables' names one or more"),
    "a table of one dimension twice": ('tables = [["region", "region"]]\n' + DATA + REST, "each of them once"),
    "finished tables to link": (
        'tables = [["region"]]\n[table]\nfile = "table.csv"\nvalue = "x"\n' + REST,
        r"'tables' goes with \[data\]",
    ),
    "two kinds of hierarchy": (
        DATA + REST.replace("region]\n", 'region]\nlevels = [1]\nhierarchy = "industry.hrc"\n'),
        "'region' has both hierarchy and levels",
    ),
    "further groupings of nothing": (
        DATA + REST.replace("region]\n", 'region]\nalso = ["industry.hrc"]\n'),
        "'region' has further groupings",
    ),
    "digits of a finished table": (
        '[table]\nfile = "table.csv"\nvalue = "x"\n' + REST.replace("region]\n", "region]\nlevels = [1]\n"),
        "'region' of a finished table",
    ),
    "an unknown method": (DATA + REST + '[protect]\nmethod = "magic"\n', "no method 'magic'.*'kelly'"),
    "an unknown format": (DATA + REST + '[output]\nformats = ["pdf"]\n', "'pdf'. Choose from 'csv', 'xlsx', 'parquet'"),
    "an unknown attack": (
        DATA + REST + '[output]\nattacks = ["magic"]\n',
        "no attack 'magic'. Choose from 'quick', 'all', 'none', 'exact'",
    ),
    "an unknown boundary": (DATA + REST + 'boundary = "soft"\n', "'strict' or 'inclusive', not 'soft'"),
    "an unknown treatment": (DATA + 'unknown = "keep"\n' + REST, "'error' or 'drop', not 'keep'"),
    "an unknown rule": (
        DATA + REST.replace('"P(17)"', '"Q(17)"'),
        "job.toml: rules.sensitive, entry 1: There is no rule 'Q'",
    ),
    "a rule out of range": (DATA + REST.replace("17", "170"), "job.toml: rules.sensitive, entry 1: Rule P: p must be"),
    "a prior out of range": (DATA + REST + "prior = 170\n", "rules.prior must be a percentage"),
    "a margin that is nan": (DATA + REST + "margin = nan\n", "rules.margin must be a percentage"),
    "an infinite margin": (DATA + REST + "margin = inf\n", "rules.margin must be a percentage"),
    "a negative seed": (DATA + REST + "[protect]\nseed = -1\n", "protect.seed must be 0 or more"),
    "no workers": (DATA + REST + "[protect]\nworkers = 0\n", "protect.workers must be 1 or more"),
    "a gap beyond everything": (DATA + REST + "[protect]\ngap = 1.5\n", "protect.gap must be a share from 0 to 1"),
    "a gap that is nan": (DATA + REST + "[protect]\ngap = nan\n", "protect.gap must be a share from 0 to 1"),
    "a checkpoint over the data": (DATA + REST + '[protect]\ncheckpoint = "data/survey.csv"\n', "a file of its own"),
    "a checkpoint over the job": (DATA + REST + '[protect]\ncheckpoint = "job.toml"\n', "a file of its own"),
    "a checkpoint over a result": (
        DATA + REST + '[protect]\ncheckpoint = "output/pattern.csv"\n',
        "protect.checkpoint must be a file of its own",
    ),
    "a folder for a checkpoint": (DATA + REST + '[protect]\ncheckpoint = "data"\n', "a file of its own"),
    "a checkpoint nowhere": (DATA + REST + '[protect]\ncheckpoint = "x/y"\n', "no folder .*x' for protect.checkpoint"),
    "a negative time limit": (DATA + REST + "[protect]\ntime_limit = -1\n", "protect.time_limit must be"),
    "a time limit that is nan": (DATA + REST + "[protect]\ntime_limit = nan\n", "protect.time_limit must be"),
    "too many decimals": (DATA + REST + "[output]\ndecimals = 400\n", "output.decimals must be 15 at most"),
    "a tolerance that is nan": (
        '[table]\nfile = "table.csv"\nvalue = "x"\ntolerance = nan\n' + REST,
        "table.tolerance",
    ),
    "a missing survey": (DATA.replace("survey", "nowhere") + REST, "no file 'data/nowhere.csv' for data.file"),
    "a missing layout": (DATA + 'layout = "x.rda"\n' + REST, "no file 'x.rda' for data.layout"),
    "a missing table": ('[table]\nfile = "x.csv"\nvalue = "x"\n' + REST, "no file 'x.csv' for table.file"),
    "a missing hierarchy": (
        DATA + REST.replace("region]\n", 'region]\nhierarchy = "x.hrc"\n'),
        "no file 'x.hrc' for dimensions.region.hierarchy",
    ),
    "a missing grouping": (
        DATA + REST.replace("region]\n", 'region]\nhierarchy = "industry.hrc"\nalso = ["x.hrc"]\n'),
        "no file 'x.hrc' for dimensions.region.also",
    ),
    "missing waivers": (DATA + REST + 'waivers = "w.csv"\n', "no file 'w.csv' for rules.waivers"),
    "weights that are neither": (
        DATA.replace("[data]", '[data]\nweights = "public"') + REST,
        "weights is 'known' or 'secret', not 'public'",
    ),
    "a zero rule without zeros": (
        DATA.replace("[data]", "[data]\ncount_zeros = false") + REST.replace('"P(17)"', '"ZERO(5)"'),
        "rule ZERO is about contributors of zero",
    ),
    "missing statuses": (DATA + REST + 'statuses = "x.csv"\n', "no file 'x.csv' for rules.statuses"),
    "a folder for a file": (DATA.replace("data/survey.csv", "data") + REST, "no file 'data' for data.file"),
    "an output folder below a file": (
        DATA + REST + '[output]\nfolder = "table.csv/x"\n',
        "cannot make the output folder",
    ),
    "an output folder that is a file": (
        DATA + REST + '[output]\nfolder = "table.csv"\n',
        "cannot make the output folder",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_entries_are_named_before_any_work_is_done(folder, case):
    text, says = WRONG[case]
    (folder / "job.toml").write_text(text)
    before = contents(folder)
    with pytest.raises(JobError, match=says) as caught:
        read_job(folder / "job.toml")
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)
    assert "job.toml" in str(caught.value)
    assert "17" not in str(caught.value).replace(str(folder), "")
    assert contents(folder) == before
    assert not (folder / "output").exists()


def test_a_job_does_not_write_over_what_it_reads(folder):
    (folder / "release.csv").write_text(CELLS)
    text = FINISHED.replace("table.csv", "release.csv") + '[output]\nfolder = "."\n'
    (folder / "job.toml").write_text(text)
    with pytest.raises(JobError, match=r"overwrite 'release\.csv', its table\.file"):
        read_job(folder / "job.toml")


def test_other_ways_not_to_be_a_job(folder):
    with pytest.raises(JobError, match="does not exist"):
        read_job(folder / "nowhere.toml")
    with pytest.raises(JobError, match="cannot be read"):
        read_job(folder)
    (folder / "job.toml").write_bytes(b'title = "\xff"')
    with pytest.raises(JobError, match="line 1: the text is not in UTF-8"):
        read_job(folder / "job.toml")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"turnover"', '"turnovr"'), "'turnover'"),
        (("[dimensions.region]", "[dimensions.regions]"), "'regions'.*'region'"),
        (('"industry.hrc"', '"statuses.csv"'), "statuses.csv.*'code', 'parent'"),
        (('"industry.hrc"', '"job.toml"'), "ends in .hrc, .csv or .xml"),
        (('hierarchy = "industry.hrc"', "levels = [1]"), "'A1'"),
        (('hierarchy = "industry.hrc"', "levels = [0]"), "widths"),
        (('hierarchy = "industry.hrc"', 'columns = ["region", "industry"]'), "do not nest"),
        (('hierarchy = "industry.hrc"', 'columns = ["branch"]'), "'branch'"),
        (('"industry.hrc"', '"industry.hrc"\nalso = ["table.csv"]'), "table.csv"),
        (('"FREQ(3)"]', '"REQ(50)"]'), "requested protection"),
        (('"FREQ(3)"]', '"FREQ(3)"]\nstatuses = "statuses.csv"'), "'a × x'"),
        (('"FREQ(3)"]', '"FREQ(3)"]\n[protect]\ncost = "colum(employees)"'), "'column'"),
    ],
)
def test_entries_that_do_not_fit_the_data(run, folder, change, says):
    assert JOB.count(change[0]) == 1
    with pytest.raises(InputError, match=says) as caught:
        run(JOB.replace(*change))
    assert caught.value.exit_code == 2
    assert not (folder / "output").exists() or not list((folder / "output").iterdir())


def test_every_section_of_a_job_is_checked_and_described():
    """What is not read from the file is worked out from it."""
    sections = {field.name for field in fields(Job)} - {"path"}
    assert sections == {"title", "data", "table", "dimensions", "tables", "rules", "protect", "output", *PRESENTED}


# -- the level of contributions ------------------------------------------------------------------------------------------

EACH = JOB + '[protect]\nlevel = "contributions"\n'


def test_a_job_for_every_respondent_audits_cells_and_respondents(run, folder):
    result = run(EACH)
    assert result.respondents.passed
    assert result.passed
    assert result.release is not None
    assert result.problem.table.contributions is not None
    output = folder / "output"
    report, checked = (json.loads((output / name).read_text()) for name in ("report.json", "audit.json"))
    assert (report["safe"], report["n_exposed_respondents"]) == (True, 0)
    assert report["n_respondents"] == result.respondents.targets > 0
    assert checked["respondents"]["safe"]
    assert checked["respondents"]["complete"]
    assert "respondents who need protection" in (output / "report.html").read_text(encoding="utf-8")
    assert run(JOB).respondents.passed  # by default, too
    asked = run(JOB + '[protect]\nlevel = "cells"\n')
    assert asked.respondents is None
    assert asked.problem.table.contributions is None
    assert "because level cells was requested" in asked.level.not_covered
    report, checked = (json.loads((output / name).read_text()) for name in ("report.json", "audit.json"))
    assert asked.level.not_covered in sentences_of(report)
    assert asked.level.not_covered in sentences_of(checked)


def test_a_job_that_exposes_a_respondent_publishes_nothing(run, folder, monkeypatch):
    """As if the method had protected cells only: two firms alone in cells of one row suppress each other."""
    sizes = {(i, r): [50.0] * 10 for i in ("A1", "A2", "B1", "B2") for r in ("N1", "N2", "S1")}
    sizes |= {("A1", "N1"): [100.0], ("A1", "N2"): [120.0], ("A1", "S1"): [1000.0] * 10}
    rows = [(f"F{i}{r}{k}", i, r, x) for (i, r), amounts in sizes.items() for k, x in enumerate(amounts)]
    frame = pd.DataFrame(rows, columns=["firm", "industry", "region", "turnover"])
    frame.to_csv(folder / "data" / "survey.csv", index=False)
    protect = jobs.protect
    monkeypatch.setattr(jobs, "protect", lambda *words, level, **options: protect(*words, **options, level="cells"))
    result = run(EACH)
    assert result.audit.passed
    assert not result.respondents.passed
    assert not result.passed
    assert result.release is None
    output = folder / "output"
    assert not (output / "release.csv").exists()
    report, checked = (json.loads((output / name).read_text()) for name in ("report.json", "audit.json"))
    assert (report["safe"], checked["safe"], checked["respondents"]["safe"]) == (False, False, False)
    assert report["n_exposed_respondents"] == checked["respondents"]["n_exposed"] == len(result.respondents.respondents)
    page = (output / "report.html").read_text(encoding="utf-8")
    assert not [name for name in result.respondents.respondents if name in page]
    monkeypatch.setattr(sys, "argv", ["discreet", "run", str(folder / "job.toml")])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1


def test_a_finished_table_protects_the_respondents_it_knows(run, folder):
    text = FINISHED.replace("sensitive = []", 'sensitive = ["P(10)"]').replace('statuses = "statuses.csv"', "")
    text = text.replace(
        "[dimensions.row]", 'count = "n"\ntop = ["first", "second"]\nwho = ["maker", "none"]\n[dimensions.row]'
    )
    header, *cells = CELLS.splitlines()
    (folder / "table.csv").write_text("\n".join([f"{header},none", *(f"{cell}," for cell in cells)]))
    result = run(text + '[protect]\nlevel = "contributions"\n')
    assert result.passed
    assert not result.problem.table.knows_respondents
    assert json.loads((folder / "output" / "audit.json").read_text())["respondents"]["complete"] is False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (EACH.replace('"contributions"', '"firms"'), "level is 'cells' or 'contributions', not 'firms'"),
        (EACH.replace('"P(20)", ', ""), "needs a rule about contributions"),
        ('tables = [["industry"], ["region"]]\n' + EACH, "one of 'tables' must have all dimensions of the others"),
    ],
)
def test_what_the_level_of_contributions_needs_is_said_before_any_work(run, text, message):
    with pytest.raises(JobError, match=message):
        run(text)


def test_linked_tables_one_of_which_is_finer_go_with_the_level_of_contributions(run):
    result = run('tables = [["industry"], ["industry", "region"]]\n' + EACH)
    assert result.passed
    assert result.problem.table.contributions is not None


def test_a_job_shares_its_report_if_asked_and_if_there_is_a_release(run, folder, monkeypatch):
    result = run(JOB + "[output]\nshare = true\ndecimals = -1\n")
    page = folder / "output" / "report-shareable.html"
    assert page in result.files
    digest = hashlib.sha256((folder / "output" / "release.csv").read_bytes()).hexdigest()
    text = page.read_text(encoding="utf-8")
    assert digest in text  # it is about this very release
    assert result.problem.digest not in text
    page.unlink()
    monkeypatch.setattr(jobs, "protect", lambda problem, *_, **__: suppress(problem, problem.status == Status.PRIMARY))
    result = run(JOB + "[output]\nshare = true\n")
    assert not result.passed
    assert not page.exists()


def test_a_job_for_readers_of_another_language(run, folder):
    run(JOB + '[output]\nshare = true\nlang = "de"\nformats = ["csv", "xlsx"]\n')
    release = (folder / "output" / "release.csv").read_bytes()
    page = (folder / "output" / "report-shareable.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    assert "Insgesamt" in page
    assert hashlib.sha256(release).hexdigest() in page
    assert b",.\n" in release
    assert b"Insgesamt" not in release
    assert '<html lang="en">' in (folder / "output" / "report.html").read_text(encoding="utf-8")
    with pytest.raises(JobError, match="lang is 'en' or 'de' or 'fr' or 'es' or 'nl', not 'it'"):
        run(JOB + '[output]\nlang = "it"\n')


def test_a_job_tries_attacks_and_publishes_nothing_unless_they_are_withstood(run, folder, monkeypatch, capsys):
    result = run(JOB + '[output]\nattacks = ["exact", "fit"]\n')
    assert result.passed
    assert [one.finding.attack for one in result.attacks.scores] == ["exact", "fit"]
    assert "<h2>Attacks</h2>" in (folder / "output" / "report.html").read_text(encoding="utf-8")
    told = json.loads((folder / "output" / "report.json").read_text(encoding="utf-8"))
    assert (told["safe"], told["attacks"], told["compromised"]) == (True, ["exact", "fit"], [])
    (folder / "output" / "release.csv").unlink()
    hit = replace(result.attacks.scores[0], compromised=result.attacks.scores[0].sensitive)
    monkeypatch.setattr(job_attacks, "run_attacks", lambda *_, **__: AttackReport((hit,), {}))
    result = run(JOB + '[output]\nattacks = ["all"]\n')
    assert result.audit.passed
    assert not result.passed
    assert result.release is None
    assert not (folder / "output" / "release.csv").exists()
    code, out, _ = command(folder, monkeypatch, capsys)
    assert code == 1
    assert "Not published: attacks compromise" in out


def sentences_of(report: dict) -> list[str]:
    """The conditions of the verdict in a JSON report."""
    return [condition["sentence"] for condition in report["conditions"]]


def test_the_stages_of_a_job_and_their_seconds_are_in_the_reports(run, folder):
    stages = run(JOB + '[output]\nattacks = ["none"]\n').stages
    assert [one.stage for one in stages][:3] == ["tabulate", "assess", "protect"]
    assert {"audit", "respondents", "attacks", "publish"} <= {one.stage for one in stages}
    report = json.loads((folder / "output" / "report.json").read_text(encoding="utf-8"))
    assert report["stages"] == [{"stage": one.stage, "seconds": one.seconds} for one in stages]
    assert all(one.seconds >= 0 for one in stages)
    page = (folder / "output" / "report.html").read_text(encoding="utf-8")
    assert "<h2>Time</h2>" in page
    assert all(f">{one.stage}</th>" in page for one in stages)


def test_quick_attacks_are_tried_unasked(run, folder, monkeypatch):
    monkeypatch.setattr(job_attacks, "MIN_ATTACK_SECONDS", 2.0)
    assert (job_attacks.quick_seconds(10.0), job_attacks.quick_seconds(600.0)) == (2.0, 60.0)
    monkeypatch.setattr(job_attacks, "MIN_ATTACK_SECONDS", 5.0)
    result = run(JOB)
    assert {"exact", "fit", "midpoint-fit"} <= {one.finding.attack for one in result.attacks.scores}
    told = json.loads((folder / "output" / "report.json").read_text(encoding="utf-8"))
    assert {*told["attacks"], *told["attacks_left_out"]} == set(QUICK)
    assert set(limitations(result.attacks)) <= set(sentences_of(told))


def test_a_job_that_leaves_attacks_out_says_so(folder, monkeypatch, capsys):
    for none in ("[]", '["none"]'):
        (folder / "job.toml").write_text(JOB + f"[output]\nattacks = {none}\n", encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["discreet", "run", str(folder / "job.toml")])
        with pytest.raises(SystemExit) as stopped:
            main()
        out = " ".join(capsys.readouterr().out.split())
        assert not stopped.value.code
        assert "tried no attack, as the job says" in out
        assert NO_ATTACK_TRIED in out
        told = json.loads((folder / "output" / "report.json").read_text(encoding="utf-8"))
        assert NO_ATTACK_TRIED in sentences_of(told)


def test_an_attacker_who_knows_the_method_is_told_of_beside_the_verdict(folder, capsys, monkeypatch):
    """One record each in a square, more elsewhere: the zeros that would be published rule most tables out."""
    many = {(r, c): 1 if r + c in ("Ax", "Ay", "Bx", "By") else 4 for r in "ABC" for c in "xyz"}
    rows = [cell for cell, n in many.items() for _ in range(n)]
    pd.DataFrame(rows, columns=["r", "c"]).to_csv(folder / "people.csv", index=False)
    job = 'title = "people"\n[data]\nfile = "people.csv"\n[dimensions.r]\n[dimensions.c]\n[rules]\nsensitive = ["FREQ(3)"]\n'
    (folder / "job.toml").write_text(job + '[output]\nattacks = ["replay"]\n', encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["discreet", "run", str(folder / "job.toml")])
    with pytest.raises(SystemExit):
        main()
    told = json.loads((folder / "output" / "report.json").read_text(encoding="utf-8"))
    counted = told["replay"]
    assert counted["all_tables"]
    assert counted["tables_kept"] >= 1
    out = " ".join(capsys.readouterr().out.split())
    assert all(sentence in out for sentence in sentences_of(told))
    page = (folder / "output" / "report.html").read_text(encoding="utf-8")
    assert "for an attacker who knows the method" in page
    assert "lead to this publication" in page


def test_sets_of_attacks_stand_alone(folder):
    (folder / "job.toml").write_text(JOB + '[output]\nattacks = ["quick", "sample"]\n', encoding="utf-8")
    with pytest.raises(JobError, match="alone"):
        read_job(folder / "job.toml")


def test_attacks_that_do_not_apply_are_not_called_withstood(folder):
    (folder / "job.toml").write_text(JOB + '[output]\nattacks = ["shrink"]\n', encoding="utf-8")
    said: list[str] = []
    run_job(read_job(folder / "job.toml"), say=said.append)
    assert "no attack applies (shrink: p is not known)" in said


@pytest.mark.slow
def test_attacks_find_no_exact_disclosure_in_the_demo(tmp_path, monkeypatch):
    monkeypatch.setattr(job_attacks, "MIN_ATTACK_SECONDS", 60.0)
    job = read_job(write_demo(tmp_path))
    result = run_job(job)
    assert result.passed
    assert {"exact", "fit"} <= {one.finding.attack for one in result.attacks.scores}
    assert not any(one.exact.any() for one in result.attacks.scores)


def test_all_errors_of_a_job_file_are_found_at_once(tmp_path):
    """One mistake per message means one run per mistake: the list is complete, and a misspelled entry is not also missing."""
    (tmp_path / "job.toml").write_text(
        'title = 3\ncolour = "red"\n[data]\nfile = "none.csv"\nrespons = "turnover"\ncount_zeros = 1\n'
        '[dimensions.region]\nhierarchy = "none.hrc"\nlevels = [1]\n'
        '[rules]\nsensitive = ["P(0)", "XP(1)"]\nboundary = "loose"\nmargin = -1.0\n[protect]\nmethod = "best"\n'
        '[output]\nformats = ["pdf"]\n',
        encoding="utf-8",
    )
    job, errors = examine_job(tmp_path / "job.toml")
    assert job is not None
    listed = [str(error) for error in errors]
    expected = [
        "the file has an unknown entry 'colour'",
        "title must be text",
        "[data] has an unknown entry 'respons'. Did you mean 'response'?",
        "data.count_zeros must be true or false",
        "dimension 'region' has both hierarchy and levels",
        "boundary is 'strict' or 'inclusive'",
        "Rule P: p must be",
        "There is no rule 'XP'",
        "there is no method 'best'",
        "cannot write releases as 'pdf'",
        "rules.margin must be",
        "there is no file 'none.csv' for data.file",
        "there is no file 'none.hrc' for dimensions.region.hierarchy",
    ]
    assert len(listed) == len(expected)
    for words in expected:
        assert len([text for text in listed if words in text]) == 1, words
    assert not (tmp_path / "output").exists()  # made by read_job only, if there is no error
    (tmp_path / "job.toml").write_text("[data]\nfil = 'none.csv'\n[rules]\n", encoding="utf-8")
    job, errors = examine_job(tmp_path / "job.toml")
    assert job is None
    assert [str(error).partition(": ")[2] for error in errors] == [
        "list at least one dimension, e.g. [dimensions.region].",
        "[rules] needs an entry 'sensitive'.",
        "[data] has an unknown entry 'fil'. Did you mean 'file'?",
    ]


# -- spellings -------------------------------------------------------------------------------------------------


def test_codes_and_names_with_several_spellings_are_asked_about_and_answered(run, folder):
    survey = (folder / "data" / "survey.csv").read_text(encoding="utf-8")
    lines = survey.splitlines()
    region = lines[0].split(",").index("region")
    code = lines[1].split(",")[region]
    assert code.lower() != code
    first = lines[1].split(",")
    first[region] = code.lower()
    (folder / "data" / "survey.csv").write_text(
        "\n".join([lines[0], ",".join(first), *lines[2:]]) + "\n", encoding="utf-8"
    )
    merge = f'merge = {{"{code.lower()}" = "{code}"}}'
    with pytest.raises(InputError) as error:
        run(JOB)
    assert merge in str(error.value)
    answered = run(JOB.replace("[dimensions.region]", f"[dimensions.region]\n{merge}"))
    (folder / "data" / "survey.csv").write_text(survey, encoding="utf-8")
    assert np.array_equal(answered.problem.table.value, run(JOB).problem.table.value)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[dimensions.region]", "[dimensions.region]\nmerge = {a = 1}"), "'region': 'merge' has codes in quotes"),
        (("[dimensions.region]", '[dimensions.region]\nmerge = {a = "b", b = "c"}'), "'region': merge replaces 'a'"),
        (("[dimensions.region]", '[dimensions.region]\nstrip = "yes"'), "strip must be true or false"),
        (("[data]", '[data]\nnames = "same"'), "names is 'exact' or 'merged', not 'same'"),
    ],
)
def test_settings_of_spellings_that_make_no_sense(folder, change, says):
    (folder / "job.toml").write_text(JOB.replace(*change), encoding="utf-8")
    with pytest.raises(JobError, match=says):
        read_job(folder / "job.toml")


def test_missing_codes_requests_and_least_levels(run, folder):
    """What a job of τ-ARGUS calls MIS and REQ, on codes in a file, of digits and found in the records."""
    frame = survey().assign(kind=[str(i % 3) for i in range(90)], size=[["10", "20", "9X"][i % 3] for i in range(90)])
    frame.loc[0, "industry"] = "??"
    frame.to_csv(folder / "data" / "survey.csv", index=False)
    text = (
        JOB.replace('contributor = "firm"', 'contributor = "firm"\nrequest = "kind"\nrequests = ["1", "2"]')
        .replace('hierarchy = "industry.hrc"', 'hierarchy = "industry.hrc"\nmissing_codes = ["??", "!!"]')
        .replace("[dimensions.region]", '[dimensions.size]\nlevels = [1, 1]\nmissing_codes = ["9X"]')
        .replace('"FREQ(3)"]', '"FREQ(3)", "REQ(60,30,5,2)"]\nmissing_codes = "safe"\nleast_level = 2')
    )
    result = run(text)
    table = result.problem.table
    assert [sorted(h.missing) for h in table.dimensions.values()] == [["??"], ["9X"]]
    assert table.dimensions["size"].codes[-1] == "9X"
    assert (table.requested & 2).any()
    missing = {table.label(i) for i in np.flatnonzero(table.has_missing_code)}
    assert {one.cell for one in result.problem.overrides} <= missing
    assert "?? × Total" in {one.cell for one in result.problem.overrides}
    assert result.problem.upper[result.problem.primaries].min() >= 2
    assert "REQ(60,30,5,2)" in result.problem.rules


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('"FREQ(3)"]', '"FREQ(3)"]\nmissing_codes = "safe"'), "list them under missing_codes of a dimension"),
        (('"FREQ(3)"]', '"FREQ(3)"]\nmissing_codes = "unsafe"'), "missing_codes is 'judged' or 'safe'"),
        (('"FREQ(3)"]', '"FREQ(3)"]\nleast_level = -1'), "rules.least_level must be a number, 0 or more"),
        (('contributor = "firm"', 'contributor = "firm"\nrequests = ["1"]'), "name this column, too"),
    ],
)
def test_missing_codes_and_requests_that_make_no_sense(folder, change, says):
    (folder / "job.toml").write_text(JOB.replace(*change))
    with pytest.raises(JobError, match=says):
        read_job(folder / "job.toml")


def test_a_finished_table_with_missing_codes(run, folder):
    text = (
        FINISHED.replace("[dimensions.column]", '[dimensions.column]\nmissing_codes = ["y"]')
        .replace("sensitive = []", 'sensitive = ["FREQ(10)"]\nmissing_codes = "safe"')
        .replace('value = "turnover"', 'value = "turnover"\ncount = "n"')
        .replace('statuses = "statuses.csv"', "")
    )
    problem = run(text).problem
    assert {one.cell for one in problem.overrides} == {"a × y", "b × y"}
