"""The cutting-plane loop, and the incumbent with the bound on the cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from discreet.errors import NoSafePatternError
from discreet.progress import Budget

Found = TypeVar("Found")
AnyCut = TypeVar("AnyCut")

INTEGER_PROGRAM_GAP = 1e-6  # share of the cost that solvers of integer programs may leave open


class Infeasible(Exception):
    """Nothing satisfies all conditions of a program."""


class Incumbent(Generic[Found]):
    """The cheapest safe solution found so far, and a lower bound on the cost of all safe solutions.

    The cost counts as proven if it exceeds the bound by no more than the share ``solver_gap``: solvers are not more exact.
    """

    def __init__(self, solver_gap: float, bound: float = 0.0) -> None:
        self._solver_gap = solver_gap
        self.solution: Found | None = None
        self.cost, self.bound = np.inf, bound

    def offer(self, solution: Found, cost: float) -> bool:
        """Keep a safe solution if it is cheaper than the incumbent. Returns whether it is."""
        better = cost < self.cost
        if better:
            self.solution, self.cost = solution, cost
        return better

    def raise_bound(self, bound: float) -> None:
        self.bound = max(self.bound, min(bound, self.cost))

    @property
    def gap(self) -> float:
        """How far the bound is below the cost, as a share of the cost."""
        return gap_of(self.cost, self.bound)

    @property
    def reported_bound(self) -> float:
        """The bound to report: the cost itself if it is proven to be the least."""
        return self.cost if self.gap <= self._solver_gap else self.bound

    @property
    def is_proven(self) -> bool:
        """Whether the solution is proven to be the cheapest."""
        return self.solution is not None and self.gap <= self._solver_gap

    def within(self, budget: Budget) -> bool:
        """Whether the solution is proven to be the cheapest, or within the gap that the budget allows."""
        return self.is_proven or (self.solution is not None and self.gap <= budget.gap)

    def status(self, budget: Budget, finished: bool = False) -> str:
        """The status to report; ``finished``: neither a limit nor the user ended the search."""
        return status_of(self.cost, self.bound, budget, finished, self._solver_gap)


def gap_of(cost: float, bound: float) -> float:
    """How far a bound is below the cost, as a share of the cost."""
    return max(cost - bound, 0.0) / cost if 0 < cost < np.inf else 0.0 if cost <= 0 else 1.0


def status_of(cost: float, bound: float | None, budget: Budget, finished: bool, solver_gap: float) -> str:
    """The status of a solution in reports; ``finished``: neither a limit nor the user ended the search."""
    if bound is not None and gap_of(cost, bound) <= solver_gap:
        return "optimal"
    if bound is not None and gap_of(cost, bound) <= budget.gap + solver_gap:
        return "within_gap"
    return "heuristic" if finished else budget.ending


def cutting_planes(
    solve: Callable[[], Found],
    violated: Callable[[Found], Sequence[AnyCut]],
    add: Callable[[Sequence[AnyCut]], object],
    budget: Budget,
    noun: str,
) -> Found:
    """Solve the master program and add the cuts that its solution violates, until there are none. Messages call it ``noun``."""
    while True:
        found = solve()
        cuts = violated(found)
        if not cuts:
            return found
        if budget.over:
            raise NoSafePatternError(f"The time limit ended before there was a safe {noun}. Allow more time.")
        add(cuts)
