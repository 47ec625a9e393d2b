"""Cells behind linked tables: what a reader infers who knows that the cross-classification is not negative."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog

from discreet import assess, audit, link, protect, publish, tabulate
from discreet.attacks import run as run_attacks
from discreet.audit import certificate, verify
from discreet.data.hierarchy import Hierarchy
from discreet.data.separate import separate
from discreet.data.table import Table
from discreet.errors import InputError, TableError
from discreet.io import read_problem, write_problem
from discreet.io.pattern import read_pattern, write_pattern
from discreet.jobs.job import read_job, run_job
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.report import render_report, render_shareable
from discreet.testing import random_hierarchy, random_table

TRIANGLE = ("ab", "bc", "ac")
SQUARE = ("ab", "bc", "cd", "ad")


def margin(full: Table, by: str) -> Table:
    """The table of some dimensions; cells without records are not stored."""
    names = list(full.dimensions)
    kept = [names.index(name) for name in by]
    at = ~np.delete(full.codes, kept, axis=0).any(axis=0) & (full.magnitude > 0)
    dimensions = {name: full.dimensions[name] for name in by}
    return Table.from_cells(
        dimensions, full.codes[kept][:, at], full.value[at], magnitude=full.magnitude[at], is_count=full.is_count
    )


def survey(rng: np.random.Generator, shape: Sequence[int | Hierarchy], *, zeros: float = 0.4) -> Table:
    return random_table(rng, shape, values="integer", zeros=zeros)


def posed(table: Table, rng: np.random.Generator, share: float = 0.15, level: float = 0.15) -> Problem:
    """Some cells of the finest published level are sensitive."""
    n, status = len(table), np.full(len(table), Status.FREE, dtype=np.int8)
    if table.behind is not None:
        status[table.behind] = Status.SUPPRESSED
    fine = (np.count_nonzero(table.codes, axis=0) == 2) & (table.value > 0) & (np.arange(n) < table.n_listed)
    primary = fine & (rng.random(n) < share)
    status[primary] = Status.PRIMARY
    need = np.where(primary, level * table.value, 0.0)
    cost = np.where(np.arange(n) < table.n_listed, table.magnitude, 0.0)
    return Problem(table, status, cost, need, need, np.zeros(n), np.zeros(n), np.full(n, np.inf))


class Judge:
    """A reader with a solver who knows the tables as published, and that no cell of the cross-classification is negative.

    Written apart from the package: all combinations of leaves, one equation for each cell that is listed with its value, and
    one for each that is not listed.
    """

    def __init__(self, full: Table, tables: Sequence[str], protection: Protection) -> None:
        hierarchies = list(full.dimensions.values())
        leaves = [np.flatnonzero(h.is_leaf) for h in hierarchies]
        self.grid = np.array(np.meshgrid(*leaves, indexing="ij")).reshape(len(leaves), -1)
        self.above = [
            [set(code[leaf == i].tolist()) for i in range(len(h))] for h in hierarchies for leaf, code in [h.ancestors]
        ]
        listed = protection.listed
        table = listed.problem.table
        self.published = {
            tuple(key): float(value) for key, value in zip(table.codes.T.tolist(), listed.published, strict=True)
        }
        rows, right = [], []
        for by in tables:
            inside = [name in by for name in full.dimensions]
            codes = [range(len(h)) if here else [0] for h, here in zip(hierarchies, inside, strict=True)]
            for key in np.array(np.meshgrid(*codes, indexing="ij")).reshape(len(codes), -1).T.tolist():
                value = self.published.get(tuple(key), 0.0)
                if not np.isnan(value):
                    rows.append(self.sum(key))
                    right.append(value)
        self.rows, self.right = sparse.csr_array(np.array(rows)), np.array(right)

    def sum(self, key: Sequence[int]) -> np.ndarray:
        inside = np.ones(self.grid.shape[1], dtype=bool)
        for d, code in enumerate(key):
            inside &= [code in self.above[d][leaf] for leaf in self.grid[d]]
        return inside.astype(float)

    def interval(self, key: Sequence[int]) -> tuple[float, float]:
        ends = []
        for sign in (1, -1):
            solved = linprog(sign * self.sum(key), A_eq=self.rows, b_eq=self.right, bounds=(0, None), method="highs")
            assert solved.status in (0, 3)
            ends.append(solved.fun * sign if solved.status == 0 else -sign * np.inf)
        return ends[0], ends[1]


def exposed(judge: Judge, problem: Problem) -> list[str]:
    """Sensitive cells that the judge infers more closely than is allowed."""
    found = []
    for cell in problem.primaries:
        low, high = judge.interval(problem.table.codes[:, cell])
        value, near = problem.table.value[cell], 1e-6 * max(1.0, problem.table.value[cell])
        if low > value - problem.lower[cell] + near or high < value + problem.upper[cell] - near:
            found.append(problem.table.label(cell))
    return found


# -- the finding ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_three_tables_of_one_survey_are_safe_only_with_the_cells_behind_them():
    """Of 100 drawn surveys, patterns made without the cells behind are called safe, and some are not."""
    wrong = 0
    for draw in range(100):
        rng = np.random.default_rng(draw)
        full = survey(rng, (3, 3, 3))
        tables = [margin(full, by) for by in TRIANGLE]
        before = posed(link(*tables, behind=False), np.random.default_rng(draw), 0.3, 0.3)
        pattern = protect(before, "kelly")
        assert before.table.behind is None
        assert before.table.behind_left_out
        assert audit(before, pattern).passed
        bad = exposed(Judge(full, TRIANGLE, pattern), before)
        wrong += bool(bad)
        # The same pattern, judged with the cells behind.
        after = posed(link(*tables, behind=full), np.random.default_rng(draw), 0.3, 0.3)
        assert after.table.n_listed == len(before.table)
        suppressed = np.append(pattern.suppressed, np.ones(len(after) - len(before), dtype=bool))
        assert sorted(audit(after, suppress(after, suppressed)).exposed) == sorted(bad)
    assert wrong == 25


@pytest.mark.parametrize("draws", [range(4), pytest.param(range(4, 50), marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["kelly", "optimal"])
@pytest.mark.parametrize("kind", ["flat", "hierarchy", "square"])
def test_a_judge_with_the_cells_behind_finds_no_protected_set_exposed(method: str, kind: str, draws: range):
    for draw in draws if method == "kelly" else draws[:17]:
        rng = np.random.default_rng([draw, len(kind)])
        nested = random_hierarchy(rng, 4, levels=2)
        shape = {"flat": (3, 4, 3), "hierarchy": (nested, 3, 2), "square": (2, 3, 2, 3)}[kind]
        tables = SQUARE if kind == "square" else TRIANGLE
        full = survey(rng, shape)
        problem = posed(link(*(margin(full, by) for by in tables), behind=full), rng, 0.25, 0.25)
        protection = protect(problem, method)
        seen = audit(problem, protection)
        assert seen.passed
        judge = Judge(full, tables, protection)
        assert not exposed(judge, problem)
        for cell, low, high in list(zip(seen.cell, seen.lower, seen.upper, strict=True))[:4]:
            assert judge.interval(problem.table.codes[:, cell]) == pytest.approx((low, high), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("method", ["modular", "hypercube", "auto", "eliminate", "improve", "guided", "intervals"])
def test_other_methods_are_safe_too(method: str):
    for draw in range(4):
        rng = np.random.default_rng(draw)
        full = survey(rng, (3, 4, 3))
        problem = posed(link(*(margin(full, by) for by in TRIANGLE), behind=full), rng, 0.25, 0.25)
        protection = protect(problem, method)
        assert audit(problem, protection).passed
        if protection.only_suppresses:
            assert not exposed(Judge(full, TRIANGLE, protection), problem)


@pytest.mark.parametrize("method", ["round", "perturb", "adjust"])
def test_adjusted_values_leave_room_for_a_table_behind(method: str):
    rng = np.random.default_rng(5)
    full = survey(rng, (3, 4, 3))
    problem = posed(link(*(margin(full, by) for by in TRIANGLE), behind=full), rng, 0.15, 0.1)
    protection = protect(problem, method)
    assert audit(problem, protection).passed
    assert np.isnan(protection.published[problem.table.n_listed :]).all()


# -- which sets have cells behind them ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tables", "behind"),
    [
        (("ab", "bc"), 0),
        (("ab", "bc", "cd"), 0),
        (("ab", "ac", "ad"), 0),
        (("abc", "bcd", "ab", "d"), 0),
        (("abc", "ab", "bc", "ac"), 0),
        (TRIANGLE, 3 * 3 * 3),
        (("ab", "bc", "ac", "ad"), 3 * 3 * 3),
        (("abd", "bc", "ac"), 3 * 3 * 3),
        (SQUARE, 2 * 27 + 9),  # two cliques and what they share, not 81
        (("ab", "ac", "ad", "bc", "bd", "cd"), 81),
        (("abc", "abd", "acd", "bcd"), 81),
    ],
)
def test_only_cycles_have_cells_behind_them(tables: Sequence[str], behind: int):
    full = survey(np.random.default_rng(0), (3, 3, 3, 3), zeros=0.0)
    linked = link(*(margin(full, by) for by in tables), behind=full)
    assert len(linked) - linked.n_listed == behind
    assert (linked.behind is None) == (behind == 0)
    assert np.allclose(linked.relations @ linked.value, 0)


def coarser(full: Table, name: str) -> Table:
    """The table at the groups of one dimension, without the codes below."""
    h = full.dimensions[name]
    groups = [code for code, depth in zip(h.codes, h.depth, strict=True) if depth == 1]
    d = list(full.dimensions).index(name)
    flat = Hierarchy.flat(groups, h.total)
    at = np.flatnonzero([h.codes[c] in flat for c in full.codes[d]])
    codes = full.codes[:, at].copy()
    codes[d] = [flat.index(h.codes[c]) for c in codes[d]]
    return Table.from_cells({**full.dimensions, name: flat}, codes, full.value[at])


def test_tables_that_stop_at_different_levels_are_no_cycle_by_that_alone():
    rng = np.random.default_rng(0)
    full = survey(rng, (random_hierarchy(rng, 4, levels=2), random_hierarchy(rng, 4, levels=2), 2), zeros=0.0)
    first, second = coarser(margin(full, "ab"), "a"), coarser(margin(full, "ab"), "b")
    assert link(first, second).behind is None
    assert link(first, second, margin(full, "bc")).behind is None
    # The cycle needs the groups of a only: its finest codes are in one table.
    linked = link(margin(full, "ab"), margin(full, "bc"), coarser(margin(full, "ac"), "a"), behind=full)
    assert len(linked) - linked.n_listed == 2 * 4 * 2


def test_groupings_that_have_nothing_in_common_are_two_dimensions():
    rng = np.random.default_rng(0)
    full = survey(rng, (3, 2, 2), zeros=0.0)
    a, b = margin(full, "ab"), margin(full, "cb")
    other = Table.from_cells({"a": Hierarchy.flat(["x", "y"]), "b": full.dimensions["b"]}, b.codes, b.value)
    assert link(a, other).behind is None
    # With the table of both groupings' parts it would be a cycle, if there were a table that crosses them.
    third = margin(full, "ac")
    crossed = Table.from_cells({"e": full.dimensions["a"], "f": full.dimensions["c"]}, third.codes, third.value)
    first = Table.from_cells({"e": full.dimensions["a"], "b": full.dimensions["b"]}, a.codes, a.value)
    second = Table.from_cells({"f": full.dimensions["c"], "b": full.dimensions["b"]}, b.codes, b.value)
    assert link(crossed, first, second).behind is not None


def test_the_order_and_the_names_of_other_cells_stay():
    full = survey(np.random.default_rng(0), (3, 3, 3))
    parts = [margin(full, by) for by in TRIANGLE]
    plain, linked = link(*parts, behind=False), link(*parts, behind=full)
    assert linked.listed.labels() == plain.labels()
    assert np.array_equal(linked.listed.value, plain.value)
    assert linked.listed.digest == plain.with_columns(behind_left_out=False).digest != linked.digest


def test_a_combination_is_left_out_only_if_a_margin_is_empty():
    """Readers do not know which combinations are empty, only which margins are."""
    full = survey(np.random.default_rng(3), (3, 4, 3), zeros=0.6)
    linked = link(*(margin(full, by) for by in TRIANGLE), behind=full)
    stored = {by: set(map(tuple, margin(full, by).codes.T.tolist())) for by in TRIANGLE}
    possible = {
        (a, b, c)
        for a in range(1, 4)
        for b in range(1, 5)
        for c in range(1, 4)
        if (a, b) in stored["ab"] and (b, c) in stored["bc"] and (a, c) in stored["ac"]
    }
    behind = set(map(tuple, linked.codes[:, linked.n_listed :].T.tolist()))
    assert behind == possible
    assert np.any(linked.value[linked.n_listed :] == 0)


def test_signed_contributions_have_no_bounds_so_nothing_is_behind():
    full = random_table(np.random.default_rng(0), (3, 3, 3), negative=0.3)
    assert link(*(margin(full, by) for by in TRIANGLE)).behind is None


# -- where the values come from -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [False, True])
def test_some_table_that_fits_tells_readers_the_same_as_the_true_one(counts: bool):
    rng = np.random.default_rng(4)
    full = survey(rng, (3, 4, 3)).with_columns(is_count=counts)
    parts = [margin(full, by) for by in TRIANGLE]
    true, some = link(*parts, behind=full), link(*parts)
    assert some.behind_drawn
    assert not true.behind_drawn
    assert np.array_equal(some.codes, true.codes)
    assert np.all(some.value >= 0)
    seen = []
    for table in (true, some):
        problem = posed(table, np.random.default_rng(1), 0.3)
        suppressed = np.random.default_rng(2).random(len(table)) < 0.3
        suppressed |= np.isin(problem.status, (Status.PRIMARY, Status.SUPPRESSED))
        seen.append(audit(problem, suppress(problem, suppressed)))
    assert np.allclose(seen[0].lower, seen[1].lower)
    assert np.allclose(seen[0].upper, seen[1].upper)
    assert np.array_equal(seen[0].safe, seen[1].safe)


def test_tables_that_no_records_can_have_are_refused():
    """All margins agree, and yet no three-way table is behind them."""
    names, two = ("a", "b", "c"), Hierarchy.flat(["1", "2"])
    diagonal, off = [[1, 0], [0, 1]], [[0, 1], [1, 0]]

    def table(first: str, second: str, inner: list[list[int]]) -> Table:
        grid = np.zeros((3, 3))
        grid[1:, 1:] = inner
        grid[0], grid[:, 0] = grid.sum(axis=0), grid.sum(axis=1)
        grid[0, 0] = np.sum(inner)
        return Table.from_cells({first: two, second: two}, np.indices((3, 3)).reshape(2, -1), grid.ravel())

    parts = [table(*names[:2], diagonal), table(*names[1:], diagonal), table("a", "c", off)]
    with pytest.raises(TableError, match="no table without negative cells lies behind them"):
        link(*parts)


def test_a_table_behind_must_have_the_cells_and_agree():
    full = survey(np.random.default_rng(0), (3, 3, 3))
    parts = [margin(full, by) for by in TRIANGLE]
    with pytest.raises(InputError, match="a × b × c"):
        link(*parts, behind=parts[0])
    other = survey(np.random.default_rng(1), (3, 3, 3), zeros=0.0)
    with pytest.raises(TableError, match="not additive"):
        link(*parts, behind=other)


def test_too_many_cells_behind_are_refused_unless_they_are_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("discreet.data.cross_classification.MAX_CELLS_BEHIND", 20)
    full = survey(np.random.default_rng(0), (3, 3, 3), zeros=0.0)
    parts = [margin(full, by) for by in TRIANGLE]
    with pytest.raises(InputError, match="behind=False"):
        link(*parts)
    assert link(*parts, behind=False).behind_left_out


def test_linked_tables_are_not_linked_again():
    full = survey(np.random.default_rng(0), (3, 3, 3), zeros=0.0)
    parts = [margin(full, by) for by in TRIANGLE]
    with pytest.raises(InputError, match="one call"):
        link(link(*parts[:2]), parts[2])


# -- several responses ----------------------------------------------------------------------------------------------------


def named(table: Table, response: str, times: float = 1.0) -> Table:
    return table.with_columns(response=response, value=table.value * times, magnitude=table.magnitude * times)


def test_each_response_of_a_cycle_has_its_own_cells_behind():
    full = survey(np.random.default_rng(0), (2, 2, 2), zeros=0.0)
    parts = [named(margin(full, by), r, t) for by in TRIANGLE for r, t in (("x", 1), ("y", 2), ("sum", 3))]
    behind = [named(full, r, t) for r, t in (("x", 1), ("y", 2), ("sum", 3))]
    linked = link(*parts, equations=["sum = x + y"], behind=behind)
    assert len(linked) - linked.n_listed == 3 * 8
    problem = assess(linked, ())
    assert (problem.status[linked.n_listed :] == Status.SUPPRESSED).all()
    assert (problem.prior_lower == 0).all()


def test_parts_in_other_tables_than_their_total_have_cells_behind():
    """Of a total by a and its parts by b: no part exceeds what the total has anywhere, which no published cell says."""
    full = survey(np.random.default_rng(0), (2, 3, 1), zeros=0.0)
    parts = [
        named(margin(full, "a"), "total", 3),
        named(margin(full, "b"), "x", 1),
        named(margin(full, "b"), "y", 2),
    ]
    linked = link(*parts, equations=["total = x + y"])
    assert linked.behind is not None
    assert np.allclose(linked.relations @ linked.value, 0)


# -- never published ------------------------------------------------------------------------------------------------------


def records(seed: int = 0, n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    codes = {name: rng.choice(list("xyz"), n) for name in ("branch", "region", "size")}
    return pd.DataFrame({**codes, "firm": [f"F{i}" for i in range(n)], "turnover": rng.integers(1, 100, n)})


def three(data: pd.DataFrame, **options: object) -> Table:
    pairs = (["branch", "region"], ["region", "size"], ["branch", "size"])

    def tabulated(by: object) -> Table:
        return tabulate(data, by, "turnover", contributor="firm", **options)

    return link(*map(tabulated, pairs), behind=tabulated)


def test_cells_behind_are_hidden_free_of_charge_and_never_sensitive():
    table = three(records())
    problem = assess(table, ["P(20)", "FREQ(3)"])
    behind = table.behind
    assert behind.sum() > 0
    assert (problem.status[behind] == Status.SUPPRESSED).all()
    assert not problem.cost[behind].any()
    assert not problem.lower[behind].any()
    assert not problem.upper[behind].any()
    assert not behind[problem.primaries].any()
    whole_table = tabulate(records(), ["branch", "region", "size"], "turnover", contributor="firm")
    for i in np.flatnonzero(behind):
        label = table.label(i)
        stored = label in whole_table.labels()
        assert table.value[i] == (whole_table.value[whole_table.index(label)] if stored else 0)
    given = np.arange(table.n_listed, dtype=float)
    assert np.array_equal(assess(table, (), cost=given).cost, np.append(given, np.zeros(behind.sum())))
    with pytest.raises(TableError, match="no cell"):
        assess(table, (), statuses={table.label(len(table) - 1): "primary"})


def test_cells_behind_are_in_no_file_that_lists_cells(tmp_path: Path):
    table = three(records())
    problem = assess(table, ["P(20)", "FREQ(3)"])
    protection = protect(problem)
    seen = audit(problem, protection)
    release = publish(problem, protection, seen)
    assert len(release) == table.n_listed
    assert protection.report.n_primary + protection.report.n_secondary == release.suppressed.sum()
    behind = table.labels(np.flatnonzero(table.behind))
    for text in (
        release.frame(symbols=True).to_csv(index=False).replace(",", " × "),
        render_report(problem, protection, seen),
        render_shareable(problem, protection, seen),
        seen.frame().to_csv(),
    ):
        assert not [label for label in behind if label in text]
    write_pattern(protection, tmp_path / "pattern.csv")
    assert len((tmp_path / "pattern.csv").read_text().splitlines()) == table.n_listed + 1
    again = read_pattern(problem, tmp_path / "pattern.csv")
    assert np.array_equal(again.suppressed, protection.suppressed)
    assert f"{table.n_listed:,} cells" in repr(table)


JOB = """
tables = [["branch", "region"], ["region", "size"], ["branch", "size"]]

