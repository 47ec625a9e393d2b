"""The command bound: how much cheaper than a pattern any safe pattern could be."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.audit import bound_certificate, write_certificate
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    attackers_option,
    check_distinct,
    console,
    problem_argument,
    problem_with_attackers,
    quiet_option,
)
from discreet.errors import InputError
from discreet.io.pattern import read_pattern
from discreet.jobs.job import write_json, write_together
from discreet.methods.context import Run
from discreet.methods.core.cutting_planes import gap_of
from discreet.methods.suppress.cost_bound import cost_bound
from discreet.progress import Budget, on_terminal


@click.command("bound")
@problem_argument
@click.option("--pattern", type=ExistingFile, help="A pattern, whose cost is compared with the bound.")
@attackers_option
@click.option("--time-limit", type=click.FloatRange(0), help="Seconds; the bound at that time counts. Default: none.")
@click.option("--report", type=NewFile(), help="Bound, cost and gap to write (.json).")
@click.option(
    "--certificate",
    "proof",
    type=NewFile(".json", ".json.gz"),
    help="Proof of the bound to write (.json or .json.gz), for `discreet verify`.",
)
@quiet_option
def bound_command(
    problem: Path,
    pattern: Path | None,
    attackers: Path | None,
    time_limit: float | None,
    report: Path | None,
    proof: Path | None,
    quiet: bool,
) -> None:
    """Prove that no safe pattern costs less than a bound."""
    if pattern is None and report is None and proof is None:
        raise click.UsageError(
            "The bound may be confidential and is not printed: give --pattern, --report or --certificate."
        )
    check_distinct(problem, pattern, attackers, report, proof)
    given = problem_with_attackers(problem, attackers)
    found = None if pattern is None else read_pattern(given, pattern)
    if found is not None and found.has_interval.any():
        raise InputError(
            f"{pattern} publishes intervals or other values. A bound is for patterns that only suppress cells."
        )
    with on_terminal(quiet) as progress:
        bound = cost_bound(given, Run(budget=Budget(time_limit), progress=progress))
    proven = bound_certificate(given, bound.proofs) if proof else {}
    content = {"bound": bound.bound, "inequalities": len(bound.proofs)}
    words = f"{len(bound.proofs):,} inequalities prove a bound"
    if found is not None:
        cost = float(given.cost[found.suppressed].sum())
        content |= {"cost": cost, "gap": gap_of(cost, bound.bound)}
        words = f"no safe pattern is cheaper than this one by more than {gap_of(cost, bound.bound):.2%}"
    write_together(
        {
            proof: lambda draft: write_certificate(proven, draft),
            report: lambda draft: write_json(content, draft),
        }
    )
    # Without the bound: it is confidential if costs are values.
    console.print(words, markup=False)
