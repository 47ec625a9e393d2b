"""Large tables: what our methods cost over time, beside the peers' points. Run `python -m benchmarks.ladder --help`.

A rung of the ladder is a run of its own with a time limit, as a user would ask for it. Methods plan with the time they have, so
what a long run holds after three seconds is not what a run of three seconds returns.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.alone import alone, cpu_seconds, limit
from benchmarks.instances import folder, shaped
from benchmarks.known import tau_test
from benchmarks.optimal import amount, count, seconds_of
from benchmarks.peers.environment import environment
from benchmarks.peers.suppression import PEERS, Case
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from benchmarks.second_opinion import under_protected
from discreet.arrays import BoolArray
from discreet.assess import assess
from discreet.audit import audit
from discreet.errors import DiscreetError, NoSafePatternError
from discreet.methods import SUPPRESSION, protect
from discreet.problem import Problem
from discreet.protection import Decision, suppress

SURVEYS = ("h2_1k", "h2_5k", "f3_10", "h3_5k")
FILES = ("tau_testW", "hier13x13x13d", "jjtabeltest3", "table3", "ninenew", "dale")
INSTANCES = {"surveys": SURVEYS, "files": FILES}
RUNGS = (3.0, 10.0, 30.0, 120.0, 300.0)  # seconds
LONGEST = 300.0  # for a file
GRACE = 120.0  # processor seconds beyond its limit after which a run is ended
OURS = tuple(name for name in SUPPRESSION if name != "first-model")  # which is an oracle for small tables
WARM_UP = (shaped("flat", (12,), (12,)), shaped("deep", (2, 3), (2, 3), (3,)))
KEY = ("instance", "who", "limit_s")
COLUMNS = (
    *("instance", "who", "limit_s", "status", "cells", "primaries", "hidden", "secondaries", "cost", "under"),
    *("under_linprog", "cpu_s", "wall_s", "audit_s", "peak_mb"),
)
Line = dict[str, str]


# -- one measurement -------------------------------------------------------------------------------------------


def problem_of(name: str, data: Path) -> Problem:
    """A JJ file, or the one table that comes as records."""
    return assess(tau_test(data), "P(15)") if name == "tau_testW" else folder(data / "jj")[name].make(0)


def measured(part: str, name: str, data: Path, method: str, seconds: float) -> dict[str, Any]:
    """To be run alone: it ends its process when the method goes far beyond its time."""
    for small in WARM_UP:  # kernels are compiled on first use, once a machine and version
        protect(small.make(1), method, time_limit=20)
    problem = problem_of(name, data)
    limit(seconds + GRACE)
    wall, cpu = time.perf_counter(), cpu_seconds()
    try:
        found = protect(problem, method, seed=0, time_limit=seconds, level="cells")
    except NoSafePatternError:
        found = None
    spent = {
        "cpu_s": round(cpu_seconds() - cpu, 3),
        "wall_s": round(time.perf_counter() - wall, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    limit(10 * GRACE)  # for the audit
    if found is None:
        return {**size(problem), "status": "no pattern", **spent}
    return {"status": found.report.status, **judged(problem, found.suppressed, twice=part == "surveys"), **spent}


def size(problem: Problem) -> dict[str, Any]:
    return {"cells": len(problem), "primaries": len(problem.primaries)}


def judged(problem: Problem, suppressed: BoolArray, *, twice: bool) -> dict[str, Any]:
    """Cost of the secondaries by the problem's own costs, and primaries left under-protected; by linprog, too, if ``twice``."""
    pattern = suppress(problem, suppressed)
    cpu = time.process_time()
    checked = audit(problem, pattern, intervals=False)
    spent = time.process_time() - cpu
    return {
        **size(problem),
        "hidden": int(suppressed.sum()),
        "secondaries": pattern.report.n_secondary,
        "cost": float(problem.cost[pattern.decision == Decision.SECONDARY].sum()),
        "under": len(np.unique(checked.cell[~checked.safe])),
        "under_linprog": len(under_protected(problem, suppressed)) if twice else "",
        "audit_s": round(spent, 3),
    }


