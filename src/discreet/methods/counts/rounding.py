"""Which small counts are rounded down and which up: a greedy choice, then simulated annealing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray, IntArray, SmallIntArray
from discreet.compiled import compiled
from discreet.methods.context import Run

MAX_TURNS = 40_000_000  # of single counts in all sweeps together, to limit the time of large tables
MIN_SWEEPS, MAX_SWEEPS = 60, 600  # over all small counts
STARTS_OF_SMALL_TABLES, MAX_COUNTS_OF_SMALL_TABLES = 8, 1_000  # small tables are annealed several times
FIRST_TEMPERATURE, LAST_TEMPERATURE = 0.7, 0.03  # in squares of the base
FINAL_SWEEPS = 5  # that accept improvements only


class CountIncidence(NamedTuple):
    """The cells that contain each small count, sorted, and the small counts that each cell contains."""

    start: SmallIntArray  # per count, the position of its first cell
    cell: SmallIntArray
    first: SmallIntArray  # per cell, the position of its first count
    member: SmallIntArray


class Rounding:
    """The state of the search: ``up`` are the counts rounded up, ``off`` is the change of each cell."""

    def __init__(self, incidence: sparse.csc_array, count: IntArray, base: int) -> None:
        incidence.sort_indices()
        rows = sparse.csr_array(incidence)
        self.counts = CountIncidence(
            *(part.astype(np.int32) for part in (incidence.indptr, incidence.indices, rows.indptr, rows.indices))
        )
        self.count, self.base = count.astype(np.int32), base
        self.off = np.zeros(incidence.shape[0], dtype=np.int32)
        self.up = np.zeros(len(count), dtype=bool)
        self.sweeps = 0

    @property
    def touched(self) -> BoolArray:
        """Cells that contain any of the counts."""
        return np.asarray(np.diff(self.counts.first) > 0)

    @property
    def squares(self) -> float:
        """The sum of squared changes, which is minimized."""
        return float((self.off.astype(np.float64) ** 2).sum())

    def search(self, run: Run, rng: np.random.Generator) -> bool:
        """Search for the least sum of squares; whether the search ended early, by the time limit or by Ctrl-C."""
        begin(self.counts, self.count, self.base, self.off, self.up)
        best, least, stopped = self.off.copy(), self.squares, False
        if not len(self.count):
            return False
        starts = STARTS_OF_SMALL_TABLES if len(self.count) <= MAX_COUNTS_OF_SMALL_TABLES else 1
        sweeps = int(np.clip(MAX_TURNS // len(self.count), MIN_SWEEPS, MAX_SWEEPS))
        temperatures = [*np.geomspace(FIRST_TEMPERATURE, LAST_TEMPERATURE, sweeps), *np.zeros(FINAL_SWEEPS)]
        run.progress.stage("round", starts * len(temperatures))
        for _ in range(starts):
            with run.budget.interruptible():
                for temperature in temperatures:
                    stopped = run.budget.over
                    if stopped:
                        break
                    self._sweep(rng, temperature)
                    run.progress.update(self.sweeps)
            stopped |= run.budget.cancelled
            if self.squares < least:
                best, least = self.off.copy(), self.squares
            if stopped:
                break
        self.off = best
        return stopped

    def _sweep(self, rng: np.random.Generator, temperature: float) -> None:
        n = len(self.count)
        order = rng.permutation(n).astype(np.int32)
        which, partner = rng.random((2, n))
        # At temperature t an increase of x is accepted with probability exp(−x/t).
        accepted = rng.exponential(temperature * self.base**2, n)
        sweep(self.counts, self.base, self.off, self.up, order, which, partner, accepted)
        self.sweeps += 1


@compiled
def begin(counts: CountIncidence, count: SmallIntArray, base: int, off: SmallIntArray, up: BoolArray) -> None:
    """Round one count after the other so that the sum of squared changes of cells grows least."""
    start, cell = counts.start, counts.cell
    for j in range(len(count)):
        total, n_cells = 0, start[j + 1] - start[j]
        for k in range(start[j], start[j + 1]):
            total += off[cell[k]]
        # Down changes each cell by −c, up by b − c: up is better if (b − c)² · n + 2(b − c)·t < c² · n − 2c·t.
        up[j] = (base - 2 * count[j]) * n_cells + 2 * total < 0
        change = base - count[j] if up[j] else -count[j]
        for k in range(start[j], start[j + 1]):
            off[cell[k]] += change


@compiled
def sweep(
    counts: CountIncidence,
    base: int,
    off: SmallIntArray,
    up: BoolArray,
    order: SmallIntArray,
    which: FloatArray,
    partner: FloatArray,
    accepted: FloatArray,  # per turn, the increase of the sum of squares that is accepted
) -> None:
    """Reverse the rounding of one count after the other if the sum of squares grows by less than is accepted.

    Each count is paired with a random other count of one of its cells. If one of the two is up and the other down, both are
    reversed, so that cells that contain both do not change.
    """
    start, cell = counts.start, counts.cell
    for i in range(len(order)):
        j = order[i]
        end, change = start[j + 1], -base if up[j] else base
        place = cell[start[j] + int(which[i] * (end - start[j]))]
        size = counts.first[place + 1] - counts.first[place]
        other = counts.member[counts.first[place] + int(partner[i] * size)]
        alone = up[other] == up[j]
        a, b, last = start[j], start[other], start[other] if alone else start[other + 1]
        total, n_cells = 0, 0
        while a < end or b < last:
            if b >= last or (a < end and cell[a] < cell[b]):
                total, n_cells, a = total + off[cell[a]], n_cells + 1, a + 1
            elif a >= end or cell[b] < cell[a]:
                total, n_cells, b = total - off[cell[b]], n_cells + 1, b + 1
            else:
                a, b = a + 1, b + 1
        if change * (2 * total + change * n_cells) < accepted[i]:
            for k in range(start[j], end):
                off[cell[k]] += change
            for k in range(start[other], last):
                off[cell[k]] -= change
            up[j] = not up[j]
            if not alone:
                up[other] = not up[other]
