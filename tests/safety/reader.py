"""What a reader infers from a release, by SciPy alone: nothing of the package is used to work it out."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from tests.helpers.fixed import few_and_many

from discreet.data.table import Table
from discreet.protection import Protection
from discreet.release import Release

FEW_AND_MANY = few_and_many(20, 200)


def interval(
    table: Table, known: np.ndarray, cell: int, least: float = 0.0, whole: bool = False
) -> tuple[float, float]:
    """The least and the greatest value of a cell, where ``known`` has NaN for suppressed cells, which are at least ``least``."""
    matrix = table.relations.toarray()
    suppressed = np.isnan(known)
    rest = table.rhs - matrix[:, ~suppressed] @ known[~suppressed]
    aim = np.zeros(int(suppressed.sum()))
    aim[np.flatnonzero(np.flatnonzero(suppressed) == cell)] = 1.0
    ends = []
    for sign in (1, -1):
        if whole:
            rows = LinearConstraint(matrix[:, suppressed], rest, rest)
            found = milp(sign * aim, constraints=rows, bounds=Bounds(least, np.inf), integrality=np.ones(len(aim)))
        else:
            found = linprog(sign * aim, A_eq=matrix[:, suppressed], b_eq=rest, bounds=(least, None), method="highs")
        ends.append(np.inf * -sign if found.status == 3 or found.fun is None else sign * found.fun)
    return ends[0], ends[1]


def released(protection: Protection, release: Release) -> np.ndarray:
    """The published values in the order of the table, NaN where suppressed, found by their codes alone."""
    table = protection.problem.table
    listed = {tuple(codes): value for *codes, value in zip(*release.codes.values(), release.value, strict=True)}
    codes = [tuple(h.codes[c] for h, c in zip(table.dimensions.values(), at, strict=True)) for at in table.codes.T]
    return np.array([listed.get(at, 0.0) for at in codes])
