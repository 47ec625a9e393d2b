"""Our audit beside the peers'. Run `python -m benchmarks.peers --help`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from benchmarks.instances import INSTANCES, folder
from benchmarks.patterns import sequential
from benchmarks.peers.compare import SMALL, compare
from benchmarks.peers.environment import VERSIONS, environment
from benchmarks.peers.exchange import comparable, write
from benchmarks.record import RESULTS, machine, markdown, write_csv
from discreet.errors import DiscreetError
from discreet.problem import Problem

GENERATED = ("flat2d_50", "flat2d_100", "hier2d_1k", "flat3d_10")


def instances(data: Path | None, most: int, seed: int) -> Iterator[tuple[str, Problem]]:
    """Generated tables, and the JJ files that are not too large."""
    yield from ((name, INSTANCES[name].make(seed)) for name in GENERATED)
    for name, instance in (folder(data) if data else {}).items():
        problem = instance.make(seed)
        if len(problem) <= most:
            yield name, problem


def readable(record: dict[str, Any]) -> dict[str, str]:
    row = {name: f"{record[name]:,}" for name in ("cells", "primaries", "hidden")}
    row = {"instance": record["instance"], **row, "ours s": f"{record['ours_s']:.3g}"}
    for peer in VERSIONS:
        spent = record[f"{peer}_s"]
        row[f"{peer} s"] = "failed" if spent is None else f"{spent:.3g} ({spent / record['ours_s']:,.1f}×)"
        row[f"{peer} agrees"] = "–" if spent is None else f"{record[f'{peer}_agree']}/{record['hidden']}"
    return row


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option("--most", type=int, default=6_000, show_default=True, help="Leave out JJ files of more cells.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--timeout", type=float, default=300.0, show_default=True, help="Seconds for each peer and table.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(data: Path | None, most: int, seed: int, timeout: float, out: Path) -> None:
    """Compare audits. Installs the peers into an environment of their own on first use."""
    here, python, records = machine(), environment(), []
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        small = SMALL.make(seed)
        write(comparable(small, sequential(small, seed)), scratch / SMALL.name)
        for name, problem in instances(data, most, seed):
            try:
                record = compare(name, problem, seed, python, scratch, timeout)
            except DiscreetError as error:
                click.echo(f"{name}: left out, {error}")
                continue
            click.echo("  ".join(f"{key} {value}" for key, value in record.items()))
            records.append(record)
    write_csv(out / "audit-peers.csv", records, here)
    click.echo("\n" + markdown([readable(record) for record in records]))
    for record in records:
        for peer in VERSIONS:
            if record[f"{peer}_error"]:
                click.echo(f"{record['instance']}, {peer}: {record[f'{peer}_error']}")


if __name__ == "__main__":
    main()
