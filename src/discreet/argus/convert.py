"""Converts a batch file of τ-ARGUS into a job file; what a job file cannot express is listed at its top."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from discreet.argus.commands import (
    COST_BY_FREQUENCY,
    COST_DISTANCE,
    COST_UNITY,
    Apriori,
    Clear,
    Command,
    OpenData,
    OpenMetadata,
    Recode,
    SafetyRule,
    Skipped,
    SpecifyTable,
    Suppress,
    WriteTable,
)
from discreet.argus.parser import read_batch
from discreet.argus.paths import Paths
from discreet.argus.plans import METHOD_NAMES, SECONDS, SINGLETON_OPTIONS
from discreet.argus.request import ArgusRequest
from discreet.errors import InputError, placing
from discreet.io.argus.apriori import STATUS_OF_APRIORI, read_apriori
from discreet.io.argus.metadata import Metadata, Variable, read_metadata

STATUS_WORDS = {"safe": "free", "unsafe": "primary", "protected": "published", "suppressed": "suppressed"}


@dataclass
class Converted:
    """The texts of the job file and of the files that it names, and what it does not say."""

    path: Path
    files: dict[Path, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, line: int, sentence: str) -> None:
        self.notes.append(f"line {line}: {sentence}")

    def relative(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.path.parent)).as_posix()


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
    paths = Paths(batch.parent, batch.parent, lambda line: found.notes.append(line))
    opened = next(command for command in commands if isinstance(command, OpenMetadata))
    metadata = read_metadata(paths.existing(opened.file), "records")
    requests = _requests(commands, found)
    with placing(batch):
        sections = _sections(commands, requests, paths.existing(data.file), metadata, paths, found)
    top = [f"# From {batch.name}."]
    top += ["#", "# Not in this job file:", *(f"# - {note}" for note in found.notes)] if found.notes else []
    found.files[path] = "\n".join([*top, "", *sections]) + "\n"
    return found


def _first_session(commands: Sequence[Command], found: Converted) -> list[Command]:
    end = next((k for k, command in enumerate(commands) if isinstance(command, Clear)), len(commands))
    if end < len(commands) - 1:
        found.note(commands[end].line, "what follows <CLEAR> is a job of its own")
    for command in commands[:end]:
        if isinstance(command, Skipped) and command.sentence:
            found.note(command.line, f"<{command.keyword}>: {command.sentence}")
    return list(commands[:end])


def _requests(commands: Sequence[Command], found: Converted) -> list[ArgusRequest]:
    """The tables of the job file: all that are protected together, or else the first."""
    tables: list[ArgusRequest] = []
    for command in commands:
        if isinstance(command, SpecifyTable):
            tables.append(ArgusRequest(command, SafetyRule(command.line, ())))
        elif isinstance(command, SafetyRule):
            tables[-1] = ArgusRequest(tables[-1].specify, command)
    if len(tables) < 2:
        return tables
    first = tables[0]
    alike = [
        one for one in tables if one.specify.response == first.specify.response and one.rules.rules == first.rules.rules
    ]
    for one in tables:
        if one not in alike:
            found.note(one.specify.line, "a table with another response or other rules needs a job file of its own")
    if not any(isinstance(command, Suppress) and command.table == 0 for command in commands):
        found.note(first.specify.line, "tables are protected together here, as readers see all of them, not one by one")
    return alike


def _sections(
    commands: Sequence[Command],
    requests: Sequence[ArgusRequest],
    data: Path,
    metadata: Metadata,
    paths: Paths,
    found: Converted,
) -> list[str]:
    request = requests[0]
    spec = request.specify
    lines = []
    by = list(dict.fromkeys(_found(metadata, name).name for one in requests for name in one.specify.by))
    if len(requests) > 1:
        tables = [[_found(metadata, name).name for name in one.specify.by] for one in requests]
        lines += [f"tables = {json.dumps(tables)}", ""]
    lines += ["[data]", f"file = {_text(found.relative(data))}", f"layout = {_text(found.relative(metadata.path))}"]
    if not spec.counts:
        lines.append(f"response = {_text(_found(metadata, spec.response).name)}")
    holding, weight, asked = (metadata.single(name) for name in ("holding", "weight", "request"))
    if holding is not None and request.applies_to_holdings():
        lines.append(f"holding = {_text(holding.name)}")
    if weight is not None and request.weighted:
        lines += [f"weight = {_text(weight.name)}", 'weights = "secret"']
        found.note(
            request.rules.line,
            "WGT(1): rules of a job file compare contributions as reported with the weighted remainder",
        )
    if asked is not None and request.calls("REQ"):
        lines.append(f"request = {_text(asked.name)}")
        if set(asked.request) != {"1"}:
            found.note(
                request.rules.line,
                "REQ: every entry of the variable except 0 and blanks marks a request, with one percentage",
            )
    cost, extra = _cost(spec, metadata, found)
    lines += [f"extra = [{_text(extra)}]"] if extra else []
    if spec.shadow and spec.shadow.upper() != spec.response.upper():
        found.note(spec.line, f"rules judge by {spec.response}, not by the shadow variable {spec.shadow}")
    for name in by:
        lines += ["", *_dimension(_found(metadata, name), metadata, paths, found)]
    lines += ["", "[rules]", f"sensitive = {json.dumps(_rules(request, found), ensure_ascii=False)}"]
    lines += [f"margin = {number:g}" for (number,) in request.calls("MAN")]
    lines += _statuses(commands, len(spec.by), paths, found)
    lines += ["", "[protect]", *_protect(commands, found), f'cost = "{cost}"']
    for command in commands:
        if isinstance(command, Recode):
            found.note(command.line, f"the recode of {command.variable}: see `recode` and `hierarchy` of a dimension")
        if isinstance(command, WriteTable) and command.kind > 3:
            found.note(command.line, f"output of type {command.kind}; a job writes a release, a pattern and reports")
    return lines


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _found(metadata: Metadata, name: str) -> Variable:
    variable = metadata.find(name)
    if variable is None:
        raise InputError(f"{metadata.path.name} has no variable {name!r}.", [name])
    return variable


def _cost(spec: SpecifyTable, metadata: Metadata, found: Converted) -> tuple[str, str]:
    """The cost, and the column that it needs."""
    if spec.cost == COST_DISTANCE:
        found.note(spec.line, "costs by distance: the cost is 1 per cell")
    if spec.cost in (COST_UNITY, COST_DISTANCE):
        return "unit", ""
    if spec.cost == COST_BY_FREQUENCY:
        if spec.power != 1:
            found.note(spec.line, "lambda is for costs by value: frequencies are taken as they are")
        return "count", ""
    name = _found(metadata, spec.cost).name if spec.cost else ""
    other = name if name and not spec.counts and name.upper() != spec.response.upper() else ""
    if spec.power != 1 and other:
        found.note(spec.line, "lambda is for costs by value: the cost variable is taken as it is")
    if other:
        return f"column({other})", other
    return ("value" if spec.power == 1 else f"power({spec.power:g})"), ""


def _dimension(variable: Variable, metadata: Metadata, paths: Paths, found: Converted) -> list[str]:
    lines = [f"[dimensions.{_text(variable.name)}]"]
    if variable.hierarchy:
        file = paths.existing(variable.hierarchy, beside=metadata.path.parent)
        if variable.leader == "@":
            lines.append(f"hierarchy = {_text(found.relative(file))}")
        else:
            copy = found.path.with_name(f"{found.path.stem}-{variable.name}.hrc")
            text = file.read_text(encoding="utf-8", errors="replace")
            found.files[copy] = _with_leader(text, variable.leader)
            lines.append(f"hierarchy = {_text(copy.name)}")
        if variable.missing:
            found.note(
                variable.line, f"missing codes of {variable.name} are codes like others: add them to its hierarchy"
            )
    elif variable.levels:
        lines.append(f"levels = {list(variable.levels)}")
    if variable.total != "Total":
        lines.append(f"total = {_text(variable.total)}")
    return lines


def _with_leader(text: str, leader: str) -> str:
    """A hierarchy file with @ in place of another lead string."""
    lines = []
    for line in text.splitlines():
        depth, rest = 0, line.strip()
        while rest.startswith(leader):
            depth, rest = depth + 1, rest[len(leader) :].lstrip()
        lines.append("@" * depth + rest)
    return "".join(line + "\n" for line in lines)


def _rules(request: ArgusRequest, found: Converted) -> list[str]:
    """The rules in the notation of job files. Those of holdings replace those of records."""
    line, rules = request.rules.line, []
    held = request.applies_to_holdings()
    if held:
        found.note(line, "holdings are the respondents of all rules: rules of records beside them are left out")
    for p in _level(request.calls("P"), 2, held):
        n = p[2] if len(p) > 2 else p[1] if len(p) > 1 else 1
        if p[0]:
            rules.append(f"P({p[0]:g},{n:g})" if len(p) < 3 or p[1] == 100 else f"PQ({p[0]:g},{p[1]:g},{n:g})")
    rules += [f"NK({n:g},{k:g})" for n, k in _level(request.calls("NK"), 2, held) if n and k]
    rules += [f"FREQ({n:g},{width:g})" for n, width in _level(request.calls("FREQ"), 1, held) if n]
    for percent1, percent2, minimum, margin in _level(request.calls("REQ"), 1, held):
        rules.append(f"REQ({percent1:g},{margin:g})")
        if minimum or percent2 not in (0, percent1):
            found.note(line, "the second percentage and the minimum frequency of REQ")
    rules += [f"ZERO({width:g})" for (width,) in request.calls("ZERO")]
    if request.calls("MIS") == [(1.0,)]:
        found.note(line, "MIS(1): cells with a missing code are primary if they violate a rule")
    if len(rules) > 1:
        found.note(line, "a cell that violates several rules has the largest of their levels, not that of the first")
    return rules


def _level(calls: Sequence[tuple[float, ...]], several: int, held: bool) -> Sequence[tuple[float, ...]]:
    """The rules of holdings if there are any, and else those of records."""
    return calls[several:] if held and any(any(call) for call in calls[several:]) else calls[:several]


def _statuses(commands: Sequence[Command], n_codes: int, paths: Paths, found: Converted) -> list[str]:
    """A file of statuses from the a priori files of table 1, and the entry that names it."""
    rows: dict[str, tuple[str, str]] = {}
    for command in commands:
        if not isinstance(command, Apriori):
            continue
        if command.table != 1:
            found.note(command.line, "an a priori file of a further table")
            continue
        path = paths.existing(command.file)
        entries, _ = read_apriori(path, n_codes, command.separator, skip_faults=command.ignore_errors)
        for entry in entries:
            if entry.word in STATUS_OF_APRIORI:
                reason = f"{path.name}, line {entry.line}"
                rows[" × ".join(entry.codes)] = (STATUS_WORDS[STATUS_OF_APRIORI[entry.word]], reason)
        if any(entry.word not in STATUS_OF_APRIORI for entry in entries):
            found.note(command.line, "costs and protection levels of single cells")
        if command.expand_trivial:
            found.note(command.line, "the expansion of trivial levels")
    if not rows:
        return []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["cell", "status", "reason"])
    writer.writerows([cell, *status] for cell, status in rows.items())
    file = found.path.with_name(f"{found.path.stem}-statuses.csv")
    found.files[file] = text.getvalue()
    return [f"statuses = {_text(file.name)}"]


def _protect(commands: Sequence[Command], found: Converted) -> list[str]:
    suppress = [command for command in commands if isinstance(command, Suppress) and command.table in (0, 1)]
    if not suppress:
        found.note(commands[-1].line, "the job protects nothing: the method is the default")
        return []
    for other in suppress[:-1]:
        found.note(other.line, f"{other.method}: a later <SUPPRESS> replaces it")
    last = suppress[-1]
    lines = [f'method = "{METHOD_NAMES[last.method]}"']
    given = last.arguments
    if last.method in ("OPT", "RND") and "minutes" in given:
        lines.append(f"time_limit = {given['minutes'] * SECONDS:g}")
    if last.method == "RND":
        lines.append(f"options = {{base = {given['base']:g}, steps = {int(given.get('steps', 0)) + 1}}}")
    if last.method == "CKM":
        found.note(last.line, "the probability table and the keys of records: see the options of the method cell-key")
    if last.method in ("MOD", "OPT", "NET", "GH"):
        singletons = [bool(given[name]) for name in SINGLETON_OPTIONS if name in given]
        if not (any(singletons) if singletons else last.method == "GH"):
            lines.append('level = "cells"')
        else:
            found.note(
                last.line,
                "singleton options: the level of contributions needs a column with contributors (contributor)",
            )
    return lines
