"""The commands view and convert, which show and convert files."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from discreet.cli.common import (
    PROBLEM_SUFFIXES,
    ExistingFile,
    NewFile,
    attackers_option,
    console,
    problem_with_attackers,
    write_new_problem,
)
from discreet.errors import FormatError
from discreet.io import bundle, read_problem
from discreet.io.csv import read_release
from discreet.terminal import print_release


@click.command("view")
@click.argument("file", type=ExistingFile)
@click.option("--rows", type=click.IntRange(1), default=30, show_default=True, help="Rows to show.")
def view_command(file: Path, rows: int) -> None:
    """Show a release (.csv, .parquet), a problem or a table in the terminal. Of problems and tables only the shape is shown."""
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
    except (ValueError, OSError, FormatError):  # without the original message, which may quote the file
        raise FormatError(f"{file} cannot be shown: it is neither CSV nor Parquet, or damaged.") from None
    print_release(frame, rows, console)


@click.command("convert")
@click.argument("source", type=ExistingFile)
@click.argument("target", type=NewFile(*PROBLEM_SUFFIXES))
@attackers_option
def convert_command(source: Path, target: Path, attackers: Path | None) -> None:
    """Convert a problem between formats, e.g. problem.discreet to problem.jj.gz."""
    write_new_problem(problem_with_attackers(source, attackers), target)
    console.print(f"Written {target}", markup=False)
