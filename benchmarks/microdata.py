"""Generated records, written as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.instances import tree
from discreet.data.hierarchy import Hierarchy

# Share of respondents that report in several leaf cells.
ROAMING = {"rows_some_roam": 0.2, "rows_half_roam": 0.5}
BRANCHING = {"d1": (8, 10), "d2": (6, 10), "d3": (5, 6)}


def survey_rows(branching: tuple[tuple[int, ...], ...], seed: int) -> tuple[pd.DataFrame, dict[str, Hierarchy]]:
    """Eight records a leaf cell on average, of firms of which one in twenty is in another cell, too."""
    rng = np.random.default_rng(seed)
    hierarchies = {
        f"d{d}": tree(widths, letter) for d, (widths, letter) in enumerate(zip(branching, "ABC", strict=True))
    }
    leaves = [np.array(hierarchy.codes)[hierarchy.is_leaf] for hierarchy in hierarchies.values()]
    rows = 8 * int(np.prod([len(codes) for codes in leaves]))
    firms = int(rows * 0.95)
    columns: dict[str, Any] = {"firm": np.concatenate([np.arange(firms), rng.integers(0, firms, rows - firms)])}
    shares = [rng.dirichlet(np.full(len(codes), 2.0)) for codes in leaves]
    for name, codes, share in zip(hierarchies, leaves, shares, strict=True):
        columns[name] = codes[rng.choice(len(codes), rows, p=share)]
    columns["value"] = np.ceil(np.exp(rng.normal(5.0, 1.5, rows)))
    return pd.DataFrame(columns), hierarchies


def write_rows(folder: Path, name: str, rows: int, seed: int) -> tuple[Path, dict[str, Hierarchy]]:
    """``rows`` records of ``rows / 5`` respondents: some report in one leaf cell only, the others all over the table."""
    rng = np.random.default_rng(seed)
    hierarchies = {
        column: tree(widths, letter) for (column, widths), letter in zip(BRANCHING.items(), "ABC", strict=True)
    }
    firms = max(rows // 5, 1)
    firm = rng.integers(0, firms, rows)
    roams = (rng.random(firms) < ROAMING[name])[firm]
    columns: dict[str, pa.Array] = {"firm": pa.array(firm)}
    for column, hierarchy in hierarchies.items():
        leaves = [code for code, leaf in zip(hierarchy.codes, hierarchy.is_leaf, strict=True) if leaf]
        home = rng.integers(0, len(leaves), firms)[firm]
        away = rng.integers(0, len(leaves), rows)
        place = np.where(roams, away, home).astype(np.int32)
        columns[column] = pa.DictionaryArray.from_arrays(place, leaves).cast(pa.string())
    columns["value"] = pa.array(np.round(np.exp(rng.normal(5.0, 1.5, rows)), 2))
    path = folder / f"{name}_{rows}_{seed}.parquet"
    pq.write_table(pa.table(columns), path)
    return path, hierarchies
