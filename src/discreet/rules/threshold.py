"""The threshold rule, also called minimum frequency rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.data.table import Table
from discreet.errors import RuleError
from discreet.rules.base import RuleBase, Sensitivity, margin_in_words, notation, targets


@dataclass(frozen=True)
class Threshold(RuleBase):
    """Sensitive if there are contributors, but fewer than n.

    S = n − count. The protection levels do not follow from the number of contributors. In a table of counts, readers must not
    be able to exclude any count from 0 to n: the levels reach down to 0 and up to n. In a table of magnitudes or of weighted
    counts, or if a respondent is counted more than once, they are ``margin`` percent of T; this is a matter of policy, and 20
    is usual. With a ``width`` only the width of the audit interval is required. Counts that are rounded or perturbed need this:
    a published count above 0 shows that the cell is not empty, so no interval can reach down to 0.

    A cell is not sensitive if all its contributors are known and have waived protection.

    Sources: FCSM Working Paper 22, chapter IV; Cox, Vulnerability of complementary cell suppression to intruder
    attack (the interval from 0 to n).
    """

    name: ClassVar[str] = "FREQ"
    example: ClassVar[str] = "FREQ(3)"

    n: int = field(metadata={"meaning": "an integer, at least 1"})
    margin: float = field(default=20, metadata={"meaning": "protection level in percent of T, from 0 to 100"})
    width: float | None = field(
        default=None, metadata={"meaning": "sliding protection level, instead of the other levels"}
    )

    def __post_init__(self) -> None:
        self._require_positive_integer("n")
        self._require_margin(self.margin)
        self._require(self.width is None or 0 <= self.width < np.inf, "width must be a number, 0 or more")

    @property
    def depth(self) -> int:
        return 0

    @property
    def words(self) -> str:
        return f"A cell is sensitive if it has contributors, but fewer than {self.n}. {self._level_in_words()}"

    def _level_in_words(self) -> str:
        if self.width is not None:
            return f"What readers can infer about it must have a width of {notation(self.width)} at least."
        return f"{margin_in_words(self.margin)}; of a count, they may exclude no number up to {self.n}."

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        if cells.count is None:
            raise RuleError(
                f"Rule {self.name} needs the number of contributors to each cell: name the column or sheet that has it, "
                'count = "…" in [table] of a job or count= in Python.'
            )
        number = self._number(cells)
        sensitive = (cells.count > 0) & (number < self.n)
        if waived is not None:
            candidate, unlisted = targets(cells, waived)
            sensitive &= candidate.any(axis=1) | unlisted
        missing = self.n - number
        score = np.where(sensitive, missing, np.minimum(missing, 0.0))
        if self.width is not None:
            zeros, width = np.zeros(len(cells)), np.where(sensitive, float(self.width), 0.0)
            return Sensitivity(score, sensitive, zeros, zeros, sliding=width)
        level = self.margin / 100 * cells.magnitude
        # A weighted count is an estimate of the number of units, for which n is no bound.
        counted = cells.is_count & (cells.value == cells.count)
        lower, upper = np.where(counted, cells.value, level), np.where(counted, self.n - cells.value, level)
        return Sensitivity.of(score, sensitive, lower, upper)

    def _number(self, cells: Table) -> FloatArray:
        """The number of contributors to each cell."""
        return np.asarray(cells.count, dtype=np.float64)


@dataclass(frozen=True)
class WeightedThreshold(Threshold):
    """Sensitive if there are contributors, but they represent fewer than n units by their sampling weights.

    S = n − Σ w. The levels are those of ``FREQ``. A contributor with several weights in a cell counts with the smallest. With
    weights of 1 or more, fewer cells are sensitive than with ``FREQ``: a cell with one respondent who represents n units is not.

    Source: τ-ARGUS, which has the minimum frequency with and without weights.
    """

    name: ClassVar[str] = "WFREQ"
    example: ClassVar[str] = "WFREQ(3)"

    @property
    def words(self) -> str:
        return (
            f"A cell is sensitive if it has contributors, but they represent fewer than {self.n} units by their sampling "
            f"weights. {self._level_in_words()}"
        )

    def _number(self, cells: Table) -> FloatArray:
        if cells.weighted_count is None:
            raise RuleError(
                f"Rule {self.name} needs the number of units that contributors represent: tabulate with a weight, or use FREQ."
            )
        return cells.weighted_count
