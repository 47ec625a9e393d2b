"""Methods side by side: is each measure what it says, for every method alike, and does nothing get lost on the way?"""

from __future__ import annotations

import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.helpers.fixed import secret

from discreet.attackers import Attacker
from discreet.cli import main as cli
from discreet.compare import compare, read_methods, render_comparison, standard
from discreet.compare.charts import Point, bars, scatter
from discreet.compare.measure import CLOSE_GUESS_ERROR, MAX_RELATIVE_WIDTH, Loss, Risk, guess_errors, relative_width
from discreet.compare.page import _slack
from discreet.errors import InputError, NoSafePatternError, RuleError
from discreet.io import write_problem
from discreet.methods import protect, with_options
from discreet.methods.context import Run
from discreet.methods.counts.small_counts import SmallCounts
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.optimal.optimal import Optimal
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals, suppress
from discreet.testing import cross_table, infer, pose

VALUES = [[20, 50, 10, 30], [8, 19, 22, 15], [17, 32, 12, 40], [6, 14, 5, 9]]
METHODS = "kelly,optimal,intervals,perturb,adjust,small-counts(base=5)"
EXAMPLE = Path(__file__).parents[2] / "examples" / "turnover"


@pytest.fixture
def problem() -> Problem:
    """Two sensitive cells, a cell that must be published, and somebody who knows a row quite well."""
    table = cross_table("abcd", "wxyz", VALUES)
    given = pose(table, {"b × x": 4.0, "c × y": (3.0, 2.0, 6.0)}, published=["Total × Total"])
    value = table.value
    spread = np.where(table.codes[0] == table.codes[0, table.index("b × x")], np.maximum(6.0, 0.3 * value), np.inf)
    return given.with_columns(others=(Attacker("b & sons", value - spread, value + spread),))


@dataclass(frozen=True)
class Told:
    """A method that tells what it is told to."""

    protection: Protection
    name: str = "told"

    def protect(self, problem: Problem, run: Run) -> Protection:
        return self.protection


@dataclass(frozen=True)
class Fails:
    error: BaseException
    name: str = "fails"

    def protect(self, problem: Problem, run: Run) -> Protection:
        raise self.error


@dataclass(frozen=True)
class Interrupted:
    """Ctrl-C comes while it is at work, and it has a pattern by then."""

    name: str = "interrupted"

    def protect(self, problem: Problem, run: Run) -> Protection:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            raise AssertionError("nobody heard it")
        except KeyboardInterrupt:
            return Kelly().protect(problem, run)


# -- the measures, worked out a second time ----------------------------------------------------------------------------


@pytest.mark.parametrize("method", read_methods(METHODS))
def test_every_measure_of_every_method_is_what_it_says(problem: Problem, method: str) -> None:
    (one,) = compare(problem, [method], time_limit=None).outcomes
    found = one.protection
    assert found is not None
    assert one.loss is not None
    by_hand = losses_by_hand(problem, found)
    for name, number in by_hand.items():
        assert getattr(one.loss, name) == pytest.approx(number, rel=1e-6, abs=1e-9), name
    assert set(by_hand) == set(Loss.__dataclass_fields__)
    assert [risk.attacker for risk in one.risks] == ["outsider", "b & sons"]
    errors, everybody = [], one.risk
    assert everybody is not None
    for risk, who in zip(one.risks, problem.attackers(), strict=True):
        exposed, slack, guesses = risk_by_hand(problem, found, who)
        assert (risk.protected, risk.exposed) == (2, exposed)
        assert risk.slack == pytest.approx(slack, rel=1e-6)
        assert risk.guess_error == pytest.approx(np.median(guesses), abs=1e-9)
        assert risk.guessed == np.mean(np.array(guesses) <= CLOSE_GUESS_ERROR)
        errors.append(guesses)
    assert everybody.slack == min(risk.slack for risk in one.risks)  # type: ignore[type-var]
    assert everybody.guess_error == pytest.approx(np.median(np.min(errors, axis=0)), abs=1e-9)
    assert one.safe == (everybody.exposed == 0)
    off = np.abs(found.published - problem.table.value)[problem.primaries] / problem.table.value[problem.primaries]
    assert everybody.told_error == (None if np.isnan(off).any() else np.mean(off))  # the median of two


