"""Further attackers: ``attacker,cell,lower,upper`` with a line for each cell that somebody knows more about. Confidential.

``lower_level``, ``upper_level`` and ``sliding_level`` may follow: the protection the cell needs against this attacker. What
is left empty, and what is not listed, is as for everybody.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.errors import FormatError, InputError
from discreet.problem import Problem

KNOWN = ["attacker", "cell", "lower", "upper"]
LEVELS = ["lower_level", "upper_level", "sliding_level"]
HEADER = ",".join(KNOWN) + "".join(f"[,{name}]" for name in LEVELS)


def with_attackers(problem: Problem, path: str | Path) -> Problem:
    """The problem, to be protected against the attackers in a file as well."""
    return problem.with_columns(others=(*problem.others, *read_attackers(problem, path)))


def read_attackers(problem: Problem, path: str | Path) -> tuple[Attacker, ...]:
    """The attackers in a file, in the order in which they first occur."""
    taken = {attacker.name for attacker in problem.attackers()}
    index = {label: i for i, label in enumerate(problem.table.listed.labels())}
    value = problem.table.value
    noise = 1e-9 * np.maximum(np.abs(value), 1e-9)  # as everywhere, a bound may miss the value by so little
    found: dict[str, _Listed] = {}
    for number, row in _rows(Path(path)):
        where = f"{path}, line {number}"
        name, label = row["attacker"].strip(), row["cell"]
        if not name:
            raise FormatError(f"{where}: the attacker has no name. Give one; lines with the same name belong together.")
        if name in taken:
            raise InputError(f"{where}: the problem has an attacker {name!r} already. Choose another name.", [name])
        if label not in index:
            raise InputError(f"{where}: the problem has no cell {label!r}. Write it as in a pattern.", [label])
        attacker, i = found.setdefault(name, _Listed(problem)), index[label]
        if i in attacker.cells:
            raise InputError(f"{where}: cell {label!r} of attacker {name!r} occurs a second time.", [label])
        attacker.cells.add(i)
        for bounds, column in ((attacker.lower, "lower"), (attacker.upper, "upper")):
            bounds[i] = _number(where, row, column, float(bounds[i]))
        if not (attacker.lower[i] <= value[i] + noise[i] and value[i] - noise[i] <= attacker.upper[i]):
            raise InputError(
                f"{where}: the value of cell {label!r} does not lie between the bounds that {name!r} is said to know. "
                "Bounds are values, not distances: correct them, or leave them empty if nothing is known.",
                [label],
            )
        for k, column in enumerate(LEVELS):
            if row.get(column, "").strip():
                attacker.has_levels = True
                attacker.levels[k, i] = _number(where, row, column, 0.0)
                if not 0 <= attacker.levels[k, i] < math.inf:
                    raise InputError(f"{where}: {column} is a distance: give 0 or more, or leave it empty.", [label])
    if not found:
        raise FormatError(f"{path} lists no attacker. Add lines below {HEADER!r}, or leave the file out.")
    return tuple(
        Attacker(name, attacker.lower, attacker.upper, attacker.levels if attacker.has_levels else None)
        for name, attacker in found.items()
    )


def cells_named(path: str | Path) -> list[str]:
    """The cells that a file of attackers says something about, each once."""
    return list(dict.fromkeys(row["cell"] for _, row in _rows(Path(path))))


class _Listed:
    """What is said about one attacker so far, beginning with what everybody knows and needs."""

    def __init__(self, problem: Problem) -> None:
        self.lower: FloatArray = problem.prior_lower.copy()
        self.upper: FloatArray = problem.prior_upper.copy()
        self.levels: FloatArray = np.stack([problem.lower, problem.upper, problem.sliding])
        self.has_levels = False
        self.cells: set[int] = set()


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The lines after the header, numbered, by column."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            lines = [(reader.line_num, line) for line in reader if line]
    except FileNotFoundError:
        raise FormatError(f"{path} does not exist.") from None
    except (ValueError, csv.Error, OSError):  # without its words, which may quote what is in the file
        raise FormatError(f"{path} cannot be read as CSV. Save it as comma-separated text in UTF-8.") from None
    header = [name.strip() for name in lines[0][1]] if lines else []
    if not set(KNOWN) <= set(header) <= {*KNOWN, *LEVELS} or len(set(header)) < len(header):
        raise FormatError(f"{path}: the first line must name the columns {HEADER!r}, those in brackets if needed.")
    for number, line in lines[1:]:
        if len(line) != len(header):
            raise FormatError(f"{path}, line {number}: expected {len(header)} fields, found {len(line)}.")
        yield number, dict(zip(header, line, strict=True))


def _number(where: str, row: dict[str, str], column: str, otherwise: float) -> float:
    """A field as a number; what everybody knows if it is empty."""
    text = row[column].strip()
    try:
        number = float(text) if text else otherwise
    except ValueError:
        number = math.nan
    if math.isnan(number):  # not what it is: it may be confidential
        raise FormatError(f"{where}: {column} of cell {row['cell']!r} is not a number.", [row["cell"]])
    return number
