"""Pairs of records that exchange their areas: as many as possible between chosen records, then with others."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.edit.record_codes import combined

Pairs = tuple[IntArray, IntArray]


def partners(group: IntArray, area: IntArray, chosen: BoolArray, risky: BoolArray, rng: np.random.Generator) -> Pairs:
    """Disjoint pairs of records of the same group and different areas, with at least one chosen record in each.

    Chosen records are paired with each other first, so that as few records as possible are edited. The unpaired ones of a group
    are then all in one area, and are paired with records of the group in other areas.
    """
    left, right = _among_chosen(np.flatnonzero(chosen), group, area, risky, rng)
    unpaired = chosen.copy()
    unpaired[left] = unpaired[right] = False
    more, others = _with_others(np.flatnonzero(unpaired), np.flatnonzero(~chosen), group, area, risky, rng)
    return np.concatenate([left, more]), np.concatenate([right, others])


def _among_chosen(rows: IntArray, group: IntArray, area: IntArray, risky: BoolArray, rng: np.random.Generator) -> Pairs:
    """As many pairs as possible. In each group, records are sorted by area, the area with most records first.

    A step of half the group, or of the size of the first area if that is more, leads from any record to another area.
    """
    if not len(rows):
        return rows, rows
    groups, cell = group[rows], combined([group[rows], area[rows]], len(rows))
    records = np.bincount(cell)
    tie = rng.random(len(records))  # areas of the same size are in random order
    order = np.lexsort((rng.random(len(rows)), ~risky[rows], tie[cell], -records[cell], groups))
    rows, groups, cell = rows[order], groups[order], cell[order]
    first = np.searchsorted(groups, groups, side="left")
    total = np.searchsorted(groups, groups, side="right") - first
    place = np.arange(len(rows)) - first
    step = np.maximum(records[cell[first]], total // 2)
    first_of_pair = np.flatnonzero(place < np.minimum(step, total - step))
    return rows[first_of_pair], rows[first_of_pair + step[first_of_pair]]


def _with_others(
    unpaired: IntArray, others: IntArray, group: IntArray, area: IntArray, risky: BoolArray, rng: np.random.Generator
) -> Pairs:
    """Pairs of unpaired records, risky ones first, with other records of their group in other areas."""
    n_unpaired = np.bincount(group[unpaired], minlength=int(group.max(initial=0)) + 1)
    home = np.full(len(n_unpaired), -1)
    home[group[unpaired]] = area[unpaired]
    others = others[(n_unpaired[group[others]] > 0) & (home[group[others]] != area[others])]
    unpaired = unpaired[np.lexsort((rng.random(len(unpaired)), ~risky[unpaired], group[unpaired]))]
    others = others[np.lexsort((rng.random(len(others)), group[others]))]
    n_pairs = np.minimum(n_unpaired, np.bincount(group[others], minlength=len(n_unpaired)))
    left, right = (rows[_rank(group[rows]) < n_pairs[group[rows]]] for rows in (unpaired, others))
    return left, right


def _rank(groups: IntArray) -> IntArray:
    """The rank of each record in its group; groups are sorted."""
    return np.arange(len(groups)) - np.searchsorted(groups, groups, side="left")