def losses_by_hand(problem: Problem, found: Protection) -> dict[str, float | bool | None]:
    table, n = problem.table, len(problem)
    cells = {"exact": 0, "adjusted": 0, "interval": 0, "suppressed": 0}
    value = dict.fromkeys(cells, 0.0)
    deviations, shares, shown_value = [], [], 0.0
    for i in range(n):
        true, told = float(table.value[i]), float(found.published[i])
        low, high = float(found.lower[i]), float(found.upper[i])
        if np.isnan(told):
            kind = "suppressed" if low == -np.inf and high == np.inf else "interval"
        else:
            kind = "exact" if low == high else "adjusted"
            deviations.append(abs(told - true))
            shares.append(abs(told - true) / true)
            shown_value += true
        cells[kind] += 1
        value[kind] += true if "Total" not in table.label(i) else 0.0
    whole, widths = float(np.sum(VALUES)), []
    for i in range(n):
        if problem.status[i] != Status.PRIMARY:
            low, high = infer(found, i)
            widths.append(min((high - low) / table.value[i], MAX_RELATIVE_WIDTH))
    checked = [k for k in range(table.relations.shape[0]) if not np.isnan(found.published[members(table, k)]).any()]
    off = [k for k in checked if abs(table.relations[[k]] @ np.nan_to_num(found.published))[0] > 1e-6]
    return {
        **{kind: many / n for kind, many in cells.items()},
        **{f"value_{kind}": much / whole for kind, much in value.items()},
        "deviation": sum(deviations),
        "deviation_mean": float(np.mean(deviations)),
        "deviation_share": sum(deviations) / shown_value,
        "deviation_relative": float(np.mean(shares)),
        "width": float(np.mean(widths)),
        "additive": not off,
        "broken": len(off),
        "relations": len(checked),
    }


def members(table, row):
    return table.relations[[row]].indices


def risk_by_hand(problem: Problem, found: Protection, who: Attacker) -> tuple[int, float, list[float]]:
    exposed, slacks, guesses = 0, [], []
    for i in problem.primaries.tolist():
        value, (low, high) = problem.table.value[i], infer(found, i, who)
        reach, need = (value - low, high - value, high - low), problem.levels(who)[:, i]
        mine = min(r / n for r, n in zip(reach, need, strict=True) if n > 0)
        exposed += mine < 1 - 1e-7
        slacks.append(mine)
        guesses.append(abs((low + high) / 2 - value) / value)
    return exposed, min(slacks), guesses


def test_anybody_exposes_what_at_least_one_attacker_does(problem: Problem) -> None:
    """Each sensitive cell is suppressed in a square of its own, and each insider knows a corner of another one."""
    table, value = problem.table, problem.table.value
    labels = np.array(table.labels())
    squares = [
        f"{row} × {column}" for rows, columns in (("bd", "wx"), ("ac", "yz")) for row in rows for column in columns
    ]
    corners = {"b": "b × w", "c": "c × z"}
    insiders = [
        Attacker(name, np.where(labels == corner, value, 0.0), np.where(labels == corner, value, np.inf))
        for name, corner in corners.items()
    ]
    given = problem.with_columns(others=tuple(insiders))
    (one,) = compare(given, [Told(suppress(given, np.isin(labels, squares)))]).outcomes
    assert [risk.exposed for risk in one.risks] == [0, 1, 1]
    assert one.risk is not None
    assert (one.risk.protected, one.risk.exposed, one.risk.slack) == (2, 2, 0.0)
    assert (one.risk.guess_error, one.risk.guessed) == (0.0, 1.0)
    # The other cell goes from 13 to 27 around 19, or from 0 to 22 around 12.
    assert [risk.guess_error for risk in one.risks[1:]] == pytest.approx([(0 + 1 / 12) / 2, (1 / 19 + 0) / 2])


def test_values_that_do_not_add_up_are_found(problem: Problem) -> None:
    free = problem.with_columns(status=np.where(problem.status == Status.PUBLISHED, Status.FREE, problem.status))
    value = free.table.value
    told = value.copy()
    told[free.table.index("a × w")] += 1
    found = publish_intervals(free, told, value - 30, value + 30, cost=1.0)
    (one,) = compare(free, [Told(found)]).outcomes
    assert one.loss is not None
    assert (one.loss.additive, one.loss.broken, one.loss.relations) == (False, 2, 10)
    assert one.loss.deviation == 1
    assert one.loss.deviation_mean == 1 / 25
    assert one.loss.deviation_relative == pytest.approx(1 / 20 / 25)


