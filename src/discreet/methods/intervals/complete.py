"""From choices that may not protect all to choices that do: what they lack is added, one demand at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.methods.intervals.separator import ViolatedRequirement, WidthSeparator
from discreet.methods.intervals.setting import IntervalSetting, WidthRequirement
from discreet.methods.intervals.widen import Widener
from discreet.progress import Budget

PASSES = 30  # looks at all demands; what is missed after that is left to the exact look at the choices


class Completer:
    """Each demand that is missed gets the cheapest way to be met, as if cells that are told exactly or not could be told in part.

    Cells that are not told any more make their own demands.
    """

    def __init__(
        self,
        setting: IntervalSetting,
        attacks: Sequence[WidthSeparator],
        wideners: Sequence[Widener],
        choices: IntArray,
        conditional: Sequence[Sequence[WidthRequirement]],
    ) -> None:
        self.s, self.attacks, self.wideners, self.conditional = setting, attacks, wideners, conditional
        self.open = np.zeros(len(setting.cells), dtype=bool)  # whole cells with a choice
        self.open[choices] = setting.whole[choices]

    def complete(self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget) -> BoolArray | None:
        """Which cells are not told exactly in the end, by their places in the setting; None if time was up.

        ``price`` is what it costs to suppress a whole cell, in units of the setting.
        """
        chosen, z = chosen & self.open, np.where(self.s.settled, 0.0, z)
        for _ in range(PASSES):
            violated = 0
            for number in range(len(self.attacks)):
                found = self._violated(number, chosen, z, budget)
                if found is None:
                    return None
                violated += len(found)
                for one in sorted(found, key=lambda one: -one.lacking * one.requirement.level):
                    wider = self._meet(number, chosen, z, one.requirement, price)
                    if wider is None or budget.over:
                        return None
                    chosen = chosen | (self.open & wider.any(axis=0))
                    z = np.where(self.s.settled, 0.0, wider)
            if not violated:
                chosen = self._thin(chosen, z, price, budget)
                break
        return np.asarray(chosen | z.any(axis=0))

    def _violated(
        self, number: int, chosen: BoolArray, z: FloatArray, budget: Budget
    ) -> list[ViolatedRequirement] | None:
        """The demands against an attacker that choices and widths do not meet; None if time was up."""
        found = self.attacks[number].separate(z, self._asked(number, chosen, z), budget, share=self._share(chosen))
        return None if found is None else found[1]

    def _asked(self, number: int, chosen: BoolArray, z: FloatArray) -> list[WidthRequirement]:
        """All demands against an attacker: some are made only of cells that are not told exactly."""
        wide = chosen | z.any(axis=0)
        return [*self.s.requirements[number], *(one for one in self.conditional[number] if wide[one.cell])]

    def _share(self, chosen: BoolArray) -> FloatArray:
        """Of the slack of settled cells, what counts: none where they are told after all."""
        return np.where(self.open & ~chosen, 0.0, 1.0)

    def _thin(self, chosen: BoolArray, z: FloatArray, price: FloatArray, budget: Budget) -> BoolArray:
        """Without whole cells that nobody needs, the dearest first."""
        cells = np.flatnonzero(chosen)
        for cell in cells[np.argsort(-price[cells], kind="stable")].tolist():
            fewer = chosen.copy()
            fewer[cell] = False
            if budget.over:
                break
            share = self._share(fewer)
            asked = (self._asked(number, fewer, z) for number in range(len(self.attacks)))
            if all(attack.meets(z, own, budget, share) for attack, own in zip(self.attacks, asked, strict=True)):
                chosen = fewer
        return chosen

    def _meet(
        self, number: int, chosen: BoolArray, z: FloatArray, requirement: WidthRequirement, price: FloatArray
    ) -> FloatArray | None:
        widener, told = self.wideners[number], self.open & ~chosen
        widener.settled = self.s.settled & ~told
        widener.weight = np.where(told, price / requirement.level, self.s.weight)
        far = widener.reach(z, requirement)
        return None if far is None else np.maximum(z, far)
