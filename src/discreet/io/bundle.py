"""``.discreet`` bundles: a complete table or problem as a zip of Parquet, NumPy and JSON files. Confidential."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyarrow import parquet
from scipy import sparse

from discreet.attackers import Attacker
from discreet.compressed_files import check_zip
from discreet.data.contributions import Contributions
from discreet.data.hierarchy import Hierarchy
from discreet.data.labels import Labels
from discreet.data.table import Table
from discreet.drafts import create_private
from discreet.errors import FormatError, reading
from discreet.problem import Override, Problem

# A bundle has the lowest version whose readers do not ignore a part of it: further attackers need version 2, decisions against
# the rules and cells behind linked tables version 3.
FIRST_VERSION, ATTACKERS_VERSION, DECISIONS_VERSION = 1, 2, 3

_RESPONDENTS = ("contributions", "respondents")  # in bundles of tables with contributions
_TABLE_FACTS = ("response", "is_count", "complete")
# With the values in bundles without them.
_LATER_TABLE_FACTS = {"weights": "secret", "counts_zeros": True}
_LEVELS = ("status", "cost", "lower", "upper", "sliding", "prior_lower", "prior_upper")


def write_problem(problem: Problem, path: str | Path) -> None:
    write_table(problem.table, path, problem)


def read_table(path: str | Path) -> Table:
    """The table of a bundle, whether or not it has been assessed."""
    return _read(path)[0]


def read_problem(path: str | Path) -> Problem:
    table, cells, meta = _read(path)
    if "rules" not in meta:
        raise FormatError(f"{path} holds a table that has not been assessed. Run `discreet assess` on it first.")
    with _reading(path):
        levels = {name: cells[f"problem:{name}"].to_numpy() for name in _LEVELS}
        others = tuple(_attackers(cells, meta["attackers"])) if meta["discreet"] >= ATTACKERS_VERSION else ()
        decided = meta.get("overrides", [])
        if not all(isinstance(rule, str) for rule in meta["rules"]):
            raise TypeError("rules are texts")
        least, smallest = (_column(cells, f"problem:{name}") for name in ("least", "smallest"))
        if smallest is None and meta.get("positive", False):  # in older bundles, of counts only
            smallest = np.ones(len(table))
        return Problem(
            table,
            **levels,
            rules=tuple(meta["rules"]),
            boundary=str(meta.get("boundary", "strict")),
            others=others,
            least_width=least,  # filled in where older bundles have none
            smallest_value=smallest,
            overrides=tuple(Override(**one | {"rules": tuple(one["rules"])}) for one in decided),
            must_suppress=tuple(map(str, meta.get("withheld", ()))),
            waived=int(meta.get("waived", 0)),
            unrecorded=bool(meta.get("unrecorded", False)),
            by_hand=meta.get("by_hand", {}),
        )


def _column(cells: pd.DataFrame, name: str) -> Any:
    return cells[name].to_numpy() if name in cells else None


def _attackers(cells: pd.DataFrame, listed: list[dict[str, Any]]) -> Iterator[Attacker]:
    for k, attacker in enumerate(listed):
        lower, upper, *levels = (cells[f"attacker:{k}:{name}"].to_numpy() for name in _columns(attacker["levels"]))
        yield Attacker(attacker["name"], lower, upper, np.stack(levels) if levels else None)


def _columns(levels: bool) -> tuple[str, ...]:
    return ("lower", "upper", *(("lower_level", "upper_level", "sliding_level") if levels else ()))


def write_table(table: Table, path: str | Path, problem: Problem | None = None) -> None:
    cells: dict[str, Any] = {f"code:{name}": table.codes[d] for d, name in enumerate(table.dimensions)}
    cells |= {"value": table.value, "magnitude": table.magnitude}
    for name in ("count", "weighted_count"):
        if getattr(table, name) is not None:
            cells[name] = getattr(table, name)
    for name, matrix in (("top", table.top), ("who", table.top_contributor), ("requested", table.requested)):
        if matrix is not None:
            cells |= {f"{name}:{k}": matrix[:, k] for k in range(matrix.shape[1])}
    cells |= {f"extra:{name}": column for name, column in table.extra.items()}
    if table.names is not None:
        cells["name"] = list(table.names)
    meta: dict[str, Any] = {
        "discreet": FIRST_VERSION,
        "confidential": "This file holds unprotected values.",
        **{name: getattr(table, name) for name in (*_TABLE_FACTS, *_LATER_TABLE_FACTS)},
        "dimensions": {
            name: {
                "codes": list(h.codes),
                "parents": h.parents.tolist(),
                "labels": h.labels,
                "missing": sorted(h.missing),
            }
            for name, h in table.dimensions.items()
        },
        "provenance": dict(table.provenance),
        "contributors": list(table.contributors),
    }
    if table.behind is not None or table.behind_left_out:
        meta |= {
            "discreet": DECISIONS_VERSION,
            "behind": len(table) - table.n_listed,
            "behind_drawn": table.behind_drawn,
            "behind_left_out": table.behind_left_out,
        }
    if problem is not None:
        cells |= {f"problem:{name}": getattr(problem, name) for name in _LEVELS}
        cells |= {"problem:least": problem.least_width, "problem:smallest": problem.smallest_value}
        meta |= {
            "rules": list(problem.rules),
            "boundary": problem.boundary,
            "waived": problem.waived,
            "unrecorded": problem.unrecorded,
            "by_hand": dict(problem.by_hand),
        }
        for k, attacker in enumerate(problem.others):
            known = (attacker.lower, attacker.upper, *(() if attacker.levels is None else attacker.levels))
            names = _columns(attacker.levels is not None)
            cells |= {f"attacker:{k}:{name}": column for name, column in zip(names, known, strict=True)}
        if problem.must_suppress:
            meta["withheld"] = list(problem.must_suppress)
        if problem.overrides:
            meta["overrides"] = [asdict(one) for one in problem.overrides]
            meta["discreet"] = DECISIONS_VERSION
        if problem.others:
            meta["discreet"] = max(ATTACKERS_VERSION, meta["discreet"])
        if meta["discreet"] >= ATTACKERS_VERSION:
            meta["attackers"] = [
                {"name": attacker.name, "levels": attacker.levels is not None} for attacker in problem.others
            ]
    relations = io.BytesIO()
    sparse.save_npz(relations, table.relations)
    create_private(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        bundle.writestr("meta.json", json.dumps(meta, ensure_ascii=False))
        bundle.writestr("cells.parquet", pd.DataFrame(cells).to_parquet(index=False))
        bundle.writestr("relations.npz", relations.getvalue())
        rhs = io.BytesIO()
        np.save(rhs, table.rhs)
        bundle.writestr("rhs.npy", rhs.getvalue())
        if (given := table.contributions) is not None:
            listed = pd.DataFrame({"cell": given.cell, "who": given.contributor, "amount": given.amount})
            named = pd.DataFrame({"name": pd.Series(given.names, dtype=object)})
            for part, frame in zip(_RESPONDENTS, (listed, named), strict=True):
                bundle.writestr(f"{part}.parquet", frame.to_parquet(index=False))


def _read(path: str | Path) -> tuple[Table, pd.DataFrame, dict[str, Any]]:
    with _reading(path), zipfile.ZipFile(path) as bundle:
        check_zip(path, bundle)
        meta = json.loads(bundle.read("meta.json"))
        if meta["discreet"] not in (FIRST_VERSION, ATTACKERS_VERSION, DECISIONS_VERSION):
            raise FormatError(f"{path} was written by another version of discreet. Make it again.")
        json.dumps(meta, ensure_ascii=False).encode("utf-8")  # an error if codes cannot be encoded
        frames = [name for name in ("cells", *_RESPONDENTS) if f"{name}.parquet" in bundle.namelist()]
        files = {name: parquet.ParquetFile(io.BytesIO(bundle.read(f"{name}.parquet"))) for name in frames}
        with zipfile.ZipFile(io.BytesIO(bundle.read("relations.npz"))) as relations:
            inner = [part.file_size for part in relations.infolist()] + [
                _bytes_in_memory(file) for file in files.values()
            ]
            check_zip(path, bundle, inner)
            matrix = _matrix(relations)
        rhs = _array(bundle.read("rhs.npy"))
        cells = files["cells"].read().to_pandas()
        contributions = None
        if len(files) > 1:
            given, names = (files[part].read().to_pandas() for part in _RESPONDENTS)
            cell, contributor, amount = (given[name].to_numpy() for name in ("cell", "who", "amount"))
            contributions = Contributions(cell, contributor, amount, tuple(names["name"]))
        return _table(cells, meta, matrix, rhs, contributions), cells, meta


def _bytes_in_memory(file: parquet.ParquetFile) -> int:
    """The least number of bytes that a Parquet file takes in memory, where equal values are not compressed."""
    found = file.metadata
    groups = sum(found.row_group(i).total_byte_size for i in range(found.num_row_groups))
    return int(max(8 * found.num_rows * found.num_columns, groups))


def _array(content: bytes) -> np.ndarray:
    """A NumPy array. Arrays of objects, whose loading would run code, and arrays of the wrong size are refused."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, kind = header(stream)
    if kind.hasobject or math.prod(shape) * kind.itemsize != len(content) - stream.tell():
        raise ValueError("not an array of numbers, or incomplete")
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def _matrix(archive: zipfile.ZipFile) -> sparse.csr_array:
    """The relations, as SciPy writes sparse matrices, with all indices checked."""
    data, indices, indptr, shape = (_array(archive.read(f"{n}.npy")) for n in ("data", "indices", "indptr", "shape"))
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape.tolist()))
    matrix.check_format(full_check=True)
    return matrix


