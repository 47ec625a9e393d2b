"""Tables of counts: cells that several margins pin at once, and cells that only whole numbers pin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from discreet.arrays import IntArray
from discreet.attacks.exact import ReducedSystem, infer, midpoint
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.audit.integer import narrowed
from discreet.inference.propagate import propagate
from discreet.progress import Progress

HOW = ("", "one relation after the other", "several relations at once", "whole numbers only")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(Finding):
    """Intervals in whole tables; ``how`` cells are pinned, as a number into ``HOW``: 0 if they are not."""

    how: IntArray

    def pinned_by(self, words: str) -> list[str]:
        """Labels of the cells that are pinned in one of the ways of ``HOW``."""
        return [label for label, k in zip(self.labels, self.how, strict=True) if k == HOW.index(words)]

    def _more(self) -> dict[str, object]:
        return {"pinned_by": pd.Series([HOW[k] for k in self.how], dtype=object)}


def counts(public: Public, *, progress: Progress | None = None) -> Counts:
    """The least and the greatest count of every cell in any table of whole numbers that agrees with the public view."""
    seen, told = infer(public, whole=True, progress=progress)
    table, cells = seen.problem.table.value, public.unknown
    sharp = narrowed(seen, told, progress=progress)
    rows = ReducedSystem.of(public).rows
    low, high = propagate(rows, public.lower[cells] - table[cells], public.upper[cells] - table[cells])
    near = 1e-6  # counts are whole, so this is nothing
    how = np.select(
        [high - low < near, seen.upper - seen.lower < near, sharp.upper - sharp.lower < near], [1, 2, 3], default=0
    )
    return Counts(
        attack="counts",
        assumes="cells are whole numbers",
        public=public,
        cell=cells,
        lower=sharp.lower,
        upper=sharp.upper,
        estimate=midpoint(sharp.lower, sharp.upper),
        certain=True,
        how=how,
    )
