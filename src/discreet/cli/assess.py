"""The command assess."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from discreet.assess import Zeros, assess
from discreet.cli.common import (
    PROBLEMS,
    ExistingFile,
    NewFile,
    Number,
    boundary_option,
    console,
    write_new_problem,
)
from discreet.io import bundle
from discreet.jobs.job import read_statuses, read_waivers


@click.command("assess")
@click.argument("table", type=ExistingFile)
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="E.g. P(10); repeat for more.")
@click.option("--cost", default="value", show_default=True, help="Cost of suppressing a cell; see `discreet rules`.")
@boundary_option
@click.option(
    "--prior",
    type=Number(0, 100, min_open=True),
    metavar="PERCENT",
    help="Every reader knows each value of the tables to within this; default: only that it is not negative.",
)
@click.option(
    "--margin",
    type=Number(0),
    default=20.0,
    show_default=True,
    help="Protection of cells made primary by hand, in percent.",
)
@click.option(
    "--statuses", type=ExistingFile, help="CSV cell,status[,reason]: primary, free, published or suppressed by hand."
)
@click.option("--waivers", type=ExistingFile, help="CSV respondent or respondent,cell: consents to publication.")
@click.option(
    "--zeros",
    type=click.Choice(get_args(Zeros)),
    help="Whether zeros stay published, or may be suppressed to protect others.",
)
@click.option("--out", type=NewFile(*PROBLEMS), required=True, help="Problem to write (.discreet, .jj or .jj.gz).")
def assess_command(
    table: Path,
    rules: tuple[str, ...],
    statuses: Path | None,
    waivers: Path | None,
    out: Path,
    **options: Any,
) -> None:
    """Find the sensitive cells of a tabulated table."""
    if not rules and not statuses:
        raise click.UsageError("No cell would be sensitive: give --rule, --statuses or both.")
    problem = assess(
        bundle.read_table(table),
        rules,
        statuses=read_statuses(statuses) if statuses else None,
        waivers=read_waivers(waivers) if waivers else (),
        **options,
    )
    write_new_problem(problem, out)
    console.print(f"{len(problem.primaries):,} of {problem.table.n_listed:,} cells are sensitive")
