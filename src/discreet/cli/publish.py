"""The command publish, which writes the release of a safe pattern."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.cli.attack import method_option, run_quick_attacks, show_limitations
from discreet.cli.common import (
    RELEASES,
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
)
from discreet.io import write_release
from discreet.io.pattern import read_pattern
from discreet.jobs.job_file import MAX_DECIMALS
from discreet.level import Level, level_of
from discreet.progress import Budget, on_terminal
from discreet.promise import safe
from discreet.release import SYMBOL, publish


@click.command("publish")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option("--symbol", default=SYMBOL, show_default=True, help="Symbol in suppressed cells.")
@click.option("--decimals", type=click.IntRange(-MAX_DECIMALS, MAX_DECIMALS), help="Round published values.")
@method_option
@click.option("--no-attacks", is_flag=True, help="Run no attacks before; the output says so.")
@accept_symmetric_option
@click.option("--out", type=NewFile(*RELEASES), required=True, help="Release to write (.csv, .parquet or .xlsx).")
@quiet_option
def publish_command(
    problem: Path,
    pattern: Path,
    level: Level | None,
    attackers: Path | None,
    symbol: str,
    decimals: int | None,
    method: str | None,
    no_attacks: bool,
    accept_symmetric: bool,
    out: Path,
    quiet: bool,
) -> None:
    """Write the release, if the pattern passes the audit and withstands the quick attacks."""
    started = Budget()
    check_distinct(problem, pattern, attackers, out)
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress:
        checked = audit(given, found, intervals=False, progress=progress)
        in_force = level_of(given, found.only_suppresses, level)
        respondents = audit_respondents(given, found, progress=progress) if in_force.covers_respondents else None
        release = publish(
            given,
            found,
            checked,
            respondents,
            symbol=symbol,
            decimals=decimals,
            level=level,
            accept_symmetric=accept_symmetric,
        )
        report = None if no_attacks else run_quick_attacks(found, method, accept_symmetric, started.spent, progress)
    write_release(release, out)
    console.print(f"{release!r}, {safe(found)}", markup=False)
    show_promise(found, in_force, respondents)
    show_limitations(report)
