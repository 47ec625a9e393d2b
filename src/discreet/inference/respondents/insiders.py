"""What is left of each cell for somebody who knows some of its contributions, and who could know more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.data.contributions import Contributions
from discreet.data.table import Table
from discreet.errors import RuleError
from discreet.inference.exact_numbers import decimal_fraction, simple_fraction
from discreet.inference.respondents.sensitivity import SensitivityMeasure
from discreet.problem import Problem, Status
from discreet.rules.base import RELATIVE_BOUNDARY_TOLERANCE


@dataclass(frozen=True)
class TargetGroup:
    """Who is estimated, and by whom; under dominance, who together make most of a sum."""

    target: int
    insiders: tuple[int, ...] = ()

    def with_insider(self, who: int) -> TargetGroup:
        return TargetGroup(self.target, tuple(sorted((*self.insiders, who))))


def stores_contributions_for(table: Table, measure: SensitivityMeasure) -> bool:
    """Whether of those who are in one cell only, the table knows the largest, as many as the rule looks at."""
    stored = 0 if table.top is None else table.top.shape[1]
    return stored > measure.others or (table.count is not None and not np.any(table.count[table.is_base] > stored))


class Insiders:
    """Groups of respondents and what they leave of the base cells of a problem.

    The rest of a cell is its magnitude less what the group contributes, the target ``lead`` times and the insiders ``other``
    times. Where the rest is negative, the group makes the cell sensitive; elsewhere it is how far the cell can move for all
    they know, in units of the share to within which everybody knows every contribution.
    """

    def __init__(self, problem: Problem, measure: SensitivityMeasure) -> None:
        self.problem, self.measure = problem, measure
        self.given: Contributions = problem.table.respondents()
        if not stores_contributions_for(problem.table, measure):
            needed = measure.others + 1
            raise RuleError(
                f"The rule looks at the {needed} largest contributions to a cell, and the table stores fewer. Make it with "
                f"tabulate(..., top={needed}, contributions=True)."
            )
        self.magnitude = problem.table.magnitude
        self.noise = RELATIVE_BOUNDARY_TOLERANCE * self.magnitude

    def rest(self, group: TargetGroup, cells: IntArray) -> FloatArray:
        """What a group leaves of these cells."""
        return self._less(self._weights(group), cells)

    def known_less(self, insiders: tuple[int, ...], cells: IntArray) -> FloatArray:
        """What insiders leave of these cells, whoever their target is."""
        return self._less([(who, self.measure.other) for who in insiders], cells)

    def _less(self, weights: list[tuple[int, float]], cells: IntArray) -> FloatArray:
        left = self.magnitude.copy()
        for who, weight in weights:
            mine, amount = self.given.of(who)
            left[mine] -= weight * amount
        left = left[cells]
        return np.asarray(np.where(np.abs(left) <= self.noise[cells], 0.0, left))

    def exact_rest(self, group: TargetGroup, cells: IntArray) -> list[Fraction]:
        """The same without rounding, of numbers read as the decimals they were written as."""
        left = {int(cell): decimal_fraction(float(self.magnitude[cell])) for cell in cells}
        for who, weight in self._weights(group):
            for cell, amount in zip(*(part.tolist() for part in self.given.of(who)), strict=True):
                if cell in left:
                    left[cell] -= simple_fraction(weight) * decimal_fraction(amount)
        return list(left.values())

    def _weights(self, group: TargetGroup) -> list[tuple[int, float]]:
        return [(group.target, self.measure.lead), *((who, self.measure.other) for who in group.insiders)]

    def cells_of(self, group: TargetGroup) -> IntArray:
        """The base cells that a group is in."""
        return np.unique(np.concatenate([self.given.of(who)[0] for who in (group.target, *group.insiders)]))

    def targets(self) -> list[int]:
        """Respondents whom others, as many as the rule allows, could make out in some sensitive cell.

        Of those who are in one cell only, that is the largest: if it is attacked in vain, so are the others.
        """
        given = self.given
        candidate = self._scores() > self.noise[given.cell]
        single = given.is_single[given.contributor]
        ahead = np.zeros(len(given), dtype=bool)
        at = np.flatnonzero(single)
        ahead[at[np.unique(given.cell[at], return_index=True)[1]]] = True  # the largest of a cell who is nowhere else
        return [int(who) for who in np.unique(given.contributor[candidate & (ahead | ~single)])]

    def levels(self) -> FloatArray:
        """How far each sensitive base cell must be able to move, seen from within the cell."""
        need = np.zeros(len(self.magnitude))
        np.maximum.at(need, self.given.cell, self._scores())
        return np.asarray(np.where(need > self.noise, need, 0.0))

    def _scores(self) -> FloatArray:
        """Sensitivity of sensitive cells as each contributor's target, the largest others in the cell being insiders."""
        given, measure = self.given, self.measure
        sensitive = self.problem.status == Status.PRIMARY
        rank = np.arange(len(given)) - np.searchsorted(given.cell, given.cell)
        before = np.concatenate([[0.0], np.cumsum(given.amount)])
        first = np.searchsorted(given.cell, given.cell)
        end = np.minimum(
            first + measure.others + (rank <= measure.others), np.searchsorted(given.cell, given.cell, "right")
        )
        # The largest others in the cell: of the first few, without the target where it is among them.
        others = before[end] - before[first] - np.where(rank <= measure.others, given.amount, 0.0)
        exposed = measure.lead * given.amount + measure.other * others - self.magnitude[given.cell]
        return np.asarray(np.where(sensitive[given.cell], exposed, 0.0))

    def breaks(
        self, group: TargetGroup, cells: IntArray, holds: FloatArray, more: int, in_play: BoolArray
    ) -> list[int]:
        """Respondents who could spoil a move with up to ``more`` of them: it needs what they know of a cell to be uncertain.

        ``holds`` is how much the rest of each cell may shrink before the move is none for the group any more. Of those who are
        in one cell only, the largest stands for all.
        """
        given = self.given
        slack = np.full(len(self.magnitude), np.inf)
        slack[cells] = holds + self.noise[cells]
        inside = np.isin(given.contributor, (group.target, *group.insiders))
        able = in_play[given.cell] & ~inside
        single = given.is_single[given.contributor]
        at = np.flatnonzero(able & single)
        able[at] = False
        able[at[np.unique(given.cell[at], return_index=True)[1]]] = True
        able &= self.measure.other * more * given.amount > slack[given.cell]
        return [int(who) for who in np.unique(given.contributor[able])]
