"""The simplex method in rational numbers: slow and sure, for where a solver's floats do not get to the end."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from discreet.inference.exact_lp import Combination, ExactDeviation, ExactProgram
from discreet.inference.exact_numbers import MAX_DENOMINATOR_BITS, Bound, Rational, quotient
from discreet.inference.rational_systems import solve, subtract

MAX_PIVOT_MULTIPLICATIONS = 3_000_000  # multiplications after which a cell is given up
MAX_EXACT_RELATIONS = 1_000  # relations that are too many to begin with


def maximize_exactly(
    program: ExactProgram, cell: int, sign: int, start: ExactDeviation | None = None
) -> tuple[ExactDeviation | None, Combination]:
    """A difference that moves a cell farthest up (``sign`` 1) or down (−1), and the combination that proves it.

    It goes on from ``start``, if given. If it takes too long, it ends early, and the two do not meet.
    """
    relations = _component(program, cell)
    if len(relations) > MAX_EXACT_RELATIONS:
        return start, program.combine(cell, sign, {})
    tableau = _Tableau(program, relations, cell, sign, start)
    while tableau.steps <= MAX_PIVOT_MULTIPLICATIONS and tableau.improve():
        pass
    shown, limit = ExactDeviation.of(tableau.ray or tableau.x), program.combine(cell, sign, tableau.multipliers())
    if (
        max(shown.denominator, *(y.denominator for y in limit.multipliers.values()), 1).bit_length()
        > MAX_DENOMINATOR_BITS
    ):
        return start, program.combine(cell, sign, {})
    return shown, limit


class _Tableau:
    """Basic cells as sums of the others: for each, ``x[basic] + Σ weight · x[other] == 0``."""

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
            way = sign if start.by_cell.get(cell, 0) > 0 else -sign
            fits = program.multiple(start, way)
            times = Fraction(way) if isinstance(fits, float) else way * fits
            self.x |= {i: times * move / start.denominator for i, move in start.by_cell.items()}
        self.ray: dict[int, Rational] = {}  # a direction without end, if there is one
        self.rows: dict[int, dict[int, Rational]] = {}
        self.holding: defaultdict[int, set[int]] = defaultdict(set)
        self.steps = 0
        for relation in relations.values():
            self._take_in(dict(relation))

    def _take_in(self, row: dict[int, Rational]) -> None:
        """Another relation, in terms of cells that are not basic; a cell between its bounds is to become basic by it."""
        for basic in [i for i in row if i in self.rows]:
            subtract(row, {basic: 1, **self.rows[basic]}, row[basic])
        if row:
            self._make_basic(min(row, key=lambda i: (self._at_bound(i), len(self.holding[i]))), row)

    def _at_bound(self, i: int) -> bool:
        return self.x[i] in self.program.slack(i)

    def _make_basic(self, i: int, row: dict[int, Rational]) -> None:
        weight = row.pop(i)
        self.rows[i] = {other: quotient(w, weight) for other, w in row.items()}
        for other in self.rows[i]:
            self.holding[other].add(i)
        for basic in self.holding.pop(i, set()):
            self.steps += len(row)
            times = self.rows[basic][i]
            subtract(self.rows[basic], {i: 1, **self.rows[i]}, times)
            for other in self.rows[i]:
                (self.holding[other].add if other in self.rows[basic] else self.holding[other].discard)(basic)

    def improve(self) -> bool:
        """Move one cell that is not basic, for the good of the one to be pushed; False if none can, or without end."""
        gains = self._gains()
        entering = next(
            (i for i in sorted(gains) if self._slack(i, gains[i])), None
        )  # the lowest, so as never to cycle
        if entering is None:
            return False
        way = 1 if gains[entering] > 0 else -1
        far, leaving = self._ratio(entering, way)
        moves = {entering: way, **{b: -way * self.rows[b][entering] for b in self.holding[entering]}}
        if isinstance(far, float):
            self.ray = moves
            return False
        for i, move in moves.items():
            self.x[i] += far * move
        if leaving != entering:
            self._swap(leaving, entering)
        return True

    def _gains(self) -> dict[int, Rational]:
        """What moving each cell that is not basic does for the one to be pushed."""
        if self.cell not in self.rows:
            return {self.cell: self.sign}
        return {i: -self.sign * weight for i, weight in self.rows[self.cell].items()}

    def _slack(self, i: int, way: Rational) -> Bound:
        low, high = self.program.slack(i)
        return high - self.x[i] if way > 0 else self.x[i] - low

    def _ratio(self, entering: int, way: int) -> tuple[Bound, int]:
        """How far a cell can go, and which cell meets its bound then; of several the lowest."""
        best: tuple[Bound, int] = (self._slack(entering, way), entering)
        for basic in self.holding[entering]:
            move = -way * self.rows[basic][entering]
            slack = self._slack(basic, move)
            far = slack if isinstance(slack, float) else slack / abs(Fraction(move))
            best = min(best, (far, basic))
        return best

    def _swap(self, leaving: int, entering: int) -> None:
        row = self.rows.pop(leaving)
        for other in row:
            self.holding[other].discard(leaving)
        self._make_basic(entering, {leaving: 1, **row})

    def multipliers(self) -> dict[int, Fraction]:
        """Of relations, such that basic cells cancel out."""
        equations = [dict(self.program.relations_of(basic)) for basic in self.rows]
        constants = [-self.sign if basic == self.cell else 0 for basic in self.rows]
        found = solve(equations, constants, dict.fromkeys(self.relations, 0)) or {}
        return {row: Fraction(y) for row, y in sorted(found.items()) if y}


def _component(program: ExactProgram, cell: int) -> dict[int, dict[int, Rational]]:
    """The relations that tie a cell to others, directly or not, with their uncertain cells."""
    found: dict[int, dict[int, Rational]] = {}
    queue, seen = [cell], {cell}
    while queue:
        for row, _ in program.relations_of(queue.pop()):
            if row not in found:
                found[row] = {i: weight for i, weight in program.relation(row) if program.is_uncertain(i)}
                queue += [i for i in found[row] if i not in seen]
                seen.update(found[row])
    return found
