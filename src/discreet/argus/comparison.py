"""Compares a table that τ-ARGUS protected with the same table protected here, and audits its pattern."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.argus.plans import obstacle_to_contributions
from discreet.argus.work import Work, final_statuses, problem_of
from discreet.arrays import BoolArray
from discreet.audit import Audit
from discreet.audit.respondents import RespondentAudit
from discreet.drafts import create_private
from discreet.errors import InputError, plural
from discreet.io.argus.results import ResultCell, read_result
from discreet.io.argus.statuses import ArgusStatus
from discreet.jobs.job import all_passed, audited
from discreet.level import LevelInForce
from discreet.problem import Problem, Status
from discreet.progress import Progress, Silent
from discreet.protection import Protection, suppress

COMPARISON_COLUMNS = ("cell", "here", "there", "difference", "reason", "exposed to readers", "exposed to respondents")
SAME, OTHER_VALUE, OTHER_LEVELS, NOT_THERE = "none", "value", "levels", "not in their table"


@dataclass(frozen=True)
class ComparedCell:
    """A cell here and there. ``there`` is a status, or what their table shows of one."""

    label: str
    here: str
    there: str
    difference: str
    reason: str = ""


@dataclass(frozen=True, repr=False)
class ArgusComparison:
    """The cells of a table, here and in their file, and what the audit finds about their pattern. Confidential."""

    cells: tuple[ComparedCell, ...]
    audit: Audit
    respondents: RespondentAudit | None
    level: LevelInForce
    protection: Protection
    not_covered: str  # why respondents are not audited

    def __repr__(self) -> str:
        return f"ArgusComparison({plural(len(self.cells), 'cell')}, {plural(len(self.different), 'difference')})"

    @property
    def different(self) -> list[ComparedCell]:
        return [cell for cell in self.cells if cell.difference != SAME]

    @property
    def passed(self) -> bool:
        """Whether nothing can be inferred too closely from their pattern."""
        return all_passed(self.audit, self.respondents)

    @property
    def exposed_to_respondents(self) -> list[str]:
        """Cells from which some respondents infer too much about others."""
        if self.respondents is None:
            return []
        table = self.audit.problem.table
        return sorted({label for one in self.respondents.exposed for label in table.labels(one.cells)})

    def lines(self) -> list[str]:
        """What differs and what is exposed, in sentences without values."""
        counts = Counter(cell.difference for cell in self.cells)
        found = [f"{plural(len(self.cells), 'cell')} compared, {plural(len(self.different), 'difference')}"]
        for difference, n in counts.items():
            if difference != SAME:
                example = next(cell for cell in self.cells if cell.difference == difference)
                why = f" ({example.reason})" if example.reason else ""
                found.append(
                    f"{difference}: {plural(n, 'cell')}, e.g. {example.label}: "
                    f"here {example.here}, there {example.there}{why}"
                )
        exposed = self.audit.exposed
        found.append(
            "their pattern: no cell is exposed to readers"
            if self.audit.passed
            else f"their pattern: {plural(len(exposed), 'cell')} exposed to readers, e.g. {', '.join(exposed[:3])}"
        )
        if self.respondents is None:
            found.append(f"their pattern: respondents who use their own figures are not audited: {self.not_covered}")
        else:
            n, cells = len(self.respondents.respondents), self.exposed_to_respondents
            found.append(
                f"their pattern: none of {self.respondents.targets:,} respondents who need protection is exposed to others"
                if not n
                else f"their pattern: {plural(n, 'respondent')} exposed to other respondents, by {plural(len(cells), 'cell')}, "
                f"e.g. {', '.join(cells[:3])}"
            )
        return found


def compare_result(work: Work, path: Path, progress: Progress | None = None) -> ArgusComparison:
    """The comparison of a table of a job with the one in a file that τ-ARGUS wrote."""
    table = work.views.table
    missing = {name: one.variable.missing for name, one in work.listed.items()}
    theirs = {cell.codes: cell for cell in read_result(path, table.dimensions, missing)}
    labels = [
        tuple(h.codes[c] for h, c in zip(table.dimensions.values(), codes, strict=True))
        for codes in table.codes.T.tolist()
    ]
    _refuse_cells_of_nothing(theirs, labels, path)
    here = final_statuses(work)
    suppressed = np.array([label in theirs and theirs[label].suppressed for label in labels], dtype=bool)
    compared = [_compared(work, i, ArgusStatus(int(here[i])), theirs.get(label)) for i, label in enumerate(labels)]
    problem = _as_published(work.problem or problem_of(work), suppressed)
    protection = suppress(problem, suppressed)
    obstacle = obstacle_to_contributions([work])
    checked, level, respondents = audited(
        problem, protection, "cells" if obstacle else None, progress=progress or Silent()
    )
    return ArgusComparison(tuple(compared), checked, respondents, level, protection, obstacle or level.not_covered)


def _refuse_cells_of_nothing(
    theirs: dict[tuple[str, ...], ResultCell], labels: list[tuple[str, ...]], path: Path
) -> None:
    """Raise if their table suppresses, or has a value for, a cell without records: it is another table."""
    known = set(labels)
    for codes, cell in theirs.items():
        if codes not in known and (cell.suppressed or cell.value):
            label = " × ".join(codes)
            raise InputError(
                f"{path}, line {cell.line}: cell {label!r} is empty in the job: no record has all its codes. Is this a table of "
                "the job?",
                [label],
            )


def _as_published(problem: Problem, suppressed: BoolArray) -> Problem:
    """The problem with statuses that allow their pattern."""
    status = problem.status.copy()
    status[suppressed & (status == Status.PUBLISHED)] = Status.FREE
    status[~suppressed & (status == Status.SUPPRESSED)] = Status.FREE
    return problem.with_columns(status=status)


def _compared(work: Work, i: int, here: ArgusStatus, theirs: ResultCell | None) -> ComparedCell:
    table = work.views.table
    label = table.label(i)
    if theirs is None:
        return ComparedCell(label, here.words, "", NOT_THERE, "empty cells may be left out" if here.is_empty else "")
    there = _shown(theirs)
    if theirs.value is not None and abs(theirs.value - table.value[i]) > 0.5000001 * 10.0**-work.views.decimals:
        return ComparedCell(label, here.words, there, OTHER_VALUE, "their value is rounded, adjusted, or of other data")
    if here.is_suppressed != theirs.suppressed:
        side = "suppressed here only" if here.is_suppressed else "suppressed there only"
        return ComparedCell(label, here.words, there, side, _why(work, i, here, theirs))
    status = theirs.status
    if here.is_suppressed and status is not None and here.is_primary != status.is_primary:
        side = "primary here, secondary there" if here.is_primary else "secondary here, primary there"
        return ComparedCell(label, here.words, there, side, _why(work, i, here, theirs))
    if here.is_primary and (levels := _levels(theirs)) is not None:
        unit = 10.0**-work.views.decimals
        ours = work.found.lower[i], work.found.upper[i]
        if any(abs(a - b) > unit for a, b in zip(ours, levels, strict=True)):
            return ComparedCell(label, here.words, there, OTHER_LEVELS, _rules(work, i))
    return ComparedCell(label, here.words, there, SAME)


def _shown(cell: ResultCell) -> str:
    if cell.status is not None:
        return cell.status.words
    return "suppressed" if cell.suppressed else "published"


def _levels(cell: ResultCell) -> tuple[float, float] | None:
    """The protection levels in a line of an intermediate table."""
    if len(cell.rest) < 2 or cell.status is None:
        return None
    try:
        lower, upper = (float(text.replace(",", ".")) for text in cell.rest[-2:])
    except ValueError:
        return None
    return lower, upper


def _why(work: Work, i: int, here: ArgusStatus, theirs: ResultCell) -> str:
    """Why a cell is treated differently."""
    if i in work.decisions.status:
        return f"decided by hand: {work.decisions.status[i][1]}"
    if here.is_primary:
        return f"here it violates {_rules(work, i)}"
    if theirs.status is not None and theirs.status.is_primary:
        return "no rule of the job calls it unsafe"
    return "another choice of secondary cells"


def _rules(work: Work, i: int) -> str:
    """The names of the rules that a cell violates, without their parameters."""
    named = dict.fromkeys(rule.text.partition("(")[0] for rule in work.found.rules if rule.found.sensitive[i])
    return " and ".join(named) or "no rule"


def write_report(comparison: ArgusComparison, path: Path) -> None:
    """The comparison cell by cell, as CSV. Confidential: it tells primary from secondary cells."""
    create_private(path)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COMPARISON_COLUMNS)
    readers, respondents = set(comparison.audit.exposed), set(comparison.exposed_to_respondents)
    yes: Callable[[bool], str] = lambda holds: "yes" if holds else "no"  # noqa: E731
    for cell in comparison.cells:
        exposed = [yes(cell.label in readers), yes(cell.label in respondents) if comparison.respondents else ""]
        writer.writerow([cell.label, cell.here, cell.there, cell.difference, cell.reason, *exposed])
    path.write_text(text.getvalue(), encoding="utf-8")
