"""The benchmarks measure what they say: instances are real tables, and a run leaves a CSV that can be traced."""

from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from benchmarks import audit as bench_audit
from benchmarks import growth, ladder, many
from benchmarks import optimal as bench_optimal
from benchmarks import replay as bench_replay
from benchmarks import respondents as bench_respondents
from benchmarks.__main__ import main
from benchmarks.alone import alone, limit
from benchmarks.baseline import sampled
from benchmarks.instances import INSTANCES, folder, shaped
from benchmarks.microdata import ROAMING, survey_rows, write_rows
from benchmarks.patterns import WARM_UP, boxes, cycles, pattern, sequential, suppressed_by
from benchmarks.peers.exchange import FACTOR, comparable, write
from benchmarks.peers.full_jj import MOST, readable, whole
from benchmarks.peers.suppression import same_cells
from benchmarks.preprocess import sizes
from benchmarks.record import markdown
from benchmarks.second_opinion import under_protected
from benchmarks.timing import intervals_of, timed
from click.testing import CliRunner

from discreet.assess import assess
from discreet.audit import audit
from discreet.data.tabulate import tabulate
from discreet.errors import InputError
from discreet.io import read_problem, write_problem
from discreet.methods import protect
from discreet.problem import Status
from discreet.protection import suppress
from discreet.testing import random_problem, random_table

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


