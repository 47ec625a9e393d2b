"""Who might attack a table, and what they know before it is published."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.relations import FloatArray


@dataclass(frozen=True, eq=False)
class Attacker:
    """Bounds on every cell that somebody knows without the publication."""

    name: str
    lower: FloatArray
    upper: FloatArray

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is known, whatever the attacker is called."""
        known = np.ascontiguousarray(np.stack([self.lower, self.upper]), dtype=np.float64)
        return hashlib.sha256(known.tobytes()).hexdigest()
