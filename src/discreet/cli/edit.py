"""The command edit, which changes records before they are tabulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.common import (
    ExistingFile,
    NewFile,
    Number,
    check_distinct,
    console,
    figures_grid,
    secret_option,
    show_written,
)
from discreet.data.records import write_records
from discreet.edit import EditReport, blank_and_impute, swap
from discreet.edit.impute import Donors
from discreet.edit.swap import ANYWHERE
from discreet.jobs.job import write_json, write_together
from discreet.secret import Secret


@click.command("edit")
@click.argument("data", type=ExistingFile)
@click.option(
    "--method",
    type=click.Choice(["swap", "impute"]),
    default="swap",
    show_default=True,
    help="Swap records between areas, or blank values and fill them in from other records.",
)
@click.option("--area", "areas", multiple=True, required=True, help="Column with areas, coarsest first; repeat.")
@click.option("--key", "keys", multiple=True, required=True, help="Key variable; repeat for more.")
@click.option("--hold", multiple=True, help="swap: further column whose tables by area must not change; repeat.")
@click.option("--unit", help="swap: column with the unit, such as a household, whose records are swapped together.")
@click.option("--column", "columns", multiple=True, help="impute: column to blank; repeat for more.")
@click.option("--by", multiple=True, help="impute: column that a donor must agree on; repeat for more.")
@click.option(
    "--donors",
    type=click.Choice(get_args(Donors)),
    help="impute: exchange the blanked values, which keeps marginals (default), or copy those of other records.",
)
@click.option("--rate", type=Number(0, 1), default=0.05, show_default=True, help="Share of records chosen.")
@click.option("--small", type=Number(0, 1), help="The share in small areas; default: four times the rate.")
@click.option("--small-area", type=click.IntRange(1), default=100, show_default=True, help="Records of a small area.")
@click.option(
    "--risk",
    type=Number(1),
    default=5.0,
    show_default=True,
    help="Factor by which records that are unique in their area by their keys are more likely to be chosen.",
)
@click.option("--table", "tables", multiple=True, metavar="COLUMN,…", help="Table to compare before and after; repeat.")
@secret_option
@click.option(
    "--out", type=NewFile(".csv", ".csv.gz", ".parquet"), required=True, help="Edited records to write. Confidential."
)
@click.option("--report", type=NewFile(".json"), help="Report to write (.json). Confidential.")
def edit_command(
    data: Path,
    method: str,
    areas: tuple[str, ...],
    keys: tuple[str, ...],
    hold: tuple[str, ...],
    unit: str | None,
    columns: tuple[str, ...],
    by: tuple[str, ...],
    donors: Donors | None,
    tables: tuple[str, ...],
    secret: Path | None,
    out: Path,
    report: Path | None,
    **rates: Any,
) -> int:
    """Edit records before they are tabulated, so that small counts leave doubt: swap them, or blank and impute."""
    check_distinct(data, secret, out, report)
    of_swap = {"--hold": hold, "--unit": unit}
    of_impute = {"--column": columns, "--by": by, "--donors": donors}
    for option, given in (of_impute if method == "swap" else of_swap).items():
        if given:
            raise click.UsageError(f"{option} is not for --method {method}: leave it out.")
    common: dict[str, Any] = {
        **rates,
        "tables": [text.split(",") for text in tables] or None,
        "secret": None if secret is None else Secret.read(secret),
    }
    if method == "swap":
        edited, result = swap(data, areas, keys, hold=hold, unit=unit, **common)
    else:
        edited, result = blank_and_impute(
            data, columns, areas=areas, keys=keys, by=by, donors=donors or "exchange", **common
        )
    written = write_together(
        {
            out: lambda draft: write_records(edited, draft),
            report: lambda draft: write_json(result.as_dict(), draft),
        }
    )
    _show_edit(result)
    show_written(written)
    return 0 if result.kept else 1


def _show_edit(result: EditReport) -> None:
    unit = result.settings.get("unit")
    units = f"units of {unit!r}" if unit else "records"
    grid = figures_grid()
    grid.add_row(f"{result.units:,}", f"{escape(units)} in {len(result.areas):,} areas")
    grid.add_row(f"{result.risky:,}", "unique in their area by their keys")
    grid.add_row(f"{result.chosen:,}", "chosen")
    grid.add_row(f"{result.edited:,}", f"edited, {result.edited / result.units:.1%}, partners included")
    for area, n_edited in result.within.items():
        if n_edited and len(result.within) > 1:
            partner = "with a partner anywhere" if area == ANYWHERE else f"with a partner of the same {escape(area)}"
            grid.add_row(f"{n_edited:,}", f"  {partner}")
    if result.unmatched:
        grid.add_row(f"{result.unmatched:,}", "chosen, but without a partner: not changed")
    if result.without_area:
        grid.add_row(f"{result.without_area:,}", "without area: not changed")
    grid.add_row(f"{result.changed_records:,}", "records differ from before")
    console.print(grid)
    console.print()
    console.print(_tables(result), soft_wrap=False)
    console.print()


def _tables(result: EditReport) -> Grid:
    """One row per table with the changes of its cells, and whether a promised table is kept."""
    grid = Grid("table", box=None, pad_edge=False)
    for heading in ("cells", "changed", "largest change", "mean change"):
        grid.add_column(heading, justify="right")
    grid.add_column()
    for row in result.tables.itertuples():
        note = ("[green]kept[/]" if not row.changed else "[red]not kept[/]") if row.promised else ""
        changes = (f"{row.share:.1%}", f"{row.largest:,}", f"{row.mean:.3f}") if row.changed else ("none", "", "")
        grid.add_row(escape(row.table), f"{row.cells:,}", *changes, note)
    return grid
