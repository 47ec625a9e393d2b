"""The nonzeros of a few rows or columns of a sparse matrix, much quicker than by slicing it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray


def terms(matrix: sparse.csr_array | sparse.csc_array, lines: IntArray) -> tuple[IntArray, IntArray]:
    """Where the nonzeros of these rows (or columns) are, and how many each has."""
    begin, end = matrix.indptr[lines], matrix.indptr[lines + 1]
    length = end - begin
    return np.arange(length.sum()) + np.repeat(end - np.cumsum(length), length), length
