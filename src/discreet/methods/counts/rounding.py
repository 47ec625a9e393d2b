"""Which small counts go down and which go up: a first choice, then annealing by turns of one count or of two."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, IntArray
from discreet.methods.context import Run
from discreet.methods.counts.rounding_kernel import CountIncidence, begin, sweep

TURNS = 40_000_000  # to look at in all,
SWEEPS = (60, 600)  # in so many rounds
STARTS = (8, 1_000)  # tables with no more than so many small counts begin anew several times
HOT, COLD = 0.7, 0.03  # temperatures at both ends, in squares of the base
LAST = 5  # rounds that accept gains only


class Rounding:
    """The state of the search: ``up`` says which counts are rounded up, ``off`` what each cell is off by."""

    def __init__(self, holding: sparse.csc_array, count: IntArray, base: int) -> None:
        holding.sort_indices()
        rows = sparse.csr_array(holding)
        self.counts = CountIncidence(
            *(part.astype(np.int32) for part in (holding.indptr, holding.indices, rows.indptr, rows.indices))
        )
        self.count, self.base = count.astype(np.int32), base
        self.off = np.zeros(holding.shape[0], dtype=np.int32)
        self.up = np.zeros(len(count), dtype=bool)
        self.sweeps = 0

    @property
    def touched(self) -> BoolArray:
        """Cells that hold any of the counts."""
        return np.asarray(np.diff(self.counts.first) > 0)

    @property
    def squares(self) -> float:
        """What is to be small."""
        return float((self.off.astype(np.float64) ** 2).sum())

    def search(self, run: Run, rng: np.random.Generator) -> bool:
        """Look for a good choice; the same for the same numbers. Whether it was cut short, by the time limit or by Ctrl-C."""
        begin(self.counts, self.count, self.base, self.off, self.up)
        best, least, stopped = self.off.copy(), self.squares, False
        if not len(self.count):
            return False
        starts = STARTS[0] if len(self.count) <= STARTS[1] else 1
        rounds = int(np.clip(TURNS // len(self.count), *SWEEPS))
        run.progress.stage("round", starts * (rounds + LAST))
        for _ in range(starts):
            with run.budget.interruptible():
                for heat in [*np.geomspace(HOT, COLD, rounds), *np.zeros(LAST)]:
                    stopped = run.budget.over
                    if stopped:
                        break
                    self._sweep(rng, heat)
                    run.progress.update(self.sweeps)
            stopped |= run.budget.cancelled
            if self.squares < least:
                best, least = self.off.copy(), self.squares
            if stopped:
                break
        self.off = best
        return stopped

    def _sweep(self, rng: np.random.Generator, heat: float) -> None:
        n = len(self.count)
        order = rng.permutation(n).astype(np.int32)
        which, partner = rng.random((2, n))
        slack = rng.exponential(
            heat * self.base**2, n
        )  # at temperature t a loss of x is accepted with chance exp(−x/t)
        sweep(self.counts, self.base, self.off, self.up, order, which, partner, slack)
        self.sweeps += 1
