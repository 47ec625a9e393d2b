"""Suppression patterns as files: one line a cell, and no cell forgotten."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.audit import audit
from discreet.data.hierarchy import LABEL_SEPARATOR, Hierarchy
from discreet.data.table import Table
from discreet.errors import FormatError, InputError, TableError
from discreet.io.pattern import read_pattern, write_pattern
from discreet.problem import Problem
from discreet.protection import publish_intervals, suppress
from discreet.testing import cross_table, pose, suppressing

SMALL = cross_table(["A", "B"], ["I", "II"], [[731, 229], [502, 617]])
PROBLEM = pose(SMALL, {"A × I": 50.0})
LINES = ["cell,status", *(f"{label},published" for label in SMALL.labels())]


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str | bytes) -> Path:
        path = tmp_path / "pattern.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_pattern_tells_primaries_from_secondaries(tmp_path):
    write_pattern(suppressing(PROBLEM, "A × II", "B × I", "B × II"), tmp_path / "pattern.csv")
    assert (tmp_path / "pattern.csv").read_text(encoding="utf-8").splitlines() == [
        "cell,status",
        "Total × Total,published",
        "Total × I,published",
        "Total × II,published",
        "A × Total,published",
        "A × I,primary",
        "A × II,secondary",
        "B × Total,published",
        "B × I,secondary",
        "B × II,secondary",
    ]


def test_a_pattern_holds_no_value(tmp_path):
    write_pattern(suppressing(PROBLEM), tmp_path / "pattern.csv")
    text = (tmp_path / "pattern.csv").read_text(encoding="utf-8")
    assert not any(f"{value:g}" in text for value in SMALL.value)


# A lone carriage return is the one thing that csv, up to Python 3.12, does not put in quotes.
# Tables refuse codes that contain the separator of labels.
labels = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=6).filter(
    lambda code: LABEL_SEPARATOR not in code
)


@settings(deadline=None)
@given(st.lists(labels, min_size=1, max_size=6, unique=True), st.data())
def test_any_pattern_of_any_labels_is_read_back(tmp_path_factory, codes, data):
    """Commas, quotes, line breaks, blanks: whatever codes are called."""
    flat = Hierarchy.flat(codes, total="the total of all")
    n = len(flat)
    table = Table.from_cells({"d": flat}, range(n), [n - 1, *[1] * (n - 1)])
    suppressed = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    free = np.zeros(n)
    problem = Problem(table, free, free, free, free, free, free, np.full(n, np.inf))
    path = tmp_path_factory.mktemp("pattern") / "pattern.csv"
    write_pattern(suppress(problem, suppressed), path)
    assert read_pattern(problem, path).suppressed.tolist() == suppressed.tolist()


@pytest.mark.parametrize("word", ["primary", "secondary"])
def test_primary_and_secondary_cells_are_suppressed(file, word):
    path = file("\n".join(LINES).replace("A × I,published", f"A × I,{word}"))
    assert np.flatnonzero(read_pattern(PROBLEM, path).suppressed).tolist() == [SMALL.index("A × I")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff" + "\r\n".join(LINES), id="from Windows, with a BOM"),
        pytest.param("\n\n".join(LINES) + "\n\n", id="blank lines"),
        pytest.param("\n".join([" cell , status ", *LINES[:0:-1]]), id="in another order"),
        pytest.param("\n".join(f'"{line}"'.replace(",", '","') for line in LINES), id="all in quotes"),
    ],
)
def test_patterns_as_others_write_them(file, text):
    assert not read_pattern(PROBLEM, file(text)).suppressed.any()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "first line must name the columns 'cell', 'status'", id="empty"),
        pytest.param("\n".join(LINES[1:]), "first line must name the columns 'cell', 'status'", id="no header"),
        pytest.param("cell;status\nA;published", "line 2: There is no cell 'A'", id="semicolons"),
        pytest.param("\n".join([*LINES, "C × I,published"]), "line 11: There is no cell 'C × I'", id="unknown"),
        pytest.param("\n".join([*LINES, LINES[3]]), "line 11: cell 'Total × II' occurs twice", id="twice"),
        pytest.param("\n\n".join([*LINES, LINES[3]]), "line 21: cell 'Total × II' occurs twice", id="blank lines"),
        pytest.param("\n".join(LINES[:-2]), "2 cells of the problem are missing.*'B × I', 'B × II'", id="missing"),
        pytest.param("cell,status", "9 cells of the problem are missing", id="only a header"),
        pytest.param("\n".join([*LINES[:4], "A × Total"]), "line 5: expected 2 fields, found 1", id="a field less"),
        pytest.param("\n".join([*LINES[:4], LINES[4] + ",x"]), "line 5: expected 2 fields, found 3", id="a field more"),
        pytest.param("cell,status\nA × I,hidden", "line 2: expected a cell and one of", id="unknown word"),
        pytest.param("cell,status\nA × I,", "line 2: expected a cell and one of", id="no word"),
        pytest.param("cell,status\nA × I,731", "line 2: expected a cell and one of", id="a value"),
        pytest.param('cell,status\n"A' + "x" * 200_000, "cannot be read", id="a quote that is never closed"),
        pytest.param("cell,status\nR\xe9gion,primary".encode("latin-1"), "no cell 'Région'", id="latin-1"),
        pytest.param(bytes(range(128, 256)), "cannot be read", id="binary"),
    ],
)  # fmt: skip
def test_mistakes_are_found_on_their_line(file, text, message):
    path = file(text)
    with pytest.raises(InputError, match=message) as error:
        read_pattern(PROBLEM, path)
    assert str(path) in str(error.value)
    assert not any(f"{value:g}" in str(error.value).replace(str(path), "") for value in SMALL.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        read_pattern(PROBLEM, tmp_path / "nowhere.csv")
    with pytest.raises(FormatError, match="cannot be read"):
        read_pattern(PROBLEM, tmp_path)


def rounded(problem):
    """One cell a secret, one an interval, the others rounded."""
    value, labels = problem.table.value, problem.table.labels()
    published, lower, upper = np.round(value / 3) * 3, value - 2.5, value + 2.5
    published[labels.index("A × 1")], lower[labels.index("A × 1")], upper[labels.index("A × 1")] = (
        np.nan,
        -np.inf,
        np.inf,
    )
    published[labels.index("B × 2")] = np.nan
    return publish_intervals(problem, published, lower, upper, cost=7.0)


def test_other_values_and_intervals_are_read_back(tmp_path):
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5.25]]), {"A × 1": 1.0})
    given = rounded(problem)
    write_pattern(given, tmp_path / "pattern.csv")
    assert (tmp_path / "pattern.csv").read_text().splitlines()[0] == "cell,status,value,lower,upper"
    found = read_pattern(problem, tmp_path / "pattern.csv")
    assert found.digest == given.digest
    assert found.report.n_adjusted == 7
    assert audit(problem, found).passed == audit(problem, given).passed


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A × 1,primary,,,", "A × 1,primary,5,,", "cells have a value unless they are suppressed"),
        ("A × 2,adjusted,3.0", "A × 2,adjusted,", "cells have a value unless they are suppressed"),
        ("A × 2,adjusted,3.0", "A × 2,adjusted,three", "numbers, or empty"),
        ("A × 2,adjusted,3.0", "A × 2,adjusted,nan", "numbers, or empty"),
        ("A × 2,adjusted,3.0", "A × 2,rounded,3.0", "one of 'adjusted', 'primary', 'published'"),
        ("value,lower,upper", "value,low,upper", "no column 'low' in such a file. Did you mean 'lower'"),
        ("A × 2,adjusted,3.0,0.5,5.5", "A × 2,adjusted,3.0,3.5,5.5", "outside their published intervals"),
        ("A × 2,adjusted,3.0,0.5,5.5", "A × 2,adjusted,6.0,0.5,5.5", "contradict their intervals"),
    ],
)  # fmt: skip
def test_mistakes_in_intervals_are_found(tmp_path, old, new, message):
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5.25]]), {"A × 1": 1.0})
    path = tmp_path / "pattern.csv"
    write_pattern(rounded(problem), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises((FormatError, TableError), match=message):
        read_pattern(problem, path)


def test_values_that_were_adjusted_do_not_fit_a_plain_pattern(tmp_path):
    """A pattern that called them published or suppressed would be audited as something else."""
    problem = pose(cross_table("AB", "12", [[5, 3], [3, 5]]), {"A × 1": 1.0})
    (tmp_path / "pattern.csv").write_text("cell,status\n" + "".join(f"{c},adjusted\n" for c in problem.table.labels()))
    with pytest.raises(FormatError, match="line 2"):
        read_pattern(problem, tmp_path / "pattern.csv")
