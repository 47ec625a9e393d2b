"""JJ files: what is written is read back to the last digit, and what is wrong is found on its line."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.relations import from_equations
from discreet.data.table import Table
from discreet.errors import DiscreetError, FormatError, TableError
from discreet.io import read_problem, write_problem
from discreet.io.jj import LETTERS
from discreet.problem import Problem, Status
from discreet.testing import random_hierarchy, random_linked_table, random_problem, random_table

# A total and its two parts, with every status but "m".
SMALL = """\
0
3
0 731.5 731.5 z 0 1000 0 0 0
1 229.25 10 u 0 1000 22.5 23.5 0
2 502.25 20 s 0 1000 0 0 0
1
0 3 : 0 (-1) 1 (1) 2 (1)
"""
SECRETS = ("731", "229", "502", "22.5", "23.5")


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    def write(text: str | bytes, name: str = "problem.jj") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refuse(path: Path, kind: type[DiscreetError], message: str) -> DiscreetError:
    """The error, after a look at whether it gives away a value."""
    with pytest.raises(kind, match=message) as error:
        read_problem(path)
    message = str(error.value).replace(str(path), "") + repr(error.value.offenders)
    for secret in SECRETS:
        assert secret not in message
    return error.value


def assert_same(one: Problem, other: Problem) -> None:
    for name in ("status", "cost", "lower", "upper", "sliding", "prior_lower", "prior_upper"):
        assert getattr(one, name).tolist() == getattr(other, name).tolist(), name
    assert one.table.value.tolist() == other.table.value.tolist()
    assert one.table.rhs.tolist() == other.table.rhs.tolist()
    assert one.table.relations.shape == other.table.relations.shape
    for part in ("indptr", "indices", "data"):
        assert getattr(one.table.relations, part).tolist() == getattr(other.table.relations, part).tolist()


# -- there and back --------------------------------------------------------------------------------------------


def test_a_small_file(file):
    problem = read_problem(file(SMALL))
    assert problem.table.labels() == ["0", "1", "2"]
    assert problem.table.value.tolist() == [731.5, 229.25, 502.25]
    assert problem.status.tolist() == [Status.PUBLISHED, Status.PRIMARY, Status.FREE]
    assert problem.cost.tolist() == [731.5, 10, 20]
    assert (problem.lower[1], problem.upper[1], problem.sliding[1]) == (22.5, 23.5, 0)
    assert problem.prior_upper.tolist() == [1000] * 3
    assert problem.table.relations.toarray().tolist() == [[-1, 1, 1]]
    assert problem.rules == ()


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(["flat", "trees", "linked"]), st.sampled_from([".jj", ".jj.gz"]))
def test_random_problems_survive_the_journey(tmp_path_factory, seed, kind, suffix):
    rng = np.random.default_rng(seed)
    if kind == "flat":
        table = random_table(rng, [3, 3], negative=0.2)
    elif kind == "trees":
        table = random_table(rng, [random_hierarchy(rng, 4, levels=2, trees=2), 2])
    else:
        table = random_linked_table(rng)
    problem = random_problem(rng, table, sliding=True, prior="mixed", already_suppressed=0.1)
    folder = tmp_path_factory.mktemp("jj")
    write_problem(problem, folder / f"one{suffix}")
    again = read_problem(folder / f"one{suffix}")
    assert_same(problem, again)
    assert again.table.labels() == [str(i) for i in range(len(table))]
    write_problem(again, folder / f"two{suffix}")
    assert (folder / f"two{suffix}").read_bytes() == (folder / f"one{suffix}").read_bytes()
    assert read_problem(folder / f"two{suffix}").digest == again.digest


numbers = st.floats(-1e15, 1e15)
levels = st.floats(0, 1e15)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(numbers, levels, levels, levels, levels, st.floats(0, np.inf), st.floats(0, np.inf)),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_every_number_is_read_back_as_written(tmp_path_factory, cells, data):
    """Whole or not, tiny or 1e15, with bounds or without."""
    value, cost, lower, upper, sliding, below, above = np.array(cells).T
    n = len(value)
    weights = [data.draw(st.sampled_from([-1.0, 1.0, 2.0, 0.5])) for _ in range(n)]
    relations = from_equations([(range(n), weights)], n)
    names = tuple(f"cell:{i}-é" for i in range(n))
    table = Table({}, [], value, relations, names=names, rhs=relations @ value)
    far = 1e30  # bounds from here on are no bounds
    problem = Problem(
        table,
        status=np.array([data.draw(st.sampled_from(list(Status))) for _ in range(n)]),
        cost=cost,
        lower=lower,
        upper=upper,
        sliding=sliding,
        prior_lower=np.where(below < far / 2, value - below, -np.inf),
        prior_upper=np.where(above < far / 2, value + above, np.inf),
    )
    path = tmp_path_factory.mktemp("jj") / "p.jj"
    write_problem(problem, path)
    again = read_problem(path)
    assert_same(problem, again)
    assert again.table.names == names


@pytest.mark.parametrize("value", [1e15, 1e15 - 0.125, 123456789012345.67, 0.1, 1e-12, 3e20, -7.0])
def test_large_and_small_values(tmp_path, value):
    table = Table({}, [], [value, value], from_equations([([0, 1], [-1, 1])], 2), names=("a", "b"))
    free = np.zeros(2)
    problem = Problem(table, free, [abs(value)] * 2, free, free, free, [-np.inf] * 2, [np.inf] * 2)
    write_problem(problem, tmp_path / "p.jj")
    assert_same(problem, read_problem(tmp_path / "p.jj"))


def test_no_bound_is_written_as_a_large_number(tmp_path):
    """JJ has no word for infinity, and other programs stumble over one."""
    table = Table({}, [], [5], from_equations([], 1), names=("a",))
    problem = Problem(table, [0], [1], [0], [0], [0], [-np.inf], [np.inf])
    write_problem(problem, tmp_path / "p.jj")
    assert (tmp_path / "p.jj").read_text() == "0\n1\na 5 1 s -1e+30 1e+30 0 0 0\n0\n"


@pytest.mark.parametrize("bounds", ["-inf inf", "-1e30 1e30", "-1E+99 Infinity"])
def test_no_bound_may_be_written_in_other_ways(file, bounds):
    problem = read_problem(file(f"0\n1\na 5 1 s {bounds} 0 0 0\n0\n"))
    assert (problem.prior_lower[0], problem.prior_upper[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("a", "b-1", "c:2"), True),
        (("Ä", "7", "-"), True),
        (("a 1", "b", "c"), False),
        (("a(1)", "b", "c"), False),
        (("", "b", "c"), False),
        (("a\u00a0", "b", "c"), False),
    ],
)
def test_ids_are_kept_if_they_are_plain_words(tmp_path, names, kept):
    table = Table({}, [], [3, 1, 2], from_equations([([0, 1, 2], [-1, 1, 1])], 3), names=names)
    nothing = np.zeros(3)
    problem = Problem(table, nothing, nothing, nothing, nothing, nothing, nothing, [9] * 3)
    write_problem(problem, tmp_path / "p.jj")
    again = read_problem(tmp_path / "p.jj")
    assert again.table.labels() == (list(names) if kept else ["0", "1", "2"])
    assert_same(problem, again)


def test_every_status_has_a_letter():
    assert set(LETTERS.values()) == set(Status)


def test_a_problem_without_cells(file, tmp_path):
    problem = read_problem(file("0\n0\n0\n"))
    assert len(problem) == 0
    write_problem(problem, tmp_path / "again.jj")
    assert (tmp_path / "again.jj").read_text() == "0\n0\n0\n"


# -- as others write it ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SMALL.replace(" (", "("), id="3(1)"),
        pytest.param(SMALL.replace("(", "( ").replace(")", " )"), id="3 ( 1 )"),
        pytest.param(SMALL.replace(" :", ":"), id="no blank before the colon"),
        pytest.param(SMALL.replace(" : ", " :"), id="no blank after the colon"),
        pytest.param(SMALL.replace("\n", "\r\n"), id="from Windows"),
        pytest.param("\ufeff" + SMALL, id="BOM"),
        pytest.param("\n" + SMALL.replace("\n", "\n\n") + "\n  \n", id="blank lines"),
        pytest.param(SMALL.replace(" ", "\t  "), id="tabs"),
        pytest.param(SMALL.rstrip("\n"), id="no newline at the end"),
        pytest.param(SMALL.replace("731.5 ", "7.315e2 "), id="exponents"),
        pytest.param(SMALL.replace("(1)", "(1.000)"), id="decimal coefficients"),
    ],
)
def test_the_same_problem_in_other_words(file, text):
    expected = read_problem(file(SMALL, "expected.jj"))
    assert_same(read_problem(file(text)), expected)
    assert_same(read_problem(file(gzip.compress(text.encode()), "problem.jj.gz")), expected)


@pytest.mark.parametrize("name", ["P.JJ", "P.JJ.GZ", "p.v2.jj.gz"])
def test_file_names_in_capitals_and_with_dots(tmp_path, file, name):
    problem = read_problem(file(SMALL))
    write_problem(problem, tmp_path / name)
    assert_same(read_problem(tmp_path / name), problem)
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.lower().endswith(".gz")


def test_totals_may_be_rounded_a_little(file):
    read_problem(file(SMALL.replace("731.5", "731.5005")))


# -- what is wrong ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param("0\n3\n", "1\n3\n", "line 1: a JJ file begins with a line '0'", id="first line"),
        pytest.param("0\n3\n", "\n\n3\n", "line 3: a JJ file begins with a line '0'", id="first line missing"),
        pytest.param("\n3\n", "\nthree\n", "line 2: expected the number of cells", id="count in words"),
        pytest.param("\n3\n", "\n3.0\n", "line 2: expected the number of cells", id="count not whole"),
        pytest.param("\n3\n", "\n-3\n", "line 2: expected the number of cells", id="count negative"),
        pytest.param("\n3\n", "\n³\n", "line 2: expected the number of cells", id="count in superscript"),
        pytest.param("\n3\n", "\n3 3\n", "line 2: expected the number of cells", id="two counts"),
        pytest.param("\n3\n", f"\n{'9' * 5000}\n", "line 2: expected the number of cells", id="endless count"),
        pytest.param("\n3\n", "\n2\n", "line 5: expected the number of equations", id="a cell more than announced"),
        pytest.param("\n3\n", "\n4\n", "line 6: a cell has 9 fields.*found 1", id="a cell less than announced"),
        pytest.param("\n3\n", "\n999999999999999999\n", "line 6: a cell has 9 fields", id="far fewer than announced"),
        pytest.param(" 22.5 23.5 0\n", " 22.5 23.5\n", "line 4: a cell has 9 fields.*found 8", id="a field less"),
        pytest.param(" 22.5 23.5 0\n", " 22.5 23.5 0 0\n", "line 4: a cell has 9 fields.*found 10", id="a field more"),
        pytest.param("\n2 502.25", "\n1 502.25", "line 5: cell '1' occurs a second time", id="id twice"),
        pytest.param(" 10 u ", " 10 U ", "line 4: cell '1' has a status other than u, s, z or m", id="capital status"),
        pytest.param(" 10 u ", " 10 x ", "line 4: cell '1' has a status other than u, s, z or m", id="status unknown"),
        pytest.param("229.25", "229,25", "line 4: a field of cell '1' is not a number", id="decimal comma"),
        pytest.param("229.25", "nan", "line 4: a field of cell '1' is not a number", id="value NaN"),
        pytest.param("229.25", "inf", "line 4: a field of cell '1' is not a number", id="value infinite"),
        pytest.param(" 10 u", " 1O u", "line 4: a field of cell '1' is not a number", id="cost in letters"),
        pytest.param(" u 0 1000", " u nan 1000", "line 4: a field of cell '1' is not a number", id="bound NaN"),
        pytest.param("23.5", "inf", "line 4: a field of cell '1' is not a number", id="level infinite"),
        pytest.param("\n1\n0 3", "\none\n0 3", "line 6: expected the number of equations", id="equations in words"),
        pytest.param("\n1\n0 3", "\n0\n0 3", "line 7: text after the last equation", id="an equation more"),
        pytest.param("2 (1)\n", "2 (1)\nthe end\n", "line 8: text after the last equation", id="text after the end"),
        pytest.param("2 (1)", "4 (1)", "line 7: there is no cell '4'", id="unknown cell"),
        pytest.param("0 3 :", "0 2 :", "line 7: the equation announces 2 cells and lists 3", id="a term more"),
        pytest.param("0 3 :", "0 4 :", "line 7: the equation announces 4 cells and lists 3", id="a term less"),
        pytest.param("0 3 :", "0 ³ :", "line 7: an equation reads", id="number of terms in superscript"),
        pytest.param("2 (1)", "1 (1)", "line 7: a cell occurs twice", id="a cell twice in an equation"),
        pytest.param("2 (1)\n", "2\n", "line 7: the equation announces 3 cells", id="coefficient missing"),
        pytest.param("2 (1)", "2 (one)", "line 7: an equation reads", id="coefficient in words"),
        pytest.param("2 (1)", "2 (nan)", "line 7: an equation reads", id="coefficient NaN"),
        pytest.param("0 3 :", "nan 3 :", "line 7: an equation reads", id="right-hand side NaN"),
        pytest.param("0 3 :", "0 three :", "line 7: an equation reads", id="number of terms in words"),
        pytest.param("0 3 :", "0 3", "line 7: an equation reads", id="no colon"),
        pytest.param("0 3 :", "3 :", "line 7: an equation reads", id="no right-hand side"),
        pytest.param("0 3 :", "0 3 3 :", "line 7: an equation reads", id="something more before the colon"),
    ],
)  # fmt: skip
def test_mistakes_are_found_on_their_line(file, old, new, message):
    assert SMALL.count(old) == 1
    path = file(SMALL.replace(old, new))
    error = refuse(path, FormatError, message)
    assert str(path) in str(error)


@pytest.mark.parametrize("lines", range(1, 7))
def test_files_that_were_cut_off(file, lines):
    missing = [
        "the number of cells",
        "cell 1 of 3",
        "cell 2 of 3",
        "cell 3 of 3",
        "the number of equations",
        "equation 1 of 1",
    ]
    path = file("\n".join(SMALL.splitlines()[:lines]))
    refuse(path, FormatError, f"ends where {missing[lines - 1]} is expected")


@pytest.mark.parametrize("content", [b"", b"  \n\n", "\ufeff".encode()])
def test_empty_files(file, content):
    refuse(file(content), FormatError, "is empty")
    refuse(file(gzip.compress(content), "problem.jj.gz"), FormatError, "is empty")


def test_files_that_are_not_text(file):
    refuse(file(bytes(range(256))), FormatError, "cannot be read as a JJ file")
    refuse(file(b"\0" * 99), FormatError, "line 1")
    refuse(file("0\n1\nRégion 1 1 s 0 9 0 0 0\n0\n".encode("latin-1")), FormatError, "cannot be read as a JJ file")


@pytest.mark.parametrize("damage", ["none", "cut", "flipped"])
def test_archives_that_are_damaged(file, damage):
    whole = gzip.compress(SMALL.encode() * 20)
    middle = len(whole) // 2
    broken = {"none": SMALL.encode(), "cut": whole[:middle], "flipped": whole[:12] + b"\xff" * 9 + whole[21:]}
    refuse(file(broken[damage], "problem.jj.gz"), FormatError, "cannot be read as a JJ file")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FormatError, match="does not exist"):
        read_problem(tmp_path / "nowhere.jj")
    (tmp_path / "folder.jj").mkdir()
    with pytest.raises(FormatError, match="cannot be read"):
        read_problem(tmp_path / "folder.jj")


@pytest.mark.parametrize(
    ("old", "new", "message", "cells"),
    [
        ("22.5", "-22.5", "negative or infinite lower protection level", ["1"]),
        ("23.5", "-23.5", "negative or infinite upper protection level", ["1"]),
        ("23.5 0\n", "23.5 -1\n", "negative or infinite sliding protection level", ["1"]),
        (" 10 u", " -10 u", "cost that is negative", ["1"]),
        ("10 u 0 1000", "10 u 230 1000", "outside the prior bounds", ["1"]),
        ("10 u 0 1000", "10 u 0 229", "outside the prior bounds", ["1"]),
        ("10 u 0 1000", "10 u 1000 0", "outside the prior bounds", ["1"]),
        ("731.5 731.5", "731 731.5", "not additive", ["0"]),
        ("0 3 :", "-1 3 :", "not additive", ["0"]),
    ],
)
def test_problems_that_make_no_sense_are_refused_by_cell(file, old, new, message, cells):
    assert SMALL.count(old) == 1
    assert refuse(file(SMALL.replace(old, new)), TableError, message).offenders == cells
