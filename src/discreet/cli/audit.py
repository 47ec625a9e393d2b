"""The commands that ask whether a pattern is safe: audit, verify, attack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape
from rich.table import Table as Grid

from discreet.audit import Exposure, audit, certificate, exposure, read_certificate, verify, write_certificate
from discreet.audit.respondents import RespondentAudit, audit_respondents
from discreet.cli.attack import attack_as, chosen_attacks, lab_options, show_lab, write_details
from discreet.cli.common import (
    ExistingFile,
    NewFile,
    attackers_option,
    console,
    keep_apart,
    level_option,
    pattern_option,
    problem_against,
    problem_argument,
    quiet_option,
    respondents_verdict,
    show_promise,
    verdict,
    workers_option,
)
from discreet.executors import spread
from discreet.inference.requirements import cells_to_protect
from discreet.io.pattern import read_pattern
from discreet.jobs.job import audit_report, write_json, write_together
from discreet.level import Level, level_of
from discreet.printable import printable
from discreet.problem import Status
from discreet.progress import on_terminal
from discreet.promise import safe
from discreet.protection import Protection, suppress

WORST = 10  # exposed respondents, or cells, that are printed


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
    help="Readers know that all cells are whole numbers; so they do of tables of counts.",
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
    keep_apart(problem, pattern, attackers, intervals, report, proof)
    given = problem_against(problem, attackers)
    found = read_pattern(given, pattern)
    in_force = level_of(given, found.only_suppresses, level)
    files: dict[Path, Callable[[Path], None]] = {}
    with on_terminal(quiet) as progress, spread(workers) as executor:
        exact = counts or intervals is not None
        checked = audit(
            given,
            found,
            intervals=exact,
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
        console.print(
            f"  {int(checked.differs.sum()):,} intervals are narrower than they would be without whole numbers"
        )
    for label in checked.exposed[:WORST]:
        console.print(f"  exposed: {printable(label)}", markup=False)
    if respondents is not None:
        show_respondents(respondents, found)
    show_promise(found, in_force, respondents)
    return 0 if checked.passed and (respondents is None or respondents.passed) else 1


def show_respondents(seen: RespondentAudit, protection: Protection) -> None:
    """The verdict, to how many insiders respondents are exposed, and what gives the worst of them away."""
    console.print(respondents_verdict(seen, protection))
    if seen.passed:
        return
    worst = seen.exposed
    fewest: dict[str, int] = {}
    for one in worst:
        fewest[one.respondent] = min(len(one.insiders), fewest.get(one.respondent, len(one.insiders)))
    for insiders, exposed in sorted(Counter(fewest.values()).items()):
        whom = f"{insiders:,} others together" if insiders > 1 else "one other respondent" if insiders else "anybody"
        console.print(f"  {exposed:,} to {whom}")
    grid = Grid("respondent", "how it can be told", box=None, pad_edge=False)
    for one in worst[:WORST]:
        grid.add_row(escape(one.respondent), escape(one.words(seen.problem.table)))
    console.print()
    console.print(grid, soft_wrap=False)


@click.command("verify")
@click.argument("certificate", type=ExistingFile)
@click.option("--problem", type=ExistingFile, required=True, help="The problem that was audited.")
@pattern_option
@attackers_option
def verify_command(certificate: Path, problem: Path, pattern: Path, attackers: Path | None) -> int:
    """Check a certificate in exact arithmetic, without a solver."""
    given = problem_against(problem, attackers)
    found = read_pattern(given, pattern)
    seen = verify(read_certificate(certificate), given, found)
    if not seen.passed:
        console.print("certificate does not hold:")
        for reason in seen.problems[:10]:
            console.print(f"  {reason}", markup=False)
        return 1
    cells, exposed, tables = (seen.counts[name] for name in ("cells", "exposed", "tables"))
    verdict = f"{exposed:,} of {cells:,} cells exposed" if exposed else f"{cells:,} cells {safe(found)}"
    console.print(f"certificate holds: {verdict}, {tables:,} congruent tables, checked in exact arithmetic")
    if not seen.complete:
        console.print("  but it says nothing about some of the protected cells")
    return 0 if seen.safe and seen.complete else 1


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
    keep_apart(problem, pattern, attackers, out, earlier, details)
    names = chosen_attacks(earlier=earlier, details=details, **lab)
    given = problem_against(problem, attackers)
    must = np.isin(given.status, (Status.PRIMARY, Status.SUPPRESSED))
    found = read_pattern(given, pattern) if pattern else suppress(given, must)
    with on_terminal(quiet) as progress:
        asked = (found.suppressed | (given.status == Status.PRIMARY))[: given.table.n_listed]
        seen = audit(given, found, cells=np.flatnonzero(asked), progress=progress)
        how = exposure(given, found, checked=seen, progress=progress)
        report = attack_as(found, names, earlier, progress=progress, **lab) if names else None
    files: dict[Path, Callable[[Path], None]] = {}
    if out:
        frame = seen.frame().merge(how.frame(), on="cell", how="left")
        files[out] = lambda draft: frame.to_csv(draft, index=False)
    if details and report:
        files[details] = lambda draft: write_details(report, draft, details.suffix)
    write_together(files)
    exactly = seen.upper - seen.lower <= 1e-9 * np.maximum(given.table.magnitude[seen.cell], 1e-300)
    suppressed, pinned = np.unique(seen.cell), np.unique(seen.cell[exactly])
    sensitive = int(np.isin(pinned, given.primaries).sum())
    what = "protected" if how.counts()["conditional"] else "sensitive"
    console.print(f"{len(suppressed):,} suppressed cells: {len(pinned):,} can be computed exactly,")
    needed = np.concatenate([cells_to_protect(given, found, attacker) for attacker in given.attackers()])
    violated = np.isin(np.unique(seen.cell[~seen.safe]), needed)
    console.print(f"  {sensitive:,} of them sensitive; {int(violated.sum()):,} {what} cells miss their protection")
    _exposed(how)
    if report:
        show_lab(report)
    return 0 if seen.passed and (report is None or report.passed) else 1


def _exposed(how: Exposure) -> None:
    """In which ways sensitive cells are exposed."""
    count = how.counts()
    if not count["exposed"]:
        return
    what = "protected" if count["conditional"] else "sensitive"
    grid = Grid(box=None, show_header=False, pad_edge=False)
    grid.add_column(justify="right")
    grid.add_column()
    for key, words in {
        "exposed": f"of {count['primaries'] + count['conditional']:,} {what} cells are exposed",
        "fully": "  fully: their values can be computed",
        "partially": "  partially: the interval is too narrow",
        "unpicked": "  by single relations, one after the other",
        "initially": "    without the help of other exposed cells",
        "together": "  only by several relations at once",
        "k1": "candidates for protection, by K1",
        "k3": "candidates by K3",
        "k5": "candidates by K5",
    }.items():
        grid.add_row(f"{count[key]:,}", words)
    console.print()
    console.print(grid)
