"""What all methods have in common."""

from __future__ import annotations

from typing import Protocol

from discreet.methods.context import Run
from discreet.problem import Problem
from discreet.protection import Protection


class Method(Protocol):
    """A frozen dataclass of options. ``uses_secret`` is true of methods that draw at random to protect."""

    name: str

    def protect(self, problem: Problem, run: Run) -> Protection:
        """Decide what the public learns about each cell."""
