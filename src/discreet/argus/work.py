"""A table of a job: what has been asked for, what is known of it, and its problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.argus.classification import Classification
from discreet.argus.commands import Suppress
from discreet.argus.costs import costs
from discreet.argus.data_file import DataFile
from discreet.argus.decisions import Decisions
from discreet.argus.primary import Primaries
from discreet.argus.request import ArgusRequest
from discreet.argus.views import Views
from discreet.arrays import IntArray
from discreet.assess import assess
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.io.argus.statuses import ArgusStatus
from discreet.jobs.job import all_passed
from discreet.level import LevelInForce
from discreet.problem import Problem
from discreet.protection import Decision, Protection


@dataclass
class Work:
    """A table of a session, and what has been done with it."""

    number: int  # 0: all tables, protected together
    request: ArgusRequest
    views: Views
    found: Primaries
    data: DataFile
    listed: Mapping[str, Classification] = field(default_factory=dict)
    decisions: Decisions = field(default_factory=Decisions)
    problem: Problem | None = None
    protection: Protection | None = None
    checked: Audit | None = None
    respondents: RespondentAudit | None = None
    level: LevelInForce | None = None
    command: Suppress | None = None
    joint: Work | None = None  # all tables, if they were protected together; the audits are those of all
    place: IntArray | None = None  # of its cells among those of all tables
    session: int = 1  # sessions end with <CLEAR>

    @property
    def label(self) -> str:
        return f"table {self.number}" if self.number else "all tables"

    @property
    def probabilities(self) -> str:
        """The file with the perturbation table that the metadata name; empty if they name none."""
        key = self.data.metadata.single("record_key")
        return "" if key is None else key.probabilities

    @property
    def passed(self) -> bool:
        return all_passed(self.checked, self.respondents)

    def forget_protection(self) -> None:
        self.problem = self.protection = self.checked = self.respondents = self.level = self.command = None
        self.joint = self.place = None

    def shows_the_same_as(self, other: Work) -> bool:
        """Whether both are the same table with the same protection."""
        mine, theirs = self.protection, other.protection
        if mine is None or theirs is None:
            return False
        return self.views is other.views and mine.digest == theirs.digest


def problem_of(work: Work, prior: float | None = None) -> Problem:
    """The problem of a table: primaries by rules, decisions of a priori files, and costs."""
    table, found = work.views.table, work.found
    primary = np.array([ArgusStatus(status).is_primary for status in found.status.tolist()], dtype=bool)
    missing_is_safe = work.request.missing_is_safe
    primary &= ~(table.has_missing_code & missing_is_safe)
    for i, (status, _) in work.decisions.status.items():
        primary[i] = status.is_primary
    by_file = np.isin(found.status, (ArgusStatus.PROTECTED, ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL))
    statuses = {
        table.label(i): given
        for i in sorted({*np.flatnonzero(by_file).tolist(), *work.decisions.status})
        if (given := status_by_hand(work, i)) is not None
    }
    cost = costs(work.request.specify, work.views, primary, dict(work.listed))
    for i, number in work.decisions.cost.items():
        cost[i] = number
    if np.any(cost > 0):
        cost = np.where(cost == 0, cost[cost > 0].min(), cost)  # suppressing a zero is not free
    problem = assess(
        table,
        found.rules,
        cost=cost,
        statuses=statuses,
        margin=found.margin,
        prior=prior,
        missing_codes="safe" if missing_is_safe else "judged",
        least_level=10.0**-work.views.decimals,
    )
    lower, upper = problem.lower.copy(), problem.upper.copy()
    for i, (low, high) in work.decisions.levels.items():
        lower[i] = min(low, table.value[i] - problem.prior_lower[i])
        upper[i] = min(high, problem.prior_upper[i] - table.value[i])
    return problem.with_columns(lower=lower, upper=upper)


def status_by_hand(work: Work, cell: int) -> tuple[str, str] | None:
    """The status of a cell in the words of ``assess``, and the reason; None if it is the one by rules."""
    by_rules = ArgusStatus(int(work.found.status[cell]))
    status, reason = work.decisions.status.get(cell, (by_rules, "stated in the file of the table"))
    if status.is_primary:
        # With MIS(1) a cell of a rule may be made unsafe again.
        decided = cell in work.decisions.status and (not by_rules.is_primary or work.request.missing_is_safe)
        return ("primary", reason) if decided else None
    words = {ArgusStatus.SAFE_MANUAL: "free", ArgusStatus.PROTECTED: "published"}
    word = "suppressed" if status.is_secondary else words.get(status)
    return None if word is None else (word, reason)


def final_statuses(work: Work) -> IntArray:
    """The status of each cell after protection."""
    status = work.found.status.copy()
    if work.request.missing_is_safe:
        primary = (status >= ArgusStatus.UNSAFE_RULE) & (status <= ArgusStatus.UNSAFE_MANUAL)
        status[primary & work.views.table.has_missing_code] = ArgusStatus.SAFE
    for i, (decided, _) in work.decisions.status.items():
        status[i] = decided
    if work.protection is not None and work.protection.only_suppresses:
        secondary = work.protection.decision[: len(status)] == Decision.SECONDARY
        by_hand = np.isin(status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL))
        status[secondary & ~by_hand] = ArgusStatus.SECONDARY
    return status
