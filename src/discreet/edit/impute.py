"""Blank and impute: values of records at risk are blanked and imputed from other records of the same class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from discreet.arrays import BoolArray, IntArray
from discreet.edit.record_codes import (
    NO_AREA,
    as_tuple,
    check_columns,
    combined,
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

Donors = Literal["exchange", "copy"]


def blank_and_impute(
    data: Any,
    columns: str | Sequence[str],
    *,
    areas: str | Sequence[str],
    keys: str | Sequence[str],
    by: str | Sequence[str] = (),
    donors: Donors = "exchange",
    records: Any = None,
    rate: float = 0.05,
    small: float | None = None,
    small_area: int = 100,
    risk: float = 5.0,
    tables: Iterable[Sequence[str]] | None = None,
    secret: Secret | str | None = None,
) -> tuple[pd.DataFrame, EditReport]:
    """Blank ``columns`` of chosen records, and impute them together from a donor that agrees on the columns ``by``.

    Records are chosen as by ``swap``: more in small ``areas``, and more of those with unique ``keys`` there; or they are given
    as ``records``, an array of true and false. With donors ``"exchange"`` the blanked values of a class are redistributed among
    its chosen records, each to another record, so that tables of ``columns`` and ``by`` do not change; to a single chosen record
    of a class, a random other one is added. With ``"copy"`` a donor is a random record that was not chosen, and keeps its
    values. Random numbers come from the ``secret``, as in ``swap``.
    """
    frame, columns, areas, keys, by = records_of(data), as_tuple(columns), as_tuple(areas), as_tuple(keys), as_tuple(by)
    check_columns(frame, {"columns": columns, "areas": areas, "by": by}, one_role=False)
    check_columns(frame, {"areas": areas, "keys": keys})
    _check_parts(columns, areas, keys, by, donors)
    drawn = Secret.of(secret)
    rates, rng = Rates(rate, small, small_area, risk), drawn.generator("impute")
    compared = wanted_tables(frame, tables, areas, [name for name in (*keys, *by) if name not in columns])

    area = _areas(frame, areas)
    risky = is_unique(area, group(frame, keys))
    chosen = choose(area, risky, rates, rng) if records is None else _given(records, len(frame))
    deal = _exchanged if donors == "exchange" else _copied
    source = deal(group(frame, by), chosen, rng)
    edited = source != np.arange(len(source))

    after = frame.copy(deep=False)
    for name in columns:
        after[name] = with_rows(frame[name], source)
    comparison = RecordComparison(frame, after, columns)
    settings: dict[str, Any] = {"columns": list(columns), "areas": list(areas), "keys": list(keys), "by": list(by)}
    settings["donors"] = donors
    if records is None:
        settings |= rates.as_dict()
    report = EditReport(
        method="impute",
        settings=settings,
        secret=drawn.digits,
        within={},
        tables=comparison.tables([(*by, *columns)] if donors == "exchange" else [], compared),
        **comparison.counts(frame, areas, area, risky=risky, chosen=chosen, edited=edited),
    )
    return after, report


def _check_parts(
    columns: Sequence[str], areas: Sequence[str], keys: Sequence[str], by: Sequence[str], donors: str
) -> None:
    if not columns or not areas or not keys:
        raise InputError("Name at least one column to blank, one with areas, and one key that makes records stand out.")
    both = [name for name in columns if name in (*areas, *by)]
    if both:
        raise InputError(
            f"Column {both[0]!r} is to be blanked, and is also given as an area or in by=: leave it out of one of them.",
            both,
        )
    if donors not in get_args(Donors):
        raise InputError(f"donors is 'exchange' or 'copy', not {donors!r}.")


def _areas(frame: pd.DataFrame, areas: Sequence[str]) -> IntArray:
    inside = np.flatnonzero(~np.any([is_missing(frame[name]) for name in areas], axis=0))
    area = np.full(len(frame), NO_AREA)
    area[inside] = combined([numbered(frame[name])[inside] for name in areas], len(inside))
    return area


def _given(records: Any, length: int) -> BoolArray:
    chosen = np.asarray(records)
    if chosen.dtype != bool or chosen.shape != (length,):
        raise InputError(f"records= is an array of {length:,} values true or false, one per record.")
    return chosen


def _exchanged(classes: IntArray, chosen: BoolArray, rng: np.random.Generator) -> IntArray:
    """For each record its donor, or itself: values move along a cycle of the chosen records of a class."""
    blanked = np.bincount(classes, chosen)
    # To a single chosen record of a class another one is added, if there is one.
    others = np.flatnonzero(~chosen & (blanked[classes] == 1))
    others = others[np.lexsort((rng.random(len(others)), classes[others]))]
    joined = others[np.unique(classes[others], return_index=True)[1]]
    rows = np.concatenate([np.flatnonzero(chosen), joined])
    rows = rows[np.lexsort((rng.random(len(rows)), classes[rows]))]
    first = np.searchsorted(classes[rows], classes[rows], side="left")
    last = np.searchsorted(classes[rows], classes[rows], side="right") - 1
    at = np.arange(len(rows))
    source = np.arange(len(classes))
    source[rows] = rows[np.where(at == last, first, at + 1)]
    return source


def _copied(classes: IntArray, chosen: BoolArray, rng: np.random.Generator) -> IntArray:
    """For each record its donor, drawn from the records that were not chosen, or itself."""
    donors = np.flatnonzero(~chosen)
    donors = donors[np.argsort(classes[donors], kind="stable")]
    rows = np.flatnonzero(chosen)
    first = np.searchsorted(classes[donors], classes[rows], side="left")
    n_donors = np.searchsorted(classes[donors], classes[rows], side="right") - first
    rows, first, n_donors = (column[n_donors > 0] for column in (rows, first, n_donors))
    source = np.arange(len(classes))
    source[rows] = donors[first + rng.integers(0, n_donors)] if len(rows) else rows
    return source
