"""Sensitivity of a sum of contributions: of a cell, or of an aggregation of cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from discreet.errors import RuleError
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.problem import Problem
from discreet.rules import Dominance, Percent, PriorPosterior, Rule, parse_rules

BOUNDARY_FACTOR = 1 + 4 * LEVEL_TOLERANCE  # strict enough for sums on the boundary, in spite of numerical error


@dataclass(frozen=True)
class SensitivityMeasure:
    """A sum X is sensitive if ``lead`` times one contribution and ``other`` times some ``others`` exceed X.

    A contribution counts by its absolute value times the absolute weight of its cell in the sum: Daalmans & de Waal (2010),
    section 5. For PQ(p, q), ``lead`` is 1 + p/q and ``other`` is 1: the sum is sensitive if q times the rest is less than p
    times the contribution of the target. For NK(n, k) both are 100/k.
    """

    rule: str
    lead: float
    other: float
    others: int
    known: float = 1.0  # relative error to which every contribution is known beforehand

    def inclusive(self) -> SensitivityMeasure:
        """The measure slightly stricter, so that sums on the boundary count as sensitive."""
        return replace(
            self, lead=self.lead * BOUNDARY_FACTOR, other=self.other * (1.0 if self.has_target else BOUNDARY_FACTOR)
        )

    @property
    def has_target(self) -> bool:
        """Whether one respondent is estimated by others; under dominance, all members of the group are alike."""
        return self.lead > self.other


def sensitivity_measures(problem: Problem) -> list[SensitivityMeasure]:
    """The measures of the rules of a problem that are about contributions; other rules do not apply to aggregations."""
    found = measures_of_rules(problem.rules)
    return [measure.inclusive() for measure in found] if problem.boundary == "inclusive" else found


def measures_of_rules(rules: str | Rule | Iterable[str | Rule]) -> list[SensitivityMeasure]:
    """The measures of the rules that are about contributions; refused if there are none."""
    found = contribution_measures(rules)
    if not found:
        raise RuleError(
            "Safety of single respondents needs a rule about contributions: P, PQ or NK. Assess the table by one of them."
        )
    return found


def contribution_measures(rules: str | Rule | Iterable[str | Rule]) -> list[SensitivityMeasure]:
    """The measures of the rules that are about contributions."""
    return [measure for rule in parse_rules(rules) if (measure := _measure(rule)) is not None]


def cells_beyond_contributions(problem: Problem) -> int:
    """The number of sensitive cells that are not sensitive, or need less protection, by rules about contributions alone."""
    cells = problem.primaries
    rules = parse_rules(problem.rules, "inclusive" if problem.boundary == "inclusive" else "strict")
    found = [rule(problem.table) for rule in rules if _measure(rule) is not None]
    covered = np.any([seen.sensitive[cells] for seen in found], axis=0)
    for name in ("lower", "upper", "sliding"):
        needed = getattr(problem, name)[cells]
        most = np.max([getattr(seen, name)[cells] for seen in found], axis=0)
        covered &= needed <= most * (1 + LEVEL_TOLERANCE)
    return int((~covered).sum())


def _measure(rule: Rule) -> SensitivityMeasure | None:
    match rule:
        case Percent(p, coalition):
            return SensitivityMeasure(str(rule), 1 + p / 100, 1.0, coalition)
        case PriorPosterior(p, q, coalition):
            return SensitivityMeasure(str(rule), 1 + p / q, 1.0, coalition, q / 100)
        case Dominance(n, k):
            return SensitivityMeasure(str(rule), 100 / k, 100 / k, n - 1)
    return None
