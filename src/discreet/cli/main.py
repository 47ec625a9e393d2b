"""The command line: thin, over the library. Exit codes: 0 done and safe, 1 exposed cells or no safe pattern, 2 bad input."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from contextlib import nullcontext
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, NoReturn, get_args

import click
import pandas as pd
from rich.markup import escape
from rich.table import Table as Grid

from discreet import __version__
from discreet.assess import Zeros, assess
from discreet.audit import audit
from discreet.audit.respondents import audit_respondents
from discreet.cli.advise import advise_command
from discreet.cli.attack import attack_quickly, method_option, show_limits
from discreet.cli.audit import attack_command, audit_command, show_respondents, verify_command
from discreet.cli.calibrate import calibrate_command
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    Number,
    Setting,
    accept_symmetric_option,
    attackers_option,
    console,
    keep_apart,
    level_option,
    pattern_option,
    problem_against,
    problem_argument,
    quiet_option,
    secret_option,
    show_promise,
    verdict,
    workers_option,
)
from discreet.cli.compare import compare_command
from discreet.cli.edit import edit_command
from discreet.cli.keys import keys_command, secret_command
from discreet.cli.report import report_command
from discreet.costs import COSTS
from discreet.costs import usage as cost_usage
from discreet.data.hierarchy import Hierarchy
from discreet.data.records import distinct_codes
from discreet.data.table import Weights
from discreet.data.tabulate import tabulate
from discreet.errors import DiscreetError, FormatError, InputError
from discreet.executors import spread
from discreet.io import FORMATS, bundle, read_problem, write_problem, write_release, writing
from discreet.io.csv import read_release
from discreet.io.pattern import read_pattern, write_pattern
from discreet.jobs.checkpoint import Checkpoint
from discreet.jobs.demo import write_demo
from discreet.jobs.job import (
    Result,
    all_passed,
    hierarchy_file,
    protect_report,
    read_statuses,
    read_waivers,
    run_job,
    write_json,
    write_together,
)
from discreet.jobs.job_file import MOST_DECIMALS, is_public, read_job
from discreet.level import Level, level_of
from discreet.methods import METHODS, SUPPRESSION, protect, with_options
from discreet.printable import printable, printable_lines
from discreet.problem import Problem
from discreet.progress import Budget, on_terminal
from discreet.promise import published_by_decision, safe
from discreet.release import SYMBOL, publish
from discreet.report.words import listed
from discreet.rules import RULES, usage
from discreet.secret import Secret
from discreet.show import show

PROBLEMS = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_problem"))
RELEASES = tuple(suffix for suffix, module in FORMATS.items() if hasattr(module, "write_release"))


def main() -> None:
    """Entry point: errors become one message and an exit code, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # better a question mark for a sign the terminal does not know
    try:
        sys.exit(cli.main(prog_name="discreet", standalone_mode=False) or 0)
    except DiscreetError as error:
        _tell(str(error))
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a file taken away meanwhile
        _tell(f"{error.filename or 'Reading or writing'}: {error.strerror or 'failed'}.")
        sys.exit(2)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        shown = io.StringIO()
        error.show(shown)
        click.echo(printable_lines(shown.getvalue()), err=True, nl=False)
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _stop()
    except BrokenExecutor:
        _tell("a worker process ended before its work was done, for want of memory perhaps. Take fewer workers.")
        sys.exit(2)
    except MemoryError:
        _tell("there is not enough memory. Take less data, fewer dimensions or fewer workers.")
        sys.exit(2)
    except (RuntimeError, SystemError) as error:
        # DuckDB makes "Query interrupted" of Ctrl-C, and compiled code that calls Python an error of its own, or one of that.
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__cause__
        if str(error) != "Query interrupted" and cause is None:
            raise
        _stop()


def _tell(message: str) -> None:
    click.echo(f"discreet: {printable_lines(message)}", err=True)


def _stop() -> NoReturn:
    _tell("stopped; no result was written.")
    sys.exit(1)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="discreet")
def cli() -> None:
    """Publish tables without publishing anyone."""


# -- the whole job ------------------------------------------------------------------------------------------


