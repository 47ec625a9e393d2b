"""Begin with a pattern, and look for cheaper ones like it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, IntArray
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.modular import table_by_table
from discreet.methods.suppress.nonzeros import terms
from discreet.methods.suppress.optimal.search import PRICE_NOISE, PatternSearch
from discreet.problem import Problem
from discreet.protection import Protection

FIRST = 0.3  # of the time for a pattern to begin with
SIZE = 200  # free cells of a neighbourhood


@dataclass(frozen=True)
class Improve:
    """Large neighbourhood search: most cells stay as they are, some are decided anew.

    It begins with a pattern that is given, or with that of single tables in a hierarchy, and with those of ``guided``. Then
    first everywhere and then around one secondary after the other, cells about which the pattern and the linear program of
    ``optimal`` do not agree are decided anew, in the manner of ``guided`` and by integer programs.
    """

    name = "improve"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run)
        with run.budget.interruptible():
            in_parts = run.start is None and search.has_tables
            search.begin(table_by_table(problem, run, FIRST) if in_parts else run.start)
            search.follow()
            Neighbourhoods(search).descend()
        return search.protection(self.name)


class Neighbourhoods:
    """Where the best pattern of a search may be improved."""

    def __init__(self, search: PatternSearch) -> None:
        self.search = search
        self.rows = search.problem.table.relations
        self.columns = sparse.csc_array(self.rows)
        self.rng = np.random.default_rng(search.seed)
        self.tried = np.zeros(len(search.problem), dtype=bool)  # cells beside which nothing changed since

    def descend(self) -> None:
        """Until there is no cheaper pattern in any neighbourhood, or time is up."""
        search, everywhere = self.search, np.ones(len(self.tried), dtype=bool)
        while not search.done():
            before = search.suppressed
            self._decide(everywhere, disputed=True)
            for region in self.regions():
                self._decide(region)
            if search.suppressed is before:
                return
            search.converge(np.inf)  # with the cuts that were learnt

    def regions(self) -> Iterator[BoolArray]:
        """Around the dearest secondary that was in none so far, until each was in one; again where something changed."""
        search = self.search
        while search.suppressed is not None and not search.done():
            left = np.flatnonzero(search.suppressed & search.free & ~self.tried)
            if not len(left):
                return
            region = self.around(int(left[np.argmax(search.cost[left])]))
            self.tried |= region
            yield region

    def around(self, cell: int) -> BoolArray:
        """A cell, those it shares relations with, those that they do, and so on, up to so many that may be suppressed."""
        inside = np.zeros(len(self.tried), dtype=bool)
        inside[cell] = True
        known = np.zeros(self.rows.shape[0], dtype=bool)
        while True:
            new = self._rows_of(np.flatnonzero(inside))
            new = new[~known[new]]
            if not len(new):
                return inside
            for row in self.rng.permutation(new):
                inside[self.rows.indices[self.rows.indptr[row] : self.rows.indptr[row + 1]]] = True
                if np.count_nonzero(inside & self.search.free) >= SIZE:
                    return inside
            known[new] = True

    def changed(self, cells: IntArray) -> None:
        """Look again beside these cells."""
        at, _ = terms(self.rows, self._rows_of(cells))
        self.tried[self.rows.indices[at]] = False

    def _rows_of(self, cells: IntArray) -> IntArray:
        return np.unique(self.columns.indices[terms(self.columns, cells)[0]])

    def _decide(self, region: BoolArray, disputed: bool = False) -> None:
        """Look for a cheaper pattern that differs from the best one in a region alone.

        First one that follows the linear program there; then the cheapest, of those that suppress what both do, and publish what
        both publish, if only what is ``disputed`` between the two is open.
        """
        search, before = self.search, self.search.suppressed
        if before is None or search.relaxed is None or search.done():
            return
        search.grow(np.where(region, search.relaxed.x, before), PRICE_NOISE)
        search.decide(region & search.disputed() if disputed else region)
        if search.suppressed is not before:
            self.changed(np.flatnonzero(search.suppressed != before))
