"""Patterns: CSV files ``cell,status`` with one line per cell. Confidential: they distinguish primary and secondary cells.

If cells are published as intervals or adjusted, there are three more columns: ``value,lower,upper``.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from discreet.data.cell_names import read_cells
from discreet.drafts import create_private
from discreet.errors import FormatError, placing, some
from discreet.problem import Problem
from discreet.protection import Decision, Protection, publish_intervals, suppress

PATTERN_COLUMNS = ["cell", "status"]
INTERVAL_COLUMNS = [*PATTERN_COLUMNS, "value", "lower", "upper"]  # empty without a published value or end
PATTERN_DECISIONS = (Decision.PUBLISHED, Decision.PRIMARY, Decision.SECONDARY)  # without values and intervals


def write_pattern(protection: Protection, path: str | Path) -> None:
    protection = protection.listed
    columns: list[list[str]] = [
        protection.problem.table.labels(),
        [Decision(decision).word for decision in protection.decision],
    ]
    if not protection.only_suppresses:
        for column in (protection.published, protection.lower, protection.upper):
            columns.append([repr(value) if math.isfinite(value) else "" for value in column.tolist()])
    create_private(path)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(PATTERN_COLUMNS if protection.only_suppresses else INTERVAL_COLUMNS)
        writer.writerows(zip(*columns, strict=True))


def read_pattern(problem: Problem, path: str | Path) -> Protection:
    """The protection that a pattern describes, with a report without method and bound."""
    rows = read_cells(path, PATTERN_COLUMNS[1:], INTERVAL_COLUMNS[2:], list(problem.table.dimensions))
    named = [name for name in INTERVAL_COLUMNS[2:] if rows and name in rows[0][1]]  # in the order of `published`
    if named and len(named) < 3:
        raise FormatError(f"{path}: a pattern has either all or none of the columns {some(INTERVAL_COLUMNS[2:])}.")
    with_intervals = bool(named)
    words = {decision.word for decision in (Decision if with_intervals else PATTERN_DECISIONS)}
    suppressed = np.arange(len(problem)) >= problem.table.n_listed  # cells behind linked tables, which are not listed
    seen = suppressed.copy()
    published = np.array([[math.nan], [-math.inf], [math.inf]]) * np.ones(len(problem))  # value, lower and upper end
    for number, row in rows:
        where = f"{path}, line {number}"
        status = row["status"].strip().lower()
        if status not in words:
            raise FormatError(f"{where}: expected a cell and one of {some(sorted(words))}.")
        with placing(where):
            i = problem.table.index(row["cell"])
        if seen[i]:
            raise FormatError(f"{where}: cell {row['cell']!r} occurs twice.", [row["cell"]])
        seen[i], suppressed[i] = True, status in (Decision.PRIMARY.word, Decision.SECONDARY.word)
        for k, name in enumerate(named):
            if row[name].strip():
                published[k, i] = _number(row[name], where)
        if with_intervals and suppressed[i] != math.isnan(published[0, i]):
            raise FormatError(f"{where}: cells have a value unless they are suppressed.", [row["cell"]])
    if not seen.all():
        missing = problem.table.labels(np.flatnonzero(~seen))
        raise FormatError(f"{path}: {len(missing)} cells of the problem are missing, e.g. {some(missing)}.", missing)
    if not with_intervals:
        return suppress(problem, suppressed)
    return publish_intervals(problem, *published, cost=float(problem.cost[suppressed].sum()))


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(f"{where}: value, lower and upper are numbers, or empty.")
    return number
