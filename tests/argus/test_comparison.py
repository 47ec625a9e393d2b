"""Tables that τ-ARGUS protected, compared with the same tables here: what differs, why, and what their pattern exposes."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.helpers.argus_survey import survey

from discreet.argus.comparison import compare_result, write_report
from discreet.argus.run import run_batch
from discreet.argus.work import Work
from discreet.errors import FormatError, InputError

JOB = (
    '<OPENMICRODATA> "survey.asc"\n<OPENMETADATA> "survey.rda"\n<SPECIFYTABLE> "Size""Region"|"Turnover"\n'
    "<SAFETYRULE> P(20)|FREQ(5,30)\n<READMICRODATA>\n<SUPPRESS> MOD(1,5,1,1)\n"
)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    survey(tmp_path)
    outputs = "".join(
        f'<WRITETABLE> (1,{kind},{options},"{name}")\n'
        for kind, options, name in (
            (1, "", "cross.csv"),
            (2, "AS+", "pivot.csv"),
            (3, "SE+", "listed.txt"),
            (4, "HL+", "sbs.txt"),
            (4, "QU-", "plain.txt"),
            (5, "", "table.tab"),
            (5, "SO+", "short.tab"),
        )
    )
    (tmp_path / "job.arb").write_text(JOB + outputs)
    return run_batch(tmp_path / "job.arb", contributions=True).works[0]


@pytest.mark.parametrize(
    "name", ["cross.csv", "pivot.csv", "listed.txt", "sbs.txt", "plain.txt", "table.tab", "short.tab"]
)
def test_our_own_results_are_the_same_and_safe(work: Work, tmp_path: Path, name: str) -> None:
    found = compare_result(work, tmp_path / name)
    assert found.different == []
    assert found.passed
    assert len(found.cells) == len(work.views.table)
    assert any("no cell is exposed to readers" in line for line in found.lines())
    assert any("respondents who need protection is exposed" in line for line in found.lines())


def changed(tmp_path: Path, change: dict[tuple[str, str], str]) -> Path:
    """The pivot table with other statuses."""
    lines = (tmp_path / "pivot.csv").read_text().splitlines()
    for (size, code), status in change.items():
        at = next(k for k, line in enumerate(lines) if line.startswith(f'"{size}","{code}",'))
        lines[at] = lines[at].rpartition(",")[0] + f",{status}"
    (tmp_path / "theirs.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "theirs.csv"


def first(work: Work, decision: int, status: int | None = None) -> tuple[str, str]:
    mask = work.protection.decision == decision
    if status is not None:
        mask &= work.found.status == status
    size, code = work.views.table.label(int(np.flatnonzero(mask)[-1])).split(" × ")
    return size, code


def test_each_difference_has_its_reason(work: Work, tmp_path: Path) -> None:
    primary, secondary, frequency = first(work, 1, 3), first(work, 2), first(work, 1, 5)
    theirs = changed(tmp_path, {primary: "1", secondary: "9", frequency: "11"})
    found = {cell.label: cell for cell in compare_result(work, theirs).different}
    one = found.pop(" × ".join(primary))
    assert (one.difference, one.there) == ("suppressed here only", "safe")
    assert one.reason.startswith("here it violates P")
    two = found.pop(" × ".join(secondary))
    assert (two.difference, two.reason) == ("secondary here, primary there", "no rule of the job calls it unsafe")
    three = found.pop(" × ".join(frequency))
    assert three.difference == "primary here, secondary there"
    assert "FREQ" in three.reason
    assert found == {}


def test_a_pattern_without_secondaries_is_exposed(work: Work, tmp_path: Path) -> None:
    table = work.views.table
    secondary = {tuple(table.label(int(i)).split(" × ")): "1" for i in np.flatnonzero(work.protection.decision == 2)}
    found = compare_result(work, changed(tmp_path, secondary))  # type: ignore[arg-type]
    assert not found.passed
    assert not found.audit.passed
    assert any("exposed to readers" in line for line in found.lines())
    write_report(found, tmp_path / "report.csv")
    rows = list(csv.DictReader((tmp_path / "report.csv").open(encoding="utf-8")))
    assert {row["cell"] for row in rows if row["exposed to readers"] == "yes"} == set(found.audit.exposed)
    assert {row["difference"] for row in rows} == {"none", "suppressed here only"}
    assert (tmp_path / "report.csv").stat().st_mode & 0o077 == 0


def test_a_pattern_that_is_safe_from_readers_may_expose_respondents(work: Work, tmp_path: Path) -> None:
    """The pattern without singleton options, compared at the level of contributions."""
    (tmp_path / "cells.arb").write_text(JOB.replace("MOD(1,5,1,1)", "MOD(1)") + '<WRITETABLE> (1,3,AS+,"cells.txt")\n')
    run_batch(tmp_path / "cells.arb")
    found = compare_result(work, tmp_path / "cells.txt")
    assert found.audit.passed
    assert found.respondents is not None
    if not found.respondents.passed:
        assert found.exposed_to_respondents
        assert any("exposed to other respondents" in line for line in found.lines())


def test_other_values_and_levels(work: Work, tmp_path: Path) -> None:
    text = (tmp_path / "table.tab").read_text().splitlines()
    at = next(k for k, line in enumerate(text) if ";U;" in line)
    fields = text[at].split(";")
    text[at] = ";".join([*fields[:-1], str(float(fields[-1]) + 5)])
    text[0] = text[0].replace(text[0].split(";")[2], "1.0", 1)
    (tmp_path / "theirs.tab").write_text("\n".join(text))
    different = compare_result(work, tmp_path / "theirs.tab").different
    assert sorted(cell.difference for cell in different) == ["levels", "value"]


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", FormatError, "is empty"),
        (
            '"Total","All",5,1\n"Total","All",5,1\n',
            FormatError,
            "line 2: cell 'Total × All' occurs a second time, first in line 1",
        ),
        ('"Total","Ali",5,1\n', FormatError, "line 1: variable 'Region' has no code 'Ali'. Did you mean 'All'"),
        ('"Total","All",5,15\n', FormatError, "line 1: there is no status 15; they are 1 to 14"),
        ('"Total","All",five,1\n', FormatError, "line 1: expected a value or one of the symbols x and -"),
        ('"Total"\n', FormatError, "line 1: expected 2 codes and a value"),
        (',"All","N"\n"Total",5\n', FormatError, "line 2: the line does not fit the codes above"),
    ],
)
def test_files_that_are_none(work: Work, tmp_path: Path, text: str, kind: type[Exception], says: str) -> None:
    (tmp_path / "theirs.csv").write_text(text)
    with pytest.raises(kind, match=says):
        compare_result(work, tmp_path / "theirs.csv")


def test_cells_without_records_show_that_it_is_another_table(tmp_path: Path) -> None:
    survey(tmp_path, n=8)
    (tmp_path / "job.arb").write_text(JOB)
    work = run_batch(tmp_path / "job.arb").works[0]
    stored = set(work.views.table.labels())
    size, code = next(
        (s, c)
        for s in "1234"
        for c in ("N1", "N2", "S1", "W1")
        if f"{s} × {c}" not in stored and s in work.views.table.dimensions["Size"]
    )
    (tmp_path / "theirs.csv").write_text(f'"{size}","{code}",5.0,1\n')
    with pytest.raises(InputError, match="is empty in the job"):
        compare_result(work, tmp_path / "theirs.csv")


def test_missing_codes_without_records_are_listed_by_tau_argus(tmp_path: Path) -> None:
    """τ-ARGUS lists the missing codes of the metadata, also those that no record has; their cells are empty."""
    survey(tmp_path)
    text = (tmp_path / "survey.rda").read_text().replace("Size 8 1\n", "Size 8 1 9\n")
    (tmp_path / "survey.rda").write_text(text)
    (tmp_path / "job.arb").write_text(JOB + '<WRITETABLE> (1,2,AS+,"pivot.csv")\n<WRITETABLE> (1,1,,"cross.csv")\n')
    work = run_batch(tmp_path / "job.arb", contributions=True).works[0]
    pivot, cross = tmp_path / "pivot.csv", tmp_path / "cross.csv"
    pivot.write_text(pivot.read_text() + '"9","All",-,14\n"9","N",-,14\n')
    cross.write_text(cross.read_text().rstrip("\n") + '\n"9",' + ",".join("-" * 10) + "\n")
    assert compare_result(work, pivot).different == compare_result(work, cross).different == []
    pivot.write_text(pivot.read_text() + '"9","S",5.0,1\n')
    with pytest.raises(InputError, match="cell '9 × S' is empty in the job"):
        compare_result(work, pivot)


def test_the_repr_shows_no_values(work: Work, tmp_path: Path) -> None:
    assert repr(compare_result(work, tmp_path / "pivot.csv")).startswith("ArgusComparison(")
