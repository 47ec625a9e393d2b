"""The method optimal: cost, bound and time, beside a peer if wanted. Run `python -m benchmarks.optimal --help`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone, limit
from benchmarks.instances import INSTANCES, Instance, folder, shaped
from benchmarks.peers.environment import environment
from benchmarks.peers.full_jj import GRACE, peer
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.audit import audit
from discreet.errors import NoSafePatternError
from discreet.methods import protect
from discreet.problem import Problem
from discreet.protection import Decision, Protection

WORK = ("requirements", "open", "cuts", "relaxations", "integer_programs")


@dataclass(frozen=True)
class Task:
    """An instance and the seconds it may take; generated ones (``made``) come in several seeds."""

    name: str
    seconds: float
    made: Instance | None = None
    asked: bool = False  # measured only when it is named
    seeds: int | None = None  # at most so many


def files(seconds: float, *names: str) -> list[Task]:
    return [Task(name, seconds) for name in names]


TASKS = {
    task.name: task
    for task in [
        *files(60, "example_2D", "small", "targus", "table8", "turnover_act_size", "h2_1k", "f2_50"),
        *files(300, "f3_10", "h2_5k", "h3_5k", "hier13x7x7d", "table7", "hier13", "hier13x13x13d", "table1"),
        Task("flat2d_100", 300, INSTANCES["flat2d_100"]),
        Task("flat2d_100_1pc", 300, INSTANCES["flat2d_100_1pc"]),
        Task("flat2d_200", 300, INSTANCES["flat2d_200"]),
        Task("flat2d_200_1pc", 300, shaped("flat2d_200_1pc", (200,), (200,), share=0.01)),
        Task("flat2d_500_4pc", 1800, shaped("flat2d_500_4pc", (500,), (500,), share=0.04), asked=True, seeds=1),
        Task(
            "flat2d_500_half_pc", 1800, shaped("flat2d_500_half_pc", (500,), (500,), share=0.005), asked=True, seeds=1
        ),
        Task("flat2d_10", 60, shaped("flat2d_10", (10,), (10,)), asked=True, seeds=1),  # to try this out
    ]
}
WARM_UP = (shaped("flat", (12,), (12,)), shaped("deep", (2, 3), (2, 3), (3,)))


# -- one measurement -------------------------------------------------------------------------------------------


def problem_of(name: str, seed: int, data: Path | None) -> Problem:
    """A generated table, or a JJ file, which has no seed (0)."""
    made = TASKS[name].made
    if made is not None:
        return made.make(seed)
    assert data is not None
    return folder(data)[name].make(seed)


def measured(name: str, seed: int, data: Path | None, seconds: float) -> dict[str, Any]:
    """To be run alone: it ends its process when the method goes far beyond its time."""
    for small in WARM_UP:  # kernels are compiled on first use, once a machine and version
        protect(small.make(1), "optimal", time_limit=20)
    problem = problem_of(name, seed, data)
    size = {"cells": len(problem), "primaries": len(problem.primaries)}
    limit(seconds + GRACE)
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        found = protect(problem, "optimal", seed=0, time_limit=seconds, gap=0.0)
    except NoSafePatternError:
        found = None
    spent = {"cpu_s": round(time.process_time() - cpu, 3), "wall_s": round(time.perf_counter() - wall, 3)}
    return {**size, **(figures(problem, found) if found else {"status": "no pattern"}), **spent}


def figures(problem: Problem, found: Protection) -> dict[str, Any]:
    """What the report says, with costs of the secondaries alone as well, and what the audit says."""
    report = found.report
    assert report.bound is not None
    cost = float(problem.cost[found.decision == Decision.SECONDARY].sum())
    bound = min(cost, max(0.0, cost - (report.cost - report.bound)))
    checked = audit(problem, found, intervals=False)
    return {
        **{name: report.work[name] for name in WORK},
        "status": report.status,
        "under": len(np.unique(checked.cell[~checked.safe])),
        "secondaries": report.n_secondary,
        "cost": cost,
        "bound": bound,
        "gap": report.gap,
        "gap_secondaries": (cost - bound) / cost if cost else 0.0,
    }


COLUMNS = (
    *("instance", "seed", "limit_s", "cells", "primaries", "requirements", "open", "status", "under", "secondaries"),
    *("cost", "bound", "gap", "gap_secondaries", "cpu_s", "wall_s", "cuts", "relaxations", "integer_programs"),
    *("peer_status", "peer_cost", "peer_s", "peer_wall_s", "peer_under"),
)


def compare(name: str, seed: int, data: Path | None, seconds: float, python: Path | None) -> dict[str, Any]:
    """One line: ours, and right after it the peer's."""
    ours = alone(measured, name, seed, data, seconds) or {"status": f"ended after {seconds + GRACE:.0f} s"}
    theirs = peer(problem_of(name, seed, data), python, seconds) if python else {}
    record = {"instance": name, "seed": seed, "limit_s": seconds, **ours, **theirs}
    return {column: record.get(column, "") for column in COLUMNS}


