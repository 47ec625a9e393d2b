"""Many small tables as one job: does its time grow with their number? Run `python -m benchmarks.many --help`."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from benchmarks.alone import alone, cpu_seconds
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.jobs.job import read_job, run_job
from discreet.methods import SUPPRESSION

RECORDS = {2: 60, 3: 150}  # a table, by its dimensions
CODES = {"branch": ("ABCD", (0.4, 0.3, 0.2, 0.1)), "size": ("sml", (0.5, 0.3, 0.2)), "form": ("xy", (0.6, 0.4))}
STAGES = ("tabulated", "assessed", "protected", "audited", "written")
JOB = """
[data]
file = "records.csv"
response = "turnover"
contributor = "firm"

[dimensions.town]
separate = {separate}

{dimensions}

[rules]
sensitive = ["P(10)", "FREQ(3)"]

[protect]
method = "{method}"
workers = {workers}

[output]
formats = ["csv"]
"""


def write_job(folder: Path, tables: int, dimensions: int, linked: bool, method: str, workers: int) -> Path:
    """Records of towns, and the job that makes a small table for each; ``linked``: their total is published, too."""
    rng, rows = np.random.default_rng(1), tables * RECORDS[dimensions]
    names = list(CODES)[:dimensions]
    columns: dict[str, Any] = {"firm": np.arange(rows), "town": [f"T{t:05d}" for t in rng.integers(0, tables, rows)]}
    columns |= {name: rng.choice(list(CODES[name][0]), rows, p=CODES[name][1]) for name in names}
    columns["turnover"] = np.exp(rng.normal(5.0, 1.5, rows)).round().astype(np.int64)
    pd.DataFrame(columns).to_csv(folder / "records.csv", index=False)
    sections = "\n".join(f"[dimensions.{name}]" for name in names)
    path = folder / "job.toml"
    separate = str(not linked).lower()
    path.write_text(JOB.format(separate=separate, dimensions=sections, method=method, workers=workers))
    return path


def measured(tables: int, dimensions: int, linked: bool, method: str, workers: int) -> dict[str, Any]:
    """To be run alone: processor time from stage to stage, of this process and the workers."""
    spent: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        job = read_job(write_job(Path(place), tables, dimensions, linked, method, workers))
        wall, begun = time.perf_counter(), cpu_seconds()

        def say(text: str) -> None:
            spent[text.split()[0].rstrip(":")] = cpu_seconds() - begun

        result = run_job(job, say=say)
        say("written")
        wall = time.perf_counter() - wall
    ends = [0.0, *(spent[stage] for stage in STAGES)]
    return {
        "cells": len(result.problem),
        "primaries": result.protection.report.n_primary,
        "secondaries": result.protection.report.n_secondary,
        "safe": result.audit.passed,
        **{f"{stage}_s": round(ends[k + 1] - ends[k], 2) for k, stage in enumerate(STAGES)},
        "cpu_s": round(ends[-1], 2),
        "wall_s": round(wall, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


@click.command()
@click.option("--tables", "counts", multiple=True, type=click.IntRange(1), default=[100, 1000], show_default=True)
@click.option("--dimensions", type=click.IntRange(2, 3), default=2, show_default=True, help="Of each table.")
@click.option("--linked", is_flag=True, help="The total over all tables is published, too.")
@click.option("--method", type=click.Choice(list(SUPPRESSION)), default="kelly", show_default=True)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(counts: tuple[int, ...], dimensions: int, linked: bool, method: str, workers: int, out: Path) -> None:
    """Measure jobs of many small tables. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path, here = out / "many.csv", machine()
    for tables in counts:
        asked = {"tables": tables, "dimensions": dimensions, "linked": linked, "method": method, "workers": workers}
        figures = alone(measured, *asked.values())
        assert figures is not None
        update_csv(path, asked | figures | here, key=list(asked))
    lines = [{name: text for name, text in line.items() if name not in here} for line in read_csv(path)]
    click.echo(markdown(lines))
    if any(line["safe"] != "True" for line in lines):
        raise click.ClickException("NOT SAFE.")


if __name__ == "__main__":
    main()
