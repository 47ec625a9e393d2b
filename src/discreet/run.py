"""What a method is handed beside the problem."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

from discreet.problem import BoolArray
from discreet.progress import Budget, Progress, Silent


def _forget(_: BoolArray) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Run:
    """How long it may take, who is told, and where to begin.

    ``start`` is a pattern to begin with, not safe perhaps; ``keep`` is handed the pattern so far, now and then, so that
    another run can start from it. Independent pieces of work go to the ``executor``; without one they are done here.
    """

    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    progress: Progress = field(default_factory=Silent)
    executor: Executor | None = None
    start: BoolArray | None = None
    keep: Callable[[BoolArray], None] = _forget

    def beginning(self, start: BoolArray | None) -> Run:
        """The same with another pattern to begin with."""
        return replace(self, start=start)
