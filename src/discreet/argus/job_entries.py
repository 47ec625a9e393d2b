"""The entries of a job file for the parts of a batch file of τ-ARGUS, and notes on what a job file cannot express."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

import numpy as np

from discreet.argus.classification import Classification
from discreet.argus.commands import COST_BY_FREQUENCY, COST_DISTANCE, COST_UNITY, Apriori, Command, Suppress
from discreet.argus.microdata import RecordFile
from discreet.argus.plans import METHOD_NAMES, SECONDS, gap_of, obstacle_to_contributions, unused_parameters
from discreet.argus.request import rules_of_request
from discreet.argus.work import Work, status_by_hand
from discreet.data.side_files import side_text
from discreet.data.spelling import Spelling, check_codes, check_spellings, without_stray_blanks
from discreet.errors import InputError, plural
from discreet.io.argus.codelist import read_codelist
from discreet.io.argus.statuses import ArgusStatus

SUPPRESSING = ("MOD", "OPT", "NET", "GH")  # methods with a level of safety
MAX_MARGIN = 100  # percent, in rules of job files
STRICTNESS = ("free", "published", "suppressed", "primary")  # of statuses by hand on a cell of several tables


@dataclass
class Converted:
    """The texts of the job file and of the files that it names, and what it does not say."""

    path: Path
    files: dict[Path, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def note(self, line: int, sentence: str) -> None:
        self.notes.append(f"line {line}: {sentence}")

    def hear(self, line: str) -> None:
        """Note what a run of the job says it does not use."""
        if line.endswith(("is not used", "Left out.")):
            self.notes.append(line)

    def relative(self, file: Path) -> str:
        return Path(os.path.relpath(file, self.path.parent)).as_posix()

    def add(self, ending: str, text: str) -> str:
        """Add a file beside the job file, named after it; returns its name."""
        file = self.path.with_name(f"{self.path.stem}-{ending}")
        self.files[file] = text
        return file.name


def text_entry(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def list_entry(texts: Sequence[object]) -> str:
    return json.dumps(list(texts), ensure_ascii=False)


def _csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def cost_entry(work: Work, found: Converted, *, held: bool) -> tuple[str, str]:
    """The cost, and the column that it needs."""
    spec = work.request.specify
    if spec.cost == COST_DISTANCE:
        found.note(spec.line, "costs by distance: the cost is 1 per cell")
    if spec.cost in (COST_UNITY, COST_DISTANCE):
        return "unit", ""
    if spec.cost == COST_BY_FREQUENCY:
        if spec.power != 1:
            found.note(spec.line, "lambda is for costs by value: frequencies are taken as they are")
        if held:
            found.note(spec.line, "costs by frequency: holdings are counted, not records")
        return "count", ""
    name = work.data.number(spec.cost).name if spec.cost else ""
    if not name or name == work.views.table.response:
        return ("value" if spec.power == 1 else f"power({spec.power:g})"), ""
    if spec.power != 1:
        found.note(spec.line, "lambda is for costs by value: the cost variable is taken as it is")
    if work.views.cost is not None and np.any((work.views.cost == 0) & (work.views.table.magnitude > 0)):
        found.note(spec.line, "costs of 0 are 0 here, and those of the cheapest other cell in τ-ARGUS")
    return f"column({name})", name


# -- dimensions -----------------------------------------------------------------------------------------------------


def dimension_entries(name: str, one: Classification, records: RecordFile, found: Converted) -> list[str]:
    variable, hierarchy = one.variable, one.hierarchy
    lines = [f"[dimensions.{text_entry(name)}]"]
    if one.recode:
        pairs = [(hierarchy.total, "")]
        pairs += [(code, hierarchy.codes[hierarchy.parents[0][i]]) for i, code in enumerate(hierarchy.codes) if i]
        lines.append(f"hierarchy = {text_entry(found.add(f'{name}.csv', _csv(['code', 'parent'], pairs)))}")
        lines.append(
            f"recode = {text_entry(found.add(f'{name}-recode.csv', _csv(['code', 'into'], one.recode.items())))}"
        )
    elif variable.hierarchy:
        file = records.paths.existing(variable.hierarchy, beside=records.metadata.path.parent)
        copied = variable.leader != "@"
        named = (
            found.add(f"{name}.hrc", _with_leader(side_text(file), variable.leader)) if copied else found.relative(file)
        )
        lines.append(f"hierarchy = {text_entry(named)}")
    elif variable.levels:
        lines.append(f"levels = {list(variable.levels)}")
    lines += [f"codes = {text_entry(file)}" for file in _code_list(name, one, records, found)]
    if hierarchy.total != "Total":
        lines.append(f"total = {text_entry(hierarchy.total)}")
    if hierarchy.missing:
        lines.append(f"missing_codes = {list_entry(sorted(hierarchy.missing))}")
    return lines + _spelling(name, one, records)


def _with_leader(text: str, leader: str) -> str:
    """A hierarchy file with @ in place of another lead string."""
    lines = []
    for line in text.splitlines():
        depth, rest = 0, line.strip()
        while rest.startswith(leader):
            depth, rest = depth + 1, rest[len(leader) :].lstrip()
        lines.append("@" * depth + rest)
    return "".join(line + "\n" for line in lines)


def _code_list(name: str, one: Classification, records: RecordFile, found: Converted) -> list[str]:
    """The name of a file with the labels of the codes, if the metadata have any, and with their order if it is another."""
    labels: dict[str, str] = {}
    if one.variable.codelist:
        labels = read_codelist(records.paths.existing(one.variable.codelist, beside=records.metadata.path.parent))
    hierarchy = one.hierarchy
    codes = [hierarchy.codes[i] for i in hierarchy.order().tolist()[1:]]
    if not labels and (one.recode or one.variable.hierarchy or codes == sorted(codes)):
        return []
    rows = [(code, labels.get(code, "")) for code in ([hierarchy.total] if hierarchy.total in labels else []) + codes]
    return [found.add(f"{name}-codes.csv", _csv(["code", "label"], rows))]


def _spelling(name: str, one: Classification, records: RecordFile) -> list[str]:
    """The settings by which codes are what they are, as in τ-ARGUS: 1 and 01 are two codes."""
    observed = records.frame[name].unique().tolist()
    lines = ["strip = false"] if any(without_stray_blanks(code) != code for code in observed) else []
    own: dict[str, str] = {}
    while True:
        given = Spelling(False, own)
        try:
            check_codes(name, observed, one.hierarchy, given, one.recode or {}, one.hierarchy.total)
            check_spellings(name, observed, given, total=one.hierarchy.total)
        except InputError as error:
            own |= {str(code): str(code) for code in error.offenders}
        else:
            break
    pairs = ", ".join(f"{text_entry(code)} = {text_entry(code)}" for code in own)
    return lines + ([f"merge = {{{pairs}}}"] if own else [])


# -- rules ----------------------------------------------------------------------------------------------------------


def rules_entry(works: Sequence[Work], found: Converted) -> list[str]:
    """The rules in the notation of job files. Those of holdings replace those of records."""
    request, views = works[0].request, works[0].views
    line, rules = request.rules.line, []
    held = request.applies_to_holdings()
    if held and request.protects != "holdings":
        found.note(line, "holdings are the respondents of all rules: rules of records beside them are left out")
    elif held:
        found.note(line, "holdings are the respondents of all rules")
    for p in _level(request.calls("P"), 2, held):
        n = p[2] if len(p) > 2 else p[1] if len(p) > 1 else 1
        if p[0]:
            rules.append(f"P({p[0]:g},{n:g})" if len(p) < 3 or p[1] == 100 else f"PQ({p[0]:g},{p[1]:g},{n:g})")
    rules += [f"NK({n:g},{k:g})" for n, k in _level(request.calls("NK"), 2, held) if n and k]
    if rules and request.weighted:
        found.note(line, "WGT(1): P and NK compare contributions as reported with the weighted remainder")
    for minimum, width in _level(request.calls("FREQ"), 1, held):
        if minimum:
            rules.append(f"{'W' if request.weighted else ''}FREQ({ceil(minimum):g},{min(width, MAX_MARGIN):g})")
            if width > MAX_MARGIN:
                found.note(line, f"a range of FREQ above {MAX_MARGIN} percent")
            if views.table.is_count:
                found.note(
                    line,
                    "the range of FREQ: of a count, readers must not be able to exclude any number up to the minimum",
                )
    for call in _level(request.calls("REQ"), 1, held):
        rules += [str(rule) for rule in rules_of_request(call)]
    for (width,) in request.calls("ZERO"):
        rules += [f"ZERO({width:g})"] if width else []
        if not width:
            found.note(line, "ZERO(0): a level of 0 protects nothing")
    raised = sum(one.found.raised for one in works)
    if raised:
        found.note(
            line,
            f"{plural(raised, 'cell')} violate several rules, and have the largest of their levels, not that of the first",
        )
    if any(np.any(one.views.table.magnitude != np.abs(one.views.table.value)) for one in works):
        found.note(
            line, "where contributions are negative, levels in percent are those of the sum of their absolute values"
        )
    return rules


def _level(calls: Sequence[tuple[float, ...]], several: int, held: bool) -> Sequence[tuple[float, ...]]:
    """The rules of holdings if there are any, and else those of records."""
    return calls[several:] if held and any(any(call) for call in calls[several:]) else calls[:several]


def statuses_entry(works: Sequence[Work], commands: Sequence[Command], found: Converted) -> list[str]:
    """A file of statuses from the decisions of a priori files, and the entry that names it."""
    names = list(dict.fromkeys(name for one in works for name in one.views.table.dimensions))
    totals = {name: h.total for one in works for name, h in one.views.table.dimensions.items()}
    given: dict[str, list[tuple[str, str]]] = {}  # by cell the statuses that its tables give it
    for work in works:
        table = work.views.table
        for i, codes in enumerate(table.codes.T.tolist()):
            by = {name: h.codes[c] for (name, h), c in zip(table.dimensions.items(), codes, strict=True)}
            cell = " × ".join(by.get(name, totals[name]) for name in names)
            is_primary = ArgusStatus(int(work.found.status[i])).is_primary
            status = status_by_hand(work, i)
            if status is not None or is_primary:
                given.setdefault(cell, []).append(status or ("primary", ""))
    strictest = {cell: max(several, key=lambda one: STRICTNESS.index(one[0])) for cell, several in given.items()}
    rows = [(cell, word, reason) for cell, (word, reason) in strictest.items() if reason]
    for work in works:
        for number, what in ((len(work.decisions.cost), "cost"), (len(work.decisions.levels), "protection level")):
            if number:
                line = next(c.line for c in commands if isinstance(c, Apriori) and c.table == work.number)
                found.note(line, f"{what}s of {plural(number, 'single cell')}")
    if not rows:
        return []
    return [f"statuses = {text_entry(found.add('statuses.csv', _csv(['cell', 'status', 'reason'], rows)))}"]


# -- protection -----------------------------------------------------------------------------------------------------


def protect_entries(
    works: Sequence[Work], commands: Sequence[Command], found: Converted, *, held: bool
) -> tuple[list[str], float | None]:
    """The entries on the method, and the prior knowledge of readers that it assumes."""
    numbers = [work.number for work in works]
    suppress = [one for one in commands if isinstance(one, Suppress) and (one.table == 0 or one.table in numbers)]
    if not suppress:
        found.note(commands[-1].line, "the job protects nothing: the method is the default")
        return [], None
    last = next((one for one in reversed(suppress) if one.table in (0, numbers[0])), suppress[-1])
    for other in suppress:
        if (other.method, other.arguments) != (last.method, last.arguments):
            found.note(
                other.line, f"{other.method}: the <SUPPRESS> in line {last.line} counts for all tables of this job file"
            )
    given = last.arguments
    lines = [f'method = "{METHOD_NAMES[last.method]}"']
    if last.method in ("OPT", "RND") and "minutes" in given:
        lines.append(f"time_limit = {given['minutes'] * SECONDS:g}")
    if last.method == "RND":
        lines.append(f"options = {{base = {given['base']:g}, steps = {int(given.get('steps', 0)) + 1}}}")
        lines += [f"gap = {gap_of(last):g}"] if gap_of(last) else []
    if last.method == "CKM":
        found.note(last.line, "the probability table and the keys of records: see the options of the method cell-key")
    for sentence in unused_parameters(last):
        found.note(last.line, sentence)
    if last.method in SUPPRESSING:
        obstacle = obstacle_to_contributions(works) if last.singletons else ""
        if last.singletons and not obstacle and not held:
            obstacle = "that of contributions needs a column with contributors (contributor)"
        if last.singletons and obstacle:
            found.note(last.line, f"singleton options: the level is that of cells: {obstacle}")
        if not last.singletons or obstacle:
            lines.append('level = "cells"')
    return lines, last.a_priori
