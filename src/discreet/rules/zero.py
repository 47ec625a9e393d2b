"""The zero rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.errors import RuleError
from discreet.rules.base import RuleBase, Sensitivity, notation, targets


@dataclass(frozen=True)
class Zero(RuleBase):
    """Sensitive if there are contributors, and all of them contribute zero.

    A published zero discloses the contribution of each of them. With T the sum of absolute contributions:

        S = range if T = 0, otherwise −T

    Readers must not be able to exclude values up to ``range``, the upper level. It is in units of the response, as a share of
    zero is zero. Cells without contributors are structural zeros, which disclose no contribution and are never sensitive.

    A cell is not sensitive if all its contributors are known and have waived protection.

    Source: the zero rule and zero safety range of τ-ARGUS; Daalmans & de Waal (2010), section 2, for the disclosure.
    """

    name: ClassVar[str] = "ZERO"
    example: ClassVar[str] = "ZERO(10)"

    range: float = field(metadata={"meaning": "upper protection level in units of the response, above 0"})

    def __post_init__(self) -> None:
        self._require(0 < self.range < np.inf, "range must be a number above 0")

    @property
    def depth(self) -> int:
        return 0

    @property
    def words(self) -> str:
        return (
            "A cell is sensitive if it has contributors and all of them contribute zero. Readers may not be able to exclude "
            f"any value up to {notation(self.range)}."
        )

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        if cells.count is None or not cells.counts_zeros:
            raise RuleError(
                f"Rule {self.name} needs the number of contributors to each cell, those of zero included: "
                "it distinguishes reported zeros from cells without contributors."
            )
        sensitive = (cells.count > 0) & (cells.magnitude == 0)
        if waived is not None:
            candidate, unlisted = targets(cells, waived)
            sensitive &= candidate.any(axis=1) | unlisted
        score = np.where(sensitive, self.range, -cells.magnitude)
        upper = np.full(len(cells), float(self.range))
        return Sensitivity.of(score, sensitive, lower=np.zeros(len(cells)), upper=upper)
