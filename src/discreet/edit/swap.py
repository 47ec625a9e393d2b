"""Swapping: records that agree on key variables exchange their areas, so tables of these variables by area are unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.edit.record_codes import (
    NO_AREA,
    as_tuple,
    check_columns,
    combined,
    combined_by_unit,
    group,
    is_missing,
    numbered,
    records_of,
    with_rows,
)
from discreet.edit.report import EditReport, RecordComparison, wanted_tables
from discreet.edit.selection import Rates, choose, is_unique
from discreet.errors import InputError
from discreet.secret import Secret

ANYWHERE = "anywhere"

Pairs = tuple[IntArray, IntArray]


def swap(
    data: Any,
    areas: str | Sequence[str],
    keys: str | Sequence[str],
    *,
    hold: str | Sequence[str] = (),
    unit: str | None = None,
    rate: float = 0.05,
    small: float | None = None,
    small_area: int = 100,
    risk: float = 5.0,
    tables: Iterable[Sequence[str]] | None = None,
    secret: Secret | str | None = None,
) -> tuple[pd.DataFrame, EditReport]:
    """Let pairs of records that agree on ``keys`` and ``hold`` exchange their ``areas`` (one column, or several, coarsest first).

    Tables of keys and held columns by area do not change, nor do tables without areas. The share ``rate`` of the records of an
    area is chosen, more in small areas (``small``, ``small_area``); the odds of records with unique keys in their area are
    ``risk`` times those of others. Partners are searched in the same coarser area first.

    ``unit`` names a column of units of several records, such as households: whole units then exchange their areas with units
    whose records agree, and rates and counts are those of units. The report contains the changes of the ``tables``.

    The choice of records and partners is drawn from the ``secret``, by default a new one from the operating system. The
    report, which is confidential, contains it, so that the edit can be repeated.
    """
    frame, areas, keys, hold = records_of(data), as_tuple(areas), as_tuple(keys), as_tuple(hold)
    check_columns(frame, {"areas": areas, "keys": keys, "hold": hold, "unit": [unit] if unit else []})
    if not areas or not keys:
        raise InputError("Name at least one column with areas, and one key that partners must agree on.")
    drawn = Secret.of(secret)
    rates, rng = Rates(rate, small, small_area, risk), drawn.generator("swap")
    compared = wanted_tables(frame, tables, areas, (*keys, *hold, *as_tuple(unit or ())))

    units = _Units(frame, areas, unit)
    key = units.of(group(frame, keys))
    match = units.of(group(frame, (*keys, *hold))) if hold else key
    risky = is_unique(units.area, key)
    chosen = choose(units.area, risky, rates, rng)
    source, within = _exchange(units, match, chosen, risky, areas, rng)

    after = frame.copy(deep=False)
    for name in areas:
        after[name] = with_rows(frame[name], units.rows(source))
    edited = source != np.arange(len(source))
    comparison = RecordComparison(frame, after, areas)
    report = EditReport(
        method="swap",
        settings={"areas": list(areas), "keys": list(keys), "hold": list(hold), "unit": unit, **rates.as_dict()},
        secret=drawn.digits,
        within=within,
        tables=comparison.tables([(*areas, *keys, *hold)], compared),
        **comparison.counts(frame.iloc[units.first], areas, units.area, risky=risky, chosen=chosen, edited=edited),
    )
    return after, report


class _Units:
    """Records, or units of several records, that exchange their areas together."""

    def __init__(self, frame: pd.DataFrame, areas: Sequence[str], unit: str | None) -> None:
        codes = [numbered(frame[name]) for name in areas]
        without_area = np.any([is_missing(frame[name]) for name in areas], axis=0)
        self.unit = np.arange(len(frame)) if unit is None else numbered(frame[unit])
        self.first = np.unique(self.unit, return_index=True)[1]
        self.single_records = unit is None
        if unit is not None:
            _check_units(frame, unit, self.unit, combined(codes, len(frame)))
        # The area of each unit at every level, the coarsest first; at level 0 there is one area.
        self.levels = [combined(codes[:depth], len(frame))[self.first] for depth in range(len(codes) + 1)]
        self.area = np.full(len(self.first), NO_AREA)
        inside = ~without_area[self.first]
        self.area[inside] = np.unique(self.levels[-1][inside], return_inverse=True)[1]

    def of(self, code: IntArray) -> IntArray:
        """One number per unit: units whose records have the same codes have the same number."""
        return code if self.single_records else combined_by_unit(code, self.unit)

    def rows(self, source: IntArray) -> IntArray:
        """For each record the record whose area it receives."""
        stays = source[self.unit] == self.unit
        return np.where(stays, np.arange(len(self.unit)), self.first[source[self.unit]])


def _check_units(frame: pd.DataFrame, unit: str, units: IntArray, area: IntArray) -> None:
    missing = int(is_missing(frame[unit]).sum())
    if missing:
        raise InputError(f"{missing:,} records have no entry in column {unit!r}. Fill it in or leave them out.", [unit])
    first = np.unique(units, return_index=True)[1]
    divided = len(np.unique(units[area != area[first][units]]))
    if divided:
        raise InputError(
            f"{divided:,} units in column {unit!r} have records in several areas. A unit is in one area.", [unit]
        )


def _exchange(
    units: _Units, match: IntArray, chosen: BoolArray, risky: BoolArray, areas: Sequence[str], rng: np.random.Generator
) -> tuple[IntArray, dict[str, int]]:
    """For each unit the unit whose area it receives, or itself; and the number of units exchanged within each kind of area."""
    source, within = np.arange(len(match)), {}
    free = units.area != NO_AREA
    for depth in reversed(range(len(areas))):
        at = np.flatnonzero(free)
        groups = combined([match[at], units.levels[depth][at]], len(at))
        left, right = partners(groups, units.area[at], chosen[at], risky[at], rng)
        left, right = at[left], at[right]
        source[left], source[right] = right, left
        free[left] = free[right] = False
        within[areas[depth - 1] if depth else ANYWHERE] = 2 * len(left)
    return source, within


# -- pairs ----------------------------------------------------------------------------------------------------


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
