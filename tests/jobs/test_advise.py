"""Advice on the design of a table: every figure is what one finds by doing it, and the best is the best of all."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations, product
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import discreet.jobs.job as job_module
from discreet import Hierarchy, assess, tabulate
from discreet.cli.main import cli
from discreet.data.coarsening import (
    MAX_PAIRED_SIBLINGS,
    Candidates,
    Change,
    Design,
    coarsened,
    merged_name,
    with_merged,
)
from discreet.data.table import Table
from discreet.errors import DiscreetError, HierarchyError, InputError, JobError
from discreet.jobs.advise import Advice, Step, advise, apply
from discreet.jobs.job import make_problem, make_table, read_job

RULES = "P(15)|FREQ(3)"
BRANCH = Hierarchy.from_pairs(
    [("A", "Total"), ("B", "Total"), *((f"A{i}", "A") for i in (1, 2, 3, 4)), *((f"B{i}", "B") for i in (1, 2, 3))]
)
REGION = Hierarchy.flat(["N", "E", "S", "W"])
BY = {"branch": BRANCH, "region": REGION}


def survey(seed: int, records: int = 60) -> pd.DataFrame:
    """Firms with sites in several cells, holdings, and a few negative numbers."""
    rng = np.random.default_rng(seed)
    leaves = ["A1", "A2", "A3", "A4", "B1", "B2", "B3"]
    share = rng.dirichlet(np.ones(7))
    value = np.round(np.exp(rng.normal(4, 1.3, records)))
    return pd.DataFrame(
        {
            "firm": rng.integers(0, records * 2 // 3, records).astype(str),
            "branch": rng.choice(leaves, records, p=share),
            "region": rng.choice(["N", "E", "S", "W"], records, p=[0.5, 0.3, 0.15, 0.05]),
            "turnover": np.where(rng.random(records) < 0.1 * (seed % 2), -value, value),
        }
    )


def plain(frame: pd.DataFrame, top: int = 2) -> Callable[..., Table]:
    """A tabulation in the plainest way there is: each record into each of its cells, one after the other."""

    def tabulation(by: Mapping[str, Hierarchy], recode: Mapping[str, Mapping[str, str]]) -> Table:
        above = {}
        for name, hierarchy in by.items():
            above[name] = defaultdict(list)
            for leaf, code in zip(*hierarchy.ancestors, strict=True):
                above[name][hierarchy.codes[leaf]].append(code)
        cells: dict[tuple[int, ...], dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for record in frame.to_dict("records"):
            ways = [above[name][recode.get(name, {}).get(record[name], record[name])] for name in by]
            for cell in product(*ways):
                cells[cell][record["firm"]] += record["turnover"]
        codes = sorted(cells)
        firms = sorted(set(frame.firm))
        ranked = [sorted(cells[cell].items(), key=lambda item: (-abs(item[1]), item[0])) for cell in codes]
        return Table.from_cells(
            by,
            np.array(codes).T,
            [sum(cells[cell].values()) for cell in codes],
            response="turnover",
            count=[len(cells[cell]) for cell in codes],
            magnitude=[sum(map(abs, cells[cell].values())) for cell in codes],
            top=[[x for _, x in entries[:top]] + [0.0] * (top - len(entries)) for entries in ranked],
            top_contributor=[
                [firms.index(f) for f, _ in entries[:top]] + [-1] * (top - len(entries)) for entries in ranked
            ],
            contributors=tuple(firms),
        )

    return tabulation


def figures(tabulation: Callable[..., Table], design: Design) -> tuple[int, int, float]:
    """Sensitive cells, cells, and the detail of a design, made from the records."""
    table = tabulation(by=design.by, recode=design.recode)
    share = table.count[table.count > 0] / table.count.max()
    return len(assess(table, RULES).primaries), len(table), float(-(share * np.log2(share)).sum())


# -- changing hierarchies ---------------------------------------------------------------------------------------------


def test_siblings_are_merged_and_codes_rolled_up():
    merged = Design(BY).changed(Change("branch", "merge", {"A1": "A1+A2", "A2": "A1+A2"}, "A"))
    assert merged.by["branch"].codes == ("Total", "A", "B", "A1+A2", "A3", "A4", "B1", "B2", "B3")
    assert merged.recode == {"branch": {"A1": "A1+A2", "A2": "A1+A2"}}
    assert merged.by["region"] is REGION
    rolled = merged.changed(Change("branch", "roll up", {"A1+A2": "A", "A3": "A", "A4": "A"}, "A"))
    assert rolled.by["branch"].codes == ("Total", "A", "B", "B1", "B2", "B3")
    assert {code: into for code, into in rolled.recode["branch"].items() if code in BRANCH} == dict.fromkeys(
        ["A1", "A2", "A3", "A4"], "A"
    )
    groups = coarsened(BRANCH, {"A": "A+B", "B": "A+B"})
    assert [groups.codes[i] for i in np.flatnonzero(groups.parents[0] == groups.index("A+B"))] == [
        f"{g}{i}" for g, n in (("A", 4), ("B", 3)) for i in range(1, n + 1)
    ]


def test_a_level_is_left_out_and_what_is_below_one():
    deep = Hierarchy.from_pairs(
        [("A", "Total"), ("B", "Total"), ("A1", "A"), ("A2", "A"), ("A11", "A1"), ("A12", "A1")]
    )
    changes = {(c.kind, c.level, c.parent): c for c in Candidates("x", deep, (), False).levels()}
    assert set(changes) == {
        ("roll up", 0, "A"),
        ("roll up", 0, "A1"),
        ("cut", 1, "Total"),
        ("cut", 2, "Total"),
        ("drop", 1, "Total"),
        ("drop", 2, "Total"),
    }
    assert coarsened(deep, changes["cut", 1, "Total"].into).codes == ("Total", "A", "B")
    dropped = coarsened(deep, changes["drop", 2, "Total"].into)
    assert dropped.codes == ("Total", "A", "B", "A2", "A11", "A12")
    assert {dropped.codes[i] for i in np.flatnonzero(dropped.parents[0] == 1)} == {"A2", "A11", "A12"}
    design = Design({"x": deep}).changed(changes["drop", 2, "Total"])
    assert design.recode == {}  # no record is coded at a group


def test_names_of_merged_codes():
    assert merged_name(["A1", "A2+A3"], "Other A", []) == "A1+A2+A3"
    assert merged_name(["A1", "A2"], "Other A", ["A1+A2"]) == "A1+A2 (2)"
    assert merged_name(list("abcde"), "Other A", []) == "Other A"
    assert merged_name(["x" * 30, "y" * 30], "Other", ["Other", "Other (2)"]) == "Other (3)"


def test_merged_codes_are_tabulated_exactly_from_records():
    """All candidates in one table: each has the contributions one gets by writing the new code into the records."""
    frame = survey(1)
    sets = [(3, 4), (5, 6), (3, 5), (3, 4, 5), (1, 2)]
    by = {"branch": with_merged(BRANCH, sets), "region": REGION}
    table = tabulate(frame, by, "turnover", contributor="firm", top=3)
    simple = plain(frame, top=3)(by=by, recode={})
    for name in ("value", "count", "top", "magnitude", "codes"):
        np.testing.assert_allclose(getattr(table, name), getattr(simple, name))
    recode = {"A1": "new", "A2": "new"}
    assert [BRANCH.codes[i] for i in sets[0]] == list(recode)
    direct = tabulate(
        frame,
        {"branch": coarsened(BRANCH, recode), "region": REGION},
        "turnover",
        contributor="firm",
        top=3,
        recode={"branch": recode},
    )
    by_hand = tabulate(
        frame.assign(branch=frame.branch.replace(recode)),
        {"branch": coarsened(BRANCH, recode), "region": REGION},
        "turnover",
        contributor="firm",
        top=3,
    )
    assert direct.provenance == {"codes_replaced": len(recode)}
    assert direct.with_columns(provenance={}).digest == by_hand.digest
    np.testing.assert_array_equal(direct.top, by_hand.top)
    np.testing.assert_array_equal(direct.top_contributor, by_hand.top_contributor)
    for i in np.flatnonzero(direct.codes[0] == direct.dimensions["branch"].index("new")):
        (j,) = np.flatnonzero((table.codes[0] == len(BRANCH)) & (table.codes[1] == direct.codes[1, i]))
        assert (table.value[j], table.count[j]) == (direct.value[i], direct.count[i])
        assert table.top[j].tolist() == direct.top[i].tolist()


def test_codes_to_replace_must_be_classified_by():
    with pytest.raises(InputError, match="'firm' is not one of them"):
        tabulate(survey(1), ["branch"], "turnover", recode={"firm": {"1": "2"}})
    with pytest.raises(HierarchyError, match="not in the hierarchy"):
        tabulate(survey(1), {"branch": BRANCH}, "turnover", recode={"branch": {"A1": "A9"}})


# -- advice -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_every_figure_is_what_one_finds_by_doing_it(seed):
    tabulation = plain(survey(seed))
    advice = advise(tabulation, BY, RULES, steps=1)
    sensitive, cells, detail = figures(tabulation, advice.design)
    assert (advice.sensitive, advice.cells) == (sensitive, cells)
    for k, step in enumerate(advice.single, start=1):
        after = figures(tabulation, apply(advice, single=k))
        assert (step.sensitive_after, step.cells_after) == after[:2]
        assert step.detail_lost == pytest.approx(max(detail - after[2], 0) / detail, abs=1e-12)
        assert step.removed > 0
        assert step.sensitive_before == sensitive
    assert advice.single == tuple(sorted(advice.single, key=lambda step: -step.worth))


@pytest.mark.parametrize("seed", range(6))
def test_the_best_merger_is_the_best_of_all(seed):
    tabulation = plain(survey(seed))
    advice = advise(tabulation, BY, RULES, steps=1)
    sensitive, _, detail = figures(tabulation, advice.design)
    groups = [("branch", ["A1", "A2", "A3", "A4"]), ("branch", ["B1", "B2", "B3"]), ("region", ["N", "E", "S", "W"])]
    best = 0.0
    for dimension, codes in groups:
        for pair in combinations(codes, 2):
            change = Change(dimension, "merge", dict.fromkeys(pair, "new"), "")
            after = figures(tabulation, advice.design.changed(change))
            if after[0] < sensitive:
                best = max(best, (sensitive - after[0]) / ((detail - after[2]) / detail))
    pairs = [step.worth for step in advice.single if step.change.kind == "merge" and len(step.change.into) == 2]
    assert max(pairs, default=0.0) == pytest.approx(best)


@pytest.mark.parametrize("seed", [0, 1])
def test_each_step_is_the_best_after_those_before_it(seed):
    tabulation = plain(survey(seed))
    advice = advise(tabulation, BY, RULES, steps=4)
    assert len(advice.sequence) > 1
    lost = 0.0
    for done, step in enumerate(advice.sequence):
        design = apply(advice, done) if done else advice.design
        once = advise(tabulation, design.by, RULES, recode=design.recode, steps=1)
        best = once.single[0]
        assert (step.change, step.removed) == (best.change, best.removed)
        assert figures(tabulation, apply(advice, done + 1))[:2] == (step.sensitive_after, step.cells_after)
        lost += step.detail_lost
        assert step.detail_lost_so_far == pytest.approx(lost)
    frame = advice.frame()
    assert frame.sensitive_after.tolist() == [step.sensitive_after for step in advice.sequence]
    assert frame.step.tolist() == list(range(1, len(frame) + 1))
    assert set(advice.frame("single")) == set(frame)
    assert str(frame.sensitive_after.iloc[-1]) in repr(advice)


def test_changes_that_remove_next_to_nothing_come_last(monkeypatch):
    """The finest crumbs cost least for what they remove; they are not what somebody looks for who has hundreds."""
    monkeypatch.setattr(sys.modules["discreet.jobs.advise"], "MIN_REMOVED_SHARE", 0.5)
    advice = advise(plain(survey(0)), BY, RULES, steps=1)
    many = [step.removed >= 0.5 * advice.sensitive for step in advice.single]
    assert many == sorted(many, reverse=True)
    assert any(many)
    assert not all(many)
    assert advice.sequence[0].change == advice.single[0].change


def touched(advice: Advice) -> set[str]:
    return {code for step in advice.single for code in step.change.into}


def test_codes_stay_that_must():
    tabulation = plain(survey(0))
    assert {"A1", "N"} & touched(advise(tabulation, BY, RULES, steps=1))
    kept = advise(tabulation, BY, RULES, steps=1, keep={"branch": ["A1"], "region": None})
    assert not {"A1", "N", "E", "S", "W"} & touched(kept)
    assert touched(kept)
    cells = advise(
        tabulation, BY, RULES, steps=1, statuses={"A1 × N": "free"}, waivers=[("3", ("A2", "E"))], cells=["B1 × N"]
    )
    assert not {"A1", "A2", "B1", "N", "E"} & touched(cells)


def test_only_neighbours_are_merged_where_there_is_an_order():
    tabulation = plain(survey(0))
    advice = advise(tabulation, BY, RULES, steps=1, ordered=["region"])
    order = list(REGION.codes)
    sets = [sorted(order.index(c) for c in s.change.into) for s in advice.single if s.change.dimension == "region"]
    assert sets
    assert all(np.diff(places).max() == 1 for places in sets)


def test_nothing_helps():
    frame = survey(0)
    advice = advise(plain(frame), BY, "FREQ(1)")
    assert (advice.sensitive, advice.sequence, advice.single) == (0, (), ())
    assert advice.frame().empty
    lone = frame.head(1)
    advice = advise(plain(lone), {"branch": Hierarchy.flat([lone.branch[0]])}, RULES)
    assert advice.sensitive > 0
    assert not advice.sequence


def test_groupings_that_do_not_nest_allow_only_what_fits_all():
    other = Hierarchy.from_pairs(
        [("X", "Total"), ("Y", "Total"), *((c, "X" if c in ("A1", "A2", "B1") else "Y") for c in BRANCH.codes[3:])]
    )
    both = Hierarchy.join(BRANCH, other)
    candidates = Candidates("branch", both, (), False)
    assert not list(candidates.levels())
    ones = np.ones(len(both))
    sets = {tuple(both.codes[i] for i in s) for s in candidates.sets(ones, ones)}
    assert {frozenset(s) for s in sets} == {frozenset(p) for p in (("A1", "A2"), ("A3", "A4"), ("B2", "B3"))}
    tabulation = plain(survey(2))
    advice = advise(tabulation, {"branch": both, "region": REGION}, RULES, steps=1)
    for k, step in enumerate(advice.single, start=1):
        assert step.sensitive_after == figures(tabulation, apply(advice, single=k))[0]


def test_of_many_siblings_the_worst_are_tried():
    codes = Hierarchy.flat([f"c{i:03d}" for i in range(300)])
    sensitive, contributors = np.zeros(301), np.arange(301.0)
    sensitive[101:141] = 1
    sets = Candidates("x", codes, (), False).sets(sensitive, contributors)
    pairs = [s for s in sets if len(s) == 2]
    assert len(pairs) == MAX_PAIRED_SIBLINGS * (MAX_PAIRED_SIBLINGS - 1) // 2
    assert min(min(pair) for pair in pairs) == 101
    assert len(sets) < 500
    assert len(Candidates("x", codes, (), True).sets(sensitive, contributors)) < 500
    assert len(with_merged(codes, sets)) == 301 + len(sets)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"keep": {"brunch": None}}, "no dimension 'brunch'"),
        ({"keep": {"branch": ["A9"]}}, "has no code 'A9'"),
        ({"ordered": ["size"]}, "no dimension 'size'"),
        ({"cells": ["A9 × N"]}, "no cell 'A9 × N'"),
    ],
)
def test_bad_wishes_are_refused(words, says):
    with pytest.raises(InputError, match=says):
        advise(plain(survey(0)), BY, RULES, **words)


def test_bad_applications_are_refused():
    advice = advise(plain(survey(0)), BY, RULES, steps=1)
    for words in ({}, {"steps": 1, "single": 1}, {"steps": 2}, {"steps": 0}, {"single": 10_000}):
        with pytest.raises(InputError):
            apply(advice, **words)
    with pytest.raises(InputError, match="'sequence'"):
        advice.frame("both")


def test_words_tell_labels_and_nothing_else():
    step = Step(Change("b", "merge", {c: "Other A" for c in "vwxyz"}, "A"), 5, 3, 10, 8, 0.1, 0.1)
    assert step.change.words == "merge v, w, …, z into Other A"
    assert Change("b", "merge", {"x": "x+y", "y": "x+y"}, "A").words == "merge x, y"
    assert Change("b", "roll up", {"x": "A", "y": "A"}, "A").words == "roll up x, y into A"
    assert Change("b", "cut", {"x": "A", "y": "B"}, "Total", 1).words == "leave out all levels below level 1 (A, B)"
    assert Change("b", "drop", {"A": "Total"}, "Total", 1).words == "leave out level 1 (A)"


# -- jobs ---------------------------------------------------------------------------------------------------------------

JOB = """
{top}
[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"

[dimensions.branch]
{branch}

[dimensions.region]
{region}

[rules]
sensitive = ["P(15)", "FREQ(3)"]
{rules}

[protect]
options = {{}}
checkpoint = "so-far"
"""


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    survey(1, 90).assign(zone=lambda f: f.region.isin(["N", "E"]).map({True: "up", False: "down"})).to_csv(
        tmp_path / "survey.csv", index=False
    )
    (tmp_path / "branch.hrc").write_text(BRANCH.to_hrc())
    monkeypatch.chdir(tmp_path)
    write_job()
    return tmp_path


@pytest.fixture
def quick(monkeypatch) -> None:
    """Jobs tabulate in the plain way, which for so few records is the quicker one."""

    def tabulated(source, by, response, *, recode, **options):
        assert (response, options["contributor"], options["top"]) == ("turnover", "firm", 3)
        frame = pd.read_csv(source) if isinstance(source, Path) else source.to_pandas().astype({response: float})
        return plain(frame.astype({"firm": str}))(by=by, recode=recode)

    monkeypatch.setattr(job_module, "tabulate", tabulated)


def write_job(branch: str = 'hierarchy = "branch.hrc"', region: str = "", rules: str = "", top: str = "") -> None:
    Path("job.toml").write_text(JOB.format(top=top, branch=branch, region=region, rules=rules))


def run(*words: object) -> tuple[int, str]:
    try:
        done = CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)
    except DiscreetError as error:
        return error.exit_code, str(error)
    except click.ClickException as error:
        return 2, error.format_message()
    return int(done.return_value or 0), done.output


def sensitive(path: str) -> int:
    job = read_job(path)
    return len(make_problem(job, make_table(job)).primaries)


def test_advice_on_a_job_is_applied_with_one_option(here):
    code, told = run(
        "advise", "job.toml", "--steps", 1, "--apply", 1, "--hierarchies", "coarser", "--out", "advice.csv"
    )
    assert code == 0
    advice = pd.read_csv("advice.csv")
    (step,) = advice[advice.list == "sequence"].itertuples()
    assert told.startswith(f"{step.sensitive_before} of {step.cells_before} cells are sensitive\n")
    assert sensitive("coarser/job.toml") == step.sensitive_after < step.sensitive_before
    assert "discreet run coarser/job.toml" in told
    values = {f"{v:.0f}" for v in make_table(read_job("job.toml")).value if abs(v) > 1000}
    assert values
    assert not values & set(re.findall(r"\d+", told.replace(",", "")))
    assert (advice.list == "single").sum() > 2


def test_advice_is_taken_again_and_again(here, quick):
    run("advise", "job.toml", "--steps", 2, "--apply", 3, "--hierarchies", "coarser", "--out", "advice.csv")
    steps = pd.read_csv("advice.csv").query("list == 'sequence'")
    assert len(steps) == 3
    assert sensitive("job.toml") == steps.sensitive_before.iloc[0]
    assert sensitive("coarser/job.toml") == steps.sensitive_after.iloc[-1]
    assert "checkpoint" not in Path("coarser/job.toml").read_text()
    code, _ = run("advise", "coarser/job.toml", "--steps", 1, "--apply", 1, "--hierarchies", "coarser/still", "--quiet")
    assert code == 0
    assert sensitive("coarser/still/job.toml") < sensitive("coarser/job.toml")
    recodes = [pd.read_csv(file) for file in Path("coarser/still").glob("*-recode.csv")]
    codes = {code for recode in recodes for code in recode.code}
    assert codes
    assert codes <= {*BRANCH.codes, *REGION.codes}  # those merged on the way are in no record


@pytest.mark.parametrize(
    ("branch", "region", "top"),
    [
        ("levels = [1, 1]", 'columns = ["zone"]', ""),
        ('hierarchy = "branch.hrc"\nalso = ["other.csv"]', "separate = true", ""),
        ("", 'hierarchy = "region.csv"', 'tables = [["branch"], ["branch", "region"]]'),
    ],
)
def test_all_kinds_of_dimensions_can_be_rolled_up(here, quick, branch, region, top):
    rows = [f"{c},{'X' if c in ('A1', 'A2', 'B1') else 'Y'}" for c in BRANCH.codes[3:]]
    Path("other.csv").write_text("\n".join(["code,parent", "X,", "Y,", *rows]))
    Path("region.csv").write_text("code,parent\nAll,\nup,All\ndown,All\nN,up\nE,up\nS,down\nW,down\n")
    write_job(branch, region, top=top)
    code, _ = run(
        "advise", "job.toml", "--steps", 1, "--single", 1, "--hierarchies", "new", "--out", "a.csv", "--quiet"
    )
    assert code == 0
    best = pd.read_csv("a.csv").iloc[0]
    assert sensitive("job.toml") == best.sensitive_before
    assert sensitive("new/job.toml") == best.sensitive_after < best.sensitive_before


def test_cells_that_files_name_stay(here, quick):
    Path("statuses.csv").write_text("cell,status\nA1 × N,free\n")
    Path("attackers.csv").write_text("attacker,cell,lower,upper\nspy,B × S,,\n")
    write_job(rules='statuses = "statuses.csv"\nattackers = "attackers.csv"')
    code, _ = run(
        "advise", "job.toml", "--steps", 1, "--apply", 1, "--hierarchies", "new", "--keep", "region=E", "--out", "a.csv"
    )
    assert code == 0
    gone = {code for codes in pd.read_csv("a.csv").codes for code in codes.split(", ")}
    assert gone
    assert not gone & {"A1", "N", "B", "S", "E"}
    assert sensitive("new/job.toml") < sensitive("job.toml")


def test_it_is_said_if_nothing_helps(here, quick):
    code, told = run("advise", "job.toml", "--keep", "branch", "--keep", "region")
    assert code == 0
    assert "No change of the categories removes a sensitive cell" in told
    code, told = run("advise", "job.toml", "--keep", "branch", "--keep", "region", "--apply", 1, "--hierarchies", "new")
    assert code == 2
    assert "The advice has 0 steps" in told
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--apply", 1], "--hierarchies is the folder"),
        (["--hierarchies", "new"], "--hierarchies is the folder"),
        (["--apply", 1, "--single", 1, "--hierarchies", "new"], "leave out --apply or --single"),
        (["--keep", "brunch"], "no dimension 'brunch'"),
        (["--ordered", "brunch"], "no dimension 'brunch'"),
        (["--steps", 1, "--apply", 1, "--hierarchies", "."], "would be overwritten"),
        (["--out", "survey.csv"], "is given twice"),
        (["--out", "job.csv", "--hierarchies", "survey.csv", "--apply", 1], "is a file"),
    ],
)
def test_bad_commands_end_with_2_and_write_nothing(here, quick, words, says):
    there = sorted(file.name for file in here.iterdir())
    code, told = run("advise", "job.toml", *words)
    assert code == 2
    assert says in told
    assert sorted(file.name for file in here.iterdir() if file.name != "output") == there


def test_advice_takes_records(here):
    Path("cells.csv").write_text("branch,value\nTotal,3\nA,1\nB,2\n")
    Path("job.toml").write_text(
        '[table]\nfile = "cells.csv"\nvalue = "value"\n[dimensions.branch]\n[rules]\nsensitive = ["FREQ(3)"]\n'
    )
    code, told = run("advise", "job.toml")
    assert code == 2
    assert "advice needs a job with [data]" in told


@pytest.mark.parametrize(
    ("branch", "text", "says"),
    [
        ("", "code,into\n", "'recode' goes with"),
        ('hierarchy = "branch.hrc"\n', "code,new\n", "first line must name the columns 'code', 'into'"),
        ('hierarchy = "branch.hrc"\n', "code,into\nA1,\n", "line 2: 'A1' has no new code"),
        ('hierarchy = "branch.hrc"\n', "code,into\nA1,A2\nA1,A3\n", "line 3: 'A1' has no new code, or a second one"),
    ],
)
def test_bad_recodes_are_refused(here, branch, text, says):
    Path("recode.csv").write_text(text)
    write_job(branch + 'recode = "recode.csv"')
    with pytest.raises((JobError, InputError), match=says):
        make_table(read_job("job.toml"))


def test_a_frame_of_records_and_partial_tabulation_do():
    frame = survey(3)
    advice = advise(
        partial(tabulate, frame, response="turnover", contributor="firm"), ["branch", "region"], RULES, steps=1
    )
    assert advice.single == advise(plain(frame), dict(advice.design.by), RULES, steps=1).single
