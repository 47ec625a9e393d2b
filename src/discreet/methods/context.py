"""What a method is handed beside the problem."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import InputError
from discreet.problem import Problem, Status
from discreet.progress import Budget, Progress, Silent
from discreet.secret import Secret


def _forget(_: BoolArray) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Run:
    """How long it may take, who is told, and where to begin.

    ``start`` is a pattern to begin with, not safe perhaps; ``keep`` is handed the pattern so far, now and then, so that
    another run can start from it. Independent pieces of work go to the ``executor``; without one they are done here.
    The ``seed`` is public and breaks ties; randomness that protects comes from the ``secret``.
    """

    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    progress: Progress = field(default_factory=Silent)
    executor: Executor | None = None
    start: BoolArray | None = None
    keep: Callable[[BoolArray], None] = _forget
    secret: Secret = field(default_factory=Secret.drawn)

    def random(self, purpose: str, problem: Problem) -> np.random.Generator:
        """Random numbers that protect a problem: others for any other purpose, problem or secret."""
        return self.secret.generator(f"{purpose} {problem.digest}")

    def for_step(self, part: float) -> Run:
        """The same for a first step that gets a part of the time that is left."""
        return replace(self, budget=self.budget.share(part))

    def unkept(self) -> Run:
        """The same for a step whose patterns are not to be kept: a better one is there already."""
        return replace(self, keep=_forget)

    def beginning(self, start: BoolArray | None) -> Run:
        """The same with another pattern to begin with."""
        return replace(self, start=start)


def beginning_with(problem: Problem, start: BoolArray) -> BoolArray | None:
    """The free cells that a starting pattern suppresses; None if only what must be suppressed anyway.

    Cells in it that must be published are left out.
    """
    start = np.asarray(start)
    if start.shape != (len(problem),) or start.dtype != bool:
        raise InputError(
            f"A pattern to start with has true or false for each of the {len(problem):,} cells; "
            f"this one has the shape {start.shape} and holds {start.dtype}."
        )
    chosen = start & (problem.status == Status.FREE)
    return chosen if chosen.any() else None
