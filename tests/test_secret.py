"""Random numbers that protect come from a secret: an attacker who has the package cannot repeat a run."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from tests.helpers.fixed import secret

from discreet import audit, publish
from discreet.cli.main import cli
from discreet.edit import swap
from discreet.errors import InputError, NoSafePatternError, NotSafeError
from discreet.io import write_problem
from discreet.io.pattern import read_pattern, write_pattern
from discreet.jobs.job import protect_report, read_job, run_job
from discreet.level import level_of
from discreet.methods import METHODS, protect, uses_secret
from discreet.methods.intervals.intervals import Intervals
from discreet.methods.perturbation.adjustment import Adjustment
from discreet.methods.rounding.simple import RandomRounding
from discreet.protection import publish_intervals
from discreet.report import render_shareable
from discreet.secret import Secret
from discreet.testing import cross_table, pose, random_problem, random_table

DRAWING = {"random-round", "round", "perturb", "perturb-first-model", "adjust", "small-counts", "intervals", "combined"}


def sensitive(number: int = 0, shape: tuple[int, ...] = (4, 4)):
    rng = np.random.default_rng(number)
    table = random_table(rng, shape, values="integer", zeros=0.0)
    table = cross_table(list("abcd"), list("efgh"), table.value[table.is_base].reshape(4, 4) * 100 + 3)
    return pose(table, {"a × e": 0.1 * table.value[table.index("a × e")], "b × f": 20})


# -- what a secret is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", ["0", "20261116", "f" * 31, "g" * 32, "", 0, 7, 2**200, "0" * 64, "01" * 20])
def test_what_can_be_tried_out_is_refused(short):
    with pytest.raises(
        InputError, match=r"A secret has at least 32 hexadecimal digits|This secret was not drawn at random"
    ) as caught:
        protect(sensitive(), "perturb", secret=short)
    assert len(str(short)) < 2 or str(short) not in str(caught.value)


def test_a_secret_is_never_shown():
    drawn = Secret.drawn()
    assert len(drawn.digits) * 4 >= 128
    assert Secret.drawn().digits != drawn.digits
    found = protect(sensitive(), "intervals", secret=drawn)
    for text in (repr(drawn), str(drawn), repr(found), repr(found.report), str(found.report), found._repr_html_()):
        assert drawn.digits not in text
    assert drawn.digits not in f"{[drawn]}"


def test_a_file_without_a_secret_is_named(tmp_path):
    with pytest.raises(InputError, match=r"s.txt, does not exist. Make one: discreet secret"):
        Secret.read(tmp_path / "s.txt")
    (tmp_path / "s.txt").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"s.txt, cannot be read. It holds hexadecimal digits only"):
        Secret.read(tmp_path / "s.txt")


def test_purposes_do_not_share_their_random_numbers():
    one = Secret(secret())
    first, second, again = (one.generator(purpose).random(1000) for purpose in ("a", "b", "a"))
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.15


def test_methods_say_whether_they_draw():
    assert {name for name, method in METHODS.items() if uses_secret(method)} == DRAWING
    assert not uses_secret(Intervals(exact=True))
    assert not uses_secret(Adjustment(exact=True))


@pytest.mark.parametrize("method", ["perturb", "adjust", "intervals", "combined", "random-round"])
def test_the_confidential_report_alone_holds_it(method):
    problem = sensitive()
    found = protect(problem, method)
    checked = audit(problem, found)
    digits = found.report.secret
    assert protect_report(found, checked, level_of(problem, found.only_suppresses, None))["secret"] == digits
    again = protect(problem, method, secret=digits)
    assert again.digest == found.digest
    if checked.passed:
        release = publish(problem, found, checked)
        assert digits not in release.frame(symbols=True).to_csv()
        assert digits not in render_shareable(problem, found, checked)


@pytest.mark.parametrize("method", ["kelly", "optimal", "conventional-round", "intervals-first-model"])
def test_methods_that_do_not_draw_have_none_to_report(method):
    assert protect(sensitive(), method).report.secret == ""


# -- replay with the public seed (findings 5 and 10) ------------------------------------------------------------


def test_random_rounding_cannot_be_replayed_with_the_default_seed():
    """An attacker ran the package on candidates, with the default seed, and kept those with the same release."""
    hits = cells = 0
    for number in range(200):
        rng = np.random.default_rng(number)
        table = cross_table(list("abc"), list("def"), rng.integers(1, 60, (3, 3)))
        problem = pose(table, {})
        shown, replayed = (protect(problem, RandomRounding(base=5)).published for _ in range(2))
        open_ = table.value % 5 > 0
        hits, cells = hits + int((shown == replayed)[open_].sum()), cells + int(open_.sum())
    assert hits < 0.8 * cells  # by chance nearly two thirds agree


def test_random_rounding_depends_on_the_table_too():
    """With one secret for two tables, knowing the values of one tells nothing about the draws of the other."""
    values = np.full((3, 3), 12)
    first, second = (
        protect(pose(cross_table("abc", "def", values + one), {}), RandomRounding(base=5), secret=secret()).published
        for one in (0, 5)
    )
    assert not np.array_equal(first, second - np.array([45, 15, 15, 15, 15, 5, 5, 5, 15, 5, 5, 5, 15, 5, 5, 5]))


@pytest.mark.parametrize("tables", [40, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["perturb", "adjust", "intervals", "random-round"])
def test_candidates_are_not_told_apart_by_running_the_method_on_them(method, tables):
    """Two by two tables: of all that agree with the totals, the true one must not be the only one that fits."""
    same = found = 0
    for number in range(tables):
        rng = np.random.default_rng(number)
        table = cross_table(["a", "b"], ["x", "y"], rng.integers(40, 90, (2, 2)))
        problem = pose(table, {"a × x": 5})
        try:
            shown, replayed = (protect(problem, method, time_limit=5) for _ in range(2))
        except NoSafePatternError:
            continue
        found += 1
        ends = [np.r_[np.nan_to_num(one.published), one.lower, one.upper] for one in (shown, replayed)]
        same += np.array_equal(*ends)
    assert found > 0.75 * tables
    assert same < 0.2 * found


def test_swapping_again_does_not_undo_a_swap():
    """With the public seed, swapping the output again put back 35 to 43 % of the records that were moved."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "person": [f"p{i}" for i in range(3000)],
            "area": [f"a{k}" for k in rng.integers(0, 25, 3000)],
            "sex": rng.choice(["f", "m"], 3000),
            "age": rng.integers(0, 12, 3000).astype(str),
        }
    )
    moved, _ = swap(frame, "area", ["sex", "age"], rate=0.1, tables=[])
    again, _ = swap(moved, "area", ["sex", "age"], rate=0.1, tables=[])
    changed = (moved.area != frame.area).to_numpy()
    back = changed & (again.area == frame.area).to_numpy()
    assert changed.sum() > 300
    assert back.sum() < 0.05 * changed.sum()
    first, second = (swap(frame, "area", ["sex", "age"], rate=0.1, tables=[], secret=secret()) for _ in range(2))
    assert first[0].equals(second[0])
    assert first[1].secret == secret()
    assert secret() not in repr(first[1])


