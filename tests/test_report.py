"""The confidential report: does it say what the statistician must know, for every kind of table?"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from discreet.attackers import Attacker
from discreet.audit import Audit, audit
from discreet.errors import TableError
from discreet.hierarchy import Hierarchy
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress
from discreet.relations import from_equations
from discreet.report import render_report, view, words, write_report
from discreet.respondents import audit_respondents
from discreet.table import Table


def crossed(*sizes: int, names: str = "", fill: float = 10.0) -> Table:
    """A full table with flat dimensions, every cell at the finest level holding ``fill``."""
    dimensions = {
        f"dim{d}": Hierarchy.flat([f"{chr(97 + d)}{i}{names}" for i in range(n)]) for d, n in enumerate(sizes)
    }
    codes = np.indices([n + 1 for n in sizes]).reshape(len(sizes), -1)
    weight = np.where(codes == 0, np.array(sizes)[:, None], 1).prod(axis=0)
    return Table.from_cells(dimensions, codes, fill * weight, response="turnover")


def sensitive(
    table: Table, cells: list[int], *, level: float = 2.0, floor: float = 0.0, sliding: float = 0.0
) -> Problem:
    n = len(table)
    is_primary = np.isin(np.arange(n), cells)
    return Problem(
        table,
        status=np.where(is_primary, Status.PRIMARY, Status.FREE),
        cost=np.abs(table.value),
        lower=is_primary * level,
        upper=is_primary * level,
        sliding=is_primary * sliding,
        prior_lower=np.full(n, floor),
        prior_upper=np.full(n, np.inf),
        rules=("p% rule, p = 15",),
    )


def hide(problem: Problem, *labels: str, **report: object) -> Protection:
    hidden = problem.status == Status.PRIMARY
    hidden[[problem.table.index(label) for label in labels]] = True
    return suppress(problem, hidden, **report)


@pytest.fixture
def square() -> tuple[Problem, Protection, Audit]:
    """One primary, hidden with three others: the smallest safe pattern."""
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = hide(problem, "a0 × b1", "a1 × b0", "a1 × b1", solver="HiGHS", seed=7, bound=30.0, seconds=200.0)
    return problem, protection, audit(problem, protection)


@pytest.fixture
def alone() -> tuple[Problem, Protection, Audit]:
    """One primary, hidden alone: a subtraction gives it away."""
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = hide(problem)
    return problem, protection, audit(problem, protection)


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_safe_pattern_is_called_safe_and_against_whom(square):
    text = text_of(render_report(*square))
    assert "Safe against 1 attacker: outsider" in text
    assert "The only primary cell keeps the protection it requires." in text
    assert "Exposed" not in text


def test_the_first_thing_said_is_that_it_is_confidential(square):
    page = render_report(*square)
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert text_of(page[page.index("<body>") :]).startswith("CONFIDENTIAL")


def test_exposed_cells_come_before_everything_else(alone):
    text = text_of(render_report(*alone))
    assert "Exposed to 1 of 1 attacker: outsider" in text
    assert text.index("Exposed cells") < text.index("Cells hidden")
    assert "a0 × b0" in text[text.index("Exposed cells") : text.index("Cells hidden")]
    assert "known exactly" in text


def test_only_attackers_who_succeed_are_named(square):
    problem, protection, _ = square
    value = problem.table.value
    insider = Attacker("a0 & partners", value - 1, value + 1)
    page = render_report(problem, protection, audit(problem, protection, attackers=[*problem.attackers(), insider]))
    assert "Exposed to 1 of 2 attackers: a0 &amp; partners" in page
    assert "lower end 1 short, upper end 1 short" in page


def test_cells_that_were_not_audited_are_not_called_safe(square):
    problem, protection, _ = square
    text = text_of(render_report(problem, protection, audit(problem, protection, cells=[])))
    assert "Not fully audited" in text
    assert "1 of 1 pairs" in text
    assert "Safe" not in text


def test_an_audit_of_something_else_is_refused(square, alone):
    problem, protection, _ = square
    with pytest.raises(TableError, match="another protection"):
        render_report(problem, protection, alone[2])
    with pytest.raises(TableError, match="another problem"):
        render_report(sensitive(problem.table, [0]), protection, square[2])


def test_tiles_count_and_weigh_what_is_hidden(square):
    tiles = {label: (figure, note) for label, figure, note in view.tiles(square[1])}
    assert tiles["Cells"] == ("20", "12 at the finest level, 8 totals")
    assert tiles["Primary"][0] == "1"
    assert tiles["Secondary"][0] == "3"
    assert tiles["Cells hidden"] == ("20.0 %", "4 of 20")
    assert tiles["Value hidden"][0] == "33.3 %"  # 4 of 12 equal cells
    assert tiles["Cost"] == ("40", "of which primary cells 10")
    assert tiles["Gap"] == ("25.0 %", "no pattern costs less than 30")
    assert tiles["Time"][0] == "3 min 20 s"


def test_codes_cannot_inject_markup():
    table = crossed(2, 2, names="<script>alert('ü')</script>\"")
    problem = sensitive(table, [4])
    protection = hide(problem)
    page = render_report(problem, protection, audit(problem, protection), title="<b>&", settings={"<i>": "</td>"})
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<b>&" not in page
    assert "<i>" not in page.replace('<i class="', "")
    assert "&lt;/td&gt;" in page


def test_intervals_without_end_are_shown_as_infinite():
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")], floor=-np.inf)
    protection = hide(problem, "a0 × b1", "a1 × b0", "a1 × b1")
    page = render_report(problem, protection, audit(problem, protection))
    assert "−∞" in page
    assert ">∞<" in page
    assert "nan" not in text_of(page).lower()
    assert not re.search(r"\binf\b", page)


def test_a_verdict_without_intervals_says_so(square):
    problem, protection, exact = square
    quick = render_report(problem, protection, audit(problem, protection, intervals=False))
    assert "the verdict only: the true intervals are at least as wide as these" in quick
    assert "at least as wide" not in render_report(problem, protection, exact)


def test_sliding_levels_get_a_column_of_their_own(square):
    assert "Width<br>required" not in render_report(*square)
    problem = sensitive(square[0].table, [square[0].primaries[0]], sliding=6.0)
    protection = hide(problem)
    page = render_report(problem, protection, audit(problem, protection))
    assert "Width<br>required" in page


@pytest.mark.parametrize(("room", "safe", "shown"), [(0.9999, False, "0.99 ×"), (1 - 1e-9, True, "1.00 ×")])
def test_rounding_never_contradicts_the_verdict(square, room, safe, shown):
    problem, protection, found = square
    reach = np.array([2.0 * room])
    value = problem.table.value[found.cell]
    close = Audit(
        problem,
        protection.digest,
        found.attackers,
        found.knowledge,
        found.attacker,
        found.cell,
        value - reach,
        value + reach,
        found.required,
        np.array([safe]),
        True,
    )
    assert view.intervals(close)["rows"][0]["room"] == shown


def test_the_tightest_come_first_and_the_rest_are_counted():
    table = crossed(20, 20)
    inner = np.flatnonzero(table.is_base)
    problem = sensitive(table, inner[:300].tolist())
    levels = np.where(problem.status == Status.PRIMARY, np.linspace(0.5, 3, len(table)), 0.0)
    problem = problem.with_columns(lower=levels, upper=levels)
    protection = hide(problem)
    shown = view.intervals(audit(problem, protection))
    assert len(shown["rows"]) == view.MAX_INTERVALS
    assert shown["of"] == 300
    reached = [(r["value"] - r["lower"]) / (r["value"] - r["needed_lower"]) for r in shown["rows"]]
    assert reached == sorted(reached)
    assert "100 more with more room are not listed" in render_report(problem, protection, audit(problem, protection))


def test_nothing_is_loaded_from_elsewhere(square, alone):
    for page in (render_report(*square), render_report(*alone)):
        assert not re.search(r"(https?:)?//", page)
        assert not re.search(r"<(script|link|img|iframe|object)|@import|url\(", page)
        assert "src=" not in page
        assert "href=" not in page


def test_twenty_thousand_cells_stay_below_five_megabytes():
    table = crossed(399, 49, names=" manufacture of other things n.e.c.")
    assert len(table) == 20_000
    problem = sensitive(table, np.flatnonzero(table.is_base)[:500].tolist())
    protection = hide(problem)
    page = render_report(problem, protection, audit(problem, protection, intervals=False))
    assert len(page.encode()) < 5_000_000
    assert page.count("<td class=") >= 20_000


def test_a_large_map_is_cut_and_says_so():
    table = crossed(500, 100)
    problem = sensitive(table, [])
    protection = hide(problem)
    shown = view.status_map(protection, audit(problem, protection))
    assert shown is not None
    assert len(shown["rows"]) == 400
    assert len(shown["columns"]) == 80
    assert shown["notes"] == ["The first 400 of 501 rows are shown.", "The first 80 of 101 columns are shown."]


def test_the_map_marks_every_status():
    table = crossed(2, 2)
    keep = np.array([table.label(i) != "a1 × b1" for i in range(len(table))])
    table = Table.from_cells(table.dimensions, table.codes[:, keep], [30, 20, 10, 20, 10, 10, 10, 10])
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = hide(problem, "a0 × b1")
    shown = view.status_map(protection, audit(problem, protection))
    assert shown is not None
    marks = {tip: mark for _, _, _, cells in shown["rows"] for mark, tip in cells}
    assert marks["a0 × b0: primary, exposed"] == "p x"
    assert marks["a0 × b1: secondary"] == "s"
    assert marks["a1 × b1: empty"] == "e"
    assert marks["Total × Total: published"] == "o"


@pytest.mark.parametrize(("sizes", "rows", "columns"), [((3,), 4, 1), ((3, 2), 4, 3), ((3, 2, 2), 4, 3)])
def test_any_number_of_dimensions_has_a_map(sizes, rows, columns):
    problem = sensitive(crossed(*sizes), [])
    protection = hide(problem)
    checked = audit(problem, protection)
    shown = view.status_map(protection, checked)
    assert shown is not None
    assert len(shown["rows"]) == rows
    assert len(shown["columns"]) == columns
    assert (
        "At the totals of dim2: 12 of 36 cells, 0 of 0 hidden cells." in render_report(problem, protection, checked)
    ) == (len(sizes) > 2)


def test_a_table_without_dimensions_has_no_map():
    """A JJ file: named cells and equations."""
    relations = from_equations([([1, 2, 0], [1, 1, -1])], 3)
    table = Table({}, np.zeros((0, 3), np.int32), [30.0, 10.0, 20.0], relations, names=("0", "1", "<2>"))
    problem = sensitive(table, [1])
    protection = hide(problem, "<2>")
    page = render_report(problem, protection, audit(problem, protection))
    assert "Safe against" in page
    assert "The table by status" not in page
    assert "Information lost" not in page
    assert view.tiles(protection)[4][1] == "100 %"


def test_nothing_sensitive_and_nothing_hidden():
    problem = sensitive(crossed(3, 4), [])
    protection = hide(problem)
    text = text_of(render_report(problem, protection, audit(problem, protection)))
    assert "Safe" in text
    assert "there is nothing to protect" in text
    assert "no interval to check" in text


def test_a_table_of_zeros_loses_no_value():
    problem = sensitive(crossed(2, 2, fill=0.0), [])
    protection = hide(problem)
    assert view.losses(protection)[0]["rows"][0]["value"] is None
    assert "Value hidden –" in text_of(render_report(problem, protection, audit(problem, protection)))


def test_losses_follow_the_hierarchy_to_the_level_below_the_total():
    nace = Hierarchy.from_pairs([("A", None), ("B", None), ("A1", "A"), ("A2", "A"), ("B1", "B")])
    codes = np.arange(len(nace))[None]
    table = Table.from_cells({"nace": nace}, codes, [35.0, 30, 5, 10, 20, 5])
    problem = sensitive(table, [table.index("A1")])
    (loss,) = view.losses(hide(problem, "A2", "A"))
    assert [(r["code"], r["hidden"], r["cells"], r["value"]) for r in loss["rows"]] == [
        ("A", 3, 3, 1.0),
        ("B", 0, 2, 0.0),
    ]


def test_losses_of_groupings_that_do_not_nest_list_each_group_once():
    one = Hierarchy.from_pairs([("low", None), ("high", None), ("1", "low"), ("2", "high"), ("3", "high")])
    two = Hierarchy.from_pairs([("odd", None), ("even", None), ("1", "odd"), ("2", "even"), ("3", "odd")])
    both = Hierarchy.join(one, two)
    values = {"Total": 6.0, "low": 1.0, "high": 5.0, "odd": 4.0, "even": 2.0, "1": 1.0, "2": 2.0, "3": 3.0}
    table = Table.from_cells({"size": both}, np.arange(len(both))[None], [values[c] for c in both.codes])
    problem = sensitive(table, [table.index("2")])
    (loss,) = view.losses(hide(problem))
    assert {r["code"]: r["value"] for r in loss["rows"]} == {"low": 0.0, "high": 0.4, "odd": 0.0, "even": 1.0}


def test_everything_needed_to_repeat_the_run_is_there(square):
    problem, protection, checked = square
    text = text_of(
        render_report(problem, protection, checked, settings={"Input": "survey.parquet", "Time limit": "60 s"})
    )
    for part in (
        "p% rule, p = 15",
        "HiGHS",
        "survey.parquet",
        "60 s",
        problem.digest,
        protection.digest,
        "numpy",
        "highspy",
    ):
        assert part in text


def test_the_file_is_utf8(square, tmp_path):
    write_report(tmp_path / "report.html", *square, title="Erhebung für Ø")
    assert "Erhebung für Ø" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (-1234.5, "−1,234.5"),
        (0.1 + 0.2, "0.3"),
        (98765.4321, "98,765"),
        (np.inf, "∞"),
        (-np.inf, "−∞"),
        (999.9999999, "1,000"),
        (1e-9, "1e-09"),
        (100.000001, "100"),
    ],
)
def test_numbers_are_for_humans(x, shown):
    assert words.number(x) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(None, "–"), (0, "0 %"), (1, "100 %"), (1e-5, "< 0.1 %"), (0.9999, "> 99.9 %"), (0.125, "12.5 %")],
)
def test_shares_are_never_rounded_to_nothing_or_everything(share, shown):
    assert words.percent(share) == shown


@pytest.mark.parametrize(
    ("time", "shown"), [(0.001, "< 0.01 s"), (1.234, "1.2 s"), (59.6, "60 s"), (3725, "62 min 5 s")]
)
def test_times(time, shown):
    assert words.seconds(time) == shown


@pytest.mark.parametrize(
    ("names", "shown"),
    [(["a"], "a"), (["a", "b"], "a and b"), (list("abc"), "a, b and c"), (list("abcdefg"), "a, b, c, d, e and 2 more")],
)
def test_lists_of_names_end(names, shown):
    assert words.listed(names) == shown


def test_the_report_tells_whether_respondents_are_safe_in_numbers_only(square):
    problem, protection, audited = square
    table = problem.table.with_columns(top=np.stack([problem.table.value, np.zeros(len(problem.table))], axis=1))
    problem = problem.with_columns(table=table, rules=("P(15)",))
    protection = hide(problem, "a0 × b1", "a1 × b0", "a1 × b1")
    seen = audit_respondents(problem, protection)
    page = render_report(problem, protection, audit(problem, protection), seen)
    assert len(seen.respondents) == 1
    assert "Exposed: 1 of 1 respondent who need protection" in page
    assert seen.respondents[0] not in page
    with pytest.raises(TableError, match="another protection"):
        render_report(problem, hide(problem, "a0 × b2", "a1 × b0", "a1 × b2"), audited, seen)
    safe = view.respondents_verdict(replace(seen, exposed=()))
    assert [kind for kind, *_ in safe] == ["safe"]
    assert view.respondents_verdict(None) == []
