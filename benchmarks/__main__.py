"""Run instances through phases and append the figures to a CSV file."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.instances import INSTANCES, folder
from benchmarks.microdata import ROAMING
from benchmarks.phases import PHASES, measure
from benchmarks.record import RESULTS, machine, write_csv


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
    everything = {*INSTANCES, *ROAMING, "million", *(folder(data) if data else {})}
    strangers = [name for name in names if name not in everything]
    if strangers:
        raise click.UsageError(f"There is no instance {strangers[0]!r}.")
    here = machine()
    for phase in phases or ("tabulate", "relations", *PHASES):
        known = {"tabulate": list(ROAMING), "relations": ["million"]}.get(phase)
        known = known or [*INSTANCES, *(folder(data) if data else {})]
        records = []
        for name in [name for name in known if not names or name in names]:
            for seed in seeds:
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as fresh:
                    record = fresh.submit(measure, phase, name, seed, data, rows).result()
                click.echo("  ".join(f"{key} {value}" for key, value in record.items()))
                records.append(record)
        if records:
            path = out / f"{phase}.csv"
            write_csv(path, records, here)
            click.echo(f"{path} written")


if __name__ == "__main__":
    main()
