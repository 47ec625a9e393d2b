"""The simplex method in rational numbers, for cells where the solution of a solver cannot be made exact."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from discreet.inference.exact_lp import Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import MAX_DENOMINATOR_BITS, Bound, Rational, quotient
from discreet.inference.rational_systems import solve, subtract

MAX_PIVOT_MULTIPLICATIONS = 3_000_000  # rational multiplications per cell: a few seconds
MAX_EXACT_RELATIONS = 1_000  # larger components mostly exceed the limit above


def maximize_exactly(
    program: ExactProgram, cell: int, sign: int, start: ExactDeviation | None = None
) -> tuple[ExactDeviation | None, Combination]:
    """The farthest deviation of a cell, searched from ``start``, and the combination that proves it unless it takes too long."""
    relations = _component(program, cell)
    if len(relations) > MAX_EXACT_RELATIONS:
        return start, program.combine(cell, sign, {})
    tableau = _Tableau(program, relations, cell, sign, start)
    while tableau.steps <= MAX_PIVOT_MULTIPLICATIONS and tableau.improve():
        pass
    shown, limit = ExactDeviation.of(tableau.ray or tableau.x), program.combine(cell, sign, tableau.multipliers())
    denominator = max(shown.denominator, *(y.denominator for y in limit.multipliers.values()), 1)
    if denominator.bit_length() > MAX_DENOMINATOR_BITS:
        return start, program.combine(cell, sign, {})
    return shown, limit


class _Tableau:
    """Basic cells in terms of nonbasic ones: ``x[basic] + Σ weight · x[nonbasic] == 0``."""

    def __init__(
        self,
        program: ExactProgram,
        relations: dict[int, dict[int, Rational]],
        cell: int,
        sign: int,
        start: ExactDeviation | None,
    ) -> None:
        self.program, self.relations, self.cell, self.sign = program, relations, cell, sign
        cells = sorted({i for relation in relations.values() for i in relation} | {cell})
        self.x: dict[int, Rational] = dict.fromkeys(cells, 0)
        if start is not None:
            direction = sign if start.by_cell.get(cell, 0) > 0 else -sign
            multiple = program.multiple(start, direction)
            factor = Fraction(direction) if isinstance(multiple, float) else direction * multiple
            self.x |= {i: factor * numerator / start.denominator for i, numerator in start.by_cell.items()}
        self.ray: dict[int, Rational] = {}  # an unbounded direction, if one was found
        self.rows: dict[int, dict[int, Rational]] = {}  # by basic cell
        # By nonbasic cell: the basic cells whose rows have it.
        self.basic_of: defaultdict[int, set[int]] = defaultdict(set)
        self.steps = 0
        for relation in relations.values():
            self._add_relation(dict(relation))

    def _add_relation(self, row: dict[int, Rational]) -> None:
        """Eliminate the basic cells from a relation and make one of its cells basic, if possible one between its bounds."""
        for basic in [i for i in row if i in self.rows]:
            subtract(row, {basic: 1, **self.rows[basic]}, row[basic])
        if row:
            self._make_basic(min(row, key=lambda i: (self.x[i] in self.program.slack(i), len(self.basic_of[i]))), row)

    def _make_basic(self, i: int, row: dict[int, Rational]) -> None:
        weight = row.pop(i)
        self.rows[i] = {other: quotient(w, weight) for other, w in row.items()}
        for other in self.rows[i]:
            self.basic_of[other].add(i)
        for basic in self.basic_of.pop(i, set()):
            self.steps += len(row)
            factor = self.rows[basic][i]
            subtract(self.rows[basic], {i: 1, **self.rows[i]}, factor)
            for other in self.rows[i]:
                (self.basic_of[other].add if other in self.rows[basic] else self.basic_of[other].discard)(basic)

    def improve(self) -> bool:
        """One pivot; False if the objective is optimal or unbounded."""
        reduced_costs = self._reduced_costs()
        # Bland's rule, the lowest cell, prevents cycling.
        entering = next((i for i in sorted(reduced_costs) if self._slack(i, reduced_costs[i])), None)
        if entering is None:
            return False
        direction = 1 if reduced_costs[entering] > 0 else -1
        length, leaving = self._ratio_test(entering, direction)
        rates = {entering: direction, **{b: -direction * self.rows[b][entering] for b in self.basic_of[entering]}}
        if isinstance(length, float):
            self.ray = rates
            return False
        for i, rate in rates.items():
            self.x[i] += length * rate
        if leaving != entering:
            row = self.rows.pop(leaving)
            for other in row:
                self.basic_of[other].discard(leaving)
            self._make_basic(entering, {leaving: 1, **row})
        return True

    def _reduced_costs(self) -> dict[int, Rational]:
        """The change of the objective per unit of each nonbasic cell."""
        if self.cell not in self.rows:
            return {self.cell: self.sign}
        return {i: -self.sign * weight for i, weight in self.rows[self.cell].items()}

    def _slack(self, i: int, direction: Rational) -> Bound:
        low, high = self.program.slack(i)
        return high - self.x[i] if direction > 0 else self.x[i] - low

    def _ratio_test(self, entering: int, direction: int) -> tuple[Bound, int]:
        """The longest feasible step of the entering cell, and the first cell to reach its bound; among equals the lowest."""
        best: tuple[Bound, int] = (self._slack(entering, direction), entering)
        for basic in self.basic_of[entering]:
            rate = -direction * self.rows[basic][entering]
            slack = self._slack(basic, rate)
            length = slack if isinstance(slack, float) else slack / abs(Fraction(rate))
            best = min(best, (length, basic))
        return best

    def multipliers(self) -> dict[int, Fraction]:
        """The multipliers of the relations for which the basic cells cancel out."""
        equations = [dict(self.program.relations_of(basic)) for basic in self.rows]
        constants = [-self.sign if basic == self.cell else 0 for basic in self.rows]
        found = solve(equations, constants, dict.fromkeys(self.relations, 0)) or {}
        return {row: Fraction(y) for row, y in sorted(found.items()) if y}


def _component(program: ExactProgram, cell: int) -> dict[int, dict[int, Rational]]:
    """The relations in the connected component of a cell, with their uncertain cells."""
    found: dict[int, dict[int, Rational]] = {}
    queue, seen = [cell], {cell}
    while queue:
        for row, _ in program.relations_of(queue.pop()):
            if row not in found:
                found[row] = {i: weight for i, weight in program.relation(row) if program.is_uncertain(i)}
                queue += [i for i in found[row] if i not in seen]
                seen.update(found[row])
    return found
