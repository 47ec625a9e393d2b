"""Several attackers with levels of their own, and cells that need protection only if suppressed: audits, files, commands."""

from __future__ import annotations

import itertools
import json
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.audit.test_audit_random import RELEASES, TABLES, release
from tests.helpers.second_solver import infer_with_glpk

from discreet import NoSafePatternError, NotSafeError, protect, publish, read_problem, write_problem
from discreet.attackers import Attacker
from discreet.audit import audit, certificate, exposure, narrowed, verify
from discreet.audit.proof import checksum
from discreet.cli.main import main
from discreet.errors import FormatError, InputError, TableError
from discreet.io.attackers import read_attackers, with_attackers
from discreet.io.pattern import read_pattern
from discreet.jobs.job import read_job, run_job
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.report import render_report
from discreet.solvers.highs import HighsModel
from discreet.testing import cross_table, infer, pose, random_problem, random_table, suppressing

SLACK = 1e-5  # verdicts closer to the line than this share of a level are not compared with those of another solver


def several(rng: np.random.Generator, problem: Problem, count: int = 2, share: float = 0.3) -> Problem:
    """Levels for a share of the free cells, and attackers who know some cells better; every second has other levels."""
    table, n, free = problem.table, len(problem), problem.status == Status.FREE
    value, size = table.value, table.magnitude

    def levels(scale: float) -> np.ndarray:
        drawn = rng.uniform(0.01, 0.15, (3, n)) * scale * size
        kept = problem.status == Status.PRIMARY
        return (drawn * (kept | (free & (rng.random(n) < share))) * (rng.random((3, n)) < 0.7)).round(2)

    def insider(k: int) -> Attacker:
        near = np.where(rng.random(n) < 0.3, rng.choice([0.0, 0.1, 0.5], n) * size, np.inf)
        return Attacker(f"insider {k}", value - near, value + near, levels(0.5) if k % 2 else None)

    ours = np.where(free, levels(1.0), np.stack([problem.lower, problem.upper, problem.sliding]))
    down, up, slide = ours
    others = tuple(insider(k) for k in range(count))
    return problem.with_columns(lower=down, upper=up, sliding=slide, others=others)


def requirements(problem: Problem, protection: Protection) -> dict[tuple[int, int], tuple[float, float, float]]:
    """What is required of each attacker's interval, written out cell by cell."""
    found = {}
    for k, who in enumerate([None, *problem.others]):
        for cell in range(len(problem)):
            own = None if who is None else who.levels
            down, up, slide = (problem.lower, problem.upper, problem.sliding) if own is None else own
            level = float(down[cell]), float(up[cell]), float(slide[cell])
            loose = protection.suppressed[cell] or protection.lower[cell] < protection.upper[cell]
            conditional = problem.status[cell] == Status.FREE and loose and any(level)
            if problem.status[cell] == Status.PRIMARY or conditional:
                found[k, cell] = level
    return found


def missing(value: float, interval: tuple[float, float], level: tuple[float, float, float]) -> float:
    """The largest share of a level that an interval lacks; negative if it goes beyond all of them."""
    reach = value - interval[0], interval[1] - value, interval[1] - interval[0]
    return max((1 - r / need for r, need in zip(reach, level, strict=True) if need > 0), default=-np.inf)


