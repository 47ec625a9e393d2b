"""The commands audit and verify, which check whether a pattern is safe."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table as Grid

from discreet.audit import certificate, read_certificate, verify, verify_bound, write_certificate
from discreet.audit.proof import BOUND_FORMAT
from discreet.audit.respondents import RespondentAudit
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    attackers_option,
    check_distinct,
    console,
    level_option,
    pattern_option,
    problem_argument,
    problem_with_attackers,
    quiet_option,
    show_conditions,
    verdict,
    workers_option,
)
from discreet.executors import spread
from discreet.io.pattern import read_pattern
from discreet.jobs.job import all_passed, audit_report, audited, write_json, write_together
from discreet.level import Level
from discreet.printable import printable
from discreet.problem import Problem
from discreet.progress import on_terminal
from discreet.promise import conditions, safe
from discreet.protection import Protection

MAX_EXPOSED_LISTED = 10  # cells, or respondents; more would hide the verdict


@click.command("audit")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option("--intervals", type=NewFile(), help="Exact interval of every protected cell to write (.csv).")
@click.option("--report", type=NewFile(), help="Verdict to write (.json).")
@click.option(
    "--certificate",
    "proof",
    type=NewFile(".json", ".json.gz"),
    help="Proof of the verdicts to write (.json or .json.gz), for `discreet verify`.",
)
@click.option(
    "--whole",
    "counts",
    is_flag=True,
    help="Readers know that all cells are whole numbers; always assumed for tables of counts.",
)
@workers_option
@quiet_option
def audit_command(
    problem: Path,
    pattern: Path,
    level: Level | None,
    attackers: Path | None,
    intervals: Path | None,
    report: Path | None,
    proof: Path | None,
    counts: bool,
    workers: int,
    quiet: bool,
) -> int:
    """Check whether a pattern is safe."""
    if counts and proof:
        raise click.UsageError("Certificates do not cover whole numbers: leave out --whole or --certificate.")
    check_distinct(problem, pattern, attackers, intervals, report, proof)
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress, spread(workers) as executor:
        checked, in_force, respondents = audited(
            given,
            found,
            level,
            intervals=counts or intervals is not None,
            certify=proof is not None,
            whole=counts or None,
            executor=executor,
            progress=progress,
        )
        proven = certificate(checked, found, progress=progress) if proof else {}
    write_together(
        {
            proof: lambda draft: write_certificate(proven, draft),
            intervals: lambda draft: checked.frame().to_csv(draft, index=False),
            report: lambda draft: write_json(audit_report(checked, found, in_force, respondents), draft),
        }
    )
    console.print(verdict(checked, found))
    if checked.linear is not None and checked.exact:
        narrower = int(checked.differs.sum())
        console.print(f"  {narrower:,} intervals are narrower because all cells are known to be whole numbers")
    for label in checked.exposed[:MAX_EXPOSED_LISTED]:
        console.print(f"  exposed: {printable(label)}", markup=False)
    if respondents is not None:
        show_respondents(respondents, found)
    show_conditions(conditions(found, respondents, in_force, audit=checked))
    return 0 if all_passed(checked, respondents) else 1


def show_respondents(checked: RespondentAudit, protection: Protection) -> None:
    """Print the verdict, the number of respondents exposed by size of coalition, and how the worst ones are exposed."""
    if checked.passed:
        console.print(f"{safe(protection)}: {checked.targets:,} respondents keep their protection")
        return
    n_exposed_respondents = f"{len(checked.respondents):,} of {checked.targets:,} respondents"
    console.print(f"exposed: {n_exposed_respondents} can be estimated too closely")
    largest_first = sorted(checked.exposed, key=lambda one: -len(one.insiders))
    smallest_coalition = {one.respondent: len(one.insiders) for one in largest_first}
    for size, n_exposed in sorted(Counter(smallest_coalition.values()).items()):
        attacker = (
            f"{size:,} other respondents together" if size > 1 else "one other respondent" if size else "any reader"
        )
        console.print(f"  {n_exposed:,} to {attacker}")
    grid = Grid("respondent", "how its contribution can be inferred", box=None, pad_edge=False)
    for one in checked.exposed[:MAX_EXPOSED_LISTED]:
        grid.add_row(escape(one.respondent), escape(one.words(checked.problem.table)))
    console.print()
    console.print(grid, soft_wrap=False)


@click.command("verify")
@click.argument("certificate", type=ExistingFile)
@click.option("--problem", type=ExistingFile, required=True, help="The problem that the certificate is about.")
@click.option("--pattern", type=ExistingFile, help="The pattern that was audited; none for a certificate of a bound.")
@attackers_option
def verify_command(certificate: Path, problem: Path, pattern: Path | None, attackers: Path | None) -> int:
    """Check a certificate in exact arithmetic, without a solver."""
    given, written = problem_with_attackers(problem, attackers), read_certificate(certificate)
    if written["format"] == BOUND_FORMAT:
        return _verify_bound(written, given)
    if pattern is None:
        raise click.UsageError("The certificate is about a pattern: give it with --pattern.")
    found = read_pattern(given, pattern)
    verified = verify(written, given, found)
    if not verified.passed:
        console.print("certificate does not hold:")
        for reason in verified.problems[:10]:
            console.print(f"  {reason}", markup=False)
        return 1
    cells, exposed, tables = (verified.counts[name] for name in ("cells", "exposed", "tables"))
    result = f"{exposed:,} of {cells:,} cells exposed" if exposed else f"{cells:,} cells {safe(found)}"
    console.print(f"certificate holds: {result}, {tables:,} congruent tables, checked in exact arithmetic")
    if not verified.complete:
        console.print("  but it does not cover all protected cells")
    return 0 if verified.safe and verified.complete else 1


def _verify_bound(written: dict[str, Any], problem: Problem) -> int:
    verified = verify_bound(written, problem)
    if verified.passed:
        console.print(
            f"certificate holds: {verified.inequalities:,} inequalities prove the bound, checked in exact arithmetic"
        )
        return 0
    console.print("certificate does not hold:")
    for reason in verified.problems:
        console.print(f"  {reason}", markup=False)
    return 1
