"""The method intervals: cost, bound, gap and time. Run `python -m benchmarks.intervals --help`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone
from benchmarks.instances import INSTANCES, folder, shaped
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.arrays import FloatArray
from discreet.audit import audit
from discreet.data.table import digits_of
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.methods.intervals.intervals import Intervals
from discreet.problem import Problem

CLOSE = 0.01  # of a value: a middle that is off by no more has hit it
LARGE = shaped("hier3d_100k", (5, 6), (5, 6), (7, 10))
MADE = {**INSTANCES, LARGE.name: LARGE}
COLUMNS = (
    *("instance", "seed", "limit_s", "cells", "primaries", "intervals", "status", "safe", "cost"),
    *("bound", "gap", "cpu_s", "wall_s", "requirements", "cuts", "rounds", "programs"),
)


PREMIUM = (
    *("instance", "seed", "limit_s", "cells", "primaries"),
    *(
        f"{way}_{what}"
        for way in ("exact", "drawn")
        for what in ("status", "cost", "width", "intervals", "middle", "chance", "cpu_s")
    ),
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
        found = protect(problem, Intervals(rounded=False, exact=True), time_limit=seconds)
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


def premium(name: str, seed: int, data: Path | None, seconds: float) -> dict[str, Any]:
    """To be run alone: what unpredictable positions cost, in width and in cost, against the narrowest intervals."""
    problem = problem_of(name, seed, data)
    line: dict[str, Any] = {"cells": len(problem), "primaries": len(problem.primaries)}
    at, value = problem.primaries, problem.table.value
    for way, exact in (("exact", True), ("drawn", False)):
        cpu = time.process_time()
        try:
            found = protect(problem, Intervals(exact=exact), time_limit=seconds)
        except NoSafePatternError:
            line[f"{way}_status"] = "none in time"
            continue
        wide = (found.upper - found.lower)[at]
        middle = np.abs((found.lower + found.upper)[at] / 2 - value[at]) <= CLOSE * np.abs(value[at])
        line |= {
            f"{way}_status": found.report.status,
            f"{way}_cost": found.report.cost,
            f"{way}_width": float(np.median(wide / np.maximum(np.abs(value[at]), 1e-9))),
            f"{way}_intervals": found.report.n_primary + found.report.n_secondary,
            f"{way}_middle": float(middle.mean()),
            f"{way}_chance": chance_of_the_middle(problem, found.lower[at], found.upper[at]),
            f"{way}_cpu_s": round(time.process_time() - cpu, 1),
        }
    return line


def chance_of_the_middle(problem: Problem, lower: FloatArray, upper: FloatArray) -> float:
    """How often the middle would be as close if values were uniform in their intervals, with as many digits as the table."""
    digits = digits_of(problem.table.value)
    bounded = np.isfinite(upper - lower) & (lower < upper)  # there is no middle of the others, or it is the value
    sure = float((lower == upper).sum())
    shares, (lower, upper) = len(lower), (lower[bounded], upper[bounded])
    middle = (lower + upper) / 2
    ends = np.sort([middle / (1 + CLOSE), middle / (1 - CLOSE)], axis=0)
    if digits is None:
        close, wide = np.minimum(ends[1], upper) - np.maximum(ends[0], lower), upper - lower
    else:
        scale, hair = 10.0**digits, 1e-6
        first, last = (
            np.ceil(np.maximum(ends[0], lower) * scale - hair),
            np.floor(np.minimum(ends[1], upper) * scale + hair),
        )
        close, wide = last - first + 1, np.floor(upper * scale + hair) - np.ceil(lower * scale - hair) + 1
    return float((np.maximum(close, 0.0) / wide).sum() + sure) / max(shares, 1)


def premiums(lines: Sequence[dict[str, str]]) -> str:
    """Markdown: drawn intervals beside the narrowest, small problems first."""

    def number(line: dict[str, str], column: str, form: str) -> str:
        return format(float(line[column]), form) if line.get(column) else "–"

    def times(line: dict[str, str], column: str) -> str:
        drawn, exact = line.get(f"drawn_{column}"), line.get(f"exact_{column}")
        return f"{float(drawn) / float(exact):.2f}" if drawn and exact and float(exact) else "–"

    ordered = sorted(lines, key=lambda line: (int(line["cells"]), line["instance"]))
    return markdown(
        [
            {
                "instance": line["instance"],
                "cells": f"{int(line['cells']):,}",
                "primaries": f"{int(line['primaries']):,}",
                "exact": line["exact_status"].replace("_", " "),
                "drawn": line["drawn_status"].replace("_", " "),
                "width, times": times(line, "width"),
                "cost, times": times(line, "cost"),
                "intervals": f"{number(line, 'exact_intervals', ',.0f')} → {number(line, 'drawn_intervals', ',.0f')}",
                "in the middle": f"{number(line, 'exact_middle', '.0%')} → {number(line, 'drawn_middle', '.0%')}",
                "by chance": number(line, "drawn_chance", ".0%"),
                "CPU s": f"{number(line, 'exact_cpu_s', ',.1f')} → {number(line, 'drawn_cpu_s', ',.1f')}",
                "limit s": f"{float(line['limit_s']):,.0f}",
                "commit": line["commit"],
            }
            for line in ordered
        ]
    )


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
@click.option("--premium", "compared", is_flag=True, help="Drawn intervals beside the narrowest ones.")
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; print the table of what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    data: Path | None,
    names: tuple[str, ...],
    seed: int,
    time_limit: float,
    compared: bool,
    only_table: bool,
    out: Path,
) -> None:
    """Measure the method intervals. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path, there = out / ("intervals-premium.csv" if compared else "intervals.csv"), folder(data) if data else {}
    unknown = [name for name in names if name not in MADE and name not in there]
    if unknown:
        raise click.UsageError(f"There is no instance {unknown[0]!r}. Say where JJ files are by --data.")
    for name in () if only_table else names or there:
        number, here = seed if name in MADE else 0, machine()
        found = alone(premium if compared else measured, name, number, data, time_limit)
        record = {"instance": name, "seed": number, "limit_s": time_limit, **(found or {})}
        line = {column: record.get(column, "") for column in (PREMIUM if compared else COLUMNS)}
        click.echo("  ".join(f"{key} {value}" for key, value in line.items() if value != ""))
        update_csv(path, line | here, key=("instance", "seed"))
    lines = read_csv(path)
    if not lines:
        raise click.UsageError("Nothing was measured. Say where JJ files are by --data, or name an instance.")
    click.echo("\n" + (premiums(lines) if compared else table(lines)))
    if not compared and any(line["safe"] == "False" for line in lines):
        raise click.ClickException("NOT SAFE.")


if __name__ == "__main__":
    main()
