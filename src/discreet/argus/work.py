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

MISSING_REASON = "a spanning variable has a missing code: MIS(1)"


@dataclass
class Work:
    """A table of a session, and what has been done with it."""

    number: int
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
        return f"table {self.number}"

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
    statuses: dict[str, tuple[str, str]] = {}
    for i, status in enumerate(found.status.tolist()):
        if status == ArgusStatus.PROTECTED:
            statuses[table.label(i)] = ("published", "protected in the file of the table")
        elif ArgusStatus(status).is_secondary:
            statuses[table.label(i)] = ("suppressed", "suppressed in the file of the table")
    primary = np.array([ArgusStatus(status).is_primary for status in found.status.tolist()], dtype=bool)
    if work.request.missing_is_safe and work.views.missing is not None:
        for i in np.flatnonzero(primary & work.views.missing).tolist():
            statuses[table.label(i)] = ("free", MISSING_REASON)
            primary[i] = False
    for i, (status, reason) in work.decisions.status.items():
        word = _word(status)
        primary[i] = status.is_primary
        if word is None or (status.is_primary and ArgusStatus(int(found.status[i])).is_primary):
            statuses.pop(table.label(i), None)
        else:
            statuses[table.label(i)] = (word, reason)
    cost = costs(work.request.specify, work.views, primary, dict(work.listed))
    for i, given in work.decisions.cost.items():
        cost[i] = given
    if np.any(cost > 0):
        cost = np.where(cost == 0, cost[cost > 0].min(), cost)  # suppressing a zero is not free
    problem = assess(table, found.rules, cost=cost, statuses=statuses, margin=found.margin, prior=prior)
    lower, upper = problem.lower.copy(), problem.upper.copy()
    unit = 10.0**-work.views.decimals
    for i, (status, _) in work.decisions.status.items():
        if status is ArgusStatus.UNSAFE_MANUAL and table.value[i] != 0:  # no level is below a unit, as with rules
            lower[i] = min(max(lower[i], unit), table.value[i] - problem.prior_lower[i])
            upper[i] = min(max(upper[i], unit), problem.prior_upper[i] - table.value[i])
    for i, (low, high) in work.decisions.levels.items():
        lower[i] = min(low, table.value[i] - problem.prior_lower[i])
        upper[i] = min(high, problem.prior_upper[i] - table.value[i])
    return problem.with_columns(lower=lower, upper=upper)


def _word(status: ArgusStatus) -> str | None:
    """The status by hand in the words of ``assess``; None for a cell that is safe by rules, too."""
    if status.is_primary:
        return "primary"
    words = {ArgusStatus.SAFE_MANUAL: "free", ArgusStatus.PROTECTED: "published"}
    return "suppressed" if status.is_secondary else words.get(status)


def final_statuses(work: Work) -> IntArray:
    """The status of each cell after protection."""
    status = work.found.status.copy()
    if work.request.missing_is_safe and work.views.missing is not None:
        primary = (status >= ArgusStatus.UNSAFE_RULE) & (status <= ArgusStatus.UNSAFE_MANUAL)
        status[primary & work.views.missing] = ArgusStatus.SAFE
    for i, (decided, _) in work.decisions.status.items():
        status[i] = decided
    if work.protection is not None and work.protection.only_suppresses:
        secondary = work.protection.decision[: len(status)] == Decision.SECONDARY
        by_hand = np.isin(status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL))
        status[secondary & ~by_hand] = ArgusStatus.SECONDARY
    return status
