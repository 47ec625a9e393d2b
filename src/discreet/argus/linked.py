"""Several tables of a job as one: to protect them together, and to audit together those that were protected one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.argus.microdata import RecordFile
from discreet.argus.shared_records import NamesHere, SharedRecords
from discreet.argus.work import Work
from discreet.arrays import BoolArray, IntArray
from discreet.assess import assess
from discreet.data.link import link
from discreet.data.table import Table
from discreet.errors import InputError, some
from discreet.problem import Override, Problem, Status
from discreet.protection import Decision, Protection, publish_intervals, suppress


@dataclass(frozen=True)
class LinkedTables:
    """The linked table, its problem, and where the cells of each table are in it."""

    problem: Problem
    places: tuple[IntArray, ...]

    def publication(self, works: Sequence[Work]) -> Protection:
        """What readers of all tables see, which were protected one by one: of a cell in several tables the narrowest interval.

        A cell is suppressed if no table shows its value.
        """
        n, value = len(self.problem), self.problem.table.value
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        for work, place in zip(works, self.places, strict=True):
            assert work.protection is not None
            shown = work.protection.listed
            # Sums of doubles over the same records may differ in their last digit.
            exactly = shown.decision == Decision.PUBLISHED
            np.maximum.at(lower, place, np.where(exactly, value[place], np.minimum(shown.lower, value[place])))
            np.minimum.at(upper, place, np.where(exactly, value[place], np.maximum(shown.upper, value[place])))
        suppressed = np.isinf(lower) & np.isinf(upper)
        # A cell that one table suppresses and another publishes is public, whatever its status.
        released = np.where(suppressed, Status.PUBLISHED, Status.SUPPRESSED)
        status = np.where(self.problem.status == released, Status.FREE, self.problem.status)
        return publish_intervals(
            self.problem.with_columns(status=status),
            published=np.where(suppressed, np.nan, value),
            lower=lower,
            upper=upper,
            cost=float(self.problem.cost[suppressed].sum()),
        )


def linked(works: Sequence[Work], problems: Sequence[Problem]) -> LinkedTables:
    """The tables of a job as one problem. A cell has the strictest status and the largest levels of its tables.

    Readers know of each cell what they know of it in any table. Cells that no table shows come last and have no levels.
    """
    tables = [replace(problem.table, extra={}) for problem in problems]
    responses = {table.response for table in tables}
    if len({response.upper() for response in responses}) > 1:
        raise InputError(
            f"tables with different responses cannot be protected together: {some(sorted(responses))}. Protect each by itself."
        )
    names: Sequence[NamesHere | None] = [None] * len(works)
    if not all(isinstance(work.data, RecordFile) for work in works):
        whole = link(*tables)
    else:
        records = SharedRecords.of(works)
        names = records.names
        whole = link(*(tables if records.alike else records.tables()), behind=records.tabulated)
    places = [_places(table, whole, named) for table, named in zip(tables, names, strict=True)]
    whole, places = _shown_first(whole, places)
    n = len(whole)
    status, cost = np.full(n, Status.FREE, dtype=np.int8), np.zeros(n)
    lower, upper = np.zeros(n), np.zeros(n)
    order = {Status.FREE: 0, Status.PUBLISHED: 1, Status.SUPPRESSED: 2, Status.PRIMARY: 3}
    rank = np.full(n, -1)
    base = assess(whole, [])
    prior_lower, prior_upper = base.prior_lower.copy(), base.prior_upper.copy()
    for problem, place in zip(problems, places, strict=True):
        mine = np.array([order[Status(one)] for one in problem.status.tolist()])
        stronger = mine > rank[place]
        status[place[stronger]] = problem.status[stronger]
        rank[place] = np.maximum(rank[place], mine)
        np.maximum.at(cost, place, problem.cost)
        np.maximum.at(lower, place, problem.lower)
        np.maximum.at(upper, place, problem.upper)
        np.maximum.at(prior_lower, place, problem.prior_lower)
        np.minimum.at(prior_upper, place, problem.prior_upper)
    if whole.behind is not None:
        status[whole.behind] = Status.SUPPRESSED
    overrides: dict[str, Override] = {}
    must_suppress: list[str] = []
    for one, place in zip(problems, places, strict=True):

        def label(cell: str, table: Table = one.table, place: IntArray = place) -> str:
            return whole.label(int(place[table.index(cell)]))

        overrides |= {label(each.cell): replace(each, cell=label(each.cell)) for each in one.overrides}
        must_suppress += map(label, one.must_suppress)
    free_of_levels = (status != Status.PRIMARY) & (status != Status.FREE)
    problem = base.with_columns(
        status=status,
        cost=cost,
        lower=np.where(free_of_levels, 0.0, np.minimum(lower, whole.value - prior_lower)),
        upper=np.where(free_of_levels, 0.0, np.minimum(upper, prior_upper - whole.value)),
        prior_lower=prior_lower,
        prior_upper=prior_upper,
        rules=tuple(dict.fromkeys(rule for one in problems for rule in one.rules)),
        overrides=tuple(overrides.values()),
        must_suppress=tuple(dict.fromkeys(must_suppress)),
        smallest_value=_smallest(base, status),
    )
    return LinkedTables(problem, tuple(places))


def _smallest(base: Problem, status: np.ndarray) -> np.ndarray:
    """The smallest possible values, unless a zero may be suppressed."""
    table = base.table
    listed = np.arange(len(table)) < table.n_listed
    if np.any((table.magnitude == 0) & listed & (status != Status.PUBLISHED)):
        return np.zeros(len(table))
    return base.smallest_value


def _places(table: Table, whole: Table, names: NamesHere | None) -> IntArray:
    """The index of each cell of a table in the linked table; a dimension that the table does not have is at its total.

    ``names`` says what the dimensions and codes of the table are called there; without them, their names are the same.
    """
    index = {cell: i for i, cell in enumerate(map(tuple, whole.codes[:, : whole.n_listed].T.tolist()))}
    at = np.zeros((len(whole.dimensions), len(table)), dtype=np.int64)
    there = list(whole.dimensions)
    for (name, hierarchy), codes in zip(table.dimensions.items(), table.codes, strict=True):
        called, renamed = (name, {}) if names is None else names[name]
        # A code without records has no name there, and no cells.
        place = [
            whole.dimensions[called].index(new) if (new := renamed.get(code, code)) in whole.dimensions[called] else -1
            for code in hierarchy.codes
        ]
        at[there.index(called)] = np.array(place)[codes]
    return np.array([index[cell] for cell in map(tuple, at.T.tolist())], dtype=np.int64)


def _shown_first(whole: Table, places: Sequence[IntArray]) -> tuple[Table, list[IntArray]]:
    """The table with the cells that no table shows after all others, as cells behind."""
    unseen = np.ones(len(whole), dtype=bool)
    unseen[np.concatenate(places)] = False
    if whole.behind is None and not unseen.any():
        return whole, list(places)
    order = np.argsort(unseen, kind="stable")
    rank = np.empty(len(whole), dtype=np.int64)
    rank[order] = np.arange(len(whole))
    table = whole.with_columns(contributions=None, behind=None).only(order) if unseen.any() else whole
    return table.with_columns(behind=unseen[order], complete=False), [rank[place] for place in places]


def split(problem: Problem, place: IntArray, suppressed: BoolArray, report: Protection) -> Protection:
    """The part of a pattern of linked tables that concerns one of them."""
    mine = suppressed[place]
    status = np.where(mine & (problem.status == Status.PUBLISHED), Status.FREE, problem.status).astype(np.int8)
    found = suppress(problem.with_columns(status=status), mine)
    return replace(found, report=replace(found.report, method=report.report.method, status=report.report.status))
