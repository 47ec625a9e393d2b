"""Sessions: outputs are judged together, and the folder is of the form that output checkers read."""

from __future__ import annotations

import csv
import hashlib
import json

import numpy as np
import pandas as pd
import pytest

import discreet
from discreet.errors import FormatError, InputError

RULES = "FREQ(4)"
FIELDS = {
    *("uid", "status", "type", "properties", "files", "outcome", "command", "summary", "timestamp", "comments"),
    *("exception", "fair"),
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "project"


def read(folder):
    return json.loads((folder / "results.json").read_text(encoding="ascii"))


def test_the_folder_is_of_the_form_that_checkers_read(firms, folder):
    with discreet.session(folder, rules=RULES) as s:
        table = discreet.crosstab(firms.region, firms.industry, margins=True)
        discreet.pivot_table(
            firms, "turnover", ["region"], ["industry"], aggfunc=["sum", "mean"], rules="P(10)|FREQ(4)"
        )
        s.rename_output("output_1", "turnover")
        s.add_comments("turnover", "Table 3 of the paper")
        s.add_exception("turnover", "The totals are published elsewhere")
    content = read(folder)
    assert content["version"] == "1.0.2"
    assert list(content["results"]) == ["output_0", "turnover"]
    for name, entry in content["results"].items():
        assert set(entry) == FIELDS
        assert entry["uid"] == name
        assert entry["status"] in ("pass", "review", "fail")
        assert entry["summary"].split("; ")[0] == entry["status"]
        for file in entry["files"]:
            text = (folder / file["name"]).read_bytes()
            assert (folder / "checksums" / f"{file['name']}.txt").read_text() == hashlib.sha256(text).hexdigest()
            assert set(file["sdc"]) == {"summary", "cells"}
    assert content["results"]["turnover"]["comments"] == ["Table 3 of the paper"]
    assert content["results"]["turnover"]["exception"] == "The totals are published elsewhere"
    assert content["results"]["output_0"]["command"] == "crosstab(index=['region'], columns=['industry'], margins=True)"
    assert "results" not in json.loads((folder / "config.json").read_text())
    assert RULES not in (folder / "results.json").read_text()
    cells = content["results"]["output_0"]["files"][0]["sdc"]["cells"]
    assert cells["threshold"]
    lines = list(csv.reader((folder / "output_0_0.csv").open(encoding="utf-8")))
    marked = {(r, c) for positions in cells.values() for r, c in positions}
    shown = {(r, c) for r, line in enumerate(lines[1:]) for c, entry in enumerate(line[1:]) if entry == "×"}
    assert marked == shown == set(table.content.terms)


def test_the_outcome_names_a_reason_for_each_suppressed_cell(firms, folder):
    with discreet.session(folder, rules=RULES):
        discreet.crosstab([firms.region, firms.group.fillna("none")], firms.industry)
    (entry,) = read(folder)["results"].values()
    outcome = pd.DataFrame.from_dict(entry["outcome"])
    table = pd.read_csv(folder / "output_0_0.csv", index_col=0)
    assert list(outcome.index) == list(table.index)
    assert list(outcome.columns) == list(table.columns)
    assert ((outcome != "ok") == (table == "×")).all().all()


def test_tables_of_the_same_records_are_audited_together(firms, folder):
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(firms.region, firms.industry)
        discreet.crosstab(firms.region, firms.industry, margins=True, normalize=True)
        assert {v.status for v in s.verdicts().values()} == {"pass"}


def drawn_persons(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.choice(list("xyz"), 40, p=[0.5, 0.3, 0.2]) for name in "abc"})
    return frame.assign(v=rng.lognormal(3, 1, 40).round())


@pytest.fixture(scope="module")
def persons():
    return drawn_persons(0)


def test_tables_that_reveal_a_cell_together_fail(persons, folder):
    """Each is safe alone: a cell that one suppresses is the sum of cells that the other publishes."""
    made = [discreet.crosstab(persons.a, columns, rules=RULES) for columns in (persons.b, [persons.b, persons.c])]
    with discreet.session(folder) as s:
        for table in made:
            s.add(table)
        assert all(audit.passed for table in s.outputs.values() for audit in table.audits)
        for verdict in s.verdicts().values():
            assert verdict.status == "fail"
            assert "can be inferred too closely" in verdict.reasons[0]
    assert {entry["status"] for entry in read(folder)["results"].values()} == {"fail"}


def test_a_table_of_a_session_is_safe_beside_the_earlier_ones(folder):
    persons = drawn_persons(2)
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(persons.a, persons.b)
        discreet.crosstab(persons.a, [persons.b, persons.c])
        first, second = (table.suppressed.to_numpy().sum() for table in s.outputs.values())
        assert first
        assert second
        assert [verdict.status for verdict in s.verdicts().values()] == ["pass", "pass"]


