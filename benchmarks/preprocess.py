"""What is left of a problem before the search for the cheapest pattern begins.

``python -m benchmarks.preprocess FOLDER`` prints the table of docs/reference/benchmarks.md for the JJ files in a folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone
from benchmarks.instances import folder
from benchmarks.record import RESULTS, machine, markdown, write_csv
from discreet.audit import exposure
from discreet.methods.context import Run
from discreet.methods.suppress.optimal.search import PatternSearch
from discreet.problem import Problem


def sizes(problem: Problem) -> dict[str, int]:
    """Counts: of the problem, of candidates for protection by Serpell et al. (2013), and of levels still to be reached."""
    search = PatternSearch(problem, Run())
    search.drop_met_requirements()
    movable = np.any([separator.slack.any(axis=0) for separator in search.separators], axis=0)
    exposed = exposure(problem).counts()
    return {
        "cells": len(problem),
        "can move": int(movable.sum()),
        "relations": problem.table.relations.shape[0],
        "primaries": len(problem.primaries),
        "exposed": exposed["exposed"],
        "K1": exposed["k1"],
        "K3": exposed["k3"],
        "K5": exposed["k5"],
        "requirements": search.work["requirements"],
        "open": search.work["open"],
    }


def of_file(data: Path, name: str) -> dict[str, int]:
    return sizes(folder(data)[name].make(0))


@click.command()
@click.argument("data", metavar="FOLDER", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--instance", "names", multiple=True, help="Default: all in the folder.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(data: Path, names: tuple[str, ...], out: Path) -> None:
    """Count what is left of every JJ file in FOLDER."""
    here = machine()
    strangers = [name for name in names if name not in folder(data)]
    if strangers:
        raise click.UsageError(f"There is no instance {strangers[0]!r}.")
    records: list[dict[str, Any]] = []
    for name in names or folder(data):
        records.append({"instance": name, **(alone(of_file, data, name) or {})})
        click.echo("  ".join(f"{key} {value}" for key, value in records[-1].items()))
    if not records:
        raise click.UsageError("There are no JJ files in the folder.")
    write_csv(out / "optimal-preprocessing.csv", records, here)
    rows = [
        {key: value if isinstance(value, str) else f"{value:,}" for key, value in record.items()} for record in records
    ]
    click.echo("\n" + markdown(rows))


if __name__ == "__main__":
    main()
