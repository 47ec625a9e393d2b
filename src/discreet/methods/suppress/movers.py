"""What finds cheap moves in the relations at hand."""

from __future__ import annotations

import numpy as np

from discreet.audit.flow import network
from discreet.methods.suppress.mover import FARES, Mover
from discreet.methods.suppress.network_mover import Map, NetworkMover
from discreet.problem import BoolArray, Problem
from discreet.relations import FloatArray

AnyMover = Mover | NetworkMover


def movers(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int, fares: tuple[float, ...] = FARES
) -> list[AnyMover]:
    """One an attacker, over the given cells: flows where relations form a network, else linear programs."""
    net = network(problem.table.relations[:, np.flatnonzero(cells)])
    if net is None:
        return [Mover(problem, who, cells, price, seed, fares) for who in problem.attackers()]
    on = Map(net, np.flatnonzero(cells), price)
    return [NetworkMover(problem, who, on) for who in problem.attackers()]
