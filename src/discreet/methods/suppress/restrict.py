"""A problem for some of its cells alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from discreet.audit.evidence import IntArray
from discreet.problem import Problem
from discreet.table import Table


def restrict(problem: Problem, cells: IntArray, rows: IntArray) -> Problem:
    """The problem of these cells, the others published, as far as these relations go."""
    table = problem.table
    relations = table.relations[rows]
    here = sparse.csr_array(relations[:, cells])
    rhs = here @ table.value[cells]
    names = tuple(map(str, cells.tolist()))
    small = Table({}, np.zeros((0, len(cells)), dtype=np.int32), table.value[cells], here, names=names, rhs=rhs)
    return Problem(
        small,
        problem.status[cells],
        problem.cost[cells],
        problem.lower[cells],
        problem.upper[cells],
        problem.sliding[cells],
        problem.prior_lower[cells],
        problem.prior_upper[cells],
        others=tuple(
            replace(
                who,
                lower=who.lower[cells],
                upper=who.upper[cells],
                levels=None if who.levels is None else who.levels[:, cells],
            )
            for who in problem.others
        ),
    )
