"""Inference about tables of counts, also by the knowledge that counts are integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from discreet.arrays import IntArray
from discreet.attacks.exact import ReducedSystem, infer_intervals
from discreet.attacks.finding import Finding
from discreet.attacks.public import Public
from discreet.audit.integer_audit import narrowed
from discreet.inference.bound_propagation import propagate
from discreet.progress import Progress

PINNING_REASONS = ("", "one relation after the other", "several relations at once", "whole numbers only")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Counts(Finding):
    """Intervals over tables of integers; ``how`` is the index into ``PINNING_REASONS`` for each cell, 0 if it is not pinned."""

    how: IntArray

    def pinned_by(self, reason: str) -> list[str]:
        """Labels of the cells that are pinned for one of the ``PINNING_REASONS``."""
        return [label for label, k in zip(self.labels, self.how, strict=True) if k == PINNING_REASONS.index(reason)]

    def _extra_columns(self) -> dict[str, object]:
        return {"pinned_by": pd.Series([PINNING_REASONS[k] for k in self.how], dtype=object)}


def counts(public: Public, *, progress: Progress | None = None) -> Counts:
    """The smallest and the largest count of every unknown cell in any congruent table of integers."""
    linear, protection = infer_intervals(public, integer=True, progress=progress)
    table, cells = linear.problem.table.value, public.unknown
    integral = narrowed(linear, protection, progress=progress)
    rows = ReducedSystem.of(public).rows
    low, high = propagate(rows, public.lower[cells] - table[cells], public.upper[cells] - table[cells])
    widths = (high - low, linear.upper - linear.lower, integral.upper - integral.lower)
    how = np.select([width < 1e-6 for width in widths], [1, 2, 3], default=0)  # intervals of integers: 0 or at least 1
    return Counts.certain_intervals(
        "counts", "cells are whole numbers", public, cells, integral.lower, integral.upper, how=how
    )
