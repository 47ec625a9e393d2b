"""Which small counts are rounded down and which up: a greedy choice, then simulated annealing."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, IntArray
from discreet.methods.context import Run
from discreet.methods.counts.rounding_kernel import CountIncidence, begin, sweep

MAX_TURNS = 40_000_000  # of single counts in all sweeps together, to limit the time of large tables
MIN_SWEEPS, MAX_SWEEPS = 60, 600  # over all small counts
STARTS_OF_SMALL_TABLES, MAX_COUNTS_OF_SMALL_TABLES = 8, 1_000  # small tables are annealed several times
FIRST_TEMPERATURE, LAST_TEMPERATURE = 0.7, 0.03  # in squares of the base
FINAL_SWEEPS = 5  # that accept improvements only


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
