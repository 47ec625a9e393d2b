"""The command argus, which runs, converts and compares jobs of τ-ARGUS."""

from __future__ import annotations

import os
from pathlib import Path

import click

from discreet.argus.session import run_batch
from discreet.cli.common import ExistingFile, NewFile, check_distinct, quiet_option, show_written
from discreet.progress import on_terminal


@click.command("argus")
@click.argument("job", type=ExistingFile)
@click.option(
    "--out",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Folder of the outputs. Default: that of the job.",
)
@click.option(
    "--as", "converted", type=NewFile(".toml"), help="Convert the job into a job file (.toml), and run nothing."
)
@click.option("--compare", "theirs", type=ExistingFile, help="Compare with a table that τ-ARGUS wrote, and write none.")
@click.option(
    "--table",
    "number",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="With --compare: the table of the job.",
)
@click.option("--report", type=NewFile(".csv"), help="With --compare: the comparison cell by cell to write (.csv).")
@quiet_option
def argus_command(
    job: Path,
    out: Path | None,
    converted: Path | None,
    theirs: Path | None,
    number: int,
    report: Path | None,
    quiet: bool,
) -> int:
    """Run a job of τ-ARGUS (.arb) and audit it, convert it into a job file, or compare results."""
    if converted is not None and theirs is not None:
        raise click.UsageError("--as and --compare exclude each other.")
    if report is not None and theirs is None:
        raise click.UsageError("--report belongs to --compare.")
    check_distinct(job, converted, theirs, report)
    if converted is not None:
        return _convert(job, converted)
    with on_terminal(quiet) as progress:
        result = run_batch(job, out=out, progress=progress, say=_say, writes=theirs is None)
    if theirs is not None:
        return _compare(result, theirs, number, report)
    show_written(
        [Path(os.path.relpath(file)) for file in result.files],
        lambda file: file.resolve() in {p.resolve() for p in result.public},
    )
    return 0 if result.passed else 1
