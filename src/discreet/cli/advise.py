"""The command advise: a better design of a table before it is protected."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click
import pandas as pd
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.common import ExistingFile, NewFile, check_job_is_kept, console, quiet_option, show_written
from discreet.jobs.advise import Advice, Step, apply
from discreet.jobs.demo import make_folder
from discreet.jobs.job import write_together
from discreet.jobs.job_file import read_job
from discreet.jobs.redesign import advise_job, job_files
from discreet.progress import on_terminal

MAX_SINGLE_CHANGES_SHOWN = 5  # besides the best of each kind, so that the list fits on a screen


@click.command("advise")
@click.argument("job", type=ExistingFile)
@click.option("--steps", type=click.IntRange(1), default=10, show_default=True, help="Changes in the sequence at most.")
@click.option(
    "--keep",
    multiple=True,
    metavar="DIMENSION[=CODE]",
    help="A code that must stay, or a dimension whose codes must all stay; repeat for more.",
)
@click.option(
    "--ordered", multiple=True, metavar="DIMENSION", help="Only neighbours are merged, as in size classes; repeat."
)
@click.option("--out", type=NewFile(".csv"), help="Advice to write: the steps and all single changes that help (.csv).")
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
    """Advise which categories to combine, so that fewer cells of a job's table are sensitive."""
    if steps_applied and single_applied:
        raise click.UsageError("Apply steps or a single change: leave out --apply or --single.")
    if (hierarchies is None) == bool(steps_applied or single_applied):
        raise click.UsageError("--hierarchies is the folder for --apply or --single: give both or neither.")
    given = read_job(job)
    check_job_is_kept(given, out)
    with on_terminal(quiet) as progress:
        steps = max(steps, steps_applied or 0)
        advice = advise_job(given, keep=_kept_codes(keep), ordered=ordered, steps=steps, progress=progress)
    _show(advice)
    texts: dict[Path, str] = {}
    if hierarchies:
        design = apply(advice, steps_applied, single=single_applied)
        texts = job_files(given, advice.design, design, make_folder(hierarchies))
    both = [advice.frame(which).assign(list=which) for which in ("sequence", "single")]
    written = write_together(
        {
            **{path: partial(_write_text, text) for path, text in texts.items()},
            out: lambda draft: pd.concat(both).to_csv(draft, index=False),
        }
    )
    if written:
        console.print()
        show_written(written)
    if hierarchies:
        console.print(f"\nRun it with: discreet run {escape(str(hierarchies / given.path.name))}")


def _kept_codes(keep: Sequence[str]) -> dict[str, list[str] | None]:
    """The codes in --keep, by dimension; None for all codes."""
    kept: dict[str, list[str] | None] = {}
    for text in keep:
        dimension, equals, code = text.partition("=")
        listed = kept.setdefault(dimension, [])
        if not equals:
            kept[dimension] = None
        elif listed is not None:
            listed.append(code)
    return kept


def _write_text(text: str, draft: Path) -> None:
    draft.write_text(text, encoding="utf-8")


def _show(advice: Advice) -> None:
    console.print(f"{advice.sensitive:,} of {advice.cells:,} cells are sensitive")
    if not advice.sequence:
        console.print("No change of the categories removes a sensitive cell.")
        return
    console.print("\nA sequence of changes, each the best after those before it:")
    console.print(_grid(list(enumerate(advice.sequence, start=1)), so_far=True), soft_wrap=False)
    single = list(enumerate(advice.single, start=1))
    best_of_kind = {step.change.kind: (k, step) for k, step in reversed(single)}
    shown = dict(sorted([*single[:MAX_SINGLE_CHANGES_SHOWN], *best_of_kind.values()], key=lambda pair: pair[0]))
    console.print(
        f"\nSingle changes: the best, and the best of each kind, of {len(single):,} that remove sensitive cells:"
    )
    console.print(_grid(list(shown.items()), so_far=False), soft_wrap=False)


def _grid(steps: Sequence[tuple[int, Step]], so_far: bool) -> Grid:
    """One row per numbered step, with the detail lost by it or, if ``so_far``, by all steps up to it."""
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
