"""A linear combination of suppressed cells whose value follows from published ones, and whether it is sensitive."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.arrays import BoolArray
from discreet.data.table import Table
from discreet.inference.exact_numbers import Rational, decimal_fraction, format_number, simple_fraction
from discreet.inference.respondents.insiders import Insiders, TargetGroup
from discreet.inference.respondents.sensitivity import SensitivityMeasure

MAX_NAMED_CELLS = 6  # cells of a sum that are named, so that a sentence stays readable


@dataclass(frozen=True, eq=False, repr=False)
class Aggregation:
    """A sum of suppressed base cells that equals a sum of published cells, by multiples of relations. Amounts are absolute."""

    multipliers: Mapping[int, Fraction]  # by relation
    suppressed: Mapping[int, Fraction]  # by base cell, its weight in the sum
    published: Mapping[int, Fraction]  # by published cell, its weight
    target: Fraction  # contribution of the target
    known: Fraction  # contribution of the insiders
    others: Fraction  # contribution of all others
    sensitive: bool

    @classmethod
    def of(
        cls, insiders: Insiders, group: TargetGroup, multipliers: Mapping[int, Fraction], in_play: BoolArray
    ) -> Aggregation:
        """The aggregation given by multipliers of relations; ``in_play`` are the suppressed base cells."""
        relations = insiders.problem.table.relations
        left: defaultdict[int, Rational] = defaultdict(int)
        for row, y in multipliers.items():
            for k in range(relations.indptr[row], relations.indptr[row + 1]):
                left[int(relations.indices[k])] += y * simple_fraction(float(relations.data[k]))
        weights = {cell: Fraction(weight) for cell, weight in sorted(left.items()) if weight}
        largest = max((abs(weight) for cell, weight in weights.items() if in_play[cell]), default=Fraction(1))
        first = next((weight for cell, weight in weights.items() if in_play[cell]), Fraction(1))
        scale = (1 if first > 0 else -1) / largest
        suppressed = {cell: scale * weight for cell, weight in weights.items() if in_play[cell]}
        published = {cell: -scale * weight for cell, weight in weights.items() if not in_play[cell]}
        return cls._assessed(insiders, group, {row: scale * y for row, y in multipliers.items()}, suppressed, published)

    @classmethod
    def of_cell(cls, insiders: Insiders, group: TargetGroup, cell: int) -> Aggregation:
        """The aggregation that consists of one published cell."""
        return cls._assessed(insiders, group, {}, {cell: Fraction(1)}, {cell: Fraction(1)})

    @classmethod
    def _assessed(
        cls,
        insiders: Insiders,
        group: TargetGroup,
        multipliers: Mapping[int, Fraction],
        suppressed: Mapping[int, Fraction],
        published: Mapping[int, Fraction],
    ) -> Aggregation:
        def contribution(respondent: int) -> Fraction:
            amounts = zip(*(column.tolist() for column in insiders.contributions.of(respondent)), strict=True)
            return sum(
                (abs(suppressed[cell]) * decimal_fraction(amount) for cell, amount in amounts if cell in suppressed),
                Fraction(0),
            )

        target, known = contribution(group.target), sum(map(contribution, group.insiders), Fraction(0))
        magnitude = insiders.problem.table.magnitude
        total = sum(
            (abs(weight) * decimal_fraction(float(magnitude[cell])) for cell, weight in suppressed.items()), Fraction(0)
        )
        measure = insiders.measure
        score = simple_fraction(measure.lead) * target + simple_fraction(measure.other) * known - total
        return cls(multipliers, suppressed, published, target, known, total - target - known, score > 0)

    def precision(self, measure: SensitivityMeasure) -> Fraction:
        """The relative error to which the insiders can estimate the target; under dominance, the share of others in the sum."""
        if measure.has_target:
            return simple_fraction(measure.known) * self.others / self.target if self.target else Fraction(0)
        return self.others / (self.target + self.known + self.others)

    def words(self, table: Table, respondent: str, insiders: tuple[str, ...], measure: SensitivityMeasure) -> str:
        """A sentence about the sum, its value and the conclusion for the respondent. Confidential."""
        value = sum(
            (weight * decimal_fraction(float(table.value[cell])) for cell, weight in self.suppressed.items()),
            Fraction(0),
        )
        equation = f"{_sum(table, self.suppressed)} is {format_number(value)}"
        if self.multipliers:
            equation += f", which is {_sum(table, self.published)}"
        if not measure.has_target:
            coalition = " and ".join((respondent, *insiders))
            return f"{equation}: {coalition} make {float(1 - self.precision(measure)):.1%} of it."
        attacker = " and ".join(insiders) or "any reader"
        learns = "learns" if len(insiders) < 2 else "learn"
        precision = float(self.precision(measure))
        within = f"to within {precision:.1%}" if precision else "exactly"
        return f"{equation}: {attacker} {learns} {within} what {respondent} contributes."


def _sum(table: Table, weights: Mapping[int, Fraction]) -> str:
    """``"A × I" + "B × I" − 2 "C × I"``"""
    terms = sorted(weights.items(), key=lambda term: term[1] < 0)  # positive terms first
    text = ""
    for k, (cell, weight) in enumerate(terms[:MAX_NAMED_CELLS]):
        sign = ("−" if weight < 0 else "") if k == 0 else " − " if weight < 0 else " + "
        times = "" if abs(weight) == 1 else f"{format_number(abs(weight))} × "
        text += f"{sign}{times}{table.label(cell)!r}"
    return text + (f" and {len(terms) - MAX_NAMED_CELLS:,} more" if len(terms) > MAX_NAMED_CELLS else "")
