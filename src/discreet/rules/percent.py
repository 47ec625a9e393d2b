"""The prior/posterior rule, also called pq or p/q-ambiguity rule, and its case q = 100, the p-percent rule."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.rules.base import Boundary, RuleBase, Sensitivity, linear_sensitivity, notation, target_and_coalition


class EstimationRule(RuleBase):
    """Base class of both rules: a coalition of respondents estimates the contribution of the target."""

    p: float
    q: float = 100
    coalition: int
    boundary: Boundary

    def __post_init__(self) -> None:
        self._require_percent("p")
        self._require(self.p < self.q <= 100, "q must be more than p, and 100 percent at most")
        self._require_positive_integer("coalition")
        self._require_boundary(self.boundary)

    @property
    def depth(self) -> int:
        return 1 + self.coalition

    @property
    def words(self) -> str:
        pooled, p = self.coalition > 1, notation(self.p)
        who = f"{self.coalition} contributors who pool their figures" if pooled else "a contributor"
        if self.q < 100:
            who += (
                f"{' and know' if pooled else ' who knows'} all others to within {notation(self.q)} percent beforehand"
            )
        error = f"less than {p} percent" if self.boundary == "strict" else f"{p} percent or less"
        return f"A cell is sensitive if {who} can estimate what another contributes with an error of {error}."

    def __call__(self, cells: Table, waived: BoolArray | None = None) -> Sensitivity:
        target, coalition, has_target = target_and_coalition(cells, self, waived)
        rest = cells.magnitude - target - coalition
        return linear_sensitivity(target, rest, has_target, cells, weight=self.q / self.p, boundary=self.boundary)


@dataclass(frozen=True)
class Percent(EstimationRule):
    """Sensitive if a coalition of contributors can estimate the contribution of another one to within p percent.

    With x₁ the largest contribution, a coalition of the next c, T the magnitude, and the remainder R = T − x₁ − … − x₁₊c:

        S = x₁ − (100/p) · R,    protection level = (p/100) · x₁ − R

    ``boundary="strict"`` calls a cell sensitive if S > 0, ``"inclusive"`` also if S = 0, with level 0.
    Negative contributions count by their absolute value, as in the (p, 100) prior/posterior rule.

    Sources: Cox (1981) and FCSM Working Paper 22, chapter IV (S > 0); Cox (2009), Vulnerability of complementary cell
    suppression to intruder attack (the level); Daalmans & de Waal (2010) (S ≥ 0, negative contributions).
    """

    name: ClassVar[str] = "P"
    example: ClassVar[str] = "P(10)"

    p: float = field(metadata={"meaning": "percent, above 0 and below 100"})
    coalition: int = field(default=1, metadata={"meaning": "c, the number of respondents who pool their figures"})
    boundary: Boundary = field(
        default="strict", kw_only=True, metadata={"meaning": "`strict`: sensitive if S > 0; `inclusive`: if S ≥ 0"}
    )


@dataclass(frozen=True)
class PriorPosterior(EstimationRule):
    """Sensitive if a coalition that knows the other contributions to within q percent can estimate one to within p percent.

    With x₁ the largest contribution, a coalition of the next c, T the magnitude, and the remainder R = T − x₁ − … − x₁₊c:

        S = x₁ − (q/p) · R,    protection level = (p/q) · x₁ − R

    The level is that of Cox: the smallest increase of the cell value after which the cell is not sensitive. Against attackers
    who know each contribution to within q percent, q percent of this level would suffice: (p · x₁ − q · R) / 100.
    With q = 100 the rule is the p-percent rule; ``boundary`` has the same meaning.

    Sources: Cox (1981) and FCSM Working Paper 22, chapter IV (S > 0); Cox, Vulnerability of complementary cell
    suppression to intruder attack (the level; in that article the sum should start at the third contribution); Daalmans & de Waal
    (2010) (S ≥ 0, negative contributions by their absolute value).
    """

    name: ClassVar[str] = "PQ"
    example: ClassVar[str] = "PQ(10,50)"

    p: float = field(metadata={"meaning": "percent, above 0 and below 100"})
    q: float = field(metadata={"meaning": "percent, above p and at most 100"})
    coalition: int = field(default=1, metadata={"meaning": "c, the number of respondents who pool their figures"})
    boundary: Boundary = field(
        default="strict", kw_only=True, metadata={"meaning": "`strict`: sensitive if S > 0; `inclusive`: if S ≥ 0"}
    )
