"""What both methods begin with: a table that holds counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import TableError, some
from discreet.problem import Problem

LARGEST = 2**52  # beyond, doubles do not tell whole numbers apart once something is added


def counts_of(problem: Problem, method: str) -> NDArray[np.int64]:
    """The values as whole numbers; refused if they are no counts."""
    value = problem.table.value
    bad = np.flatnonzero((value < 0) | (value != np.round(value)) | (value > LARGEST))
    if len(bad):
        labels = problem.table.labels(bad[:1000])
        raise TableError(
            f"The method {method!r} is for tables of counts, but {len(bad):,} cells are negative or no whole numbers, e.g. "
            f"{some(labels)}. Take a method for magnitudes, or tabulate counts: leave the response and weights out.",
            labels,
        )
    return value.astype(np.int64)
