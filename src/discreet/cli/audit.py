"""The commands audit, verify and attack, which check whether a pattern is safe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

from discreet.audit import Audit, Exposure, audit, certificate, exposure, read_certificate, verify, write_certificate
from discreet.audit.respondents import RespondentAudit, audit_respondents
from discreet.cli.attack import chosen_attacks, lab_options, run_attacks, show_lab, write_details
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    attackers_option,
    check_distinct,
    console,
    figures_grid,
    level_option,
    pattern_option,
    problem_argument,
    problem_with_attackers,
    quiet_option,
    respondents_verdict,
    show_promise,
    verdict,
    workers_option,
)
from discreet.executors import spread
from discreet.inference.requirements import cells_to_protect
from discreet.io.pattern import read_pattern
from discreet.jobs.job import all_passed, audit_report, write_json, write_together
from discreet.level import Level, level_of
from discreet.printable import printable
from discreet.problem import Status
from discreet.progress import on_terminal
from discreet.promise import safe
from discreet.protection import Protection, suppress

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
    in_force = level_of(given, found.only_suppresses, level)
    files: dict[Path, Callable[[Path], None]] = {}
    with on_terminal(quiet) as progress, spread(workers) as executor:
        checked = audit(
            given,
            found,
            intervals=counts or intervals is not None,
            certify=proof is not None,
            whole=counts or None,
            executor=executor,
            progress=progress,
        )
        if proof:
            proven = certificate(checked, found, progress=progress)
            files[proof] = lambda draft: write_certificate(proven, draft)
        respondents = None
        if in_force.covers_respondents:
            respondents = audit_respondents(given, found, executor=executor, progress=progress)
    if intervals:
        files[intervals] = lambda draft: checked.frame().to_csv(draft, index=False)
    if report:
        files[report] = lambda draft: write_json(audit_report(checked, found, in_force, respondents), draft)
    write_together(files)
    console.print(verdict(checked, found))
    if checked.linear is not None and checked.exact:
        narrower = int(checked.differs.sum())
        console.print(f"  {narrower:,} intervals are narrower because all cells are known to be whole numbers")
    for label in checked.exposed[:MAX_EXPOSED_LISTED]:
        console.print(f"  exposed: {printable(label)}", markup=False)
    if respondents is not None:
        show_respondents(respondents, found)
    show_promise(found, in_force, respondents)
    return 0 if all_passed(checked, respondents) else 1


def show_respondents(checked: RespondentAudit, protection: Protection) -> None:
    """Print the verdict, the number of respondents exposed by size of coalition, and how the worst ones are exposed."""
    console.print(respondents_verdict(checked, protection))
    if checked.passed:
        return
    smallest_coalition: dict[str, int] = {}
    for one in checked.exposed:
        size = len(one.insiders)
        smallest_coalition[one.respondent] = min(size, smallest_coalition.get(one.respondent, size))
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
@click.option("--problem", type=ExistingFile, required=True, help="The problem that was audited.")
@pattern_option
@attackers_option
def verify_command(certificate: Path, problem: Path, pattern: Path, attackers: Path | None) -> int:
    """Check a certificate in exact arithmetic, without a solver."""
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    verified = verify(read_certificate(certificate), given, found)
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


@click.command("attack")
@problem_argument
@click.option("--pattern", type=ExistingFile, help="The pattern; without it only the sensitive cells are suppressed.")
@attackers_option
@click.option("--out", type=NewFile(), help="Interval of every suppressed cell to write (.csv). Confidential.")
@lab_options
@quiet_option
def attack_command(
    problem: Path,
    pattern: Path | None,
    attackers: Path | None,
    out: Path | None,
    quiet: bool,
    earlier: Path | None,
    details: Path | None,
    **lab: Any,
) -> int:
    """Attack a pattern as a reader would: the exact interval of every suppressed cell, and how sensitive ones are exposed."""
    check_distinct(problem, pattern, attackers, out, earlier, details)
    names = chosen_attacks(earlier=earlier, details=details, **lab)
    given = problem_with_attackers(problem, attackers)
    if pattern:
        found = read_pattern(given, pattern)
    else:
        found = suppress(given, np.isin(given.status, (Status.PRIMARY, Status.SUPPRESSED)))
    with on_terminal(quiet) as progress:
        attacked = (found.suppressed | (given.status == Status.PRIMARY))[: given.table.n_listed]
        checked = audit(given, found, cells=np.flatnonzero(attacked), progress=progress)
        exposed = exposure(given, found, checked=checked, progress=progress)
        report = run_attacks(found, names, earlier, progress=progress, **lab) if names else None
    files: dict[Path, Callable[[Path], None]] = {}
    if out:
        frame = checked.frame().merge(exposed.frame(), on="cell", how="left")
        files[out] = lambda draft: frame.to_csv(draft, index=False)
    if details and report:
        files[details] = lambda draft: write_details(report, draft, details.suffix)
    write_together(files)
    _show_intervals(checked, found, exposed)
    _show_exposure(exposed)
    if report:
        show_lab(report)
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
