"""Large tables whose base cells determine all other cells: base cells change by integer units, and totals follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import TableError
from discreet.methods.perturbation.master import FoundTable, TableMaster
from discreet.methods.perturbation.windows import Windows
from discreet.methods.totals import Totals
from discreet.progress import Budget

MIN_LARGE_CELLS = 20_000  # of a table for which an integer program would take too long


@dataclass(frozen=True, eq=False)
class Finest:
    """Changes of a table that follow from changes of its base cells."""

    windows: Windows
    sums: Totals

    @classmethod
    def of(cls, windows: Windows) -> Finest | None:
        """None for small tables, and for tables that are not determined by their base cells."""
        if len(windows.problem) < MIN_LARGE_CELLS:
            return None
        try:
            return cls(windows, Totals.of(windows.problem.table))
        except TableError:
            return None

    def change(self, wanted: FloatArray) -> IntArray | None:
        """The wanted changes of base cells, rounded to integers, and those of totals; None if a total leaves its window."""
        base = self.windows.problem.table.is_base
        low, high = self.windows.low, self.windows.high
        change = self.sums.add_up(np.where(base, np.clip(np.rint(wanted), low, high), 0.0))
        return None if np.any((change < low) | (change > high)) else change.astype(np.int64)

    def cheapest(self, within: Windows, budget: Budget, seed: int) -> tuple[FoundTable | None, float]:
        """Integer changes close to the fractional solution within narrower windows, or None, and a lower bound on their cost."""
        master = TableMaster(within, within.weight, seed=seed, plain=True, interior=True)
        fractions, bound = master.interior(budget)
        change = None if fractions is None else Finest(within, self.sums).change(fractions)
        if change is None:
            return None, bound
        cost = within.cost(change)
        return FoundTable(change, cost, min(bound, cost), True), bound
