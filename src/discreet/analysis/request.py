"""Requests: the records and aggregations that a table is made of, and the protected table that answers them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from discreet.analysis.columns import Key
from discreet.analysis.functions import COUNT, MEAN, SIZE, SUM, function_name, heading
from discreet.analysis.layout import Axes, Figure, Share, filled, side_by_side
from discreet.analysis.measures import Measure, ProtectionOptions, RespondentColumns
from discreet.analysis.origin import Origin, tied_columns
from discreet.analysis.protected_table import ProtectedTable
from discreet.analysis.protecting import protected_measures
from discreet.analysis.session import earlier_measures, record
from discreet.errors import InputError, some


@dataclass(frozen=True)
class RequestedFunction:
    """One aggregation: its heading, the function of each column of values, and what pandas gets."""

    heading: Hashable
    of: Mapping[Any, str]
    given: Any

    @classmethod
    def alike(cls, given: Any, values: Sequence[Any]) -> RequestedFunction:
        """The same function of all columns."""
        name = function_of_values(given)
        return cls(heading(given), dict.fromkeys(values, name), name)

    def column(self, name: Any) -> tuple[Any, str]:
        """The column of values that a name in the layout stands for, and its function."""
        column = name if name in self.of else next(iter(self.of))
        return column, self.of[column]


def function_of_values(given: Any) -> str:
    """The function of a column; records without a value are left out beforehand, so that all others are counted."""
    name = function_name(given)
    return COUNT if name == SIZE else name


@dataclass(frozen=True, eq=False, repr=False)
class UsedRecords:
    """The records of a table: those without missing entries in the columns that must have one."""

    axes: Axes
    values: Mapping[Any, pd.Series]
    respondents: RespondentColumns


@dataclass(frozen=True, eq=False, repr=False)
class TableRequest:
    """What is asked for, in terms of columns."""

    command: str
    axes: Axes
    values: Mapping[Any, pd.Series]
    functions: Sequence[RequestedFunction]
    listed: bool  # functions were given as a list, so that each has a heading
    respondents: RespondentColumns
    options: ProtectionOptions
    index: pd.Index | None  # of the records, if they have one

    @cached_property
    def origin(self) -> Origin:
        return Origin.of(
            self.index,
            {key.dimension: key.entries for key in self.axes.keys},
            {str(name): entries for name, entries in self.values.items()},
            {role: one for role, one in vars(self.respondents).items() if one is not None},
        )

    def answered(
        self,
        layout: Callable[[UsedRecords, Any], pd.DataFrame],
        *,
        dropna: bool,
        fill_value: Any,
        share: Share | None,
    ) -> ProtectedTable:
        """Tabulate, protect and audit the records, and fill pandas' layout with the published numbers."""
        self.axes.check()
        _check_values(self.values, self.functions, self.axes.keys)
        records = self._records(dropna)
        wanted = {(name, function) for one in self.functions for name, function in one.of.items()}
        summed = {name: records.values[name] for name in self.values if wanted & {(name, SUM), (name, MEAN)}}
        counted = any(function != SUM for _, function in wanted)
        measures = protected_measures(
            records.axes.keys,
            counted,
            {str(name): entries for name, entries in summed.items()},
            records.respondents,
            self.options,
            earlier_measures(self),
        )
        sums = dict(zip(summed, measures[counted:], strict=True))

        def figure(aggregation: RequestedFunction, name: Any) -> Figure:
            column, function = aggregation.column(name)
            if function == MEAN:
                return Figure(sums[column], measures[0])
            top: Measure = sums[column] if function == SUM else measures[0]
            return Figure(top, top, share) if share else Figure(top)

        compare = self.respondents.weight is None
        pieces = [
            filled(_laid_out(layout, records, one.given), records.axes, partial(figure, one), fill_value, compare)
            for one in self.functions
        ]
        whole = side_by_side(pieces, [one.heading for one in self.functions]) if self.listed else pieces[0]
        table = ProtectedTable(self.command, whole, measures, self.options, self.origin)
        record(table)
        return table

    def _records(self, dropna: bool) -> UsedRecords:
        """The records with a value and, with ``dropna``, with an entry in every key."""
        keys = self.axes.keys
        present = np.ones(len(keys[0].entries), dtype=bool)
        for key in keys if dropna else ():
            present &= key.entries.notna().to_numpy()
        missing = {name: entries.isna().to_numpy() & present for name, entries in self.values.items()}
        first = next(iter(missing.values()), ~present)
        different = [name for name, gaps in missing.items() if not np.array_equal(gaps, first)]
        if different:
            raise InputError(
                f"Values are missing in different records: {some([next(iter(missing)), *different])}. The difference between "
                "their numbers of records is a table of its own, which is not audited. Call once for each column, or fill "
                "or leave out the missing values.",
                different,
            )
        if self.values:
            present &= ~first

        def only(key: Key) -> Key:
            return Key(key.column, key.dimension, key.name, key.entries[present].reset_index(drop=True))

        axes = Axes(
            [only(key) for key in self.axes.rows],
            [only(key) for key in self.axes.columns],
            self.axes.margins,
            self.axes.margins_name,
        )
        values = {name: _precise(entries[present].reset_index(drop=True)) for name, entries in self.values.items()}
        return UsedRecords(axes, values, self.respondents.only(present))


def _precise(entries: pd.Series) -> pd.Series:
    """Numbers in double precision: sums of single precision differ from the audited ones."""
    return entries.astype(np.float64) if entries.dtype in (np.float16, np.float32) else entries


def _laid_out(layout: Callable[[UsedRecords, Any], pd.DataFrame], records: UsedRecords, function: Any) -> pd.DataFrame:
    """The layout of pandas, whose messages might repeat entries."""
    try:
        return layout(records, function)
    except (ValueError, TypeError, KeyError, AssertionError) as error:
        kind = type(error).__name__
        raise InputError(
            f"pandas cannot lay out this table ({kind}). Check the types of the columns, fill_value= and margins_name=."
        ) from None


def _check_values(values: Mapping[Any, pd.Series], functions: Sequence[RequestedFunction], keys: Sequence[Key]) -> None:
    """Refuse columns whose sums would reveal more than the audit of sums assumes."""
    summed = [name for name in values if any(one.of.get(name) in (SUM, MEAN) for one in functions)]
    for name in summed:
        entries = values[name]
        if not pd.api.types.is_numeric_dtype(entries.dtype):
            raise InputError(
                f"Column {name!r} holds {entries.dtype}, not numbers. Convert it, or count with 'count'.", [name]
            )
        distinct = entries.dropna().unique()
        if len(distinct) <= 2:
            raise InputError(
                f"Column {name!r} has no more than two different values: with the number of records, its sum or mean shows how "
                "many have each. Use it as a classification, in index= or columns=, so that both numbers are protected.",
                [name],
            )
        groups = entries.groupby([key.entries.astype(object) for key in keys], dropna=False)
        if groups.nunique().max() == 1 and groups.count().max() > 1:
            raise InputError(
                f"All records of a cell have the same value in column {name!r}: its sums show the numbers of records. "
                "Count the records instead.",
                [name],
            )
    tied = tied_columns({str(name): values[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in summed})
    if tied:
        raise InputError(
            f"Columns are tied by an equation: {some(tied)}. The audit does not know of it. Leave one of them out, or protect "
            "them together with discreet.link(…, equations=…).",
            tied,
        )
