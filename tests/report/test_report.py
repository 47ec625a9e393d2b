"""The report: does one edition say what the statistician must know, and the other nothing more than the release?"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.attackers import Attacker
from discreet.attacks import run
from discreet.audit import Audit, audit
from discreet.audit.respondents import audit_respondents
from discreet.data.hierarchy import Hierarchy
from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.errors import NotSafeError, TableError
from discreet.languages import LANGUAGES, language
from discreet.methods import protect
from discreet.problem import Problem, Status
from discreet.protection import Protection, publish_intervals, suppress
from discreet.report import maps, render_report, render_shareable, view, words, write_report, write_shareable
from discreet.report.intervals import MAX_INTERVALS, intervals, published_intervals, tightest
from discreet.report.protecting_cells import protecting_cells
from discreet.testing import cross_table, pose, random_hierarchy


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


def suppressing(problem: Problem, *labels: str, **report: object) -> Protection:
    suppressed = problem.status == Status.PRIMARY
    suppressed[[problem.table.index(label) for label in labels]] = True
    return suppress(problem, suppressed, **report)


@pytest.fixture
def square() -> tuple[Problem, Protection, Audit]:
    """One primary, suppressed with three others: the smallest safe pattern."""
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = suppressing(
        problem, "a0 × b1", "a1 × b0", "a1 × b1", solver="HiGHS", seed=7, bound=30.0, seconds=200.0
    )
    return problem, protection, audit(problem, protection)


@pytest.fixture
def alone() -> tuple[Problem, Protection, Audit]:
    """One primary, suppressed alone: a subtraction gives it away."""
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = suppressing(problem)
    return problem, protection, audit(problem, protection)


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_a_safe_pattern_is_called_safe_and_against_whom(square):
    text = text_of(render_report(*square))
    assert "Safe against 1 attacker: outsider" in text
    assert "The only primary cell keeps the required protection." in text
    assert "Exposed" not in text


def test_the_first_thing_said_is_that_it_is_confidential(square):
    page = render_report(*square)
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert text_of(page[page.index("<body>") :]).startswith("CONFIDENTIAL")


def test_exposed_cells_come_before_everything_else(alone):
    text = text_of(render_report(*alone))
    assert "Exposed to 1 of 1 attacker: outsider" in text
    assert text.index("Exposed cells") < text.index("Cells suppressed")
    assert "a0 × b0" in text[text.index("Exposed cells") : text.index("Cells suppressed")]
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
    with pytest.raises(TableError, match="No report: the audit is about another protection"):
        render_report(problem, protection, alone[2])
    with pytest.raises(TableError, match="No report: the protection or the audit belongs to another problem"):
        render_report(sensitive(problem.table, [0]), protection, square[2])


def test_tiles_count_and_weigh_what_is_hidden(square):
    tiles = {label: (figure, note) for label, figure, note in view.tiles(square[1])}
    assert tiles["Cells"] == ("20", "12 at the finest level, 8 totals")
    assert tiles["Primary"][0] == "1"
    assert tiles["Secondary"][0] == "3"
    assert tiles["Cells suppressed"] == ("20.0 %", "4 of 20")
    assert tiles["Value suppressed"][0] == "33.3 %"  # 4 of 12 equal cells
    assert tiles["Cost"] == ("40", "of which primary cells 10")
    assert tiles["Gap"] == ("25.0 %", "no safe result costs less than 30")
    assert tiles["Time"][0] == "3 min 20 s"


def test_codes_cannot_inject_markup():
    table = crossed(2, 2, names="<script>alert('ü')</script>\"")
    problem = sensitive(table, [4])
    protection = suppressing(problem)
    page = render_report(problem, protection, audit(problem, protection), title="<b>&", settings={"<i>": "</td>"})
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<b>&" not in page
    assert "<i>" not in page.replace('<i class="', "")
    assert "&lt;/td&gt;" in page


def test_intervals_without_end_are_shown_as_infinite():
    table = crossed(3, 4)
    problem = sensitive(table, [table.index("a0 × b0")], floor=-np.inf)
    protection = suppressing(problem, "a0 × b1", "a1 × b0", "a1 × b1")
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
    protection = suppressing(problem)
    page = render_report(problem, protection, audit(problem, protection))
    assert "Width<br>required" in page


@pytest.mark.parametrize(("slack", "safe", "shown"), [(0.9999, False, "0.99 ×"), (1 - 1e-9, True, "1.00 ×")])
def test_rounding_never_contradicts_the_verdict(square, slack, safe, shown):
    problem, protection, found = square
    reach = np.array([2.0 * slack])
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
    assert intervals(close, tightest(close))["rows"][0]["slack"] == shown


def test_the_tightest_come_first_and_the_rest_are_counted():
    table = crossed(20, 20)
    inner = np.flatnonzero(table.is_base)
    problem = sensitive(table, inner[:300].tolist())
    levels = np.where(problem.status == Status.PRIMARY, np.linspace(0.5, 3, len(table)), 0.0)
    problem = problem.with_columns(lower=levels, upper=levels)
    protection = suppressing(problem)
    checked = audit(problem, protection)
    shown = intervals(checked, tightest(checked))
    assert len(shown["rows"]) == MAX_INTERVALS
    assert shown["of"] == 300
    reached = [(r["value"] - r["lower"]) / (r["value"] - r["needed_lower"]) for r in shown["rows"]]
    assert reached == sorted(reached)
    assert "100 more with more slack are not listed" in render_report(problem, protection, audit(problem, protection))


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
    protection = suppressing(problem)
    page = render_report(problem, protection, audit(problem, protection, intervals=False))
    assert len(page.encode()) < 5_000_000
    assert page.count("<td class=") >= 20_000


def only(shown: dict | None) -> dict:
    """The only map of a table with two dimensions."""
    assert shown is not None
    assert len(shown["slices"]) == 1
    return shown["slices"][0]


def rows_of(drawn: dict) -> list[tuple]:
    return [row for group in drawn["groups"] for row in group["rows"]]


def test_a_large_map_is_cut_and_says_so():
    table = crossed(500, 100)
    problem = sensitive(table, [])
    protection = suppressing(problem)
    drawn = only(view.status_map(protection, audit(problem, protection)))
    assert len(rows_of(drawn)) == 400
    assert len(drawn["columns"]) == 80
    assert drawn["notes"] == ["The first 400 of 501 rows are shown.", "The first 80 of 101 columns are shown."]


def test_the_map_marks_every_status():
    table = crossed(2, 2)
    keep = np.array([table.label(i) != "a1 × b1" for i in range(len(table))])
    table = Table.from_cells(table.dimensions, table.codes[:, keep], [30, 20, 10, 20, 10, 10, 10, 10])
    problem = sensitive(table, [table.index("a0 × b0")])
    protection = suppressing(problem, "a0 × b1")
    drawn = only(view.status_map(protection, audit(problem, protection)))
    marks = {tip: mark for _, _, _, cells in rows_of(drawn) for mark, tip in cells}
    assert marks["a0 × b0: primary, 10, exposed"] == "p x"
    assert marks["a0 × b1: secondary, 10"] == "s"
    assert marks["a1 × b1: empty"] == "e"
    assert marks["Total × Total: published, 30"] == "o"


@pytest.mark.parametrize(
    ("sizes", "rows", "columns", "slices"),
    [((3,), 4, 1, 1), ((3, 2), 4, 3, 1), ((3, 2, 2), 4, 3, 3), ((2, 2, 1, 2), 3, 3, 6)],
)
def test_any_number_of_dimensions_has_maps(sizes, rows, columns, slices):
    problem = sensitive(crossed(*sizes), [])
    protection = suppressing(problem)
    checked = audit(problem, protection)
    shown = view.status_map(protection, checked)
    assert shown is not None
    assert len(shown["slices"]) == slices
    assert sum(drawn["cells"] for drawn in shown["slices"]) == len(problem)
    for drawn in shown["slices"]:
        assert len(rows_of(drawn)) == rows
        assert len(drawn["columns"]) == columns
    page = render_report(problem, protection, checked)
    assert page.count("<details") == (slices if slices > 1 else 0)
    assert ("<b>dim2 Total</b> 0 of 12 cells suppressed" in page) == (len(sizes) == 3)


def test_what_does_not_fit_on_the_page_across_goes_down():
    shown = view.status_map(
        protection := suppressing(sensitive(crossed(3, 90), [])), audit(protection.problem, protection)
    )
    assert shown is not None
    assert (shown["down"], shown["across"]) == ("dim1", "dim0")
    assert len(rows_of(only(shown))) == 91


def test_maps_that_are_not_drawn_are_counted(monkeypatch):
    monkeypatch.setattr(maps, "MAX_SQUARES", 20)
    problem = sensitive(crossed(3, 2, 4), [])
    protection = suppressing(problem)
    shown = view.status_map(protection, audit(problem, protection))
    assert shown is not None
    assert (len(shown["slices"]), shown["left"]) == (2, 3)
    assert "3 more are not drawn" in render_report(problem, protection, audit(problem, protection))


def test_groups_of_many_rows_begin_closed_and_say_how_much_they_hide(monkeypatch):
    monkeypatch.setattr(maps, "MAX_OPEN_ROWS", 3)
    nace = Hierarchy.from_pairs([("A", None), ("B", None), ("A1", "A"), ("A2", "A"), ("B1", "B")])
    table = Table.from_cells({"nace": nace}, np.arange(len(nace))[None], [35.0, 30, 5, 10, 20, 5])
    problem = sensitive(table, [table.index("A1")])
    protection = suppressing(problem, "A2")
    page = render_report(problem, protection, audit(problem, protection))
    assert page.count('<input type="checkbox">') == 2
    assert "2 suppressed" in page
    monkeypatch.setattr(maps, "MAX_OPEN_ROWS", 100)
    assert render_report(problem, protection, audit(problem, protection)).count('<input type="checkbox" checked>') == 2


def blurred(problem: Problem) -> Protection:
    """The first cell adjusted, the second told as an interval, the third suppressed."""
    value = problem.table.value
    published, lower, upper = value.copy(), value.copy(), value.copy()
    cells = [problem.table.index(label) for label in ("a0 × b0", "a0 × b1", "a1 × b0")]
    published[cells] = value[cells[0]] + 1, np.nan, np.nan
    lower[cells] = value[cells[0]] - 3, value[cells[1]] - 4, -np.inf
    upper[cells] = value[cells[0]] + 5, value[cells[1]] + 4, np.inf
    return publish_intervals(problem, published, lower, upper, cost=1.0)


def test_adjusted_cells_and_intervals_are_shown_as_what_they_are():
    problem = sensitive(crossed(3, 4), [])
    protection = blurred(problem)
    drawn = only(view.status_map(protection, audit(problem, protection)))
    marks = {tip: mark for _, _, _, cells in rows_of(drawn) for mark, tip in cells}
    assert marks["a0 × b0: adjusted, 10 published as 11 (7 to 15)"] == "a"
    assert marks["a0 × b1: secondary, 10 (6 to 14)"] == "s i"
    assert marks["a1 × b0: secondary, 10"] == "s"
    shown = published_intervals(protection)
    assert [(row["label"], row["lower"], row["upper"]) for row in shown["rows"]] == [
        ("a0 × b0", 7.0, 15.0),
        ("a0 × b1", 6.0, 14.0),
    ]
    text = text_of(render_report(problem, protection, audit(problem, protection)))
    assert "Published intervals and adjusted values" in text
    assert "a0 × b1 10 – 6 14" in text
    assert "suppressed, with an interval" in text


def test_which_cells_protect_which_is_read_from_the_relations(square):
    problem, protection, checked = square
    found = protecting_cells(protection, problem.primaries.tolist())
    assert found is not None
    (row,) = found["rows"]
    assert row["label"] == "a0 × b0"
    assert {total: [name for name, _ in names] for total, names, _ in row["sums"]} == {
        "a0 × Total": ["a0 × b1"],
        "Total × b0": ["a1 × b0"],
    }
    assert (found["groups"], found["largest"]) == (1, 4)
    assert (found["indirect"], found["needless"]) == (1, 0)
    assert sorted(found["busiest"]) == [("a0 × b1", 1), ("a1 × b0", 1)]
    assert "1 secondary cells share no total with a primary cell" in text_of(
        render_report(problem, protection, checked)
    )


def test_hidden_cells_apart_from_all_primaries_are_called_idle(square):
    problem = square[0]
    found = protecting_cells(
        suppressing(problem, "a0 × b1", "a1 × b0", "a1 × b1", "a2 × b2", "a2 × b3"), problem.primaries.tolist()
    )
    assert found is not None
    assert (found["groups"], found["needless"]) == (2, 2)
    assert protecting_cells(suppressing(sensitive(problem.table, [])), []) is None


def test_attacks_that_were_tried_are_listed_if_handed_in(square):
    assert "<h2>Attacks</h2>" not in render_report(*square)
    tried = run(square[1], ["exact", "fit", "shrink"])
    page = render_report(*square, attacks=tried)
    assert page.count("✓ yes") == 2
    assert "No sensitive cell inferred more closely than allowed." in page
    assert "Not run: " in page
    bare = suppress(square[0], np.isin(np.arange(len(square[0])), square[0].primaries))
    page = render_report(square[0], bare, audit(square[0], bare), attacks=run(bare, ["exact"]))
    assert page.index("Attacks compromise 1 sensitive cell") < page.index("Exposed to")  # it comes first
    assert "✕ no" in page
    assert "inferred more closely than allowed." in page


def test_a_table_without_dimensions_has_no_map():
    """A JJ file: named cells and equations."""
    relations = from_equations([([1, 2, 0], [1, 1, -1])], 3)
    table = Table({}, np.zeros((0, 3), np.int32), [30.0, 10.0, 20.0], relations, names=("0", "1", "<2>"))
    problem = sensitive(table, [1])
    protection = suppressing(problem, "<2>")
    page = render_report(problem, protection, audit(problem, protection))
    assert "Safe against" in page
    assert "The table by status" not in page
    assert "Information lost" not in page
    assert view.tiles(protection)[4][1] == "100 %"


def test_nothing_sensitive_and_nothing_hidden():
    problem = sensitive(crossed(3, 4), [])
    protection = suppressing(problem)
    text = text_of(render_report(problem, protection, audit(problem, protection)))
    assert "Safe" in text
    assert "there is nothing to protect" in text
    assert "no interval to check" in text


def test_a_table_of_zeros_loses_no_value():
    problem = sensitive(crossed(2, 2, fill=0.0), [])
    protection = suppressing(problem)
    assert view.losses(protection)[0]["rows"][0]["value"] is None
    assert "Value suppressed –" in text_of(render_report(problem, protection, audit(problem, protection)))


def test_losses_follow_the_hierarchy_to_the_level_below_the_total():
    nace = Hierarchy.from_pairs([("A", None), ("B", None), ("A1", "A"), ("A2", "A"), ("B1", "B")])
    codes = np.arange(len(nace))[None]
    table = Table.from_cells({"nace": nace}, codes, [35.0, 30, 5, 10, 20, 5])
    problem = sensitive(table, [table.index("A1")])
    (loss,) = view.losses(suppressing(problem, "A2", "A"))
    assert [(r["code"], r["suppressed"], r["cells"], r["value"]) for r in loss["rows"]] == [
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
    (loss,) = view.losses(suppressing(problem))
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
    problem, *_ = square
    table = problem.table.with_columns(top=np.stack([problem.table.value, np.zeros(len(problem.table))], axis=1))
    problem = problem.with_columns(table=table, rules=("P(15)",))
    protection = suppressing(problem, "a0 × b1", "a1 × b0", "a1 × b1")
    seen = audit_respondents(problem, protection)
    audited = audit(problem, protection)
    page = render_report(problem, protection, audited, seen)
    assert len(seen.respondents) == 1
    assert "Exposed: 1 of 1 respondent who need protection" in page
    assert seen.respondents[0] not in page
    with pytest.raises(TableError, match="No report: the audit is about another protection"):
        render_report(problem, suppressing(problem, "a0 × b2", "a1 × b0", "a1 × b2"), audited, seen)
    safe = view.respondents_verdict(replace(seen, exposed=()), protection)
    assert [kind for kind, *_ in safe] == ["safe"]
    assert view.respondents_verdict(None, protection) == []


# -- the shareable edition ------------------------------------------------------------------------------------------


def ways_to_write(x: float) -> set[str]:
    """A number in all usual formattings, with at least five digits so that a match is no accident."""
    texts = {
        words.number(x),
        repr(x),
        f"{x:g}",
        f"{x:.0f}",
        f"{x:.1f}",
        f"{x:.2f}",
        f"{x:,.0f}",
        f"{x:,.1f}",
        f"{x:,.2f}",
    }
    texts |= {f"{x / 1e3:.3f}", f"{x / 1e3:.1f}", f"{x / 1e6:.6f}", f"{x:.3e}", f"{x:.6e}", f"{100 * x:.0f}"}
    texts |= {text.replace(",", sign) for text in texts for sign in (" ", ".", "'", "\u202f", "\xa0", "")}
    return {text for text in texts if sum(c.isdigit() for c in text) >= 5}


def found_in(page: str, numbers: list[float]) -> list[str]:
    texts = {text for number in numbers for text in ways_to_write(number)}
    near = [text for text in texts if text in page]
    return [text for text in near if re.search(rf"(?<![0-9a-f]){re.escape(text)}(?![0-9a-f])", page)]


def random_case(seed: int) -> tuple[Problem, Protection, Audit]:
    """Levels, costs and values that nobody would hit by chance."""
    rng = np.random.default_rng(seed)
    trees = {"row": random_hierarchy(rng, 6, levels=2), "column": random_hierarchy(rng, 5)}
    trees |= {"time": random_hierarchy(rng, 2)} if seed % 2 else {}
    shape = [len(tree) for tree in trees.values()]
    codes = np.indices(shape).reshape(len(shape), -1)
    base = np.where(
        np.all([tree.is_leaf[c] for tree, c in zip(trees.values(), codes, strict=True)], axis=0),
        rng.integers(100_000, 9_999_999, codes.shape[1]),
        0,
    ).astype(float)
    grid = base.reshape(shape)
    for axis, tree in enumerate(trees.values()):
        grid = np.moveaxis(grid, axis, 0)
        leaf, above = tree.ancestors
        added = np.zeros_like(grid)
        np.add.at(added, above, grid[leaf])
        grid = np.moveaxis(added, 0, axis)
    table = Table.from_cells(trees, codes, grid.ravel(), response="turnover")
    n = len(table)
    inner = np.flatnonzero(table.is_base)
    primary = np.isin(np.arange(n), rng.choice(inner, 4, replace=False))
    problem = Problem(
        table,
        status=np.where(primary, Status.PRIMARY, Status.FREE),
        cost=np.round(rng.uniform(1e4, 1e6, n), 3),
        lower=primary * np.round(rng.uniform(0.1, 0.2) * table.value, 3),
        upper=primary * np.round(rng.uniform(0.1, 0.2) * table.value, 3),
        sliding=np.zeros(n),
        prior_lower=np.zeros(n),
        prior_upper=np.full(n, np.inf),
        rules=("P(13.371)", "FREQ(17,23.759)"),
        others=(Attacker("the only dairy", np.zeros(n), np.full(n, np.inf)),),
    )
    protection = protect(problem, "kelly", seed=90_210)
    return problem, protection, audit(problem, protection)


@pytest.mark.parametrize(("seed", "lang"), enumerate(LANGUAGES))
def test_the_shareable_edition_holds_no_value_level_cost_or_parameter(seed, lang):
    problem, protection, checked = random_case(seed)
    page = render_shareable(problem, protection, checked, title="Turnover", lang=lang)
    assert language(lang).say("the p-percent rule") in page
    suppressed = protection.suppressed
    assert suppressed.sum() > 4
    value = problem.table.value
    secrets = [
        *value[suppressed],
        *problem.cost[suppressed],
        *(column[problem.primaries] for column in (problem.lower, problem.upper)),
        *(value + problem.upper)[problem.primaries],
        *(value - problem.lower)[problem.primaries],
        *checked.lower[checked.lower > 0],
        *checked.upper[np.isfinite(checked.upper)],
        protection.report.cost,
        problem.cost[problem.primaries].sum(),
        value[suppressed].sum(),
    ]
    numbers = np.concatenate([np.atleast_1d(secret) for secret in secrets]).tolist()
    assert not found_in(page, numbers)
    assert (
        len(found_in(render_report(problem, protection, checked), numbers)) > suppressed.sum()
    )  # the search does find things
    for text in (
        "13.371",
        "13,371",
        "13.4",
        "23.759",
        "FREQ",
        "P(",
        "90210",
        "90,210",
        "dairy",
        "kelly (",
        "heuristic",
    ):
        assert text not in page
    for digest in (problem.digest, problem.table.digest, protection.digest, *checked.knowledge):
        assert digest not in page
    for word in ("primary", "secondary", "exposed", "attacker"):
        assert word not in text_of(page[page.index("<body>") :]).lower()


def without_date(page: str) -> str:
    return re.sub(r'<p class="byline">.*?</p>', "", page)


def test_readers_cannot_tell_from_it_which_hidden_cell_is_sensitive_or_what_it_holds():
    """Another primary, other suppressed values, levels, costs and parameters: if the release is the same, so is the page."""
    table, labels = crossed(3, 4), ("a0 × b0", "a0 × b1", "a1 × b0", "a1 × b1")
    other = table.value.copy()
    other[[table.index(label) for label in labels]] += [3.0, -3.0, -3.0, 3.0]
    pages = []
    for values, primary, level, rule in ((table.value, labels[0], 2.0, "P(10)"), (other, labels[3], 1.0, "P(25)")):
        given = table.with_columns(value=values, magnitude=np.abs(values))
        problem = replace(sensitive(given, [given.index(primary)], level=level), rules=(rule,))
        protection = suppressing(
            problem, *labels, method="optimal", status="optimal", bound=3.0, seed=int(level), note=rule
        )
        pages.append(without_date(render_shareable(problem, protection, audit(problem, protection))))
    assert pages[0] == pages[1]


def test_the_shareable_edition_of_an_exposed_table_is_refused(alone, square):
    with pytest.raises(NotSafeError):
        render_shareable(*alone)
    problem, protection, _ = square
    with pytest.raises(NotSafeError):
        render_shareable(problem, protection, audit(problem, protection, cells=[]))
    with pytest.raises(TableError, match="No report: the audit is about another protection"):
        render_shareable(problem, protection, alone[2])


def test_what_limits_the_promise_stands_beside_the_verdict_of_the_shareable_edition(square):
    problem, protection, checked = square
    table = problem.table.with_columns(behind_left_out=True)
    left_out = replace(problem, table=table)
    again = suppressing(left_out, *table.labels(np.flatnonzero(protection.suppressed)))
    page = text_of(render_shareable(left_out, again, audit(left_out, again)))
    rests = page[page.index("Conditions of this check") : page.index("Some cells would disclose too much")]
    assert "the cells behind them are left out: readers who use them may infer more." in rests
    assert "Not covered: respondents who use their own figures to learn about others." in rests
    assert "The check assumes readers of all published cells." in rests
    assert "behind" not in text_of(render_shareable(problem, protection, checked))


@pytest.mark.usefixtures("levels_alone")
def test_the_shareable_edition_shows_hidden_adjusted_and_intervals(tmp_path):
    problem = sensitive(crossed(3, 4), [])
    protection = blurred(problem)
    write_shareable(tmp_path / "page.html", problem, protection, audit(problem, protection), title="Für Ø")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'class="a" title="a0 × b0: published, stands for an interval"' in page
    assert 'class="h i" title="a0 × b1: suppressed, interval published"' in page
    assert 'class="h" title="a1 × b0: suppressed"' in page
    assert "Für Ø" in page
    text = text_of(page)
    assert "Suppressed 10.0 % 2 of 20" in text
    assert "Intervals 1" in text
    assert "Adjusted 1" in text
    assert text.startswith("Für Ø (shareable)")


def test_a_shareable_edition_with_nothing_hidden_and_without_dimensions(square):
    relations = from_equations([([1, 2, 0], [1, 1, -1])], 3)
    table = Table({}, np.zeros((0, 3), np.int32), [30.0, 10.0, 20.0], relations, names=("0", "1", "2"))
    problem = sensitive(table, [])
    page = render_shareable(problem, protection := suppressing(problem), audit(problem, protection))
    assert "Published 100 %" in text_of(page)
    assert "Every cell is published with its value." in page
    assert "The table by status" not in page
    for edition in (page, render_shareable(*square)):
        assert not re.search(r"(https?:)?//|<(script|link|img|iframe|object)|@import|url\(|src=|href=", edition)


def test_the_method_is_told_only_if_it_is_known(square):
    """A pattern that was read from a file does not say how it was found."""
    problem, protection, _ = square
    assert "Method</th>" not in render_shareable(*square)
    found = suppressing(problem, *problem.table.labels(np.flatnonzero(protection.suppressed)), method="kelly")
    assert "Method</th><td>kelly: " in render_shareable(problem, found, audit(problem, found))


@pytest.mark.parametrize(("method", "kind"), [("intervals", "h i"), ("small-counts", "a"), ("perturb", "a")])
def test_methods_that_hide_nothing_entirely_have_both_editions(method, kind):
    values = np.random.default_rng(1).integers(1, 30, (4, 4)).astype(float)
    table = cross_table(list("abcd"), list("wxyz"), values)
    problem = pose(table, {"a × w": 3.0})
    if method == "small-counts":
        counts = cross_table(list("abcd"), list("wxyz"), np.ceil(values / 6)).with_columns(is_count=True)
        problem = pose(counts, {})
    protection = protect(problem, method)
    checked = audit(problem, protection)
    assert checked.passed
    page = render_shareable(problem, protection, checked)
    assert f'<td class="{kind}"' in page
    assert f"Method</th><td>{method}: " in page
    assert "Published intervals and adjusted values" in render_report(problem, protection, checked)


def test_drawn_intervals_are_not_called_optimal():
    table = cross_table("abc", "xyz", [[20, 50, 10], [8, 19, 22], [17, 32, 12]])
    problem = pose(table, {"a × x": 4.0, "b × y": 3.0})
    protection = protect(problem, "intervals")
    text = text_of(render_report(problem, protection, audit(problem, protection)))
    assert "optimal" not in text
    assert "no safe result" not in text
    assert "the cheapest intervals for the positions drawn cost" in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
@pytest.mark.parametrize("sizes", [(399, 49), (24, 24, 31)])
def test_twenty_thousand_cells_open_in_two_seconds(sizes, tmp_path):
    table = crossed(*sizes, names=" manufacture of other things n.e.c.")
    assert len(table) == 20_000
    problem = sensitive(table, np.flatnonzero(table.is_base)[:500].tolist())
    protection = suppressing(problem)
    write_report(tmp_path / "report.html", problem, protection, audit(problem, protection, intervals=False))
    assert (tmp_path / "report.html").stat().st_size < 5_000_000
    assert min(load_seconds(tmp_path / "report.html") for _ in range(3)) < 2  # others may be at work here


def load_seconds(page: Path) -> float:
    """From the beginning of a frame to its load event, in a headless browser."""
    outer = page.with_name("outer.html")
    outer.write_text(
        "<!DOCTYPE html><title>?</title><script>const began = performance.now();</script>"
        f"<iframe src='{page.name}' width=1280 height=900 "
        "onload=\"document.title='took ' + (performance.now() - began)\"></iframe>",
        encoding="utf-8",
    )
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--timeout=20000", "--dump-dom"]
    shown = subprocess.run(
        ["chromium", *options, outer.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    found = re.search(r"<title>took ([\d.]+)", shown.stdout)
    assert found, "the page did not load"
    return float(found[1]) / 1000