RULES = {
    cycles: shaped("flat", (12,), (9,), share=0.1),
    boxes: shaped("deep", (2, 3), (2, 3), (2, 3)),
    sequential: shaped("deep", (2, 3), (2, 3), (2, 3)),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_rule_makes_safe_patterns_that_the_seed_decides(tmp_path, rule, seed):
    problem = RULES[rule].make(seed)
    made = suppressed_by("mine", problem, rule, seed, tmp_path)
    assert audit(problem, made, intervals=False).passed
    assert np.array_equal(made.suppressed, rule(problem, seed))


def test_a_pattern_on_disk_is_used_again_but_only_for_its_own_table(tmp_path):
    problem, other = (RULES[cycles].make(seed) for seed in (1, 2))
    suppressed_by("mine", problem, cycles, 1, tmp_path)
    assert np.array_equal(suppressed_by("mine", problem, _never, 1, tmp_path).suppressed, cycles(problem, 1))
    assert np.array_equal(suppressed_by("mine", other, cycles, 1, tmp_path).suppressed, cycles(other, 1))


def _never(problem, seed):
    raise AssertionError("worked out again")


@pytest.mark.parametrize("name", WARM_UP)
def test_the_baseline_and_the_audit_agree(name):
    found = pattern(name)
    bounds = sampled(found, seed=1, most=6)
    exact = audit(found.problem, found, cells=[bound.cell for bound in bounds])
    ours = np.where([bound.upper for bound in bounds], exact.upper, exact.lower)
    value = found.problem.table.value[exact.cell]
    assert bench_audit.same(ours, np.array([bound.value for bound in bounds]), value).all()


def test_bounds_agree_to_a_millionth_and_endless_ones_with_each_other_only():
    one = np.array([100.0, 100.0, np.inf, np.inf, 1e-9])
    other = np.array([100.00001, 100.1, np.inf, 100.0, 0.0])
    value = np.array([50.0, 50.0, 50.0, 50.0, 1.0])
    assert bench_audit.same(one, other, value).tolist() == [True, False, True, False, True]


def test_an_audit_is_timed_in_a_process_of_its_own():
    timing = alone(timed, WARM_UP[0], 1, True, 60.0)
    assert timing.exposed == 0
    assert timing.cpu_s > 0
    cells = pattern(WARM_UP[0]).problem.primaries[:2]
    some = alone(intervals_of, WARM_UP[0], 1, cells.tolist(), 60.0)
    assert some.lower.tolist() == timing.lower[:2].tolist()


def test_work_beyond_its_time_is_ended_and_an_error_is_told():
    assert alone(_endless) is None
    with pytest.raises(RuntimeError, match="exit code 1"):
        alone(_never, None, 1)


def _endless():
    limit(0.2)
    while True:
        pass


RECORD = {
    "instance": "flat2d_200",
    "cells": 40_000,
    "primaries": 2_000,
    "hidden": 2_100,
    "exposed": 0,
    "linprog_sample": 40,
    "linprog_mean_s": 0.25,
    "linprog_spread": 0.1,
    "linprog_all_s": 1_000.0,
    "verdict_s": 0.01,
    "verdict_ratio": 100_000.0,
    "intervals_s": None,
    "intervals_ratio": None,
    "agree": 39,
}


def test_the_printed_table_says_what_was_wanted_and_what_took_too_long():
    row = bench_audit.readable(RECORD, cap=120)
    assert row["wanted"] == "≥ 10,000× met"
    assert row["wanted "] == "≥ 1,000× missed"
    assert row["intervals s"] == "> 120"
    assert row["agree"] == "39/40"
    assert markdown([row]).splitlines()[2].startswith("| flat2d_200 | 40,000 |")


def test_growth_is_drawn_without_what_took_too_long(tmp_path):
    pytest.importorskip("matplotlib")
    points = [{"series": "flat2d", "cells": 10**k, "verdict_s": 10.0 ** (k - 4), "intervals_s": None} for k in (3, 4)]
    growth.draw(points, tmp_path / "growth.svg")
    assert "verdict" in (tmp_path / "growth.svg").read_text()


def test_peers_are_handed_the_same_pattern(tmp_path):
    problem = RULES[cycles].make(1)
    given = comparable(problem, cycles(problem, 1))
    write(given, tmp_path)
    read = read_problem(tmp_path / "pattern.jj")
    assert np.array_equal(np.isin(read.status, (1, 3)), given.suppressed)
    assert np.array_equal(read.prior_upper, FACTOR * problem.table.value)
    cells = list(csv.DictReader((tmp_path / "cells.csv").open()))
    assert [cell["OutStatus"] == "X" for cell in cells] == given.suppressed.tolist()
    assert len(list(csv.DictReader((tmp_path / "relations.csv").open()))) == problem.table.relations.nnz


def test_tables_that_a_peer_cannot_read_are_refused():
    problem = RULES[cycles].make(1)
    table = replace(problem.table, value=-problem.table.value)
    below = problem.with_columns(table=table, prior_lower=np.full(len(problem), -np.inf))
    with pytest.raises(InputError, match="negative"):
        comparable(below, cycles(problem, 1))


@pytest.mark.slow
def test_optimal_is_measured_audited_and_measured_again_in_the_same_line(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_optimal, "alone", lambda work, *args: work(*args))
    monkeypatch.setattr(bench_optimal, "limit", lambda seconds: None)
    for _ in range(2):
        run = CliRunner().invoke(bench_optimal.main, ["--instance", "flat2d_10", "--out", str(tmp_path)])
        assert run.exit_code == 0, run.output
    (record,) = csv.DictReader((tmp_path / "optimal.csv").open())
    assert record["status"] == "optimal"
    assert record["under"] == "0"
    assert float(record["cost"]) == float(record["bound"]) > 0
    assert record["commit"]
    assert run.output.splitlines()[-1].startswith("| flat2d_10, seed 1 |")
    again = CliRunner().invoke(bench_optimal.main, ["--table", "--out", str(tmp_path)])
    assert again.output.strip() == "\n".join(run.output.strip().splitlines()[-3:])


def test_a_jj_file_that_is_not_there_is_asked_for(tmp_path):
    run = CliRunner().invoke(bench_optimal.main, ["--instance", "h2_1k", "--out", str(tmp_path)])
    assert run.exit_code == 2
    assert "--data" in run.output


def test_an_unsafe_pattern_is_told_loudly():
    line = dict.fromkeys((*bench_optimal.COLUMNS, "commit", "date"), "")
    line |= {"instance": "small", "seed": "0", "status": "time_limit", "under": "2", "gap": "0.5"}
    row = bench_optimal.readable(line, with_peer=False)
    assert row["status"] == "time limit, **NOT SAFE: 2 exposed**"
    assert row["gap"] == "50.00 %"
    assert row["cost"] == "–"


def test_gaps_are_of_all_that_is_hidden_and_of_the_secondaries_alone():
    problem = RULES[cycles].make(1)
    anyway = float(problem.cost[problem.primaries].sum())
    found = hide_with_bound(problem, share=0.75)
    seen = bench_optimal.figures(problem, found)
    assert seen["under"] == 0
    assert seen["gap_secondaries"] == pytest.approx(0.25)
    assert seen["bound"] == pytest.approx(0.75 * seen["cost"])
    assert seen["gap"] == pytest.approx(0.25 * seen["cost"] / (seen["cost"] + anyway))


def hide_with_bound(problem, share):
    suppressed = cycles(problem, 1)
    secondary = float(problem.cost[suppressed].sum() - problem.cost[problem.primaries].sum())
    bound = float(problem.cost[problem.primaries].sum()) + share * secondary
    return suppress(problem, suppressed, bound=bound, work=dict.fromkeys(bench_optimal.WORK, 0))


def test_preprocessing_counts_what_is_left():
    problem = RULES[cycles].make(1)
    left = sizes(problem)
    assert left["K1"] <= left["exposed"] <= left["primaries"] == len(problem.primaries)
    assert left["open"] <= left["requirements"] == 2 * left["primaries"]
    assert left["can move"] <= left["cells"] == len(problem)


def test_the_peer_gets_numbered_cells_and_whole_costs():
    problem = RULES[cycles].make(1).with_columns(cost=RULES[cycles].make(1).cost / 100)
    given = readable(problem)
    assert given.table.names[:2] == ("0", "1")
    assert np.array_equal(given.cost, np.rint(100 * problem.cost))
    assert whole(np.array([0.0, 1e-9, 0.0077])).tolist() == [0, 1, 7700]
    assert whole(np.array([3e12, 1.0])).sum() <= MOST


# -- respondents -------------------------------------------------------------------------------------------------------


def test_a_pattern_is_judged_by_the_audit_and_by_plain_programs():
    records, hierarchies = survey_rows(((3, 2), (3,), (3,)), 1)
    records["firm"] = np.arange(len(records))  # everybody in one cell: what the plain programs take for granted
    table = tabulate(records, hierarchies, "value", contributor="firm", top=3, contributions=True)
    problem = assess(table, bench_respondents.RULE)
    safe = protect(problem, "kelly", level="contributions").suppressed
    seen = bench_respondents.judged(problem, safe)
    assert seen["targets"]
    assert seen["exposed"] == seen["of_sample"] == 0
    bare = np.isin(np.arange(len(problem)), problem.primaries)
    assert bench_respondents.judged(problem, bare)["exposed"]
    assert any(bench_respondents.pairs(problem, bare))


def test_surveys_in_files_are_asked_for(tmp_path):
    run = CliRunner().invoke(bench_respondents.main, ["--instance", "h2_1k", "--out", str(tmp_path)])
    assert run.exit_code == 2
    assert "--data" in run.output


# -- cost over time --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_second_opinion_and_the_audit_agree(seed):
    """On patterns of all kinds: some sensitive cells exposed, some published, sliding levels, narrow bounds."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, random_table(rng, (4, 4, 3)), sliding=seed % 2 == 1, prior="percent", must_publish=0.0
    )
    for share in (0.0, 0.2, 0.6):
        suppressed = (problem.status == Status.PRIMARY) & (rng.random(len(problem)) < 0.9) | (
            rng.random(len(problem)) < share
        )
        checked = audit(problem, suppress(problem, suppressed), intervals=False)
        ours = {int(cell) for cell in checked.cell[~checked.safe] if problem.status[cell] == Status.PRIMARY}
        assert set(under_protected(problem, suppressed)) == ours


def ladder_line(who: str, limit_s: str, cost: str, cpu_s: str, under: str = "0") -> dict[str, str]:
    figures = {"instance": "h2_1k", "who": who, "limit_s": limit_s, "cost": cost, "cpu_s": cpu_s, "under": under}
    return dict.fromkeys(ladder.COLUMNS, "") | figures | {"under_linprog": under, "status": "heuristic"}


def test_a_peer_is_passed_when_a_safe_run_first_costs_no_more():
    lines = [
        ladder_line("kelly", "3.0", "900", "2.5", under="1"),
        ladder_line("kelly", "10.0", "1200", "9.0"),
        ladder_line("kelly", "30.0", "1000", "28.0"),
        ladder_line("kelly", "120.0", "1000", "110.0"),
        ladder_line("gconfid", "", "1000", "50.0"),
        ladder_line("pytauargus MOD", "", "950", "5.0", under="2"),
    ]
    (row,) = ladder.curves(lines)
    assert row["3 s"] == "900 in 2.5 s, **NOT SAFE: 1 exposed**"
    assert row["30 s"] == "1,000 in 28 s"
    assert row["300 s"] == ""
    points = {point["peer"]: point for point in ladder.points(lines)}
    assert points["gconfid"]["kelly passes"] == "28"
    assert points["pytauargus MOD"]["kelly passes"] == "not yet"
    assert points["pytauargus MOD"]["under"] == "2"


def test_a_rung_is_measured_and_measured_again_in_the_same_line(tmp_path, monkeypatch):
    (tmp_path / "jj").mkdir()
    write_problem(shaped("x", (4,), (4,)).make(1), tmp_path / "jj" / "h2_1k.jj.gz")
    monkeypatch.setattr(ladder, "alone", lambda work, *args: work(*args))
    monkeypatch.setattr(ladder, "limit", lambda seconds: None)
    monkeypatch.setattr(ladder, "WARM_UP", ())
    asked = ["--data", str(tmp_path), "--instance", "h2_1k", "--method", "kelly", "--out", str(tmp_path)]
    for _ in range(2):
        run = CliRunner().invoke(ladder.main, [*asked, "--time-limit", "5", "--time-limit", "10"])
        assert run.exit_code == 0, run.output
    with (tmp_path / "ladder-surveys.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["limit_s"] for line in lines] == ["5.0", "10.0"]
    assert all(line["under"] == line["under_linprog"] == "0" for line in lines)
    again = CliRunner().invoke(ladder.main, ["--table", "--out", str(tmp_path)])
    assert again.exit_code == 0
    assert "kelly" in again.output


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--instance", "dale"], "none of the surveys"),
        (["--part", "files", "--peer", "gconfid"], "on surveys only"),
        ([], "by --data"),
    ],
)
def test_what_a_ladder_cannot_do(tmp_path, options, says):
    run = CliRunner().invoke(ladder.main, [*options, "--out", str(tmp_path)])
    assert run.exit_code == 2
    assert says in run.output


def test_a_peers_cells_must_be_those_of_the_problem():
    problem = shaped("x", (3,), (3,)).make(1)
    pattern = pd.DataFrame({"value": problem.table.value, "hidden": problem.status == Status.PRIMARY})
    np.testing.assert_array_equal(same_cells(problem, pattern), problem.status == Status.PRIMARY)
    with pytest.raises(ValueError, match="not those of the problem"):
        same_cells(problem, pattern.iloc[::-1])


@pytest.mark.parametrize("linked", [False, True])
def test_many_tables_are_one_job(linked):
    figures = many.measured(8, 2, linked, "kelly", 1)
    assert figures["safe"]
    assert figures["cells"] > 8 * 12
    assert figures["cpu_s"] == pytest.approx(sum(figures[f"{stage}_s"] for stage in many.STAGES), abs=0.1)


def test_replay_counts_sensitive_cells_over_many_tables(tmp_path):
    words = ["--method", "kelly", "--tables", "2", "--seconds", "60", "--out", str(tmp_path)]
    assert CliRunner().invoke(bench_replay.main, words, catch_exceptions=False).exit_code == 0
    (line,) = csv.DictReader((tmp_path / "replay.csv").open(encoding="utf-8"))
    assert (line["method"], line["tables"]) == ("kelly", "2")
    assert int(line["ruled_out"]) <= int(line["narrower"]) <= int(line["sensitive"])
    assert int(line["stated"]) <= 2
    problem = bench_replay.posed((2, 2), 1)
    problem.table.check_additive()
    assert len(problem.primaries) == 1
