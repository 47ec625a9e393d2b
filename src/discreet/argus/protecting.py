"""Protects tables as ``<SUPPRESS>`` says, one or all together, and audits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from discreet.argus.commands import Suppress
from discreet.argus.linked import linked, split
from discreet.argus.paths import Paths, Say
from discreet.argus.plans import METHOD_NAMES, Plan, at_cells, plan_of
from discreet.argus.work import Work, problem_of
from discreet.errors import plural
from discreet.jobs.job import audited
from discreet.level import Level
from discreet.methods import protect
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.promise import conditions, safe
from discreet.protection import Protection


def protect_one(command: Suppress, work: Work, paths: Paths, say: Say, progress: Progress) -> None:
    """Protect a table by itself."""
    work.forget_protection()
    plan = plan_of(command, [work], paths)
    _announce(command, plan, work.label, work.label, say)
    work.command, work.problem = command, problem_of(work, plan.prior)
    work.protection = run_plan(work.problem, plan, progress)
    _audit(work, plan.level, say, progress)


def protect_together(command: Suppress, works: Sequence[Work], paths: Paths, say: Say, progress: Progress) -> None:
    """Protect all tables by one pattern. What readers infer from one they infer from all: the verdict is that on all."""
    for work in works:
        work.forget_protection()
    plan = plan_of(command, works, paths)
    problems = [problem_of(work, plan.prior) for work in works]
    whole = linked(works, problems)
    if plan.level is None and not whole.problem.table.base_is_free:
        plan = at_cells(plan, "no table is finer than all others")
    _announce(command, plan, "all tables together", "all tables", say)
    found = run_plan(whole.problem, plan, progress)
    joint = replace(works[0], number=0, problem=whole.problem, protection=found)
    _audit(joint, plan.level, say, progress)
    for work, problem, place in zip(works, problems, whole.places, strict=True):
        work.command, work.joint, work.place = command, joint, place
        work.protection = split(problem, place, found.suppressed, found)
        work.problem = work.protection.problem
        work.checked, work.respondents, work.level = joint.checked, joint.respondents, joint.level
        say(f"{work.label}: {plural(work.protection.report.n_secondary, 'secondary cell')}")


def _announce(command: Suppress, plan: Plan, protected: str, label: str, say: Say) -> None:
    say(f"{protected}: {command.method} → {METHOD_NAMES[command.method]}")
    for sentence in plan.sentences:
        say(f"{label}: {sentence}")


def run_plan(problem: Problem, plan: Plan, progress: Progress) -> Protection:
    progress.stage("protect", 0)
    # Methods that do not suppress have no level.
    traits = getattr(plan.method, "traits", None)
    level = plan.level if traits is None or traits.suppresses else None
    return protect(problem, plan.method, time_limit=plan.time_limit, gap=plan.gap, progress=progress, level=level)


def _audit(work: Work, level: Level | None, say: Say, progress: Progress) -> None:
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
            f"{work.label}: audit of {plural(work.respondents.targets, 'respondent')} who need protection: "
            f"{'safe' if not exposed else f'{exposed:,} exposed'}"
        )
    for condition in conditions(work.protection, work.respondents, work.level, audit=checked):
        say(f"{work.label}: {condition}")
