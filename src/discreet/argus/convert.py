"""Converts a batch file of τ-ARGUS into a job file; what a job file cannot express is listed at its top.

The tables are made and assessed as by the batch file, so that its decisions and recodes are known as they apply to the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.argus.commands import Clear, Command, Logbook, OpenData, Skipped, Suppress, VersionInfo, WriteTable
from discreet.argus.job_entries import (
    Converted,
    cost_entry,
    dimension_entries,
    list_entry,
    protect_entries,
    rules_entry,
    statuses_entry,
    text_entry,
)
from discreet.argus.microdata import RecordFile
from discreet.argus.parser import read_batch
from discreet.argus.paths import Paths
from discreet.argus.session import ArgusSession
from discreet.argus.work import Work
from discreet.errors import InputError, placing
from discreet.io.argus.records import decimal_of
from discreet.progress import Silent


def converted(batch: Path, path: Path) -> Converted:
    """The job file for a batch file, to be written at ``path``."""
    found = Converted(path)
    commands = _first_session(read_batch(batch), found)
    data = next(command for command in commands if isinstance(command, OpenData))
    if data.tabulated:
        raise InputError(
            f"{batch}, line {data.line}: a job file reads finished tables with the names of columns in line 1, and tables of "
            "τ-ARGUS have none. Run the job with `discreet argus`, or add this line and write [table] by hand."
        )
    session = ArgusSession(
        batch, Paths(batch.parent, batch.parent, lambda _: None), found.hear, Silent(), contributions=True
    )
    session.run([command for command in commands if not isinstance(command, Suppress)], writes=False)
    with placing(batch):
        works = _tables(session.works, commands, found)
        sections = _sections(works, commands, found)
    top = [f"# From {batch.name}."]
    top += ["#", "# Not in this job file:", *(f"# - {note}" for note in found.notes)] if found.notes else []
    found.files[path] = "\n".join([*top, "", *sections]) + "\n"
    return found


def _first_session(commands: Sequence[Command], found: Converted) -> list[Command]:
    end = next((k for k, command in enumerate(commands) if isinstance(command, Clear)), len(commands))
    if end < len(commands) - 1:
        found.note(commands[end].line, "what follows <CLEAR> is a job of its own")
    for command in commands[:end]:
        match command:
            case Skipped(line, keyword, sentence) if sentence:
                found.note(line, f"<{keyword}>: {sentence}")
            case Logbook(line) | VersionInfo(line):
                found.note(line, f"<{type(command).__name__.upper()}>: a job prints what it does, and writes reports")
            case WriteTable(line, _, kind, options) if kind > 3 or options.AS:
                what = f"output of type {kind}{' with AS+' if kind < 4 else ''}"
                found.note(line, f"{what}; a job writes a release, a pattern and reports")
    return list(commands[:end])


def _tables(works: Sequence[Work], commands: Sequence[Command], found: Converted) -> list[Work]:
    """The tables of the job file: those with the response and the rules of the first."""
    first = works[0]
    alike = [
        one
        for one in works
        if one.views.table.response == first.views.table.response
        and one.request.rules.rules == first.request.rules.rules
        and one.request.judged.upper() == first.request.judged.upper()
    ]
    for one in works:
        if one not in alike:
            found.note(
                one.request.specify.line, "a table with another response or other rules needs a job file of its own"
            )
    for one in alike[1:]:
        here, there = first.request.specify, one.request.specify
        if (here.cost, here.power) != (there.cost, there.power):
            found.note(there.line, "costs of this table: those of the first apply to all")
    together = any(isinstance(command, Suppress) and command.table == 0 for command in commands)
    if len(alike) > 1 and not together:
        found.note(
            first.request.specify.line, "tables are protected together here, as readers see all of them, not one by one"
        )
    return alike


def _sections(works: Sequence[Work], commands: Sequence[Command], found: Converted) -> list[str]:
    first = works[0]
    request, spec, records = first.request, first.request.specify, first.data
    assert isinstance(records, RecordFile)
    listed = {name: first_of.listed[name] for first_of in works for name in first_of.views.table.dimensions}
    lines = []
    if len(works) > 1:
        lines += [f"tables = {list_entry([list(one.views.table.dimensions) for one in works])}", ""]
    lines += ["[data]", f"file = {text_entry(found.relative(records.file))}"]
    lines.append(f"layout = {text_entry(found.relative(records.metadata.path))}")
    decimal = decimal_of(records.file, records.metadata, records.used)
    lines += [f"decimal = {text_entry(decimal)}"] if decimal else []
    if not spec.counts:
        lines.append(f"response = {text_entry(first.views.table.response)}")
    holding, weight, asked = (records.metadata.single(name) for name in ("holding", "weight", "request"))
    held = holding is not None and request.applies_to_holdings()
    if holding is not None and held:
        lines += [f"holding = {text_entry(holding.name)}", 'names = "exact"']
    if weight is not None and request.weighted:
        lines += [f"weight = {text_entry(weight.name)}", 'weights = "secret"']
    if asked is not None and request.calls("REQ"):
        lines += [f"request = {text_entry(asked.name)}", f"requests = {list_entry(asked.request)}"]
    cost, extra = cost_entry(first, found, held=held)
    lines += [f"extra = {list_entry([extra])}"] if extra else []
    if first.views.shadowed:
        found.note(spec.line, f"rules judge by {spec.response}, not by the shadow variable {spec.shadow}")
    for name, one in listed.items():
        lines += ["", *dimension_entries(name, one, records, found)]
    lines += ["", "[rules]", f"sensitive = {list_entry(rules_entry(works, found))}"]
    lines += [f"margin = {number:g}" for (number,) in request.calls("MAN")]
    lines.append(f"least_level = {10.0**-first.views.decimals:g}")
    if request.missing_is_safe and any(one.hierarchy.missing for one in listed.values()):
        lines.append('missing_codes = "safe"')
    lines += statuses_entry(works, commands, found)
    protect, prior = protect_entries(works, commands, found, held=held)
    lines += [f"prior = {prior:g}"] if prior is not None else []
    lines += ["", "[protect]", *protect, f'cost = "{cost}"']
    return lines + ([] if spec.counts else ["", "[output]", f"decimals = {first.views.decimals}"])
