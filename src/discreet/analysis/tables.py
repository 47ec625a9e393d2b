"""``crosstab`` and ``pivot_table`` of pandas, protected and audited."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from discreet.analysis.columns import DataColumns, aligned, is_array, keys_of, unused
from discreet.analysis.functions import COUNT, MEAN, SIZE, function_name, heading
from discreet.analysis.layout import Axes, Share
from discreet.analysis.measures import ProtectionOptions, RespondentColumns, Rules
from discreet.analysis.protected_table import ProtectedTable
from discreet.analysis.request import RequestedFunction, TableRequest, UsedRecords, function_of_values
from discreet.analysis.session import current_rules
from discreet.data.table import Weights
from discreet.errors import InputError
from discreet.level import Level
from discreet.methods import Method
from discreet.release import SYMBOL
from discreet.secret import Secret

SHARES: dict[Any, Share] = {"all": "all", "index": "index", "columns": "columns"}


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
    respondents = RespondentColumns(series.get("contributor"), series.get("holding"), series.get("weight"))
    name = None
    if values is not None:
        name = unused(str(getattr(series["values"], "name", None) or "values"), {key.dimension for key in keys})
    axes = Axes(keys[: len(rows)], keys[len(rows) :], margins, margins_name)

    def layout(data: UsedRecords, function: Any) -> pd.DataFrame:
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

    functions = [RequestedFunction(None, {None: COUNT}, None)]
    if name is not None:
        functions = [
            RequestedFunction.alike(one, [name]) for one in (aggfunc if isinstance(aggfunc, list) else [aggfunc])
        ]
        if share and any(one.of[name] == MEAN for one in functions):
            raise InputError(
                "normalize= divides by totals, and means have none. Normalize counts or sums, or leave it out."
            )
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
    used_rules = current_rules() if rules is None else rules
    options = ProtectionOptions.of(used_rules, weights, method, level, time_limit, secret, symbol)
    request = TableRequest(
        command, axes, given_values, functions, isinstance(aggfunc, list), respondents, options, own_index
    )
    return request.answered(layout, dropna=dropna, fill_value=None, share=share)


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
    respondents = RespondentColumns(**{role: None if name is None else source[name] for role, name in roles.items()})

    def layout(records: UsedRecords, function: Any) -> pd.DataFrame:
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
    used_rules = current_rules() if rules is None else rules
    options = ProtectionOptions.of(used_rules, weights, method, level, time_limit, secret, symbol)
    columns_of_values = {name: source[name] for name in used}
    request = TableRequest(
        command, axes, columns_of_values, functions, isinstance(aggfunc, list), respondents, options, source.index
    )
    return request.answered(layout, dropna=dropna, fill_value=fill_value, share=None)


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


def _functions(values: Any, aggfunc: Any) -> tuple[list[Any], list[RequestedFunction]]:
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
        of = {name: function_of_values(aggfunc[name]) for name in named}
        return named, [RequestedFunction(None, of, of)]
    wanted = aggfunc if isinstance(aggfunc, list) else [aggfunc]
    if not wanted:
        raise InputError("aggfunc= is an empty list. Name count, sum or mean.")
    if values is None:
        if [function_name(one) for one in wanted] != [SIZE] or isinstance(aggfunc, list):
            raise InputError("Name the columns to aggregate with values=; to count records, use aggfunc='size'.")
        return [], [RequestedFunction(None, {None: SIZE}, SIZE)]
    named = _listed(values)
    return named, [RequestedFunction.alike(one, named) for one in wanted]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | np.ndarray | pd.Index) else [values]


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
    given = {
        name: one for name, one in arguments.items() if not (one is None or one == [] or defaults.get(name) is one)
    }
    return f"{function}({', '.join(f'{name}={one!r}' for name, one in given.items())})"
