"""Bundles that are damaged, or made to do damage."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from discreet import DiscreetError, assess, protect, read_problem, tabulate
from discreet.errors import FormatError
from discreet.io.bundle import read_table, write_problem


@pytest.fixture(scope="module")
def bundle(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "g": rng.choice(list("abcd"), 60),
            "h": rng.choice(list("xyz"), 60),
            "v": rng.integers(1, 90, 60),
            "f": [f"F{i}" for i in rng.integers(0, 30, 60)],
        }
    )
    table = tabulate(frame, ["g", "h"], "v", holding="f", top=3, contributions=True)
    path = tmp_path_factory.mktemp("bundle") / "p.discreet"
    write_problem(assess(table, ["P(10)"]), path)
    return path


def changed(bundle: Path, path: Path, **parts: bytes | None) -> Path:
    """The bundle with other parts, given as ``meta_json=…``; None leaves one out."""
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = parts.get(name.replace(".", "_"), old.read(name))
            if content is not None:
                new.writestr(name, content)
    return path


def part(bundle: Path, name: str) -> bytes:
    with zipfile.ZipFile(bundle) as archive:
        return archive.read(name)


def npy(array: np.ndarray, **options: bool) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(f"{name}.npy", npy(array))
    return stream.getvalue()


def test_bundles_cut_off_anywhere(bundle, tmp_path):
    whole = bundle.read_bytes()
    for length in [*range(0, len(whole), max(len(whole) // 40, 1)), len(whole) - 1]:
        (tmp_path / "p.discreet").write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"not a .discreet bundle, or damaged\. Make it again"):
            read_problem(tmp_path / "p.discreet")


def test_bundles_with_random_bytes(bundle, tmp_path):
    """What is read all the same can be worked with, or is refused with words."""
    whole, rng = bundle.read_bytes(), np.random.default_rng(3)
    for _ in range(150):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), rng.integers(1, 6)):
            damaged[at] = rng.integers(0, 256)
        (tmp_path / "p.discreet").write_bytes(damaged)
        try:
            read_problem(tmp_path / "p.discreet")
        except DiscreetError:
            continue


class Boom:
    ran = False

    def __reduce__(self):
        return (exec, ("import tests.hardening.test_damaged_bundles as t; t.Boom.ran = True",))


PICKLE = np.array([Boom()], dtype=object)


@pytest.mark.parametrize(
    "parts",
    [
        {"rhs_npy": npy(PICKLE, allow_pickle=True)},
        {"rhs_npy": pickle.dumps(Boom())},
        {"relations_npz": pickle.dumps(Boom())},
        {"cells_parquet": pickle.dumps(Boom())},
        {"meta_json": pickle.dumps(Boom())},
    ],
    ids=str,
)
def test_no_pickle_is_ever_loaded(bundle, tmp_path, parts):
    with pytest.raises(FormatError, match="damaged"):
        read_problem(changed(bundle, tmp_path / "p.discreet", **parts))
    assert not Boom.ran


def matrix_parts(bundle: Path) -> dict[str, np.ndarray]:
    matrix = sparse.csr_array(sparse.load_npz(io.BytesIO(part(bundle, "relations.npz"))))
    return {
        "data": matrix.data,
        "indices": matrix.indices,
        "indptr": matrix.indptr,
        "shape": np.array(matrix.shape),
        "format": np.array("csr".encode("ascii")),
    }


@pytest.mark.parametrize("bad", [10**6, -1, -(10**6), 2**31 - 1])
@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_indices_that_point_elsewhere(bundle, tmp_path, name, bad):
    """They would make the arithmetic read memory that is none of its business."""
    parts = matrix_parts(bundle)
    parts[name] = parts[name].copy()
    parts[name][1] = bad
    with pytest.raises(FormatError, match="damaged"):
        read_problem(changed(bundle, tmp_path / "p.discreet", relations_npz=npz(**parts)))


@pytest.mark.parametrize("shape", [[10**12, 10], [10, 10**12], [-1, 5], [0, 0], [5]])
def test_shapes_that_do_not_fit(bundle, tmp_path, shape):
    parts = matrix_parts(bundle) | {"shape": np.array(shape)}
    with pytest.raises(DiscreetError):
        read_problem(changed(bundle, tmp_path / "p.discreet", relations_npz=npz(**parts)))


def test_an_array_that_says_it_is_huge(bundle, tmp_path):
    """Slack for it would be made before anything is read."""
    header = npy(np.zeros(8)).replace(b"(8,)", b"(9999999999999,)", 1)
    with pytest.raises(FormatError, match="damaged"):
        read_problem(changed(bundle, tmp_path / "p.discreet", rhs_npy=header))


META = {
    "nested": b'{"discreet": 1, "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "a long number": b'{"discreet": ' + b"1" * 5000 + b"}",
    "a list": b"[]",
    "no JSON": b"{",
    "nothing": b"",
    "no UTF-8": b'{"discreet": "\xff"}',
}


@pytest.mark.parametrize("name", META)
def test_descriptions_that_are_none(bundle, tmp_path, name):
    with pytest.raises(FormatError):
        read_problem(changed(bundle, tmp_path / "p.discreet", meta_json=META[name]))


WRONG = [None, 5, -1, 10**30, 0.5, "x", [], ["a"], {}, True, [[0]], "\ud800", [10**30]]
ENTRIES = ["discreet", "response", "is_count", "complete", "dimensions", "contributors", "rules", "boundary"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_descriptions_with_something_else(bundle, tmp_path, entry):
    """Whatever stands in an entry is refused in words, or is harmless."""
    meta = json.loads(part(bundle, "meta.json"))
    for wrong in WRONG:
        content = json.dumps(meta | {entry: wrong}).encode()
        path = changed(bundle, tmp_path / "p.discreet", meta_json=content)
        try:
            repr(read_table(path))
            protect(read_problem(path), "kelly")
        except DiscreetError:
            pass


@pytest.mark.parametrize("key", ["codes", "parents"])
def test_hierarchies_with_something_else(bundle, tmp_path, key):
    meta = json.loads(part(bundle, "meta.json"))
    for wrong in [*WRONG, [[0, 0]], [[-1, 0, 0, 0, 99]], [[-1, 2, 1, 0, 0]], ["\ud800", "b", "c", "d", "e"]]:
        meta["dimensions"]["g"][key] = wrong
        with pytest.raises(DiscreetError):
            read_problem(changed(bundle, tmp_path / "p.discreet", meta_json=json.dumps(meta).encode()))


def test_columns_with_something_else(bundle, tmp_path):
    cells = pd.read_parquet(io.BytesIO(part(bundle, "cells.parquet")))
    for column in cells:
        for wrong in (None, "x", -1, 10**9, np.nan, np.inf, -np.inf):
            content = cells.assign(**{column: wrong}).to_parquet(index=False)
            path = changed(bundle, tmp_path / "p.discreet", cells_parquet=content)
            try:
                problem = read_problem(path)
                problem.table.respondents()
            except DiscreetError:
                continue


def test_parts_that_are_missing(bundle, tmp_path):
    for name in ("meta_json", "cells_parquet", "relations_npz", "rhs_npy", "respondents_parquet"):
        with pytest.raises(FormatError, match="damaged"):
            read_problem(changed(bundle, tmp_path / "p.discreet", **{name: None}))
