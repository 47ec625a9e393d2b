"""The auditor against one linprog per bound, and how its time grows. Run `python -m benchmarks.audit --help`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import growth
from benchmarks.alone import alone
from benchmarks.baseline import Bound
from benchmarks.patterns import AUDITED, PATTERNS
from benchmarks.record import RESULTS, machine, markdown, write_csv
from benchmarks.timing import Timing, baseline, intervals_of, size, timed
from discreet.arrays import BoolArray, FloatArray

CLOSE = 1e-6  # bounds may differ by this share of the bound or the value, whichever is larger


@dataclass(frozen=True)
class Target:
    """What is wanted: times as fast as linprog for verdict and intervals, or a verdict within so many seconds."""

    verdict: float | None = None
    intervals: float | None = None
    seconds: float | None = None


TARGETS = {
    "flat2d_200": Target(verdict=10_000, intervals=1_000),
    "flat3d_20": Target(verdict=80, intervals=40),
    "hier3d_10k": Target(verdict=150, intervals=60),
    "hier3d_50k": Target(seconds=20),
    "flat2d_500": Target(seconds=1),
    "flat2d_500_half_pc": Target(seconds=5),
}


def against_linprog(name: str, seed: int, cap: float) -> dict[str, Any]:
    """All figures of one pattern, each measured in a process of its own."""
    what = alone(size, name, seed)
    bounds = alone(baseline, name, seed)
    verdict = alone(timed, name, seed, False, cap)
    intervals = alone(timed, name, seed, True, cap)
    assert what is not None
    assert bounds is not None
    spent = np.array([bound.cpu_s for bound in bounds])
    estimate = float(spent.mean()) * 2 * int(what["primaries"])
    return {
        **what,
        "exposed": verdict and verdict.exposed,
        "linprog_sample": len(spent),
        "linprog_mean_s": round(float(spent.mean()), 4),
        "linprog_spread": round(float(spent.std() / spent.mean()), 2),
        "linprog_all_s": round(estimate, 1),
        "verdict_s": verdict and round(verdict.cpu_s, 4),
        "verdict_ratio": verdict and round(estimate / verdict.cpu_s, 1),
        "intervals_s": intervals and round(intervals.cpu_s, 4),
        "intervals_ratio": intervals and round(estimate / intervals.cpu_s, 1),
        "agree": agreeing(name, seed, cap, bounds, intervals),
    }


def agreeing(name: str, seed: int, cap: float, bounds: list[Bound], intervals: Timing | None) -> int | None:
    """How many of linprog's bounds the audit finds, too; None if even those of the sample take too long."""
    problem = PATTERNS[name].instance.make(seed)
    cells = np.unique([bound.cell for bound in bounds]) if intervals is None else problem.primaries
    found = intervals or alone(intervals_of, name, seed, cells.tolist(), cap)
    if found is None:
        return None
    at = np.searchsorted(cells, [bound.cell for bound in bounds])
    ours = np.where([bound.upper for bound in bounds], found.upper[at], found.lower[at])
    theirs = np.array([bound.value for bound in bounds])
    return int(same(ours, theirs, problem.table.value[cells[at]]).sum())


def same(one: FloatArray, other: FloatArray, value: FloatArray) -> BoolArray:
    """Whether bounds agree, endless ones included."""
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= CLOSE * np.maximum(np.maximum(np.abs(one), np.abs(other)), np.abs(value))
    return np.asarray(near & np.isfinite(one) | (one == other))


def readable(record: dict[str, Any], cap: float) -> dict[str, str]:
    """One line of the printed table: seconds, ratios, and what is wanted of them."""
    target = TARGETS.get(record["instance"], Target())

    def seconds(mode: str) -> str:
        spent = record[f"{mode}_s"]
        return f"> {cap:.0f}" if spent is None else f"{spent:.3g}"

    def ratio(mode: str) -> str:
        return "–" if record[f"{mode}_ratio"] is None else f"{record[f'{mode}_ratio']:,.0f}×"

    def wanted(least: float | None, mode: str) -> str:
        if least is not None:
            return f"≥ {least:,.0f}× {met((record[f'{mode}_ratio'] or 0) >= least)}"
        if mode == "verdict" and target.seconds is not None:
            return f"≤ {target.seconds:g} s {met((record['verdict_s'] or cap) <= target.seconds)}"
        return ""

    agree = "–" if record["agree"] is None else f"{record['agree']}/{record['linprog_sample']}"
    return {
        "instance": record["instance"],
        "cells": f"{record['cells']:,}",
        "primaries": f"{record['primaries']:,}",
        "hidden": f"{record['hidden']:,}",
        "linprog s": f"{record['linprog_all_s']:,.0f}",
        "of one": f"{record['linprog_mean_s']:.3g} ± {record['linprog_spread']:.0%}, n = {record['linprog_sample']}",
        "verdict s": seconds("verdict"),
        "ratio": ratio("verdict"),
        "wanted": wanted(target.verdict, "verdict"),
        "intervals s": seconds("intervals"),
        "ratio ": ratio("intervals"),
        "wanted ": wanted(target.intervals, "intervals"),
        "agree": agree,
        "exposed": "–" if record["exposed"] is None else str(record["exposed"]),
    }


def met(is_met: bool) -> str:
    return "met" if is_met else "missed"


@click.command()
@click.option("--part", "parts", multiple=True, type=click.Choice(["linprog", "growth"]), help="Default: both.")
@click.option("--instance", "names", multiple=True, type=click.Choice(list(AUDITED)), help="Default: all.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--cap", type=float, default=120.0, show_default=True, help="Most CPU seconds of one audit.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV files.")
@click.option("--plot", type=click.Path(path_type=Path), default=growth.PLOT, help="The picture of the growth.")
def main(parts: tuple[str, ...], names: tuple[str, ...], seed: int, cap: float, out: Path, plot: Path) -> None:
    """Measure the audit. Patterns are made first, where they are not on disk; that may take minutes."""
    here = machine()
    if not parts or "linprog" in parts:
        records = []
        for name in names or AUDITED:
            records.append(against_linprog(name, seed, cap))
            click.echo("  ".join(f"{key} {value}" for key, value in records[-1].items()))
        write_csv(out / "audit-linprog.csv", records, here)
        click.echo("\n" + markdown([readable(record, cap) for record in records]) + "\n")
    if not parts or "growth" in parts:
        records = growth.measure(seed, cap, click.echo)
        write_csv(out / "audit-growth.csv", records, here)
        growth.draw(records, plot)
        click.echo("\n" + markdown([growth.readable(record, cap) for record in records]) + "\n")


if __name__ == "__main__":
    main()
