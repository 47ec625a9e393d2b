"""Adding up records to the cells of every level of the hierarchies.

Contributors who stay within one leaf cell stay whole in every total above it. For these, usually most, leaf cells are condensed
to sums, a count and the largest contributions, and only those are carried up. Contributors who occur in several leaf cells are
added up anew for the cells of every level.

Contributions are added as decimals, not as floats. The order in which a parallel engine meets the records then does not show in
the results, and contributions that cancel or tie do so exactly. Work on single records is done where they are: by a database
engine (``aggregate_engine``), or, if they are few, in memory (``aggregate_memory``). Both give the same numbers to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
from scipy import sparse

from discreet.data.hierarchy import ABSENT, Hierarchy
from discreet.data.records import Columns
from discreet.data.relations import additive
from discreet.data.table import Weights
from discreet.errors import HierarchyError, InputError, some


@dataclass(frozen=True, repr=False)
class Ancestry:
    """Pairs (leaf, code that it counts towards) of one hierarchy, for the leaves that occur."""

    leaves: pd.DataFrame  # the leaves as text and as number
    above: pd.DataFrame  # all pairs, each leaf with itself among them
    level: pd.Series  # of each pair: -1 if its code is a leaf

    @cached_property
    def layers(self) -> list[pd.DataFrame]:
        """The pairs with groups, split so that a leaf occurs at most once in each layer."""
        groups = self.level >= 0
        return [layer for _level, layer in self.above[groups].groupby(self.level[groups])]

    @classmethod
    def of(cls, name: str, hierarchy: Hierarchy, observed: Sequence[str]) -> Ancestry:
        leaves = np.sort([hierarchy.index(code) for code in observed])
        leaf, code = hierarchy.ancestors
        seen = np.isin(leaf, leaves)
        row, code = np.searchsorted(leaves, leaf[seen]), code[seen]
        reach = sparse.csr_array((np.ones(len(row)), (row, code)), shape=(len(leaves), len(hierarchy)))
        relations, _missing = additive([hierarchy], np.arange(len(hierarchy), dtype=np.int32)[None])
        lost = np.unique((reach @ relations.T).nonzero()[0])
        if len(lost):
            codes = [hierarchy.codes[leaf] for leaf in leaves[lost]]
            raise HierarchyError(
                f"Codes in column {name!r} do not have one place in each tree of the hierarchy of {hierarchy.total!r}: "
                f"{some(codes)}. Totals would not add up; put each leaf once into each tree.",
                codes,
            )
        above = pd.DataFrame({"leaf": leaves[row], "code": code}, dtype=np.int32)
        # Codes at one depth of one tree have no leaf in common.
        tree, depth = (hierarchy.parents != ABSENT).argmax(axis=0), hierarchy.depth
        level = pd.Series(np.where(hierarchy.is_leaf, -1, tree * (depth.max() + 1) + depth)[code])
        text = pd.DataFrame({"text": [hierarchy.codes[leaf] for leaf in leaves], "leaf": leaves.astype(np.int32)})
        return cls(text, above, level)


@dataclass(frozen=True)
class AggregationPlan:
    """What is wanted, and the names of the columns it is worked out in.

    Columns of records: ``c0``, ``c1`` … codes as numbers; ``unit`` contributor; ``name`` and ``held`` the respondent, which is a
    holding or a contributor; ``x`` contribution; ``v`` and ``e0``, ``e1`` … response and extra columns, weighted; ``w`` weight;
    ``asked`` whether protection was requested.
    """

    columns: Columns
    ancestries: Sequence[Ancestry]
    top: int
    count_zeros: bool
    signed: bool  # some contributions are negative
    contributions: bool  # who contributes what to leaf cells is to be kept
    weights: Weights
    dropped: int  # records left out because their codes are not in a hierarchy

    @property
    def codes(self) -> list[str]:
        return [f"c{d}" for d in range(len(self.ancestries))]

    @property
    def sums(self) -> list[str]:
        """The response and the extra columns, weighted."""
        return ["v", *(f"e{i}" for i in range(len(self.columns.extra)))]

    @property
    def net(self) -> list[str]:
        """What is needed of a respondent's contribution to a cell, besides its weight, to rank it."""
        return ["x", "v"] if self.signed else ["x"]


class Condensed(NamedTuple):
    """Cells with their sums and counts, and the largest contributions to each."""

    cells: pd.DataFrame
    entries: pd.DataFrame


@dataclass(frozen=True, repr=False)
class Moving:
    """Respondents in several leaf cells."""

    shares: pd.DataFrame  # what they add to the sums of leaf cells
    levels: list[Condensed]  # counts and largest contributions of cells of every level
    pairs: pd.DataFrame | None  # contributions to leaf cells, if these are to be kept


