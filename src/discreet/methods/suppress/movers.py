"""What finds cheap moves in the relations at hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, FloatArray
from discreet.inference.max_flow import network
from discreet.methods.suppress.mover import FARES, Mover
from discreet.methods.suppress.network_mover import Map, NetworkMover
from discreet.problem import Problem

AnyMover = Mover | NetworkMover


def movers(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int, fares: tuple[float, ...] = FARES
) -> Sequence[AnyMover]:
    """One an attacker, over the given cells: flows where relations form a network, else linear programs."""
    among = np.flatnonzero(cells)
    net = network(problem.table.relations[:, among])
    if net is None:
        return programs(problem, cells, price, seed, fares)
    on = Map(net, among, price)
    return [NetworkMover(problem, who, on) for who in problem.attackers()]


def programs(
    problem: Problem, cells: BoolArray, price: FloatArray, seed: int = 0, fares: tuple[float, ...] = FARES
) -> list[Mover]:
    """One an attacker, over the given cells: linear programs, whatever the relations."""
    among = np.flatnonzero(cells)
    relations = sparse.csr_array(problem.table.relations[:, among])
    relations = sparse.csr_array(relations[np.diff(relations.indptr) > 0])
    return [Mover(problem, who, among, relations, price, seed, fares) for who in problem.attackers()]
