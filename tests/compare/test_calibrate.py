"""Rules compared: FCSM Working Paper 22, chapter IV, section C, Table 1 and figures 1A to 1D."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.main import main
from discreet.compare.calibrate import calibrate
from discreet.data.tabulate import tabulate
from discreet.errors import InputError, RuleError
from discreet.io import bundle
from discreet.rules import Dominance, Percent, PriorPosterior, combine
from discreet.rules.convert import k_within, p_covering, p_within
from discreet.rules.regions import TRIANGLE, Region, area, neighbours

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    records = pd.DataFrame(
        {
            "firm": np.arange(400),
            "branch": rng.choice(list("abcdefgh"), 400),
            "region": rng.choice(["n", "<s>"], 400),
            "turnover": np.round(np.exp(rng.normal(4, 2.5, 400))),
        }
    )
    return tabulate(records, ["branch", "region"], "turnover", contributor="firm", top=3)


@pytest.mark.parametrize(
    ("p", "gain", "one", "two"),
    [(50.0, 2, 66.7, 80.0), (33.3, 3, 75.0, 85.7), (16.7, 6, 85.7, 92.3), (11.1, 9, 90.0, 94.7)],
)
def test_table_1(p, gain, one, two):
    """If one respondent has more than the first, or two more than the second, the p-percent rule calls the cell sensitive."""
    exact = 100 / gain
    assert round(exact, 1) == p
    assert (round(k_within(1, exact), 1), round(k_within(2, exact), 1)) == (one, two)
    words = neighbours(Percent(exact))
    found = [round(float(k), 1) for k in re.findall(r"NK\(\d,([\d.]+)\)", words["covers"])]
    assert found == [one, two]
    assert words["information gain q/p"] == str(gain)
    both = Region.of(f"NK(1,{k_within(1, exact) + 1e-7})|NK(2,{k_within(2, exact) + 1e-7})")
    assert Region((Percent(exact),)).covers(both)


def test_the_rules_that_go_with_2_85():
    words = neighbours(Dominance(2, 85))
    assert round(p_within(2, 85), 2) == 17.65
    assert round(p_covering(2, 85), 2) == 35.29
    assert round(k_within(1, p_covering(2, 85)), 2) == 73.91
    assert (
        words["covers"] == "P(17.647)"
    )  # rounded down, and the next ones up: what is said holds for the rounded numbers
    assert words["covered by"] == "P(35.2942)"
    assert words["same corner as"].startswith("NK(1,73.9131)")
    assert Region.of("NK(2,85)").covers(Region.of("P(17.647)"))
    assert not Region.of("NK(2,85)").covers(Region.of("P(17.6472)"))
    assert Region.of("P(35.2942)").covers(Region.of("NK(1,73.9131)|NK(2,85)"))
    assert not Region.of("P(35.294)").covers(Region.of("NK(2,85)"))


def test_1_75_covers_no_p_percent_rule():
    """By the formula p would be −66.7."""
    assert neighbours(Dominance(1, 75))["covers"] == "no p-percent rule"
    assert neighbours(Dominance(1, 40))["covered by"] == "no p-percent rule"


@pytest.mark.parametrize(
    ("rules", "pairs"),
    [
        (["NK(1,75)", "NK(2,85)"], []),
        (["P(17.64)", "P(35.3)"], [("P(35.3)", "P(17.64)")]),
        (["NK(2,85)", "P(17.64)"], [("NK(2,85)", "P(17.64)")]),
        (["P(35.3)", "NK(2,85)", "NK(1,75)"], [("P(35.3)", "NK(2,85)"), ("P(35.3)", "NK(1,75)")]),
        (["P(40)", "PQ(20,50)"], [("P(40)", "PQ(20,50)"), ("PQ(20,50)", "P(40)")]),
    ],
)
def test_which_covers_which_in_figures_1a_to_1d(rules, pairs):
    assert sorted(calibrate(rules).covers()) == sorted(pairs)


RULES = st.one_of(
    st.floats(1, 99).map(Percent),
    st.tuples(st.sampled_from([1, 2]), st.floats(5, 95)).map(lambda a: Dominance(*a)),
    st.tuples(st.floats(1, 49), st.floats(50, 100)).map(lambda a: PriorPosterior(*a)),
)
POINTS = [(x, y) for x in np.linspace(0.5, 100, 80) for y in np.linspace(0, 50, 40) if y <= min(x, 100 - x)]


@given(st.lists(RULES, min_size=1, max_size=3), st.lists(RULES, min_size=1, max_size=2))
def test_covering_is_seen_at_every_point_of_the_triangle(ones, others):
    one, other = Region(tuple(ones)), Region(tuple(others))

    def hit(region, slack):
        return np.array([any(a * x + b * y > c + slack for a, b, c in region.lines) for x, y in POINTS])

    if one.covers(other):
        assert np.all(hit(one, -1e-6) | ~hit(other, 0))
    elif not one.rest():
        pytest.fail("what calls everything sensitive covers everything")
    assert 0 <= one.share() <= 1


def test_areas():
    assert area(TRIANGLE) == 2500
    assert Region.of("NK(1,50)").share() == pytest.approx(0.5)
    assert area(Region.of("NK(2,80)").rest()) == pytest.approx(1600)


@pytest.mark.parametrize("rule", ["FREQ(3)", "REQ(30)", "NK(3,85)", "P(10,2)", "PQ(10,50,2)"])
def test_rules_that_the_two_largest_shares_do_not_decide_are_refused_without_their_numbers(rule):
    with pytest.raises(RuleError, match="The two largest shares") as caught:
        calibrate([rule])
    assert not re.search(r"\d{2}", str(caught.value))


def test_rules_are_given_once_and_at_all():
    for rules in ([], ["P(10)", "P(10)"]):
        with pytest.raises(RuleError, match="Give one or more rules to compare, each of them once"):
            calibrate(rules)
    with pytest.raises(RuleError, match=r"give at least one, e.g"):
        Region(())


def test_cells_are_judged_by_the_rules_themselves(table):
    found = calibrate(["P(10)", "NK(1,75)|NK(2,85)"], table)
    assert found.sensitive() == {
        "P(10)": int(Percent(10)(table).sensitive.sum()),
        "NK(1,75)|NK(2,85)": int(combine([Dominance(1, 75)(table), Dominance(2, 85)(table)]).sensitive.sum()),
    }
    cells = found.cells
    assert cells is not None
    assert (cells.z1 >= cells.z2).all()
    assert (cells.z1 + cells.z2 <= 100 + 1e-9).all()
    for region in found.regions:
        (*_,) = region.lines
        by_line = np.any([a * cells.z1 + b * cells.z2 > c + 1e-9 for a, b, c in region.lines], axis=0)
        assert (by_line == cells[str(region)]).all()
    assert found.frame()["sensitive cells"].tolist() == list(found.sensitive().values())
    assert calibrate("P(10)").sensitive() == {}
    assert repr(found) == f"Calibration(2 rules and {len(cells)} cells)"


def test_a_table_without_two_contributions_is_refused(table):
    with pytest.raises(InputError, match="Tabulate it with top = 2 or more"):
        calibrate(["P(10)"], table.with_columns(top=table.top[:, :1], top_contributor=table.top_contributor[:, :1]))


def test_the_drawing_is_valid_and_needs_nothing_else(table):
    found = calibrate(["P(10)", "NK(1,75)|NK(2,85)"], table)
    drawing = found.svg("Rules & <cells>")
    tree = ET.fromstring(drawing)
    assert tree.find(f"{SVG}title").text == "Rules & <cells>"
    circles = tree.findall(f"{SVG}circle")
    assert 0 < len(circles) - 2 <= len(found.cells)  # two are in the legend
    titles = "".join(circle.findtext(f"{SVG}title") or "" for circle in circles)
    assert "<s>" in titles
    texts = [text.text for text in tree.findall(f"{SVG}text")]
    for expected in ("P(10)", "NK(1,75)|NK(2,85)", "Rules & <cells>"):
        assert expected in texts
    assert not re.search(r"href|url\(|<script|@import", drawing)


def test_regions_are_drawn_where_they_are():
    """Figure 1A: (1,75) is a vertical line through 75 percent."""
    tree = ET.fromstring(calibrate(["NK(1,75)"]).svg())
    edges = [path.get("d") for path in tree.findall(f"{SVG}path") if path.get("stroke-width") == "2.2"]
    numbers = [float(number) for number in re.findall(r"[\d.]+", edges[0])]
    assert numbers[0] == numbers[2]
    ticks = {t.text: float(t.get("x")) for t in tree.findall(f"{SVG}text") if t.get("text-anchor") == "middle"}
    assert numbers[0] == pytest.approx((ticks["70"] + ticks["80"]) / 2, abs=0.1)


def test_the_page_and_the_files(table, tmp_path):
    found = calibrate(["P(10)", "NK(2,85)"], table)
    found.write(tmp_path / "rules.svg", "Rules")
    found.write(tmp_path / "rules.html")
    page = (tmp_path / "rules.html").read_text(encoding="utf-8")
    assert "CONFIDENTIAL" in page
    assert "shares of respondents" in page
    assert "NK(2,85) covers P(10)" in page
    assert "shares of respondents" not in calibrate(["P(10)", "NK(1,40)"]).html()
    assert "no rule covers another" in calibrate(["NK(1,75)", "NK(2,85)"]).html()
    ET.parse(tmp_path / "rules.svg")
    with pytest.raises(InputError, match=r"a drawing of rules ends in \.svg or \.html"):
        found.write(tmp_path / "rules.png")


def discreet(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return stopped.value.code or 0


def test_the_command(table, tmp_path, monkeypatch, capsys):
    bundle.write_table(table, tmp_path / "table.discreet")
    out = tmp_path / "rules.svg"
    assert (
        discreet(monkeypatch, "calibrate", "NK(2,85)", "P(10)", "--table", tmp_path / "table.discreet", "--out", out)
        == 0
    )
    said = capsys.readouterr().out
    assert "P(35.2942)" in said
    assert "NK(2,85) covers P(10)" in said
    assert f"of {int((table.magnitude > 0).sum())} cells" in said
    assert out.read_text(encoding="utf-8").startswith("<svg")
    assert discreet(monkeypatch, "calibrate", "FREQ(3)") == 2
    assert discreet(monkeypatch, "calibrate", "P(10)", "--out", tmp_path / "rules.png") == 2
    assert discreet(monkeypatch, "calibrate", "P(10)|NK(1,80)") == 0


def test_what_covers_is_a_partial_order():
    regions = [Region.of(rule) for rule in ("P(5)", "P(40)", "NK(1,60)", "NK(2,85)", "NK(1,75)|NK(2,85)")]
    assert all(region.covers(region) for region in regions)
    for a, b, c in permutations(regions, 3):
        assert a.covers(c) or not (a.covers(b) and b.covers(c))
