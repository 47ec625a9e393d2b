"""A few megabytes do not become gigabytes: what is decompressed is limited, and the message says so."""

from __future__ import annotations

import gzip
import io
import json
import resource
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from tests.helpers.fixed import secret

from discreet import compressed_files, read_problem, read_table, tabulate
from discreet.audit import read_certificate
from discreet.compressed_files import largest_content
from discreet.errors import FormatError, InputError
from discreet.io.bundle import write_table
from discreet.io.record_keys import add_keys
from discreet.secret import Secret

BOMB, PIECE = 1 << 30, 32 << 20


def gzip_bomb(path: Path, start: bytes, filler: bytes) -> Path:
    """Some bytes and then 1 GB of filler, in 1 MB: equal pieces, each compressed by itself."""
    piece = gzip.compress(filler * (PIECE // len(filler)), 9)
    path.write_bytes(gzip.compress(start) + piece * (BOMB // PIECE))
    assert path.stat().st_size < 4 << 18
    return path


@pytest.fixture(scope="module")
def bombs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bombs")
    gzip_bomb(folder / "b.csv.gz", b"g,v\n", b"a,1\n")
    (folder / "b.jj.gz").write_bytes((folder / "b.csv.gz").read_bytes())
    (folder / "b.json.gz").write_bytes((folder / "b.csv.gz").read_bytes())
    return folder


READERS = {
    "b.csv.gz": [
        lambda path: tabulate(path, "g", "v"),
        lambda path: read_table(path, ["g"], "v"),
        lambda path: add_keys(path, path.with_name("o.csv"), "g", secret=Secret(secret())),
    ],
    "b.jj.gz": [read_problem],
    "b.json.gz": [read_certificate],
}


@pytest.mark.parametrize(("name", "reader"), [(name, reader) for name in READERS for reader in READERS[name]])
def test_gzip_bombs(bombs, name, reader):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"more than 200 times its size, which no table needs.*decompress it yourself"):
        reader(bombs / name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2 * BOMB / 3 / 1024  # kilobytes


@pytest.fixture
def a_sixteenth(monkeypatch):
    """Content that is always allowed is 16 MB, so that what is too large need not be as large."""
    monkeypatch.setattr(compressed_files, "ALWAYS_ALLOWED_BYTES", compressed_files.ALWAYS_ALLOWED_BYTES >> 4)


def test_a_workbook_that_says_it_is_huge(tmp_path, a_sixteenth):
    book = openpyxl.Workbook()
    book.active.append(["g", "v"])
    book.save(tmp_path / "small.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "small.xlsx") as old,
        zipfile.ZipFile(tmp_path / "b.xlsx", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            with new.open(name, "w") as file:
                file.write(old.read(name))
                if "sheet1" in name:
                    for _ in range(25):
                        file.write(b" " * (1 << 20))
    assert (tmp_path / "b.xlsx").stat().st_size < 1 << 16
    with pytest.raises(FormatError, match="more than 200 times its size"):
        read_table(tmp_path / "b.xlsx", ["g"], "v")


@pytest.fixture
def bundle(tmp_path) -> Path:
    write_table(tabulate(pd.DataFrame({"g": list("aabb"), "v": [1, 2, 3, 4]}), "g", "v"), tmp_path / "t.discreet")
    return tmp_path / "t.discreet"


def packed(path: Path, bundle: Path, **parts: bytes) -> Path:
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, parts.get(name.replace(".", "_"), old.read(name)))
    return path


def test_a_bundle_with_a_long_description(bundle, tmp_path, a_sixteenth):
    meta = json.dumps({"discreet": 1, "x": "y" * (300 << 16)}).encode()
    with pytest.raises(FormatError, match="more than 200 times its size"):
        read_problem(packed(tmp_path / "b.discreet", bundle, meta_json=meta))


def test_a_bundle_with_equal_values_without_end(bundle, tmp_path, a_sixteenth):
    """Parquet needs no slack for a column of equal values, however long."""
    cells = io.BytesIO()
    pd.DataFrame({"value": np.zeros(2_500_000)}).to_parquet(cells, index=False)
    assert len(cells.getvalue()) < 1 << 16
    with pytest.raises(FormatError, match="more than 200 times its size"):
        read_problem(packed(tmp_path / "b.discreet", bundle, cells_parquet=cells.getvalue()))


def test_a_bundle_with_compressed_relations(bundle, tmp_path, a_sixteenth):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as file:
        for _ in range(300):
            file.write(b"\0" * (1 << 16))
    with pytest.raises(FormatError, match="more than 200 times its size"):
        read_problem(packed(tmp_path / "b.discreet", bundle, relations_npz=inner.getvalue()))


def test_what_is_allowed(tmp_path, monkeypatch):
    """Small content however well compressed, and large content that is compressed as text is."""
    assert largest_content(3 << 20) < 1 << 30
    assert largest_content(1 << 30) == 200 << 30
    path = tmp_path / "d.csv.gz"
    path.write_bytes(gzip.compress(b"g,v\n" + b"a,1\n" * 2_000_000, 9))
    assert path.stat().st_size < 40_000
    assert tabulate(path, "g", "v").value.tolist() == [2e6, 2e6]
    monkeypatch.setattr(compressed_files, "ALWAYS_ALLOWED_BYTES", 1 << 20)
    with pytest.raises(InputError, match="more than 200 times"):
        tabulate(path, "g", "v")
