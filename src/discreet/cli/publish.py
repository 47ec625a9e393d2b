"""The commands publish and report, which audit a pattern and write its release and its reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from discreet.cli.attack import method_option, run_quick_attacks
from discreet.cli.common import (
    RELEASE_SUFFIXES,
    ExistingFile,
    NewFile,
    accept_symmetric_option,
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
)
from discreet.errors import InputError
from discreet.io import write_release, write_transmission, writing
from discreet.io.pattern import read_pattern
from discreet.io.sdmx.transmission import TRANSMISSION_WRITERS
from discreet.jobs.job import all_passed, audited, write_together
from discreet.jobs.job_file import MAX_DECIMALS, is_public, read_presentation
from discreet.languages import LANGUAGES
from discreet.level import Level
from discreet.presentation import Presentation
from discreet.progress import Budget, on_terminal
from discreet.promise import conditions, safe
from discreet.release import publish
from discreet.report import REPORT_TITLE, write_report, write_shareable

TRANSMISSION_SUFFIXES = tuple(TRANSMISSION_WRITERS)

symbol_option = click.option("--symbol", help="Symbol in suppressed cells; the default depends on the language.")
decimals_option = click.option(
    "--decimals", type=click.IntRange(-MAX_DECIMALS, MAX_DECIMALS), help="Round published values."
)
lang_option = click.option(
    "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language of the readers."
)


@click.command("publish")
@problem_argument
@pattern_option
@level_option
@attackers_option
@symbol_option
@decimals_option
@lang_option
@method_option
@click.option("--no-attacks", is_flag=True, help="Run no attacks before; the output says so.")
@accept_symmetric_option
@click.option(
    "--presentation",
    type=ExistingFile,
    help="TOML file with the sections [metadata], [workbook] and [sdmx] of a job file.",
)
@click.option(
    "--transmission",
    type=NewFile(*TRANSMISSION_SUFFIXES),
    help="Transmission edition to write, with reason codes (.sdmx.csv, .sdmx1.csv, .sdmx.xml). Confidential.",
)
@click.option(
    "--out",
    "outs",
    type=NewFile(*RELEASE_SUFFIXES),
    required=True,
    multiple=True,
    help="Release to write, in the format of its suffix; repeat for more.",
)
@quiet_option
def publish_command(
    problem: Path,
    pattern: Path,
    level: Level | None,
    attackers: Path | None,
    method: str | None,
    no_attacks: bool,
    accept_symmetric: bool,
    presentation: Path | None,
    transmission: Path | None,
    outs: tuple[Path, ...],
    quiet: bool,
    **appearance: Any,
) -> None:
    """Write the release, if the pattern passes the audit and withstands the quick attacks."""
    started = Budget()
    if transmission is not None and is_public(transmission):
        raise InputError(
            f"{transmission} is the name of a public file: give the transmission edition, which is confidential, another."
        )
    check_distinct(problem, pattern, attackers, presentation, transmission, *outs)
    presented = Presentation() if presentation is None else read_presentation(presentation)
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress:
        checked, in_force, respondents = audited(given, found, level, intervals=False, progress=progress)
        release = publish(
            given,
            found,
            checked,
            respondents,
            level=level,
            accept_symmetric=accept_symmetric,
            presentation=presented,
            **appearance,
        )
        report = None if no_attacks else run_quick_attacks(found, method, accept_symmetric, started.spent, progress)
    files: dict[Path | None, Callable[[Path], None]] = {
        out: partial(write_release, release, name=out.name) for out in outs
    }
    if transmission is not None:
        files[transmission] = partial(write_transmission, given, found, release, name=transmission.name)
    write_together(files, public=outs)
    console.print(f"{release!r}, {safe(found)}", markup=False)
    show_conditions(conditions(found, respondents, in_force, audit=checked, attacks=report))


@click.command("report")
@problem_argument
@pattern_option
@level_option
@attackers_option
@click.option(
    "--share", is_flag=True, help="The report that may be published with the release; only if the audit passes."
)
@accept_symmetric_option
@symbol_option
@decimals_option
@lang_option
@click.option("--title", default=REPORT_TITLE, show_default=True, help="Heading of the report.")
@click.option(
    "--out", type=NewFile(".html"), required=True, help="Report to write (.html). Confidential unless --share."
)
@quiet_option
def report_command(
    problem: Path,
    pattern: Path,
    level: Level | None,
    attackers: Path | None,
    share: bool,
    accept_symmetric: bool,
    title: str,
    out: Path,
    quiet: bool,
    **appearance: Any,
) -> int:
    """Audit a pattern and write the report.

    --symbol, --decimals and --lang are those of the release, which a report with --share describes.
    """
    check_distinct(problem, pattern, attackers, out)
    if not share and appearance != {"symbol": None, "decimals": None, "lang": "en"}:
        raise InputError("--symbol, --decimals and --lang are for the shareable report: add --share.")
    given = problem_with_attackers(problem, attackers)
    found = read_pattern(given, pattern)
    with on_terminal(quiet) as progress:
        checked, in_force, respondents = audited(given, found, level, intervals=not share, progress=progress)
    results = given, found, checked, respondents
    with writing(out, public=share) as draft:
        if share:
            write_shareable(draft, *results, title=title, level=level, accept_symmetric=accept_symmetric, **appearance)
        else:
            write_report(draft, *results, title=title, level=level)
    console.print(f"{verdict(checked, found)}; written {out}", markup=False)
    show_conditions(conditions(found, respondents, in_force, audit=checked))
    return 0 if all_passed(checked, respondents) else 1