@cli.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default="demo-output", show_default=True)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Another seed, another survey.")
@quiet_option
def demo(out: Path, seed: int, quiet: bool) -> int:
    """Run the whole job on a built-in synthetic survey."""
    job = write_demo(out, seed)
    place = escape(str(out))
    console.print(
        f"A synthetic business survey is in [bold]{place}[/]: survey.csv, industry.hrc, region.hrc and job.toml."
    )
    console.print(f"Running [bold]discreet run {escape(str(job))}[/] …\n")
    return _run(job, quiet)


@cli.command()
@click.argument("job", type=ExistingFile)
@quiet_option
def run(job: Path, quiet: bool) -> int:
    """Run a job file: from records to release, reproducibly."""
    return _run(job, quiet)


def _run(path: Path, quiet: bool) -> int:
    job = read_job(path)
    with on_terminal(quiet) as progress:
        # print() and not the console, which would write into the progress bars.
        result = run_job(job, progress=progress, say=_say)
    _summary(result)
    return 0 if result.passed else 1


def _say(line: str) -> None:
    """Said at once, also where output goes through a pipe."""
    try:
        print(f"  {printable(line)}", flush=True)
    except BrokenPipeError:
        console.on_broken_pipe()


def _summary(result: Result) -> None:
    report, table = result.protection.report, result.problem.table.listed
    base = table.is_base
    shown = table.magnitude[base & ~result.protection.listed.hidden].sum() / max(table.magnitude[base].sum(), 1e-300)
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right")
    grid.add_column()
    hidden = report.n_primary + report.n_secondary
    grid.add_row(f"{len(table):,}", "cells")
    grid.add_row(f"{report.n_primary:,}", "hidden because they are sensitive")
    grid.add_row(
        f"{report.n_secondary:,}", f"hidden to protect those; {hidden / max(len(table), 1):.1%} of cells in all"
    )
    if report.n_adjusted:
        grid.add_row(f"{report.n_adjusted:,}", "published with values that stand for an interval")
    grid.add_row(f"{shown:.1%}", "of the value of the finest cells is published")
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
            f"[bold green]{safe(result.protection).capitalize()}[/]: {which} sensitive cell keeps its protection against the "
            + escape(listed(result.audit.attackers))
            + ("." if respondents is None else f", and each of {respondents.targets:,} respondents against all others.")
        )
    elif not result.audit.passed:
        console.print(f"[bold red]Not published[/]: {len(result.audit.exposed):,} cells are exposed; see audit.json.")
    elif respondents is not None and not respondents.passed:
        exposed = len(respondents.respondents)
        console.print(f"[bold red]Not published[/]: {exposed:,} respondents are exposed; see audit.json.")
    elif result.lab is not None:
        hit = len(result.lab.compromised)
        console.print(f"[bold red]Not published[/]: attacks compromise {hit:,} sensitive cells; see report.html.")
    show_promise(result.protection, result.level, respondents)
    show_limits(result.lab)
    console.print("Written:")
    for file in result.files:
        note = "" if is_public(file) else "  [dim]confidential[/]"
        console.print(f"  {escape(os.path.relpath(file))}{note}")


# -- step by step -------------------------------------------------------------------------------------------


