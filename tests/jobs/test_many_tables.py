"""Several tables, and many, in one job: protected as one system, with one audit."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from discreet.audit import audit
from discreet.data.survey import business_survey
from discreet.errors import JobError, NoSafePatternError
from discreet.jobs.job import Result, make_problem, make_table, read_job, run_job
from discreet.protection import Decision, suppress

TABLES = [["section", "region"], ["section", "size"], ["size", "region"], ["section", "form"]]
JOB = """
[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"
holding = "holding"

[dimensions.section]
[dimensions.region]
columns = ["part"]
[dimensions.size]
[dimensions.form]

[rules]
sensitive = ["P(10)", "FREQ(3)"]

[output]
formats = ["csv"]
"""
EACH = JOB.replace('columns = ["part"]', "separate = true").replace("[dimensions.form]\n", "")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the records of a synthetic survey."""
    folder = tmp_path_factory.mktemp("survey")
    records = business_survey(seed=1, establishments=1_200).records
    bands = pd.cut(records.employees, [0, 9, 49, 10**9], labels=["small", "medium", "large"])
    records = records.assign(section=records.industry.str[0], part=records.region.str[0], size=bands)
    records.assign(form=records.holding.isna().map({True: "alone", False: "group"})).to_csv(
        folder / "survey.csv", index=False
    )
    return folder


def job(home: Path, text: str, name: str = "job") -> Path:
    path = home / f"{name}.toml"
    path.write_text(text.replace("[output]", f'[output]\nfolder = "{name}"'), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def four(home: Path) -> Result:
    return run_job(read_job(job(home, f"tables = {json.dumps(TABLES)}\n" + JOB, "four")))


def cells_of(result: Result, by: list[str]) -> np.ndarray:
    """One of the tables: what stands at the total of everything that it is not classified by."""
    table = result.problem.table.listed
    return np.all([table.codes[d] == 0 for d, name in enumerate(table.dimensions) if name not in by], axis=0)


def test_four_tables_are_one_system_that_passes_one_audit(four):
    assert four.audit.passed
    assert four.release is not None
    assert np.any(four.protection.decision == Decision.SECONDARY)
    checked = json.loads(next(f for f in four.files if f.name == "audit.json").read_text())
    assert checked["safe"] is True
    assert checked["n_cells"] == len(four.problem.primaries)
    held = np.any([cells_of(four, by) for by in TABLES], axis=0)
    assert held.all(), "every cell belongs to one of the tables"
    assert four.problem.table.behind is not None, "three of them form a cycle"


def test_shared_cells_are_decided_once(four, home):
    """A cell that several tables show has one line in the release, with the value that each of the tables alone has."""
    release = pd.read_csv(home / "four" / "release.csv", dtype=str)
    names = ["section", "region", "size", "form"]
    assert not release.duplicated(names).any()
    times = np.sum([cells_of(four, by) for by in TABLES], axis=0)
    assert times.max() == len(TABLES), "all have the grand total"
    assert np.sum(times > 1) > 30
    whole = four.problem.table.listed
    for by in TABLES:
        rows = "tables = " + json.dumps([by]) + "\n" + JOB
        alone = make_table(read_job(job(home, rows, "-".join(by))))
        ours = whole.value[cells_of(four, by)]
        np.testing.assert_array_equal(np.sort(ours), np.sort(alone.value))


def test_tables_protected_alone_would_not_be_safe_together(four, home):
    """Why it is one system: suppress what each table by itself would suppress, and readers of all four find out too much."""
    whole = four.problem
    at = {label: i for i, label in enumerate(whole.table.labels())}
    suppressed = np.array(whole.table.behind)
    names = list(whole.table.dimensions)
    for by in TABLES:
        text = JOB.replace("[output]", '[protect]\nlevel = "cells"\n[output]')  # the question is about cells
        alone = run_job(read_job(job(home, "tables = " + json.dumps([by]) + "\n" + text, "-".join(by))))
        table = alone.problem.table
        for i in np.flatnonzero(alone.protection.suppressed):
            codes = dict(zip(table.dimensions, table.label(int(i)).split(" × "), strict=True))
            suppressed[at[" × ".join(codes.get(name, "Total") for name in names)]] = True
    assert not audit(whole, suppress(whole, suppressed), intervals=False).passed


def test_a_table_for_each_district(home):
    result = run_job(read_job(job(home, EACH, "each")))
    assert result.audit.passed
    table = result.problem.table
    region = list(table.dimensions).index("region")
    assert np.all(table.codes[region] != 0)
    rows, cells = table.relations.nonzero()
    of_row = dict(zip(rows.tolist(), table.codes[region, cells].tolist(), strict=True))
    assert all(
        of_row[row] == code for row, code in zip(rows.tolist(), table.codes[region, cells].tolist(), strict=True)
    )
    release = pd.read_csv(home / "each" / "release.csv", dtype=str)
    assert "Total" not in set(release.region)
    assert "Total" in set(release.section)


def test_a_total_over_districts_that_another_table_shows_is_part_of_the_system(home):
    text = 'tables = [["region", "section", "size"], ["section"]]\n' + EACH
    result = run_job(read_job(job(home, text, "both")))
    assert result.audit.passed
    table = result.problem.table
    names = list(table.dimensions)
    total = table.codes[names.index("region")] == 0
    assert np.all(table.codes[names.index("size"), total] == 0), "only what the second table shows"
    assert total.sum() == 1 + len(set(table.codes[names.index("section")]) - {0})
    rows = abs(table.relations) @ total.astype(float)
    assert np.sum(rows > 0) > 1, "districts add up to what the other table shows"


def test_a_limit_on_all_tables_is_kept(home):
    text = EACH.replace("[output]", '[protect]\nmethod = "optimal"\noptions = {at_most = 1}\n[output]')
    read = read_job(job(home, text, "limit"))
    sensitive = len(make_problem(read, make_table(read)).primaries)
    with pytest.raises(NoSafePatternError, match=f"{sensitive} must be"):
        run_job(read)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            'tables = [["region", "section"], ["size"]]\n' + EACH + "[dimensions.form]\nseparate = true\n",
            "one dimension",
        ),
        (EACH.replace("[dimensions.section]\n", "").replace("[dimensions.size]\n", ""), "all dimensions are separate"),
        (
            EACH.replace('file = "survey.csv"', 'file = "survey.csv"\nvalue = "turnover"')
            .replace('response = "turnover"\ncontributor = "firm"\nholding = "holding"\n', "")
            .replace("[data]", "[table]"),
            r"goes with \[data\]",
        ),
    ],
)
def test_separate_dimensions_that_make_no_sense(home, text, says):
    with pytest.raises(JobError, match=says):
        read_job(job(home, text, "wrong"))
