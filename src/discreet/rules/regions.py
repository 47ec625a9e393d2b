"""Rules as regions of the triangle of the two largest shares, and coverage between them.

A cell is the point (z₁, z₂): the percentages of its magnitude that the two largest contributors make. Each of the rules of
FCSM Working Paper 22, chapter IV, technical notes, is a half-plane, so a rule or a combination of rules is the union of
half-planes within the triangle z₁ ≥ z₂ ≥ 0, z₁ + z₂ ≤ 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from discreet.errors import RuleError
from discreet.rules import Boundary, Dominance, Percent, PriorPosterior, Rule, parse_rules
from discreet.rules.convert import gain_of_p, k_covering, k_within, p_covering, p_within

Point = tuple[float, float]
Line = tuple[float, float, float]  # a, b, c: cells with a · z₁ + b · z₂ > c are sensitive

TRIANGLE: tuple[Point, ...] = ((0.0, 0.0), (100.0, 0.0), (50.0, 50.0))
AREA_TOLERANCE = 1e-9  # percentage points: smaller areas and distances are rounding errors


@dataclass(frozen=True)
class Region:
    """The sensitive part of the triangle by one rule, or by several together."""

    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not self.rules:
            raise RuleError("There is no rule to draw: give at least one, e.g. P(10).")
        for rule in self.rules:
            line(rule)

    @classmethod
    def of(cls, rules: str | Rule | Sequence[str | Rule], boundary: Boundary = "strict") -> Region:
        """The region of a rule such as ``"P(10)"``, or of several such as ``"NK(1,75)|NK(2,85)"``."""
        return cls(parse_rules(rules, boundary))

    def __str__(self) -> str:
        return "|".join(map(str, self.rules))

    @property
    def depth(self) -> int:
        return max(rule.depth for rule in self.rules)

    @property
    def lines(self) -> list[Line]:
        return [line(rule) for rule in self.rules]

    def parts(self) -> list[list[Point]]:
        """The polygon of each rule; together they are the region."""
        return [clip(TRIANGLE, one) for one in self.lines]

    def rest(self) -> list[Point]:
        """The polygon of cells that are not sensitive by any rule."""
        polygon: Sequence[Point] = TRIANGLE
        for a, b, c in self.lines:
            polygon = clip(polygon, (-a, -b, -c))
        return list(polygon)

    def covers(self, other: Region) -> bool:
        """Whether this region contains the other, if both have the same kind of boundary.

        If not, a point outside this region is beyond a line of the other, and then so is a corner of the rest of the triangle.
        """
        return all(a * x + b * y <= c + AREA_TOLERANCE * (a + b) for x, y in self.rest() for a, b, c in other.lines)

    def share(self) -> float:
        """The share of the area of the triangle."""
        return 1 - area(self.rest()) / area(TRIANGLE)


def line(rule: Rule) -> Line:
    """The boundary of the region of a rule; an error unless the two largest shares determine the verdict."""
    if isinstance(rule, Percent | PriorPosterior) and rule.coalition == 1:
        return 1 + percent(rule) / 100, 1.0, 100.0
    if isinstance(rule, Dominance) and rule.n <= 2:
        return 1.0, float(rule.n - 1), rule.k
    name = type(rule).__name__
    raise RuleError(
        f"The two largest shares do not determine the verdict of this {name} rule. Comparable are P and PQ without a coalition, "
        "and NK with n = 1 or 2."
    )


def percent(rule: Percent | PriorPosterior) -> float:
    """The p of the p-percent rule that calls the same cells sensitive: 100 · p/q of a prior-posterior rule."""
    return rule.p if isinstance(rule, Percent) else 100 * rule.p / rule.q


def clip(polygon: Sequence[Point], beyond: Line) -> list[Point]:
    """The part of a convex polygon with a · z₁ + b · z₂ ≥ c; empty if its area is negligible."""
    a, b, c = beyond
    kept: list[Point] = []
    for (x, y), (u, v) in zip(polygon, (*polygon[1:], *polygon[:1]), strict=True):
        here, there = a * x + b * y - c, a * u + b * v - c
        if here >= 0:
            kept.append((x, y))
        if here * there < 0:
            t = here / (here - there)
            kept.append((x + t * (u - x), y + t * (v - y)))
    return kept if area(kept) > AREA_TOLERANCE else []


def area(polygon: Sequence[Point]) -> float:
    turned = (*polygon[1:], *polygon[:1])
    return abs(sum(x * v - u * y for (x, y), (u, v) in zip(polygon, turned, strict=True))) / 2


def neighbours(rule: Rule) -> dict[str, str]:
    """The nearest rules of the other kinds that a rule covers, and those that cover it, as text."""
    if isinstance(rule, Dominance):
        return _neighbours_of_dominance(rule)
    assert isinstance(rule, Percent | PriorPosterior)  # ``line`` refuses other rules
    p = percent(rule)
    same = {} if isinstance(rule, Percent) else {"same cells as": f"P({p:.4g})"}
    return same | {
        "information gain q/p": f"{gain_of_p(p):.4g}",
        "covers": f"NK(1,{_up(k_within(1, p))}) and NK(2,{_up(k_within(2, p))}), also together",
        "covered by": f"NK(1,{_down(k_covering(1, p))}) or NK(2,{_down(k_covering(2, p))})",
    }


def _neighbours_of_dominance(rule: Dominance) -> dict[str, str]:
    above, below = p_covering(rule.n, rule.k), p_within(rule.n, rule.k)
    found = {
        "covers": f"P({_down(below)})" if below > 0 else "no p-percent rule",
        "covered by": f"P({_up(above)})" if above < 100 else "no p-percent rule",
    }
    if above < 100:
        other = 3 - rule.n
        found["same corner as"] = f"NK({other},{_up(k_within(other, above))}), which P({_up(above)}) covers as well"
    return found


def _up(number: float) -> str:
    """Rounded up, so that the coverage holds for the rounded number."""
    return f"{ceil(number * 1e4 - 1e-6) / 1e4:.6g}"


def _down(number: float) -> str:
    """Rounded down, so that the coverage holds for the rounded number."""
    return f"{floor(number * 1e4 + 1e-6) / 1e4:.6g}"
