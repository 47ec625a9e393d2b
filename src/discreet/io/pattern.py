"""What becomes of each cell: ``cell,status``, one line a cell. Confidential: it tells primaries from secondaries.

Where cells are published as intervals or with other values, three more columns say so: ``value,lower,upper``.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from discreet.drafts import create_private
from discreet.errors import FormatError, some
from discreet.problem import Problem
from discreet.protection import Decision, Protection, publish_intervals, suppress

HEADER = ["cell", "status"]
TOLD = [*HEADER, "value", "lower", "upper"]  # empty where nothing is told
SUPPRESSION = (Decision.PUBLISHED, Decision.PRIMARY, Decision.SECONDARY)  # all that a pattern can tell


def write_pattern(protection: Protection, path: str | Path) -> None:
    protection = protection.listed
    columns: list[list[str]] = [
        protection.problem.table.labels(),
        [Decision(decision).word for decision in protection.decision],
    ]
    if not protection.only_suppresses:
        columns += [_texts(column) for column in (protection.published, protection.lower, protection.upper)]
    create_private(path)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER if protection.only_suppresses else TOLD)
        writer.writerows(zip(*columns, strict=True))


def _texts(column: np.ndarray) -> list[str]:
    return [repr(value) if math.isfinite(value) else "" for value in column.tolist()]


def read_pattern(problem: Problem, path: str | Path) -> Protection:
    """The protection that a pattern describes. Its report knows neither method nor bound."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (ValueError, csv.Error, OSError) as error:
        raise FormatError(f"{path} cannot be read: {error}.") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    if header not in (HEADER, TOLD):
        raise FormatError(f"{path}: a pattern begins with the line 'cell,status', or with {','.join(TOLD)!r}.")
    index = {label: i for i, label in enumerate(problem.table.listed.labels())}
    words = {decision.word for decision in (SUPPRESSION if header == HEADER else Decision)}
    suppressed, seen = (
        np.arange(len(problem)) >= len(index) for _ in range(2)
    )  # cells behind linked tables are not listed
    told = np.array([[math.nan], [-math.inf], [math.inf]]) * np.ones(len(problem))
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
                told[k, i] = _number(text, f"{path}, line {number}")
        if header == TOLD and suppressed[i] != math.isnan(told[0, i]):
            raise FormatError(f"{path}, line {number}: cells have a value unless they are suppressed.", [row[0]])
    if not seen.all():
        missing = problem.table.labels(np.flatnonzero(~seen))
        raise FormatError(f"{path}: {len(missing)} cells of the problem are missing, e.g. {some(missing)}.", missing)
    if header == HEADER:
        return suppress(problem, suppressed)
    return publish_intervals(problem, *told, cost=float(problem.cost[suppressed].sum()))


def _number(text: str, where: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(f"{where}: value, lower and upper are numbers, or empty.")
    return number