[data]
file = "survey.csv"
response = "turnover"
contributor = "firm"
{behind}

[dimensions.branch]
[dimensions.region]
[dimensions.size]

[rules]
sensitive = ["P(20)", "FREQ(3)"]

[output]
formats = ["csv"]
"""


def test_a_job_takes_cells_behind_from_the_records_and_says_so(tmp_path: Path):
    records().to_csv(tmp_path / "survey.csv", index=False)
    for number, behind in enumerate(("", "behind = false")):
        (tmp_path / "job.toml").write_text(JOB.format(behind=behind))
        said: list[str] = []
        result = run_job(read_job(tmp_path / "job.toml"), say=said.append)
        table = result.problem.table
        assert result.passed
        assert len(result.release) == table.n_listed
        assert (table.behind is None, table.behind_left_out) == (bool(number), bool(number))
        assert any(("left out" if number else "taken into account") in line for line in said)
        written = json.loads((tmp_path / "output" / "audit.json").read_text())
        assert written["cells_behind"] == ("left out" if number else len(table) - table.n_listed)
        page = (tmp_path / "output" / "report.html").read_text()
        assert ("cells behind them were left out" in page) == bool(number)


def test_bundles_and_jj_files_keep_cells_behind(tmp_path: Path):
    problem = assess(three(records()), ["P(20)", "FREQ(3)"])
    write_problem(problem, tmp_path / "p.discreet")
    again = read_problem(tmp_path / "p.discreet")
    assert again.digest == problem.digest
    assert np.array_equal(again.table.behind, problem.table.behind)
    write_problem(problem, tmp_path / "p.jj")
    plain = read_problem(tmp_path / "p.jj")
    suppressed = protect(problem).suppressed
    both = [audit(p, suppress(p, suppressed)) for p in (problem, plain)]
    assert np.array_equal(both[0].lower, both[1].lower)
    assert np.array_equal(both[0].upper, both[1].upper)


def test_a_certificate_exhibits_a_table_behind():
    problem = assess(three(records(1)), ["P(20)", "FREQ(3)"])
    protection = protect(problem)
    written = certificate(audit(problem, protection, certify=True), protection)
    assert verify(written, problem, protection).safe
    moved = {cell for part in written["attackers"] for table in part["tables"] for cell in table["cells"]}
    assert any(problem.table.behind[cell] for cell in moved)


def test_whole_numbers_hold_behind_too():
    data = records(2, 40)
    pairs = (["branch", "region"], ["region", "size"], ["branch", "size"])
    table = link(*(tabulate(data, by) for by in pairs), behind=lambda by: tabulate(data, by))
    problem = assess(table, "FREQ(3)")
    protection = protect(problem)
    seen = audit(problem, protection)
    assert seen.linear is not None
    assert table.is_count
    assert np.array_equal(table.value, table.count)


def test_attacks_use_cells_behind_and_are_not_scored_by_them():
    problem = assess(three(records(1)), ["P(20)", "FREQ(3)"])
    protection = protect(problem)
    found = run_attacks(protection, ["exact", "fit"])
    assert found.passed
    listed = set(problem.table.listed.labels())
    assert set(found.details()["cell"]) <= listed


def test_a_table_for_each_code_keeps_what_is_behind():
    rng = np.random.default_rng(6)
    full = survey(rng, (2, 3, 3, 2))
    tables = ("abd", "bcd", "acd")
    linked = link(*(margin(full, by) for by in tables), behind=full)
    parts = separate(linked, "d")
    assert parts.behind.sum() == linked.behind.sum()
    assert not (parts.codes[list(parts.dimensions).index("d"), : parts.n_listed] == 0).any()
    assert np.allclose(parts.relations @ parts.value, 0)
    # At a total that is not published either, its parts take its place.
    ear = link(*(margin(full, by) for by in ("abd", "bc", "ac")), behind=full)
    apart = separate(ear, "d", shown=[["b", "c"], ["a", "c"]])
    assert np.allclose(apart.relations @ apart.value, 0)
    rows = abs(apart.relations)
    with_behind = np.flatnonzero(rows @ apart.behind > 0)
    assert len(with_behind) == len(np.flatnonzero(abs(ear.relations) @ ear.behind > 0))
    problem = posed(apart, rng, 0.0)
    assert audit(problem, suppress(problem, problem.status == Status.SUPPRESSED)).passed


def test_respondents_are_not_told_apart_by_cells_that_are_never_sensitive():
    """The cells behind are the finest ones, and none of them is sensitive: no respondent would seem to need protection."""
    with pytest.raises(TableError, match="several classifications of the same contributions"):
        three(records(), contributions=True).respondents()


def test_prior_knowledge_of_some_table_that_fits_is_nothing():
    data = records()
    pairs = (["branch", "region"], ["region", "size"], ["branch", "size"])
    drawn = link(*(tabulate(data, by, "turnover", contributor="firm") for by in pairs))
    problem = assess(drawn, "P(10)", prior=20)
    assert (problem.prior_lower[drawn.behind] == 0).all()
    assert np.isinf(problem.prior_upper[drawn.behind]).all()
    true = three(data)
    problem = assess(true, "P(10)", prior=20)
    some = true.behind & (true.value > 0)
    assert np.allclose(problem.prior_upper[some], 1.2 * true.value[some])
