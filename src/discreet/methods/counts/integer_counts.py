"""The cell values of a table of counts as integers."""

from __future__ import annotations

import numpy as np

from discreet.arrays import IntArray
from discreet.errors import TableError, some
from discreet.problem import Problem

MAX_COUNT = 2**52  # sums with larger counts are not exact in double precision


def counts_of(problem: Problem, method: str) -> IntArray:
    """The values as integers; an error if they are not counts."""
    value = problem.table.value
    bad = np.flatnonzero((value < 0) | (value != np.round(value)) | (value > MAX_COUNT))
    if len(bad):
        labels = problem.table.labels(bad[:1000])
        raise TableError(
            f"The method {method!r} is for tables of counts, but {len(bad):,} cells are negative or not integers, e.g. "
            f"{some(labels)}. Choose a method for magnitudes, or tabulate counts: leave out the response and weights.",
            labels,
        )
    return value.astype(np.int64)
