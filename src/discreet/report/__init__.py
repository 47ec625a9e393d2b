"""The confidential report: one HTML file for the statistician, with everything the verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from discreet.audit import Audit
from discreet.errors import TableError
from discreet.problem import Problem
from discreet.protection import Protection
from discreet.report import view, words
from discreet.respondents import RespondentAudit

__all__ = ["render_report", "write_report"]

TITLE = "Disclosure control report"


def write_report(
    path: str | Path,
    problem: Problem,
    protection: Protection,
    audit: Audit,
    respondents: RespondentAudit | None = None,
    *,
    title: str = TITLE,
    settings: Mapping[str, str] = {},
) -> None:
    """Write the report as one file that needs nothing else. Confidential: it shows true values and levels."""
    page = render_report(problem, protection, audit, respondents, title=title, settings=settings)
    Path(path).write_text(page, encoding="utf-8")


def render_report(
    problem: Problem,
    protection: Protection,
    audit: Audit,
    respondents: RespondentAudit | None = None,
    *,
    title: str = TITLE,
    settings: Mapping[str, str] = {},
) -> str:
    """The report as HTML. ``settings`` is what it takes to run the job again, by name."""
    if protection.problem.digest != problem.digest or audit.problem.digest != problem.digest:
        raise TableError("No report: the protection or the audit belongs to another problem.")
    if any(seen.protection != protection.digest for seen in (audit, respondents) if seen is not None):
        raise TableError("No report: the audit is about another protection. Audit this one.")
    environment = Environment(
        loader=PackageLoader("discreet", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=words.number, percent=words.percent)
    now = datetime.now().astimezone()
    return environment.get_template("report.html.j2").render(
        title=title,
        date=f"{now.day} {now:%B %Y, %H:%M (UTC%z)}",
        table=problem.table,
        verdicts=[view.verdict(problem, protection, audit), *view.respondents_verdict(respondents)],
        tiles=view.tiles(protection),
        exposed=view.exposed(audit),
        intervals=view.intervals(audit),
        exact=audit.exact,
        adjusted=protection.report.n_adjusted > 0,
        map=view.status_map(protection, audit),
        losses=view.losses(protection),
        settings=settings,
        facts=view.facts(protection, audit),
    )
