"""The command protect, which protects a problem and audits the result."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from discreet.cli import print_message
from discreet.cli.audit import show_respondents
from discreet.cli.common import (
    NewFile,
    Number,
    Setting,
    attackers_option,
    check_distinct,
    console,
    level_option,
    problem_argument,
    problem_with_attackers,
    quiet_option,
    secret_option,
    show_conditions,
    verdict,
    workers_option,
)
from discreet.errors import InputError
from discreet.executors import spread
from discreet.io.pattern import write_pattern
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.job import all_passed, audited, protect_report, write_json, write_together
from discreet.level import Level
from discreet.methods import METHODS, SUPPRESSION, protect, with_options
from discreet.progress import Stopwatch, on_terminal
from discreet.promise import conditions
from discreet.secret import Secret


@click.command("protect")
@problem_argument
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="kelly", show_default=True, help="See `discreet methods`."
)
@level_option
@click.option("--time-limit", type=Number(0), metavar="SECONDS", help="Then end with the cheapest safe pattern.")
@click.option(
    "--gap",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="End when the cost is proven to be within this share of the least; heuristics have no bound and ignore it.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Breaks ties; public.")
@secret_option
@click.option(
    "--option",
    "options",
    multiple=True,
    type=Setting(),
    metavar="NAME=VALUE",
    help="An option of the method, e.g. base=5; see `discreet methods`. Repeat for more.",
)
@attackers_option
@click.option("--out", type=NewFile(), required=True, help="Pattern to write (.csv).")
@click.option("--report", type=NewFile(), help="Report to write (.json).")
@click.option("--checkpoint", type=NewFile(), help="File for the latest pattern; if it exists, the run starts with it.")
@workers_option
@quiet_option
def protect_command(
    problem: Path,
    method: str,
    level: Level | None,
    secret: Path | None,
    options: tuple[tuple[str, str], ...],
    attackers: Path | None,
    out: Path,
    report: Path | None,
    checkpoint: Path | None,
    workers: int,
    quiet: bool,
    **limits: Any,
) -> int:
    """Protect the sensitive cells, and audit the result."""
    check_distinct(problem, attackers, secret, out, report, checkpoint)
    chosen = with_options(method, **dict(options))
    if checkpoint and method not in SUPPRESSION:
        raise InputError(f"--checkpoint is for suppression; the method {method!r} suppresses no cells.")
    given = problem_with_attackers(problem, attackers)
    kept = Checkpoint(checkpoint, given, print_message) if checkpoint else None
    with kept or nullcontext():
        with on_terminal(quiet) as shown, spread(workers) as executor:
            progress = Stopwatch(shown)
            progress.stage("protect", 0)
            found = protect(
                given,
                chosen,
                progress=progress,
                executor=executor,
                start=kept and kept.start,
                keep=kept and kept.keep,
                level=level,
                secret=None if secret is None else Secret.read(secret),
                **limits,
            )
            checked, in_force, respondents = audited(
                given, found, level, intervals=False, executor=executor, progress=progress
            )
        passed = all_passed(checked, respondents)
        write_together(
            {
                out: lambda draft: write_pattern(found, draft),
                report: lambda draft: write_json(
                    protect_report(found, checked, in_force, respondents, stages=progress.times()), draft
                ),
            }
        )
        if kept and passed:
            kept.finish(found.report.status)
    # Without the cost: it is confidential if it is the suppressed value.
    console.print(f"{found!r}, {found.report.seconds:,.1f} s, audit: {verdict(checked, found)}", markup=False)
    if found.report.note:
        console.print(found.report.note, markup=False)
    if respondents is not None:
        show_respondents(respondents, found)
    show_conditions(conditions(found, respondents, in_force, audit=checked))
    return 0 if passed else 1
