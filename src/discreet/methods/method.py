"""What all methods have in common, and what each says that it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from discreet.methods.context import Run
from discreet.problem import Problem
from discreet.protection import Protection

Kind = Literal["suppression", "intervals", "rounding", "perturbation", "counts", "combined"]


@dataclass(frozen=True)
class Traits:
    """What a method can do. A method that says nothing has these defaults."""

    kind: Kind = "suppression"
    takes_start: bool = False  # a pattern to start from
    splits: bool = False  # tables that have nothing to do with each other may be protected one by one
    proves_bound: bool = False  # on the cost of the best solution
    needs_counts: bool = False  # it is for tables of counts
    lists_zeros: bool = False  # zeros are published as such, beside intervals for other cells

    @property
    def suppresses(self) -> bool:
        """Whether cells are published as they are or suppressed, and nothing else."""
        return self.kind == "suppression"


class Method(Protocol):
    """A frozen dataclass of options; ``traits`` says what it can do, ``uses_secret`` whether it draws at random to protect."""

    name: str

    def protect(self, problem: Problem, run: Run) -> Protection:
        """Decide what the public learns about each cell."""


def traits_of(method: Method | type[Method]) -> Traits:
    """What a method says that it can do."""
    found: Traits = getattr(method, "traits", Traits())
    return found


def uses_secret(method: Method | type[Method]) -> bool:
    """Whether a method draws at random to protect; all others are the same for the same seed."""
    return bool(getattr(method, "uses_secret", False))