# -- audits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", RELEASES)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 5), marks=pytest.mark.slow)], ids=["few", "many"])
def test_every_attacker_is_judged_by_levels_of_their_own(table, kind, seeds):
    """36 tables: each interval by two plain linear programs, each verdict by the levels against that attacker."""
    for seed in seeds:
        rng = np.random.default_rng([seed, 90, list(TABLES).index(table), RELEASES.index(kind)])
        plain = random_problem(rng, TABLES[table](rng), primaries=0.15, sliding=True, already_suppressed=0.05)
        problem = several(rng, plain, share=0.15)
        protection = release(rng, problem, kind)
        needs = requirements(problem, protection)
        exact, quick = audit(problem, protection), audit(problem, protection, intervals=False)
        assert list(zip(exact.attacker.tolist(), exact.cell.tolist(), strict=True)) == list(needs)
        assert exact.required.T.tolist() == [list(level) for level in needs.values()]
        assert quick.safe.tolist() == exact.safe.tolist()
        assert np.array_equal(quick.cell, exact.cell)
        attackers = problem.attackers()
        for row, ((who, cell), level) in enumerate(needs.items()):
            value, size = problem.table.value[cell], max(problem.table.magnitude[cell], 1.0)
            expected = infer(protection, cell, attackers[who])
            found = float(exact.lower[row]), float(exact.upper[row])
            assert all(a == b or abs(a - b) <= 1e-6 * size for a, b in zip(found, expected, strict=True))
            disclosed = problem.status[cell] == Status.PRIMARY and protection.lower[cell] == protection.upper[cell]
            short = np.inf if disclosed else missing(value, expected, level)
            assert exact.safe[row] == (short <= 0) or abs(short) < SLACK


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_every_pattern_of_a_small_table(seed):
    """All ways to suppress free cells of a table of nine: safe if levels are kept and no suppressed cell is computable."""
    rng = np.random.default_rng([seed, 91])
    table = random_table(rng, (2, 2), zeros=0.0)
    status = np.full(9, Status.FREE)
    status[np.flatnonzero(table.is_base)[0]] = Status.PRIMARY
    status[[0, 1]] = Status.PUBLISHED
    need = (rng.uniform(0.01, 0.1, (3, 9)) * table.magnitude * (rng.random((3, 9)) < 0.6)).round(2)
    need[:2, status == Status.PRIMARY] = 0.05 * table.magnitude[status == Status.PRIMARY]
    problem = Problem(table, status, table.magnitude, *need, np.zeros(9), np.full(9, np.inf))
    near = np.where(rng.random(9) < 0.2, 0.1 * table.magnitude, np.inf)
    mild = Attacker("mild", table.value - near, table.value + near, 0.3 * need)
    problem = problem.with_columns(others=(mild, Attacker("sharp", table.value - 2 * near, table.value + near)))
    attackers, verdicts = problem.attackers(), set()
    for choice in itertools.product([False, True], repeat=len(problem.free)):
        suppressed = status == Status.PRIMARY
        suppressed[problem.free] = choice
        protection = suppress(problem, suppressed)
        seen = [infer_with_glpk(protection, list(range(9)), attacker) for attacker in attackers]
        short = [
            missing(table.value[cell], seen[who][cell], level)
            for (who, cell), level in requirements(problem, protection).items()
        ]
        assert min(map(abs, short)) > SLACK
        widths = [seen[0][cell][1] - seen[0][cell][0] for cell in np.flatnonzero(suppressed)]
        safe = max(short) < 0 and min(widths) > SLACK  # no suppressed cell may be computable, whatever its levels
        assert audit(problem, protection, intervals=False).passed == safe
        verdicts.add(safe)
    assert verdicts == {False, True}


def square() -> tuple[Problem, Protection]:
    """Four cells of ten, suppressed in a square: each may be anything from 0 to 20. One is sensitive, another if suppressed."""
    table = cross_table("abc", "xyz", np.full((3, 3), 10.0))
    problem = pose(table, {"a × x": 4.0})
    need = problem.lower.copy()
    need[[table.index("b × y"), table.index("c × z")]] = 8.0
    problem = problem.with_columns(lower=need, upper=need)
    return problem, suppressing(problem, "a × y", "b × x", "b × y")


def know(problem: Problem, name: str, cell: str, near: float, levels: np.ndarray | None = None) -> Attacker:
    """An attacker who knows one cell to within ``near``."""
    lower, upper = problem.prior_lower.copy(), problem.prior_upper.copy()
    i = problem.table.index(cell)
    lower[i], upper[i] = problem.table.value[i] - near, problem.table.value[i] + near
    return Attacker(name, lower, upper, levels)


def test_a_free_cell_counts_only_where_it_is_hidden():
    problem, protection = square()
    checked = audit(problem, protection)
    assert checked.exposed == []
    assert problem.table.labels(checked.cell) == ["a × x", "b × y"]  # and not c × z, which is published
    assert checked.interval("b × y") == (0, 20)
    need = problem.lower.copy()
    need[problem.table.index("b × y")] = 11.0
    demanding = problem.with_columns(lower=need)
    assert audit(demanding, suppress(demanding, protection.suppressed)).exposed == ["b × y"]


def test_levels_of_a_published_cell_do_not_count_when_it_is_asked_about():
    problem, protection = square()
    cells = [problem.table.index("c × z"), problem.table.index("b × y")]
    checked = audit(problem, protection, cells=cells)
    assert checked.passed
    assert checked.required.tolist() == [[0, 8], [0, 8], [0, 0]]


