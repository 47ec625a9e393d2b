"""The command that changes records before they are tabulated: edit."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.cli.common import ExistingFile, NewFile, Number, console, keep_apart, secret_option
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
@click.option("--unit", help="swap: column with the household, say, that a record belongs to and moves with.")
@click.option("--column", "columns", multiple=True, help="impute: column to blank; repeat for more.")
@click.option("--by", multiple=True, help="impute: column that a donor must agree on; repeat for more.")
@click.option(
    "--donors",
    type=click.Choice(get_args(Donors)),
    help="impute: exchange what was blanked, which keeps marginals (default), or copy from others.",
)
@click.option("--rate", type=Number(0, 1), default=0.05, show_default=True, help="Share of records chosen.")
@click.option("--small", type=Number(0, 1), help="The share in small areas; default: four times the rate.")
@click.option("--small-area", type=click.IntRange(1), default=100, show_default=True, help="Records of a small area.")
@click.option(
    "--risk",
    type=Number(1),
    default=5.0,
    show_default=True,
    help="How much likelier records are chosen that are alone in their area with their keys.",
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
    rate: float,
    small: float | None,
    small_area: int,
    risk: float,
    tables: tuple[str, ...],
    secret: Path | None,
    out: Path,
    report: Path | None,
) -> int:
    """Edit records before they are tabulated, so that small counts leave doubt: swap them, or blank and impute."""
    keep_apart(data, secret, out, report)
    strange = (
        {"--hold": hold, "--unit": unit}
        if method == "impute"
        else {"--column": columns, "--by": by, "--donors": donors}
    )
    for option, given in strange.items():
        if given:
            raise click.UsageError(f"{option} is not for --method {method}: leave it out.")
    compared = [text.split(",") for text in tables] or None
    if method == "swap":
        edited, found = swap(
            data,
            areas,
            keys,
            hold=hold,
            unit=unit,
            rate=rate,
            small=small,
            small_area=small_area,
            risk=risk,
            tables=compared,
            secret=None if secret is None else Secret.read(secret),
        )
    else:
        edited, found = blank_and_impute(
            data,
            columns,
            areas=areas,
            keys=keys,
            by=by,
            donors=donors or "exchange",
            rate=rate,
            small=small,
            small_area=small_area,
            risk=risk,
            tables=compared,
            secret=None if secret is None else Secret.read(secret),
        )
    files = {out: lambda draft: write_records(edited, draft)}
    if report:
        files[report] = lambda draft: write_json(found.as_dict(), draft)
    write_together(files)
    _show_edit(found)
    console.print("Written:")
    for file in files:
        console.print(f"  {escape(str(file))}  [dim]confidential[/]")
    return 0 if found.kept else 1


def _show_edit(found: EditReport) -> None:
    unit = found.settings.get("unit")
    what = f"units of {unit!r}" if unit else "records"
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right")
    grid.add_column()
    grid.add_row(f"{found.units:,}", f"{escape(what)} in {len(found.areas):,} areas")
    grid.add_row(f"{found.risky:,}", "alone in their area with their keys")
    grid.add_row(f"{found.chosen:,}", "chosen")
    grid.add_row(f"{found.edited:,}", f"edited, {found.edited / found.units:.1%}, those they changed with included")
    for place, units in found.within.items():
        if units and len(found.within) > 1:
            words = "with one from anywhere" if place == ANYWHERE else f"with one of the same {escape(place)}"
            grid.add_row(f"{units:,}", f"  {words}")
    if found.unmatched:
        grid.add_row(f"{found.unmatched:,}", "chosen, but with nobody to change with: left as they are")
    if found.without_area:
        grid.add_row(f"{found.without_area:,}", "without area: left as they are")
    grid.add_row(f"{found.changed_records:,}", "records differ from before")
    console.print(grid)
    console.print()
    console.print(_tables(found), soft_wrap=False)
    console.print()


def _tables(found: EditReport) -> Grid:
    grid = Grid("table", box=None, pad_edge=False)
    for heading in ("cells", "changed", "largest change", "mean change"):
        grid.add_column(heading, justify="right")
    grid.add_column()
    for row in found.tables.itertuples():
        note = ("[green]kept[/]" if not row.changed else "[red]not kept[/]") if row.promised else ""
        moves = (f"{row.largest:,}", f"{row.mean:.3f}") if row.changed else ("", "")
        grid.add_row(escape(row.table), f"{row.cells:,}", f"{row.share:.1%}" if row.changed else "none", *moves, note)
    return grid
