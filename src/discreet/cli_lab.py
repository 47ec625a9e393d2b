"""The intruder's lab on the command line: options of `discreet attack`, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table as Grid

from discreet.cli_common import ExistingFile, NewFile, Number, console
from discreet.io.pattern import read_pattern
from discreet.job import write_json
from discreet.lab import ATTACKS, Knowledge, LabReport, Public, run
from discreet.printable import printable
from discreet.progress import Progress
from discreet.protection import Protection

LISTED = 10  # compromised cells that are printed

F = TypeVar("F", bound=Callable[..., Any])


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
) -> tuple[str, ...]:
    """Which attacks are asked for; options without an attack that could use them are refused."""
    if attacks and everything:
        raise click.UsageError("--all runs every attack: leave out --attack or --all.")
    names = tuple(ATTACKS) if everything else attacks
    given = {"--p": p, "--earlier": earlier, "--seed": seed, "--details": details}
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
    seed: int | None,
    progress: Progress,
    **_: Any,
) -> LabReport:
    """Run attacks with what the intruder is said to know."""
    before = () if earlier is None else (Public.of(read_pattern(found.problem, earlier)),)
    return run(found, names, knows=Knowledge(p=p, others=before, seed=seed or 0), progress=progress)


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
