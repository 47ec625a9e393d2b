"""Run instances through phases and append the figures to a CSV file."""

from __future__ import annotations

import csv
import os
import platform
import resource
import subprocess
import tempfile
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import click

from benchmarks.instances import INSTANCES, folder
from benchmarks.phases import MICRODATA, PHASES, relations_of_a_million_cells, tabulate_rows

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, str]:
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        check=False,
    )
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "commit": commit.stdout.strip(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
    }


def measure(phase: str, name: str, seed: int, data: Path | None, rows: int) -> dict[str, Any]:
    """One measurement, with the peak memory of the process it runs in."""
    if phase == "tabulate":
        with tempfile.TemporaryDirectory() as scratch:
            figures = tabulate_rows(name, rows, seed, Path(scratch))
    elif phase == "relations":
        figures = relations_of_a_million_cells(seed)
    else:
        instances = INSTANCES | (folder(data) if data else {})
        figures = PHASES[phase](instances[name].make(seed), seed)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"phase": phase, "instance": name, "seed": seed, **figures, "peak_mb": round(peak)}


@click.command()
@click.option(
    "--phase", "phases", multiple=True, type=click.Choice(["tabulate", "relations", *PHASES]), help="Default: all."
)
@click.option("--instance", "names", multiple=True, help="Default: all of the phase.")
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option("--rows", type=int, default=10_000_000, show_default=True, help="Records for the tabulate phase.")
@click.option("--seed", "seeds", multiple=True, type=int, default=[1], show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV files.")
def main(
    phases: tuple[str, ...], names: tuple[str, ...], data: Path | None, rows: int, seeds: tuple[int, ...], out: Path
) -> None:
    """Measure. Every measurement runs in a fresh process, so that peak memory is its own."""
    out.mkdir(parents=True, exist_ok=True)
    here = machine()
    for phase in phases or ("tabulate", "relations", *PHASES):
        known = {"tabulate": list(MICRODATA), "relations": ["million"]}.get(phase)
        known = known or [*INSTANCES, *(folder(data) if data else {})]
        records = []
        for name in [name for name in known if not names or name in names]:
            for seed in seeds:
                with get_context("spawn").Pool(1) as pool:
                    record = pool.apply(measure, (phase, name, seed, data, rows))
                click.echo("  ".join(f"{key} {value}" for key, value in record.items()))
                records.append(record | here)
        if records:
            path = out / f"{phase}.csv"
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, fieldnames=list(records[0]))
                writer.writeheader()
                writer.writerows(records)
            click.echo(f"{path} written")


if __name__ == "__main__":
    main()