def test_an_interval_counts_as_hidden():
    """c × z is published to within five, which is less than the eight it needs if it is suppressed."""
    problem, plain = square()
    lower, upper = plain.lower.copy(), plain.upper.copy()
    decision, published = plain.decision.copy(), plain.published.copy()
    i = problem.table.index("c × z")
    decision[i], published[i] = 3, 10.0
    assert audit(problem, replace(plain, decision=decision, lower=lower, upper=upper)).passed  # as [10, 10]
    lower[i], upper[i] = 5.0, 15.0
    about = replace(plain, decision=decision, published=published, lower=lower, upper=upper)
    assert audit(problem, about).exposed == ["c × z"]


def test_each_attacker_has_levels_of_their_own():
    """Who knows b × y to within five pins all of them to within five: enough for levels of 4, not for 8 or 6."""
    problem, protection = square()
    none, six = np.zeros((3, len(problem))), np.zeros((3, len(problem)))
    six[0, problem.table.index("a × x")] = 6.0
    near = [know(problem, name, "b × y", 5.0, levels) for name, levels in (("b", None), ("mild", none), ("six", six))]
    problem = problem.with_columns(others=tuple(near))
    checked = audit(problem, suppress(problem, protection.suppressed))
    frame = checked.frame()
    assert frame["attacker"].tolist() == ["outsider", "outsider", "b", "b", "mild", "six"]
    assert frame["cell"].tolist() == ["a × x", "b × y", "a × x", "b × y", "a × x", "a × x"]
    assert frame["lower"].tolist() == [0, 0, 5, 5, 5, 5]
    assert frame["required_lower"].tolist() == [6, 2, 6, 2, 10, 4]
    assert frame["required_upper"].tolist() == [14, 18, 14, 18, 10, 10]
    assert frame["safe"].tolist() == [True, True, True, False, True, False]
    assert checked.exposed == ["a × x", "b × y"]
    assert repr(checked) == "Audit(4 attacker(s), 2 of 2 cells exposed)"
    assert checked.interval("a × x", "six") == (5, 15)
    with pytest.raises(TableError, match="Cell 'b × y' was not audited against 'mild'; pass it in cells="):
        checked.interval("b × y", "mild")


def test_a_primary_that_is_published_is_exposed_to_everybody():
    problem, protection = square()
    unconcerned = know(problem, "unconcerned", "b × y", 5.0, np.zeros((3, len(problem))))
    problem = problem.with_columns(others=(unconcerned,))
    suppressed = protection.suppressed & (problem.status != Status.PRIMARY)
    assert not audit(problem, suppress(problem, suppressed), attackers=problem.attackers()[1:]).passed


def test_whole_numbers_are_judged_by_the_levels_against_each_attacker():
    problem, protection = square()
    levels = np.zeros((3, len(problem)))
    levels[0, problem.table.index("a × x")] = 4.9
    problem = problem.with_columns(
        others=(know(problem, "b", "b × y", 4.95, levels), know(problem, "c", "b × y", 4.95))
    )
    protection = suppress(problem, protection.suppressed)
    checked = audit(problem, protection)
    found = narrowed(checked, protection)
    assert checked.safe.tolist() == [True, True, True, True, False]
    assert found.safe.tolist() == [True, True, False, True, False]  # down by 4.9, but in whole numbers only by 4
    assert repr(found).startswith("Audit(3 attacker(s), 2 of 2 cells exposed")


@pytest.mark.parametrize("seed", range(20))
def test_exposure_is_that_of_the_audit(seed):
    rng = np.random.default_rng([seed, 92])
    problem = several(rng, random_problem(rng, random_table(rng, (3, 4)), primaries=0.3))
    protection = suppress(
        problem, np.isin(problem.status, (1, 3)) | ((rng.random(len(problem)) < 0.4) & (problem.status == 0))
    )
    checked = audit(problem, protection)
    found, again = exposure(problem, protection), exposure(problem, protection, checked=checked)
    assert found.cell.tolist() == sorted({cell for _, cell in requirements(problem, protection)})
    assert sorted(found.labels("exposed")) == sorted(checked.exposed)
    assert found.frame().equals(again.frame())
    counts = found.counts()
    assert counts["primaries"] + counts["conditional"] == len(found.cell)
    assert np.all(found.k5 <= found.exposed)
    assert np.all(found.unpicked <= found.exposed)


