"""The command check, which checks a job file without protecting its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from discreet.cli.common import ExistingFile, console
from discreet.data.hierarchy import Hierarchy
from discreet.data.opened_records import MARKS_FOR_CODES
from discreet.errors import dimension_section, plural, some
from discreet.jobs.check import check_job
from discreet.jobs.job_file import Job, is_public
from discreet.level import level_of
from discreet.methods import METHODS
from discreet.methods.method import traits_of
from discreet.problem import Problem
from discreet.rules import in_words, parse_rules

MAX_SHOWN_GROUPS, MAX_SHOWN_CODES = 4, 3


@click.command("check")
@click.argument("job", type=ExistingFile)
def check_command(job: Path) -> int:
    """Check a job file, and say what it would do; nothing is protected or written."""
    return show_check(job)


def show_check(path: Path) -> int:
    """Print what a job would do, or all faults found; the exit code."""
    checked = check_job(path)
    for sentence in checked.understood:
        console.print(sentence, markup=False)
    if checked.job is not None and checked.problem is not None:
        for line in described(checked.job, checked.problem):
            console.print(line, markup=False)
        console.print(f"Run it: discreet run {path}", markup=False)
        return 0
    console.print(f"{plural(len(checked.faults), 'fault')}:", markup=False)
    for fault in checked.faults:
        console.print(f"- {fault}", markup=False)
    console.print("Mend them and check again.")
    return 2


def described(job: Job, problem: Problem) -> Iterator[str]:
    """What a job does, in sentences."""
    table = problem.table.listed
    kind = table.response if not table.is_count else "counts of contributors"
    kind += f" ({table.response})" if table.is_count and table.response != "count" else ""
    yield f"{job.title}: {kind} by {' × '.join(table.dimensions)}, {plural(len(table), 'cell')}."
    for name, hierarchy in table.dimensions.items():
        finest, depth = int(hierarchy.is_leaf.sum()), int(hierarchy.depth.max())
        below = "the total" if depth == 1 else f"{plural(depth - 1, 'level')} and the total"
        yield f"  {name}: {plural(finest, 'code')} below {below}{_groups(hierarchy) if depth > 1 else ''}"
        marks = [code for code in hierarchy.codes if code.strip().casefold() in MARKS_FOR_CODES]
        if marks:
            entry = ", ".join(f'"{mark}" = "unknown"' for mark in marks)
            yield (
                f"  ! {name} has the code {some(marks)}, which often means that there is none. It gets cells of its own. For "
                f"another name, write merge = {{{entry}}} under {dimension_section(name)}."
            )
    yield "Rules:"
    for rule in parse_rules(job.rules.sensitive, job.rules.boundary):  # type: ignore[arg-type]  # checked by check_job
        yield f"  {rule}: {in_words(rule)}"
    if not job.rules.sensitive:
        yield "  none: sensitive cells are those with a status by hand"
    sensitive = len(problem.primaries)
    yield f"  {plural(sensitive, 'cell is', 'cells are')} sensitive, {sensitive / max(len(table), 1):.1%} of all."
    suppresses = traits_of(METHODS[job.protect.method]).suppresses
    level = level_of(problem, suppresses, job.level)
    protects = "the contributions of every respondent" if level.covers_respondents else "the values of sensitive cells"
    cost = f" at the least cost by {job.protect.cost}" if suppresses else ""
    limit = "" if job.protect.time_limit is None else f", within {job.protect.time_limit:g} seconds"
    yield f"Method: {job.protect.method}, which protects {protects}{cost}{limit}."
    if level.not_covered:
        yield f"  {level.not_covered}"
    written = [f"{name}{' (public)' if is_public(Path(name)) else ''}" for name in job.writes()]
    yield f"Writes into {job.output.folder}: {', '.join(written)}."
    yield "No fault was found."


def _groups(hierarchy: Hierarchy) -> str:
    """The groups below the total with some of their codes, so that wrong groups are seen."""
    parts: dict[int, list[int]] = {}
    for _tree, total, below in hierarchy.equations():
        parts.setdefault(total, below.tolist())  # of several groupings the first
    groups = [i for i in parts[0] if i in parts]
    shown = [
        f"{hierarchy.codes[group]} ({_listed([hierarchy.codes[i] for i in parts[group]], MAX_SHOWN_CODES)})"
        for group in groups
    ]
    return f", in {plural(len(groups), 'group')}: {_listed(shown, MAX_SHOWN_GROUPS)}" if groups else ""


def _listed(items: list[str], limit: int) -> str:
    return ", ".join(items[:limit]) + (", …" if len(items) > limit else "")
