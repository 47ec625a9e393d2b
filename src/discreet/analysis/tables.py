"""``crosstab`` and ``pivot_table`` of pandas, protected and audited."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from discreet.analysis.columns import DataColumns, Key, aligned, is_array, keys_of, unused
from discreet.analysis.functions import COUNT, MEAN, SIZE, SUM, function_name, heading
from discreet.analysis.layout import Axes, Figure, Filled, Share, filled, side_by_side
from discreet.analysis.measures import Measure, ProtectionOptions, Respondents, Rules, protected_measures
from discreet.analysis.origin import Origin, tied_columns
from discreet.analysis.protected_table import ProtectedTable
from discreet.analysis.session import current_rules, record
from discreet.data.table import Weights
from discreet.errors import InputError, some
from discreet.level import Level
from discreet.methods import Method
from discreet.release import SYMBOL
from discreet.secret import Secret

SHARES: dict[Any, Share] = {"all": "all", "index": "index", "columns": "columns"}


@dataclass(frozen=True)
class _Aggregation:
    """One aggregation: its heading, the function of each column of values, and what pandas gets."""

    heading: Hashable
    of: Mapping[Any, str]
    given: Any

    @classmethod
    def alike(cls, given: Any, values: Sequence[Any]) -> _Aggregation:
        """The same function of all columns."""
        name = _of_values(given)
        return cls(heading(given), dict.fromkeys(values, name), name)

    def column(self, name: Any) -> tuple[Any, str]:
        """The column of values that a name in the layout stands for, and its function."""
        column = name if name in self.of else next(iter(self.of))
        return column, self.of[column]


def crosstab(
    index: Any,
    columns: Any,
    values: Any = None,
    rownames: Sequence[Hashable] | None = None,
    colnames: Sequence[Hashable] | None = None,
    aggfunc: Any = None,
    margins: bool = False,
    margins_name: str = "All",
    dropna: bool = True,
    normalize: bool | Literal[0, 1, "all", "index", "columns"] = False,
    *,
    rules: Rules | None = None,
    contributor: Any = None,
    holding: Any = None,
    weight: Any = None,
    weights: Weights = "known",
    method: str | Method = "kelly",
    level: Level | None = None,
    time_limit: float | None = None,
    secret: Secret | str | None = None,
    symbol: str = SYMBOL,
) -> ProtectedTable:
    """Count records by two or more classifications, or aggregate ``values``, and protect the result.

    The arguments before the star are those of ``pandas.crosstab``; arrays and series of any library are accepted. ``aggfunc`` is
    count, sum or mean, or a list of them; others are refused, as they cannot be audited. The table is protected with all its
    totals, whether ``margins`` shows them or not. Every number shown is a published cell, or the ratio of two: shares and means
    are published where both their numerators and their denominators are. ``rules`` and the arguments after it are those of
    ``tabulate``, ``assess``, ``protect`` and ``publish``; ``contributor``, ``holding`` and ``weight`` are arrays like ``values``.
    """
    share = _share(normalize)
    if (values is None) != (aggfunc is None):
        raise InputError("values= and aggfunc= belong together: give both, or neither to count records.")
    rows, across = _arrays(index), _arrays(columns)
    given: dict[str, Any] = {f"index[{i}]": one for i, one in enumerate(rows)}
    given |= {f"columns[{i}]": one for i, one in enumerate(across)}
    roles = {"values": values, "contributor": contributor, "holding": holding, "weight": weight}
    series, own_index = aligned(given | {use: one for use, one in roles.items() if one is not None})
    parts = list(series.values())
    names = [*_names(parts[: len(rows)], rownames, "row"), *_names(parts[len(rows) :][: len(across)], colnames, "col")]
    keys = keys_of([(str(name), name, one) for name, one in zip(names, parts, strict=False)])
    respondents = Respondents(series.get("contributor"), series.get("holding"), series.get("weight"))
    name = None
    if values is not None:
        name = unused(str(getattr(series["values"], "name", None) or "values"), {key.dimension for key in keys})
    axes = Axes(keys[: len(rows)], keys[len(rows) :], margins, margins_name)

    def layout(data: _Records, function: Any) -> pd.DataFrame:
        found = [key.entries for key in data.axes.keys]
        at = len(rows)
        return pd.crosstab(
            found[:at],
            found[at:],
            values=None if name is None else data.values[name],
            rownames=names[:at],
            colnames=names[at:],
            aggfunc=None if name is None else function,
            margins=margins,
            margins_name=margins_name,
            dropna=dropna,
            normalize=normalize,
        )

    functions = [_Aggregation(None, {None: COUNT}, None)]
    if name is not None:
        functions = [_Aggregation.alike(one, [name]) for one in (aggfunc if isinstance(aggfunc, list) else [aggfunc])]
        if share and any(one.of[name] == MEAN for one in functions):
            raise InputError("normalize= divides by totals, and means have none. Normalize counts or sums, or leave it out.")
    given_values = {} if name is None else {name: series["values"]}
    command = _command(
        "crosstab",
        index=names[: len(rows)],
        columns=names[len(rows) :],
        values=name,
        aggfunc=_spelled(aggfunc),
        margins=margins,
        dropna=dropna,
        normalize=normalize,
    )
    options = ProtectionOptions.of(
        current_rules() if rules is None else rules,
        **{"weights": weights, "method": method, "level": level},
        **{"time_limit": time_limit, "secret": secret, "symbol": symbol},
    )
    request = _Request(command, axes, given_values, functions, isinstance(aggfunc, list), respondents, options)
    return request.answered(layout, dropna=dropna, fill_value=None, share=share, index=own_index)


def pivot_table(
    data: Any,
    values: Any = None,
    index: Any = None,
    columns: Any = None,
    aggfunc: Any = "mean",
    fill_value: Any = None,
    margins: bool = False,
    dropna: bool = True,
    margins_name: str = "All",
    observed: bool = True,
    sort: bool = True,
    *,
    rules: Rules | None = None,
    contributor: Any = None,
    holding: Any = None,
    weight: Any = None,
    weights: Weights = "known",
    method: str | Method = "kelly",
    level: Level | None = None,
    time_limit: float | None = None,
    secret: Secret | str | None = None,
    symbol: str = SYMBOL,
) -> ProtectedTable:
    """Aggregate columns of a data frame by the codes of others, and protect the result.

    The arguments before the star are those of ``pandas.pivot_table``; ``data`` is a data frame of any library that narwhals
    reads. ``aggfunc`` is size, count, sum or mean, a list of them, or a mapping from columns to one each; others are refused, as
    they cannot be audited. ``contributor``, ``holding`` and ``weight`` are names of columns. For the rest see :func:`crosstab`.
    """
    source = DataColumns(data)
    rows, across = _columns(source, index), _columns(source, columns)
    if not rows:
        raise InputError("Name at least one column with index=. For a table in one row, exchange index= and columns=.")
    keys = keys_of([*rows, *across])
    axes = Axes(keys[: len(rows)], keys[len(rows) :], margins, margins_name)
    twice = [key.column for i, key in enumerate(keys) if key.column in [other.column for other in keys[:i]]]
    if twice:
        raise InputError(f"Column {twice[0]!r} is used twice to form rows or columns. Leave it out once.", twice)
    used, functions = _functions(values, aggfunc)
    roles = {"contributor": contributor, "holding": holding, "weight": weight}
    respondents = Respondents(**{role: None if name is None else source[name] for role, name in roles.items()})

    def layout(records: _Records, function: Any) -> pd.DataFrame:
        frame = pd.DataFrame({key.column: key.entries for key in records.axes.keys} | dict(records.values))
        found = pd.pivot_table(
            frame,
            values=values,
            index=[key.column for key in records.axes.rows],
            columns=[key.column for key in records.axes.columns],
            aggfunc=function,
            fill_value=fill_value,
            margins=margins,
            dropna=dropna,
            margins_name=margins_name,
            observed=observed,
            sort=sort,
        )
        found = found.to_frame(SIZE) if isinstance(found, pd.Series) else found
        renamed = {key.column: key.name for key in keys}
        found.index.names = [renamed.get(name, name) for name in found.index.names]
        found.columns.names = [renamed.get(name, name) for name in found.columns.names]
        return found

    command = _command(
        "pivot_table",
        values=values,
        index=[key.name for key in axes.rows],
        columns=[key.name for key in axes.columns],
        aggfunc=_spelled(aggfunc),
        fill_value=fill_value,
        margins=margins,
        dropna=dropna,
    )
    options = ProtectionOptions.of(
        current_rules() if rules is None else rules,
        **{"weights": weights, "method": method, "level": level},
        **{"time_limit": time_limit, "secret": secret, "symbol": symbol},
    )
    columns_of_values = {name: source[name] for name in used}
    request = _Request(command, axes, columns_of_values, functions, isinstance(aggfunc, list), respondents, options)
    return request.answered(layout, dropna=dropna, fill_value=fill_value, share=None, index=source.index)


@dataclass(frozen=True, eq=False, repr=False)
class _Records:
    """The records of a table: those without missing entries in the columns that must have one."""

    axes: Axes
    values: Mapping[Any, pd.Series]
    respondents: Respondents


@dataclass(frozen=True, eq=False, repr=False)
class _Request:
    """What is asked for, in terms of columns."""

    command: str
    axes: Axes
    values: Mapping[Any, pd.Series]
    functions: Sequence[_Aggregation]
    listed: bool  # functions were given as a list, so that each has a heading
    respondents: Respondents
    options: ProtectionOptions

    def answered(
        self,
        layout: Callable[[_Records, Any], pd.DataFrame],
        *,
        dropna: bool,
        fill_value: Any,
        share: Share | None,
        index: pd.Index | None,
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
            self.axes.margins_name,
            self.options,
        )
        sums = dict(zip(summed, measures[counted:], strict=True))

        def figure(name: Any, function: str) -> Figure:
            if function == MEAN:
                return Figure(sums[name], measures[0])
            top: Measure = sums[name] if function == SUM else measures[0]
            return Figure(top, top, share) if share else Figure(top)

        pieces = [
            filled(
                layout(records, one.given),
                records.axes,
                lambda name, one=one: figure(*one.column(name)),
                fill_value,
                compare=self.respondents.weight is None,
            )
            for one in self.functions
        ]
        whole = side_by_side(pieces, [one.heading for one in self.functions]) if self.listed else pieces[0]
        return self._table(whole, measures, index)

    def _records(self, dropna: bool) -> _Records:
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
        values = {name: entries[present].reset_index(drop=True) for name, entries in self.values.items()}
        return _Records(axes, values, self.respondents.only(present))

    def _table(self, whole: Filled, measures: Sequence[Measure], index: pd.Index | None) -> ProtectedTable:
        origin = Origin.of(
            index,
            {key.dimension: key.entries for key in self.axes.keys},
            {str(name): entries for name, entries in self.values.items()},
            {role: one for role, one in vars(self.respondents).items() if one is not None},
        )
        table = ProtectedTable(self.command, whole, tuple(measures), self.options, origin)
        record(table)
        return table


# -- arguments ----------------------------------------------------------------------------------------------------


def _share(normalize: Any) -> Share | None:
    """The total of which shares are shown, None for numbers themselves."""
    if normalize is False:
        return None
    by_number: dict[int, Share] = {0: "index", 1: "columns"}
    found = "all" if normalize is True else by_number.get(normalize, SHARES.get(normalize))
    if found is None:
        raise InputError(f"normalize= is False, True, 'all', 'index', 'columns', 0 or 1, not {normalize!r}.")
    return found


def _arrays(given: Any) -> list[Any]:
    """A list of arrays, from one or several."""
    nested = isinstance(given, list | tuple) and len(given) > 0 and all(map(is_array, given))
    return list(given) if nested else [given]


def _names(series: Sequence[pd.Series], names: Sequence[Hashable] | None, prefix: str) -> list[Hashable]:
    if names is not None:
        if len(names) != len(series):
            raise InputError(f"{prefix}names= needs one name for each of {len(series)} arrays, not {len(names)}.")
        return list(names)
    return [f"{prefix}_{i}" if one.name is None else one.name for i, one in enumerate(series)]


def _columns(source: DataColumns, given: Any) -> list[tuple[Any, Hashable, pd.Series]]:
    """The columns to classify by, each as its name in the data, its name in the result, and its entries."""
    if given is None:
        return []
    single = isinstance(given, str) or not pd.api.types.is_list_like(given) or not isinstance(given, list | tuple)
    found = []
    for name in [given] if single else given:
        if is_array(name) or callable(name) or isinstance(name, pd.Grouper):
            raise InputError(
                f"index= and columns= are names of columns, not {type(name).__name__}. Add it to the data as a column first."
            )
        found.append((name, name, source[name]))
    return found


def _functions(values: Any, aggfunc: Any) -> tuple[list[Any], list[_Aggregation]]:
    """The columns of values, and the aggregations of them."""
    if isinstance(aggfunc, dict):
        several = [name for name, one in aggfunc.items() if isinstance(one, list | tuple | set | dict)]
        if several:
            raise InputError(
                f"aggfunc= names several functions for {several[0]!r}. Give one per column, or a list for all columns."
            )
        named = list(aggfunc) if values is None else _listed(values)
        if set(named) != set(aggfunc):
            raise InputError("values= and the columns in aggfunc= differ. Name the same columns in both.")
        of = {name: _of_values(aggfunc[name]) for name in named}
        return named, [_Aggregation(None, of, of)]
    wanted = aggfunc if isinstance(aggfunc, list) else [aggfunc]
    if not wanted:
        raise InputError("aggfunc= is an empty list. Name count, sum or mean.")
    if values is None:
        if [function_name(one) for one in wanted] != [SIZE] or isinstance(aggfunc, list):
            raise InputError("Name the columns to aggregate with values=; to count records, use aggfunc='size'.")
        return [], [_Aggregation(None, {None: SIZE}, SIZE)]
    named = _listed(values)
    return named, [_Aggregation.alike(one, named) for one in wanted]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | np.ndarray | pd.Index) else [values]


def _of_values(given: Any) -> str:
    """The function of a column; records without a value are left out beforehand, so that all others are counted."""
    name = function_name(given)
    return COUNT if name == SIZE else name


def _check_values(values: Mapping[Any, pd.Series], functions: Sequence[_Aggregation], keys: Sequence[Key]) -> None:
    """Refuse columns whose sums would reveal more than the audit of sums assumes."""
    summed = [name for name in values if any(one.of.get(name) in (SUM, MEAN) for one in functions)]
    for name in summed:
        entries = values[name]
        if not pd.api.types.is_numeric_dtype(entries.dtype):
            raise InputError(f"Column {name!r} holds {entries.dtype}, not numbers. Convert it, or count with 'count'.", [name])
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


def _spelled(aggfunc: Any) -> Any:
    """The functions by their names, for the command."""
    if isinstance(aggfunc, dict):
        return {name: _spelled(one) for name, one in aggfunc.items()}
    if isinstance(aggfunc, list):
        return [_spelled(one) for one in aggfunc]
    return heading(aggfunc) if callable(aggfunc) else aggfunc


def _command(function: str, **arguments: Any) -> str:
    """The call as text, without the rules, which are confidential, and without what is left to defaults."""
    defaults = {"margins": False, "dropna": True, "normalize": False}
    given = {name: one for name, one in arguments.items() if not (one is None or one == [] or defaults.get(name) is one)}
    return f"{function}({', '.join(f'{name}={one!r}' for name, one in given.items())})"
