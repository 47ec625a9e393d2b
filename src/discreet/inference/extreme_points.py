"""Linear programs that push one cell as far as it goes, and tell the multipliers that prove it goes no farther."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Literal

import numpy as np
from scipy import sparse

from discreet.arrays import FloatArray, IntArray
from discreet.inference.congruent_tables import components, solver_time_limit
from discreet.inference.exact_numbers import Bound
from discreet.solvers import Model, new_model

Primal = tuple[Sequence[int], FloatArray]  # cells and their moves
Dual = tuple[Sequence[int], FloatArray]  # relations and their multipliers


class ExtremePoints:
    """What an attacker cannot rule out, a linear program a connected component. ``stake`` is the protection a cell needs."""

    def __init__(
        self, relations: sparse.csr_array, low: Sequence[Bound], high: Sequence[Bound], stake: FloatArray
    ) -> None:
        self.relations, self.stake = relations, stake
        self.low, self.high = (np.array([float(bound) for bound in side]) for side in (low, high))

    @cached_property
    def _components(self) -> dict[int, _Component]:
        """By cell; worked out when first needed, which for safe tables may be never."""
        relations = sparse.csc_array(self.relations)
        found = {}
        for cells, _ in components(self.relations, self.low < self.high):
            component = _Component(relations, cells, self.low[cells], self.high[cells])
            found.update(dict.fromkeys(cells.tolist(), component))
        return found

    def push(self, cell: int, sign: int) -> Iterator[tuple[Primal, Dual]]:
        """Solutions of the same program; a further one only helps where numerical trouble spoilt those before."""
        component = self._components.get(cell)
        if component is not None:
            yield from component.push(cell, sign, float(self.stake[cell]))


class _Component:
    def __init__(self, relations: sparse.csc_array, cells: IntArray, low: FloatArray, high: FloatArray) -> None:
        columns = sparse.csc_array(relations[:, cells])
        self.cells, self.low, self.high = cells, low, high
        self.rows, index = np.unique(columns.indices, return_inverse=True)
        shape = (len(self.rows), len(cells))
        self.relations = sparse.csr_array(sparse.csc_array((columns.data, index, columns.indptr), shape=shape))
        slack = np.concatenate([-low, high])
        slack = slack[np.isfinite(slack) & (slack > 0)]
        self.unit = float(np.median(slack)) if len(slack) else 1.0
        self._aim = 0

    @cached_property
    def _at(self) -> dict[int, int]:
        return {cell: k for k, cell in enumerate(self.cells.tolist())}

    @cached_property
    def _model(self) -> Model:
        """Kept from push to push: the last solution is a good start for the next one."""
        return self._load(self.unit, "primal")

    def _load(self, unit: float, simplex: Literal["primal", "dual"]) -> Model:
        model = new_model(simplex)
        zero = np.zeros(len(self.rows))
        model.load(np.zeros(len(self.cells)), self.low / unit, self.high / unit, self.relations, zero, zero)
        model.maximize(True)
        return model

    def push(self, cell: int, sign: int, stake: float) -> Iterator[tuple[Primal, Dual]]:
        at = self._at[cell]
        model = self._model
        model.set_cost(np.array([self._aim]), np.zeros(1))
        self._aim = at
        yield from self._solve(model, at, sign, self.unit)
        # Numbers of very different size may be too much for a solver; in units of what is at stake they need not be.
        if stake > 0:
            yield from self._solve(self._load(stake, "dual"), at, sign, stake)

    def _solve(self, model: Model, at: int, sign: int, unit: float) -> Iterator[tuple[Primal, Dual]]:
        model.set_cost(np.array([at]), np.array([float(sign)]))
        solution = model.solve(solver_time_limit(self.relations))
        move = solution.primal * unit if solution.optimal else solution.ray
        if move is not None:
            support = np.flatnonzero(move)
            dual = solution.row_dual if solution.optimal else np.zeros(len(self.rows))
            yield (self.cells[support].tolist(), move[support]), (self.rows.tolist(), dual)