def test_a_published_sensitive_cell_leaves_no_room_even_if_it_asks_for_none() -> None:
    given = pose(cross_table("ab", "xy", [[3, 4], [5, 6]]), {"a × x": 0.0})
    (one,) = compare(given, [Told(suppress(given, np.zeros(9, dtype=bool)))]).outcomes
    assert one.safe is False
    assert one.risk is not None
    assert (one.risk.exposed, one.risk.slack, one.risk.guess_error, one.risk.told_error) == (1, 0.0, 0.0, 0.0)


def test_where_nothing_is_sensitive_there_is_no_risk_to_measure() -> None:
    given = pose(cross_table("ab", "xy", [[3, 4], [5, 6]]), {})
    found = compare(given, "kelly")
    assert found.outcomes[0].safe
    assert found.outcomes[0].risk is not None
    assert found.outcomes[0].risk.guessed is None
    assert "Risk and loss" not in render_comparison(found)


def test_widths_are_capped_and_of_zeros_all_or_nothing() -> None:
    value, low, high = np.array([10.0, 10, 0, 0, -5]), np.array([5.0, 0, 0, 0, -np.inf]), np.array([15.0, 90, 0, 1, 0])
    assert relative_width(value, low, high).tolist() == [
        1.0,
        MAX_RELATIVE_WIDTH,
        0.0,
        MAX_RELATIVE_WIDTH,
        MAX_RELATIVE_WIDTH,
    ]


def test_without_a_middle_there_is_no_guess() -> None:
    value, low, high = np.array([10.0, 10, -4]), np.array([8.0, 0, -np.inf]), np.array([14.0, np.inf, np.inf])
    assert guess_errors(value, low, high).tolist() == [0.1, np.inf, np.inf]


def test_a_sample_is_the_same_for_all_methods_and_runs(problem: Problem) -> None:
    first, second = (compare(problem, "kelly,intervals", sample=5, secret=secret()) for _ in range(2))
    assert (first.sampled, first.of) == (5, 23)
    assert first.frame().drop(columns="seconds").equals(second.frame().drop(columns="seconds"))
    assert "5 cells drawn at random" in render_comparison(first)
    with pytest.raises(InputError, match="1 or more, or None for all"):
        compare(problem, sample=0)


# -- which methods, in which order -------------------------------------------------------------------------------------


def test_rows_come_in_the_order_asked_for_and_again_the_same(problem: Problem) -> None:
    names = ["perturb", "small-counts(base=5)", "kelly", "small-counts"]
    runs = [compare(problem, names, seed=3, time_limit=None, secret=secret()) for _ in range(2)]
    for found in runs:
        assert found.frame()["method"].tolist() == names
    assert runs[0].frame().drop(columns="seconds").equals(runs[1].frame().drop(columns="seconds"))
    assert runs[0].risks().equals(runs[1].risks())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kelly", {"kelly": Kelly()}),
        (" optimal( at_most = 9 , fewest=true ) ", {"optimal(at_most=9, fewest=true)": Optimal(9, True)}),
        ("optimal(at-most=9)", {"optimal(at_most=9)": Optimal(9)}),
        ("small-counts(base=5),small-counts()", {"small-counts(base=5)": SmallCounts(5), "small-counts": SmallCounts()}),
    ],
)  # fmt: skip
def test_methods_are_written_as_rules_are(text: str, expected: dict[str, object]) -> None:
    assert read_methods(text) == expected
    assert list(read_methods(text)) == list(expected)
    assert read_methods(list(expected)) == expected


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "There are no methods to compare"),
        (" , ", "no methods"),
        ("kelly,witchcraft", "no method 'witchcraft'"),
        ("kelly,kelly", "The method 'kelly' is listed twice: leave one out"),
        ("round(base=5,base=6)", "given twice: leave one out"),
        ("small-counts(5)", "Write the option '5' of 'small-counts' as name=value, e.g. base=5"),
        ("small-counts(base=)", "name=value"),
        ("small-counts(base=5", "as name or name"),
        ("small-counts(base=x)", "The option 'base' takes int"),
        ("small-counts(base=1)", "from 2 to 1000"),
        ("kelly(speed=9)", "The method 'kelly' has no option 'speed'"),
    ],
)
def test_methods_that_cannot_be_read_are_refused_before_any_work(problem: Problem, text: str, complaint: str) -> None:
    with pytest.raises(RuleError, match=complaint):
        compare(problem, text)


