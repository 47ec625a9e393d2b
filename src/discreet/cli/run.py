"""The commands run and demo, which run a whole job."""

from __future__ import annotations

import os
from pathlib import Path

import click
from rich.markup import escape

from discreet.cli.common import ExistingFile, console, figures_grid, quiet_option, show_conditions, show_written
from discreet.jobs.demo import write_demo
from discreet.jobs.job import Result, run_job
from discreet.jobs.job_file import is_public, read_job
from discreet.printable import printable
from discreet.progress import on_terminal
from discreet.promise import conditions, published_by_decision, safe
from discreet.report.words import listed


@click.command("demo")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="demo-output", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of the survey.")
@quiet_option
def demo_command(out: Path, seed: int, quiet: bool) -> int:
    """Run the whole job on a built-in synthetic survey."""
    job = write_demo(out, seed)
    folder = escape(str(out))
    console.print(
        f"A synthetic business survey is in [bold]{folder}[/]: survey.csv, industry.hrc, region.hrc and job.toml."
    )
    console.print(f"Running [bold]discreet run {escape(str(job))}[/] …\n")
    return _run(job, quiet)


@click.command("run")
@click.argument("job", type=ExistingFile)
@quiet_option
def run_command(job: Path, quiet: bool) -> int:
    """Run a job file: from records to release, reproducibly."""
    return _run(job, quiet)


def _run(path: Path, quiet: bool) -> int:
    job = read_job(path)
    with on_terminal(quiet) as progress:
        result = run_job(job, progress=progress, say=_print_step)
    _summary(result)
    return 0 if result.passed else 1


def _print_step(line: str) -> None:
    """Print a line at once, also into a pipe; not by the console, which would write into the progress bars."""
    try:
        print(f"  {printable(line)}", flush=True)
    except BrokenPipeError:
        console.on_broken_pipe()


def _summary(result: Result) -> None:
    report, table = result.protection.report, result.problem.table.listed
    base, magnitude = table.is_base, table.magnitude
    published = magnitude[base & ~result.protection.listed.suppressed].sum() / max(magnitude[base].sum(), 1e-300)
    suppressed = report.n_primary + report.n_secondary
    grid = figures_grid()
    grid.add_row(f"{len(table):,}", "cells")
    grid.add_row(f"{report.n_primary:,}", "suppressed because they are sensitive")
    grid.add_row(
        f"{report.n_secondary:,}",
        f"suppressed to protect those; both together are {suppressed / max(len(table), 1):.1%} of all cells",
    )
    if report.n_adjusted:
        grid.add_row(f"{report.n_adjusted:,}", "published with values that stand for an interval")
    grid.add_row(f"{published:.1%}", "of the value of the finest cells is published")
    grid.add_row(f"{report.seconds:,.1f} s", f"to find the pattern with {report.method} ({report.status})")
    if report.note:
        grid.add_row("", escape(report.note))
    console.print()
    console.print(grid)
    console.print()
    respondents = result.respondents
    if result.passed:
        which = "every other" if published_by_decision(result.protection) else "every"
        console.print(
            f"[bold green]{safe(result.protection).capitalize()}[/]: {which} sensitive cell is protected from the "
            + escape(listed(result.audit.attackers))
            + ("." if respondents is None else f", and each of {respondents.targets:,} respondents from all others.")
        )
    elif not result.audit.passed:
        console.print(f"[bold red]Not published[/]: {len(result.audit.exposed):,} cells are exposed; see audit.json.")
    elif respondents is not None and not respondents.passed:
        exposed = len(respondents.respondents)
        console.print(f"[bold red]Not published[/]: {exposed:,} respondents are exposed; see audit.json.")
    elif result.attacks is not None:
        n = len(result.attacks.compromised)
        console.print(f"[bold red]Not published[/]: attacks compromise {n:,} sensitive cells; see report.html.")
    show_conditions(
        conditions(result.protection, respondents, result.level, audit=result.audit, attacks=result.attacks)
    )
    show_written([Path(os.path.relpath(file)) for file in result.files], is_public)
