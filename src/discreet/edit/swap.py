"""Swapping: records that agree on key variables exchange their areas, so tables of these variables by area are unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.edit.pairing import partners
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
        raise InputError(
            f"{missing:,} records have no entry in column {unit!r}. Fill it in, or leave them out.", [unit]
        )
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
