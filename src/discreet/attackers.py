"""Attackers: the bounds they know before publication, and the protection levels against them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import FloatArray, IntArray
from discreet.errors import TableError


@dataclass(frozen=True, eq=False, repr=False)
class Attacker:
    """Bounds on every cell that an attacker knows before publication.

    ``levels`` are the lower, upper and sliding protection levels against this attacker, one row each; without them the levels
    of the problem apply.
    """

    name: str
    lower: FloatArray
    upper: FloatArray
    levels: FloatArray | None = None

    def __repr__(self) -> str:
        return f"Attacker({self.name!r}, {len(self.lower):,} cells)"

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("lower", "upper"):
            put(self, name, np.asarray(getattr(self, name), dtype=np.float64))
        n = len(self.lower)
        if self.levels is not None:
            put(self, "levels", np.asarray(self.levels, dtype=np.float64))
        shapes = [self.upper.shape == (n,), self.levels is None or self.levels.shape == (3, n)]
        if not all(shapes):
            raise TableError(
                f"The bounds and levels of attacker {self.name!r} do not have one entry per cell each: "
                "give them in the order of the table."
            )
        if self.levels is not None and not np.all(np.isfinite(self.levels) & (self.levels >= 0)):
            raise TableError(
                f"Attacker {self.name!r} has a negative or infinite protection level. Give finite ones, 0 or more."
            )

    def only(self, cells: IntArray) -> Attacker:
        """The attacker with the bounds and levels of some cells only."""
        levels = None if self.levels is None else self.levels[:, cells]
        return Attacker(self.name, self.lower[cells], self.upper[cells], levels)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of bounds and levels, independent of the name."""
        rows = [self.lower, self.upper, *(() if self.levels is None else self.levels)]
        return hashlib.sha256(np.ascontiguousarray(np.stack(rows)).tobytes()).hexdigest()
