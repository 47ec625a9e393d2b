"""The nonzeros of some rows or columns of a sparse matrix, much faster than by slicing it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray


def ranges(starts: IntArray, sizes: IntArray) -> IntArray:
    """The integers from each start on, as many as its size says, one range after the other."""
    return np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())


def terms(matrix: sparse.csr_array | sparse.csc_array, lines: IntArray) -> tuple[IntArray, IntArray]:
    """The positions of the nonzeros of these rows (or columns), and their number per row (or column)."""
    length = matrix.indptr[lines + 1] - matrix.indptr[lines]
    return ranges(matrix.indptr[lines], length), length
