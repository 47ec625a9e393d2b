"""Groups of insiders, and the rest of each cell without the contributions that they know."""

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
    """A target and the insiders who estimate its contribution; under dominance, a group that dominates a sum."""

    target: int
    insiders: tuple[int, ...] = ()

    def with_insider(self, insider: int) -> TargetGroup:
        return TargetGroup(self.target, tuple(sorted((*self.insiders, insider))))


def stores_contributions_for(table: Table, measure: SensitivityMeasure) -> bool:
    """Whether the table stores as many of the largest contributions to each base cell as the rule needs."""
    stored = 0 if table.top is None else table.top.shape[1]
    return stored > measure.others or (table.count is not None and not np.any(table.count[table.is_base] > stored))


class Insiders:
    """The rest that groups of respondents leave of the base cells of a problem.

    The rest of a cell is its magnitude minus the contributions of the group, that of the target times ``lead`` and those of
    the insiders times ``other``. If it is negative, the group makes the cell sensitive. Otherwise it is the slack of the cell
    for this group, in units of the relative error to which every contribution is known beforehand.
    """

    def __init__(self, problem: Problem, measure: SensitivityMeasure) -> None:
        self.problem, self.measure = problem, measure
        self.contributions: Contributions = problem.table.respondents()
        if not stores_contributions_for(problem.table, measure):
            needed = measure.others + 1
            columns = ", ".join(['"…"'] * needed)
            raise RuleError(
                f"The rule needs the {needed} largest contributions to a cell, and the table stores fewer. Name their columns, "
                f"top = [{columns}] in [table] of a job; from records, tabulate(..., top={needed}, "
                "contributions=True) in Python stores them."
            )
        self.magnitude = problem.table.magnitude
        self.noise = RELATIVE_BOUNDARY_TOLERANCE * self.magnitude

    def rest(self, group: TargetGroup, cells: IntArray) -> FloatArray:
        """The rest that a group leaves of these cells."""
        return self._rest(self._weights(group), cells)

    def rest_of_insiders(self, insiders: tuple[int, ...], cells: IntArray) -> FloatArray:
        """The rest that insiders leave of these cells, without a target."""
        return self._rest([(insider, self.measure.other) for insider in insiders], cells)

    def _rest(self, weights: list[tuple[int, float]], cells: IntArray) -> FloatArray:
        rest = self.magnitude.copy()
        for respondent, weight in weights:
            own_cells, amount = self.contributions.of(respondent)
            rest[own_cells] -= weight * amount
        rest = rest[cells]
        return np.asarray(np.where(np.abs(rest) <= self.noise[cells], 0.0, rest))

    def exact_rest(self, group: TargetGroup, cells: IntArray) -> list[Fraction]:
        """:meth:`rest` in exact arithmetic; floats are read as decimals."""
        rest = {int(cell): decimal_fraction(float(self.magnitude[cell])) for cell in cells}
        for respondent, weight in self._weights(group):
            for cell, amount in zip(*(column.tolist() for column in self.contributions.of(respondent)), strict=True):
                if cell in rest:
                    rest[cell] -= simple_fraction(weight) * decimal_fraction(amount)
        return list(rest.values())

    def _weights(self, group: TargetGroup) -> list[tuple[int, float]]:
        return [(group.target, self.measure.lead), *((insider, self.measure.other) for insider in group.insiders)]

    def cells_of(self, group: TargetGroup) -> IntArray:
        """The base cells to which a group contributes."""
        members = (group.target, *group.insiders)
        return np.unique(np.concatenate([self.contributions.of(member)[0] for member in members]))

    def targets(self) -> list[int]:
        """Respondents that as many others as the rule allows can estimate too closely from the value of a sensitive cell.

        Of the respondents in one cell only, the largest represents all: if it is safe, so are the others.
        """
        c = self.contributions
        candidate = self._scores() > self.noise[c.cell]
        single = c.is_single[c.contributor]
        candidate &= ~single | self._largest_of_cell(single)
        return [int(target) for target in np.unique(c.contributor[candidate])]

    def _largest_of_cell(self, chosen: BoolArray) -> BoolArray:
        """The first, and so the largest, of the chosen contributions to each cell."""
        at = np.flatnonzero(chosen)
        largest = np.zeros(len(chosen), dtype=bool)
        largest[at[np.unique(self.contributions.cell[at], return_index=True)[1]]] = True
        return largest

    def levels(self) -> FloatArray:
        """The protection level of each sensitive base cell against its own contributors."""
        level = np.zeros(len(self.magnitude))
        np.maximum.at(level, self.contributions.cell, self._scores())
        return np.asarray(np.where(level > self.noise, level, 0.0))

    def _scores(self) -> FloatArray:
        """For each contribution to a sensitive cell, the sensitivity with its contributor as target and the largest insiders."""
        c, measure = self.contributions, self.measure
        sensitive = self.problem.status == Status.PRIMARY
        first = np.searchsorted(c.cell, c.cell)
        rank = np.arange(len(c)) - first
        before = np.concatenate([[0.0], np.cumsum(c.amount)])
        end = np.minimum(first + measure.others + (rank <= measure.others), np.searchsorted(c.cell, c.cell, "right"))
        # The sum of the largest contributions to the cell without that of the target.
        others = before[end] - before[first] - np.where(rank <= measure.others, c.amount, 0.0)
        score = measure.lead * c.amount + measure.other * others - self.magnitude[c.cell]
        return np.asarray(np.where(sensitive[c.cell], score, 0.0))

    def critical_insiders(
        self, group: TargetGroup, cells: IntArray, shrinkage: FloatArray, more: int, in_play: BoolArray
    ) -> list[int]:
        """Respondents who, if up to ``more`` of them join the group, may make a deviation infeasible by what they know.

        ``shrinkage`` is how much the rest of each cell may fall before the deviation is infeasible. Of the respondents in one
        cell only, the largest represents all.
        """
        c = self.contributions
        slack = np.full(len(self.magnitude), np.inf)
        slack[cells] = shrinkage + self.noise[cells]
        critical = in_play[c.cell] & ~np.isin(c.contributor, (group.target, *group.insiders))
        single = c.is_single[c.contributor]
        critical &= ~single | self._largest_of_cell(critical & single)
        critical &= self.measure.other * more * c.amount > slack[c.cell]
        return [int(insider) for insider in np.unique(c.contributor[critical])]
