"""The benchmarks measure what they say: instances are real tables, and a run leaves a CSV that can be traced."""

from __future__ import annotations

import csv

import pytest
from benchmarks.__main__ import main
from benchmarks.instances import INSTANCES, folder
from benchmarks.microdata import ROAMING, write_rows
from click.testing import CliRunner

from discreet.io import write_problem
from discreet.tabulate import tabulate

SMALL = ["hier2d_1k", "flat3d_10", "hier4d_4k", "count3d_3k"]


@pytest.mark.parametrize("name", SMALL)
def test_an_instance_is_additive_and_the_same_for_the_same_seed(name):
    problem = INSTANCES[name].make(3)
    problem.table.check_additive()
    assert len(problem.primaries)
    assert problem.digest == INSTANCES[name].make(3).digest
    assert problem.digest != INSTANCES[name].make(4).digest


def test_jj_files_of_a_folder_become_instances(tmp_path):
    write_problem(INSTANCES["hier2d_1k"].make(1), tmp_path / "mine.jj.gz")
    (tmp_path / "notes.txt").write_text("not a problem")
    assert list(folder(tmp_path)) == ["mine"]
    assert len(folder(tmp_path)["mine"].make(1).primaries)


@pytest.mark.parametrize("name", ROAMING)
def test_generated_records_are_tabulated(tmp_path, name):
    path, dimensions = write_rows(tmp_path, name, 2_000, seed=1)
    table = tabulate(path, dimensions, "value", contributor="firm", top=2)
    table.check_additive()
    assert table.count[0] <= 400


def test_a_run_records_machine_commit_and_seed(tmp_path):
    run = CliRunner().invoke(
        main, ["--phase", "protect", "--instance", "hier2d_1k", "--seed", "5", "--out", str(tmp_path)]
    )
    assert run.exit_code == 0, run.output
    (record,) = csv.DictReader((tmp_path / "protect.csv").open())
    assert record["under_protected"] == "0"
    assert record["seed"] == "5"
    assert record["machine"]
    assert "commit" in record


def test_an_unknown_instance_is_refused(tmp_path):
    run = CliRunner().invoke(main, ["--phase", "protect", "--instance", "nowhere", "--out", str(tmp_path)])
    assert run.exit_code == 2
    assert "nowhere" in run.output