class Respondents(Protocol):
    """Records of which it is known whose they are."""

    def staying(self) -> Condensed:
        """Leaf cells, by the respondents who are in no other."""
        ...

    def moving(self) -> Moving: ...

    def named(self, ids: pd.Series) -> pd.DataFrame:
        """Name, whether it is a holding, and whether it asked for protection, of these respondents."""
        ...


class Records(Protocol):
    """Records of a survey, wherever they are."""

    def torn(self) -> int:
        """How many contributors belong to different holdings in different records."""
        ...

    def counted_once(self) -> tuple[Records, int, int]:
        """Each contributor once in a cell; how many rows are in a further cell, and how many have different weights."""
        ...

    def nameless(self) -> Condensed:
        """Leaf cells, by the records of which it is not known whose they are."""
        ...

    def respondents(self) -> AbstractContextManager[Respondents]: ...


@dataclass(frozen=True, repr=False)
class CellSums:
    """What the records add up to."""

    cells: pd.DataFrame  # of every level
    entries: pd.DataFrame  # their largest contributions
    names: pd.DataFrame  # of who made them
    leaves: pd.DataFrame  # contributions to leaf cells: all of who is in several, and the largest of the others


def checked_units(records: Records, plan: AggregationPlan) -> Records:
    """The records, contributors checked; where contributors are counted, each once in a cell."""
    columns = plan.columns
    torn = records.torn() if columns.holding is not None else 0
    if torn:
        raise InputError(
            f"{torn:,} contributors in column {columns.contributor!r} have different entries in column "
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
            "totals. To count records, and still know whose they are, pass the column as holding=, not contributor=."
        )
    return units


def add_up(records: Records, plan: AggregationPlan) -> CellSums:
    """All cells with their sums, counts and largest contributions."""
    found = []
    if plan.columns.contributor is None:
        found.append(records.nameless())
        if plan.columns.holding is None:
            cells, entries = found[0]
            nobody = pd.DataFrame(columns=["id", "name", "held", "asked"])
            return CellSums(_carried_up(cells, plan, _added), _carried_up(entries, plan, largest), nobody, entries)
    with records.respondents() as respondents:
        found.append(respondents.staying())
        moving = respondents.moving()
        cells = _added(pd.concat([*(one.cells for one in found), moving.shares]), plan)
        entries = largest(pd.concat([one.entries for one in found]), plan)
        leaves = entries[[*plan.codes, "id", "x"]]
        if moving.pairs is not None:
            leaves = pd.concat([leaves, moving.pairs])
        cells = _added(pd.concat([_carried_up(cells, plan, _added), *(one.cells for one in moving.levels)]), plan)
        risen = [_carried_up(entries, plan, largest), *(one.entries for one in moving.levels)]
        entries = largest(pd.concat(risen), plan)
        wanted = pd.concat([entries.id, leaves.id]) if plan.contributions else entries.id
        return CellSums(cells, entries, respondents.named(wanted), leaves)


def _carried_up(
    frame: pd.DataFrame, plan: AggregationPlan, gather: Callable[[pd.DataFrame, AggregationPlan], pd.DataFrame]
) -> pd.DataFrame:
    """From leaf cells to the cells of every level, one dimension after the other."""
    for d in range(len(plan.ancestries)):
        frame = gather(climbed(frame, plan, d), plan)
    return frame


def climbed(frame: pd.DataFrame, plan: AggregationPlan, d: int) -> pd.DataFrame:
    """Each row once for every code of dimension ``d`` that it counts towards."""
    code = plan.codes[d]
    risen = frame.merge(plan.ancestries[d].above, left_on=code, right_on="leaf").drop(columns=[code, "leaf"])
    return risen.rename(columns={"code": code})


def _added(cells: pd.DataFrame, plan: AggregationPlan) -> pd.DataFrame:
    return cells.groupby(plan.codes, as_index=False).sum()


def largest(entries: pd.DataFrame, plan: AggregationPlan) -> pd.DataFrame:
    """The largest entries of each cell, ranked; equal ones in the order of the names."""
    cell, x = entries.groupby(plan.codes).ngroup().to_numpy(), entries.x.to_numpy()
    order = np.lexsort((~entries.asked.to_numpy(bool), -x, entries.id.to_numpy(), -np.abs(x), cell))
    ranked = entries.iloc[order]
    rank = ranked.groupby(cell[order]).cumcount()
    return ranked.assign(rank=rank)[rank < plan.top]
