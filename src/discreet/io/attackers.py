"""Further attackers: a CSV file ``attacker,cell,lower,upper`` with prior bounds of attackers. Confidential.

The columns ``lower_level``, ``upper_level`` and ``sliding_level`` may follow: the protection levels of the cell against this
attacker. For empty fields and cells that are not listed, the bounds and levels of the problem apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from discreet.arrays import FloatArray
from discreet.attackers import Attacker
from discreet.data.cell_names import read_cells
from discreet.data.side_files import SideRows
from discreet.errors import FormatError, InputError, placing
from discreet.problem import Problem

REQUIRED_COLUMNS = ["attacker", "lower", "upper"]  # besides those that name the cell
LEVEL_COLUMNS = ["lower_level", "upper_level", "sliding_level"]
ATTACKERS_HEADER = ",".join(["cell", *REQUIRED_COLUMNS]) + "".join(f"[,{name}]" for name in LEVEL_COLUMNS)


def with_attackers(problem: Problem, path: str | Path) -> Problem:
    """The problem with the attackers in a file as further attackers."""
    return problem.with_columns(others=(*problem.others, *read_attackers(problem, path)))


def read_attackers(problem: Problem, path: str | Path) -> tuple[Attacker, ...]:
    """The attackers in a file, in the order in which they first occur."""
    taken = {attacker.name for attacker in problem.attackers()}
    value = problem.table.value
    tolerance = 1e-9 * np.maximum(np.abs(value), 1e-9)  # for rounding errors of bounds, as in Problem
    found: dict[str, _Listed] = {}
    for number, row in _rows(path, list(problem.table.dimensions)):
        where = f"{path}, line {number}"
        name = row["attacker"].strip()
        if not name:
            raise FormatError(f"{where}: the attacker has no name. Give one; lines with the same name belong together.")
        if name in taken:
            raise InputError(f"{where}: the problem has an attacker {name!r} already. Choose another name.", [name])
        with placing(where):
            i = problem.table.index(row["cell"])
        attacker, label = found.setdefault(name, _Listed(problem)), problem.table.label(i)
        if i in attacker.cells:
            raise InputError(f"{where}: cell {label!r} of attacker {name!r} occurs a second time.", [label])
        attacker.cells.add(i)
        for bounds, column in ((attacker.lower, "lower"), (attacker.upper, "upper")):
            bounds[i] = _number(where, row, column, float(bounds[i]))
        if not (attacker.lower[i] <= value[i] + tolerance[i] and value[i] - tolerance[i] <= attacker.upper[i]):
            raise InputError(
                f"{where}: the value of cell {label!r} does not lie between the bounds of {name!r}. "
                "Bounds are values, not distances: correct them, or leave them empty if nothing is known.",
                [label],
            )
        for k, column in enumerate(LEVEL_COLUMNS):
            if row.get(column, "").strip():
                attacker.has_levels = True
                attacker.levels[k, i] = _number(where, row, column, 0.0)
                if not 0 <= attacker.levels[k, i] < math.inf:
                    raise InputError(f"{where}: {column} is a distance: give 0 or more, or leave it empty.", [label])
    if not found:
        raise FormatError(f"{path} lists no attacker. Add lines below {ATTACKERS_HEADER!r}, or leave the file out.")
    return tuple(
        Attacker(name, attacker.lower, attacker.upper, attacker.levels if attacker.has_levels else None)
        for name, attacker in found.items()
    )


def cells_named(path: str | Path, dimensions: Sequence[str]) -> list[str]:
    """The cells listed in a file of attackers, each once."""
    return list(dict.fromkeys(row["cell"] for _, row in _rows(path, dimensions)))


class _Listed:
    """The bounds and levels of one attacker, from those of the problem and the lines read so far."""

    def __init__(self, problem: Problem) -> None:
        self.lower: FloatArray = problem.prior_lower.copy()
        self.upper: FloatArray = problem.prior_upper.copy()
        self.levels: FloatArray = np.stack([problem.lower, problem.upper, problem.sliding])
        self.has_levels = False
        self.cells: set[int] = set()


def _rows(path: str | Path, dimensions: Sequence[str]) -> SideRows:
    return read_cells(path, REQUIRED_COLUMNS, LEVEL_COLUMNS, dimensions)


def _number(where: str, row: dict[str, str], column: str, default: float) -> float:
    """A field as a number; the default if it is empty."""
    text = row[column].strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = math.nan
    if math.isnan(number):  # the message leaves out the field, which may be confidential
        raise FormatError(
            f"{where}: {column} of cell {row['cell']!r} is not a number. Write it like 1234.5.", [row["cell"]]
        )
    return number
