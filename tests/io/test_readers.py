"""Other programs read what is written: PC-Axis by pyaxis, JSON-stat by pyjstat, metadata on the Web by csvw."""

from __future__ import annotations

import json
from dataclasses import replace

import csvw
import numpy as np
import pytest
from pyaxis import pyaxis
from pyjstat import pyjstat
from tests.helpers.published import TOLD, cells, released

from discreet import Presentation, ReleaseMetadata, write_release
from discreet.errors import FormatError, NotSafeError
from discreet.io import jsonstat, pcaxis
from discreet.io.pcaxis import read_px
from discreet.release import Release


def same(found: dict, release: Release) -> bool:
    expected = cells(release)
    listed = {cell: expected.get(cell, 0.0) for cell in found}
    return found.keys() >= expected.keys() and all(
        found[cell] == listed[cell] or (np.isnan(found[cell]) and np.isnan(listed[cell])) for cell in found
    )


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pyaxis_reads_px(tmp_path, dimensions):
    release = released(dimensions)
    write_release(release, tmp_path / "r.px")
    frame = pyaxis.parse(str(tmp_path / "r.px"), encoding="windows-1252", sd_values=r'"\.\."')["DATA"]
    labels = [{release.label(name, code): code for code in codes} for name, codes in release.codes.items()]
    found = {
        tuple(names[label] for names, label in zip(labels, row[:-1], strict=True)): float(row[-1] or "nan")
        for row in frame.itertuples(index=False)
    }
    assert same(found, release)


def test_px_says_what_readers_need(tmp_path):
    release = released(lang="de", symbol="c")
    write_release(release, tmp_path / "r.px")
    px = read_px(tmp_path / "r.px")
    assert px.texts("TITLE") == ["Turnover of enterprises"]
    assert [px.texts("STUB"), px.texts("HEADING")] == [["Branch of industry"], ["size"]]
    assert px.texts("VALUES", "Branch of industry")[:3] == ["Insgesamt", "Industrie", "Nahrung"]
    assert px.texts("CODES", "Branch of industry") == ["Total", "I", "10", "20", "S", "45", "47"]
    assert px.texts("ELIMINATION", "Branch of industry") == ["Insgesamt"]
    assert [px.texts(name) for name in ("UNITS", "SOURCE", "LANGUAGE", "DATASYMBOL2", "CODEPAGE")] == [
        *(["1 000 EUR"], ["Business survey"], ["de"], ["c"], ["windows-1252"])
    ]
    (note,) = px.texts("NOTE")
    assert note.startswith("2025#Provisional figures.#By main activity.#c: Der Wert wird aus")
    head = (tmp_path / "r.px").read_bytes().split(b"DATA=")[0]
    assert max(map(len, head.splitlines())) <= 256


def test_px_in_other_alphabets_is_in_utf_8(tmp_path):
    release = Release({"d": ("Σύνολο", "α;=(,)")}, "v", np.array([2.0, np.nan]))
    write_release(release, tmp_path / "r.px")
    px = read_px(tmp_path / "r.px")
    assert px.texts("CODEPAGE") == ["utf-8"]
    assert px.texts("CODES", "d") == ["Σύνολο", "α;=(,)"]
    assert px.data == ["2", ".."]
    with pytest.raises(FormatError, match=r"quotation marks.*Rename it"):
        write_release(Release({"d": ('a"b',)}, "v", np.ones(1)), tmp_path / "other.px")
    assert [file.name for file in tmp_path.iterdir()] == ["r.px"]


def test_labels_that_are_the_same_are_told_apart_in_px(tmp_path):
    release = released()
    tree = release.hierarchies["branch"].with_labels({"": {"45": "Trade", "47": "Trade"}})
    object.__setattr__(release, "hierarchies", {**release.hierarchies, "branch": tree})
    write_release(release, tmp_path / "r.px")
    assert read_px(tmp_path / "r.px").texts("VALUES", "Branch of industry")[-2:] == ["Trade (45)", "Trade (47)"]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_pyjstat_reads_json_stat(tmp_path, dimensions):
    release = released(dimensions)
    write_release(release, tmp_path / "r.json")
    dataset = pyjstat.Dataset.read((tmp_path / "r.json").read_text(encoding="utf-8"))
    frame = dataset.write("dataframe", naming="id").drop(columns="measure")
    found = {
        tuple(map(str, row[:-1])): float("nan" if row[-1] is None else row[-1]) for row in frame.itertuples(index=False)
    }
    assert same(found, release)


