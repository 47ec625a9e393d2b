"""The options and the output of attacks on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table as Grid

from discreet.attacks import ATTACKS, Knowledge, LabReport, Public, Recipe, run
from discreet.attacks.limitations import limitations
from discreet.cli.common import ExistingFile, NewFile, Number, console
from discreet.errors import NotSafeError, some
from discreet.io.pattern import read_pattern
from discreet.jobs.attacks import quick_attacks, quick_seconds
from discreet.jobs.job import write_json
from discreet.methods import METHODS
from discreet.printable import printable
from discreet.progress import Progress
from discreet.protection import Protection

MAX_COMPROMISED_LISTED = 10  # more labels would hide the summary

F = TypeVar("F", bound=Callable[..., Any])

method_option = click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="The method that made the pattern, for the attack that knows it.",
)
LAB_OPTIONS = (
    click.option(
        "--attack",
        "attacks",
        multiple=True,
        type=click.Choice(list(ATTACKS)),
        help="An attack to run as well; repeat for more.",
    ),
    click.option("--all", "everything", is_flag=True, help="All attacks that apply."),
    click.option("--p", type=Number(0, 100, min_open=True, max_open=True), help="The attacker knows p, in percent."),
    click.option("--earlier", type=ExistingFile, help="A pattern with which the same table was published before."),
    method_option,
    click.option("--seed", type=click.IntRange(0), help="Seed of attacks that draw at random; default: 0."),
    click.option(
        "--details",
        type=NewFile(".csv", ".json"),
        help="Results of the attacks per cell to write (.csv or .json). Confidential.",
    ),
)


def lab_options(command: F) -> F:
    """Add the options of attacks to a command."""
    for option in reversed(LAB_OPTIONS):
        command = option(command)
    return command


def chosen_attacks(
    *,
    attacks: tuple[str, ...],
    everything: bool,
    p: float | None,
    earlier: Path | None,
    seed: int | None,
    details: Path | None,
    method: str | None,
) -> tuple[str, ...]:
    """The names of the requested attacks; options that no requested attack uses are refused."""
    if attacks and everything:
        raise click.UsageError("--all runs every attack: leave out --attack or --all.")
    names = tuple(ATTACKS) if everything else attacks
    options = {"--p": p, "--earlier": earlier, "--method": method, "--seed": seed, "--details": details}
    given = [option for option, value in options.items() if value is not None]
    if given and not names:
        raise click.UsageError(f"{given[0]} is for attacks: name some with --attack, or all with --all.")
    for option, attack in (("--p", "shrink"), ("--earlier", "difference")):
        if option in given and attack not in names:
            raise click.UsageError(f"{option} is for the attack {attack!r}, which is not requested.")
    return names


def run_attacks(
    protection: Protection,
    names: tuple[str, ...],
    earlier: Path | None,
    *,
    p: float | None,
    method: str | None,
    seed: int | None,
    progress: Progress,
    **_: Any,
) -> LabReport:
    """Run attacks by an attacker with the given knowledge."""
    others = () if earlier is None else (Public.of(read_pattern(protection.problem, earlier)),)
    recipe = None if method is None else Recipe.of(protection, method)
    knows = Knowledge(p=p, others=others, method=method or Knowledge.method, seed=seed or 0, recipe=recipe)
    return run(protection, names, knows=knows, progress=progress)


def run_quick_attacks(
    protection: Protection, method: str | None, accept_symmetric: bool, spent: float, progress: Progress
) -> LabReport:
    """Run the quick attacks before a release is written. Raises NotSafeError if a sensitive cell is compromised."""
    recipe = None if method is None else Recipe.of(protection, method)
    names, seconds = quick_attacks(accept_symmetric), quick_seconds(spent)
    report = run(protection, names, knows=Knowledge(recipe=recipe), seconds=seconds, progress=progress)
    if not report.passed:
        cells = report.compromised
        message = f"Not published: attacks compromise {len(cells):,} sensitive cells, e.g. {some(cells)}."
        raise NotSafeError(message, cells)
    return report


def show_limitations(report: LabReport | None) -> None:
    """Print what attacks leave open."""
    for sentence in limitations(report):
        console.print(f"  {sentence}", markup=False, highlight=False)


def show_lab(report: LabReport) -> None:
    """Print the results of attacks: counts and labels, no values and no parameters of rules."""
    grid = Grid("attack", box=None, pad_edge=False)
    for title in ("cells", "exactly", "sensitive", "near", "compromised", "wrong"):
        grid.add_column(title, justify="right")
    for row in report.frame().to_dict("records"):
        counts = (row[name] for name in ("cells", "exact", "sensitive", "near", "compromised", "wrong"))
        grid.add_row(row["attack"], *(f"{count:,}" for count in counts))
    console.print()
    console.print(grid)
    if any(one.finding.attack == "replay" for one in report.scores):
        show_limitations(report)
    for name, reason in report.skipped.items():
        console.print(f"  left out: {name}: {reason}", markup=False)
    for label in report.compromised[:MAX_COMPROMISED_LISTED]:
        console.print(f"  compromised: {printable(label)}", markup=False)
    if len(report.compromised) > MAX_COMPROMISED_LISTED:
        console.print(f"  and {len(report.compromised) - MAX_COMPROMISED_LISTED:,} more")


def write_details(report: LabReport, path: Path, suffix: str) -> None:
    """Write the results per cell; as JSON also the summary, with the inferred parameters of rules."""
    if suffix.lower() == ".csv":
        report.details().to_csv(path, index=False)
        return
    summary, cells = (json.loads(frame.to_json(orient="records")) for frame in (report.frame(), report.details()))
    write_json({"attacks": summary, "left_out": dict(report.skipped), "cells": cells}, path)
