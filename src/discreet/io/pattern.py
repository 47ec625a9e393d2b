"""Patterns: CSV files ``cell,status`` with one line per cell. Confidential: they distinguish primary and secondary cells.

If cells are published as intervals or adjusted, there are three more columns: ``value,lower,upper``.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from discreet.drafts import create_private
from discreet.errors import FormatError, some
from discreet.io.csv import numbered_lines
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
    rows = numbered_lines(path)
    header = [name.strip() for name in rows[0][1]] if rows else []
    if header not in (PATTERN_COLUMNS, INTERVAL_COLUMNS):
        raise FormatError(f"{path}: a pattern begins with the line 'cell,status' or {','.join(INTERVAL_COLUMNS)!r}.")
    index = {label: i for i, label in enumerate(problem.table.listed.labels())}
    words = {decision.word for decision in (PATTERN_DECISIONS if header == PATTERN_COLUMNS else Decision)}
    suppressed = np.arange(len(problem)) >= len(index)  # cells behind linked tables, which are not listed
    seen = suppressed.copy()
    published = np.array([[math.nan], [-math.inf], [math.inf]]) * np.ones(len(problem))  # value, lower and upper end
    for number, row in rows[1:]:
        if len(row) != len(header) or row[1] not in words:
            raise FormatError(f"{path}, line {number}: expected a cell and one of {some(sorted(words))}.")
        if row[0] not in index:
            raise FormatError(f"{path}, line {number}: the problem has no cell {row[0]!r}.", [row[0]])
        i = index[row[0]]
        if seen[i]:
            raise FormatError(f"{path}, line {number}: cell {row[0]!r} occurs twice.", [row[0]])
        seen[i], suppressed[i] = True, row[1] in (Decision.PRIMARY.word, Decision.SECONDARY.word)
        for k, text in enumerate(row[2:]):
            if text:
                published[k, i] = _number(text, f"{path}, line {number}")
        if header == INTERVAL_COLUMNS and suppressed[i] != math.isnan(published[0, i]):
            raise FormatError(f"{path}, line {number}: cells have a value unless they are suppressed.", [row[0]])
    if not seen.all():
        missing = problem.table.labels(np.flatnonzero(~seen))
        raise FormatError(f"{path}: {len(missing)} cells of the problem are missing, e.g. {some(missing)}.", missing)
    if header == PATTERN_COLUMNS:
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
