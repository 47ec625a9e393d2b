"""The nonzeros of some rows or columns of a sparse matrix, much faster than by slicing it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray


def terms(matrix: sparse.csr_array | sparse.csc_array, lines: IntArray) -> tuple[IntArray, IntArray]:
    """The positions of the nonzeros of these rows (or columns), and their number per row (or column)."""
    begin, end = matrix.indptr[lines], matrix.indptr[lines + 1]
    length = end - begin
    return np.arange(length.sum()) + np.repeat(end - np.cumsum(length), length), length
