"""Microdata with known answers: does the way from records to sensitive cells find exactly them?

Run ``python -m benchmarks.known FOLDER`` on a folder with ``microdata/tau_testW`` and ``surveys/``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from discreet import Hierarchy, assess, tabulate
from discreet.data.table import Table
from discreet.io.rda import read_microdata


def tables(root: Path) -> Iterator[tuple[str, Table, dict[str, int]]]:
    """Name, table and what is known about it."""
    if (root / "microdata" / "tau_testW").is_dir():
        yield "tau_testW", tau_test(root), {"cells": 153, "empty": 34, "primaries": 9}
    for survey in sorted((root / "surveys").iterdir()) if (root / "surveys").is_dir() else []:
        meta = json.loads((survey / "meta.json").read_text())
        dimensions = {f"d{d}": Hierarchy.from_hrc(survey / f"d{d}.hrc") for d in range(1, meta["ndim"] + 1)}
        table = tabulate(survey / "micro.csv.gz", dimensions, "value", contributor="id")
        yield survey.name, table, {name: meta[name] for name in ("cells", "empty", "primaries")}


def tau_test(root: Path) -> Table:
    """Size × Region of the classical test file of τ-ARGUS."""
    home = root / "microdata" / "tau_testW"
    records = read_microdata(home / "tau_testW.asc", home / "Tau_TestW.rda")
    return tabulate(records, {"Size": None, "Region": Hierarchy.from_hrc(home / "region2.hrc")}, "Var2")


@click.command()
@click.argument("root", type=click.Path(exists=True, file_okay=False, path_type=Path))
def main(root: Path) -> None:
    """Compare with the known answers, under P(15)."""
    wrong = 0
    for name, table, known in tables(root):
        problem = assess(table, "P(15)")
        found = {
            "cells": table.n_combinations,
            "empty": table.n_combinations - len(table),
            "primaries": len(problem.primaries),
        }
        wrong += found != known
        click.echo(f"{name}: {found}{'' if found == known else f', but known is {known}'}")
    raise SystemExit(wrong)


if __name__ == "__main__":
    main()
