"""Protects a table as a plan says, and audits it."""

from __future__ import annotations

from discreet.argus.paths import Say
from discreet.argus.plans import Plan
from discreet.argus.work import Work
from discreet.errors import plural
from discreet.jobs.job import audited
from discreet.level import Level
from discreet.methods import protect
from discreet.problem import Problem
from discreet.progress import Progress
from discreet.promise import conditions, safe
from discreet.protection import Protection


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
