"""Tables of counts: how long perturbing and rounding take, and how far totals move. Run `python -m benchmarks.counts --help`."""

from __future__ import annotations

import resource
import time
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone, cpu_seconds
from benchmarks.instances import filled, tree
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.data.record_keys import N_KEYS
from discreet.methods import protect
from discreet.methods.counts.cell_key import CellKey
from discreet.methods.counts.small_counts import SmallCounts
from discreet.problem import Problem, Status

SHAPES = {
    "hier2d_10k": [(10, 10), (10, 10)],
    "hier3d_100k": [(5, 10), (5, 10), (4, 10)],
    "flat3d_1M": [(100,), (100,), (100,)],
    "hier3d_1M": [(10, 10), (10, 10), (10, 10)],
}
METHODS = {
    "small-counts 3": SmallCounts(),
    "small-counts 5": SmallCounts(base=5),
    "cell-key": CellKey(announced=6),
    "cell-key restored": CellKey(announced=6, restore=True),
}
BELOW, WIDTH = 3, 2  # counts below this are sensitive, and their intervals must be so wide
MOST_AUDITED = 20_000


def problem(name: str, seed: int) -> Problem:
    """Counts of skewed sizes, a third of the finest cells empty, with sums of record keys as if they had been tabulated."""
    rng = np.random.default_rng(seed)
    trees = [tree(widths, letter) for widths, letter in zip(SHAPES[name], "ABC", strict=False)]
    shape = [int(h.is_leaf.sum()) for h in trees]
    inner = rng.poisson(np.exp(rng.normal(0.3, 1.3, shape))).astype(float)
    table = filled(trees, inner)
    keys = rng.integers(0, N_KEYS, shape) * (inner > 0)
    sums = filled(trees, np.where(keys > 0, keys, (inner > 0).astype(int)).astype(float)).value
    table = table.with_columns(extra={"key": sums})
    n, small = len(table), table.value < BELOW
    zero, far = np.zeros(n), np.full(n, np.inf)
    status = np.where(small, Status.PRIMARY, Status.FREE).astype(np.int8)
    return Problem(table, status, np.ones(n), zero, zero, np.where(small, float(WIDTH), 0.0), zero, far)


def measured(name: str, method: str, seed: int, seconds: float | None) -> dict[str, Any]:
    """To be run alone."""
    given = problem(name, seed)
    protect(problem("hier2d_10k", seed), SmallCounts(), time_limit=0.0)  # compiles
    base = given.table.is_base
    begun, cpu = time.perf_counter(), cpu_seconds()
    found = protect(given, METHODS[method], seed=seed, time_limit=seconds)
    wall, cpu = time.perf_counter() - begun, cpu_seconds() - cpu
    begun = time.perf_counter()
    safe = audit(given, found, intervals=False).passed if len(given) <= MOST_AUDITED else None
    change = np.abs(found.published - given.table.value)
    gaps = np.abs(given.table.relations @ found.published)
    return {
        "cells": len(given),
        "finest": int(base.sum()),
        "small": int((base & (given.table.value < getattr(METHODS[method], "base", BELOW))).sum()),
        "wall_s": round(wall, 1),
        "cpu_s": round(cpu, 1),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "finest_mean": round(float(change[base].mean()), 2),
        "totals_mean": round(float(change[~base].mean()), 2),
        "totals_rms": round(float(np.sqrt((change[~base] ** 2).mean())), 2),
        "totals_max": int(change[~base].max()),
        "largest_gap": int(gaps.max()),
        "safe": safe,
        "audit_s": round(time.perf_counter() - begun, 1) if safe is not None else None,
    }


@click.command()
@click.option("--table", "tables", multiple=True, type=click.Choice(list(SHAPES)), help="Default: all.")
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), help="Default: all.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds for each; default: none.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(tables: tuple[str, ...], methods: tuple[str, ...], seed: int, time_limit: float | None, out: Path) -> None:
    """Perturb and round generated tables of counts. Additivity is restored only in the smallest, unless it is asked for."""
    path, here = out / "counts.csv", machine()
    for name in tables or SHAPES:
        for method in methods or [m for m in METHODS if "restored" not in m or name == "hier2d_10k"]:
            asked = {"table": name, "method": method, "seed": seed}
            figures = alone(measured, name, method, seed, time_limit)
            assert figures is not None
            update_csv(path, asked | figures | here, key=list(asked))
    click.echo(markdown([{key: text for key, text in line.items() if key not in here} for line in read_csv(path)]))


if __name__ == "__main__":
    main()
