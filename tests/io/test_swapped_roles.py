"""Public files tell nobody which suppressed cells are sensitive: with primaries and secondaries exchanged they are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from discreet import Layout, Presentation, ReleaseMetadata, audit, publish, write_release
from discreet.data.hierarchy import Hierarchy
from discreet.data.table import Table
from discreet.io import FORMATS, write_transmission
from discreet.problem import Problem
from discreet.protection import Protection, publish_intervals
from discreet.testing import pose, suppressing

RELEASES = [suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release")]
TOLD = Presentation(
    ReleaseMetadata(
        title="Turnover",
        unit="EUR",
        source="Survey",
        notes=("A note.",),
        agency="XX",
        dataflow="T",
        updated="2026-03-31",
    )
)
SQUARES = [("a", "c"), ("a", "d"), ("b", "c"), ("b", "d")]


def table(shift: float = 0.0) -> Table:
    """Two dimensions with labels and levels: the values of the suppressed cells differ.

    ``shift`` moves them against each other without a change of any other cell.
    """
    down = Hierarchy.from_pairs([("ab", ""), ("e", ""), ("a", "ab"), ("b", "ab")]).with_labels({"": {"a": "Alpha"}})
    across = Hierarchy.flat("cdf").with_labels({"": {"c": "Gamma"}, "de": {"c": "Gamma-de"}})
    base = {(row, column): 100.0 + 17 * i for i, (row, column) in enumerate((r, c) for r in "abe" for c in "cdf")}
    for cell, sign in zip(SQUARES, (1, -1, -1, 1), strict=True):
        base[cell] += sign * shift
    below = {"Total": "abe", "ab": "ab"} | {code: code for code in "abe"}
    beside = {"Total": "cdf"} | {code: code for code in "cdf"}
    codes = [(i, j) for i in range(len(down)) for j in range(len(across))]
    values = [sum(base[r, c] for r in below[down.codes[i]] for c in beside[across.codes[j]]) for i, j in codes]
    return Table.from_cells({"row": down, "column": across}, np.array(codes).T, np.array(values), response="turnover")


def roles(primary: list[tuple[str, str]]) -> tuple[Problem, Protection]:
    """The same pattern of four suppressed cells, for a problem in which some of them are sensitive."""
    problem = pose(table(), {" × ".join(cell): 5.0 for cell in primary})
    return problem, suppressing(problem, *(" × ".join(cell) for cell in SQUARES))


def written(primary: list[tuple[str, str]], path: Path, presentation: Presentation = TOLD) -> bytes:
    problem, protection = roles(primary)
    write_release(publish(problem, protection, audit(problem, protection), presentation=presentation), path)
    return path.read_bytes()


@pytest.mark.parametrize("suffix", RELEASES)
def test_files_do_not_depend_on_which_cells_are_sensitive(tmp_path, suffix):
    one, other = ([SQUARES[0], SQUARES[3]], [SQUARES[1], SQUARES[2]])
    decisions = [roles(primary)[1].decision.tolist() for primary in (one, other)]
    assert decisions[0] != decisions[1]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    contents = [written(primary, tmp_path / name / f"release{suffix}") for primary, name in ((one, "1"), (other, "2"))]
    assert contents[0] == contents[1]
    assert len(contents[0]) > 100


@pytest.mark.parametrize("suffix", RELEASES)
@pytest.mark.parametrize("shift", [0.5, 1 / 3, 9.0])
def test_files_do_not_depend_on_suppressed_values(tmp_path, suffix, shift):
    """Not even their number of decimals."""
    contents = []
    for moved in (0.0, shift):
        problem = pose(table(moved), {" × ".join(SQUARES[0]): 5.0})
        protection = suppressing(problem, *(" × ".join(cell) for cell in SQUARES))
        write_release(
            publish(problem, protection, audit(problem, protection), presentation=TOLD), tmp_path / f"release{suffix}"
        )
        contents.append((tmp_path / f"release{suffix}").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("suffix", RELEASES)
@pytest.mark.parametrize("lang", ["en", "de"])
def test_files_with_intervals_do_not_depend_on_which_cells_are_sensitive(tmp_path, suffix, lang):
    contents = []
    for primary in (SQUARES[::3], SQUARES[1:3]):
        problem, pattern = roles(primary)
        value, place = problem.table.value, np.arange(len(problem))
        lower, upper = (np.where(pattern.suppressed, value + end, value) for end in (-31 - place % 7, 23 + place % 5))
        published = np.where(pattern.suppressed, np.nan, value)
        protection = publish_intervals(problem, published, lower, upper, cost=0.0)
        release = publish(problem, protection, audit(problem, protection), presentation=TOLD, lang=lang)
        write_release(release, tmp_path / f"release{suffix}")
        contents.append((tmp_path / f"release{suffix}").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    "layout", [Layout(labels="instead", total="last"), Layout(labels="codes"), Layout(rows=("column",))]
)
def test_no_layout_of_the_workbook_depends_on_it(tmp_path, layout):
    presentation = Presentation(TOLD.metadata, layout)
    contents = [written(primary, tmp_path / "release.xlsx", presentation) for primary in (SQUARES[:2], SQUARES[2:])]
    assert contents[0] == contents[1]


def test_the_transmission_edition_tells_them_apart_and_is_private(tmp_path):
    for name, primary in (("one", SQUARES[:2]), ("other", SQUARES[2:])):
        problem, protection = roles(primary)
        release = publish(problem, protection, audit(problem, protection), presentation=TOLD)
        write_transmission(problem, protection, release, tmp_path / f"{name}.sdmx.csv")
    texts = [(tmp_path / f"{name}.sdmx.csv").read_text() for name in ("one", "other")]
    assert texts[0] != texts[1]
    assert texts[0].splitlines()[1] == "dataflow,XX:T(1.0),I,_T,_T,1512,A,F"
    assert sum(line.endswith(",Q,C") for line in texts[0].splitlines()) == 2
    assert sum(line.endswith(",Q,D") for line in texts[0].splitlines()) == 2
    assert (tmp_path / "one.sdmx.csv").stat().st_mode & 0o777 == 0o600
