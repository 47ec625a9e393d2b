"""Proofs that all safe patterns satisfy a linear inequality, and bounds on their cost, in exact rational arithmetic."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property

from discreet.arrays import DOWN, UP, FloatArray, IntArray
from discreet.attackers import Attacker
from discreet.inference.exact_numbers import Bound, Rational, decimal_fraction, exact_difference, simple_fraction
from discreet.inference.tolerances import LEVEL_TOLERANCE
from discreet.problem import Problem, Status

DENOMINATOR = 2520  # a multiple of 1 to 10, which are nearly always the denominators of multipliers
SHARE_UNITS = 10**12  # weights of cells are multiples of this part of 1; larger ones make an inequality weaker
FRACTION_TOLERANCE = 4e-7  # a multiplier this near to such a fraction is one: solvers are more exact

ExactCut = tuple[Mapping[int, Fraction], int]  # weights of free cells that add up to at least this


@dataclass(frozen=True, eq=False)
class CapacityProof:
    """Relations, each times a multiplier, that limit the deviation of a cell to each of its ``sides`` by the slack of others.

    If the level is to be reached, enough of these must be suppressed: a weighted sum of them is at least 1, or, if the cell
    itself may be published, at least 1 in patterns that suppress it. With a ``cover``, so many of those cells must be suppressed
    that the others do not suffice without them.
    """

    attacker: str
    cell: int
    sides: tuple[int, ...]
    multipliers: tuple[tuple[IntArray | Sequence[int], FloatArray | Sequence[Fraction]], ...]  # per side, by relation
    cover: IntArray | Sequence[int] | None = None


@dataclass(frozen=True)
class BridgelessProof:
    """A relation without cells that must be suppressed: if ``cell`` is suppressed, another one in it is, too.

    Some cheapest safe patterns satisfy this (Fischetti & Salazar-González 2000): a cell that is alone in a relation is as well
    published.
    """

    cell: int
    relation: int


CutProof = CapacityProof | BridgelessProof


def posed_for_suppression(problem: Problem) -> Problem:
    """The problem as posed to methods that suppress: inequalities and bounds are about this problem."""
    return problem.posed(suppresses=True, lists_zeros=True)


class ProofError(ValueError):
    """A proof does not hold."""


class ExactCuts:
    """The inequalities of proofs about one problem, see :func:`posed_for_suppression`."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.relations = problem.table.relations
        self.attackers = {attacker.name: attacker for attacker in problem.attackers()}
        self.is_free = problem.status == Status.FREE
        self.is_published = problem.status == Status.PUBLISHED
        self._slack: dict[tuple[str, int, int], Bound] = {}

    def cut(self, proof: CutProof) -> ExactCut:
        """The inequality that a proof shows; raises :class:`ProofError` if it shows none."""
        if isinstance(proof, BridgelessProof):
            return self._bridgeless(proof)
        attacker = self.attackers.get(proof.attacker)
        if attacker is None or self.is_published[proof.cell]:
            raise ProofError("It is not about a cell that may be suppressed and an attacker of the problem.")
        lower, upper, sliding = (float(level) for level in self.problem.levels(attacker)[:, proof.cell])
        level = decimal_fraction({(DOWN,): lower, (UP,): upper, (DOWN, UP): sliding}.get(proof.sides, 0.0))
        if level <= 0 or len(proof.multipliers) != len(proof.sides):
            raise ProofError("It is not about a protection level.")
        weight: defaultdict[int, Bound] = defaultdict(Fraction)
        for side, (rows, multipliers) in zip(proof.sides, proof.multipliers, strict=True):
            for cell, limit in self._limits(attacker, proof.cell, side, rows, multipliers):
                weight[cell] += limit
        level *= 1 - decimal_fraction(LEVEL_TOLERANCE)
        conditional = bool(self.is_free[proof.cell])  # the level is required only if the cell is suppressed
        open_cells = [cell for cell in weight if self.is_free[cell] and cell != proof.cell]
        anyway = sum(
            (limit for cell, limit in weight.items() if not self.is_free[cell] or cell == proof.cell), Fraction(0)
        )
        missing = level - anyway
        if missing <= 0:
            raise ProofError("Cells that are suppressed anyway suffice for the level.")
        share = {cell: _share(weight[cell], Fraction(missing)) for cell in open_cells}
        if conditional:
            return {**share, proof.cell: Fraction(-1)}, 0
        return (share, 1) if proof.cover is None else _cover(share, proof.cover)

    def bound(self, proofs: Iterable[tuple[CutProof, Fraction]]) -> Fraction:
        """A lower bound on the cost of the cheapest safe pattern: the inequalities, each times a multiplier, added up.

        What they use of the cost of a cell beyond that cost is subtracted, because a cell is suppressed at most once.
        """
        found, used = Fraction(0), defaultdict[int, Fraction](Fraction)
        for proof, multiplier in proofs:
            if multiplier < 0:
                raise ProofError("A multiplier of an inequality is negative.")
            weights, least = self.cut(proof)
            found += multiplier * least
            for cell, weight in weights.items():
                used[cell] += multiplier * weight
        cost = self.problem.cost
        excess = sum((max(amount - decimal_fraction(float(cost[cell])), Fraction(0)) for cell, amount in used.items()))
        return found - excess + self.forced_cost

    @cached_property
    def forced_cost(self) -> Fraction:
        """The cost of the cells that are suppressed in every pattern."""
        forced = ~self.is_free & ~self.is_published
        return sum((decimal_fraction(cost) for cost in self.problem.cost[forced].tolist()), Fraction(0))

    def _limits(
        self,
        attacker: Attacker,
        target: int,
        side: int,
        rows: IntArray | Sequence[int],
        multipliers: FloatArray | Sequence[Fraction],
    ) -> Iterable[tuple[int, Bound]]:
        """What each cell contributes to the limit of the deviation of the target to one side."""
        rationals = [one if isinstance(one, Fraction) else rational_multiplier(float(one)) for one in multipliers]
        unit = math.lcm(*(one.denominator for one in rationals)) if rationals else 1
        pull: defaultdict[int, Rational] = defaultdict(int)
        pull[target] = unit if side == UP else -unit
        for row, one in zip(rows, rationals, strict=True):
            multiple = one.numerator * (unit // one.denominator)
            for cell, weight in self._relation(int(row)):
                pull[cell] -= multiple * weight
        for cell, amount in pull.items():
            if amount != 0:
                slack = self._slack_of(attacker, cell, UP if amount > 0 else DOWN)
                if slack:
                    yield (
                        cell,
                        slack
                        if isinstance(slack, float)
                        else Fraction(amount if amount > 0 else -amount, unit) * slack,
                    )

    def _relation(self, row: int) -> list[tuple[int, Rational]]:
        begin, end = self.relations.indptr[row], self.relations.indptr[row + 1]
        return [
            (cell, _weight(weight))
            for cell, weight in zip(
                self.relations.indices[begin:end].tolist(), self.relations.data[begin:end].tolist(), strict=True
            )
        ]

    def _slack_of(self, attacker: Attacker, cell: int, side: int) -> Bound:
        if self.is_published[cell]:
            return Fraction(0)
        key = attacker.name, cell, side
        if key not in self._slack:
            value = float(self.problem.table.value[cell])
            low, high = float(attacker.lower[cell]), float(attacker.upper[cell])
            beyond = exact_difference(high, value) if side == UP else -exact_difference(low, value)
            self._slack[key] = max(beyond, Fraction(0))
        return self._slack[key]

    def _bridgeless(self, proof: BridgelessProof) -> ExactCut:
        cells = [cell for cell, _ in self._relation(proof.relation)]
        if proof.cell not in cells or not all(self.is_free[cell] or self.is_published[cell] for cell in cells):
            raise ProofError("It is not about a relation without cells that must be suppressed.")
        return {
            cell: Fraction(-1 if cell == proof.cell else 1) for cell in cells if self.is_free[cell]
        }, 0  # fmt: skip


def exact_multipliers(proof: CutProof) -> CutProof:
    """The proof with rational multipliers."""
    if isinstance(proof, BridgelessProof):
        return proof
    rational = tuple(
        (rows, [rational_multiplier(float(one)) for one in weights]) for rows, weights in proof.multipliers
    )
    return replace(proof, multipliers=rational)


def rational_multiplier(number: float) -> Fraction:
    """The simple fraction that a solver meant by a multiplier, such as 1/3 for 0.33333334."""
    near = Fraction(round(number * DENOMINATOR), DENOMINATOR)
    return near if abs(float(near) - number) < FRACTION_TOLERANCE else simple_fraction(number)


def _share(limit: Bound, missing: Fraction) -> Fraction:
    """The share, rounded up to a multiple of a unit: sums of fractions with any denominators would take too long."""
    share = 1 if isinstance(limit, float) else min(limit / missing, Fraction(1))
    return Fraction(math.ceil(share * SHARE_UNITS), SHARE_UNITS)


@cache
def _weight(weight: float) -> Rational:
    return int(weight) if weight == int(weight) else simple_fraction(weight)


def _cover(share: Mapping[int, Fraction], cover: IntArray | Sequence[int]) -> ExactCut:
    """How many cells of the cover are needed if all others are suppressed."""
    inside = [int(cell) for cell in cover if int(cell) in share]
    chosen = set(inside)
    reached = sum((part for cell, part in share.items() if cell not in chosen), Fraction(0))
    needed = 0
    for part in sorted((share[cell] for cell in inside), reverse=True):
        if reached >= 1:
            break
        reached += part
        needed += 1
    else:
        if (
            reached < 1
        ):  # all cells together do not suffice: there is no safe pattern, but nothing is concluded from that
            raise ProofError("The cells of the cover do not suffice.")
    return dict.fromkeys(inside, Fraction(1)), needed
