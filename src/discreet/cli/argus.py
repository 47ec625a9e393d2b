"""The command argus, which runs, converts and compares jobs of τ-ARGUS."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from discreet.argus.comparison import compare_result, write_report
from discreet.argus.convert import converted
from discreet.argus.run import run_batch
from discreet.cli.common import ExistingFile, NewFile, check_distinct, console, quiet_option, show_written
from discreet.errors import InputError
from discreet.jobs.job import write_together
from discreet.printable import printable
from discreet.progress import on_terminal


@click.command("argus")
@click.argument("job", type=ExistingFile)
@click.option(
    "--out",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Folder of the outputs. Default: that of the job.",
)
@click.option("--as", "new", type=NewFile(".toml"), help="Convert the job into a job file (.toml), and run nothing.")
@click.option(
    "--compare", "theirs", type=ExistingFile, help="Compare with a table that τ-ARGUS wrote; outputs are not written."
)
@click.option(
    "--table", "number", type=click.IntRange(1), default=1, show_default=True, help="With --compare: table of the job."
)
@click.option("--report", type=NewFile(".csv"), help="With --compare: the comparison cell by cell to write (.csv).")
@quiet_option
def argus_command(
    job: Path, out: Path | None, new: Path | None, theirs: Path | None, number: int, report: Path | None, quiet: bool
) -> int:
    """Run a job of τ-ARGUS (.arb) and audit it, convert it into a job file, or compare results."""
    if new is not None and (theirs is not None or out is not None):
        raise click.UsageError("--as runs nothing: leave out --compare and --out.")
    if theirs is None and report is not None:
        raise click.UsageError("--report belongs to --compare.")
    check_distinct(job, new, theirs, report)
    if new is not None:
        return _convert(job, new)
    say: Callable[[str], None] = _print_line if theirs is None else lambda _: None
    with on_terminal(quiet) as progress:
        result = run_batch(
            job, out=out, progress=progress, say=say, writes=theirs is None, contributions=theirs is not None
        )
        if theirs is not None:
            if number > len(result.works):
                raise InputError(f"The job has no table {number}: it has {len(result.works)}.")
            comparison = compare_result(result.works[number - 1], theirs, progress)
    if theirs is None:
        public = {file.resolve() for file in result.public}
        show_written([Path(os.path.relpath(file)) for file in result.files], lambda file: file.resolve() in public)
        return 0 if result.passed else 1
    write_together({report: partial(write_report, comparison)})
    for line in comparison.lines():
        console.print(line, markup=False)
    return 0 if comparison.passed else 1


def _print_line(line: str) -> None:
    """Print a line at once; not by the console, which would write into the progress bars."""
    try:
        print(f"  {printable(line)}", flush=True)
    except BrokenPipeError:
        console.on_broken_pipe()


def _convert(job: Path, new: Path) -> int:
    """Write the job file, and print what it does not say."""
    found = converted(job, new)
    check_distinct(*found.files)

    written = write_together({path: partial(_write_text, text) for path, text in found.files.items()})
    for note in found.notes:
        console.print(f"not in the job file: {note}", markup=False)
    show_written(written)
    return 0


def _write_text(text: str, path: Path) -> None:
    path.write_text(text, encoding="utf-8")
