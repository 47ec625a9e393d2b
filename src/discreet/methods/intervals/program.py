"""The integer program over the cuts: a binary says of a cell whether it is told exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.bound_propagation import propagate
from discreet.inference.max_flow import network
from discreet.methods.core.requirements import Requirement
from discreet.methods.intervals.master import WidthMaster
from discreet.methods.intervals.publication import WidthCut
from discreet.solvers import Model, Outcome, Solution, new_model

FARTHER = 100.0  # levels that a cell moves by at most where relations are not those of a network
VIOLATED = 1e-6  # cuts that are missed by less, in usual levels, are fulfilled


class ChoiceProgram:
    """Columns of the linear program, then choices, then what is missing to the least width of a chosen cell.

    Whatever cells add to a cut by moving as far as anybody holds possible they add only if they are chosen, and never more than
    is asked for: a coefficient above that is cut down to it, which no whole choice notices.
    """

    def __init__(
        self,
        master: WidthMaster,
        choices: IntArray,
        fixed: FloatArray,
        conditional: Sequence[Sequence[Requirement]],
        at_most: int | None,
        seed: int,
    ) -> None:
        self.master, self.s, self.choices, self.seed = master, master.s, choices, seed
        self.conditional, self.fixed = [one for own in conditional for one in own], fixed
        k = len(choices)
        self.first, self.width = master.width, master.width + 2 * k
        self.of = np.full(len(self.s.cells), -1)  # the choice of a cell
        self.of[choices] = self.first + np.arange(k)
        self.rows: list[sparse.csr_array] = []
        self.low: list[FloatArray] = []
        self.high: list[FloatArray] = []
        self.model: Model | None = None
        self._frame()
        if at_most is not None:
            self._append(
                self._rows([(self.of[choices], np.ones(k))], one=True), np.zeros(1), np.array([float(at_most)])
            )
        self.add(master.cuts)

    def _frame(self) -> None:
        """What the linear program says beside its cuts, and no width without being chosen."""
        master, s, k, c = self.master, self.s, len(self.choices), len(self.s.cells)
        for rows, low, high in zip(master.rows, master.row_low, master.row_high, strict=True):
            self._append(sparse.csr_array(sparse.hstack([rows, sparse.csr_array((rows.shape[0], 2 * k))])), low, high)
        x, cap, endless = self.of[self.choices], self._cap(), np.full(k, np.inf)
        for side in (DOWN, UP):
            self._append(
                self._rows([(side * c + self.choices, np.ones(k)), (x, -cap[side])]), np.full(k, -np.inf), np.zeros(k)
            )
        wide = np.where(s.settled, 0.0, s.width[s.cells])[self.choices]
        both = [(side * c + self.choices, np.ones(k)) for side in (DOWN, UP)]
        self._append(self._rows([*both, (x, -wide), (x + k, np.ones(k))]), np.zeros(k), endless)
        for one in self.conditional:
            if not s.settled[one.cell]:
                terms = [(np.array([side * c + one.cell]), np.ones(1)) for side in one.sides]
                row = self._rows([*terms, (self.of[[one.cell]], np.array([-one.level]))])
                self._append(row, np.zeros(1), np.full(1, np.inf))

    def _cap(self) -> FloatArray:
        """How far cells with a choice move at most."""
        s = self.s
        low, high = propagate(s.relations, -s.cap[DOWN], s.cap[UP])
        levels = [one.level for one in (*(one for own in s.requirements for one in own), *self.conditional)]
        far = max(levels, default=0.0) * (1.0 if network(s.relations) is not None else FARTHER)
        return np.asarray(np.minimum(np.stack([-low, high]), far)[:, self.choices])

    def _rows(self, terms: Sequence[tuple[NDArray[np.integer], FloatArray]], one: bool = False) -> sparse.csr_array:
        """One row each of these columns and weights side by side, or one of all."""
        k = len(terms[0][0])
        column, weight = (np.concatenate(part) for part in zip(*terms, strict=True))
        row = np.zeros(len(column), dtype=int) if one else np.tile(np.arange(k), len(terms))
        return sparse.csr_array((weight, (row, column)), shape=(1 if one else k, self.width))

    def _append(self, rows: sparse.csr_array, low: FloatArray, high: FloatArray) -> None:
        self.rows.append(rows)
        self.low.append(low)
        self.high.append(high)
        if self.model is not None:
            self.model.add_rows(rows, low, high)

    def add(self, cuts: Sequence[WidthCut], at: FloatArray | None = None) -> int:
        """Add cuts, of these only what a solution misses if there is one; how many."""
        rows, low = [], []
        for cut in cuts:
            row, least = self._row(cut)
            if at is None or float((row @ at)[0]) < least - VIOLATED:
                rows.append(row)
                low.append(least)
        if rows:
            self._append(sparse.csr_array(sparse.vstack(rows)), np.array(low), np.full(len(low), np.inf))
        return len(rows)

    def _row(self, cut: WidthCut) -> tuple[sparse.csr_array, float]:
        """A cut in terms of widths and choices, and what it must come to."""
        chosen = self.of[cut.cells] >= 0
        least = cut.least - float(cut.amount[~chosen].sum())
        terms = [
            (cut.columns, cut.weight),
            (self.of[cut.cells[chosen]], np.minimum(cut.amount[chosen], max(least, 0.0))),
        ]
        if cut.conditional and self.of[cut.required] >= 0:
            terms.append((self.of[[cut.required]], np.array([-max(least, 0.0)])))
            least = 0.0
        return self._rows(terms, one=True), least

    def bridge(self, at: FloatArray) -> int:
        """Add the inequalities that a solution violates: one that is suppressed alone in a relation can be computed."""
        e, m = self.master.entries, self.master.m
        column = self.of[e.col]
        share = np.where(column >= 0, at[column], 1.0)
        alone = (column >= 0) & self.s.whole[e.col]
        alone &= 2 * share - np.bincount(e.row, share, minlength=m)[e.row] > VIOLATED
        cells, k = np.flatnonzero(alone), int(alone.sum())
        if k:
            own = column >= 0
            chosen = sparse.csr_array((np.ones(own.sum()), (e.row[own], column[own])), shape=(m, self.width))
            twice = sparse.csr_array((np.full(k, 2.0), (np.arange(k), column[cells])), shape=(k, self.width))
            self._append(sparse.csr_array(chosen[e.row[cells]] - twice), np.zeros(k), np.full(k, np.inf))
        return k

    def forbid(self, x: BoolArray) -> None:
        """Something else must be chosen, or not all of what is told exactly or not at all."""
        whole = self.s.whole[self.choices]
        weight = np.where(x, np.where(whole, -1.0, 0.0), 1.0)
        row = self._rows([(self.of[self.choices], weight)], one=True)
        self._append(row, np.array([1.0 - float((x & whole).sum())]), np.full(1, np.inf))

    def load(self, integer: bool) -> None:
        """Hand the program to a solver, with choices that are whole or not."""
        k, master = len(self.choices), self.master
        kind = np.zeros(self.width, dtype=bool)
        kind[self.first : self.first + k] = integer
        self.model = new_model(seed=self.seed)
        self.model.load(
            np.r_[master.cost, self.fixed / self.s.price, self.s.weight.min(axis=0)[self.choices]],
            np.r_[master.low, np.zeros(2 * k)],
            np.r_[master.high, np.ones(k), np.full(k, np.inf)],
            sparse.csr_array(sparse.vstack(self.rows)),
            np.concatenate(self.low),
            np.concatenate(self.high),
            kind,
        )

    def solve(self, seconds: float | None, gap: float = 0.0) -> Solution:
        assert self.model is not None
        solution = self.model.solve(seconds, gap=gap)
        if solution.outcome in (Outcome.FAILED, Outcome.UNBOUNDED):
            raise ArithmeticError(f"HiGHS could not solve the program over the cuts: {solution.outcome.value}.")
        return solution

    def split(self, solution: Solution) -> tuple[FloatArray, FloatArray]:
        """Widths by side and cell, and by how much each choice is taken."""
        z = solution.primal[: 2 * len(self.s.cells)].reshape(2, -1)
        x = solution.primal[self.first : self.first + len(self.choices)]
        return np.maximum(z, 0.0), np.clip(x, 0.0, 1.0)
