"""The command attack, and the attacks before a release is written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np
from rich.table import Table as Grid

from discreet.attacks import ATTACKS, AttackReport, Knowledge, Public, Recipe, run
from discreet.audit import Audit, Exposure, audit, exposure
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    Number,
    attackers_option,
    check_distinct,
    console,
    figures_grid,
    problem_argument,
    problem_with_attackers,
    quiet_option,
    show_conditions,
)
from discreet.errors import NotSafeError, plural, some
from discreet.inference.requirements import cells_to_protect
from discreet.io.pattern import read_pattern
from discreet.jobs.attacks import quick_attacks, quick_seconds
from discreet.jobs.job import all_passed, write_json, write_together
from discreet.level import level_of
from discreet.methods import METHODS
from discreet.printable import printable
from discreet.problem import Status
from discreet.progress import Progress, on_terminal
from discreet.promise import Condition, conditions
from discreet.protection import Protection, suppress

MAX_COMPROMISED_LISTED = 10  # more labels would hide the summary

method_option = click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="The method that made the pattern, for the attack that knows it.",
)


def _chosen_attacks(attacks: tuple[str, ...], everything: bool, options: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the requested attacks; options that no requested attack uses are refused."""
    if attacks and everything:
        raise click.UsageError("--all runs every attack: leave out --attack or --all.")
    names = tuple(ATTACKS) if everything else attacks
    given = [option for option, value in options.items() if value is not None]
    if given and not names:
        raise click.UsageError(f"{given[0]} is for attacks: name some with --attack, or all with --all.")
    for option, attack in (("--p", "shrink"), ("--earlier", "difference")):
        if option in given and attack not in names:
            raise click.UsageError(f"{option} is for the attack {attack!r}, which is not requested.")
    return names


def run_quick_attacks(
    protection: Protection, method: str | None, accept_symmetric: bool, spent: float, progress: Progress
) -> AttackReport:
    """Run the quick attacks before a release is written. Raises NotSafeError if a sensitive cell is compromised."""
    recipe = None if method is None else Recipe.of(protection, method)
    names, seconds = quick_attacks(accept_symmetric), quick_seconds(spent)
    report = run(protection, names, knows=Knowledge(recipe=recipe), seconds=seconds, progress=progress)
    if not report.passed:
        cells = report.compromised
        message = (
            f"Not published: attacks compromise {plural(len(cells), 'sensitive cell')}, e.g. {some(cells)}. Protect the table by "
            "another method, or with larger protection levels."
        )
        raise NotSafeError(message, cells)
    return report


def _show_report(report: AttackReport) -> None:
    """Print the results of attacks: counts and labels, no values and no parameters of rules."""
    grid = Grid("attack", box=None, pad_edge=False)
    for title in ("cells", "exactly", "sensitive", "near", "compromised", "wrong"):
        grid.add_column(title, justify="right")
    for row in report.frame().to_dict("records"):
        counts = (row[name] for name in ("cells", "exact", "sensitive", "near", "compromised", "wrong"))
        grid.add_row(row["attack"], *(f"{count:,}" for count in counts))
    console.print()
    console.print(grid)
    for name, reason in report.skipped.items():
        console.print(f"  left out: {name}: {reason}", markup=False)
    for label in report.compromised[:MAX_COMPROMISED_LISTED]:
        console.print(f"  compromised: {printable(label)}", markup=False)
    if len(report.compromised) > MAX_COMPROMISED_LISTED:
        console.print(f"  and {len(report.compromised) - MAX_COMPROMISED_LISTED:,} more")


def _write_details(report: AttackReport, stated: Sequence[Condition], path: Path) -> None:
    """Write the results per cell; as JSON also the conditions and the summary, with the inferred parameters of rules."""
    if path.suffix.lower() == ".csv":
        report.details().to_csv(path, index=False)
        return
    summary, cells = (json.loads(frame.to_json(orient="records")) for frame in (report.frame(), report.details()))
    left_out, listed = dict(report.skipped), [asdict(condition) for condition in stated]
    write_json({"conditions": listed, "attacks": summary, "left_out": left_out, "cells": cells}, path)


