"""Small tables for testing rules, from what each respondent contributes to each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from discreet.data.table import Table


def table_of(cells: Sequence[Sequence[float]], top: int | None = 3, count: bool = True, **columns: Any) -> Table:
    """One list of contributions a cell; ``top`` of them are stored, with their signs, largest first."""
    n = len(cells)
    stored = None
    if top is not None:
        stored = np.zeros((n, top))
        for i, contributions in enumerate(cells):
            largest = sorted(contributions, key=abs, reverse=True)[:top]
            stored[i, : len(largest)] = largest
    columns = {
        "names": tuple(f"cell {i}" for i in range(n)),
        "top": stored,
        "count": np.array([len(c) for c in cells], dtype=np.int64) if count else None,
        "magnitude": np.array([sum(map(abs, c)) for c in cells], dtype=float),
        **columns,
    }
    value = columns.pop("value", np.array([sum(c) for c in cells], dtype=float))
    return Table({}, np.zeros((0, n)), value, sparse.csr_array((0, n)), **columns)