def ours(part: str, name: str, data: Path, method: str, seconds: float) -> dict[str, Any]:
    ended = {"status": f"ended after {seconds + GRACE:.0f} s"}
    return filled(name, method, seconds, alone(measured, part, name, data, method, seconds) or ended)


def theirs(name: str, data: Path, peer: str, python: Path) -> dict[str, Any]:
    case = Case(problem_of(name, data), data / "surveys" / name)
    found = PEERS[peer](case, python)
    figures = {**size(case.problem), **found.figures}
    if found.suppressed is not None:
        try:
            figures |= judged(case.problem, found.suppressed, twice=True)
        except DiscreetError as error:  # it suppresses what must be published
            figures["status"] = f"failed: {error}"[:120]
    return filled(name, peer, "", figures)


def filled(name: str, who: str, seconds: float | str, figures: dict[str, Any]) -> dict[str, Any]:
    """One line, with a place for everything that is ever measured."""
    record = {"instance": name, "who": who, "limit_s": seconds, **figures}
    return {column: record.get(column, "") for column in COLUMNS}


# -- the tables ------------------------------------------------------------------------------------------------


def is_safe(line: Line) -> bool:
    return line["under"] == "0" and line["under_linprog"] in ("", "0")


def passed(lines: Sequence[Line], cost: float) -> str:
    """Processor seconds of the quickest safe run that costs no more."""
    enough = [float(line["cpu_s"]) for line in lines if line["cost"] and is_safe(line) and float(line["cost"]) <= cost]
    return seconds_of(str(min(enough))) if enough else "not yet"


def outcome(line: Line | None) -> str:
    """What a run found, and when it had it."""
    if line is None:
        return ""
    if not line["cost"]:
        return line["status"]
    unsafe = "" if is_safe(line) else f", **NOT SAFE: {line['under']} exposed**"
    return f"{amount(line['cost'])} in {seconds_of(line['cpu_s'])} s{unsafe}"


def of_instance(lines: Sequence[Line], name: str) -> tuple[dict[str, list[Line]], dict[str, Line]]:
    """Our runs by method, and the peers' points."""
    here = [line for line in lines if line["instance"] == name]
    methods = {who: [line for line in here if line["who"] == who] for who in SUPPRESSION}
    peers = {line["who"]: line for line in here if line["who"] in PEERS}
    return {who: runs for who, runs in methods.items() if runs}, {who: peers[who] for who in PEERS if who in peers}


def curves(lines: Sequence[Line]) -> list[dict[str, str]]:
    """A row an instance and method, a column a rung."""
    rows = []
    for name in SURVEYS:
        for who, runs in of_instance(lines, name)[0].items():
            by_limit = {float(line["limit_s"]): line for line in runs}
            rows.append({"instance": name, "method": who} | {f"{s:.0f} s": outcome(by_limit.get(s)) for s in RUNGS})
    return rows


def points(lines: Sequence[Line]) -> list[dict[str, str]]:
    """A row an instance and peer; for each of our methods, when it first costs no more."""
    measured_methods = [who for who in SUPPRESSION if any(line["who"] == who for line in lines)]
    rows = []
    for name in SURVEYS:
        methods, peers = of_instance(lines, name)
        for who, line in peers.items():
            row = {"instance": name, "peer": who, "cost": amount(line["cost"]) if line["cost"] else line["status"]}
            row |= {"CPU s": seconds_of(line["cpu_s"]), "under": count(line["under"])}
            row |= {"under by linprog": count(line["under_linprog"])}
            for method in measured_methods:
                runs = methods.get(method, [])
                row[f"{method} passes"] = passed(runs, float(line["cost"])) if runs and line["cost"] else "–"
            rows.append(row)
    return rows


