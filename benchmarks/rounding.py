"""Controlled rounding: deviation, bound and time. Run `python -m benchmarks.rounding --help`."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone
from benchmarks.instances import Instance, folder, shaped
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect, with_options
from discreet.problem import Problem, Status
from discreet.testing import cross_table, pose

LEVEL = 3.0  # width that nobody may know a sensitive cell more closely than


@dataclass(frozen=True)
class Task:
    """An instance, the base to round it to, and the seconds it may take."""

    name: str
    base: float
    seconds: float
    made: Instance | None = None


TASKS = {
    task.name: task
    for task in [
        Task("count2d_100", 5, 60, shaped("count2d_100", (100,), (100,), counts=True)),
        Task("count2d_1000", 5, 600, shaped("count2d_1000", (1000,), (1000,), counts=True)),
        Task("count2d_hier", 5, 60, shaped("count2d_hier", (6, 5, 4), (40,), counts=True)),
        Task("count3d_3k", 5, 120, shaped("count3d_3k", (3, 4), (3, 4), (12,), counts=True)),
        Task("count3d_10k", 5, 300, shaped("count3d_10k", (4, 4), (4, 4), (4, 5), counts=True)),
        Task("count3d_50k", 5, 600, shaped("count3d_50k", (5, 6), (5, 6), (5, 8), counts=True)),
        *(Task(name, 5, 120) for name in ("dale", "table7", "table1", "table3", "hier13", "jjtabeltest3", "h3_5k")),
    ]
}
COLUMNS = (
    *("instance", "cells", "primaries", "base", "limit_s", "status", "note", "under", "deviation", "bound", "gap"),
    *("nearest", "cuts", "cpu_s", "wall_s"),
)


def posed(problem: Problem) -> Problem:
    """The same cells sensitive as in the instance, but to a width that suits rounding; all others may be rounded."""
    sensitive, nothing = problem.status == Status.PRIMARY, np.zeros(len(problem))
    status = np.where(sensitive, Status.PRIMARY, Status.FREE).astype(np.int8)
    return problem.with_columns(
        status=status, lower=nothing, upper=nothing, sliding=np.where(sensitive, LEVEL, 0.0), others=()
    )


def measured(name: str, data: Path | None, seconds: float, relax: bool) -> dict[str, Any]:
    task = TASKS[name]
    small = pose(cross_table("ab", "cd", [[7, 13], [4, 9]]), {"a × c": 1.0})
    protect(small, "round")  # kernels are compiled on first use
    instance = task.made or folder(data or Path())[name]
    problem = posed(instance.make(1))
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = protect(problem, with_options("round", base=task.base, relax=relax), time_limit=seconds)
    except NoSafePatternError as error:
        found, reason = None, str(error).split(":")[0]
    spent = {"cpu_s": round(time.process_time() - cpu, 2), "wall_s": round(time.perf_counter() - wall, 2)}
    size = {"cells": len(problem), "primaries": len(problem.primaries), "base": task.base}
    if found is None:
        return {**size, "status": reason, **spent}
    report, part = found.report, problem.table.value / task.base % 1
    return {
        **size,
        "status": report.status,
        "note": report.note,
        "under": int((~audit(problem, found, intervals=False).safe).sum()),
        "deviation": round(report.cost, 2),
        "bound": round(report.bound or 0.0, 2),
        "gap": round(report.gap or 0.0, 5),
        "nearest": round(float((np.minimum(part, 1 - part) * task.base).sum()), 2),
        "cuts": report.work["cuts"],
        **spent,
    }


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option("--instance", "names", multiple=True, type=click.Choice(list(TASKS)), help="Default: all there are.")
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds; default: each instance's own.")
@click.option("--relax", is_flag=True, help="Allow more steps where there is no zero-restricted rounding.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(data: Path | None, names: tuple[str, ...], time_limit: float | None, relax: bool, out: Path) -> None:
    """Measure the method round. `nearest` is what rounding each cell to the nearest multiple would deviate, not additive."""
    path, there = out / "rounding.csv", folder(data) if data else {}
    for task in [TASKS[name] for name in names or TASKS]:
        if task.made is None and task.name not in there:
            if names:
                raise click.UsageError(f"There is no JJ file {task.name!r}. Say where it is by --data.")
            continue
        limit = time_limit or task.seconds
        found = alone(measured, task.name, data, limit, relax) or {"status": "ended"}
        record = {column: {"instance": task.name, "limit_s": limit, **found}.get(column, "") for column in COLUMNS}
        click.echo("  ".join(f"{key} {value}" for key, value in record.items() if value != ""))
        update_csv(path, record | machine(), key=("instance",))
    click.echo("\n" + markdown([{column: line[column] for column in COLUMNS} for line in read_csv(path)]))


if __name__ == "__main__":
    main()
