"""The report on an edit: numbers of edited records by area, and changes of tables, computed from the records before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.data.hierarchy import LABEL_SEPARATOR
from discreet.edit.record_codes import NO_AREA, as_tuple, check_columns, combined, numbered
from discreet.errors import InputError

MAX_COMPARED_CODES = 100  # of columns compared by default: others, such as amounts, make no useful tables


@dataclass(frozen=True, repr=False)
class EditReport:
    """The results of an edit. Numbers are of units; without units, each record is one. Confidential, as it holds the secret."""

    method: str
    settings: dict[str, Any]
    secret: str  # the edit can be repeated with it
    records: int
    units: int
    risky: int  # with unique keys in their area
    chosen: int
    edited: int  # chosen ones with a partner or donor, and their partners
    unmatched: int  # chosen ones without a partner or donor
    without_area: int
    changed_records: int  # records that differ from before
    within: dict[str, int]  # units with a partner in the same coarser area, by level, and with one from any area
    areas: pd.DataFrame  # for each area: units, risky, chosen, edited
    tables: pd.DataFrame  # for each table: cells, changed, share, largest and mean change, promised
    untouched: tuple[str, ...]  # columns that are the same in every record

    def __repr__(self) -> str:
        return (
            f"EditReport({self.method}: {self.edited:,} of {self.units:,} edited, {self.unmatched:,} without partner)"
        )

    @property
    def kept(self) -> bool:
        """Whether all tables that must not change are the same before and after."""
        return not self.tables.changed[self.tables.promised].any()

    @property
    def unchanged(self) -> list[str]:
        """The tables that are the same before and after."""
        return list(self.tables.table[self.tables.changed == 0])

    def as_dict(self) -> dict[str, Any]:
        """All entries in types that can be written as JSON."""
        simple = {name: value for name, value in vars(self).items() if not isinstance(value, pd.DataFrame | tuple)}
        return simple | {
            "kept": self.kept,
            "unchanged": self.unchanged,
            "untouched": list(self.untouched),
            "tables": self.tables.to_dict("records"),
            "areas": self.areas.astype({name: str for name in self.areas.columns[:-4]}).to_dict("records"),
        }


def wanted_tables(
    frame: pd.DataFrame, tables: Iterable[Sequence[str]] | None, areas: Sequence[str], used: Sequence[str]
) -> list[tuple[str, ...]]:
    """The requested tables; by default each further column with few codes, by area."""
    if tables is not None:
        given = [as_tuple(table) for table in tables]
        for table in given:
            check_columns(frame, {"tables": table})
        return given
    further = [name for name in frame.columns if name not in (*areas, *used)]
    return [(*areas, name) for name in further if int(numbered(frame[name]).max()) < MAX_COMPARED_CODES]


class RecordComparison:
    """Comparison of tables of the same records before and after an edit."""

    def __init__(self, before: pd.DataFrame, after: pd.DataFrame, may_differ: Sequence[str]) -> None:
        self.before, self.after, self.may_differ = before, after, set(may_differ)
        self._codes: dict[str, tuple[IntArray, IntArray]] = {}

    def codes(self, name: str) -> tuple[IntArray, IntArray]:
        """A column before and after, with the same numbers for the same codes."""
        if name not in self._codes:
            n = len(self.before)
            if name in self.may_differ:
                both = numbered(pd.concat([self.before[name], self.after[name]], ignore_index=True))
                self._codes[name] = both[:n], both[n:]
            else:
                self._codes[name] = (numbered(self.before[name]),) * 2
        return self._codes[name]

    def counts(
        self,
        units: pd.DataFrame,
        areas: Sequence[str],
        area: IntArray,
        *,
        risky: BoolArray,
        chosen: BoolArray,
        edited: BoolArray,
    ) -> dict[str, Any]:
        """The numbers in a report. ``units`` has one record per unit."""
        changed = np.any([np.not_equal(*self.codes(name)) for name in self.may_differ], axis=0)
        return {
            "records": len(self.before),
            "units": len(units),
            "risky": int(risky.sum()),
            "chosen": int(chosen.sum()),
            "edited": int(edited.sum()),
            "unmatched": int((chosen & ~edited).sum()),
            "without_area": int((area == NO_AREA).sum()),
            "changed_records": int(changed.sum()),
            "areas": by_area(units, areas, area, risky=risky, chosen=chosen, edited=edited),
            "untouched": tuple(name for name in self.before.columns if self.before[name].equals(self.after[name])),
        }

    def table(self, columns: Sequence[str], promised: bool) -> dict[str, Any]:
        """The changes of the cells of a table. Cells that are empty before and after are left out."""
        pairs = [np.concatenate(self.codes(name)) for name in columns]
        n = len(self.before)
        cell = combined(pairs, 2 * n)
        cells = int(cell.max()) + 1
        change = np.abs(np.bincount(cell[:n], minlength=cells) - np.bincount(cell[n:], minlength=cells))
        return {
            "table": LABEL_SEPARATOR.join(columns),
            "promised": promised,
            "cells": cells,
            "changed": int((change > 0).sum()),
            "share": float((change > 0).mean()),
            "largest": int(change.max()),
            "mean": float(change.mean()),
        }

    def tables(self, promised: Sequence[Sequence[str]], others: Sequence[Sequence[str]]) -> pd.DataFrame:
        rows = [self.table(columns, True) for columns in promised if columns]
        seen = {tuple(columns) for columns in promised}
        return pd.DataFrame(rows + [self.table(columns, False) for columns in others if tuple(columns) not in seen])


def by_area(frame: pd.DataFrame, areas: Sequence[str], area: IntArray, **flags: BoolArray) -> pd.DataFrame:
    """One row per area with its number of units and the numbers of units with each flag, smallest areas first."""
    inside = np.flatnonzero(area >= 0)
    numbers, first = np.unique(area[inside], return_index=True)
    taken = [name for name in areas if name in ("units", *flags)]
    if taken:
        raise InputError(f"An area cannot be called {taken[0]!r}, as a column of the report is. Rename it.", taken)
    found = frame[list(areas)].iloc[inside[first]].reset_index(drop=True)
    found["units"] = np.bincount(area[inside])[numbers]
    for name, flag in flags.items():
        found[name] = np.bincount(area[inside], flag[inside])[numbers].astype(np.int64)
    return found.sort_values("units", kind="stable", ignore_index=True)
