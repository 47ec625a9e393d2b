"""The command that writes the report of a pattern."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.audit import audit
from discreet.cli_common import (
    NewFile,
    accept_symmetric_option,
    attackers_option,
    console,
    keep_apart,
    level_option,
    pattern_option,
    problem_against,
    problem_argument,
    quiet_option,
    verdict,
)
from discreet.io import writing
from discreet.io.pattern import read_pattern
from discreet.methods import Level
from discreet.progress import on_terminal
from discreet.report import TITLE, write_report, write_shareable
from discreet.respondents import audit_respondents


@click.command("report")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option(
    "--share", is_flag=True, help="The edition that may be published with the release; only if the audit passes."
)
@accept_symmetric_option
@click.option("--title", default=TITLE, show_default=True, help="Heading of the report.")
@click.option(
    "--out", type=NewFile(".html"), required=True, help="Report to write (.html). Confidential unless --share."
)
@quiet_option
def report_command(
    problem: Path,
    pattern: Path,
    level: Level,
    attackers: Path | None,
    share: bool,
    accept_symmetric: bool,
    title: str,
    out: Path,
    quiet: bool,
) -> int:
    """Audit a pattern and write the report."""
    keep_apart(problem, pattern, attackers, out)
    given = problem_against(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress:
        checked = audit(given, found, intervals=not share, progress=progress)
        seen = audit_respondents(given, found, progress=progress) if level == "contributions" else None
    with writing(out) as draft:
        if share:
            write_shareable(draft, given, found, checked, seen, title=title, accept_symmetric=accept_symmetric)
        else:
            write_report(draft, given, found, checked, seen, title=title)
    console.print(f"{verdict(checked)}; written {out}", markup=False)
    return 0 if checked.passed and (seen is None or seen.passed) else 1
