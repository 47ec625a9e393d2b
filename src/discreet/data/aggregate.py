"""Aggregation of records to the cells of all levels of the hierarchies.

Most respondents are in a single base cell, and make the same contribution to it and to every total above it. For them, base
cells are summarized by sums, a count and the largest contributions, and only these summaries are aggregated to higher levels.
Respondents in several base cells are aggregated separately for each level.

Contributions are added as decimals, not as floats: sums then do not depend on the order of records in a parallel engine, and
contributions that cancel or tie do so exactly. Records are processed by a database engine (``aggregate_engine``) or, if there
are at most ``MAX_RECORDS_IN_MEMORY``, in memory (``aggregate_memory``). Both give the same numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.arrays import IntArray
from discreet.data.columns import Columns
from discreet.data.hierarchy import ABSENT, Hierarchy
from discreet.data.relations import additive
from discreet.data.table import Weights
from discreet.errors import HierarchyError, InputError, some


@dataclass(frozen=True, repr=False)
class Ancestry:
    """The leaves of a hierarchy that occur in the records, each paired with itself and with all its ancestors."""

    leaves: pd.DataFrame  # the leaves as text and as index
    above: pd.DataFrame  # all pairs
    level: pd.Series  # of the code of each pair; −1 if it is a leaf

    @cached_property
    def layers(self) -> list[pd.DataFrame]:
        """The pairs of a leaf and an ancestor, split so that a leaf occurs at most once in each layer."""
        groups = self.level >= 0
        return [layer for _level, layer in self.above[groups].groupby(self.level[groups])]

    @cached_property
    def _by_leaf(self) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """The leaves, where the pairs of each begin, how many there are, and the codes of all pairs."""
        leaf = self.above.leaf.to_numpy()
        order = np.argsort(leaf, kind="stable")
        leaves, start, number = np.unique(leaf[order], return_index=True, return_counts=True)
        return leaves, start, number, self.above.code.to_numpy()[order]

    def repeated(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The place of each code among ``codes``, repeated for each pair, and the code of the pair."""
        leaves, start, number, above = self._by_leaf
        leaf = np.searchsorted(leaves, codes)
        number = number[leaf]
        before = np.cumsum(number) - number
        within = np.arange(number.sum()) - np.repeat(before, number)
        return np.repeat(np.arange(len(codes)), number), above[np.repeat(start[leaf], number) + within]

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy, observed: Sequence[str]) -> Ancestry:
        leaves = np.sort([hierarchy.index(code) for code in observed])
        leaf, code = hierarchy.ancestors
        seen = np.isin(leaf, leaves)
        row, code = np.searchsorted(leaves, leaf[seen]), code[seen]
        reach = sparse.csr_array((np.ones(len(row)), (row, code)), shape=(len(leaves), len(hierarchy)))
        relations, _missing = additive([hierarchy], np.arange(len(hierarchy), dtype=np.int32)[None])
        misplaced = np.unique((reach @ relations.T).nonzero()[0])
        if len(misplaced):
            codes = [hierarchy.codes[leaf] for leaf in leaves[misplaced]]
            raise HierarchyError(
                f"Codes in column {name!r} do not occur exactly once in each tree of the hierarchy of {hierarchy.total!r}: "
                f"{some(codes)}. Totals would not add up: list each leaf once in each tree.",
                codes,
            )
        above = pd.DataFrame({"leaf": leaves[row], "code": code}, dtype=np.int32)
        # Codes at the same depth of the same tree have no leaf in common.
        tree, depth = (hierarchy.parents != ABSENT).argmax(axis=0), hierarchy.depth
        level = pd.Series(np.where(hierarchy.is_leaf, -1, tree * (depth.max() + 1) + depth)[code])
        text = pd.DataFrame({"text": [hierarchy.codes[leaf] for leaf in leaves], "leaf": leaves.astype(np.int32)})
        return cls(text, above, level)


@dataclass(frozen=True)
class AggregationPlan:
    """The options of an aggregation, and the names of the columns it works with.

    Columns of records: ``c0``, ``c1`` … codes as indices; ``unit`` contributor; ``name`` of the respondent, and ``held``: 1 if
    that is a holding, 0 if it is a contributor; ``x`` contribution; ``v`` and ``e0``, ``e1`` … response and extra columns,
    weighted; ``w`` weight; ``requested0``, ``requested1`` … whether protection of each kind was requested.
    """

    columns: Columns
    ancestries: Sequence[Ancestry]
    top: int
    count_zeros: bool
    signed: bool  # some contributions are negative
    contributions: bool  # contributions to base cells are kept
    weights: Weights
    provenance: Mapping[str, int]  # of the table
    request_kinds: int = 1

    @property
    def requests(self) -> list[str]:
        return [f"requested{k}" for k in range(self.request_kinds)]

    @property
    def codes(self) -> list[str]:
        return [f"c{d}" for d in range(len(self.ancestries))]

    @property
    def sums(self) -> list[str]:
        """The response and the extra columns, weighted."""
        return ["v", *(f"e{i}" for i in range(len(self.columns.extra)))]

    @property
    def respondent_sums(self) -> list[str]:
        """The columns that are summed for each respondent and cell at levels above base cells."""
        return ["x", "v"] if self.signed else ["x"]


class CellSummary(NamedTuple):
    """Cells with their sums and counts, and the largest contributions to each."""

    cells: pd.DataFrame
    entries: pd.DataFrame


@dataclass(frozen=True, repr=False)
class MultiCellSummary:
    """The respondents in several base cells."""

    sums: pd.DataFrame  # of their contributions to base cells
    levels: list[CellSummary]  # counts and largest contributions of cells of all levels
    contributions: pd.DataFrame | None  # to base cells, if these are kept


