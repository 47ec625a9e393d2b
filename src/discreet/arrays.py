"""Aliases of array types, and the two directions in which a cell can deviate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SmallIntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

DOWN, UP = 0, 1  # rows of arrays with one row per direction
SIGN = (-1.0, 1.0)  # of a deviation down and up
