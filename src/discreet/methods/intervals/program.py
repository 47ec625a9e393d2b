"""The integer program over the cuts: a binary for each cell says whether it is published exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from discreet.arrays import DOWN, UP, BoolArray, FloatArray, IntArray
from discreet.inference.bound_propagation import propagate
from discreet.inference.max_flow import network
from discreet.methods.core.blocks import BlockProgram
from discreet.methods.core.cuts import Cut, as_rows
from discreet.methods.core.requirements import Requirement
from discreet.methods.intervals.master import WidthMaster
from discreet.methods.intervals.publication import WidthCut
from discreet.solvers import Solution

MAX_CHOICE_DEVIATION = 100.0  # levels, if relations are not those of a network; measured, see the first model
CUT_TOLERANCE = 1e-6  # in median levels: inequalities violated by less are satisfied, solvers are not more exact


class ChoiceProgram(BlockProgram):
    """The columns of the linear program, then the choices, then what is missing to the least width of chosen cells.

    A cell whose slack does not depend on widths contributes to a cut only if it is chosen, and never more than the cut requires:
    larger coefficients are reduced to that, which excludes no integral choices.
    """

    def __init__(
        self,
        master: WidthMaster,
        choices: IntArray,
        fixed: FloatArray,
        conditional: Sequence[Sequence[Requirement]],
        at_most: int | None,
    ) -> None:
        super().__init__()
        self.master, self.s, self.choices = master, master.s, choices
        c, k = len(self.s.cells), len(choices)
        self.columns(master.lower, master.upper, master.cost)
        self.first = self.columns(np.zeros(k), np.ones(k), fixed / self.s.price, integral=True)
        missing = self.columns(np.zeros(k), np.full(k, np.inf), self.s.weight.min(axis=0)[choices])
        self.column_of = np.full(c, -1)  # the choice of a cell
        self.column_of[choices] = self.first + np.arange(k)
        for blocks, least, most in master.added_rows:
            self.rows(blocks, least, most)
        required = [requirement for by_attacker in conditional for requirement in by_attacker]
        cell = sparse.eye_array(c, format="csr")
        for side, limit in zip((DOWN, UP), self._limits(required), strict=True):  # no width unless chosen
            blocks = [(side * c, cell[choices]), (self.first, sparse.diags_array(-limit))]
            self.rows(blocks, most=0.0)
        width = np.where(self.s.settled, 0.0, self.s.width[self.s.cells])[choices]
        blocks = [(0, cell[choices]), (c, cell[choices]), (self.first, sparse.diags_array(-width))]
        self.rows([*blocks, (missing, sparse.eye_array(k))], 0.0)
        for requirement in required:
            if not self.s.settled[requirement.cell]:
                blocks = [(side * c, cell[[requirement.cell]]) for side in requirement.sides]
                level = (int(self.column_of[requirement.cell]), np.array([[-requirement.level]]))
                self.rows([*blocks, level], 0.0)
        if at_most is not None:
            self.rows([(self.first, np.ones((1, k)))], 0.0, at_most)
        self.add(master.cuts)

    def _limits(self, conditional: Sequence[Requirement]) -> FloatArray:
        """How far cells with a choice deviate at most, down and up."""
        s = self.s
        low, high = propagate(s.relations, -s.cap[DOWN], s.cap[UP])
        levels = [one.level for required in (*s.requirements, conditional) for one in required]
        most = max(levels, default=0.0) * (1.0 if network(s.relations) is not None else MAX_CHOICE_DEVIATION)
        return np.asarray(np.minimum(np.stack([-low, high]), most)[:, self.choices])

    def add(self, cuts: Sequence[WidthCut], at: FloatArray | None = None) -> int:
        """Add cuts, only those that a solution violates if one is given; how many."""
        rows, least = as_rows([self._with_choices(cut) for cut in cuts], self.width)
        rows.sum_duplicates()
        added = np.full(len(cuts), True) if at is None else rows @ at < least - CUT_TOLERANCE
        if added.any():
            self.rows([(0, rows[added])], least[added])
        return int(added.sum())

    def _with_choices(self, cut: WidthCut) -> Cut:
        """A cut in terms of widths and choices."""
        choice, required = self.column_of[cut.cells], self.column_of[cut.required]
        chosen = choice >= 0
        least = cut.least - float(cut.amount[~chosen].sum())
        amount = np.minimum(cut.amount[chosen], max(least, 0.0))
        columns, weight = np.r_[cut.columns, choice[chosen]], np.r_[cut.weight, amount]
        if not cut.conditional or required < 0:
            return Cut(columns, weight, least)
        return Cut(np.r_[columns, required], np.r_[weight, -max(least, 0.0)], 0.0)

    def add_bridgeless(self, at: FloatArray) -> int:
        """Add bridgeless inequalities that a solution violates: a cell suppressed alone in a relation can be computed.

        Returns their number.
        """
        e, m = self.master.entries, self.master.m
        column = self.column_of[e.col]
        has_choice = column >= 0
        share = np.where(has_choice, at[column], 1.0)
        alone = has_choice & self.s.suppressible[e.col]
        alone &= 2 * share - np.bincount(e.row, share, minlength=m)[e.row] > CUT_TOLERANCE
        k, place = int(alone.sum()), column - self.first
        if k:
            at_choice, n = np.flatnonzero(has_choice), len(self.choices)
            entries = np.ones(len(at_choice)), (e.row[at_choice], place[at_choice])
            chosen = sparse.csr_array(entries, shape=(m, n))
            twice = sparse.csr_array((np.full(k, 2.0), (np.arange(k), place[alone])), shape=(k, n))
            self.rows([(self.first, chosen[e.row[alone]] - twice)], 0.0)
        return k

    def forbid(self, x: BoolArray) -> None:
        """Another cell must be chosen, or one of the chosen cells that may be suppressed must be published."""
        suppressed = x & self.s.suppressible[self.choices]
        weight = np.where(x, -1.0 * suppressed, 1.0)
        self.rows([(self.first, weight[np.newaxis])], 1.0 - float(suppressed.sum()))

    def split(self, solution: Solution) -> tuple[FloatArray, FloatArray]:
        """Widths down and up per cell, and the value of each choice."""
        z = solution.primal[: 2 * len(self.s.cells)].reshape(2, -1)
        x = solution.primal[self.first : self.first + len(self.choices)]
        return np.maximum(z, 0.0), np.clip(x, 0.0, 1.0)
