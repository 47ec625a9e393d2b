"""The problem restricted to some of its cells."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.table import Table
from discreet.problem import Problem


def restrict(problem: Problem, cells: IntArray, rows: IntArray) -> Problem:
    """The problem of these cells and relations, where all other cells are published."""
    table = problem.table
    here = sparse.csr_array(table.relations[rows][:, cells])
    rhs = here @ table.value[cells]
    names = tuple(map(str, cells.tolist()))
    small = Table({}, np.zeros((0, len(cells)), dtype=np.int32), table.value[cells], here, names=names, rhs=rhs)
    part = problem.only(cells, small)
    # Attackers that require no level of these cells are left out.
    others = tuple(attacker for attacker in part.others if attacker.levels is None or attacker.levels.any())
    return part.with_columns(others=others)
