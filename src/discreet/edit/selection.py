"""Selection of the records to edit: more in small areas, and more of those that are unique there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.edit.record_codes import NO_AREA, renumbered
from discreet.errors import InputError


@dataclass(frozen=True)
class Rates:
    """The share of records to choose in an area, and the factor ``risk`` on the odds of records with unique keys.

    The share in an area of n records is ``small`` if n is at most ``small_area``, otherwise ``small`` · ``small_area`` / n, but
    at least ``rate``: the number of chosen records does not decrease with n.
    """

    rate: float = 0.05
    small: float | None = None  # None: four times the rate
    small_area: int = 100
    risk: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise InputError(f"rate is a share from 0 to 1, not {self.rate:g}.")
        if self.small is not None and not self.rate <= self.small <= 1:
            raise InputError(f"small is a share from the rate, {self.rate:g}, to 1, not {self.small:g}.")
        if self.small_area < 1:
            raise InputError(f"small_area is a number of records from 1 up, not {self.small_area}.")
        if not 1 <= self.risk < np.inf:
            raise InputError(f"risk is a factor from 1 up, not {self.risk:g}.")

    @property
    def highest(self) -> float:
        """The share in small areas."""
        return min(1.0, 4 * self.rate) if self.small is None else self.small

    def as_dict(self) -> dict[str, float]:
        return {"rate": self.rate, "small": self.highest, "small_area": self.small_area, "risk": self.risk}

    def of(self, size: IntArray) -> FloatArray:
        """The shares in areas with these numbers of records."""
        return np.clip(self.highest * self.small_area / np.maximum(size, 1), self.rate, self.highest)


def is_unique(area: IntArray, key: IntArray) -> BoolArray:
    """Whether no other record of the area has the same keys."""
    cell = renumbered(area * (int(key.max(initial=0)) + 1) + key)
    return np.asarray((np.bincount(cell)[cell] == 1) & (area != NO_AREA))


def choose(area: IntArray, risky: BoolArray, rates: Rates, rng: np.random.Generator) -> BoolArray:
    """The records to edit: the share of each area, rounded up or down at random, drawn without replacement."""
    inside = np.flatnonzero(area != NO_AREA)
    size = np.bincount(area[inside])
    share = rates.of(size) * size
    wanted = np.floor(share + rng.random(len(size)))
    # The shortest exponential waiting times are a draw without replacement in which the rates are the odds.
    wait = rng.exponential(size=len(inside)) / np.where(risky[inside], rates.risk, 1.0)
    order = np.lexsort((wait, area[inside]))
    here = area[inside][order]
    rank = np.arange(len(inside)) - (np.cumsum(size) - size)[here]
    chosen = np.zeros(len(area), dtype=bool)
    chosen[inside[order[rank < wanted[here]]]] = True
    return chosen
