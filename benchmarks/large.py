"""How time and memory of a protection grow with the table. Run `python -m benchmarks.large --help`."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone, cpu_seconds
from benchmarks.growth import draw
from benchmarks.instances import shaped
from benchmarks.patterns import GROWTH
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.executors import spread
from discreet.methods import SUPPRESSION, protect
from discreet.problem import Status

TABLES = {
    instance.name: instance
    for instance in (
        *GROWTH["flat2d"],
        *GROWTH["hier3d"][:-1],
        shaped("hier3d_grow_250k", (5, 8), (6, 8), (6, 16)),
        GROWTH["hier3d"][-1],
    )
}


def measured(name: str, seed: int, method: str, workers: int, seconds: float | None) -> dict[str, Any]:
    """To be run alone: protected and audited, by the clock, with the memory of all processes at their largest."""
    problem = TABLES[name].make(seed)
    begun, cpu = time.perf_counter(), cpu_seconds()
    with spread(workers) as executor:
        found = protect(problem, method, seed=seed, time_limit=seconds, executor=executor)
        protected = time.perf_counter()
        seen = audit(problem, found, intervals=False, executor=executor)
    audited = time.perf_counter()
    here, there = (resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "cells": len(problem),
        "primaries": len(problem.primaries),
        "secondaries": found.report.n_secondary,
        "cost": float(problem.cost[found.suppressed & (problem.status == Status.FREE)].sum()),
        "status": found.report.status,
        "safe": seen.passed,
        "protect_s": round(protected - begun, 1),
        "audit_s": round(audited - protected, 1),
        "cpu_s": round(cpu_seconds() - cpu, 1),
        "peak_mb": round(here + there * (workers if workers > 1 else 0)),  # the children's is that of the largest
    }


def drawn(line: dict[str, str]) -> dict[str, Any]:
    """A line of the CSV file as numbers for a plot."""
    seconds = {name: float(line[name]) for name in ("protect_s", "audit_s")}
    return {"series": line["table"].split("_")[0], "cells": int(line["cells"]), **seconds}


@click.command()
@click.option("--instance", "names", multiple=True, type=click.Choice(list(TABLES)), help="Default: all.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--method", type=click.Choice(list(SUPPRESSION)), default="kelly", show_default=True)
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True)
@click.option(
    "--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds for the protection; default: none."
)
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw what was measured, e.g. growth.svg."
)
@click.option("--table", "only_print", is_flag=True, help="Measure nothing; print what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    names: tuple[str, ...],
    seed: int,
    method: str,
    workers: int,
    time_limit: float | None,
    plot: Path | None,
    only_print: bool,
    out: Path,
) -> None:
    """Protect and audit generated tables. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path, here = out / "large.csv", machine()
    for name in () if only_print else names or TABLES:
        asked = {"table": name, "seed": seed, "method": method, "workers": workers, "limit_s": time_limit}
        figures = alone(measured, *asked.values())
        assert figures is not None
        update_csv(path, asked | figures | here, key=["table", "seed", "method", "workers"])
    lines = [{key: text for key, text in line.items() if key not in here} for line in read_csv(path)]
    lines.sort(key=lambda line: (line["table"].split("_")[0], int(line["cells"])))
    click.echo(markdown(lines))
    if plot is not None:
        draw([drawn(line) for line in lines], plot, ("protect", "audit"), "seconds by the clock")
    if not np.all([line["safe"] == "True" for line in lines]):
        raise click.ClickException("NOT SAFE.")


if __name__ == "__main__":
    main()
