"""The threshold rule, also called minimum frequency rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.arrays import BoolArray, FloatArray
from discreet.data.table import Table
from discreet.errors import RuleError
from discreet.rules.base import RuleBase, Sensitivity, targets


@dataclass(frozen=True)
class Threshold(RuleBase):
    """Sensitive if there are contributors, but fewer than n.

    S = n − count. The protection a small cell needs does not follow from its number of contributors. In a table of
    counts the reader must not be able to tell where between 0 and n the count lies: the levels reach down to 0 and up
    to n. In a table of magnitudes, of weighted counts, or where a respondent is counted more than once, they are
    ``margin`` percent of T; how much is a matter of policy, 20 a usual choice. With a ``width`` the reader's interval must
    only be so wide, wherever it lies: that is what counts can have that are rounded or perturbed, and not suppressed, as
    whoever is shown more than 0 is known to be there.

    A cell is let go if all its contributors are known and have waived protection.

    Sources: FCSM Working Paper 22, chapter IV; Cox, Vulnerability of complementary cell suppression to intruder
    attack (the interval from 0 to n).
    """

    name: ClassVar[str] = "FREQ"

    n: int = field(metadata={"meaning": "an integer, at least 1"})
    margin: float = field(default=20, metadata={"meaning": "protection level in percent of T, from 0 to 100"})
    width: float | None = field(
        default=None, metadata={"meaning": "sliding protection level, instead of the other levels"}
    )

    def __post_init__(self) -> None:
        self._require_whole("n")
        self._require_margin(self.margin)
        self._require(self.width is None or 0 <= self.width < np.inf, "width must be a number, 0 or more")

    @property
    def depth(self) -> int:
        return 0

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        if cells.count is None:
            raise RuleError(f"Rule {self.name} needs the number of contributors to each cell: give the table a count.")
        number = self._number(cells)
        sensitive = (cells.count > 0) & (number < self.n)
        if waived is not None:
            candidate, suppressed = targets(cells, waived)
            sensitive &= candidate.any(axis=1) | suppressed
        missing = self.n - number
        score = np.where(sensitive, missing, np.minimum(missing, 0.0))
        if self.width is not None:
            nothing, width = np.zeros(len(cells)), np.where(sensitive, float(self.width), 0.0)
            return Sensitivity(score, sensitive, nothing, nothing, sliding=width)
        level = self.margin / 100 * cells.magnitude
        # A weighted count says how many are meant, not how many answered: n is no bound for it.
        counted = cells.is_count & (cells.value == cells.count)
        lower, upper = np.where(counted, cells.value, level), np.where(counted, self.n - cells.value, level)
        return Sensitivity.of(score, sensitive, lower, upper)

    def _number(self, cells: Table) -> FloatArray:
        """How many contributors a cell has: those who answered."""
        return np.asarray(cells.count, dtype=np.float64)


@dataclass(frozen=True)
class WeightedThreshold(Threshold):
    """Sensitive if there are contributors, but they stand for fewer than n by their sampling weights.

    S = n − Σ w. The levels are those of ``FREQ``. A contributor with several weights in a cell counts with the smallest. Where
    weights are 1 or more fewer cells are sensitive than with ``FREQ``: one respondent who stands for n is published.

    Source: τ-ARGUS, which has the minimum frequency with and without weights.
    """

    name: ClassVar[str] = "WFREQ"

    def _number(self, cells: Table) -> FloatArray:
        if cells.weighted_count is None:
            raise RuleError(
                f"Rule {self.name} needs to know whom contributors stand for: tabulate with a weight, or use FREQ."
            )
        return cells.weighted_count
