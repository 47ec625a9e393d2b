"""What the records of an output are, as far as needed to relate outputs of one session to each other."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

MIN_TIE = 1e-9  # of singular values, relative to the largest: columns of doubles that add up exactly have smaller ones


@dataclass(frozen=True, eq=False, repr=False)
class Origin:
    """Fingerprints of the index and columns of the records, and the values that were added up. Confidential."""

    index: str  # empty if the records have none
    columns: Mapping[str, str]
    respondents: Mapping[str, str]  # by role
    values: Mapping[str, np.ndarray[Any, Any]]
    records: int

    @classmethod
    def of(
        cls,
        index: pd.Index | None,
        keys: Mapping[str, pd.Series],
        values: Mapping[str, pd.Series],
        respondents: Mapping[str, pd.Series],
    ) -> Origin:
        numbers = {
            name: entries.to_numpy(dtype=np.float64, na_value=np.nan)
            for name, entries in values.items()
            if pd.api.types.is_numeric_dtype(entries.dtype)
        }
        return cls(
            "" if index is None else _fingerprint(index.to_series()),
            {name: _fingerprint(entries) for name, entries in {**keys, **values}.items()},
            {role: _fingerprint(entries) for role, entries in respondents.items()},
            numbers,
            len(next(iter(keys.values()))),
        )

    def is_of_the_same_records(self, other: Origin) -> bool:
        """Whether both are seen to be of the same records, in the same order: they share columns, and none differs."""
        if self.records != other.records or self.index != other.index:
            return False
        mine, theirs = {**self.columns, **self.respondents}, {**other.columns, **other.respondents}
        differs = any(theirs.get(name, own) != own for name, own in mine.items())
        return not differs and bool(set(mine.values()) & set(theirs.values()))


def _fingerprint(entries: pd.Series) -> str:
    hashes = pd.util.hash_pandas_object(entries, index=False)
    return hashlib.sha256(hashes.to_numpy().tobytes()).hexdigest()


def tied_columns(values: Mapping[str, np.ndarray[Any, Any]]) -> list[str]:
    """The columns, if some combination of them is the same number in all records."""
    if len(values) < 2:
        return []
    matrix = np.column_stack(list(values.values()))
    matrix = matrix[~np.isnan(matrix).any(axis=1)]
    matrix = matrix - matrix.mean(axis=0) if len(matrix) else matrix
    size = np.abs(matrix).max(axis=0, initial=0.0)
    if len(matrix) <= len(values) or np.any(size == 0):
        return list(values)
    singular = np.linalg.svd(matrix / size, compute_uv=False)
    return list(values) if singular[-1] <= MIN_TIE * singular[0] else []
