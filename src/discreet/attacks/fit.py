"""Iterative proportional fitting of suppressed cells, from equal values or from the midpoints of the exact intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, exact
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.errors import InputError
from discreet.progress import Progress, Silent

Start = Literal["equal", "midpoint"]
FIT_ASSUMPTIONS = {
    "equal": "suppressed cells are in proportion to their margins",
    "midpoint": "midpoints are nearly right",
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Fitted(Finding):
    """An additive table that an attacker may take for the true one."""

    sweeps: int
    residual: float  # largest violation of a relation, as a share of the largest value in it

    @property
    def additive(self) -> bool:
        return self.residual <= 1e-6


def fit(
    public: Public,
    start: Start = "equal",
    *,
    sweeps: int = 2_000,
    tolerance: float = 1e-9,
    progress: Progress | None = None,
) -> Fitted:
    """Scale suppressed cells until all relations hold.

    In a relation P − N = t of cells with positive and negative weights, the former are multiplied by s and the latter
    divided by it, with P·s − N/s = t: without suppressed totals (N = 0) that is iterative proportional fitting. Starting from the
    midpoints of the exact intervals makes these additive ("adjusted midpoints").
    """
    if start not in get_args(Start):
        raise InputError(f"start is {' or '.join(map(repr, get_args(Start)))}, not {start!r}.")
    progress = progress or Silent()
    system = ReducedSystem.of(public)
    base = public.lower[system.cells]
    if np.any(np.isinf(base)):
        raise InputError(
            "Cells that may be negative without limit cannot be fitted in proportion: give them a lower bound."
        )
    first = np.full(len(system.cells), np.nan) if start == "equal" else exact(public, progress=progress).estimate
    # The amount above the lower bound, which is usually zero, is scaled.
    value = np.where(np.isnan(first), base + 1.0, first) - base
    rhs = system.rhs - system.rows @ base
    blocks = [_Block.of(system.rows, rhs, rows) for rows in disjoint_blocks(system.rows)]
    size, residual, done = abs(system.rows), np.inf, 0
    progress.stage("fit", sweeps)
    while done < sweeps and residual > tolerance:
        for block in blocks:
            block.scale(value)
        scale = np.maximum(np.maximum(np.abs(rhs), size @ value), 1e-300)
        residual = float((np.abs(system.rows @ value - rhs) / scale).max(initial=0.0))
        done += 1
        progress.update(done)
    unclaimed = np.full(len(system.cells), np.nan)
    return Fitted(
        attack="fit" if start == "equal" else "midpoint-fit",
        assumes=FIT_ASSUMPTIONS[start],
        public=public,
        cell=system.cells,
        lower=unclaimed,
        upper=unclaimed,
        estimate=value + base,
        certain=False,
        sweeps=done,
        residual=residual,
    )


def disjoint_blocks(rows: sparse.csr_array) -> list[IntArray]:
    """Relations in blocks without common columns, so that all relations of a block can be fitted at once."""
    block = np.zeros(rows.shape[0], dtype=np.int64)
    taken: list[set[int]] = [set() for _ in range(rows.shape[1])]
    for row in range(rows.shape[0]):
        columns = rows.indices[rows.indptr[row] : rows.indptr[row + 1]].tolist()
        used = set().union(*(taken[c] for c in columns))
        first = next(b for b in range(len(used) + 1) if b not in used)
        block[row] = first
        for c in columns:
            taken[c].add(first)
    return [np.flatnonzero(block == b) for b in range(block.max(initial=-1) + 1)]


@dataclass(frozen=True, eq=False)
class _Block:
    """Relations without common columns: row, column and weight of each entry."""

    row: NDArray[np.integer]
    column: NDArray[np.integer]
    weight: FloatArray
    rhs: FloatArray

    @classmethod
    def of(cls, rows: sparse.csr_array, rhs: FloatArray, chosen: IntArray) -> _Block:
        entries = sparse.csr_array(rows[chosen]).tocoo()
        return cls(entries.row, entries.col, entries.data, rhs[chosen])

    def scale(self, value: FloatArray) -> None:
        """Make all relations of the block hold; with weights other than ±1 approximately, and better in each sweep."""
        m = len(self.rhs)
        term = self.weight * value[self.column]
        plus = np.bincount(self.row, np.maximum(term, 0.0), m)
        minus = np.bincount(self.row, np.maximum(-term, 0.0), m)
        root = np.sqrt(self.rhs**2 + 4 * plus * minus)
        with np.errstate(divide="ignore", invalid="ignore"):
            # Two forms of the same root: each is accurate where the other cancels.
            factor = np.where(self.rhs >= 0, (self.rhs + root) / (2 * plus), 2 * minus / (root - self.rhs))
        factor = np.where(np.isfinite(factor), factor, 1.0)[self.row]
        with np.errstate(divide="ignore"):
            by = np.where(self.weight > 0, factor, 1.0 / factor)
        value[self.column] *= np.where(np.isfinite(by), by, 1.0)
