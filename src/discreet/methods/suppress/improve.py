"""The methods ``guided`` and ``improve``: patterns that follow the linear relaxation, and cheaper ones near them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from discreet.arrays import BoolArray, IntArray
from discreet.inference.nonzeros import terms
from discreet.methods.context import Run
from discreet.methods.method import Traits
from discreet.methods.suppress.modular import table_by_table
from discreet.methods.suppress.optimal.search import PRICE_NOISE, PatternSearch
from discreet.problem import Problem
from discreet.protection import Protection

START_TIME_SHARE = 0.3  # of the time, for a starting pattern table by table
MAX_FREE_CELLS = 200  # of a neighbourhood, so that its integer program is small


@dataclass(frozen=True)
class Guided:
    """Fischetti & Salazar-González (2000): the linear relaxation shows which cells are worth suppressing.

    The linear relaxation of ``optimal`` is solved, and primaries are protected as by ``kelly``, where a cell is the cheaper
    the larger the part of it that the relaxation suppresses. The result is the cheapest of a few such patterns, with the bound
    of the relaxation.
    """

    name = "guided"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run)
        with run.budget.interruptible():
            search.begin(run.start)
            search.find_guided_patterns()
        return search.protection(self.name)


@dataclass(frozen=True)
class Improve:
    """Large neighbourhood search: most cells keep their status, some are decided again.

    It starts with the given pattern, or with that of the single tables of a hierarchy, and with the patterns of ``guided``. Then
    cells are decided again, as by ``guided`` and by integer programs: first those on which the incumbent and the linear
    relaxation of ``optimal`` disagree, anywhere, then the neighbourhood of each secondary.
    """

    name = "improve"
    traits = Traits(takes_start=True, splits=True, proves_bound=True)

    def protect(self, problem: Problem, run: Run) -> Protection:
        search = PatternSearch(problem, run)
        with run.budget.interruptible():
            by_tables = run.start is None and search.has_tables
            search.begin(table_by_table(problem, run, START_TIME_SHARE) if by_tables else run.start)
            search.find_guided_patterns()
            Neighbourhoods(search).descend()
        return search.protection(self.name)


class Neighbourhoods:
    """The parts of the incumbent that are decided again."""

    def __init__(self, search: PatternSearch) -> None:
        self.search = search
        self.rows = search.problem.table.relations
        self.columns = sparse.csc_array(self.rows)
        self.rng = np.random.default_rng(search.seed)
        # Cells whose neighbourhood was tried and did not change since.
        self.tried = np.zeros(len(search.problem), dtype=bool)

    def descend(self) -> None:
        """Improve the incumbent until no neighbourhood has a cheaper pattern, or the time is over."""
        search, everywhere = self.search, np.ones(len(self.tried), dtype=bool)
        while not search.done():
            before = search.suppressed
            self._decide(everywhere, disputed=True)
            for region in self.regions():
                self._decide(region)
            if search.suppressed is before:
                return
            search.converge(np.inf)  # with the cuts found meanwhile

    def regions(self) -> Iterator[BoolArray]:
        """The neighbourhood of the costliest secondary not yet in one, and so on; again after changes."""
        search = self.search
        while search.suppressed is not None and not search.done():
            left = np.flatnonzero(search.suppressed & search.free & ~self.tried)
            if not len(left):
                return
            region = self.around(int(left[np.argmax(search.cost[left])]))
            self.tried |= region
            yield region

    def around(self, cell: int) -> BoolArray:
        """A cell, the cells in its relations, the cells in theirs, and so on, up to the largest number of free cells."""
        inside = np.zeros(len(self.tried), dtype=bool)
        inside[cell] = True
        visited = np.zeros(self.rows.shape[0], dtype=bool)
        while True:
            new = self._rows_of(np.flatnonzero(inside))
            new = new[~visited[new]]
            if not len(new):
                return inside
            for row in self.rng.permutation(new):
                inside[self.rows.indices[self.rows.indptr[row] : self.rows.indptr[row + 1]]] = True
                if np.count_nonzero(inside & self.search.free) >= MAX_FREE_CELLS:
                    return inside
            visited[new] = True

    def changed(self, cells: IntArray) -> None:
        """Try the neighbourhoods of these cells again."""
        at, _ = terms(self.rows, self._rows_of(cells))
        self.tried[self.rows.indices[at]] = False

    def _rows_of(self, cells: IntArray) -> IntArray:
        return np.unique(self.columns.indices[terms(self.columns, cells)[0]])

    def _decide(self, region: BoolArray, disputed: bool = False) -> None:
        """Search for a cheaper pattern that differs from the incumbent in a region only.

        First a pattern that follows the linear relaxation in the region, then the cheapest one by an integer program. If only
        ``disputed`` cells are open, cells on which incumbent and relaxation agree keep their status in the integer program.
        """
        search, before = self.search, self.search.suppressed
        if before is None or search.relaxed is None or search.done():
            return
        search.grow(np.where(region, search.relaxed.x, before), PRICE_NOISE)
        search.search_neighbourhood(region & search.disputed() if disputed else region)
        if search.suppressed is not before:
            self.changed(np.flatnonzero(search.suppressed != before))
