"""Who changes places with whom: as many pairs as there can be among those chosen, then with others."""

from __future__ import annotations

import numpy as np

from discreet.arrays import BoolArray, IntArray
from discreet.edit.record_codes import combined

Pairs = tuple[IntArray, IntArray]


def partners(group: IntArray, area: IntArray, chosen: BoolArray, risky: BoolArray, rng: np.random.Generator) -> Pairs:
    """Pairs within groups and between areas, each record in one at most; one of each pair or both are chosen.

    Those chosen are paired among each other first, so that no more records than necessary are moved. Whoever is left of
    a group then is from one area, and finds others of the group there are in other areas.
    """
    left, right = _among(np.flatnonzero(chosen), group, area, risky, rng)
    single = chosen.copy()
    single[left] = single[right] = False
    more, others = _with_others(np.flatnonzero(single), np.flatnonzero(~chosen), group, area, risky, rng)
    return np.concatenate([left, more]), np.concatenate([right, others])


def _among(rows: IntArray, group: IntArray, area: IntArray, risky: BoolArray, rng: np.random.Generator) -> Pairs:
    """As many pairs as there can be. In each group, areas stand in line, the one with the most records first.

    Take a step of half the line, or of the first area if that is more: it leads from any record to one of another area.
    """
    if not len(rows):
        return rows, rows
    groups, cell = group[rows], combined([group[rows], area[rows]], len(rows))
    records = np.bincount(cell)
    mixed = rng.random(len(records))  # areas with as many records as each other are not always in the same order
    line = np.lexsort((rng.random(len(rows)), ~risky[rows], mixed[cell], -records[cell], groups))
    rows, groups, cell = rows[line], groups[line], cell[line]
    first = np.searchsorted(groups, groups, side="left")
    total = np.searchsorted(groups, groups, side="right") - first
    place = np.arange(len(rows)) - first
    step = np.maximum(records[cell[first]], total // 2)
    leads = np.flatnonzero(place < np.minimum(step, total - step))
    return rows[leads], rows[leads + step[leads]]


def _with_others(
    single: IntArray, others: IntArray, group: IntArray, area: IntArray, risky: BoolArray, rng: np.random.Generator
) -> Pairs:
    """Those who are left, the risky ones first, with anybody of their group who is elsewhere."""
    wanted = np.bincount(group[single], minlength=int(group.max(initial=0)) + 1)
    home = np.full(len(wanted), -1)
    home[group[single]] = area[single]
    others = others[(wanted[group[others]] > 0) & (home[group[others]] != area[others])]
    single = single[np.lexsort((rng.random(len(single)), ~risky[single], group[single]))]
    others = others[np.lexsort((rng.random(len(others)), group[others]))]
    there = np.bincount(group[others], minlength=len(wanted))
    matched = np.minimum(wanted, there)
    return single[_rank(group[single]) < matched[group[single]]], others[_rank(group[others]) < matched[group[others]]]


def _rank(groups: IntArray) -> IntArray:
    return np.arange(len(groups)) - np.searchsorted(groups, groups, side="left")
