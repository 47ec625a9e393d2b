"""Check of written releases: every file is read again before it replaces another, and must contain what was audited."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.io import csv
from discreet.io.cube_check import check_csvw, check_jsonstat, check_px
from discreet.io.refusal import WRITTEN_TOLERANCE, refuse
from discreet.io.sdmx.check import check_csv, check_ml, check_structure
from discreet.io.workbook_check import check_sheets, legal
from discreet.release import Release


def check_written(release: Release, path: Path) -> None:
    """Raise an error if a file has other cells than the release, or other values."""
    name = path.name.lower()
    READERS[max((suffix for suffix in READERS if name.endswith(suffix)), key=len)](release, path)


def _check_csv(release: Release, path: Path) -> None:
    frame = csv.read_release(path)
    _check_rows(release, list(frame.columns), frame.itertuples(index=False, name=None))


def _check_parquet(release: Release, path: Path) -> None:
    frame = pd.read_parquet(path)
    marked = frame.pop("suppressed")
    if not np.array_equal(marked.to_numpy(bool), release.suppressed):
        refuse(path.suffix, ["suppressed"])
    _check_rows(release, list(frame.columns), frame.itertuples(index=False, name=None))


def _check_workbook(release: Release, path: Path) -> None:
    rows = check_sheets(release, path)
    _check_rows(release.in_words(), rows[0], rows[1:])


READERS: dict[str, Callable[[Release, Path], None]] = {
    ".csv": _check_csv,
    ".parquet": _check_parquet,
    ".xlsx": _check_workbook,
    ".px": check_px,
    ".json": check_jsonstat,
    ".csv-metadata.json": check_csvw,
    ".sdmx.csv": check_csv,
    ".sdmx1.csv": check_csv,
    ".sdmx.xml": check_ml,
    ".sdmx-structure.xml": check_structure,
}


def _check_rows(release: Release, header: Sequence[Any], rows: Any) -> None:
    """Raise unless there is one row per cell with its codes, its value and the ends of its interval, if it has one."""
    names = [*release.codes, release.response]
    if [legal(str(name)) for name in header] != [legal(name) for name in (*names, *release.ends)]:
        refuse("columns", header)
    columns = list(zip(*rows, strict=True)) or [()] * len(header)
    codes = [[legal(str(code)) for code in column] for column in columns[: len(release.codes)]]
    expected = [[legal(code) for code in column] for column in release.codes.values()]
    if codes != expected:
        refuse("cells", [LABEL_SEPARATOR.join(where) for where in zip(*codes, strict=True)][:3])
    published = [release.value, *release.ends.values()]
    for entries, value in zip(columns[len(release.codes) :], published, strict=True):
        found = np.array([_number(entry, release.symbol) for entry in entries], dtype=np.float64)
        wrong = np.flatnonzero(~_same(found, value))
        if len(wrong):
            refuse("cells", [LABEL_SEPARATOR.join(column[i] for column in expected) for i in wrong.tolist()])


def _same(found: Any, value: Any) -> Any:
    """Whether numbers are the same, or both missing."""
    return (np.abs(found - value) <= WRITTEN_TOLERANCE * np.abs(value)) | (np.isnan(found) & np.isnan(value))


def _number(entry: Any, symbol: str) -> float:
    """A published value as it was read; NaN for a missing entry and for the symbol of suppressed cells."""
    return np.nan if pd.isna(entry) or entry in ("", symbol, csv.unguarded(symbol)) else float(entry)
