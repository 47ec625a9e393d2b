"""A pattern as files that the peers read: a JJ file, and G-Confid's tables of cells and constraints."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray
from discreet.errors import InputError
from discreet.io.jj import write_problem
from discreet.problem import Problem, Status
from discreet.protection import Protection, suppress

FACTOR = 10.0  # everybody knows a cell to lie between 0 and this times its value: the widest that all three can express


def comparable(problem: Problem, suppressed: BoolArray) -> Protection:
    """The pattern, with cells called by number and the bounds of :data:`FACTOR`; it must be a table that all can read."""
    table = problem.table
    if np.any(table.value < 0):
        raise InputError("negative values")
    if np.any(table.rhs != 0) or np.any(np.abs(table.relations.data) != 1):
        raise InputError("relations other than sums of parts")
    known = problem.with_columns(
        table=replace(table, names=tuple(map(str, range(len(table))))),
        status=np.where(suppressed & (problem.status == Status.FREE), Status.SUPPRESSED, problem.status),
        prior_lower=np.zeros(len(table)),
        prior_upper=FACTOR * table.value,
    )
    return suppress(known, suppressed)


def write(protection: Protection, folder: Path) -> None:
    problem, table = protection.problem, protection.problem.table
    folder.mkdir(parents=True, exist_ok=True)
    write_problem(problem, folder / "pattern.jj")
    sensitive = problem.status == Status.PRIMARY
    cells = {
        "CellId": np.arange(1, len(table) + 1),
        "TotalNoise": table.value,
        "Sensitivity": np.where(sensitive, problem.lower + problem.upper, 0.0),
        "Status": np.where(sensitive, "S", "V"),
        "Type": "C",
        "OutStatus": np.where(protection.suppressed, "X", "P"),
    }
    pd.DataFrame(cells).to_csv(folder / "cells.csv", index=False)
    entries = table.relations.tocoo()
    relations = {"ConstraintId": entries.row + 1, "CellId": entries.col + 1, "Coefficient": entries.data.astype(int)}
    pd.DataFrame(relations).to_csv(folder / "relations.csv", index=False)