def test_objects_are_named_by_their_options() -> None:
    given = [Kelly(), Optimal(at_most=7), SmallCounts(base=3), with_options("adjust", senses="up")]
    assert list(read_methods(given)) == ["kelly", "optimal(at_most=7)", "small-counts", "adjust(senses=up)"]


def test_counts_are_compared_by_methods_for_counts_too(problem: Problem) -> None:
    counts = problem.with_columns(table=problem.table.with_columns(is_count=True))
    assert "small-counts" in standard(counts)
    assert "small-counts" not in standard(problem)


# -- what goes wrong ----------------------------------------------------------------------------------------------------


def test_a_method_that_fails_is_a_row_with_its_reason(problem: Problem) -> None:
    table = problem.table.with_columns(value=problem.table.value / 3)
    given = problem.with_columns(table=table, others=(), prior_upper=np.full(25, np.inf))
    told: list[str] = []
    methods = {
        "small-counts": SmallCounts(),
        "kelly": Kelly(),
        "hopeless": Fails(NoSafePatternError("Nothing protects 'b × x'.")),
        "solver": Fails(RuntimeError("HiGHS could not solve it.")),
    }
    found = compare(given, methods, say=lambda one: told.append(one.method))
    assert told == list(methods)
    frame = found.frame().set_index("method")
    assert frame["status"].tolist() == ["failed", "heuristic", "failed", "failed"]
    assert "for tables of counts" in frame.loc["small-counts", "note"]
    assert frame.loc["hopeless", "note"] == "Nothing protects 'b × x'."
    assert frame.loc["solver", "note"] == "HiGHS could not solve it."
    assert found.complete
    assert repr(found) == "Comparison(4 methods: 1 with a result, 1 safe)"
    page = render_comparison(found)
    assert "1 protect every cell against the outsider and 3 gave no result" in page
    assert page.count("HiGHS could not solve it.") == 2


def test_if_all_fail_there_is_still_a_page(problem: Problem) -> None:
    found = compare(problem, {"no": Fails(NoSafePatternError("No way."))})
    assert not found.complete
    assert "No way." in render_comparison(found)
    assert found.risks().empty


def test_a_mistake_in_a_method_is_not_hidden(problem: Problem) -> None:
    with pytest.raises(KeyError):
        compare(problem, {"wrong": Fails(KeyError("what"))})


def test_what_is_finished_when_ctrl_c_comes_is_kept(problem: Problem) -> None:
    methods = {"kelly": Kelly(), "stopped": Fails(KeyboardInterrupt()), "optimal": Optimal()}
    found = compare(problem, methods)
    assert found.stopped
    assert not found.complete
    assert [one.safe for one in found.outcomes] == [True, None, None]
    assert [one.reason for one in found.outcomes[1:]] == [
        "interrupted before there was a result",
        "not run: the comparison was interrupted before",
    ]


def test_ctrl_c_before_anything_is_finished_ends_it(problem: Problem) -> None:
    with pytest.raises(KeyboardInterrupt):
        compare(problem, {"stopped": Fails(KeyboardInterrupt()), "kelly": Kelly()})


def test_a_method_that_ctrl_c_makes_return_what_it_has_is_the_last(problem: Problem) -> None:
    before = signal.getsignal(signal.SIGINT)
    found = compare(problem, {"interrupted": Interrupted(), "optimal": Optimal()})
    assert [one.safe for one in found.outcomes] == [True, None]
    assert found.stopped
    assert signal.getsignal(signal.SIGINT) is before


# -- the page -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def page(problem: Problem) -> str:
    return render_comparison(compare(problem, METHODS, time_limit=None), title="A <b> & c", settings={"Job": "x.toml"})


def test_the_page_needs_nothing_else_and_says_that_it_is_confidential(page: str) -> None:
    assert not re.search(r"https?:|//[a-z]|@import|url\(|<script|<link|<img|src=", page)
    assert re.sub(r"<[^>]+>", " ", page[page.index("<body>") :]).split()[0] == "CONFIDENTIAL"
    assert page.count("<svg") == page.count("</svg>") >= 5


