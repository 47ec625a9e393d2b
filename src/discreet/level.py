"""The level of safety in force: that of cells, or that of every single respondent's contributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.errors import InputError, RuleError
from discreet.inference.respondents.insiders import lists_enough
from discreet.inference.respondents.sensitivity import Measure, about_contributions
from discreet.problem import Problem

Level = Literal["cells", "contributions"]
LEVELS: tuple[Level, ...] = ("cells", "contributions")


@dataclass(frozen=True)
class LevelInForce:
    """The level, whether it was asked for, and at the level of cells the reason why respondents are not covered."""

    level: Level
    asked: bool = False
    reason: str = ""

    @property
    def covers_respondents(self) -> bool:
        return self.level == "contributions"

    @property
    def not_covered(self) -> str:
        """What a verdict at this level does not say, as a sentence; nothing if respondents are covered."""
        if self.covers_respondents:
            return ""
        return f"Not covered: respondents who use their own figures to learn about others, because {self.reason}."


def level_of(problem: Problem, suppresses: bool, asked: Level | None = None) -> LevelInForce:
    """The level asked for; otherwise contributions wherever they are known, a rule is about them, and cells are suppressed.

    ``suppresses`` says whether every cell is published as it is or suppressed. A level of contributions that was asked for is
    not questioned here: :func:`~discreet.audit.respondents.audit_respondents` says what stands in its way.
    """
    if asked is not None and asked not in LEVELS:
        raise InputError(f"level is {' or '.join(map(repr, LEVELS))}, not {asked!r}.")
    if asked == "contributions":
        return LevelInForce(asked, asked=True)
    if asked == "cells":
        return LevelInForce(asked, asked=True, reason="level cells was asked for")
    reason = _obstacle(problem, suppresses)
    return LevelInForce("cells", reason=reason) if reason else LevelInForce("contributions")


def _measures(problem: Problem) -> list[Measure]:
    """Rules about contributions; none if rules are written in a way that cannot be read, as other programs do."""
    try:
        return about_contributions(problem.rules)
    except RuleError:
        return []


def _obstacle(problem: Problem, suppresses: bool) -> str:
    """Why respondents cannot be covered; nothing if they can."""
    table = problem.table
    if not table.names_contributors:
        return "the table does not name its contributors"
    measures = _measures(problem)
    if not measures:
        return "no rule about contributions is used (P, PQ or NK)"
    if not suppresses:
        return "that takes suppression, and other values or intervals are published here"
    if not table.base_is_free:
        return "no table is finer than all others, or responses are tied to each other by equations"
    if not all(lists_enough(table, measure) for measure in measures):
        return "the table lists too few of the largest contributions to its cells"
    return ""
