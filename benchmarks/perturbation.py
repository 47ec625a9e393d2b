"""The methods perturb and adjust: cost, bound and time. Run `python -m benchmarks.perturbation --help`."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks.alone import alone
from benchmarks.instances import Instance, folder, shaped
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect, with_options

MADE = {
    made.name: made
    for made in (
        shaped("h3_10k", (3, 7), (3, 7), (3, 6)),
        shaped("h3_100k", (5, 9), (5, 9), (5, 8)),
        shaped("flat2d_300", (300,), (300,)),
    )
}
WAYS: Mapping[str, tuple[str, dict[str, str]]] = {
    "perturb": ("perturb", {}),
    "adjust": ("adjust", {}),
    "adjust-heuristic": ("adjust", {"senses": "heuristic"}),
    "adjust-squares": ("adjust", {"senses": "heuristic", "distance": "L2"}),
}
COLUMNS = (
    *("instance", "way", "limit_s", "cells", "primaries", "status", "told", "changed", "cost", "bound", "gap"),
    *("rounds", "cuts", "cpu_s", "wall_s", "exposed", "audit_s"),
)


def instances(data: Path | None) -> dict[str, Instance]:
    return {**(folder(data) if data else {}), **MADE}


def measured(name: str, way: str, data: Path | None, seconds: float, check: bool) -> dict[str, Any]:
    """One table by one method, and the audit of the result."""
    problem = instances(data)[name].make(1)
    method, options = WAYS[way]
    record: dict[str, Any] = {"cells": len(problem), "primaries": len(problem.primaries)}
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = protect(problem, with_options(method, **options), time_limit=seconds)
    except NoSafePatternError as error:
        found, record["status"] = None, f"none: {error}"[:80]
    record |= {"cpu_s": round(time.process_time() - cpu, 2), "wall_s": round(time.perf_counter() - wall, 2)}
    if found is None:
        return record
    report = found.report
    record |= {"status": report.status, "told": report.note, **report.work}
    record |= {"cost": report.cost, "bound": report.bound, "gap": report.gap}
    if check:
        cpu = time.process_time()
        record["exposed"] = len(audit(problem, found, intervals=False).exposed)
        record["audit_s"] = round(time.process_time() - cpu, 2)
    return record


def readable(line: Mapping[str, str]) -> dict[str, str]:
    number = {"cells", "primaries", "changed", "cuts"}
    shown = {name: f"{int(line[name]):,}" if name in number and line[name] else line[name] for name in COLUMNS}
    for name in ("cost", "bound"):
        shown[name] = f"{float(line[name]):,.6g}" if line[name] else "–"
    shown["gap"] = f"{100 * float(line['gap']):.2f} %" if line["gap"] else "–"
    return shown


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option("--instance", "names", multiple=True, help="Default: all.")
@click.option("--way", "ways", multiple=True, type=click.Choice(list(WAYS)), help="Default: all.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option("--audit/--no-audit", "check", default=True, help="Audit results once more.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    data: Path | None, names: tuple[str, ...], ways: tuple[str, ...], time_limit: float, check: bool, out: Path
) -> None:
    """Measure. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path = out / "perturbation.csv"
    there = instances(data)
    strange = [name for name in names if name not in there]
    if strange:
        raise click.UsageError(f"There is no instance {strange[0]!r}. JJ files are found by --data.")
    for name in names or there:
        for way in ways or WAYS:
            here = machine()
            record = alone(measured, name, way, data, time_limit, check) or {"status": "ended"}
            record = {"instance": name, "way": way, "limit_s": time_limit, **record}
            line = {column: record.get(column, "") for column in COLUMNS}
            line = {column: "" if entry is None else entry for column, entry in line.items()}
            click.echo("  ".join(f"{key} {value}" for key, value in line.items() if value != ""))
            update_csv(path, line | here, key=("instance", "way"))
    lines = read_csv(path)
    click.echo("\n" + markdown([readable(line) for line in lines]))
    exposed = [line["instance"] for line in lines if line["exposed"] not in ("", "0")]
    if exposed:
        raise click.ClickException(f"NOT SAFE: {', '.join(exposed)}.")


if __name__ == "__main__":
    main()
