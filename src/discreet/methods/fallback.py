"""What to do if a solver fails on numbers of very different size: another method, or a clear message."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

from discreet.errors import NoSafePatternError
from discreet.methods.check import audit_respondents, is_safe
from discreet.methods.context import Run
from discreet.methods.method import Method, name_of
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

SOLVER_FAILED = (
    "The solver failed on this table: its values, levels or bounds are of very different size. Round them, leave out "
    "very small cells, or choose another method."
)


@dataclass(frozen=True)
class WithFallback:
    """A suppression method; if its solver fails, another method; if that fails too, all cells that may be suppressed.

    ``other`` is None if the number of suppressed cells is limited.
    """

    method: Method
    other: Method | None
    respondents: bool  # whether every respondent must be safe
    name = "with fallback"

    def protect(self, problem: Problem, run: Run) -> Protection:
        if self.other is None:
            return protect_or_explain(self.method, problem, run)
        with contextlib.suppress(ArithmeticError):
            return self.method.protect(problem, run)
        with contextlib.suppress(ArithmeticError):
            found = self.other.protect(problem, run)
            return replace(found, report=replace(found.report, note="by another method, because the solver failed"))
        return self._largest_pattern(problem, run)

    def _largest_pattern(self, problem: Problem, run: Run) -> Protection:
        note = "the solver failed: all cells that may be suppressed are suppressed"
        found = suppress(problem, problem.status != Status.PUBLISHED, **run.report(name_of(self.method)), note=note)
        if not is_safe(problem, found) or (self.respondents and not audit_respondents(problem, found).passed):
            raise NoSafePatternError(SOLVER_FAILED, problem.table.labels(problem.primaries))
        return found


def protect_or_explain(method: Method, problem: Problem, run: Run) -> Protection:
    """The protection by a method; an error that explains it if the solver fails."""
    try:
        return method.protect(problem, run)
    except ArithmeticError:
        raise NoSafePatternError(SOLVER_FAILED, problem.table.labels(problem.primaries)) from None