def test_exposure_wants_an_audit_of_everything_that_is_protected():
    problem, protection = square()
    some = audit(problem, protection, cells=problem.primaries)
    with pytest.raises(TableError, match="all protected cells"):
        exposure(problem, protection, checked=some)
    assert repr(exposure(problem, protection)) == "Exposure(0 of 2 protected cells exposed, 0 by single relations)"


def test_nothing_is_published_before_all_that_is_protected_was_audited():
    problem, protection = square()
    with pytest.raises(NotSafeError, match="leaves out protected cells"):
        publish(problem, protection, audit(problem, protection, cells=problem.primaries))
    assert "Not fully audited" in render_report(
        problem, protection, audit(problem, protection, cells=problem.primaries)
    )
    assert len(publish(problem, protection, audit(problem, protection))) == len(problem)
    informed = problem.with_columns(others=(know(problem, "mild", "b × y", 9.0),))
    protection = suppress(informed, protection.suppressed)
    with pytest.raises(NotSafeError, match="leaves out protected cells or attackers"):
        publish(informed, protection, audit(informed, protection, attackers=informed.attackers()[:1]))
    # The same knowledge, but levels that ask for nothing: that is another attacker.
    easy = [replace(who, levels=np.zeros((3, len(problem)))) for who in informed.attackers()]
    with pytest.raises(NotSafeError, match="leaves out protected cells or attackers"):
        publish(informed, protection, audit(informed, protection, attackers=easy))
    assert len(publish(informed, protection, audit(informed, protection))) == len(problem)


def test_the_report_shows_what_is_required_against_whoever_comes_closest():
    problem, protection = square()
    page = render_report(problem, protection, audit(problem, protection))
    assert "Each of the 2 protected cells (1 primary, 1 because suppressed) keeps the required protection." in page
    assert "Width<br>required" not in page
    wide = np.zeros((3, len(problem)))
    wide[2, problem.table.index("a × x")] = 9.5
    informed = problem.with_columns(others=(know(problem, "near", "b × y", 5.0, wide),))
    protection = suppress(informed, protection.suppressed)
    page = render_report(informed, protection, audit(informed, protection))
    assert "Width<br>required" in page
    assert '<td class="n">9.5</td>' in page
    assert "1.05 ×" in page  # a width of ten where nine and a half is required


# -- certificates -----------------------------------------------------------------------------------------------------


def certified(problem: Problem, protection: Protection, intervals: bool = True) -> dict:
    return certificate(audit(problem, protection, certify=True, intervals=intervals), protection)