def test_the_page_shows_every_method_and_attacker_and_escapes_names(page: str) -> None:
    for name in read_methods(METHODS):
        assert f'<th scope="row">{name}</th>' in page
    assert page.count('<td class="attacker">b &amp; sons</td>') == len(read_methods(METHODS))
    assert "A &lt;b&gt; &amp; c" in page
    assert "x.toml" in page
    assert "nan" not in re.sub(r"<[^>]+>", " ", page).split()


def test_of_very_many_attackers_those_with_the_least_room_are_listed(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.compare.page.MAX_RISK_ROWS", 2)
    found = compare(problem, "kelly,small-counts,perturb")
    page = render_comparison(found)
    assert "4 more rows with more slack are not listed" in page
    listed = re.findall(r'<th scope="row">([^<]+)</th><td class="attacker">', page)
    tightest = found.risks().sort_values("slack", kind="stable")[:2].sort_index()
    assert listed == tightest["method"].tolist()


def test_rounding_never_contradicts_the_verdict() -> None:
    def slack(exposed: int, times: float | None) -> str:
        return _slack(Risk("outsider", 3, exposed, times, None, None, None))

    assert [slack(1, 0.9999), slack(1, 0.456), slack(1, 0.0)] == ["0.99 ×", "0.45 ×", "0.00 ×"]
    assert [slack(0, 0.9999999), slack(0, 1.5), slack(0, 1234.5)] == ["1.00 ×", "1.50 ×", "1,234 ×"]
    assert [slack(0, np.inf), slack(0, None)] == ["∞", "–"]


def test_labels_of_points_cover_neither_each_other_nor_points() -> None:
    points = [Point(f"method {k}", 0.1 + 0.012 * k, 0.5, k % 2 == 0) for k in range(5)]
    drawn = scatter(points)
    boxes = []
    for label in drawn["labels"]:
        left = label["x"] if label["right"] else label["x"] - 7 * len(label["text"])
        boxes.append((left, label["y"] - 11, left + 7 * len(label["text"]), label["y"] + 4))
    for k, one in enumerate(boxes):
        for other in boxes[:k]:
            assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_points_at_the_same_place_share_a_label() -> None:
    drawn = scatter([Point("kelly", 0.2, 0.3, True), Point("optimal", 0.2, 0.3, True)])
    assert [label["text"] for label in drawn["labels"]] == ["kelly, optimal"]
    assert [text for _, text in drawn["across"]] == ["0 %", "5 %", "10 %", "15 %", "20 %"]


def test_bars_of_parts_fill_the_same_length_and_single_ones_the_longest() -> None:
    parts = bars(["one", "a method with a very long name"], [[0.25, 0.75], [0.5, 0.5]], ("exact", "suppressed"))
    ends = {round(row["end"], 6) for row in parts["rows"]}
    assert len(ends) == 1
    assert parts["rows"][1]["name"] == "a method with a very lo…"
    single = bars(["one", "two", "three"], [[0.1], [0.2], [None]], ("",))
    lengths = [sum(length for _, _, length, _ in row["parts"]) for row in single["rows"]]
    assert lengths[1] == pytest.approx(2 * lengths[0])
    assert single["rows"][2]["figure"] == "–"


# -- the command --------------------------------------------------------------------------------------------------------


def exits(*arguments: object) -> int:
    before, sys.argv = sys.argv, ["discreet", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    finally:
        sys.argv = before
    return int(stopped.value.code or 0)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    for file in ("firms.csv", "branch.csv", "job.toml"):
        (tmp_path / file).write_bytes((EXAMPLE / file).read_bytes())
    return tmp_path / "job.toml"


def test_a_job_is_compared_from_the_command_line(job: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, csv, risks = (job.parent / name for name in ("c.html", "c.csv", "r.csv"))
    asked = "kelly,intervals,small-counts(base=5),cell-key"
    assert exits("compare", job, "--methods", asked, "--out", out, "--csv", csv, "--risks", risks) == 0
    frame = pd.read_csv(csv)
    assert frame["method"].tolist() == ["kelly", "intervals", "small-counts(base=5)", "cell-key"]
    assert frame["safe"].tolist()[:3] == [True, True, False]
    assert pd.isna(frame["safe"][3])
    assert pd.read_csv(risks)["attacker"].tolist() == ["outsider"] * 3
    page = out.read_text(encoding="utf-8")
    assert "<h1>Turnover by branch and region: methods compared</h1>" in page
    said = capsys.readouterr().out
    assert "no column 'key'" in said
    assert str(out) in "".join(said.split("\n"))


def test_without_methods_the_jobs_own_comes_first_with_its_options(job: Path) -> None:
    text = job.read_text(encoding="utf-8") + '\n[protect]\nmethod = "optimal"\noptions = { fewest = true }\n'
    job.write_text(text, encoding="utf-8")
    csv = job.parent / "c.csv"
    assert exits("compare", job, "--out", job.parent / "c.html", "--csv", csv, "--time-limit", 20) == 0
    expected = ["optimal(fewest=true)", "kelly", "optimal", "intervals", "perturb", "adjust"]
    assert pd.read_csv(csv)["method"].tolist() == expected


def test_a_finished_table_is_compared(tmp_path: Path, problem: Problem) -> None:
    frame = problem.table.frame()
    frame.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "statuses.csv").write_text("cell,status\nb × x,primary\n", encoding="utf-8")
    (tmp_path / "job.toml").write_text(
        '[table]\nfile = "table.csv"\nvalue = "value"\n[dimensions.row]\n[dimensions.column]\n'
        '[rules]\nsensitive = []\nstatuses = "statuses.csv"\n',
        encoding="utf-8",
    )
    assert exits("compare", tmp_path / "job.toml", "--methods", "kelly", "--out", tmp_path / "c.html") == 0
    assert exits("compare", tmp_path / "job.toml", "--methods", "kelly", "--out", tmp_path / "table.csv") == 2


def test_a_problem_file_is_compared_against_further_attackers(tmp_path: Path, problem: Problem) -> None:
    write_problem(problem, tmp_path / "p.discreet")
    (tmp_path / "who.csv").write_text("attacker,cell,lower,upper\nneighbour,a × w,19,21\n", encoding="utf-8")
    given = ("--methods", "kelly,intervals", "--attackers", tmp_path / "who.csv", "--out", tmp_path / "c.html")
    assert exits("compare", tmp_path / "p.discreet", *given, "--risks", tmp_path / "r.csv") == 0
    assert pd.read_csv(tmp_path / "r.csv")["attacker"].tolist() == ["outsider", "b & sons", "neighbour"] * 2


@pytest.mark.parametrize(
    "wrong",
    [
        ["--methods", "witchcraft", "--out", "c.html"],
        ["--methods", "kelly", "--out", "c.txt"],
        ["--methods", "kelly"],
        ["--out", "c.html", "--csv", "firms.csv"],
        ["--out", "c.html", "--csv", "r.csv", "--risks", "r.csv"],
    ],
)
def test_what_is_wrong_is_said_before_any_work(job: Path, wrong: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job.parent)
    before = (job.parent / "firms.csv").read_bytes()
    assert exits("compare", job, *wrong) == 2
    assert not (job.parent / "c.html").exists()
    assert (job.parent / "firms.csv").read_bytes() == before


def test_no_result_at_all_is_exit_code_1_and_a_page_with_reasons(job: Path) -> None:
    assert exits("compare", job, "--methods", "cell-key", "--out", job.parent / "c.html") == 1
    assert "no column &#39;key&#39;" in (job.parent / "c.html").read_text(encoding="utf-8")


def test_after_ctrl_c_what_is_finished_is_written(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Optimal, problem: Problem, run: Run) -> Protection:
        raise KeyboardInterrupt

    monkeypatch.setattr(Optimal, "protect", stop)
    csv = job.parent / "c.csv"
    arguments = ("--methods", "kelly,optimal,intervals", "--out", job.parent / "c.html", "--csv", csv)
    assert exits("compare", job, *arguments) == 1
    assert pd.read_csv(csv)["status"].tolist() == ["heuristic", "failed", "failed"]
    monkeypatch.setattr(Kelly, "protect", stop)
    assert exits("compare", job, "--methods", "kelly,intervals", "--out", job.parent / "d.html") == 1
    assert not (job.parent / "d.html").exists()


def test_the_same_protection_as_without_comparing(problem: Problem) -> None:
    found = compare(problem, "kelly", seed=5).outcomes[0].protection
    assert found is not None
    assert found.digest == protect(problem, "kelly", seed=5).digest