# -- publish refuses what gives itself away --------------------------------------------------------------------


@pytest.mark.parametrize("method", [Intervals(exact=True), "intervals-first-model", Adjustment(exact=True)])
def test_the_symmetric_program_is_published_only_when_asked_for_twice(method):
    problem = sensitive()
    found = protect(problem, method)
    checked = audit(problem, found)
    with pytest.raises(NotSafeError, match="accept_symmetric"):
        publish(problem, found, checked)
    assert len(publish(problem, found, checked, accept_symmetric=True)) == len(problem)


def test_drawn_intervals_are_published():
    for number, shape in product(range(8), [(3, 4), (3, 3, 2)]):
        rng = np.random.default_rng(number)
        problem = random_problem(rng, random_table(rng, shape), must_publish=0.0)
        try:
            found = protect(problem, "intervals", secret=secret(number))
        except NoSafePatternError:
            continue
        publish(problem, found, audit(problem, found))


# -- files -----------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_problem(sensitive(), tmp_path / "problem.discreet")
    return tmp_path


def call(*words: object):
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_the_command_writes_a_secret_that_nobody_else_can_read(here):
    assert call("secret", "secret.txt").exit_code == 0
    written = (here / "secret.txt").read_text(encoding="ascii").strip()
    assert Secret.read("secret.txt").digits == written
    assert (here / "secret.txt").stat().st_mode & 0o077 == 0
    again = call("secret", "secret.txt")
    assert "and its secret may be needed again" in str(again.exception)
    assert (here / "secret.txt").read_text(encoding="ascii").strip() == written
    assert written not in again.output


def test_a_run_is_repeated_with_the_secret_of_its_report(here):
    words = ["--method", "intervals", "--quiet"]
    done = call("protect", "problem.discreet", *words, "--out", "one.csv", "--report", "one.json")
    assert done.exit_code == 0
    digits = json.loads(Path("one.json").read_text(encoding="utf-8"))["secret"]
    assert digits not in done.output
    assert digits not in Path("one.csv").read_text(encoding="utf-8")
    Path("secret.txt").write_text(digits, encoding="ascii")
    call("protect", "problem.discreet", *words, "--secret", "secret.txt", "--out", "two.csv")
    call("protect", "problem.discreet", *words, "--out", "three.csv")
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes() != Path("three.csv").read_bytes()


def test_a_seed_in_the_file_is_refused_without_being_told(here):
    Path("seed.txt").write_text("20261116", encoding="ascii")
    done = call("protect", "problem.discreet", "--method", "perturb", "--secret", "seed.txt", "--out", "one.csv")
    assert isinstance(done.exception, InputError)
    assert "128 bits" in str(done.exception)
    assert "20261116" not in str(done.exception)
    assert not Path("one.csv").exists()


