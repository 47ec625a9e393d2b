"""Protects a table as ``<SUPPRESS>`` says, with the methods of this package, and audits it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from discreet.argus.cell_key import CellKeyByFile, read_probabilities
from discreet.argus.classification import Classification
from discreet.argus.commands import Suppress
from discreet.argus.costs import costs
from discreet.argus.decisions import Decisions
from discreet.argus.microdata import ArgusRequest, holds_contributions_of
from discreet.argus.paths import Paths, Say
from discreet.argus.primary import Primaries
from discreet.argus.views import Views
from discreet.arrays import IntArray
from discreet.assess import assess
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.errors import InputError, plural
from discreet.inference.max_flow import network
from discreet.io.argus.statuses import ArgusStatus
from discreet.jobs.job import all_passed, audited
from discreet.level import Level, LevelInForce
from discreet.methods import protect
from discreet.methods.method import Method
from discreet.methods.perturbation.adjustment import Adjustment
from discreet.methods.rounding.controlled import ControlledRounding
from discreet.methods.suppress.hypercube import Hypercube
from discreet.methods.suppress.kelly import Kelly
from discreet.methods.suppress.modular import Modular
from discreet.methods.suppress.optimal.optimal import Optimal
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.promise import conditions, safe
from discreet.protection import Decision, Protection

SECONDS = 60.0  # in a minute: limits are in minutes
MISSING_REASON = "a spanning variable has a missing code: MIS(1)"
SINGLETON_OPTIONS = ("single_single", "single_multiple", "singleton")


@dataclass(frozen=True)
class Plan:
    """The method that a ``<SUPPRESS>`` stands for, and the conditions under which it works."""

    method: Method
    level: Level | None = None
    time_limit: float | None = None
    gap: float = 0.0
    prior: float | None = None
    sentences: tuple[str, ...] = ()


@dataclass
class Work:
    """A table of a session, and what has been done with it."""

    number: int
    request: ArgusRequest
    views: Views
    found: Primaries
    listed: Mapping[str, Classification] = field(default_factory=dict)
    probabilities: str = ""  # file with the perturbation table that the metadata name
    decisions: Decisions = field(default_factory=Decisions)
    problem: Problem | None = None
    protection: Protection | None = None
    checked: Audit | None = None
    respondents: RespondentAudit | None = None
    level: LevelInForce | None = None
    command: Suppress | None = None
    joint: Work | None = None  # all tables, if they were protected together

    @property
    def label(self) -> str:
        return f"table {self.number}"

    @property
    def passed(self) -> bool:
        return all_passed(self.checked, self.respondents) and (self.joint is None or self.joint.passed)

    @property
    def by_rules(self) -> IntArray:
        """The status of each cell by rules, with those of a missing code."""
        return self.found.status


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
    if work.request.calls("MIS") == [(1.0,)] and work.views.missing is not None:
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
    if not work.decisions.levels:
        return problem
    lower, upper = problem.lower.copy(), problem.upper.copy()
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


# -- methods -----------------------------------------------------------------------------------------------------


def plan_of(command: Suppress, work: Work, paths: Paths) -> Plan:
    """The method of this package for a ``<SUPPRESS>``."""
    return PLANS[command.method](command, work, paths)


def _modular(command: Suppress, work: Work, paths: Paths) -> Plan:
    given = command.arguments
    level, sentences = _singletons(command, work, default=False)
    if "minutes" in given:
        sentences.append(
            "the limit per subtable is not used: modular stops after some programs per subtable, however fast they are"
        )
    if given.get("min_frequency"):
        sentences.append(
            "the option on the minimum frequency of rows has no equivalent: the audit says whether values are protected"
        )
    unused = [name for name in ("max_cost", "lower_margin", "upper_margin") if name in given]
    if unused:
        sentences.append(f"{' and '.join(unused)} concern the scaling of the program of τ-ARGUS, and are not used")
    return Plan(Modular(), level, sentences=tuple(sentences))


def _optimal(command: Suppress, work: Work, paths: Paths) -> Plan:
    minutes = command.arguments.get("minutes")
    sentence = "OPT has no singleton options: the level is that of cells"
    return Plan(Optimal(), "cells", None if minutes is None else minutes * SECONDS, sentences=(sentence,))


def _hypercube(command: Suppress, work: Work, paths: Paths) -> Plan:
    percent, size = command.arguments.get("percent", 100.0), command.arguments.get("size")
    level, sentences = _singletons(command, work, default=work.views.table.count is not None)
    prior = percent if 0 < percent < 100 else None
    if prior is not None:
        sentences.append("readers are taken to know each value as closely as the a priori percentage of GH says")
    if size is not None:
        sentences.append("the size of the model is not used: hypercube takes tables of any size")
    return Plan(Hypercube(), level, prior=prior, sentences=tuple(sentences))


def _network(command: Suppress, work: Work, paths: Paths) -> Plan:
    is_network = network(work.views.table.relations) is not None
    sentence = "" if is_network else "the table is no network: kelly solves linear programs instead of flows"
    return Plan(Kelly(), "cells", sentences=(sentence,) if sentence else ())


def _round(command: Suppress, work: Work, paths: Paths) -> Plan:
    given = command.arguments
    sentences = []
    if given.get("partitions"):
        sentences.append("partitions are not needed: independent parts of a table are found and rounded in any case")
    if given.get("unit_cost") == 0:
        sentences.append("costs by cell are not used: the sum of all changes is made least")
    gap = 0.0 if given.get("stop", 3) == 3 else 1.0
    if gap:
        sentences.append("the rounding ends with the first that is safe (stop rule)")
    limit = given["minutes"] * SECONDS if "minutes" in given else None
    return Plan(
        ControlledRounding(given["base"], steps=int(given.get("steps", 0)) + 1),
        None,
        limit,
        gap,
        sentences=tuple(sentences),
    )


def _adjust(command: Suppress, work: Work, paths: Paths) -> Plan:
    return Plan(Adjustment())


def _cell_key(command: Suppress, work: Work, paths: Paths) -> Plan:
    if not work.request.specify.counts:
        raise InputError(
            "CKM of magnitudes is not available here: it is for tables of counts (<FREQ>). See the methods adjust and perturb."
        )
    if work.views.weighted:
        raise InputError("CKM of weighted counts is not available here: leave out WGT.")
    if work.views.keys is None:
        raise InputError("CKM needs a variable with <RECORDKEY>.")
    names = [name for name in (*command.files, work.probabilities) if name]
    if not names:
        raise InputError("CKM needs a probability table: name its file after CKM(…), or with <PFILE> in the metadata.")
    keys, digits = work.views.keys
    return Plan(
        CellKeyByFile(read_probabilities(paths.existing(names[0])), np.asarray(keys, dtype=np.float64) / 10**digits)
    )


def _singletons(command: Suppress, work: Work, *, default: bool) -> tuple[Level | None, list[str]]:
    """The level of safety that singleton options stand for, and what is said about it."""
    given = [bool(command.arguments[name]) for name in SINGLETON_OPTIONS if name in command.arguments]
    if not (any(given) if given else default):
        return "cells", [
            "no singleton option: the level is that of cells, which does not cover respondents who use their own figures"
        ]
    obstacle = obstacle_to_contributions(work)
    if obstacle:
        return "cells", [f"singleton options stand for the level of contributions, which is not possible: {obstacle}"]
    return None, [
        "singleton options: the level is that of contributions, which protects every respondent from all others"
    ]


def obstacle_to_contributions(work: Work) -> str:
    """Why respondents cannot be protected from each other; empty if they can."""
    whose = holds_contributions_of(work.request)
    if whose == "none":
        return "no rule P or NK"
    if whose == "both":
        return "rules P or NK for records and for holdings"
    if work.request.weighted:
        return "weights"
    if work.views.shadowed:
        return "rules judge by another variable"
    return "" if work.views.table.contributions is not None else "the contributions of records are not known"


PLANS: Mapping[str, Callable[[Suppress, Work, Paths], Plan]] = {
    "MOD": _modular,
    "OPT": _optimal,
    "GH": _hypercube,
    "NET": _network,
    "RND": _round,
    "CTA": _adjust,
    "CKM": _cell_key,
}
METHOD_NAMES = {
    "MOD": "modular",
    "OPT": "optimal",
    "GH": "hypercube",
    "NET": "kelly",
    "RND": "round",
    "CTA": "adjust",
    "CKM": "cell-key",
}


# -- protection ------------------------------------------------------------------------------------------------------


def run_plan(problem: Problem, plan: Plan, progress: Progress) -> Protection:
    return protect(
        problem, plan.method, time_limit=plan.time_limit, gap=plan.gap, progress=progress, level=_level_for(plan)
    )


def _level_for(plan: Plan) -> Level | None:
    """The level to protect at: methods that do not suppress have none."""
    traits = getattr(plan.method, "traits", None)
    return plan.level if traits is None or traits.suppresses else None


def audit_work(work: Work, level: Level | None, say: Say, progress: Progress) -> None:
    """Audit the protection of a table, and say what the audit finds."""
    assert work.problem is not None
    assert work.protection is not None
    work.checked, work.level, work.respondents = audited(work.problem, work.protection, level, progress=progress)
    report, checked = work.protection.report, work.checked
    changed = f", {report.n_adjusted:,} published with other values" if report.n_adjusted else ""
    say(f"{work.label}: {report.n_primary:,} primary and {report.n_secondary:,} secondary cells suppressed{changed}")
    if checked.passed:
        say(f"{work.label}: audit: {safe(work.protection)}")
    else:
        say(
            f"{work.label}: audit: {plural(len(checked.exposed), 'cell')} exposed, e.g. {', '.join(checked.exposed[:3])}"
        )
    if work.respondents is not None:
        exposed = len(work.respondents.respondents)
        say(
            f"{work.label}: audit of {work.respondents.targets:,} respondents who need protection: "
            f"{'safe' if not exposed else f'{exposed:,} exposed'}"
        )
    for condition in conditions(work.protection, work.respondents, work.level, audit=checked):
        say(f"{work.label}: {condition}")


def final_statuses(work: Work) -> IntArray:
    """The status of each cell after protection."""
    status = work.found.status.copy()
    if work.request.calls("MIS") == [(1.0,)] and work.views.missing is not None:
        primary = (status >= ArgusStatus.UNSAFE_RULE) & (status <= ArgusStatus.UNSAFE_MANUAL)
        status[primary & work.views.missing] = ArgusStatus.SAFE
    for i, (decided, _) in work.decisions.status.items():
        status[i] = decided
    if work.protection is not None and work.protection.only_suppresses:
        secondary = work.protection.decision[: len(status)] == Decision.SECONDARY
        by_hand = np.isin(status, (ArgusStatus.SECONDARY, ArgusStatus.SECONDARY_MANUAL))
        status[secondary & ~by_hand] = ArgusStatus.SECONDARY
    return status
