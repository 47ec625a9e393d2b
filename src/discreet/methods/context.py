"""The setting of a run: limits, progress, starting pattern and randomness."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.arrays import BoolArray
from discreet.errors import InputError
from discreet.problem import Problem, Status
from discreet.progress import SAFE_ALREADY, Budget, Progress, Silent
from discreet.secret import Secret


def _keep_nothing(_: BoolArray) -> None:
    pass


@dataclass(frozen=True, eq=False)
class Run:
    """What a method gets in addition to the problem.

    ``start`` is a starting pattern, which need not be safe. ``keep`` is called with the incumbent from time to time, so that
    another run can start from it. The ``executor`` runs independent pieces of work; without one they run in this process.
    The ``seed`` of the random choices of a search is public; randomness that protects comes from the ``secret``. ``hint`` says
    what Ctrl-C does while a safe pattern is improved; it is empty if that would end the run without a result.
    """

    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    progress: Progress = field(default_factory=Silent)
    executor: Executor | None = None
    start: BoolArray | None = None
    keep: Callable[[BoolArray], None] = _keep_nothing
    secret: Secret = field(default_factory=Secret.drawn)
    hint: str = SAFE_ALREADY

    def random(self, purpose: str, problem: Problem) -> np.random.Generator:
        """Random numbers that protect a problem; they differ between purposes, problems and secrets."""
        return self.secret.generator(f"{purpose} {problem.digest}")

    def report(
        self, method: str, status: str = "heuristic", bound: float | None = None, solver: str = ""
    ) -> dict[str, Any]:
        """The entries that all reports have, with the seconds so far and the seed."""
        own = {"seconds": self.budget.spent, "seed": self.seed}
        return {"method": method, "status": status, "bound": bound, "solver": solver, **own}

    def with_time_share(self, share: float) -> Run:
        """The run with a share of the time left."""
        return replace(self, budget=self.budget.share(share))

    def without_keep(self) -> Run:
        """The run without ``keep``, for steps whose patterns are worse than the incumbent."""
        return replace(self, keep=_keep_nothing)

    def with_start(self, start: BoolArray | None) -> Run:
        """The run with another starting pattern."""
        return replace(self, start=start)


def validated_start(problem: Problem, start: BoolArray) -> BoolArray | None:
    """The free cells that a starting pattern suppresses; None if there are none. Cells that must be published are left out."""
    start = np.asarray(start)
    if start.shape != (len(problem),) or start.dtype != bool:
        raise InputError(
            f"A starting pattern has true or false for each of the {len(problem):,} cells; "
            f"this one has the shape {start.shape} and holds {start.dtype}."
        )
    chosen = start & (problem.status == Status.FREE)
    return chosen if chosen.any() else None
