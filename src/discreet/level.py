"""The level of safety: that of cells, or that of the contributions of every respondent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.errors import InputError, RuleError
from discreet.inference.respondents.insiders import stores_contributions_for
from discreet.inference.respondents.sensitivity import contribution_measures
from discreet.problem import Problem

Level = Literal["cells", "contributions"]
SAFETY_LEVELS: tuple[Level, ...] = ("cells", "contributions")


@dataclass(frozen=True)
class LevelInForce:
    """The level, whether the user requested it, and at the level of cells why respondents are not covered."""

    level: Level
    requested: bool = False
    reason: str = ""

    @property
    def covers_respondents(self) -> bool:
        return self.level == "contributions"

    @property
    def not_covered(self) -> str:
        """A sentence on what a verdict at this level does not cover; empty if respondents are covered."""
        if self.covers_respondents:
            return ""
        return f"Not covered: respondents who use their own figures to learn about others, because {self.reason}."


def level_of(problem: Problem, suppresses: bool, requested: Level | None = None) -> LevelInForce:
    """The requested level; otherwise that of contributions if they are known, a rule is about them, and cells are suppressed.

    ``suppresses`` says whether every cell is either published with its value or suppressed. A requested level of contributions
    is not checked here: :func:`~discreet.audit.respondents.audit_respondents` reports obstacles.
    """
    if requested is not None and requested not in SAFETY_LEVELS:
        raise InputError(f"level is {' or '.join(map(repr, SAFETY_LEVELS))}, not {requested!r}.")
    if requested == "contributions":
        return LevelInForce(requested, requested=True)
    if requested == "cells":
        return LevelInForce(requested, requested=True, reason="level cells was requested")
    reason = _obstacle(problem, suppresses)
    return LevelInForce("cells", reason=reason) if reason else LevelInForce("contributions")


def _obstacle(problem: Problem, suppresses: bool) -> str:
    """Why respondents cannot be covered; empty if they can."""
    table = problem.table
    if not table.contributors or (table.top_contributor is None and table.contributions is None):
        return "the table does not name its contributors"
    try:
        measures = contribution_measures(problem.rules)
    except RuleError:  # rules in the notation of another program
        measures = []
    if not measures:
        return "no rule about contributions is used (P, PQ or NK)"
    if not suppresses:
        return "that requires suppression, and other values or intervals are published here"
    if not table.base_is_free:
        return "no table is finer than all others, or responses are tied to each other by equations"
    if not all(stores_contributions_for(table, measure) for measure in measures):
        return "the table lists too few of the largest contributions to its cells"
    return ""