class Respondents(Protocol):
    """The records whose respondents are named."""

    def single_cell(self) -> CellSummary:
        """Base cells, by the respondents in a single base cell."""
        ...

    def multi_cell(self) -> MultiCellSummary:
        """Cells of all levels, by the respondents in several base cells."""
        ...

    def names(self, ids: pd.Series) -> pd.DataFrame:
        """The names of respondents, whether they are holdings, and whether they requested protection."""
        ...


class Records(Protocol):
    """The records of a survey, in a database or in memory."""

    def n_with_several_holdings(self) -> int:
        """The number of contributors that belong to different holdings in different records."""
        ...

    def counted_once(self) -> tuple[Records, int, int]:
        """One row per contributor and cell; the numbers of rows in a further cell of a contributor, and with several weights."""
        ...

    def nameless(self) -> CellSummary:
        """Base cells, by the records without the name of a respondent."""
        ...

    def respondents(self) -> AbstractContextManager[Respondents]:
        """The records with the name of a respondent."""
        ...


@dataclass(frozen=True, repr=False)
class CellSums:
    """The result of an aggregation."""

    cells: pd.DataFrame  # of all levels, with their sums and counts
    entries: pd.DataFrame  # the largest contributions to these cells
    names: pd.DataFrame  # of the respondents
    leaves: pd.DataFrame  # contributions to base cells: all of respondents in several, and the largest of others


def checked_units(records: Records, plan: AggregationPlan) -> Records:
    """The records after a check of contributors; if contributors are counted, one row per contributor and cell."""
    columns = plan.columns
    conflicts = records.n_with_several_holdings() if columns.holding is not None else 0
    if conflicts:
        raise InputError(
            f"{conflicts:,} contributors in column {columns.contributor!r} have different entries in column "
            f"{columns.holding!r}. A contributor belongs to one holding, or to none, in all its records."
        )
    if columns.response is not None:
        return records
    units, several, uneven = records.counted_once()
    if uneven:
        raise InputError(
            f"{uneven:,} contributors have records with different weights in one cell. "
            f"A contributor is counted once, so give it one weight in column {columns.weight!r}."
        )
    if several:
        raise InputError(
            f"Contributors in column {columns.contributor!r} occur in several cells, so their numbers do not add up to "
            "totals. To count records with their contributors, pass the column as holding=, not contributor=."
        )
    return units


def add_up(records: Records, plan: AggregationPlan) -> CellSums:
    """All cells with their sums, counts and largest contributions."""
    leaf_summaries = []
    if plan.columns.contributor is None:
        leaf_summaries.append(records.nameless())
        if plan.columns.holding is None:
            cells, entries = leaf_summaries[0]
            no_names = pd.DataFrame(columns=["id", "name", "held", *plan.requests])
            return CellSums(
                _at_all_levels(cells, plan, _sums), _at_all_levels(entries, plan, largest), no_names, entries
            )
    with records.respondents() as respondents:
        leaf_summaries.append(respondents.single_cell())
        multi_cell = respondents.multi_cell()
        cells = _sums(pd.concat([*(summary.cells for summary in leaf_summaries), multi_cell.sums]), plan)
        entries = largest(pd.concat([summary.entries for summary in leaf_summaries]), plan)
        leaves = entries[[*plan.codes, "id", "x"]]
        if multi_cell.contributions is not None:
            leaves = pd.concat([leaves, multi_cell.contributions])
        summaries = [
            CellSummary(_at_all_levels(cells, plan, _sums), _at_all_levels(entries, plan, largest)),
            *multi_cell.levels,
        ]
        cells = _sums(pd.concat([summary.cells for summary in summaries]), plan)
        entries = largest(pd.concat([summary.entries for summary in summaries]), plan)
        ids = pd.concat([entries.id, leaves.id]) if plan.contributions else entries.id
        return CellSums(cells, entries, respondents.names(ids), leaves)


def _at_all_levels(
    frame: pd.DataFrame, plan: AggregationPlan, combine: Callable[[pd.DataFrame, AggregationPlan], pd.DataFrame]
) -> pd.DataFrame:
    """The rows of base cells combined to rows of the cells of all levels, one dimension after the other."""
    for d in range(len(plan.ancestries)):
        frame = combine(with_ancestors(frame, plan, d), plan)
    return frame


def with_ancestors(frame: pd.DataFrame, plan: AggregationPlan, d: int) -> pd.DataFrame:
    """The rows, each repeated with every ancestor of its code in dimension ``d`` in place of the code."""
    code = plan.codes[d]
    row, above = plan.ancestries[d].repeated(frame[code].to_numpy())
    return frame.iloc[row].assign(**{code: above})


def _sums(cells: pd.DataFrame, plan: AggregationPlan) -> pd.DataFrame:
    return cells.groupby(plan.codes, as_index=False).sum()


def largest(entries: pd.DataFrame, plan: AggregationPlan) -> pd.DataFrame:
    """The largest entries of each cell with their ranks; ties are broken by name."""
    x, cell = entries.x.to_numpy(), [entries[code].to_numpy() for code in plan.codes]
    requested = [~entries[name].to_numpy(bool) for name in reversed(plan.requests)]
    order = np.lexsort((*requested, -x, entries.id.to_numpy(), -np.abs(x), *reversed(cell)))
    start = first_of_each([code[order] for code in cell])
    rank = np.arange(len(order)) - np.repeat(start, np.diff(start, append=len(order)))
    return entries.iloc[order[rank < plan.top]].assign(rank=rank[rank < plan.top])


def first_of_each(keys: Sequence[IntArray]) -> IntArray:
    """Where each combination of keys, which are sorted, occurs first."""
    is_first = np.ones(len(keys[0]), dtype=bool)
    is_first[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.flatnonzero(is_first)
