"""What a method publishes at a point of its master program, as attackers see it."""

from __future__ import annotations

from typing import Protocol, TypeVar

from discreet.arrays import FloatArray
from discreet.methods.core.cuts import Cut
from discreet.methods.core.separator import Violation

Point = TypeVar("Point", contravariant=True)


class Publication(Protocol[Point]):
    """Suppression, intervals, rounding and perturbation differ in this only: the slack that a publication leaves each cell."""

    def slack(self, attacker: int, point: Point) -> FloatArray:
        """How far each cell may lie below and above its value, one row each, as an attacker (by number) sees it."""

    def cut(self, attacker: int, point: Point, violation: Violation) -> Cut:
        """The pulls times the slack must add up to the level, with the slack replaced by its tangent at the point.

        The slack is a concave function of the point, so that every safe publication satisfies the cut.
        """
