"""What is left when a solver gives up on numbers of very different size: a coarse pattern, or a clear message."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.errors import NoSafePatternError
from discreet.methods.context import Run
from discreet.methods.method import Method
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

TROUBLE = (
    "The solver could not work with this table: its values, levels or bounds are of very different size. Round them, leave out "
    "cells that are next to nothing, or choose another method."
)


@dataclass(frozen=True)
class WithFallback:
    """A suppression method; where its solver gives up, another one, and then everything that may be suppressed if that is safe.

    There is no ``other`` where the number of suppressed cells is limited.
    """

    method: Method
    other: Method | None
    respondents: bool  # whether every single respondent must be safe
    name = "with fallback"

    def protect(self, problem: Problem, run: Run) -> Protection:
        if self.other is None:
            return or_in_words(self.method, problem, run)
        try:
            return self.method.protect(problem, run)
        except ArithmeticError:
            pass
        try:
            found = self.other.protect(problem, run)
        except ArithmeticError:
            return self._everything(problem, run)
        note = "another method took over where the solver gave up"
        return replace(found, report=replace(found.report, note=note))

    def _everything(self, problem: Problem, run: Run) -> Protection:
        found = suppress(
            problem,
            problem.status != Status.PUBLISHED,
            method=self.method.name,
            seconds=run.budget.spent,
            seed=run.seed,
            note="the solver gave up: everything that may be suppressed is",
        )
        safe = audit(problem, found, intervals=False).passed
        if not safe or (self.respondents and not audit_respondents(problem, found).passed):
            raise NoSafePatternError(TROUBLE, problem.table.labels(problem.primaries))
        return found


def or_in_words(method: Method, problem: Problem, run: Run) -> Protection:
    """What a method finds; where its solver gives up, a message that says so."""
    try:
        return method.protect(problem, run)
    except ArithmeticError:
        raise NoSafePatternError(TROUBLE, problem.table.labels(problem.primaries)) from None
