"""A combination of published cells, and what it says about a respondent."""

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

MAX_NAMED_CELLS = 6  # cells that are still named one by one


@dataclass(frozen=True, eq=False, repr=False)
class Aggregation:
    """Relations times multipliers leave a sum of suppressed base cells on one side and published cells on the other.

    So anybody can work out its value. That, and what it says about a respondent, can be checked by adding up.
    """

    multipliers: Mapping[int, Fraction]  # of relations
    suppressed: Mapping[int, Fraction]  # base cells, and how often each is in the sum
    published: Mapping[int, Fraction]  # cells, and how often to add each to get the sum
    target: Fraction  # what the target contributes to it, in absolute value
    known: Fraction  # what the insiders do
    others: Fraction  # and everybody else
    sensitive: bool

    @classmethod
    def of(
        cls, insiders: Insiders, group: TargetGroup, multipliers: Mapping[int, Fraction], in_play: BoolArray
    ) -> Aggregation:
        """What relations times multipliers leave; in play are suppressed base cells."""
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
        return cls._judged(insiders, group, {row: scale * y for row, y in multipliers.items()}, suppressed, published)

    @classmethod
    def of_cell(cls, insiders: Insiders, group: TargetGroup, cell: int) -> Aggregation:
        """A cell that is published as it is."""
        return cls._judged(insiders, group, {}, {cell: Fraction(1)}, {cell: Fraction(1)})

    @classmethod
    def _judged(
        cls,
        insiders: Insiders,
        group: TargetGroup,
        multipliers: Mapping[int, Fraction],
        suppressed: Mapping[int, Fraction],
        published: Mapping[int, Fraction],
    ) -> Aggregation:
        def share(who: int) -> Fraction:
            mine = zip(*(part.tolist() for part in insiders.given.of(who)), strict=True)
            return sum(
                (abs(suppressed[cell]) * decimal_fraction(amount) for cell, amount in mine if cell in suppressed),
                Fraction(0),
            )

        target, known = share(group.target), sum(map(share, group.insiders), Fraction(0))
        magnitude = insiders.problem.table.magnitude
        total = sum(
            (abs(weight) * decimal_fraction(float(magnitude[cell])) for cell, weight in suppressed.items()), Fraction(0)
        )
        measure = insiders.measure
        score = simple_fraction(measure.lead) * target + simple_fraction(measure.other) * known - total
        return cls(multipliers, suppressed, published, target, known, total - target - known, score > 0)

    def precision(self, measure: SensitivityMeasure) -> Fraction:
        """To within which share of its contribution the target can be told; under dominance, what share others make."""
        if measure.has_target:
            return simple_fraction(measure.known) * self.others / self.target if self.target else Fraction(0)
        return self.others / (self.target + self.known + self.others)

    def words(self, table: Table, respondent: str, insiders: tuple[str, ...], measure: SensitivityMeasure) -> str:
        """What somebody can do with it, in a sentence. Confidential."""
        told = f"{_sum(table, self.suppressed)} is {format_number(self._value(table))}"
        if self.multipliers:
            told += f", which is {_sum(table, self.published)}"
        if not measure.has_target:
            who = " and ".join((respondent, *insiders))
            return f"{told}: {who} make {float(1 - self.precision(measure)):.1%} of it."
        who = " and ".join(insiders) or "anybody"
        learns = "learns" if len(insiders) < 2 else "learn"
        closeness = float(self.precision(measure))
        within = f"to within {closeness:.1%}" if closeness else "exactly"
        return f"{told}: {who} {learns} what {respondent} contributes {within}."

    def _value(self, table: Table) -> Fraction:
        return sum(
            (weight * decimal_fraction(float(table.value[cell])) for cell, weight in self.suppressed.items()),
            Fraction(0),
        )


def _sum(table: Table, weights: Mapping[int, Fraction]) -> str:
    """``"A × I" + "B × I" − 2 "C × I"``"""
    # What is added comes before what is subtracted.
    terms = sorted(weights.items(), key=lambda term: term[1] < 0)
    said = ""
    for k, (cell, weight) in enumerate(terms[:MAX_NAMED_CELLS]):
        sign = ("−" if weight < 0 else "") if k == 0 else " − " if weight < 0 else " + "
        times = "" if abs(weight) == 1 else f"{format_number(abs(weight))} × "
        said += f"{sign}{times}{table.label(cell)!r}"
    return said + (f" and {len(terms) - MAX_NAMED_CELLS:,} more" if len(terms) > MAX_NAMED_CELLS else "")