@pytest.mark.parametrize("tables", [4, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("intervals", [True, False])
def test_certificates_prove_each_attackers_verdicts(intervals, tables, monkeypatch):
    rng = np.random.default_rng(93)
    for _ in range(tables):
        problem = several(rng, random_problem(rng, random_table(rng, (3, 4)), primaries=0.2, sliding=True))
        protection = release(rng, problem, "mixture")
        checked = audit(problem, protection, certify=True, intervals=intervals)
        found = certificate(checked, protection)
        entries = [(k, cell["cell"]) for k, part in enumerate(found["attackers"]) for cell in part["cells"]]
        assert entries == list(requirements(problem, protection))
        with monkeypatch.context() as patch:
            patch.setattr(HighsModel, "solve", lambda self: pytest.fail("a solver was asked"))
            seen = verify(json.loads(json.dumps(found)), problem, protection)
        assert seen.passed
        assert seen.complete
        assert seen.safe == checked.passed


def test_a_certificate_speaks_for_the_levels_of_its_attackers():
    problem, protection = square()
    levels = np.zeros((3, len(problem)))
    levels[0, problem.table.index("a × x")] = 5.0
    problem = problem.with_columns(others=(know(problem, "near", "b × y", 5.0, levels),))
    protection = suppress(problem, protection.suppressed)
    found = certified(problem, protection)
    assert verify(found, problem, protection).safe
    assert found["attackers"][1]["cells"][0]["needs"] == {"lower": "5", "upper": "0", "sliding": "0"}
    for change in ({"levels": 2 * levels}, {"levels": None}, {"name": "far"}, {"lower": problem.prior_lower}):
        other = problem.with_columns(others=(replace(problem.others[0], **change),))
        seen = verify(found, other, suppress(other, protection.suppressed))
        assert not seen.passed
        assert "about another problem" in seen.problems[0]
    without = problem.with_columns(others=())
    assert not verify(found, without, suppress(without, protection.suppressed)).passed


def test_nobody_can_be_left_out_of_a_certificate():
    """Not an attacker, not a cell that is protected because it is suppressed, and no level can be made smaller."""
    problem, protection = square()
    problem = problem.with_columns(others=(know(problem, "near", "b × y", 9.0),))
    protection = suppress(problem, protection.suppressed)
    found = certified(problem, protection)

    def refused(change: Callable[[dict], object]) -> bool:
        forged = json.loads(json.dumps(found))
        change(forged)
        forged["checksum"] = checksum(forged)
        return not verify(forged, problem, protection).passed

    assert not refused(lambda forged: None)
    assert refused(lambda forged: forged["attackers"].pop())
    assert refused(lambda forged: forged["attackers"][1]["cells"].pop())
    assert refused(lambda forged: forged["attackers"][0]["cells"].pop(0))
    assert refused(lambda forged: forged["attackers"][1]["cells"][1]["needs"].update(lower="1"))
    partial = audit(problem, protection, cells=problem.primaries, certify=True)
    seen = verify(certificate(partial, protection), problem, protection)
    assert (seen.passed, seen.safe, seen.complete) == (True, True, False)


# -- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in range(1, 5))])
def test_kelly_protects_against_several_attackers_and_what_it_hides_on_the_way(part):
    """Twelve problems each: the audit, and plain linear programs, find every demand met."""
    rng, safe = np.random.default_rng([part, 94]), 0
    shapes = itertools.cycle([(4, 4), (3, 5), (2, 3, 3)])
    while safe < 12:
        table = random_table(rng, next(shapes), zeros=0.0)
        problem = several(rng, random_problem(rng, table, primaries=0.12, must_publish=0.0), share=0.3)
        try:
            protection = protect(problem, "kelly")
        except NoSafePatternError:
            continue
        assert audit(problem, protection).passed
        attackers = problem.attackers()
        for (who, cell), level in requirements(problem, protection).items():
            assert missing(table.value[cell], infer(protection, cell, attackers[who]), level) < SLACK
        safe += 1


# -- files ------------------------------------------------------------------------------------------------------------


def same(one: Problem, other: Problem) -> None:
    assert one.digest == other.digest
    assert [who.name for who in one.others] == [who.name for who in other.others]
    for mine, theirs in zip(one.others, other.others, strict=True):
        assert np.array_equal(mine.lower, theirs.lower)
        assert np.array_equal(mine.upper, theirs.upper)
        assert (mine.levels is None) == (theirs.levels is None)
        assert mine.levels is None or np.array_equal(mine.levels, theirs.levels)


@pytest.mark.parametrize("seed", range(5))
def test_a_bundle_keeps_attackers_with_their_names_bounds_and_levels(tmp_path, seed):
    rng = np.random.default_rng([seed, 95])
    problem = several(rng, random_problem(rng, random_table(rng, (3, 3))), count=3)
    odd = Attacker("Müller & Söhne: 'attacker:0:lower'", problem.prior_lower, problem.prior_upper)
    problem = problem.with_columns(others=(*problem.others, odd))
    write_problem(problem, tmp_path / "p.discreet")
    same(read_problem(tmp_path / "p.discreet"), problem)


def test_bundles_without_attackers_are_as_they_were_and_others_are_not_for_older_readers(tmp_path):
    problem, _ = square()
    for name, what in (("plain", problem), ("new", problem.with_columns(others=(know(problem, "b", "b × y", 5.0),)))):
        write_problem(what, tmp_path / f"{name}.discreet")
    meta = {}
    for name in ("plain", "new"):
        with zipfile.ZipFile(tmp_path / f"{name}.discreet") as parts:
            meta[name] = json.loads(parts.read("meta.json"))
    assert meta["plain"]["discreet"] == 1
    assert "attackers" not in meta["plain"]
    assert meta["new"]["discreet"] == 2
    same(read_problem(tmp_path / "plain.discreet"), problem)


def test_a_bundle_that_lost_its_attackers_is_damaged(tmp_path):
    problem, _ = square()
    write_problem(problem.with_columns(others=(know(problem, "b", "b × y", 5.0),)), tmp_path / "p.discreet")
    with zipfile.ZipFile(tmp_path / "p.discreet") as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    meta = json.loads(content["meta.json"])
    for lost in ("attackers", None):
        with zipfile.ZipFile(tmp_path / "q.discreet", "w") as parts:
            for name, part in content.items():
                if name == "meta.json":
                    kept = {key: value for key, value in meta.items() if key != lost}
                    part = json.dumps(kept if lost else {**meta, "attackers": meta["attackers"] * 2}).encode()
                parts.writestr(name, part)
        with pytest.raises(FormatError, match="damaged"):
            read_problem(tmp_path / "q.discreet")


@pytest.mark.parametrize("name", ["p.jj", "p.jj.gz"])
def test_a_jj_file_keeps_levels_of_free_cells_and_refuses_attackers(tmp_path, name):
    problem, _ = square()
    write_problem(problem, tmp_path / name)
    back = read_problem(tmp_path / name)
    for column in ("status", "lower", "upper", "sliding"):
        assert np.array_equal(getattr(back, column), getattr(problem, column))
    assert back.lower[problem.status == Status.FREE].any()
    kept = (tmp_path / name).read_bytes()
    with pytest.raises(
        FormatError, match=r"no place for further attackers, .* has 'b'\. Write it as a \.discreet bundle"
    ):
        write_problem(problem.with_columns(others=(know(problem, "b", "b × y", 5.0),)), tmp_path / name)
    assert (tmp_path / name).read_bytes() == kept


FILE = """attacker,cell,lower,upper,lower_level,upper_level,sliding_level
firm B,b × y,5,15,,,
firm C,c × z,,12,1,,2.5
firm B,a × y,0,inf,,,
"""


def test_attackers_in_a_file(tmp_path):
    problem, _ = square()
    (tmp_path / "a.csv").write_text(FILE, encoding="utf-8")
    b, c = read_attackers(problem, tmp_path / "a.csv")
    at = problem.table.index
    assert (b.name, c.name) == ("firm B", "firm C")
    expected = know(problem, "firm B", "b × y", 5.0)
    assert np.array_equal(b.lower, expected.lower)
    assert np.array_equal(b.upper, expected.upper)
    assert b.levels is None
    assert (c.lower[at("c × z")], c.upper[at("c × z")]) == (0, 12)
    assert c.levels is not None
    assert c.levels[:, at("c × z")].tolist() == [1, 8, 2.5]
    assert c.levels[:, at("a × x")].tolist() == [4, 4, 0]  # not named: as in the problem
    everyone = with_attackers(
        with_attackers(problem, tmp_path / "a.csv"), write(tmp_path, FILE.replace("firm", "shop"))
    )
    assert [who.name for who in everyone.attackers()] == ["outsider", "firm B", "firm C", "shop B", "shop C"]


def write(folder: Path, text: str) -> Path:
    (folder / "more.csv").write_text(text, encoding="utf-8")
    return folder / "more.csv"


def test_columns_in_any_order_and_a_mark_from_a_spreadsheet(tmp_path):
    problem, _ = square()
    (tmp_path / "a.csv").write_bytes("\ufeffcell, upper ,lower,attacker\r\nb × y, 15 ,5,B\r\n".encode())
    (b,) = read_attackers(problem, tmp_path / "a.csv")
    i = problem.table.index("b × y")
    assert (b.name, b.lower[i], b.upper[i], b.levels) == ("B", 5, 15, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the first line must name the columns"),
        ("attacker,cell,lower\n", "the first line must name the columns"),
        (
            "attacker,cell,lower,upper,lower_levl\n",
            "no column 'lower_levl' in such a file. Did you mean 'lower_level'?",
        ),
        ("attacker,cell,lower,upper,upper\n", "the first line must name the columns"),
        ("attacker,cell,lower,upper\n", "lists no attacker. Add lines"),
        ("attacker,cell,lower,upper\nB,b × y,5\n", "line 2: expected 4 fields, found 3."),
        ("attacker,cell,lower,upper\n\nB,b × y,5,15\n ,b × y,5,15\n", "line 4: the attacker has no name. Give one"),
        ("attacker,cell,lower,upper\noutsider,b × y,5,15\n", "line 2: the problem has an attacker 'outsider' already"),
        ("attacker,cell,lower,upper\nB,b × w,5,15\n", "line 2: There is no cell 'b × w'. 'w' is not a code of"),
        (
            "attacker,cell,lower,upper\nB,b × y,5,15\nB,b × y,5,15\n",
            "line 3: cell 'b × y' of attacker 'B' occurs a second",
        ),
        ("attacker,cell,lower,upper\nB,b × y,five,15\n", "line 2: lower of cell 'b × y' is not a number."),
        ("attacker,cell,lower,upper\nB,b × y,5,nan\n", "line 2: upper of cell 'b × y' is not a number."),
        (
            "attacker,cell,lower,upper\nB,b × y,5,9\n",
            "line 2: the value of cell 'b × y' does not lie between the bounds",
        ),
        ("attacker,cell,lower,upper\nB,b × y,11,19\n", "Bounds are values, not distances: correct them"),
        ("attacker,cell,lower,upper,upper_level\nB,b × y,,,-1\n", "line 2: upper_level is a distance: give 0 or more"),
        ("attacker,cell,lower,upper,lower_level\nB,b × y,,,inf\n", "line 2: lower_level is a distance: give 0 or more"),
        (
            "attacker,cell,lower,upper,lower_level\nB,b × y,,,x\n",
            "line 2: lower_level of cell 'b × y' is not a number.",
        ),
        ('attacker,cell,lower,upper\nB,"b × y,5,15\n', "cannot be read as CSV. Save it"),
    ],
)
def test_files_of_attackers_that_are_none(tmp_path, text, says):
    problem, _ = square()
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_attackers(problem, tmp_path / "a.csv")
    assert says in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "a.csv"))


