"""Choices of cells completed so that they meet all requirements, one requirement at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.core.requirements import Requirement
from discreet.methods.core.separator import Violation
from discreet.methods.intervals.publication import Widths
from discreet.methods.intervals.search import WidthSearch
from discreet.progress import Budget, OutOfTime

MAX_COMPLETION_PASSES = 30  # over all requirements; choices that violate some after that are refused later


class Completer:
    """Each violated requirement is met at the least cost, as if cells could be suppressed in part.

    The levels of a free cell count as soon as it gets an interval.
    """

    def __init__(
        self,
        search: WidthSearch,
        choices: IntArray,
        conditional: Sequence[Sequence[Requirement]],
    ) -> None:
        self.s, self.conditional = search.setting, conditional
        self.separators, self.wideners = search.separators, search.wideners
        self.open = np.zeros(len(self.s.cells), dtype=bool)  # suppressible cells with a choice
        self.open[choices] = self.s.suppressible[choices]

    def complete(self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget) -> BoolArray | None:
        """Which cells of the setting are not published exactly in the end; None if the time limit ended the search.

        ``price`` is the cost of suppressing a cell, in units of the setting.
        """
        chosen, z = chosen & self.open, np.where(self.s.settled, 0.0, z)
        try:
            for _ in range(MAX_COMPLETION_PASSES):
                is_complete = True
                for attacker in range(len(self.separators)):
                    violations = list(self._violations(attacker, chosen, z, budget))
                    is_complete &= not violations
                    for violation in sorted(violations, key=lambda one: -one.missing):
                        wider = self._meet(attacker, chosen, z, violation.requirement, price)
                        if wider is None or budget.over:
                            return None
                        chosen = chosen | (self.open & wider.any(axis=0))
                        z = np.where(self.s.settled, 0.0, wider)
                if is_complete:
                    chosen = self._without_needless(chosen, z, price, budget)
                    break
        except OutOfTime:
            return None
        return np.asarray(chosen | z.any(axis=0))

    def _violations(self, attacker: int, chosen: BoolArray, z: FloatArray, budget: Budget) -> Iterator[Violation]:
        """The requirements against an attacker that choices and widths do not meet; raises :class:`OutOfTime`.

        Some requirements exist only for cells that are not published exactly. Settled cells that are published exactly after all
        contribute no slack.
        """
        wide = chosen | z.any(axis=0)
        required = [*self.s.requirements[attacker], *(one for one in self.conditional[attacker] if wide[one.cell])]
        share = np.where(self.open & ~chosen, 0.0, 1.0)
        return self.separators[attacker].violations(Widths(z, share), required, budget)

    def _without_needless(self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget) -> BoolArray:
        """Without suppressed cells that no requirement needs, the costliest first."""
        cells = np.flatnonzero(chosen)
        for cell in cells[np.argsort(-price[cells], kind="stable")].tolist():
            fewer = chosen.copy()
            fewer[cell] = False
            try:
                violated = (next(self._violations(k, fewer, z, budget), None) for k in range(len(self.separators)))
                if all(violation is None for violation in violated):
                    chosen = fewer
            except OutOfTime:
                break
        return chosen

    def _meet(
        self, attacker: int, chosen: BoolArray, z: FloatArray, requirement: Requirement, price: FloatArray
    ) -> FloatArray | None:
        """Widths that meet one more requirement, where cells that are not chosen can be suppressed; None if none do."""
        widener, published = self.wideners[attacker], self.open & ~chosen
        widener.settled = self.s.settled & ~published
        widener.weight = np.where(published, price / requirement.level, self.s.weight)
        wider = widener.reach(z, requirement)
        return None if wider is None else np.maximum(z, wider)