def _reading(path: str | Path) -> AbstractContextManager[None]:
    """Damaged parts lead to many kinds of errors."""
    return reading(path, f"{path} is not a .discreet bundle, or damaged. Make it again.", Exception)


def _labels(stored: dict[str, dict[str, str]]) -> Labels:
    """Labels by language and code; older bundles have none."""
    return {str(lang): {str(code): str(label) for code, label in of.items()} for lang, of in stored.items()}


def _table(
    cells: pd.DataFrame,
    meta: dict[str, Any],
    relations: sparse.csr_array,
    rhs: np.ndarray,
    contributions: Contributions | None,
) -> Table:
    dimensions = {
        name: Hierarchy(
            tuple(h["codes"]), np.array(h["parents"]), missing=frozenset(map(str, h.get("missing", ())))
        ).with_labels(_labels(h.get("labels", {})))
        for name, h in meta["dimensions"].items()
    }

    def matrix(name: str) -> Any:
        columns = [column for column in cells if column.startswith(f"{name}:")]
        return cells[columns].to_numpy() if columns else None

    return Table(
        dimensions,
        np.array([cells[f"code:{name}"] for name in dimensions], dtype=np.int32).reshape(len(dimensions), len(cells)),
        cells["value"].to_numpy(),
        relations,
        **{name: meta[name] for name in _TABLE_FACTS},
        **{name: meta.get(name, default) for name, default in _LATER_TABLE_FACTS.items()},
        provenance=meta.get(
            "provenance", {"records_left_out": meta.get("dropped", 0)}
        ),  # older bundles have the second
        count=_column(cells, "count"),
        magnitude=cells["magnitude"].to_numpy(),
        top=matrix("top"),
        top_contributor=matrix("who"),
        contributors=tuple(meta["contributors"]),
        requested=matrix("requested"),
        extra={c.removeprefix("extra:"): cells[c].to_numpy() for c in cells if c.startswith("extra:")},
        names=tuple(cells["name"]) if "name" in cells else None,
        rhs=rhs,
        contributions=contributions,
        weighted_count=_column(cells, "weighted_count"),
        behind=np.arange(len(cells)) >= len(cells) - meta["behind"] if meta.get("behind") else None,
        behind_drawn=meta.get("behind_drawn", False),
        behind_left_out=meta.get("behind_left_out", False),
    )
