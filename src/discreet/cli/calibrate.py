"""The command calibrate, which compares rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table as Grid

from discreet.cli.common import ExistingFile, NewFile, boundary_option, check_distinct, console
from discreet.compare.calibrate import Calibration, calibrate
from discreet.io import bundle, writing


@click.command("calibrate")
@click.argument("rules", nargs=-1, required=True)
@click.option("--table", type=ExistingFile, help="Table whose cells are assessed and drawn (.discreet).")
@boundary_option
@click.option("--title", default="", help="Heading of the drawing.")
@click.option("--out", type=NewFile(".svg", ".html"), help="Drawing to write (.svg), or page (.html). Confidential.")
def calibrate_command(rules: tuple[str, ...], table: Path | None, boundary: Any, title: str, out: Path | None) -> None:
    """Compare rules P, PQ, NK(1,k) and NK(2,k): which covers which, and with which parameters. Prints parameters."""
    check_distinct(table, out)
    found = calibrate(list(rules), bundle.read_table(table) if table else None, boundary=boundary)
    _print(found)
    if out:
        with writing(out) as draft:
            found.write(draft, title)
        console.print(f"Written {out}", markup=False)


def _print(found: Calibration) -> None:
    for row in found.frame().to_dict("records"):
        console.print(str(row["rule"]), style="bold", markup=False)
        grid = Grid(box=None, show_header=False, pad_edge=True)
        for name in ("covers", "covered by", "notes"):
            if row[name]:
                grid.add_row("", "" if name == "notes" else name, row[name])
        if "sensitive cells" in row and found.cells is not None:
            grid.add_row("", "sensitive", f"{row['sensitive cells']:,} of {len(found.cells):,} cells")
        if grid.row_count:
            console.print(grid)
    for one, other in found.covers():
        console.print(f"{one} covers {other}", markup=False)
