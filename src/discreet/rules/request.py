"""The request rule, or passive confidentiality."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import ClassVar

import numpy as np

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.errors import RuleError
from discreet.rules.base import (
    RuleBase,
    Sensitivity,
    largest_contributions,
    linear_sensitivity,
    margin_in_words,
    notation,
    targets,
)


@dataclass(frozen=True)
class Request(RuleBase):
    """Sensitive if a contributor who requested protection makes more than ``share`` percent of the cell.

    Used in foreign trade statistics, where data are protected on request only. With x the largest contribution of a
    respondent who requested protection and has not waived it:

        S = x − share/(100 − share) · (T − x)

    The protection level is ``margin`` percent of T, which is a matter of policy.

    Source: Cox (1981) for the measure, which is that of the (1, share) rule.
    """

    name: ClassVar[str] = "REQ"
    example: ClassVar[str] = "REQ(70)"

    share: float = field(metadata={"meaning": "percent, above 0 and below 100"})
    margin: float = field(default=20, metadata={"meaning": "protection level in percent of T, from 0 to 100"})

    def __post_init__(self) -> None:
        self._require_percent("share")
        self._require_margin(self.margin)

    @property
    def depth(self) -> int:
        """The number of contributors that can have more than ``share`` percent each."""
        return max(1, ceil(100 / self.share) - 1)

    @property
    def words(self) -> str:
        return (
            "A cell is sensitive if a contributor who requested protection makes more than "
            f"{notation(self.share)} percent of it. {margin_in_words(self.margin)}."
        )

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        if cells.requested is None:
            raise RuleError(
                f"Rule {self.name} needs to know which contributors requested protection: give the table a requested column."
            )
        top = largest_contributions(cells, self)
        candidate, _ = targets(cells, waived)
        requested = np.asarray(cells.requested, dtype=bool)
        if requested.shape != candidate.shape:
            raise RuleError(f"Requests come as {requested.shape} flags: align them with top, {candidate.shape}.")
        x = np.where(candidate & requested, top[:, : requested.shape[1]], 0.0).max(axis=1, initial=0.0)
        weight = self.share / (100 - self.share)
        verdict = linear_sensitivity(x, cells.magnitude - x, np.ones(len(x), dtype=bool), cells, weight, "strict")
        level = self.margin / 100 * cells.magnitude
        return Sensitivity.of(verdict.score, verdict.sensitive, level, level)