def test_a_file_of_attackers_that_is_not_there(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        read_attackers(square()[0], tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes(b"attacker,cell\x81")
    with pytest.raises(FormatError, match="in UTF-8"):
        read_attackers(square()[0], tmp_path / "b.csv")


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def call(tmp_path, monkeypatch, capsys) -> Callable[..., tuple[int, str]]:
    """In a folder with the square as a bundle and as a JJ file, its pattern, and an attacker who infers b × y too closely."""
    problem, protection = square()
    monkeypatch.chdir(tmp_path)
    write_problem(problem, "p.discreet")
    write_problem(problem, "p.jj")
    rows = pd.DataFrame({"cell": problem.table.labels(), "status": "published"})
    rows.loc[protection.suppressed, "status"] = "secondary"
    rows.to_csv("pattern.csv", index=False)
    rows.assign(cell=range(len(rows))).to_csv("jj.csv", index=False)
    Path("near.csv").write_text("attacker,cell,lower,upper\nfirm B,b × y,5,15\n", encoding="utf-8")
    mild = "attacker,cell,lower,upper,lower_level,upper_level\nfirm B,b × y,5,15,5,5\n"
    Path("mild.csv").write_text(mild, encoding="utf-8")

    def call(*words: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *words])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out + said.err

    return call


def test_audit_verify_and_publish_against_further_attackers(call):
    pattern = ["--pattern", "pattern.csv"]
    assert call("audit", "p.discreet", *pattern)[1].startswith("safe: 2 cells keep their protection\n")
    near, mild = ["--attackers", "near.csv"], ["--attackers", "mild.csv"]
    code, said = call("audit", "p.discreet", *pattern, *near, "--intervals", "i.csv", "--report", "r.json")
    assert code == 1
    assert said.startswith("exposed: 1 of 2 cells can be inferred too closely\n  exposed: b × y\n")
    frame = pd.read_csv("i.csv")
    assert frame["attacker"].tolist() == ["outsider", "outsider", "firm B", "firm B"]
    assert frame["safe"].tolist() == [True, True, True, False]
    report = json.loads(Path("r.json").read_text())
    assert report["attackers"] == ["outsider", "firm B"]
    assert report["exposed"] == ["b × y"]
    assert call("audit", "p.discreet", *pattern, *mild, "--certificate", "c.json")[0] == 0
    assert call("verify", "c.json", "--problem", "p.discreet", *pattern, *mild)[0] == 0
    code, said = call("verify", "c.json", "--problem", "p.discreet", *pattern)
    assert code == 1
    assert "about another problem" in said
    code, said = call("publish", "p.discreet", *pattern, *near, "--out", "release.csv")
    assert code == 1
    assert not Path("release.csv").exists()
    assert call("publish", "p.discreet", *pattern, *mild, "--out", "release.csv")[0] == 0


def test_attack_by_further_attackers(call):
    code, said = call("attack", "p.discreet", "--pattern", "pattern.csv", "--attackers", "near.csv", "--out", "o.csv")
    assert code == 1
    assert said.startswith(
        "4 suppressed cells: 0 can be computed exactly,\n  0 of them sensitive; 1 protected cells are exposed"
    )
    assert "of 2 protected cells are exposed" in said
    assert len(pd.read_csv("o.csv")) == 8


def test_protect_against_further_attackers(call):
    assert call("protect", "p.discreet", "--attackers", "near.csv", "--out", "found.csv", "--report", "r.json")[0] == 0
    assert json.loads(Path("r.json").read_text())["safe"]
    assert call("audit", "p.discreet", "--pattern", "found.csv", "--attackers", "near.csv")[0] == 0
    problem = with_attackers(read_problem("p.discreet"), "near.csv")
    assert audit(problem, read_pattern(problem, "found.csv")).passed
    Path("spy.csv").write_text("attacker,cell,lower,upper\nspy,a × x,9,11\n", encoding="utf-8")
    code, said = call("protect", "p.discreet", "--attackers", "spy.csv", "--out", "none.csv")
    assert code == 1
    assert (
        "No pattern protects 'a × x' from attacker 'spy': "
        "even if all cells that may be suppressed are, it does not have enough slack" in said
    )
    assert not Path("none.csv").exists()


def test_attackers_are_put_into_a_bundle_and_not_into_a_jj_file(call):
    assert call("convert", "p.discreet", "q.discreet", "--attackers", "near.csv")[0] == 0
    assert [who.name for who in read_problem("q.discreet").others] == ["firm B"]
    assert call("audit", "q.discreet", "--pattern", "pattern.csv")[0] == 1
    code, said = call("audit", "q.discreet", "--pattern", "pattern.csv", "--attackers", "near.csv")
    assert code == 2
    assert "near.csv, line 2: the problem has an attacker 'firm B' already." in said
    code, said = call("convert", "q.discreet", "q.jj")
    assert code == 2
    assert ".discreet bundle" in said
    assert not Path("q.jj").exists()


def test_a_jj_file_with_attackers_beside_it(call):
    """Levels of free cells are in the file; b × y is cell 5 there, or what its number is."""
    at = square()[0].table.index("b × y")
    Path("near.csv").write_text(f"attacker,cell,lower,upper\nfirm B,{at},5,15\n", encoding="utf-8")
    assert call("audit", "p.jj", "--pattern", "jj.csv")[1].startswith("safe: 2 cells keep their protection\n")
    code, said = call("audit", "p.jj", "--pattern", "jj.csv", "--attackers", "near.csv")
    assert (code, said.splitlines()[1]) == (1, f"  exposed: {at}")


def test_a_file_of_attackers_is_not_written_over(call):
    kept = Path("near.csv").read_bytes()
    for words in (["protect", "p.discreet"], ["audit", "p.discreet", "--pattern", "pattern.csv"]):
        out = "--out" if words[0] == "protect" else "--report"
        code, said = call(*words, "--attackers", "near.csv", out, "near.csv")
        assert code == 2
        assert "given twice" in said
    assert Path("near.csv").read_bytes() == kept


JOB = """
[table]
file = "cells.csv"
value = "value"

[dimensions.row]
[dimensions.column]

[rules]
sensitive = []
statuses = "statuses.csv"
attackers = "near.csv"

[output]
formats = ["csv"]
"""


def test_attackers_in_a_job_file(call, tmp_path):
    problem, _ = square()
    table = problem.table
    codes = [label.split(" × ") for label in table.labels()]
    frame = pd.DataFrame(codes, columns=["row", "column"]).assign(value=table.value)
    frame.to_csv("cells.csv", index=False)
    Path("statuses.csv").write_text("cell,status\na × x,primary\n", encoding="utf-8")
    Path("job.toml").write_text(JOB, encoding="utf-8")
    result = run_job(read_job("job.toml"))
    assert result.audit.attackers == ("outsider", "firm B")
    assert [who.name for who in result.problem.others] == ["firm B"]
    code, said = call("run", "job.toml", "--quiet")
    assert code == 0
    assert "is protected from the outsider and firm B." in said.replace("\n", " ")
    Path("near.csv").write_text("attacker,cell,lower,upper\nspy,a × x,9,11\n", encoding="utf-8")
    assert call("run", "job.toml", "--quiet")[0] == 1
    Path("near.csv").unlink()
    code, said = call("run", "job.toml")
    assert code == 2
    assert "there is no file 'near.csv' for rules.attackers" in said
