"""The command protect."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click

from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.cli.audit import show_respondents
from discreet.cli.common import (
    NewFile,
    Number,
    Setting,
    attackers_option,
    console,
    keep_apart,
    level_option,
    problem_against,
    problem_argument,
    quiet_option,
    secret_option,
    show_promise,
    verdict,
    workers_option,
)
from discreet.cli.messages import tell
from discreet.errors import InputError
from discreet.executors import spread
from discreet.io.pattern import write_pattern
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.job import (
    all_passed,
    protect_report,
    write_json,
    write_together,
)
from discreet.level import Level, level_of
from discreet.methods import METHODS, SUPPRESSION, protect, with_options
from discreet.progress import on_terminal
from discreet.secret import Secret


@click.command("protect")
@problem_argument
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="kelly", show_default=True, help="See `discreet methods`."
)
@level_option
@click.option("--time-limit", type=Number(0), metavar="SECONDS", help="Stop then, with the best safe pattern.")
@click.option(
    "--gap",
    type=Number(0, 1),
    default=0.0,
    show_default=True,
    help="Stop when the cost is proven to be within this share of the best; heuristics have no bound and ignore it.",
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
@click.option("--checkpoint", type=NewFile(), help="File to keep the pattern so far in, and to go on from.")
@workers_option
@quiet_option
def protect_command(
    problem: Path,
    method: str,
    level: Level | None,
    time_limit: float | None,
    gap: float,
    seed: int,
    secret: Path | None,
    options: tuple[tuple[str, str], ...],
    attackers: Path | None,
    out: Path,
    report: Path | None,
    checkpoint: Path | None,
    workers: int,
    quiet: bool,
) -> int:
    """Protect the sensitive cells, and audit the result."""
    keep_apart(problem, attackers, secret, out, report, checkpoint)
    chosen = with_options(method, **dict(options))
    if checkpoint and method not in SUPPRESSION:
        raise InputError(f"--checkpoint keeps suppression patterns; the method {method!r} makes none.")
    given = problem_against(problem, attackers)
    kept = Checkpoint(checkpoint, given, tell) if checkpoint else None
    with kept or nullcontext():
        with on_terminal(quiet) as progress, spread(workers) as executor:
            found = protect(
                given,
                chosen,
                seed=seed,
                time_limit=time_limit,
                gap=gap,
                progress=progress,
                executor=executor,
                start=kept and kept.start,
                keep=kept and kept.keep,
                level=level,
                secret=None if secret is None else Secret.read(secret),
            )
            checked = audit(given, found, intervals=False, executor=executor, progress=progress)
            seen = None
            in_force = level_of(given, found.only_suppresses, level)
            if in_force.covers_respondents:
                seen = audit_respondents(given, found, executor=executor, progress=progress)
        passed = all_passed(checked, seen)
        files: dict[Path, Callable[[Path], None]] = {out: lambda draft: write_pattern(found, draft)}
        if report:
            files[report] = lambda draft: write_json(protect_report(found, checked, in_force, seen), draft)
        write_together(files)
        if kept and passed:
            kept.finish(found.report.status)
    # The cost is for the report: where it is the value suppressed, it is confidential.
    console.print(f"{found!r}, {found.report.seconds:,.1f} s, audit: {verdict(checked, found)}", markup=False)
    if found.report.note:
        console.print(found.report.note, markup=False)
    if seen is not None:
        show_respondents(seen, found)
    show_promise(found, in_force, seen)
    return 0 if passed else 1