@cli.command("tabulate")
@click.argument("data", type=ExistingFile)
@click.option(
    "--by",
    "dimensions",
    multiple=True,
    required=True,
    metavar="COLUMN[=HIERARCHY]",
    help="A dimension, with a .hrc or .csv file or digits:3,1,1; repeat for more.",
)
@click.option("--response", help="Column to add up; leave out to count.")
@click.option("--contributor", help="Column that says who a record belongs to.")
@click.option("--holding", help="Column with the group a contributor belongs to.")
@click.option("--weight", help="Column with sampling weights.")
@click.option(
    "--weights",
    type=click.Choice(get_args(Weights)),
    default="known",
    show_default=True,
    help="Whether readers may know the sampling weights, so that contributions are protected with their weights.",
)
@click.option("--request", help="Column that says who asked for protection.")
@click.option("--extra", multiple=True, help="Further column to add up, for costs or as keys; repeat for more.")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Largest contributions to keep.")
@click.option(
    "--contributions/--no-contributions",
    default=None,
    help="Keep who contributes what to the finest cells, to protect each. Default: if contributors or holdings are named.",
)
@click.option("--ignore-zeros", is_flag=True, help="Contributors of zero do not count.")
@click.option("--store-empty", is_flag=True, help="Keep empty cells, so that zeros may be suppressed.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "drop"]),
    default="error",
    show_default=True,
    help="What to do with records whose code is not in the hierarchy.",
)
@click.option("--out", type=NewFile(".discreet"), required=True, help="Bundle to write (.discreet).")
def tabulate_command(
    data: Path,
    dimensions: tuple[str, ...],
    response: str | None,
    contributor: str | None,
    holding: str | None,
    weight: str | None,
    weights: Weights,
    request: str | None,
    extra: tuple[str, ...],
    top: int,
    contributions: bool | None,
    store_empty: bool,
    ignore_zeros: bool,
    unknown: str,
    out: Path,
) -> None:
    """Tabulate records into cells with all their totals."""
    columns = [text.partition("=")[0] for text in dimensions]
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(f"--by names column {twice[0]!r} twice.", twice)
    table = tabulate(
        data,
        {name: hierarchy for name, hierarchy in (_dimension(data, text) for text in dimensions)},
        response,
        contributor=contributor,
        holding=holding,
        weight=weight,
        weights=weights,
        top=top,
        request=request,
        extra=list(extra),
        count_zeros=not ignore_zeros,
        unknown=unknown,
        contributions=contributions,
        store_empty=store_empty,
    )
    with writing(out) as draft:
        bundle.write_table(table, draft)
    console.print(f"{table!r}, {table.n_empty:,} empty", markup=False)


def _dimension(data: Path, text: str) -> tuple[str, Hierarchy | None]:
    column, equals, given = text.partition("=")
    if not equals:
        return column, None
    if given.startswith("digits:"):
        try:
            widths = [int(width) for width in given.removeprefix("digits:").split(",")]
        except ValueError:
            raise InputError(f"--by {text}: write the widths of the levels as digits:3,1,1.") from None
        return column, Hierarchy.from_levels(sorted(distinct_codes(data, [column])[column]), widths)
    return column, hierarchy_file(Path(given))


@cli.command("assess")
@click.argument("table", type=ExistingFile)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="E.g. P(10); repeat for more.")
@click.option("--cost", default="value", show_default=True, help="What hiding a cell costs; see `discreet rules`.")
@click.option(
    "--boundary",
    type=click.Choice(["strict", "inclusive"]),
    default="strict",
    show_default=True,
    help="Whether a cell exactly on the boundary of a rule is safe (strict) or sensitive (inclusive).",
)
@click.option(
    "--prior",
    type=Number(0, 100, min_open=True),
    metavar="PERCENT",
    help="Everybody knows each value of the tables to within this; default: only that it is not negative.",
)
@click.option(
    "--margin",
    type=Number(0),
    default=20.0,
    show_default=True,
    help="Protection of cells made primary by hand, in percent.",
)
@click.option(
    "--statuses", type=ExistingFile, help="CSV cell,status[,reason]: primary, free, published or hidden by hand."
)
@click.option("--waivers", type=ExistingFile, help="CSV respondent or respondent,cell: who consents to publication.")
@click.option(
    "--zeros",
    type=click.Choice(get_args(Zeros)),
    help="Whether zeros stay published, or may be suppressed to protect others.",
)
@click.option("--out", type=NewFile(*PROBLEMS), required=True, help="Problem to write (.discreet, .jj or .jj.gz).")
def assess_command(
    table: Path,
    rules: tuple[str, ...],
    cost: str,
    boundary: Any,
    prior: float | None,
    margin: float,
    statuses: Path | None,
    waivers: Path | None,
    zeros: Any,
    out: Path,
) -> None:
    """Find the sensitive cells of a tabulated table."""
    if not rules and not statuses:
        raise click.UsageError("Say what is sensitive: give --rule, --statuses or both.")
    problem = assess(
        bundle.read_table(table),
        rules,
        cost=cost,
        boundary=boundary,
        prior=prior,
        margin=margin,
        statuses=read_statuses(statuses) if statuses else None,
        waivers=read_waivers(waivers) if waivers else (),
        zeros=zeros,
    )
    _write_problem(problem, out)
    console.print(f"{len(problem.primaries):,} of {problem.table.n_listed:,} cells are sensitive")


