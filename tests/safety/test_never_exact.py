"""Whatever its protection level, no sensitive cell and no other suppressed cell is exactly computable."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.safety.reader import FEW_AND_MANY, interval, released

from discreet import assess, audit, protect, publish, tabulate
from discreet.audit import certificate, verify
from discreet.errors import NoSafePatternError, NotSafeError
from discreet.jobs.job import read_job, run_job
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import cross_table, pose, random_hierarchy, random_table

RECORDS = """r,c,v,f
a,x,0,F0
a,y,40,F1
a,y,35,F2
a,y,30,F3
a,z,30,F11
a,z,29,F12
a,z,28,F13
b,x,50,F4
b,x,45,F5
b,x,20,F6
b,y,60,F7
b,y,55,F8
b,y,20,F9
b,z,10,F10
b,z,25,F14
b,z,24,F15
"""
SUPPRESSION = ("kelly", "hypercube", "modular", "eliminate", "guided", "optimal", "first-model", "auto")


def survey() -> pd.DataFrame:
    rows = [line.split(",") for line in RECORDS.split()]
    return pd.DataFrame(rows[1:], columns=rows[0]).astype({"v": float})


def surveyed(rules: list[str], **options: object) -> Problem:
    return assess(tabulate(survey(), {"r": None, "c": None}, "v", contributor="f", top=3), rules, **options)


def check(problem: Problem, method: str) -> None:
    """Every suppressed cell has more than one value for the reader of the release."""
    protection = protect(problem, method, level="cells")
    checked = audit(problem, protection)
    assert checked.passed
    known = released(protection, publish(problem, protection, checked, level="cells"))
    for cell in np.flatnonzero(np.isnan(known)):
        low, high = interval(problem.table, known, cell)
        assert high - low >= problem.least_width[cell] * (1 - 1e-6)


@pytest.mark.parametrize("method", SUPPRESSION)
def test_a_sensitive_zero_is_not_suppressed_alone(method):
    """192 − 105 − 87 = 0: one × in the row of a says what it stands for. Three more cells protect it."""
    problem = surveyed(["P(10)", "FREQ(3)"])
    assert problem.table.labels(problem.primaries) == ["a × x"]
    check(problem, method)
    assert protect(problem, method, level="cells").report.n_secondary == 3


@pytest.mark.parametrize(
    ("rules", "options"),
    [
        (["P(10)", "FREQ(4,0)"], {}),  # small cells without a protection level
        (["NK(1,40)"], {"boundary": "inclusive"}),
        (["P(10)"], {"statuses": {"a × x": "primary"}}),  # a zero made sensitive by hand
    ],
)
@pytest.mark.parametrize("method", SUPPRESSION)
def test_levels_of_zero_do_not_mean_that_anybody_may_compute_the_cell(rules, options, method):
    problem = surveyed(rules, **options)
    assert np.any((problem.lower + problem.upper)[problem.primaries] == 0)
    check(problem, method)


def test_a_cell_on_the_boundary_has_level_zero_and_is_protected_all_the_same():
    frame = pd.DataFrame(
        {"r": list("aaabbb"), "c": list("xxyxyy"), "v": [100, 10, 60, 40, 30, 20], "f": [f"F{i}" for i in range(6)]}
    )
    table = tabulate(frame, {"r": None, "c": None}, "v", contributor="f", top=3)
    problem = assess(table, "P(10)", boundary="inclusive")
    check(problem, "optimal")


def test_the_audit_refuses_the_sensitive_zero_suppressed_alone():
    problem = surveyed(["P(10)", "FREQ(3)"])
    alone = suppress(problem, problem.status == Status.PRIMARY)
    for checked in (audit(problem, alone), audit(problem, alone, intervals=False)):
        assert checked.exposed == ["a × x"]
        with pytest.raises(NotSafeError, match="a × x"):
            publish(problem, alone, checked)


def test_certificates_prove_that_cells_without_levels_are_not_computable():
    problem = surveyed(["P(10)", "FREQ(3)"])
    for protection, safe in ((protect(problem), True), (suppress(problem, problem.status == Status.PRIMARY), False)):
        proven = certificate(audit(problem, protection, certify=True), protection)
        found = verify(proven, problem, protection)
        assert found.passed
        assert (found.safe, found.complete) == (safe, True)


def test_the_job_of_the_sensitive_zero_publishes_four_symbols(tmp_path):
    (tmp_path / "firms.csv").write_text(RECORDS)
    (tmp_path / "job.toml").write_text(
        '[data]\nfile = "firms.csv"\nresponse = "v"\ncontributor = "f"\n[dimensions.r]\n[dimensions.c]\n'
        '[rules]\nsensitive = ["P(10)", "FREQ(3)"]\n[output]\nfolder = "out"\nformats = ["csv"]\n'
    )
    assert run_job(read_job(tmp_path / "job.toml")).passed
    assert (tmp_path / "out" / "release.csv").read_text().count("×") == 4


def test_a_secondary_cell_that_follows_from_the_others_is_refused_and_methods_publish_it():
    """The last row has one suppressed cell, which protects nobody."""
    table = cross_table("ABC", "xyz", [[10, 20, 30], [40, 50, 60], [70, 80, 90]])
    problem = pose(table, {"A × x": 5})
    suppressed = np.isin(table.labels(), ["A × x", "A × y", "B × x", "B × y", "C × z"])
    checked = audit(problem, suppress(problem, suppressed))
    assert checked.exposed == ["C × z"]
    assert checked.safe.all()
    assert not checked.passed
    found = protect(problem, start=suppressed)
    assert "C × z" not in np.array(table.labels())[found.suppressed]


def test_a_cell_suppressed_beforehand_is_not_computable_either():
    table = cross_table("ABC", "xyz", [[10, 20, 30], [40, 50, 60], [70, 80, 90]])
    problem = pose(table, {"A × x": 5})
    given = np.array(problem.status)
    given[table.index("C × z")] = Status.SUPPRESSED
    problem = problem.with_columns(status=given)
    check(problem, "kelly")
    check(problem, "optimal")


def test_where_nothing_else_may_be_suppressed_there_is_no_pattern():
    table = cross_table("AB", "xy", [[10, 20], [30, 40]])
    problem = pose(table, {"A × x": 0})
    fixed = np.where(problem.status == Status.PRIMARY, Status.PRIMARY, Status.PUBLISHED)
    with pytest.raises(NoSafePatternError, match="A × x"):
        protect(problem.with_columns(status=fixed))


@pytest.mark.parametrize("seed", FEW_AND_MANY)
def test_no_suppressed_cell_of_random_tables_is_computable(seed):
    """Tables of all shapes with sensitive cells whose levels are zero, and sensitive zeros among them."""
    rng = np.random.default_rng(seed)
    shape = [(4, 5), (random_hierarchy(rng, 5, levels=2), 4), (3, 3, 3)][seed % 3]
    values = ("integer", "decimal")[seed % 2]
    table = random_table(rng, shape, values=values, zeros=0.15)
    primary = table.is_base & (rng.random(len(table)) < 0.15)
    none = np.zeros(len(table))
    level = np.where(primary & (rng.random(len(table)) < 0.3), 0.1 * table.magnitude, 0.0)
    status = np.where(primary, Status.PRIMARY, Status.FREE)
    endless = np.full(len(table), np.inf)
    problem = Problem(table, status, 1 + table.magnitude, level, level, none, none, endless)
    check(problem, ("kelly", "optimal", "hypercube", "modular")[seed % 4])
