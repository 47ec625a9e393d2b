"""A problem for some of its cells alone."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.table import Table
from discreet.problem import Problem


def restrict(problem: Problem, cells: IntArray, rows: IntArray) -> Problem:
    """The problem of these cells, the others published, as far as these relations go."""
    table = problem.table
    here = sparse.csr_array(table.relations[rows][:, cells])
    rhs = here @ table.value[cells]
    names = tuple(map(str, cells.tolist()))
    small = Table({}, np.zeros((0, len(cells)), dtype=np.int32), table.value[cells], here, names=names, rhs=rhs)
    part = problem.only(cells, small)
    # Who has nothing to be kept from there is no matter there.
    others = tuple(who for who in part.others if who.levels is None or who.levels.any())
    return part.with_columns(others=others)