@cli.command("protect")
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
    kept = Checkpoint(checkpoint, given, _tell) if checkpoint else None
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
            in_force = level_of(given, found.only_hides, level)
            if in_force.covers_respondents:
                seen = audit_respondents(given, found, executor=executor, progress=progress)
        passed = all_passed(checked, seen)
        files: dict[Path, Callable[[Path], None]] = {out: lambda draft: write_pattern(found, draft)}
        if report:
            files[report] = lambda draft: write_json(protect_report(found, checked, in_force, seen), draft)
        write_together(files)
        if kept and passed:
            kept.finish(found.report.status)
    # The cost is for the report: where it is the value hidden, it is confidential.
    console.print(f"{found!r}, {found.report.seconds:,.1f} s, audit: {verdict(checked, found)}", markup=False)
    if found.report.note:
        console.print(found.report.note, markup=False)
    if seen is not None:
        show_respondents(seen, found)
    show_promise(found, in_force, seen)
    return 0 if passed else 1


@cli.command("publish")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option("--symbol", default=SYMBOL, show_default=True, help="What stands in hidden cells.")
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
        in_force = level_of(given, found.only_hides, level)
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
    show_limits(lab)


@cli.command()
@click.argument("file", type=ExistingFile)
@click.option("--rows", type=click.IntRange(1), default=30, show_default=True, help="Rows to show.")
def view(file: Path, rows: int) -> None:
    """Show a release (.csv, .parquet), a problem or a table in the terminal. Problems and tables show their shape only."""
    name = file.name.lower()
    if name.endswith((".jj", ".jj.gz", ".discreet")):
        try:
            console.print(f"{read_problem(file)!r}", markup=False)
        except FormatError:
            if not name.endswith(".discreet"):
                raise
            console.print(f"{bundle.read_table(file)!r}", markup=False)
        return
    try:
        frame = pd.read_parquet(file) if name.endswith(".parquet") else read_release(file)
    except (ValueError, OSError, FormatError):  # without its words, which may quote what is in the file
        raise FormatError(f"{file} cannot be shown: it is neither CSV nor Parquet, or damaged.") from None
    show(frame, rows, console)


@cli.command()
@click.argument("source", type=ExistingFile)
@click.argument("target", type=NewFile(*PROBLEMS))
@attackers_option
def convert(source: Path, target: Path, attackers: Path | None) -> None:
    """Convert a problem between formats, e.g. problem.discreet to problem.jj.gz."""
    _write_problem(problem_against(source, attackers), target)
    console.print(f"Written {target}", markup=False)


def _write_problem(problem: Problem, path: Path) -> None:
    """Write a problem, and what its file does not say to the terminal."""
    with warnings.catch_warnings(record=True) as unsaid:
        warnings.simplefilter("always")
        write_problem(problem, path)
    for warning in unsaid:
        console.print(str(warning.message), markup=False)


for command in (
    audit_command,
    verify_command,
    attack_command,
    keys_command,
    secret_command,
    edit_command,
    advise_command,
    compare_command,
    calibrate_command,
    report_command,
):
    cli.add_command(command)


# -- what there is --------------------------------------------------------------------------------------------


@cli.command("rules")
def rules_command() -> None:
    """List the rules, costs and their notation."""
    for name, rule in RULES.items():
        console.print(f"[bold]{usage(name)}[/]".replace("[,", "\\[,"), _first_line(rule))
    console.print(f"\nCosts: {', '.join(map(cost_usage, COSTS))}", markup=False)


@cli.command("methods")
def methods_command() -> None:
    """List the methods and file formats."""
    for name, method in METHODS.items():
        options = ", ".join(f"{f.name}={f.default!r}" for f in fields(method) if f.default is not MISSING)  # type: ignore[arg-type]
        console.print(f"[bold]{name}[/]", options, _first_line(method))
    console.print(f"\nFormats: {', '.join(FORMATS)}", markup=False)


def _first_line(thing: Any) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0].replace("``", "")
