"""What a notebook shows of each object: no value that is suppressed, and no markup from codes."""

from __future__ import annotations

import re

import numpy as np
import pytest

from discreet.audit import audit
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.display import MAX_SHOWN_COLUMNS, MAX_SHOWN_ROWS, crossed
from discreet.protection import suppress
from discreet.release import publish
from discreet.testing import cross_table, pose, suppressing

VALUES = [[41_237, 52_341, 63_451], [74_569, 85_673, 96_787], [17_891, 28_903, 39_017]]


@pytest.fixture
def made():
    table = cross_table(["<b>a", "b", "c"], ["x", "y", "z"], VALUES)
    problem = pose(table, {"<b>a × x": 1234.5}, published=["c × z"])
    protection = suppressing(problem, "<b>a × x", "<b>a × y", "b × x", "b × y")
    checked = audit(problem, protection)
    return table, problem, protection, checked, publish(problem, protection, checked, symbol="#")


def numbers(shown: str) -> set[int]:
    text = re.sub(r"<[^>]+>", " ", shown).replace(",", "")
    return {int(number) for number in re.findall(r"\d+", text)}


def test_confidential_objects_show_shapes_and_counts_only(made):
    for thing in made[:4]:
        shown = thing._repr_html_()
        assert "Confidential" in shown
        assert max(numbers(shown)) <= 16  # cells
        assert "1234" not in shown


def test_what_they_say(made):
    table, problem, protection, checked, _ = (thing._repr_html_() for thing in made)
    assert "Table: value" in table
    assert "4 codes" in table
    assert "Problem: value by row × column" in problem
    assert "to be published" in problem
    assert "secondary" in protection
    assert "Protection by" in protection
    assert "safe" in checked
    assert "exact" in checked


def test_an_exposed_audit_says_so_without_naming_cells(made):
    problem = made[1]
    alone = audit(problem, suppressing(problem, "<b>a × x"), intervals=False)
    shown = alone._repr_html_()
    assert "exposed" in shown
    assert "× x" not in shown


def test_the_release_shows_published_values_and_symbols_only(made):
    table, _, protection, _, release = made
    shown = release._repr_html_()
    assert {41_237, 52_341, 74_569, 85_673}.isdisjoint(numbers(shown))
    assert {63_451, 96_787, 17_891} <= numbers(shown)
    assert shown.count("<td") == 4 * 5
    assert shown.count(">#<") == int(protection.suppressed.sum())
    assert "# suppressed: 4 of 16 cells" in shown
    assert "<b>a" not in shown.replace("<b>Release", "")
    assert "&lt;b&gt;a" in shown
    assert set(table.value[protection.suppressed].astype(int)).isdisjoint(numbers(shown))


def test_large_releases_are_cut():
    tree = {"row": Hierarchy.flat([f"r{i}" for i in range(40)]), "column": Hierarchy.flat([f"c{i}" for i in range(30)])}
    codes = np.indices((41, 31)).reshape(2, -1)
    weight = np.where(codes[0] == 0, 40, 1) * np.where(codes[1] == 0, 30, 1)
    problem = pose(Table.from_cells(tree, codes, 2.0 * weight), {})
    protection = suppress(problem, np.zeros(len(problem), bool))
    shown = publish(problem, protection, audit(problem, protection))._repr_html_()
    assert shown.count("<td") == MAX_SHOWN_ROWS * MAX_SHOWN_COLUMNS
    assert (
        f"{41 - MAX_SHOWN_ROWS} rows more; {32 - MAX_SHOWN_COLUMNS} columns more; 1,271 cells, none suppressed" in shown
    )


def test_lists_that_are_no_cross_tables_stay_lists():
    twice = [["a", "x", "x"], ["b", "y", "y"], ["v", "1", "2"]]
    assert crossed(twice) == twice
    assert crossed([["a", "x"]]) == [["a", "x"]]
    assert crossed([["a", "x", "z"], ["b", "y", "y"], ["v", "1", "2"]]) == [["a", "x", "z"], ["y", "1", "2"]]
