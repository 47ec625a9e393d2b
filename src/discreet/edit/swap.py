"""Swapping: records that agree on key variables change places, so that tables of those by area stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.edit.pairing import partners
from discreet.edit.record_codes import (
    NOWHERE,
    check_columns,
    combined,
    group,
    is_missing,
    listed,
    number,
    records_of,
    taken,
    together,
)
from discreet.edit.report import EditReport, RecordComparison, by_area, wanted_tables
from discreet.edit.selection import Rates, alone, choose
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

    Every table of keys and held columns by area stays the same, and so does every table without area. The share ``rate`` of an
    area's records is chosen, more in small areas (``small``, ``small_area``); records that are alone with their keys in
    their area are ``risk`` times as likely as others. Partners are looked for in the same coarser area first.

    ``unit`` names a column with whom records belong to, such as a household: units then change places as a whole, with units
    whose records agree, and all that is said of records holds for units. The report says how far the ``tables`` move.

    Who is chosen and with whom they change comes from the ``secret``, by default a new one of the operating system; the report,
    which is confidential, holds it, and with it the edit can be repeated.
    """
    frame, areas, keys, hold = records_of(data), listed(areas), listed(keys), listed(hold)
    check_columns(frame, {"areas": areas, "keys": keys, "hold": hold, "unit": [unit] if unit else []})
    if not areas or not keys:
        raise InputError("Name at least one column with areas, and one key that partners must agree on.")
    drawn = Secret.of(secret)
    rates, rng = Rates(rate, small, small_area, risk), drawn.generator("swap")
    compared = wanted_tables(frame, tables, areas, (*keys, *hold, *listed(unit or ())))

    units = _Units(frame, areas, unit)
    key = units.of(group(frame, keys))
    match = units.of(group(frame, (*keys, *hold))) if hold else key
    risky = alone(units.area, key)
    chosen = choose(units.area, risky, rates, rng)
    source, within = _exchange(units, match, chosen, risky, areas, rng)

    after = frame.copy(deep=False)
    for name in areas:
        after[name] = taken(frame[name], units.rows(source))
    edited = source != np.arange(len(source))
    comparison = RecordComparison(frame, after, areas)
    report = EditReport(
        method="swap",
        settings={
            "areas": list(areas),
            "keys": list(keys),
            "hold": list(hold),
            "unit": unit,
            "rate": rate,
            "small": rates.highest,
            "small_area": small_area,
            "risk": risk,
        },
        secret=drawn.digits,
        records=len(frame),
        units=len(units.first),
        risky=int(risky.sum()),
        chosen=int(chosen.sum()),
        edited=int(edited.sum()),
        unmatched=int((chosen & ~edited).sum()),
        without_area=int((units.area == NOWHERE).sum()),
        changed_records=int(comparison.differ().sum()),
        within=within,
        areas=by_area(frame.iloc[units.first], areas, units.area, risky=risky, chosen=chosen, edited=edited),
        tables=comparison.tables([(*areas, *keys, *hold)], compared),
        untouched=comparison.untouched(),
    )
    return after, report


class _Units:
    """Whatever changes places as a whole: records, or units of several records."""

    def __init__(self, frame: pd.DataFrame, areas: Sequence[str], unit: str | None) -> None:
        codes = [number(frame[name]) for name in areas]
        nowhere = np.any([is_missing(frame[name]) for name in areas], axis=0)
        self.unit = np.arange(len(frame)) if unit is None else number(frame[unit])
        self.first = np.unique(self.unit, return_index=True)[1]
        self.alone = unit is None
        if unit is not None:
            _check_units(frame, unit, self.unit, combined(codes, len(frame)))
        # The area at every level, the coarsest first: above them all there is one place.
        self.levels = [combined(codes[:depth], len(frame))[self.first] for depth in range(len(codes) + 1)]
        self.area = np.full(len(self.first), NOWHERE)
        inside = ~nowhere[self.first]
        self.area[inside] = np.unique(self.levels[-1][inside], return_inverse=True)[1]

    def of(self, code: IntArray) -> IntArray:
        """One number a unit: units with the same number have the same records, as far as the code tells."""
        return code if self.alone else together(code, self.unit)

    def rows(self, source: IntArray) -> IntArray:
        """For each record the one whose area it gets."""
        stays = source[self.unit] == self.unit
        return np.where(stays, np.arange(len(self.unit)), self.first[source[self.unit]])


def _check_units(frame: pd.DataFrame, unit: str, units: IntArray, area: IntArray) -> None:
    lost = int(is_missing(frame[unit]).sum())
    if lost:
        raise InputError(f"{lost:,} records have no entry in column {unit!r}. Fill it in, or leave them out.", [unit])
    first = np.unique(units, return_index=True)[1]
    torn = len(np.unique(units[area != area[first][units]]))
    if torn:
        raise InputError(
            f"{torn:,} units in column {unit!r} have records in several areas. A unit is in one area.", [unit]
        )


def _exchange(
    units: _Units, match: IntArray, chosen: BoolArray, risky: BoolArray, areas: Sequence[str], rng: np.random.Generator
) -> tuple[IntArray, dict[str, int]]:
    """For each unit the one whose area it gets, itself as a rule; and how many changed with one from how near."""
    source, within = np.arange(len(match)), {}
    free = units.area != NOWHERE
    for depth in reversed(range(len(areas))):
        at = np.flatnonzero(free)
        near = combined([match[at], units.levels[depth][at]], len(at))
        left, right = partners(near, units.area[at], chosen[at], risky[at], rng)
        left, right = at[left], at[right]
        source[left], source[right] = right, left
        free[left] = free[right] = False
        within[areas[depth - 1] if depth else ANYWHERE] = 2 * len(left)
    return source, within
