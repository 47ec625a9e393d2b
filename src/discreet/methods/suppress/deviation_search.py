"""The search for cheap deviations: by flows if relations form a network, otherwise by linear programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.inference.max_flow import network
from discreet.methods.suppress.deviation_flow import DeviationFlow, PricedNetwork
from discreet.methods.suppress.deviation_program import SURCHARGES, DeviationProgram
from discreet.problem import Problem

DeviationSearch = DeviationProgram | DeviationFlow


def deviation_searches(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int, surcharges: tuple[float, ...] = SURCHARGES
) -> Sequence[DeviationSearch]:
    """One search per attacker over the given cells: flows if relations form a network, otherwise linear programs."""
    indices = np.flatnonzero(cells)
    net = network(problem.table.relations[:, indices])
    if net is None:
        return deviation_programs(problem, cells, price, seed, surcharges)
    priced = PricedNetwork(net, indices, price)
    return [DeviationFlow(problem, attacker, priced) for attacker in problem.attackers()]


def deviation_programs(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int = 0, surcharges: tuple[float, ...] = SURCHARGES
) -> list[DeviationProgram]:
    """Linear programs per attacker over the given cells, for any relations."""
    indices = np.flatnonzero(cells)
    relations = sparse.csr_array(problem.table.relations[:, indices])
    relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
    return [DeviationProgram(problem, one, indices, relations, price, seed, surcharges) for one in problem.attackers()]
