"""Suppression patterns: ``cell,status`` with one line a cell. Confidential: it tells primaries from secondaries."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from discreet.errors import FormatError, some
from discreet.problem import BoolArray, Problem
from discreet.protection import Decision, Protection

HEADER = ["cell", "status"]
SUPPRESSION = (Decision.PUBLISHED, Decision.PRIMARY, Decision.SECONDARY)  # all that a pattern can tell


def write_pattern(protection: Protection, path: str | Path) -> None:
    if not np.isin(protection.decision, SUPPRESSION).all():
        raise FormatError(f"{path}: patterns tell hidden cells from published ones; this protection adjusts values.")
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        words = [Decision(decision).word for decision in protection.decision]
        writer.writerows(zip(protection.problem.table.labels(), words, strict=True))


def read_pattern(problem: Problem, path: str | Path) -> BoolArray:
    """Which cells a pattern hides."""
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if row]
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise FormatError(f"{path} cannot be read: {error}.") from None
    if not rows or [name.strip() for name in rows[0][1]] != HEADER:
        raise FormatError(f"{path}: a pattern begins with the line 'cell,status'.")
    index = {label: i for i, label in enumerate(problem.table.labels())}
    words = {decision.word for decision in SUPPRESSION}
    hidden = np.zeros(len(problem), dtype=bool)
    seen = np.zeros(len(problem), dtype=bool)
    for number, row in rows[1:]:
        if len(row) != 2 or row[1] not in words:
            raise FormatError(f"{path}, line {number}: expected a cell and one of {some(sorted(words))}.")
        if row[0] not in index:
            raise FormatError(f"{path}, line {number}: the problem has no cell {row[0]!r}.", [row[0]])
        i = index[row[0]]
        if seen[i]:
            raise FormatError(f"{path}, line {number}: cell {row[0]!r} occurs twice.", [row[0]])
        seen[i], hidden[i] = True, row[1] != Decision.PUBLISHED.word
    if not seen.all():
        missing = problem.table.labels(np.flatnonzero(~seen))
        raise FormatError(f"{path}: {len(missing)} cells of the problem are missing, e.g. {some(missing)}.", missing)
    return hidden
