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
    """Sensitive if a contributor who requested protection makes more than ``share`` percent of the cell, or is one of few.

    Used in foreign trade statistics, where data are protected on request only. With x the largest contribution of a
    respondent who requested protection and has not waived it:

        S = x − share/(100 − share) · (T − x)

    A cell with such a respondent is also sensitive if it has fewer than ``minimum`` contributors. The protection level is
    ``margin`` percent of T, which is a matter of policy.

    Sources: Cox (1981) for the measure, which is that of the (1, share) rule; τ-ARGUS version 4.1, User's Manual, section 4.4.4,
    for the minimum and for two kinds of requests.
    """

    name: ClassVar[str] = "REQ"
    example: ClassVar[str] = "REQ(70)"

    share: float = field(
        metadata={"meaning": "percent, above 0 and up to 100; 100: cells are sensitive by `minimum` only"}
    )
    margin: float = field(default=20, metadata={"meaning": "protection level in percent of T, from 0 to 100"})
    minimum: int = field(
        default=0, metadata={"meaning": "fewer contributors are sensitive if one requested protection"}
    )
    kind: int = field(default=0, metadata={"meaning": "the kind of requests that count, from 1 on; 0: all kinds"})

    def __post_init__(self) -> None:
        self._require(
            0 < self.share < 100 or (self.share == 100 and self.minimum > 0),
            "share must be more than 0 and less than 100 percent, or 100 with a minimum",
        )
        self._require_margin(self.margin)
        for parameter in ("minimum", "kind"):
            value = float(getattr(self, parameter))
            self._require(value.is_integer() and value >= 0, f"{parameter} must be an integer, 0 or more")
            object.__setattr__(self, parameter, int(value))

    @property
    def depth(self) -> int:
        """The number of contributors that can have more than ``share`` percent each, or of those of a cell with too few."""
        return max(1, ceil(100 / self.share) - 1, self.minimum - 1)

    @property
    def words(self) -> str:
        kind = f" (kind {self.kind})" if self.kind else ""
        few = f", or is one of fewer than {self.minimum}" if self.minimum else ""
        return (
            f"A cell is sensitive if a contributor who requested protection{kind} makes more than {notation(self.share)} percent "
            f"of it{few}. {margin_in_words(self.margin)}."
        )

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        if cells.requested is None:
            raise RuleError(
                f"Rule {self.name} needs to know which contributors requested protection: give the table a requested column."
            )
        top = largest_contributions(cells, self)
        candidate, _ = targets(cells, waived)
        given = np.asarray(cells.requested)
        if given.shape != candidate.shape:
            raise RuleError(f"Requests come as {given.shape} flags: align them with top, {candidate.shape}.")
        bits = given.astype(np.int64)
        asking = candidate & ((bits & (1 << (self.kind - 1)) if self.kind else bits) != 0)
        x = np.where(asking, top[:, : given.shape[1]], 0.0).max(axis=1, initial=0.0)
        score, sensitive = np.full(len(x), -1.0), np.zeros(len(x), dtype=bool)
        if self.share < 100:
            weight = self.share / (100 - self.share)
            verdict = linear_sensitivity(x, cells.magnitude - x, np.ones(len(x), dtype=bool), cells, weight, "strict")
            score, sensitive = verdict.score, verdict.sensitive
        if self.minimum:
            if cells.count is None:
                raise RuleError(f"Rule {self.name} with a minimum needs the number of contributors to each cell.")
            few = asking.any(axis=1) & (cells.count < self.minimum)
            score = np.where(few, np.maximum(score, self.minimum - cells.count), score)
            sensitive = sensitive | few
        level = self.margin / 100 * cells.magnitude
        return Sensitivity.of(score, sensitive, level, level)
