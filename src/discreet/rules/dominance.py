"""The dominance rule, also called (n, k) rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.rules.base import Boundary, RuleBase, Sensitivity, linear_sensitivity, notation, target_and_coalition


@dataclass(frozen=True)
class Dominance(RuleBase):
    """Sensitive if the n largest contributors make more than k percent of the cell.

    With D = x₁ + … + xₙ and the remainder R = T − D:

        S = D − k/(100 − k) · R,    protection level = (100/k) · D − T = (100 − k)/k · S

    ``boundary="strict"`` means more than k percent (S > 0), ``"inclusive"`` k percent or more. If respondents have waived
    protection, D is the largest contribution of one who has not, plus the n − 1 largest other ones.

    Sources: Cox (1981) and FCSM Working Paper 22, chapter IV, whose text says "or more" and whose formula "more".
    """

    name: ClassVar[str] = "NK"
    example: ClassVar[str] = "NK(2,85)"

    n: int = field(metadata={"meaning": "an integer, at least 1"})
    k: float = field(metadata={"meaning": "percent, above 0 and below 100"})
    boundary: Boundary = field(
        default="strict", kw_only=True, metadata={"meaning": "`strict`: sensitive if S > 0; `inclusive`: if S ≥ 0"}
    )

    def __post_init__(self) -> None:
        self._require_positive_integer("n")
        self._require_percent("k")
        self._require_boundary(self.boundary)

    @property
    def depth(self) -> int:
        return self.n

    @property
    def words(self) -> str:
        largest = "largest contributor makes" if self.n == 1 else f"{self.n} largest contributors together make"
        share = (
            f"more than {notation(self.k)} percent"
            if self.boundary == "strict"
            else f"{notation(self.k)} percent or more"
        )
        return f"A cell is sensitive if its {largest} {share} of it."

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        target, others, has_target = target_and_coalition(cells, self, waived)
        largest = target + others
        rest = cells.magnitude - largest
        weight = self.k / (100 - self.k)
        return linear_sensitivity(largest, rest, has_target, cells, weight, self.boundary)
