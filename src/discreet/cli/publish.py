"""The command publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.cli.attack import attack_quickly, method_option, show_limitations
from discreet.cli.common import (
    RELEASES,
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
    show_promise,
)
from discreet.io import write_release
from discreet.io.pattern import read_pattern
from discreet.jobs.job_file import MOST_DECIMALS
from discreet.level import Level, level_of
from discreet.progress import Budget, on_terminal
from discreet.promise import safe
from discreet.release import SYMBOL, publish


@click.command("publish")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option("--symbol", default=SYMBOL, show_default=True, help="What stands in suppressed cells.")
@click.option("--decimals", type=click.IntRange(-MOST_DECIMALS, MOST_DECIMALS), help="Round published values.")
@method_option
@click.option("--no-attacks", is_flag=True, help="Try no attacks beforehand; it is said so.")
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
    keep_apart(problem, pattern, attackers, out)
    given = problem_against(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress:
        checked = audit(given, found, intervals=False, progress=progress)
        in_force = level_of(given, found.only_suppresses, level)
        seen = audit_respondents(given, found, progress=progress) if in_force.covers_respondents else None
        style: dict[str, Any] = {
            "symbol": symbol,
            "decimals": decimals,
            "level": level,
            "accept_symmetric": accept_symmetric,
        }
        release = publish(given, found, checked, seen, **style)
        lab = None if no_attacks else attack_quickly(found, method, accept_symmetric, started.spent, progress)
    write_release(release, out)
    console.print(f"{release!r}, {safe(found)}", markup=False)
    show_promise(found, in_force, seen)
    show_limitations(lab)
