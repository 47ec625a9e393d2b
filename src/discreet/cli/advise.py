"""The command that looks for a better design of a table before it is protected: advise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click
import pandas as pd
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.common import ExistingFile, NewFile, console, keep_job, quiet_option
from discreet.errors import InputError
from discreet.jobs.advise import Advice, Step, apply
from discreet.jobs.job import write_together
from discreet.jobs.job_file import read_job
from discreet.jobs.redesign import advise_job, job_files
from discreet.progress import on_terminal

SHOWN = 5  # of the single changes, besides the best of each kind


@click.command("advise")
@click.argument("job", type=ExistingFile)
@click.option("--steps", type=click.IntRange(1), default=10, show_default=True, help="Changes one after the other.")
@click.option(
    "--keep",
    multiple=True,
    metavar="DIMENSION[=CODE]",
    help="A code that must stay, or a dimension that must stay as it is; repeat for more.",
)
@click.option(
    "--ordered", multiple=True, metavar="DIMENSION", help="Only neighbours are merged, as in size classes; repeat."
)
@click.option(
    "--out", type=NewFile(".csv"), help="Advice to write: the steps, and all single changes that help (.csv)."
)
@click.option("--apply", "steps_applied", type=click.IntRange(1), metavar="K", help="Apply the first K steps.")
@click.option("--single", "single_applied", type=click.IntRange(1), metavar="K", help="Apply single change K instead.")
@click.option(
    "--hierarchies",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="Where to write the changed hierarchies and a job that uses them, for --apply and --single.",
)
@quiet_option
def advise_command(
    job: Path,
    steps: int,
    keep: tuple[str, ...],
    ordered: tuple[str, ...],
    out: Path | None,
    steps_applied: int | None,
    single_applied: int | None,
    hierarchies: Path | None,
    quiet: bool,
) -> None:
    """Advise which categories to roll up, so that fewer cells of a job's table are sensitive."""
    if steps_applied and single_applied:
        raise click.UsageError("Apply steps or a single change: leave out --apply or --single.")
    if (hierarchies is None) == bool(steps_applied or single_applied):
        raise click.UsageError("--hierarchies says where --apply or --single writes to: give both or neither.")
    given = read_job(job)
    keep_job(given, out)
    with on_terminal(quiet) as progress:
        found = advise_job(
            given, keep=_kept(keep), ordered=ordered, steps=max(steps, steps_applied or 0), progress=progress
        )
    _show(found)
    files: dict[Path, Callable[[Path], None]] = {}
    if hierarchies:
        design = apply(found, steps_applied, single=single_applied)
        texts = job_files(given, found.design, design, _folder(hierarchies))
        files |= {path: _writer(text) for path, text in texts.items()}
    if out:
        both = [found.frame(which).assign(list=which) for which in ("sequence", "single")]
        files[out] = lambda draft: pd.concat(both).to_csv(draft, index=False)
    write_together(files)
    if files:
        console.print("\nWritten:")
    for file in files:
        console.print(f"  {escape(str(file))}  [dim]confidential[/]")
    if hierarchies:
        console.print(f"\nRun it with: discreet run {escape(str(hierarchies / given.path.name))}")


def _kept(keep: Sequence[str]) -> dict[str, list[str] | None]:
    kept: dict[str, list[str] | None] = {}
    for text in keep:
        dimension, equals, code = text.partition("=")
        listed = kept.setdefault(dimension, [])
        if not equals:
            kept[dimension] = None
        elif listed is not None:
            listed.append(code)
    return kept


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"Cannot make the folder {path}: {error.strerror}.") from None
    return path


def _writer(text: str) -> Callable[[Path], None]:
    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8")

    return write


def _show(found: Advice) -> None:
    console.print(f"{found.sensitive:,} of {found.cells:,} cells are sensitive")
    if not found.sequence:
        console.print("Nothing helps: no change of the categories removes a sensitive cell.")
        return
    console.print("\nOne change after the other, each the best after those before it:")
    console.print(_grid(list(enumerate(found.sequence, start=1)), so_far=True), soft_wrap=False)
    single = list(enumerate(found.single, start=1))
    kinds = {step.change.kind: (k, step) for k, step in reversed(single)}
    shown = sorted({k: (k, step) for k, step in [*single[:SHOWN], *kinds.values()]}.values(), key=lambda pair: pair[0])
    console.print(
        f"\nSingle changes of the table as it is: the best, and the best of each kind, of {len(single):,} that help:"
    )
    console.print(_grid(shown, so_far=False), soft_wrap=False)


def _grid(steps: Sequence[tuple[int, Step]], so_far: bool) -> Grid:
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("", justify="right")
    grid.add_column("change")
    for heading in ("sensitive", "removed", "cells", "detail lost"):
        grid.add_column(heading, justify="right")
    for k, step in steps:
        lost = step.detail_lost_so_far if so_far else step.detail_lost
        figures = (f"{step.sensitive_after:,}", f"{step.removed:,}", f"{step.cells_after:,}", f"{lost:.2%}")
        grid.add_row(str(k), escape(f"{step.change.dimension}: {step.change.words}"), *figures)
    return grid
