"""Several tables of a job as one: to protect them together, and to audit together those that were protected one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.argus.work import Work
from discreet.arrays import BoolArray, IntArray
from discreet.assess import assess
from discreet.data.cells_behind_values import BehindSource
from discreet.data.link import link
from discreet.data.table import Table
from discreet.errors import InputError, some
from discreet.problem import Override, Problem, Status
from discreet.protection import Protection, suppress


@dataclass(frozen=True)
class LinkedTables:
    """The linked table, its problem, and where the cells of each table are in it."""

    problem: Problem
    places: tuple[IntArray, ...]

    def pattern(self, works: Sequence[Work]) -> Protection:
        """The pattern of tables that were protected one by one: a cell is suppressed if it is suppressed in all its tables."""
        published = np.zeros(len(self.problem), dtype=bool)
        for work, place in zip(works, self.places, strict=True):
            assert work.protection is not None
            published[place[~work.protection.suppressed]] = True
        before = (self.problem.status == Status.SUPPRESSED) & ~published
        suppressed = before | (~published)
        # A cell that one table suppresses and another publishes is public, whatever its status.
        status = np.where(published & (self.problem.status == Status.SUPPRESSED), Status.FREE, self.problem.status)
        status = np.where(suppressed & (status == Status.PUBLISHED), Status.FREE, status).astype(np.int8)
        return suppress(self.problem.with_columns(status=status), suppressed)


def linked(works: Sequence[Work], problems: Sequence[Problem], behind: BehindSource = True) -> LinkedTables:
    """The tables of a job as one problem. A cell has the strictest status and the largest levels of its tables."""
    tables = [replace(problem.table, extra={}) for problem in problems]
    responses = {table.response for table in tables}
    if len(responses) > 1:
        raise InputError(f"tables with different responses cannot be protected together: {some(sorted(responses))}.")
    whole = link(*tables, behind=behind)
    places = tuple(_places(table, whole) for table in tables)
    n = len(whole)
    status, cost = np.full(n, Status.FREE, dtype=np.int8), np.zeros(n)
    lower, upper = np.zeros(n), np.zeros(n)
    order = {Status.FREE: 0, Status.PUBLISHED: 1, Status.SUPPRESSED: 2, Status.PRIMARY: 3}
    rank = np.full(n, -1)
    for problem, place in zip(problems, places, strict=True):
        mine = np.array([order[Status(one)] for one in problem.status.tolist()])
        stronger = mine > rank[place]
        status[place[stronger]] = problem.status[stronger]
        rank[place] = np.maximum(rank[place], mine)
        np.maximum.at(cost, place, problem.cost)
        np.maximum.at(lower, place, problem.lower)
        np.maximum.at(upper, place, problem.upper)
    base = assess(whole, [], cost=cost[: whole.n_listed])
    if whole.behind is not None:
        status[whole.behind] = Status.SUPPRESSED
    overrides: dict[str, Override] = {}
    must_suppress: list[str] = []
    for one, place in zip(problems, places, strict=True):

        def label(cell: str, table: Table = one.table, place: IntArray = place) -> str:
            return whole.label(int(place[table.index(cell)]))

        overrides |= {label(each.cell): replace(each, cell=label(each.cell)) for each in one.overrides}
        must_suppress += map(label, one.must_suppress)
    rules = [problem.rules for problem in problems]
    same = all(one == rules[0] for one in rules)
    free_of_levels = (status != Status.PRIMARY) & (status != Status.FREE)
    problem = base.with_columns(
        status=status,
        lower=np.where(free_of_levels, 0.0, np.minimum(lower, whole.value - base.prior_lower)),
        upper=np.where(free_of_levels, 0.0, np.minimum(upper, base.prior_upper - whole.value)),
        rules=rules[0]
        if same
        else tuple(f"{work.label}: {rule}" for work, one in zip(works, rules, strict=True) for rule in one),
        overrides=tuple(overrides.values()),
        must_suppress=tuple(dict.fromkeys(must_suppress)),
        smallest_value=_smallest(base, status),
    )
    return LinkedTables(problem, places)


def _smallest(base: Problem, status: np.ndarray) -> np.ndarray:
    """The smallest possible values, unless a zero may be suppressed."""
    table = base.table
    listed = np.arange(len(table)) < table.n_listed
    if np.any((table.magnitude == 0) & listed & (status != Status.PUBLISHED)):
        return np.zeros(len(table))
    return base.smallest_value


def _places(table: Table, whole: Table) -> IntArray:
    """The index of each cell of a table in the linked table; a dimension that the table does not have is at its total."""
    index = {cell: i for i, cell in enumerate(map(tuple, whole.codes[:, : whole.n_listed].T.tolist()))}
    columns = []
    for name, hierarchy in whole.dimensions.items():
        if name in table.dimensions:
            place = np.array([hierarchy.index(code) for code in table.dimensions[name].codes])
            columns.append(place[table.codes[list(table.dimensions).index(name)]])
        else:
            columns.append(np.zeros(len(table), dtype=np.int64))
    return np.array(
        [index[cell] for cell in zip(*(column.tolist() for column in columns), strict=True)], dtype=np.int64
    )


def split(problem: Problem, place: IntArray, suppressed: BoolArray, report: Protection) -> Protection:
    """The part of a pattern of linked tables that concerns one of them."""
    mine = suppressed[place]
    status = np.where(mine & (problem.status == Status.PUBLISHED), Status.FREE, problem.status).astype(np.int8)
    found = suppress(problem.with_columns(status=status), mine)
    return replace(found, report=replace(found.report, method=report.report.method, status=report.report.status))
