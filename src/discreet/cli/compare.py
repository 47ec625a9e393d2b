"""The command compare, which protects one table by several methods and compares the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.common import (
    ExistingFile,
    NewFile,
    Number,
    attackers_option,
    check_distinct,
    check_job_is_kept,
    console,
    problem_with_attackers,
    quiet_option,
    show_written,
    workers_option,
)
from discreet.compare import Comparison, MethodOutcome, compare, read_methods, standard, write_comparison
from discreet.compare.notation import notation_of
from discreet.compare.page import COMPARISON_TITLE
from discreet.executors import spread
from discreet.io.attackers import with_attackers
from discreet.jobs.job import make_problem, make_table, write_together
from discreet.jobs.job_file import Job, Protect, read_job
from discreet.level import level_of
from discreet.methods import SUPPRESSION
from discreet.methods.method import Method
from discreet.problem import Problem
from discreet.progress import on_terminal
from discreet.report import words


@click.command("compare")
@click.argument("job", type=ExistingFile)
@click.option(
    "--methods",
    metavar="LIST",
    help='Separated by commas, options in brackets: "kelly,small-counts(base=5)". Default: one of each kind.',
)
@click.option("--time-limit", type=Number(0), default=60.0, show_default=True, metavar="SECONDS", help="Per method.")
@click.option("--seed", type=click.IntRange(0), help="Default: that of the job, or 0.")
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Number of cells whose audit intervals are computed.",
)
@attackers_option
@click.option("--out", type=NewFile(".html"), required=True, help="Page to write (.html).")
@click.option("--csv", type=NewFile(".csv"), help="Measures to write, one line per method (.csv).")
@click.option("--risks", type=NewFile(".csv"), help="Risks to write, one line per method and attacker (.csv).")
@workers_option
@quiet_option
def compare_command(
    job: Path,
    methods: str | None,
    seed: int | None,
    attackers: Path | None,
    out: Path,
    csv: Path | None,
    risks: Path | None,
    workers: int,
    quiet: bool,
    **options: Any,
) -> int:
    """Compare methods on the table of a JOB (.toml) or on a problem (.discreet, .jj): loss, risk and time."""
    check_distinct(job, attackers, out, csv, risks)
    chosen = None if methods is None else read_methods(methods)  # errors are found before any work is done
    problem, given = _read(job, attackers, (out, csv, risks))
    title, settings = COMPARISON_TITLE, {"Problem": job.name}
    if given:
        title, settings = f"{given.title}: methods compared", _settings(problem, given)
    chosen = chosen or _default_methods(problem, given)
    protect = given.protect if given else Protect()
    console.print(f"{problem!r}, {words.plural(len(chosen), 'method')}", markup=False)
    with on_terminal(quiet) as progress, spread(workers) as executor:
        found = compare(
            problem,
            chosen,
            gap=protect.gap,
            seed=protect.seed if seed is None else seed,
            executor=executor,
            progress=progress,
            say=_print_outcome,
            **options,
        )
    written = write_together(
        {
            out: lambda draft: write_comparison(found, draft, title=title, settings=settings),
            csv: lambda draft: found.frame().to_csv(draft, index=False),
            risks: lambda draft: found.risks().to_csv(draft, index=False),
        }
    )
    _show(found)
    if problem.overrides:
        cells = words.plural(len(problem.overrides), "sensitive cell")
        console.print(f"\nNot protected unless suppressed: {cells}, by decision", markup=False)
    console.print()
    show_written(written)
    return 0 if found.complete else 1


def _read(path: Path, attackers: Path | None, outputs: tuple[Path | None, ...]) -> tuple[Problem, Job | None]:
    """The problem of a file; for a job file, that of the job, and the job."""
    if path.suffix.lower() != ".toml":
        return problem_with_attackers(path, attackers), None
    job = read_job(path)
    check_job_is_kept(job, *outputs)
    problem = make_problem(job, make_table(job))
    return with_attackers(problem, attackers) if attackers else problem, job


def _default_methods(problem: Problem, job: Job | None) -> dict[str, Method]:
    """The method of the job first, then one of each kind."""
    first = {} if job is None else {notation_of(job.method()): job.method()}
    return {**first, **read_methods(name for name in standard(problem) if name not in first)}


def _settings(problem: Problem, job: Job) -> dict[str, str]:
    settings = {"Job": job.path.name, "Cost": job.protect.cost, "Boundary": job.rules.boundary}
    if level_of(problem, job.protect.method in SUPPRESSION, job.level).covers_respondents:
        settings["Level"] = "cells: the safety of respondents, which the job protects, is not compared"
    return settings


def _print_outcome(one: MethodOutcome) -> None:
    time = words.seconds(one.seconds)
    if one.risk is None:
        print(f"  {one.method}: no result after {time}", flush=True)
    else:
        result = "safe" if one.safe else f"{one.risk.exposed:,} cells exposed"
        print(f"  {one.method}: {result}, {time}", flush=True)


def _show(found: Comparison) -> None:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("method", overflow="fold")
    for heading in ("audit", "adjusted", "interval", "suppressed", "width", "guessed", "deviation"):
        grid.add_column(heading, justify="right", no_wrap=True)
    for one in found.outcomes:
        if one.loss and one.risk:
            loss = one.loss
            shares = (loss.adjusted, loss.interval, loss.suppressed, loss.width, one.risk.guessed)
            verdict = "[green]safe[/]" if one.safe else "[red]exposed[/]"
            grid.add_row(escape(one.method), verdict, *map(words.percent, (*shares, loss.deviation_relative)))
        else:
            grid.add_row(escape(one.method), "–")
    console.print()
    console.print(grid, soft_wrap=False)
    for one in found.outcomes:
        if one.reason:
            console.print(f"\n{one.method}: {one.reason}", markup=False)
