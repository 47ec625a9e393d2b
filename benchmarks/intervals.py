"""The method intervals: cost, bound, gap and time. Run `python -m benchmarks.intervals --help`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.alone import alone
from benchmarks.instances import INSTANCES, folder, shaped
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.intervals.intervals import Intervals
from discreet.problem import Problem

LARGE = shaped("hier3d_100k", (5, 6), (5, 6), (7, 10))
MADE = {**INSTANCES, LARGE.name: LARGE}
COLUMNS = (
    *("instance", "seed", "limit_s", "cells", "primaries", "intervals", "status", "safe", "cost"),
    *("bound", "gap", "cpu_s", "wall_s", "demands", "cuts", "rounds", "programs"),
)


def problem_of(name: str, seed: int, data: Path | None) -> Problem:
    """A generated table, or a JJ file, which has no seed (0)."""
    if name in MADE:
        return MADE[name].make(seed)
    assert data is not None
    return folder(data)[name].make(seed)


def measured(name: str, seed: int, data: Path | None, seconds: float) -> dict[str, Any]:
    """To be run alone. The gap is that of the program, before ends are rounded outward."""
    problem = problem_of(name, seed, data)
    size = {"cells": len(problem), "primaries": len(problem.primaries)}
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = protect(problem, Intervals(rounded=False), time_limit=seconds)
    except NoSafePatternError:
        return {**size, "status": "none in time"}
    spent = {"cpu_s": round(time.process_time() - cpu, 3), "wall_s": round(time.perf_counter() - wall, 3)}
    report = found.report
    return {
        **size,
        **spent,
        **report.work,
        "intervals": report.n_primary + report.n_secondary,
        "status": report.status,
        "safe": audit(problem, found, intervals=False).passed,
        "cost": report.cost,
        "bound": report.bound,
        "gap": report.gap,
    }


def table(lines: Sequence[dict[str, str]]) -> str:
    """Markdown, small problems first."""
    ordered = sorted(lines, key=lambda line: (int(line["cells"]), line["instance"]))
    return markdown([readable(line) for line in ordered])


def readable(line: dict[str, str]) -> dict[str, str]:
    seed = f", seed {line['seed']}" if line["seed"] != "0" else ""

    def amount(text: str) -> str:
        return "–" if not text else f"{float(text):,.0f}" if float(text) >= 1000 else f"{float(text):.4g}"

    return {
        "instance": line["instance"] + seed,
        "cells": f"{int(line['cells']):,}",
        "primaries": f"{int(line['primaries']):,}",
        "intervals": amount(line["intervals"]),
        "status": line["status"].replace("_", " ") + ("" if line["safe"] != "False" else ", **NOT SAFE**"),
        "cost": amount(line["cost"]),
        "bound": amount(line["bound"]),
        "gap": "–" if not line["gap"] else f"{100 * float(line['gap']):.3f} %",
        "rounds": line["rounds"] or "–",
        "cuts": line["cuts"] or "–",
        "CPU s": "–" if not line["cpu_s"] else f"{float(line['cpu_s']):,.1f}",
        "limit s": f"{float(line['limit_s']):,.0f}",
        "commit": line["commit"],
        "date": line["date"],
    }


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option("--instance", "names", multiple=True, help="Generated ones or JJ files. Default: all JJ files.")
@click.option("--seed", type=click.IntRange(1), default=1, show_default=True, help="Of generated tables.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=300.0, show_default=True)
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; print the table of what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(data: Path | None, names: tuple[str, ...], seed: int, time_limit: float, only_table: bool, out: Path) -> None:
    """Measure the method intervals. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path, there = out / "intervals.csv", folder(data) if data else {}
    unknown = [name for name in names if name not in MADE and name not in there]
    if unknown:
        raise click.UsageError(f"There is no instance {unknown[0]!r}. Say where JJ files are by --data.")
    for name in () if only_table else names or there:
        number, here = seed if name in MADE else 0, machine()
        found = alone(measured, name, number, data, time_limit)
        record = {"instance": name, "seed": number, "limit_s": time_limit, **(found or {})}
        line = {column: record.get(column, "") for column in COLUMNS}
        click.echo("  ".join(f"{key} {value}" for key, value in line.items() if value != ""))
        update_csv(path, line | here, key=("instance", "seed"))
    lines = read_csv(path)
    if not lines:
        raise click.UsageError("Nothing was measured. Say where JJ files are by --data, or name an instance.")
    click.echo("\n" + table(lines))
    if any(line["safe"] == "False" for line in lines):
        raise click.ClickException("NOT SAFE.")


if __name__ == "__main__":
    main()
