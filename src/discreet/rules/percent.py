"""The p-percent rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.rules.base import Boundary, RuleBase, Sensitivity, linear_sensitivity, target_and_coalition


@dataclass(frozen=True)
class Percent(RuleBase):
    """Sensitive if a coalition of contributors can estimate another's contribution to within p percent.

    With x₁ the largest contribution, a coalition of the next c, T the magnitude, and the remainder R = T − x₁ − … − x₁₊c:

        S = x₁ − (100/p) · R,    protection level = (p/100) · x₁ − R

    ``boundary="strict"`` calls a cell sensitive if S > 0, ``"inclusive"`` also if S = 0, with level 0.
    Negative contributions count by their absolute value, as in the (p, 100) prior/posterior rule.

    Sources: Cox (1981) and FCSM Working Paper 22, chapter IV (S > 0); Cox (2009), Vulnerability of complementary cell
    suppression to intruder attack (the level); Daalmans & de Waal (2010) (S ≥ 0, negative contributions).
    """

    name: ClassVar[str] = "P"

    p: float = field(metadata={"meaning": "percent, above 0 and below 100"})
    coalition: int = field(default=1, metadata={"meaning": "c, the number of respondents who pool their figures"})
    boundary: Boundary = field(
        default="strict", kw_only=True, metadata={"meaning": "`strict`: sensitive if S > 0; `inclusive`: if S ≥ 0"}
    )

    def __post_init__(self) -> None:
        self._require_percent("p")
        self._require_positive_integer("coalition")
        self._require_boundary(self.boundary)

    @property
    def depth(self) -> int:
        return 1 + self.coalition

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        target, coalition, exists = target_and_coalition(cells, self, waived)
        rest = cells.magnitude - target - coalition
        return linear_sensitivity(target, rest, exists, cells, weight=100 / self.p, boundary=self.boundary)