def files_table(lines: Sequence[Line]) -> list[dict[str, str]]:
    order = [(name, who) for name in FILES for who in SUPPRESSION]
    known = [line for line in lines if (line["instance"], line["who"]) in order]
    known.sort(key=lambda line: (order.index((line["instance"], line["who"])), float(line["limit_s"])))
    return [
        {
            "instance": line["instance"],
            "method": line["who"],
            "limit s": f"{float(line['limit_s']):.0f}",
            "cells": count(line["cells"]),
            "primaries": count(line["primaries"]),
            "status": line["status"].replace("_", " "),
            "secondaries": count(line["secondaries"]),
            "cost": amount(line["cost"]),
            "under": count(line["under"]),
            "CPU s": seconds_of(line["cpu_s"]),
            "wall s": seconds_of(line["wall_s"]),
            "audit CPU s": seconds_of(line["audit_s"]),
            "peak MB": count(line["peak_mb"]),
        }
        for line in known
    ]


def tables(part: str, lines: Sequence[Line]) -> str:
    """Markdown of everything measured so far."""
    made = [files_table(lines)] if part == "files" else [curves(lines), points(lines)]
    return "\n\n".join(markdown(rows) for rows in made if rows)


# -- the command -----------------------------------------------------------------------------------------------


def runs(
    part: str, names: Sequence[str], methods: Sequence[str], peers: Sequence[str], rungs: Sequence[float], data: Path
) -> Iterator[dict[str, Any]]:
    """One line after the other."""
    for name, method, seconds in product(names, methods, rungs):
        yield ours(part, name, data, method, seconds)
    for name, peer in product(names, peers):
        yield theirs(name, data, peer, environment())


@click.command()
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the folders jj, surveys and microdata.",
)
@click.option("--part", type=click.Choice(list(INSTANCES)), default="surveys", show_default=True, help="What to run.")
@click.option(
    "--instance", "names", multiple=True, type=click.Choice([*SURVEYS, *FILES]), help="Default: all of the part."
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    type=click.Choice([*SUPPRESSION, "none"]),
    help="Default: all but first-model.",
)
@click.option(
    "--peer",
    "peers",
    multiple=True,
    type=click.Choice([*PEERS, "all"]),
    help="Beside ours; surveys only. Default: none.",
)
@click.option(
    "--time-limit",
    "limits",
    multiple=True,
    type=click.FloatRange(0, min_open=True),
    help="Seconds; default: 3, 10, 30, 120 and 300 for surveys, 300 for files.",
)
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; print the tables of what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    data: Path | None,
    part: str,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    peers: tuple[str, ...],
    limits: tuple[float, ...],
    only_table: bool,
    out: Path,
) -> None:
    """Measure cost over time. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path = out / f"ladder-{part}.csv"
    strangers = [name for name in names if name not in INSTANCES[part]]
    if strangers:
        raise click.UsageError(f"{strangers[0]!r} is none of the {part}.")
    if peers and part != "surveys":
        raise click.UsageError("Peers run on surveys only.")
    if data is None and not only_table:
        raise click.UsageError("Say where the problems are by --data.")
    if data is not None and not only_table:
        chosen = [method for method in methods or OURS if method != "none"]
        beside = list(PEERS) if "all" in peers else list(peers)
        rungs = limits or (RUNGS if part == "surveys" else (LONGEST,))
        here = machine()
        for record in runs(part, names or INSTANCES[part], chosen, beside, rungs, data):
            click.echo("  ".join(f"{key} {value}" for key, value in record.items() if value != ""))
            update_csv(path, record | here, key=KEY)
    lines = read_csv(path)
    click.echo("\n" + tables(part, lines))
    exposed = [
        f"{line['instance']} by {line['who']}"
        for line in lines
        if line["who"] in SUPPRESSION and line["cost"] and not is_safe(line)
    ]
    if exposed:
        raise click.ClickException(f"NOT SAFE: {', '.join(exposed)}.")


if __name__ == "__main__":
    main()
