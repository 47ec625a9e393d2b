"""The least squared distance by linear programs: squares of whole numbers lie on straight pieces from one to the next."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.errors import NoSafePatternError
from discreet.methods.core.cutting_planes import Infeasible
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.search import TableSearch
from discreet.methods.perturbation.windows import Windows

ENOUGH = 1e-5  # share of the distance that may be left open
ROUNDS = 200


def least_squares(search: TableSearch, windows: Windows, start: FoundTable) -> tuple[IntArray, bool]:
    """Changes of the least weighted sum of squares, and whether it was reached in time."""
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
    """A column more for each cell: its square, above every straight piece looked at so far."""

    def __init__(self, windows: Windows, seed: int) -> None:
        super().__init__(windows, np.where(windows.weight > 0, windows.weight, 0.0), seed=seed, squares=True)
        far = np.stack([windows.low[self.cells], windows.high[self.cells]])
        far = np.where(np.isfinite(far), far, np.abs(far[np.isfinite(far)]).max(initial=1.0) * np.sign(far))
        self._seen: list[set[int]] = [set() for _ in range(self.n)]
        for share in (0.0, 0.01, 0.1, 0.3, 1.0):
            self._pieces(np.r_[far[0] * share, far[1] * share], np.tile(np.arange(self.n), 2))

    def distance(self, change: IntArray) -> float:
        return float(self.weight @ change.astype(float) ** 2)

    def settle(self, search: TableSearch) -> tuple[IntArray | None, bool]:
        """New pieces where the solution is, until they tell its distance."""
        for _ in range(ROUNDS):
            solution = self.model.solve()
            if not solution.optimal:
                return None, False
            scaled = solution.primal[: self.n] - solution.primal[self.n : 2 * self.n]
            moved = scaled * self.scale
            true = float(self.weight[self.cells] @ scaled**2) / self.money
            if true - solution.objective <= ENOUGH * true or search.run.budget.over:
                break
            if not self._pieces(moved, np.arange(self.n)):
                break
        near = np.rint(self.fixed)
        near[self.cells] = np.rint(moved)
        return self._next_to(near, search), not search.run.budget.over

    def _next_to(self, near: FloatArray, search: TableSearch) -> IntArray | None:
        """The nearest table of whole numbers: fractions add up, but rounded they need not."""
        plain = TableMaster(self.windows, self.weight, reference=near, seed=self.seed)
        plain.add(self.cuts)
        try:
            return plain.solve(search.run.budget).change
        except (Infeasible, NoSafePatternError):
            return None

    def _pieces(self, at: FloatArray, cells: IntArray) -> int:
        """The straight pieces of ``w d²`` around some changes: from ``k`` to ``k + 1`` that is ``w ((2k + 1) d − k (k + 1))``."""
        new = [
            (cell, k)
            for cell, where in zip(cells.tolist(), np.floor(at + 1e-7).tolist(), strict=True)
            for k in (int(where) - 1, int(where))
            if k not in self._seen[cell]
        ]
        if not new:
            return 0
        for cell, k in new:
            self._seen[cell].add(k)
        place, at = np.array([cell for cell, _ in new]), np.array([float(k) for _, k in new])
        # In units of the scale squared, as the square column is.
        steep, start = (2 * at + 1) / self.scale, at * (at + 1) / self.scale**2
        rows = np.arange(len(new))
        one = sparse.csr_array((-steep, (rows, place)), shape=(len(new), self.n))
        square = sparse.csr_array((np.ones(len(new)), (rows, place)), shape=(len(new), self.n))
        self.model.add_rows(sparse.csr_array(sparse.hstack([one, -one, square])), -start, np.full(len(new), np.inf))
        return len(new)
