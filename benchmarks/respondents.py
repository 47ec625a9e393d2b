"""What protecting every respondent costs, and whom patterns for cells expose: `python -m benchmarks.respondents --help`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.alone import alone, cpu_seconds
from benchmarks.known import tau_test
from benchmarks.microdata import survey_rows
from benchmarks.peers.environment import environment
from benchmarks.peers.suppression import PEERS, Case, Peer, from_records
from benchmarks.record import RESULTS, machine, markdown, read_csv, update_csv
from discreet.arrays import BoolArray
from discreet.assess import assess
from discreet.audit.respondents import audit_respondents
from discreet.data.hierarchy import Hierarchy
from discreet.data.survey import business_survey
from discreet.data.tabulate import tabulate
from discreet.errors import NoSafePatternError
from discreet.methods import SUPPRESSION, protect
from discreet.problem import Problem, Status
from discreet.protection import suppress
from discreet.testing import random_problem, random_table

GROWTH = {  # names after the cells that are suppressed, more or less
    "grow_1k": ((3, 3), (3, 3), (3, 4)),
    "grow_2k": ((4, 4), (4, 3), (3, 4)),
    "grow_5k": ((5, 4), (5, 4), (3, 6)),
}
SURVEYS = ("demo", "tau_testW", "h2_1k", "h2_5k", "f3_10", "h3_5k")
RULE = "P(15)"
P = 0.15
SAMPLE = 200  # pairs of a respondent and an insider that are checked a second time
SINGLETONS = {"pytauargus MOD, singletons": from_records("MOD(1,5,1,1,1)")}
BESIDE: dict[str, Peer] = {"pytauargus MOD": PEERS["pytauargus MOD"], **SINGLETONS, "gconfid": PEERS["gconfid"]}


def survey(name: str, data: Path | None) -> Problem:
    """Surveys in files with all their cells, empty ones, too, in the order of the JJ file."""
    if name in GROWTH:
        records, hierarchies = survey_rows(GROWTH[name], 1)
        return assess(tabulate(records, hierarchies, "value", contributor="firm", top=3, contributions=True), RULE)
    if name == "demo":
        given = business_survey()
        by = {"industry": given.industry, "region": given.region}
        who = {"contributor": "firm", "holding": "holding"}
        return assess(tabulate(given.records, by, "turnover", **who, top=3, contributions=True), ["P(10)", "FREQ(3)"])
    assert data is not None
    if name == "tau_testW":
        return assess(tau_test(data), RULE)
    home = data / "surveys" / name
    meta = json.loads((home / "meta.json").read_text())
    by = {f"d{d}": Hierarchy.from_hrc(home / f"d{d}.hrc") for d in range(1, meta["ndim"] + 1)}
    table = tabulate(home / "micro.csv.gz", by, "value", contributor="id", top=3, contributions=True, store_empty=True)
    return assess(table, RULE)


def measured(name: str, data: Path | None, method: str, level: str, seconds: float) -> dict[str, Any]:
    """To be run alone."""
    small = random_problem(np.random.default_rng(1), random_table(np.random.default_rng(1), (4, 4)))
    protect(small, method, time_limit=20)  # compiles what is to be compiled
    problem = survey(name, data)
    cpu = cpu_seconds()
    try:
        found = protect(problem, method, level=level, time_limit=seconds)
    except NoSafePatternError:
        return {"status": "no pattern", "cpu_s": round(cpu_seconds() - cpu, 2)}
    spent = round(cpu_seconds() - cpu, 2)
    anyway = float(problem.cost[problem.primaries].sum())
    bound = "" if found.report.bound is None else found.report.bound - anyway
    return {"status": found.report.status, "bound": bound, "cpu_s": spent, **judged(problem, found.suppressed)}


def judged(problem: Problem, suppressed: BoolArray) -> dict[str, Any]:
    """What the secondaries cost, and who is exposed; a sample of pairs is asked about once more."""
    cpu = time.process_time()
    seen = audit_respondents(problem, suppress(problem, suppressed))
    spent = time.process_time() - cpu
    free = suppressed & (problem.status == Status.FREE)
    return {
        "hidden": int(suppressed.sum()),
        "cost": float(problem.cost[free].sum()),
        "targets": seen.targets,
        "exposed": len(seen.respondents),
        "programs": seen.programs,
        "audit_s": round(spent, 2),
        "of_sample": sum(pairs(problem, suppressed)) if seen.passed and RULE in problem.rules else "",
    }


def pairs(problem: Problem, suppressed: BoolArray, sample: int = SAMPLE) -> Iterator[bool]:
    """Whether an insider learns too much about a respondent, of some pairs drawn at random, by plain linear programs.

    Everybody is in one base cell here. The target is the largest respondent of a sensitive cell, the insider the largest of
    another suppressed one.
    """
    table, given = problem.table, problem.table.respondents()
    rng = np.random.default_rng(0)
    cells = np.flatnonzero(suppressed)
    column = np.full(len(table), -1)
    column[cells] = np.arange(len(cells))
    relations = sparse.csr_array(table.relations[:, cells])
    relations = relations[np.diff(relations.indptr) > 0]
    first = {int(cell): float(given.amount[k]) for k, cell in reversed(list(enumerate(given.cell.tolist())))}
    base = [cell for cell in np.flatnonzero(suppressed & table.is_base).tolist() if cell in first]
    targets = [cell for cell in base if problem.status[cell] == Status.PRIMARY]
    targets = [cell for cell in targets if (1 + P) * first[cell] > table.magnitude[cell]]
    for _ in range(sample if targets and len(base) > 1 else 0):
        target = int(rng.choice(targets))
        insider = int(rng.choice([cell for cell in base if cell != target]))
        slack = np.where(table.is_base, table.magnitude, np.inf)
        slack[insider] -= first[insider]
        goal = np.zeros(len(cells))
        goal[column[target]] = -1.0
        bounds = np.stack([-slack[cells], slack[cells]], axis=1)
        solved = linprog(goal, A_eq=relations, b_eq=np.zeros(relations.shape[0]), bounds=bounds, method="highs-ds")
        need = (1 + P) * first[target] - table.magnitude[target]
        yield -float(solved.fun) < need * (1 - 1e-6)


def theirs(name: str, data: Path, peer: str, python: Path) -> dict[str, Any]:
    problem = survey(name, data)
    found = BESIDE[peer](Case(problem, data / "surveys" / name), python)
    told = {name: found.figures[name] for name in ("status", "cpu_s") if name in found.figures}
    return told if found.suppressed is None else told | judged(problem, found.suppressed)


COLUMNS = ("status", "hidden", "cost", "bound", "targets", "exposed", "of_sample", "cpu_s", "programs", "audit_s")


@click.command()
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the folders surveys and microdata.",
)
@click.option("--instance", "names", multiple=True, type=click.Choice([*SURVEYS, *GROWTH]), help="Default: all.")
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(list(SUPPRESSION)), help="Default: kelly and auto."
)
@click.option("--time-limit", type=click.FloatRange(0, min_open=True), default=600.0, show_default=True)
@click.option(
    "--peer", "with_peers", is_flag=True, help="Beside pytauargus, with and without its singleton options, and gconfid."
)
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; print what was measured.")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS, help="Folder for the CSV file.")
def main(
    data: Path | None,
    names: tuple[str, ...],
    methods: tuple[str, ...],
    time_limit: float,
    with_peers: bool,
    only_table: bool,
    out: Path,
) -> None:
    """Measure both levels of safety. Lines of earlier runs stay in the CSV file unless they are measured again."""
    path, here = out / "respondents.csv", machine()
    chosen = () if only_table else names or (*SURVEYS, *GROWTH)
    if data is None and not set(chosen) <= {"demo", *GROWTH}:
        raise click.UsageError("Say where the surveys are by --data.")
    for name in chosen:
        for method in ("kelly",) if name in GROWTH else methods or ("kelly", "auto"):
            for level in ("cells",) if name in GROWTH else ("cells", "contributions"):
                figures = alone(measured, name, data, method, level, time_limit)
                assert figures is not None
                _keep(path, {"instance": name, "who": method, "level": level}, figures, here)
        for peer in BESIDE if with_peers and name in SURVEYS[2:] else ():
            assert data is not None
            _keep(path, {"instance": name, "who": peer, "level": ""}, theirs(name, data, peer, environment()), here)
    lines = read_csv(path)
    if not lines:
        raise click.UsageError("Nothing was measured yet.")
    lines.sort(key=lambda line: [*SURVEYS, *GROWTH].index(line["instance"]))
    click.echo(markdown([{k: v or "–" for k, v in line.items() if k not in here} for line in lines]))
    exposed = [line for line in lines if line["level"] == "contributions" and line["exposed"] not in ("", "0")]
    if exposed or any(line["of_sample"] not in ("", "0") for line in lines):
        raise click.ClickException("NOT SAFE.")


def _keep(path: Path, key: dict[str, str], figures: dict[str, Any], here: dict[str, str]) -> None:
    record = key | {column: figures.get(column, "") for column in COLUMNS}
    click.echo("  ".join(f"{name} {figure}" for name, figure in record.items() if figure != ""))
    update_csv(path, record | here, key=tuple(key))


if __name__ == "__main__":
    main()
