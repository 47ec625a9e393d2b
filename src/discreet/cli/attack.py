"""The intruder's lab on the command line: options of `discreet attack`, and what it prints."""

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

LISTED = 10  # compromised cells that are printed

F = TypeVar("F", bound=Callable[..., Any])

method_option = click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    help="By which the pattern was made: for the attack that knows the method.",
)


def lab_options(command: F) -> F:
    """The options of the lab."""
    for option in reversed(
        (
            click.option(
                "--attack",
                "attacks",
                multiple=True,
                type=click.Choice(list(ATTACKS)),
                help="An attack of the intruder's lab to run as well; may be given several times.",
            ),
            click.option("--all", "everything", is_flag=True, help="All attacks of the lab that apply."),
            click.option(
                "--p",
                type=Number(0, 100, min_open=True, max_open=True),
                help="The intruder knows p, in percent.",
            ),
            click.option(
                "--earlier", type=ExistingFile, help="A pattern with which the same table was published before."
            ),
            method_option,
            click.option("--seed", type=click.IntRange(0), help="Seed of attacks that draw at random; 0 unless given."),
            click.option(
                "--details",
                type=NewFile(".csv", ".json"),
                help="What the attacks found, cell by cell, to write (.csv or .json). Confidential.",
            ),
        )
    ):
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
    """Which attacks are asked for; options without an attack that could use them are refused."""
    if attacks and everything:
        raise click.UsageError("--all runs every attack: leave out --attack or --all.")
    names = tuple(ATTACKS) if everything else attacks
    given = {"--p": p, "--earlier": earlier, "--method": method, "--seed": seed, "--details": details}
    idle = [option for option, value in given.items() if value is not None]
    if idle and not names:
        raise click.UsageError(f"{idle[0]} is for attacks of the lab: name some with --attack, or all with --all.")
    for option, attack in (("--p", "shrink"), ("--earlier", "difference")):
        if given[option] is not None and attack not in names:
            raise click.UsageError(f"{option} is for the attack {attack!r}, which is not asked for.")
    return names


def attack_as(
    found: Protection,
    names: tuple[str, ...],
    earlier: Path | None,
    *,
    p: float | None,
    method: str | None,
    seed: int | None,
    progress: Progress,
    **_: Any,
) -> LabReport:
    """Run attacks with what the intruder is said to know."""
    before = () if earlier is None else (Public.of(read_pattern(found.problem, earlier)),)
    recipe = None if method is None else Recipe.of(found, method)
    knows = Knowledge(p=p, others=before, method=method or Knowledge.method, seed=seed or 0, recipe=recipe)
    return run(found, names, knows=knows, progress=progress)


def attack_quickly(
    found: Protection, method: str | None, accept_symmetric: bool, spent: float, progress: Progress
) -> LabReport:
    """The quick attacks before a release is written; refused if a sensitive cell is compromised."""
    recipe = None if method is None else Recipe.of(found, method)
    names, seconds = quick_attacks(accept_symmetric), quick_seconds(spent)
    report = run(found, names, knows=Knowledge(recipe=recipe), seconds=seconds, progress=progress)
    if not report.passed:
        hit = report.compromised
        raise NotSafeError(f"Not published: attacks compromise {len(hit):,} sensitive cells, e.g. {some(hit)}.", hit)
    return report


def show_limitations(report: LabReport | None) -> None:
    """What attacks leave open, beside the verdict."""
    for sentence in limitations(report):
        console.print(f"  {sentence}", markup=False, highlight=False)


def show_lab(report: LabReport) -> None:
    """Counts and labels; no value, and no parameter of a rule."""
    grid = Grid(box=None, pad_edge=False)
    grid.add_column("attack")
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
    for label in report.compromised[:LISTED]:
        console.print(f"  compromised: {printable(label)}", markup=False)
    if len(report.compromised) > LISTED:
        console.print(f"  and {len(report.compromised) - LISTED:,} more")


def write_details(report: LabReport, path: Path, suffix: str) -> None:
    """What was found, cell by cell; as JSON with the summary and what was learnt about parameters."""
    if suffix.lower() == ".csv":
        report.details().to_csv(path, index=False)
        return
    summary, cells = (json.loads(frame.to_json(orient="records")) for frame in (report.frame(), report.details()))
    write_json({"attacks": summary, "left_out": dict(report.skipped), "cells": cells}, path)