# -- the table -------------------------------------------------------------------------------------------------


def table(lines: Sequence[dict[str, str]]) -> str:
    """Markdown, in the order of the tasks; the peer has columns only if it was measured."""
    order = list(TASKS)
    known = [line for line in lines if line["instance"] in order]
    known.sort(key=lambda line: (order.index(line["instance"]), int(line["seed"])))
    with_peer = any(line["peer_status"] for line in known)
    return markdown([readable(line, with_peer) for line in known])


def readable(line: dict[str, str], with_peer: bool) -> dict[str, str]:
    seed = f", seed {line['seed']}" if line["seed"] != "0" else ""
    ours = {
        "instance": line["instance"] + seed,
        "cells": count(line["cells"]),
        "primaries": count(line["primaries"]),
        "requirements": count(line["requirements"]),
        "open": count(line["open"]),
        "status": line["status"].replace("_", " ")
        + (f", **NOT SAFE: {line['under']} exposed**" if line["under"] not in ("", "0") else ""),
        "cost": amount(line["cost"]),
        "bound": amount(line["bound"]),
        "gap": share(line["gap"]),
        "gap of secondaries": share(line["gap_secondaries"]),
        "CPU s": seconds_of(line["cpu_s"]),
        "wall s": seconds_of(line["wall_s"]),
        "cuts": count(line["cuts"]),
        "relaxations": count(line["relaxations"]),
        "integer programs": count(line["integer_programs"]),
    }
    theirs = {
        "peer": line["peer_status"].replace("_", " ") or "–",
        "peer cost": amount(line["peer_cost"]),
        "peer CPU s": seconds_of(line["peer_s"]),
        "peer under": count(line["peer_under"]),
    }
    return ours | (theirs if with_peer else {}) | {"commit": line["commit"], "date": line["date"]}


def count(text: str) -> str:
    return f"{int(text):,}" if text else "–"


def amount(text: str) -> str:
    return "–" if not text else f"{float(text):,.0f}" if float(text) >= 1000 else f"{float(text):.4g}"


def share(text: str) -> str:
    return "–" if not text else f"{100 * float(text):.2f} %" if float(text) else "0"


def seconds_of(text: str) -> str:
    return "–" if not text else f"{float(text):,.3g}" if float(text) < 100 else f"{float(text):,.0f}"


# -- the command -----------------------------------------------------------------------------------------------


def chosen(names: Sequence[str], data: Path | None, seeds: int) -> Iterator[tuple[Task, int]]:
    """What to measure; JJ files only if their folder is known."""
    there = folder(data) if data else {}
    for task in [TASKS[name] for name in names] or [task for task in TASKS.values() if not task.asked]:
        if task.made is not None:
            yield from ((task, seed) for seed in range(1, min(seeds, task.seeds or seeds) + 1))
        elif task.name in there:
            yield task, 0
        elif names:
            raise click.UsageError(f"There is no JJ file {task.name!r}. Say where it is by --data.")


@click.command()
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Folder with JJ files.")
@click.option(
    "--instance", "names", multiple=True, type=click.Choice(list(TASKS)), help="Default: all but the largest."
)
@click.option(
    "--seeds", type=click.IntRange(1), default=5, show_default=True, help="Generated tables: seeds 1 to this."
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds; default: each instance's own.")
@click.option("--peer", "with_peer", is_flag=True, help="Beside the optimal suppression of pytauargus.")
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; print the table of what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    data: Path | None,
    names: tuple[str, ...],
    seeds: int,
    time_limit: float | None,
    with_peer: bool,
    only_table: bool,
    out: Path,
) -> None:
    """Measure the method optimal. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path = out / "optimal.csv"
    python = environment() if with_peer and not only_table else None
    for task, seed in () if only_table else list(chosen(names, data, seeds)):
        here = machine()
        record = compare(task.name, seed, data, time_limit or task.seconds, python)
        click.echo("  ".join(f"{key} {value}" for key, value in record.items() if value != ""))
        update_csv(path, record | here, key=("instance", "seed"))
    lines = read_csv(path)
    if not lines:
        raise click.UsageError("Nothing was measured. Say where JJ files are by --data, or name an instance.")
    click.echo("\n" + table(lines))
    exposed = [line["instance"] for line in lines if line["under"] not in ("", "0")]
    if exposed:
        raise click.ClickException(f"NOT SAFE: {', '.join(exposed)}.")


if __name__ == "__main__":
    main()
