"""The command report, which audits a pattern and writes its report."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.cli.common import (
    NewFile,
    accept_symmetric_option,
    attackers_option,
    check_distinct,
    console,
    level_option,
    pattern_option,
    problem_argument,
    problem_with_attackers,
    quiet_option,
    show_promise,
    verdict,
)
from discreet.io import writing
from discreet.io.pattern import read_pattern
from discreet.jobs.job import all_passed
from discreet.level import Level, level_of
from discreet.progress import on_terminal
from discreet.report import REPORT_TITLE, write_report, write_shareable


@click.command("report")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option(
    "--share", is_flag=True, help="The report that may be published with the release; only if the audit passes."
)
@accept_symmetric_option
@click.option("--title", default=REPORT_TITLE, show_default=True, help="Heading of the report.")
@click.option(
    "--out", type=NewFile(".html"), required=True, help="Report to write (.html). Confidential unless --share."
)
@quiet_option
def report_command(
    problem: Path,
    pattern: Path,
    level: Level | None,
    attackers: Path | None,
    share: bool,
    accept_symmetric: bool,
    title: str,
    out: Path,
    quiet: bool,
) -> int:
    """Audit a pattern and write the report."""
    check_distinct(problem, pattern, attackers, out)
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    in_force = level_of(given, found.only_suppresses, level)
    with on_terminal(quiet) as progress:
        checked = audit(given, found, intervals=not share, progress=progress)
        respondents = audit_respondents(given, found, progress=progress) if in_force.covers_respondents else None
    results = given, found, checked, respondents
    with writing(out, public=share) as draft:
        if share:
            write_shareable(draft, *results, title=title, level=level, accept_symmetric=accept_symmetric)
        else:
            write_report(draft, *results, title=title)
    console.print(f"{verdict(checked, found)}; written {out}", markup=False)
    show_promise(found, in_force, respondents)
    return 0 if all_passed(checked, respondents) else 1
