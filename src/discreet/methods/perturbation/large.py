"""Large tables whose finest cells determine all others: those change, in whole units, and totals follow."""

from __future__ import annotations

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import TableError
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.windows import Windows
from discreet.methods.totals import Totals
from discreet.progress import Budget

MANY = 20_000  # cells from which on a program without fractions is out of reach


class Finest:
    """What becomes of a table when only its finest cells are chosen."""

    def __init__(self, windows: Windows, sums: Totals) -> None:
        self.windows, self.sums = windows, sums

    @classmethod
    def of(cls, windows: Windows) -> Finest | None:
        """None for tables that are small, or not determined by their finest cells."""
        if len(windows.problem) < MANY:
            return None
        try:
            return cls(windows, Totals.of(windows.problem.table))
        except TableError:
            return None

    def change(self, wanted: FloatArray) -> IntArray | None:
        """Changes of the finest cells as wanted, in whole units, and of totals as they follow; None if windows are too narrow."""
        base = self.windows.problem.table.is_base
        low, high = self.windows.low, self.windows.high
        change = self.sums.add_up(np.where(base, np.clip(np.rint(wanted), low, high), 0.0))
        return None if np.any((change < low) | (change > high)) else change.astype(np.int64)

    def cheapest(self, within: Windows, budget: Budget, seed: int) -> tuple[FoundTable | None, float]:
        """Near the solution with fractions, within narrower windows; and what no changes there can cost less than."""
        master = TableMaster(within, within.weight, seed=seed, plain=True, interior=True)
        fractions, bound = master.interior(budget)
        change = None if fractions is None else Finest(within, self.sums).change(fractions)
        if change is None:
            return None, bound
        cost = within.cost(change)
        return FoundTable(change, cost, min(bound, cost), True), bound