@pytest.mark.parametrize("method", ["intervals", "adjust"])
def test_symmetric_patterns_from_a_file_are_refused_by_the_command(here, method):
    """As in one job, though a pattern file does not say how it was made."""
    options = ["--method", method, "--option", "exact=true", "--quiet", "--out", "one.csv"]
    assert call("protect", "problem.discreet", *options).exit_code == 0
    words = ["publish", "problem.discreet", "--pattern", "one.csv", "--quiet", "--out", "release.csv"]
    assert isinstance(call(*words).exception, NotSafeError)
    assert not Path("release.csv").exists()
    assert call(*words, "--accept-symmetric").exit_code == 0


def test_a_single_value_at_its_level_is_refused(tmp_path):
    """A × y is published as 540: readers who divide by 0.9 have 600."""
    problem = pose(cross_table("AB", "xy", [[400, 600], [700, 800]]), {"A × y": 60})
    write_pattern(protect(problem, Adjustment(exact=True)), tmp_path / "pattern.csv")
    found = read_pattern(problem, tmp_path / "pattern.csv")
    assert not found.report.symmetric
    with pytest.raises(NotSafeError, match="a simple guess finds them") as caught:
        publish(problem, found, audit(problem, found))
    assert caught.value.offenders == ["A × y"]


def test_values_in_the_middles_of_wide_intervals_are_refused():
    """Twice as wide as required, but all values are where a guess is: half way."""
    problem = pose(cross_table("AB", "vwxyz", [[400, 600, 500, 550, 450], [700, 800, 900, 650, 500]]), {})
    base = np.flatnonzero(problem.table.is_base)
    problem = pose(problem.table, {problem.table.label(cell): 20 for cell in base})
    value = problem.table.value
    suppressed, far = problem.table.is_base, np.where(problem.table.is_base, 50.0, 0.0)
    found = publish_intervals(problem, np.where(suppressed, np.nan, value), value - far, value + far, cost=0.0)
    with pytest.raises(NotSafeError, match="in their middles"):
        publish(problem, found, audit(problem, found))
    shift = np.where(suppressed, np.resize([-30.0, 25.0, 30.0, -25.0], len(value)), 0.0)
    elsewhere = publish_intervals(
        problem, np.where(suppressed, np.nan, value), value - far + shift, value + far + shift, cost=0.0
    )
    publish(problem, elsewhere, audit(problem, elsewhere))


def test_drawn_values_are_published():
    """What chance puts at a level is not taken for a method that does."""
    for number, method in product(range(40), ["adjust", "perturb", "round", "random-round"]):
        rng = np.random.default_rng(number)
        problem = random_problem(rng, random_table(rng, (3, 4), values="integer"), must_publish=0.0)
        try:
            found = protect(problem, method, secret=secret(number))
        except NoSafePatternError:
            continue
        checked = audit(problem, found)
        if checked.passed:
            publish(problem, found, checked)


JOB = """
[table]
file = "table.csv"
value = "v"
[dimensions.r]
[dimensions.c]
[rules]
sensitive = []
statuses = "statuses.csv"
[protect]
method = "intervals"
"""


def test_jobs_read_their_secret_from_a_file(here):
    values = {("a", "x"): 50, ("a", "y"): 40, ("b", "x"): 30, ("b", "y"): 60}
    rows = [f"{r},{c},{v}" for (r, c), v in values.items()]
    rows += ["a,Total,90", "b,Total,90", "Total,x,80", "Total,y,100", "Total,Total,180"]
    (here / "table.csv").write_text("r,c,v\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (here / "statuses.csv").write_text("cell,status\na × x,primary\n", encoding="utf-8")
    (here / "secret.txt").write_text(secret(3) + "\n", encoding="ascii")
    (here / "job.toml").write_text(JOB + 'secret = "secret.txt"\n', encoding="utf-8")
    first, second = (run_job(read_job(here / "job.toml")) for _ in range(2))
    assert first.protection.digest == second.protection.digest
    report = json.loads((here / "output" / "report.json").read_text(encoding="utf-8"))
    assert report["secret"] == secret(3)
    for file in first.files:
        if file.name != "report.json":
            assert secret(3).encode() not in file.read_bytes(), file
    (here / "job.toml").write_text(JOB, encoding="utf-8")
    assert run_job(read_job(here / "job.toml")).protection.digest != first.protection.digest


def test_one_interval_that_is_not_round_does_not_excuse_the_others():
    """Rounding outwards may have widened an interval by two units; that is looked at cell by cell."""
    table = cross_table("abc", "xyz", [[100, 200, 300], [400, 500, 600], [700, 800, 900]])
    problem = pose(table, {"a × x": 5, "b × y": 5})
    wide = {"a × x": 6.0, "b × y": 30.5}
    lower, upper = np.zeros(len(table)), np.full(len(table), 1e6)
    for label, far in wide.items():
        at = table.index(label)
        lower[at], upper[at] = table.value[at] - far, table.value[at] + far
    found = publish_intervals(problem, np.full(len(table), np.nan), lower, upper, cost=0.0)
    with pytest.raises(NotSafeError, match="a × x"):
        publish(problem, found, audit(problem, found))
