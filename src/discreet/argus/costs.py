"""The costs of suppressing cells: a variable, frequencies, one for all, or by the distance from primary cells.

Sources: τ-ARGUS version 4.1, User's Manual, sections 4.4.2 (distance) and 4.4.4 (variable and λ); its program for λ = 0.
"""

from __future__ import annotations

import numpy as np

from discreet.argus.classification import Classification
from discreet.argus.commands import COST_BY_FREQUENCY, COST_DISTANCE, COST_UNITY, SpecifyTable
from discreet.argus.views import Views
from discreet.arrays import BoolArray, FloatArray, SmallIntArray
from discreet.data.hierarchy import Hierarchy
from discreet.errors import InputError
from discreet.io.argus.metadata import MAX_DISTANCES

EQUAL_DISTANCES = (1,) * MAX_DISTANCES  # of a variable without <DISTANCE>


def transformed(cost: FloatArray, power: float) -> FloatArray:
    """x^λ, and log(1 + x) for λ = 0."""
    return np.asarray(np.log1p(cost) if power == 0 else cost**power)


def costs(specify: SpecifyTable, views: Views, primary: BoolArray, listed: dict[str, Classification]) -> FloatArray:
    """The cost of each cell of a table."""
    table = views.table
    match specify.cost:
        case str(cost) if cost == COST_BY_FREQUENCY:
            if table.count is None:
                raise InputError(
                    "costs by frequency need the number of contributors to each cell: a variable with <FREQUENCY>."
                )
            found = table.count.astype(np.float64)
        case str(cost) if cost == COST_UNITY:
            return np.ones(len(table))
        case str(cost) if cost == COST_DISTANCE:
            return distances(table.codes, primary, [(h, listed.get(name)) for name, h in table.dimensions.items()])
        case _:
            found = np.abs(table.magnitude if views.cost is None else views.cost)
    return transformed(found, specify.power)


def distances(
    codes: SmallIntArray, primary: BoolArray, dimensions: list[tuple[Hierarchy, Classification | None]]
) -> FloatArray:
    """The costs by distance: the smallest over all primary cells in the same row, by the steps between the two.

    A row has the cells that differ in one dimension only, among codes below the same code. A cell five steps away or more
    costs as much as one five steps away, and a cell without a primary in its rows as much as the largest such cost.
    """
    steps = [one.variable.distances if one and one.variable.distances else EQUAL_DISTANCES for _, one in dimensions]
    largest = float(max(costs[-1] for costs in steps))
    found = np.full(codes.shape[1], largest)
    place = {cell: i for i, cell in enumerate(map(tuple, codes.T.tolist()))}
    for d, ((hierarchy, _), cost) in enumerate(zip(dimensions, steps, strict=True)):
        siblings = _siblings(hierarchy)
        for cell in map(tuple, codes[:, primary].T.tolist()):
            row = siblings[cell[d]]
            at = row.index(cell[d])
            for k, code in enumerate(row):
                i = place.get((*cell[:d], code, *cell[d + 1 :]))
                if i is not None and k != at:
                    found[i] = min(found[i], cost[min(abs(k - at), MAX_DISTANCES) - 1])
    return found


def _siblings(hierarchy: Hierarchy) -> dict[int, list[int]]:
    """For each code the codes below the same code, in their order."""
    rows: dict[int, list[int]] = {}
    for code in hierarchy.order().tolist():
        rows.setdefault(int(hierarchy.parents[0][code]), []).append(code)
    return {code: row for row in rows.values() for code in row}
