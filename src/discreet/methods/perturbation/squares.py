"""The least squared distance by linear programs: squares of integers lie on a piecewise linear function."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.search import TableSearch
from discreet.methods.perturbation.windows import Windows

DISTANCE_GAP = 1e-5  # relative gap of the squared distance at which no further pieces are added
MAX_ROUNDS_OF_PIECES = 200  # so that the search ends in any case


def least_squares(search: TableSearch, windows: Windows, start: FoundTable) -> tuple[IntArray, bool]:
    """Changes with the least weighted sum of squares, and whether the search finished in time."""
    master = _Squares(windows, search.run.seed)
    master.add(search.cuts)
    best = start.change
    while True:
        found, finished = master.settle(search)
        if found is None:
            return best, False
        new = search.violated(found)
        if not new:
            return (found if master.distance(found) <= master.distance(best) else best), finished
        search.cuts += new
        master.add(new)


class _Squares(TableMaster):
    """The master program with one more column per cell: its square, bounded below by the linear pieces added so far."""

    def __init__(self, windows: Windows, seed: int) -> None:
        super().__init__(windows, np.where(windows.weight > 0, windows.weight, 0.0), seed=seed, squares=True)
        ends = np.stack([windows.low[self.cells], windows.high[self.cells]])
        ends = np.where(np.isfinite(ends), ends, np.abs(ends[np.isfinite(ends)]).max(initial=1.0) * np.sign(ends))
        self._added: list[set[int]] = [set() for _ in range(self.n)]
        for share in (0.0, 0.01, 0.1, 0.3, 1.0):
            self._pieces(np.r_[ends[0] * share, ends[1] * share], np.tile(np.arange(self.n), 2))

    def distance(self, change: IntArray) -> float:
        """The weighted sum of squares of changes."""
        return float(self.weight @ change.astype(float) ** 2)

    def settle(self, search: TableSearch) -> tuple[IntArray | None, bool]:
        """The solution after adding pieces around it until its distance is exact enough, and whether it finished in time."""
        for _ in range(MAX_ROUNDS_OF_PIECES):
            solution = self.model.solve()
            if not solution.optimal:
                return None, False
            scaled = solution.primal[: self.n] - solution.primal[self.n : 2 * self.n]
            moved = scaled * self.scale
            true = float(self.weight[self.cells] @ scaled**2) / self.money
            if true - solution.objective <= DISTANCE_GAP * true or search.run.budget.over:
                break
            if not self._pieces(moved, np.arange(self.n)):
                break
        rounded = np.rint(self.fixed)
        rounded[self.cells] = np.rint(moved)
        return self._nearest_integers(rounded, search), not search.run.budget.over

    def _nearest_integers(self, rounded: FloatArray, search: TableSearch) -> IntArray | None:
        """The nearest congruent table of integers to rounded changes; None if none is found."""
        plain = TableMaster(self.windows, self.weight, reference=rounded, seed=self.seed)
        plain.add(self.cuts)
        with suppress(Infeasible, NoSafePatternError):
            return plain.solve(search.run.budget).change
        return None

    def _pieces(self, at: FloatArray, cells: IntArray) -> int:
        """Add linear pieces of ``w d²`` around these changes, ``w ((2k + 1) d − k (k + 1))`` from ``k`` on; their number."""
        new = [
            (cell, k)
            for cell, below in zip(cells.tolist(), np.floor(at + 1e-7).tolist(), strict=True)
            for k in (int(below) - 1, int(below))
            if k not in self._added[cell]
        ]
        if not new:
            return 0
        for cell, k in new:
            self._added[cell].add(k)
        place, at = np.array([cell for cell, _ in new]), np.array([float(k) for _, k in new])
        # In units of the scale squared, as the square column is.
        slope, start = (2 * at + 1) / self.scale, at * (at + 1) / self.scale**2
        rows = np.arange(len(new))
        linear = sparse.csr_array((-slope, (rows, place)), shape=(len(new), self.n))
        square = sparse.csr_array((np.ones(len(new)), (rows, place)), shape=(len(new), self.n))
        self.rows([(0, linear), (self.n, -linear), (2 * self.n, square)], -start)
        return len(new)
