"""Iterative proportional fitting of suppressed cells, from equal values or from the midpoints of the exact intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.attacks.exact import ReducedSystem, exact
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.errors import InputError
from discreet.progress import Progress, Silent

Start = Literal["equal", "midpoint"]
FIT_ATTACKS = {  # by start: the name of the attack, and what it assumes
    "equal": ("fit", "suppressed cells are in proportion to their margins"),
    "midpoint": ("midpoint-fit", "midpoints are nearly right"),
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
        raise InputError("Cells that may be negative without limit cannot be fitted: give them a lower bound.")
    first = np.full(len(system.cells), np.nan) if start == "equal" else exact(public, progress=progress).estimate
    # The amount above the lower bound, which is usually zero, is scaled.
    value = np.where(np.isnan(first), base + 1.0, first) - base
    rhs = system.rhs - system.rows @ base
    blocks = [(sparse.csr_array(system.rows[block]).tocoo(), rhs[block]) for block in disjoint_blocks(system.rows)]
    size, residual, done = abs(system.rows), np.inf, 0
    progress.stage("fit", sweeps)
    while done < sweeps and residual > tolerance:
        for entries, rhs_of_block in blocks:
            _scale(value, entries, rhs_of_block)
        scale = np.maximum(np.maximum(np.abs(rhs), size @ value), 1e-300)
        residual = float((np.abs(system.rows @ value - rhs) / scale).max(initial=0.0))
        done += 1
        progress.update(done)
    unclaimed = np.full(len(system.cells), np.nan)
    found = (system.cells, unclaimed, unclaimed, value + base)
    attack, assumes = FIT_ATTACKS[start]
    return Fitted(attack, assumes, public, *found, certain=False, sweeps=done, residual=residual)


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


def _scale(value: FloatArray, entries: sparse.coo_array, rhs: FloatArray) -> None:
    """Make all relations of a block hold; with weights other than ±1 approximately, and better in each sweep."""
    m = len(rhs)
    term = entries.data * value[entries.col]
    plus = np.bincount(entries.row, np.maximum(term, 0.0), m)
    minus = np.bincount(entries.row, np.maximum(-term, 0.0), m)
    root = np.sqrt(rhs**2 + 4 * plus * minus)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Two forms of the same root: each is accurate where the other cancels.
        factor = np.where(rhs >= 0, (rhs + root) / (2 * plus), 2 * minus / (root - rhs))
    factor = np.where(np.isfinite(factor), factor, 1.0)[entries.row]
    with np.errstate(divide="ignore"):
        by = np.where(entries.data > 0, factor, 1.0 / factor)
    value[entries.col] *= np.where(np.isfinite(by), by, 1.0)
