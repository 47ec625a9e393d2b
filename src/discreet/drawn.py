"""One table behind linked tables, where nobody says which: values of further cells that keep all relations."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from discreet.errors import InputError, TableError
from discreet.relations import FloatArray
from discreet.table import digits_of

SECONDS = 60.0  # for a search among whole numbers: beyond that, giving the true cells is quicker
WHOLE = 1e-6  # a vertex this near to whole numbers is one


def drawn(relations: sparse.csr_array, value: FloatArray, low: FloatArray, *, counts: bool) -> FloatArray:
    """Values of the cells after those of ``value``, none below ``low``, as round as these are; counts are whole."""
    n = len(value)
    rows = sparse.csr_array(relations[np.diff(relations[:, n:].indptr) > 0])
    digits = digits_of(value)
    scale = 1.0 if digits is None else 10.0**digits
    matrix, right = sparse.csr_array(rows[:, n:]), -(rows[:, :n] @ value) * scale
    right = right if digits is None else np.round(right)
    bounds = np.stack([low, np.full(len(low), np.inf)], axis=1)
    solved = linprog(np.zeros(len(low)), A_eq=matrix, b_eq=right, bounds=bounds, method="highs-ds")
    if solved.status == 2:
        raise TableError(
            "The linked tables form a cycle, and no table without negative cells lies behind them: they are not of the same "
            "records. Tabulate all of them from the same records."
        )
    if solved.status != 0:
        raise InputError("No table behind the linked tables was found: give the true one with behind=.")
    found = np.maximum(solved.x, low)
    if digits is None:
        return np.asarray(found)
    near = np.round(found)
    if np.all(matrix @ near == right) and np.all(np.abs(near - found) <= WHOLE * np.maximum(1.0, np.abs(near))):
        return np.asarray(near / scale)
    exact = milp(
        np.zeros(len(low)),
        constraints=LinearConstraint(matrix, right, right),
        bounds=Bounds(low, np.inf),
        integrality=np.ones(len(low)),
        options={"time_limit": SECONDS},
    )
    if exact.x is not None and np.all(matrix @ np.round(exact.x) == right):
        return np.asarray(np.round(exact.x) / scale)
    if counts:
        raise InputError("No table of whole numbers behind the linked tables was found: give the true one with behind=.")
    return np.asarray(found / scale)