@click.command("attack")
@problem_argument
@click.option("--pattern", type=ExistingFile, help="The pattern; without it only the sensitive cells are suppressed.")
@attackers_option
@click.option("--out", type=NewFile(), help="Interval of every suppressed cell to write (.csv). Confidential.")
@click.option(
    "--attack",
    "attacks",
    multiple=True,
    type=click.Choice(list(ATTACKS)),
    help="An attack to run as well; repeat for more.",
)
@click.option("--all", "everything", is_flag=True, help="All attacks that apply.")
@click.option("--p", type=Number(0, 100, min_open=True, max_open=True), help="The attacker knows p, in percent.")
@click.option("--earlier", type=ExistingFile, help="A pattern with which the same table was published before.")
@method_option
@click.option("--seed", type=click.IntRange(0), help="Seed of attacks that draw at random; default: 0.")
@click.option(
    "--details",
    type=NewFile(".csv", ".json"),
    help="Results of the attacks per cell to write (.csv or .json). Confidential.",
)
@quiet_option
def attack_command(
    problem: Path,
    pattern: Path | None,
    attackers: Path | None,
    out: Path | None,
    attacks: tuple[str, ...],
    everything: bool,
    p: float | None,
    earlier: Path | None,
    method: str | None,
    seed: int | None,
    details: Path | None,
    quiet: bool,
) -> int:
    """Attack a pattern as a reader would: the exact interval of every suppressed cell, and how sensitive ones are exposed."""
    check_distinct(problem, pattern, attackers, out, earlier, details)
    names = _chosen_attacks(
        attacks,
        everything,
        {"--p": p, "--earlier": earlier, "--method": method, "--seed": seed, "--details": details},
    )
    given = problem_with_attackers(problem, attackers)
    if pattern:
        found = read_pattern(given, pattern)
    else:
        found = suppress(given, np.isin(given.status, (Status.PRIMARY, Status.SUPPRESSED)))
    with on_terminal(quiet) as progress:
        attacked = (found.suppressed | (given.status == Status.PRIMARY))[: given.table.n_listed]
        checked = audit(given, found, cells=np.flatnonzero(attacked), progress=progress)
        exposed = exposure(given, found, checked=checked, progress=progress)
        others = () if earlier is None else (Public.of(read_pattern(given, earlier)),)
        recipe = None if method is None else Recipe.of(found, method)
        knows = Knowledge(p=p, others=others, method=method or Knowledge.method, seed=seed or 0, recipe=recipe)
        report = run(found, names, knows=knows, progress=progress)
    stated = conditions(found, level=level_of(given, found.only_suppresses), attacks=report)
    write_together(
        {
            out: lambda draft: checked.frame().merge(exposed.frame(), on="cell", how="left").to_csv(draft, index=False),
            details: lambda draft: _write_details(report, stated, draft),
        }
    )
    _show_intervals(checked, found, exposed)
    _show_exposure(exposed)
    if names:
        _show_report(report)
    show_conditions(stated)
    return 0 if all_passed(checked, report) else 1


def _show_intervals(checked: Audit, protection: Protection, exposed: Exposure) -> None:
    """Print how many cells can be computed exactly, and how many protected cells have too narrow an interval."""
    problem = checked.problem
    exact = checked.upper - checked.lower <= 1e-9 * np.maximum(problem.table.magnitude[checked.cell], 1e-300)
    suppressed, computable = np.unique(checked.cell), np.unique(checked.cell[exact])
    sensitive = int(np.isin(computable, problem.primaries).sum())
    protected = np.concatenate([cells_to_protect(problem, protection, attacker) for attacker in problem.attackers()])
    violated = int(np.isin(np.unique(checked.cell[~checked.safe]), protected).sum())
    kind = "protected" if exposed.counts()["conditional"] else "sensitive"
    console.print(f"{len(suppressed):,} suppressed cells: {len(computable):,} can be computed exactly,")
    console.print(f"  {sensitive:,} of them sensitive; {violated:,} {kind} cells are exposed")


def _show_exposure(exposed: Exposure) -> None:
    """Print in which ways sensitive cells are exposed."""
    count = exposed.counts()
    if not count["exposed"]:
        return
    kind = "protected" if count["conditional"] else "sensitive"
    grid = figures_grid()
    for key, words in {
        "exposed": f"of {count['primaries'] + count['conditional']:,} {kind} cells are exposed",
        "fully": "  fully: their values can be computed",
        "partially": "  partially: the interval is too narrow",
        "unpicked": "  by single relations, one after the other",
        "initially": "    without inferences about other exposed cells",
        "together": "  only by several relations at once",
        "k1": "candidates for protection, by K1",
        "k3": "candidates by K3",
        "k5": "candidates by K5",
    }.items():
        grid.add_row(f"{count[key]:,}", words)
    console.print()
    console.print(grid)