def test_a_table_for_which_there_is_no_pattern_beside_the_earlier_ones_fails(persons, folder):
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(persons.a, persons.b)
        discreet.crosstab(persons.a, [persons.b, persons.c])
        assert [verdict.status for verdict in s.verdicts().values()] == ["fail", "fail"]


def test_a_mean_is_suppressed_where_an_earlier_count_is(persons, folder):
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(persons.a, persons.b)
        discreet.pivot_table(persons, "v", "a", "b")
        counts, means = (table.suppressed.to_numpy() for table in s.outputs.values())
        assert counts.any()
        assert (means >= counts).all()


def test_outputs_of_other_records_are_for_review(firms, folder):
    """The difference between all records and all but one is that one."""
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(firms.region, firms.industry)
        part = firms[firms.index != 7]
        discreet.crosstab(part.region, part.industry)
        discreet.crosstab(firms.region, firms.industry, rules="FREQ(3)")
        found = s.verdicts()
        assert {v.status for v in found.values()} == {"review"}
        assert any("not seen to be of the same records" in reason for reason in found["output_1"].reasons)
        assert any("other rules" in reason for reason in found["output_2"].reasons)
        s.remove_output("output_1")
        s.remove_output("output_2")
        assert s.verdicts()["output_0"].status == "pass"


def test_columns_tied_by_an_equation_are_for_review(firms, folder):
    frame = firms.assign(cost=firms.staff * 2 + firms.turnover)
    with discreet.session(folder, rules="FREQ(2)") as s:
        for name in ("turnover", "staff", "cost"):
            discreet.pivot_table(frame, name, "region", aggfunc="sum")
        for verdict in s.verdicts().values():
            assert verdict.status == "review"
            assert any("tied by an equation" in reason for reason in verdict.reasons)


def test_a_sum_of_a_cell_whose_count_is_suppressed_is_for_review(persons, folder):
    made = discreet.crosstab(persons.a, persons.b, rules=RULES)
    with discreet.session(folder, rules=RULES) as s:
        discreet.pivot_table(persons, "v", "a", "b", aggfunc="sum")
        s.add(made)
        counts, sums = (table.suppressed.to_numpy() for table in s.outputs.values())
        assert (counts != sums).any()
        for verdict in s.verdicts().values():
            assert verdict.status == "review"
            assert "in one measure and published in another" in verdict.reasons[0]


def test_what_a_session_refuses(firms, folder):
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(firms.region, firms.industry)
        with pytest.raises(InputError, match="Another session is open"), discreet.session(folder / "other"):
            pass
        with pytest.raises(InputError, match="The session has no output 'x'"):
            s.add_comments("x", "?")
        with pytest.raises(InputError, match="An output cannot be called"):
            s.rename_output("output_0", "../x")
        with pytest.raises(InputError, match="tables of crosstab and pivot_table"):
            s.add(firms)
        assert "output_0" not in repr(s)
    with pytest.raises(FormatError, match="and is not empty"):
        discreet.session(folder)
    with pytest.raises(InputError, match="no outputs to write"), discreet.session(folder.parent / "empty"):
        pass


def test_nothing_is_written_after_an_error(firms, folder):
    def interrupted():
        with discreet.session(folder, rules=RULES):
            discreet.crosstab(firms.region, firms.industry)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert not folder.exists()
    made = discreet.crosstab(firms.region, firms.industry, rules=RULES)  # the session is closed
    s = discreet.session(folder)
    assert s.add(made) == "output_0"
    assert s.finalise() == folder / "results.json"
    with pytest.raises(InputError, match="is written to"):
        s.add(made)
    with pytest.raises(InputError, match="Begin a new one"):
        s.add_comments("output_0", "too late")


def test_rounded_counts_are_for_review_if_there_are_several(firms, folder):
    with discreet.session(folder, rules=RULES) as s:
        discreet.crosstab(firms.region, firms.industry, method="round")
        assert s.verdicts()["output_0"].status == "pass"
        discreet.crosstab(firms.region, firms.group.fillna("none"), method="round")
        assert {verdict.status for verdict in s.verdicts().values()} == {"review"}
    assert {entry["properties"]["mitigation"] for entry in read(folder)["results"].values()} == {"round"}


@pytest.mark.slow
def test_the_loader_of_acro_reads_the_folder(firms, folder):
    record = pytest.importorskip("acro.record")
    with discreet.session(folder, rules=RULES):
        discreet.crosstab(firms.region, firms.industry, margins=True)
    record.__version__ = read(folder)["version"]  # it reads files of its own version only
    loaded = record.load_records(str(folder))
    assert loaded.get("output_0").status == "pass"
