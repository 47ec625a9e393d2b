"""A file is read under exactly the name it is given by, whatever signs that name holds."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest
from tests.helpers.fixed import secret

from discreet import InputError, read_table, tabulate
from discreet.data.records import distinct_codes, read_records
from discreet.edit import swap
from discreet.io.record_keys import add_keys
from discreet.secret import Secret

NAMES = [
    "d[12].csv",
    "e*.csv",
    "f?.csv",
    "g{1,2}.csv",
    "a'b.csv",
    "back\\slash[1].csv",
    "new\nline.csv",
    "100%.csv",
    "~.csv",
]
DECOYS = ["d1.csv", "d2.csv", "e1.csv", "eeee.csv", "f1.csv", "g1.csv", "g2.csv"]


def put(path: Path, text: str) -> Path:
    if path.name.endswith(".parquet"):
        rows = [line.split(",") for line in text.splitlines()]
        pd.DataFrame(rows[1:], columns=rows[0]).to_parquet(path)
    else:
        content = text.encode()
        path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.parametrize("name", NAMES)
def test_only_the_named_file_is_tabulated(tmp_path, name, suffix):
    """Finding 12: d[12].csv read d1.csv and d2.csv instead."""
    for decoy in DECOYS:
        put(tmp_path / decoy.replace(".csv", suffix), "g,v\nwrong,1000\n")
    path = put(tmp_path / name.replace(".csv", suffix), "g,v\nright,5\n")
    table = tabulate(path, "g", "v")
    assert dict(zip(table.labels(), table.value.tolist(), strict=True)) == {"Total": 5.0, "right": 5.0}
    assert distinct_codes(path, ["g"])["g"].tolist() == ["right"]
    assert read_records(path)["g"].tolist() == ["right"]


@pytest.mark.parametrize("name", ["d[12].csv", "e*.csv", "e*.csv.gz", "d[12].parquet"])
def test_only_the_named_file_is_a_finished_table(tmp_path, name):
    for decoy in DECOYS:
        put(tmp_path / decoy, "g,v\nTotal,1000\nwrong,1000\n")
    table = read_table(put(tmp_path / name, "g,v\nTotal,5\nright,5\n"), ["g"], "v")
    assert table.labels() == ["Total", "right"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_folder_is_no_column(tmp_path, suffix):
    """Engines read year=1999/ as a column called year."""
    folder = tmp_path / "year=1999" / "[x]"
    folder.mkdir(parents=True)
    path = put(folder / f"d{suffix}", "g,year,v\na,2024,5\n")
    assert tabulate(path, ["g", "year"], "v").labels()[-1] == "a × 2024"
    assert read_records(path)["year"].tolist() == ["2024"]


def test_records_that_are_edited_or_given_keys(tmp_path):
    for decoy in DECOYS:
        put(tmp_path / decoy, "id,area,key\nwrong,1,1\n")
    path = put(tmp_path / "d[12].csv", "id,area,key\na,1,1\nb,2,1\n")
    edited, _ = swap(path, ["area"], ["key"], rate=0.0)
    assert edited["id"].tolist() == ["a", "b"]
    assert add_keys(path, tmp_path / "out[1].csv", "id", secret=Secret(secret()), name="k") == 2


def test_drafts_in_a_folder_with_a_strange_name(tmp_path, monkeypatch):
    """The engine's private folder may itself look like a pattern."""
    strange = tmp_path / "[ab]*"
    strange.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(strange))
    assert tabulate(put(tmp_path / "d.csv", "g,v\na,5\n"), "g", "v").labels() == ["Total", "a"]
    assert list(strange.iterdir()) == []


@pytest.mark.parametrize(
    "column", ["__code", "__into", "__CODE", "__code_right", "column0", "records", "rowid", "self", "d0"]
)
def test_columns_may_have_any_name(tmp_path, column):
    """Recoding used columns called __code and __into."""
    path = put(tmp_path / "d.csv", f"{column},g,v\na,x,5\nb,y,7\n")
    recode = {column: {"b": "c"}, "g": {"x": "z"}}
    table = tabulate(path, [column, "g"], "v", recode=recode)
    assert {"a × z", "c × y"} <= set(table.labels())
    table = tabulate(path, ["g"], "v", holding=column, recode={"g": {"x": "z"}})
    assert set(table.contributors) == {"a", "b"}


def test_columns_that_are_not_used_may_be_empty_or_alike(tmp_path):
    table = tabulate(put(tmp_path / "d.csv", "g,,,G,v,V\na,1,2,3,4,5\n"), "g", "v")
    assert table.value.tolist() == [4.0, 4.0]


def test_columns_that_differ_in_capitals_alone(tmp_path):
    with pytest.raises(InputError, match="differ in capitals alone: rename one"):
        tabulate(put(tmp_path / "d.csv", "g,G,v\na,1,2\n"), ["g", "G"], "v")


@pytest.mark.parametrize("name", ["a\0b.csv", "a\0/b.csv", "\0.parquet"])
def test_nul_in_a_name(tmp_path, name):
    with pytest.raises(InputError, match="does not exist"):
        tabulate(tmp_path / name, "g", "v")
    with pytest.raises(InputError, match=r"cannot be read|does not exist"):
        read_table(tmp_path / name, ["g"], "v")