def test_json_stat_says_what_readers_need(tmp_path):
    release = released(lang="de", symbol="c")
    write_release(release, tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    branch = found["dimension"]["branch"]
    assert branch["label"] == "Branch of industry"
    assert branch["category"]["label"]["10"] == "Nahrung"
    assert branch["category"]["child"] == {"Total": ["I", "S"], "I": ["10", "20"], "S": ["45", "47"]}
    assert found["note"] == ["2025", "Provisional figures.", "By main activity."]
    assert set(found["status"].values()) == {"c"}
    assert found["extension"]["status"]["label"]["c"].startswith("Der Wert wird aus")
    assert found["dimension"]["measure"]["category"]["unit"]["turnover"] == {"label": "1 000 EUR", "decimals": 1}
    assert [found["value"][int(place)] for place in found["status"]] == [None] * len(found["status"])


def test_ends_of_intervals_are_a_dimension(tmp_path):
    release = released(method="intervals", accept_symmetric=True)
    write_release(release, tmp_path / "r.json")
    write_release(release, tmp_path / "r.px")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert found["dimension"]["measure"]["category"]["index"] == ["turnover", "turnover lower", "turnover upper"]
    px = read_px(tmp_path / "r.px")
    assert px.texts("CONTVARIABLE") == ["measure"]
    assert len(px.data) == len(found["value"]) == 3 * 7 * 3


def test_combinations_that_no_table_has_are_not_zero(tmp_path):
    """Unpublished totals: a reader must not take them for zero."""
    release = Release({"a": ("x", "x", "y"), "b": ("1", "2", "2")}, "v", np.array([1.0, np.nan, 3.0]), complete=False)
    write_release(release, tmp_path / "r.px")
    write_release(release, tmp_path / "r.json")
    px, found = read_px(tmp_path / "r.px"), json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert px.data == ["1", "..", ".", "3"]
    assert px.texts("DATASYMBOL1") == ["."]
    assert found["value"] == [1, None, None, 3]
    assert found["status"] == {"1": "×", "2": ":"}
    assert found["extension"]["status"]["label"][":"] == "The table has no figure here."


def test_no_figure_is_not_shown_by_the_suppression_symbol(tmp_path):
    """In German the symbol is a dot, which otherwise stands for no figure."""
    release = Release(
        {"a": ("x", "x", "y"), "b": ("1", "2", "2")}, "v", np.array([1.0, np.nan, 3.0]), symbol=".", complete=False
    )
    write_release(release, tmp_path / "r.px")
    px = read_px(tmp_path / "r.px")
    assert px.data == ["1", "..", ".", "3"]
    assert [px.texts("DATASYMBOL1"), px.texts("DATASYMBOL2")] == [["x"], ["."]]
    assert "#x: The table has no figure here." in px.texts("NOTE")[0]
    write_release(released(lang="de", symbol="."), tmp_path / "all.px")
    assert read_px(tmp_path / "all.px").texts("DATASYMBOL1") == []
    write_release(replace(release, symbol=":"), tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["status"] == {"1": ":", "2": ".."}


def test_px_refuses_codes_with_line_breaks(tmp_path):
    with pytest.raises(FormatError, match="cannot have line breaks in codes"):
        write_release(Release({"a": ("x\ny",)}, "v", np.ones(1)), tmp_path / "r.px")


def test_csvw_reads_the_csv_by_its_metadata(tmp_path):
    release = released()
    write_release(release, tmp_path / "r.csv")
    write_release(release, tmp_path / "r.csv-metadata.json")
    table = csvw.Table.from_file(tmp_path / "r.csv-metadata.json")
    found = {(row["d1"], row["d2"]): float("nan") if row["value"] is None else float(row["value"]) for row in table}
    assert same(found, release)
    assert len(found) == len(release)
    content = json.loads((tmp_path / "r.csv-metadata.json").read_text(encoding="utf-8"))
    assert content["url"] == "r.csv"
    member = content["tableSchema"]["columns"][0]["skos:member"]
    assert {"@value": "Nahrung", "@language": "de"} in member[2]["skos:prefLabel"]
    assert member[2]["skos:broader"] == "I"


def test_linked_tables_have_a_file_each_in_px_and_are_a_collection_in_json_stat(tmp_path):
    codes = {"a": ("Total", "x", "Total"), "b": ("Total", "Total", "y")}
    release = released()
    parts = release.hierarchies["branch"].flat(["x"]), release.hierarchies["size"].flat(["y"])
    linked = Release(
        codes, "v", np.array([2.0, 2.0, 2.0]), hierarchies=dict(zip("ab", parts, strict=True)), tables=(("a",), ("b",))
    )
    with pytest.raises(FormatError, match=r"release\.part\(1\)"):
        write_release(linked, tmp_path / "r.px")
    write_release(linked.part(2), tmp_path / "r.px")
    assert read_px(tmp_path / "r.px").texts("CODES", "b") == ["Total", "y"]
    write_release(linked, tmp_path / "r.json")
    found = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert found["class"] == "collection"
    assert [one["id"][0] for one in found["link"]["item"]] == ["a", "b"]


@pytest.mark.parametrize(("suffix", "module"), [(".px", pcaxis), (".json", jsonstat)])
def test_a_file_with_another_number_is_refused(tmp_path, monkeypatch, suffix, module):
    release, write = released(), module.write_release
    other = Release(
        release.codes, release.response, release.value + 1, release.symbol, hierarchies=release.hierarchies, decimals=1
    )
    monkeypatch.setattr(module, "write_release", lambda _, path: write(other, path))
    with pytest.raises(NotSafeError, match="as written the release has other cells"):
        write_release(release, tmp_path / f"r{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_wrong_metadata_is_named():
    problem = Presentation(ReleaseMetadata(updated="31.3.2026", agency="1", version="x"))
    with pytest.raises(
        Exception, match=r"\[metadata\] updated is a date.*\[metadata\] agency is an identifier.*version"
    ):
        problem.check()
    assert list(TOLD.faults()) == []
